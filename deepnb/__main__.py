"""`python -m deepnb lab`: JupyterLab on the notebooks. `tour`: one of them in the terminal. `acp`: an agent for chats."""

import argparse
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; gives the exit status."""
    parser = argparse.ArgumentParser("deepnb", description="See a deep agent's memory, skills and context.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="lab | tour | acp")
    lab = commands.add_parser("lab", help="open the notebooks in JupyterLab, on this machine only")
    lab.add_argument("--port", type=int, default=8888, help="the port to listen on, or the next free one")
    lab.add_argument("--no-browser", action="store_true", help="print the address without opening a browser")
    tour = commands.add_parser("tour", help="play notebook 01 in this terminal, offline")
    tour.add_argument("--fast", action="store_true", help="do not pause between the steps")
    acp = commands.add_parser("acp", help="serve a client of the Agent Client Protocol, such as Jupyter AI")
    acp.add_argument("--model", default="offline", help="the model, as %%agent use takes it")
    acp.add_argument("--keep", metavar="DIR", help="keep memory, notes and skills there, as %%memory keep does")
    acp.add_argument("--persist", metavar="FILE|URL", help="keep threads there, too, as %%agent persist does")
    acp.add_argument("--mcp", action="append", default=[], metavar="COMMAND|URL", help="use an MCP server; repeatable")
    acp.add_argument("--mount", action="store_true", help="let the agent see the client's directory, at /work")
    entry = acp.add_argument("--register", nargs="?", const="jupyter-ai", choices=("jupyter-ai", "zed"))
    entry.help = "print the entry for a client's list of agents"
    chosen = parser.parse_args(arguments)
    from deepnb.values.errors import DeepnbError
    from deepnb.values.wings import part

    try:
        if chosen.command == "lab":
            status: int = part("python -m deepnb lab")(port=chosen.port, browser=not chosen.no_browser)
            return status
        if chosen.command == "acp":
            given = {name: value for name, value in vars(chosen).items() if name != "command"}
            return int(part("python -m deepnb acp")(**given))
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
