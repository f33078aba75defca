"""The commands `counterpoint` and `counterpoint-mcp`, also as `python -m counterpoint`."""

import sys

from counterpoint import put_code_first_on_path


def main() -> None:
    put_code_first_on_path()
    from server.__main__ import main as run  # noqa: PLC0415  (importable only now)

    run()


if __name__ == "__main__":
    if not sys.flags.safe_path:
        # `python -m` puts the working directory first, where a project's `mcp.py` would replace a library.
        del sys.path[0]
    main()
