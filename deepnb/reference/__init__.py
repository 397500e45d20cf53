"""The reference: magics, settings, options, Python names, files, errors and topics, as entries that can be searched."""
