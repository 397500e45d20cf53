"""The public names of session formats: `deepnb.formats.protocol`, and entry points of the group `deepnb.formats`."""

from deepnb.values.wings import part

part("import deepnb.formats", ImportError)
