"""An MCP server written out by hand, so that it may misbehave, and starts at once: `python mcp_script.py JSON`.

The JSON says what it does: `tools` is what it lists, `say` is what it sends before each answer (any lines), `deaf` makes
it ignore the end of its input and SIGTERM, `mute` answer nothing, `error` is printed to stderr at the start, `end` ends
it after that. A call gives its parameters, the names of its environment and its process.
"""

import json
import os
import signal
import sys
import time
from typing import Any

TOOL = {"name": "look", "description": "Look.", "inputSchema": {"type": "object", "properties": {}}}


def main(does: dict[str, Any]) -> None:
    if does.get("deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "error" in does:
        print(does["error"], file=sys.stderr, flush=True)
    if does.get("end"):
        return
    while line := sys.stdin.readline():
        message = json.loads(line)
        if "method" not in message or "id" not in message or does.get("mute"):
            continue
        for said in does.get("say", ()):
            print(said if isinstance(said, str) else json.dumps(said))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer(message, does)}), flush=True)
    while does.get("deaf"):
        time.sleep(1)


def answer(message: dict[str, Any], does: dict[str, Any]) -> dict[str, Any]:
    if message["method"] == "initialize":
        version = message["params"]["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "script", "version": "1"}}
    if message["method"] == "tools/list":
        return {"tools": does.get("tools", [TOOL])}
    if message["method"] == "tools/call":
        said = f"{message['params']}\n{' '.join(sorted(os.environ))}\nin process {os.getpid()}"
        text = {"content": [{"type": "text", "text": said}]}
        return does.get("results", {}).get(message["params"]["name"]) or {**text, "structuredContent": {"result": said}}
    return {}


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
