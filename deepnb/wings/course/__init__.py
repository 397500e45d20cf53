"""The course in `notebooks/`: its exercises, checked against the session of this shell, and a thread in one picture.

`check("02")` says what there is of the exercise of notebook 02, `grade(DIRECTORY)` runs notebooks and gives all of it
as JSON, and `story()` shows the current thread. The reference belongs to it, and the tour in a terminal.
"""
