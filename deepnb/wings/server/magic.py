"""`%agent use http://host:port/assistant`: an agent on a server in the place of the one in use."""

from dataclasses import replace

from deepnb.magics.commands import attach
from deepnb.magics.scene import Args, Result, Scene
from deepnb.values.server_address import server_address
from deepnb.views.view import table_view
from deepnb.wings.server.served import assistants, enter_header, server


def attach_server(scene: Scene, args: Args) -> Result:
    address, header = server_address(args["model"]), args["header"]
    if not address.assistant:
        if header:
            enter_header(address, header)
            args = {**args, "header": None}
        listed = assistants(server(address))
        if len(listed) != 1:
            rows = [(one.name, one.graph, f"%agent use {address.url}/{one.name}") for one in listed]
            return table_view(("assistant", "graph", "type"), rows, f"assistants at {address.host}", (), "none")
        address = replace(address, assistant=listed[0].name)
    return attach(scene, {**args, "model": str(address)}, str(address))
