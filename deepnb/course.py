"""The public name of the course: `deepnb.course.check("02")`, `python -m deepnb.course DIR`."""

import sys

from deepnb.values.wings import part

part("import deepnb.course", SystemExit if __name__ == "__main__" else ImportError)
from deepnb.wings.course.grading import check, grade, main  # noqa: E402
from deepnb.wings.course.story import story  # noqa: E402

__all__ = ["check", "grade", "story"]

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
