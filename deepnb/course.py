"""The public name of the course: `deepnb.course.check("02")`, `python -m deepnb.course DIR`."""

import sys

from deepnb.wings.course.grading import check, grade, main
from deepnb.wings.course.story import story

__all__ = ["check", "grade", "story"]

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
