"""The public name of the course: `deepnb.course.check("02")`, `python -m deepnb.course DIR`."""

import sys

from deepnb.wings.course import check, grade, story

__all__ = ["check", "grade", "story"]

if __name__ == "__main__":
    from deepnb.wings.course.__main__ import main

    sys.exit(main(sys.argv[1:]))
