"""The public names of session formats: `deepnb.formats.protocol`, and entry points of the group `deepnb.formats`."""
