"""The command `counterpoint`, also as `python -m server`. Without arguments it is the server itself."""

import gc
import sys

EXIT_INTERRUPTED = 130


def main() -> None:
    try:
        if sys.argv[1:] in ([], ["serve"]):
            # Clients start the server often and wait for it: nothing of the command line is imported,
            # and what is imported stays, so that looking for garbage in it is time lost, now and later.
            gc.disable()
            from server.mcp.stdio import serve_stdio  # noqa: PLC0415

            gc.freeze()
            gc.enable()
            gc.set_threshold(10_000, 20, 50)
            sys.exit(serve_stdio())
        from server.cli.main import counterpoint  # noqa: PLC0415

        counterpoint.main(prog_name="counterpoint")
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
