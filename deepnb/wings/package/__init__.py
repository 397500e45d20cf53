"""An agent of a notebook as the text of a LangGraph application; nothing is written to the disk here."""
