"""Why a thing of the notebook can't be written as Python."""


class CantWriteError(Exception):
    """The reason, as it follows the thing's name."""
