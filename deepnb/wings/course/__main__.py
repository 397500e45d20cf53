"""`python -m deepnb.course DIR`: the notebooks of a class, run and checked, as JSON."""

import json
import sys

from deepnb.values.errors import DeepnbError
from deepnb.wings.course.grading import grade


def main(arguments: list[str]) -> int:
    """Print a list of rows; gives the exit status."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: python -m deepnb.course DIR", file=sys.stderr)
        return 2
    try:
        print(json.dumps(grade(arguments[0]), indent=1))
    except DeepnbError as error:
        print(f"deepnb: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
