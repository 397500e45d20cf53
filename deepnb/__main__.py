"""`python -m deepnb lab`: JupyterLab on the notebooks. `python -m deepnb tour`: one of them in the terminal."""

import argparse
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; gives the exit status."""
    parser = argparse.ArgumentParser("deepnb", description="See a deep agent's memory, skills and context.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="lab | tour")
    lab = commands.add_parser("lab", help="open the notebooks in JupyterLab, on this machine only")
    lab.add_argument("--port", type=int, default=8888, help="the port to listen on, or the next free one")
    lab.add_argument("--no-browser", action="store_true", help="print the address without opening a browser")
    tour = commands.add_parser("tour", help="play notebook 01 in this terminal, offline")
    tour.add_argument("--fast", action="store_true", help="do not pause between the steps")
    chosen = parser.parse_args(arguments)
    from deepnb.values.errors import DeepnbError
    from deepnb.values.wings import part

    try:
        if chosen.command == "lab":
            status: int = part("python -m deepnb lab")(port=chosen.port, browser=not chosen.no_browser)
            return status
        part("python -m deepnb tour")(pause=0.0 if chosen.fast or not sys.stdout.isatty() else 1.5)
        return 0
    except DeepnbError as error:
        print(f"deepnb: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
