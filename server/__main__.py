"""The program that the package `counterpoint` starts. Without arguments it serves MCP over stdio."""

import gc
import os
import sys

EXIT_INTERRUPTED = 130
COMPLETION = "_COUNTERPOINT_COMPLETE"  # set by the shells that ask for completions


def main() -> None:
    try:
        if sys.argv[1:] in ([], ["serve"]) and COMPLETION not in os.environ:
            # Clients start the server often and wait for it: the command line is not imported, and the garbage
            # collector ignores the imported modules, which stay anyway.
            gc.disable()
            from server.mcp.stdio import serve_stdio  # noqa: PLC0415

            gc.freeze()
            gc.enable()
            gc.set_threshold(10_000, 20, 50)
            sys.setswitchinterval(
                0.0005
            )  # the database's thread and the event loop wait for each other's lock
            sys.exit(serve_stdio())
        from server.cli.main import counterpoint  # noqa: PLC0415

        counterpoint.main(prog_name="counterpoint")
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
