"""What a publisher does: begin a series, publish releases, and see where it stands."""

from serigraph.publishing.begin import Begun, begin
from serigraph.publishing.publish import STAGES, Published, publish
from serigraph.publishing.standing import PersonHistory, Status, history, status

__all__ = [
    "STAGES",
    "Begun",
    "PersonHistory",
    "Published",
    "Status",
    "begin",
    "history",
    "publish",
    "status",
]
