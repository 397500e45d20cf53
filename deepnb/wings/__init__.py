"""Features that can be left out: a folder each, independent of each other, registered in `deepnb/values/wings.py`."""
