# A line for each type of a wing that a signature of the main house names; those of `__all__` are names of the root.

from deepnb import course as course
from deepnb.wings.compare.comparison import Comparison as Comparison
from deepnb.wings.compare.jobs import Job as Job
from deepnb.wings.compare.jobs import Jobs as Jobs
from deepnb.wings.open.opening import list_sessions as list_sessions
from deepnb.wings.open.session import OpenedSession as OpenedSession
from deepnb.wings.open.session import open_session as open_session
from deepnb.wings.package.values import Package as Package

__all__ = ["Job", "OpenedSession", "course", "list_sessions", "open_session"]
