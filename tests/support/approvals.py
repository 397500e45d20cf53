"""Cells whose calls wait for approval: one call, and two at once."""

ASK = "%agent write a file /work/report.md with: hello world"
TWO = """
from langchain_core.messages import AIMessage
from tests.support.scripted import Scripted
two = Scripted(answers=[AIMessage("", tool_calls=[
    {"name": "write_file", "args": {"file_path": f"/work/{n}", "content": n}, "id": n} for n in "ab"]), "done"])
%agent use two
"""
