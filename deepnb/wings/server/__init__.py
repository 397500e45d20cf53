"""An agent on a LangGraph server, under the views of this kernel."""
