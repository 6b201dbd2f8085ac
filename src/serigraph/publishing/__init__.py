"""What a publisher does: begin a series, publish releases, and see where it stands."""

from serigraph.publishing.begin import Begun, begin
from serigraph.publishing.publish import STAGES, Published, publish
from serigraph.publishing.standing import PersonHistory, Status, history, status
from serigraph.publishing.unpublished import Documents, Unpublished

__all__ = [
    "STAGES",
    "Begun",
    "Documents",
    "PersonHistory",
    "Published",
    "Status",
    "Unpublished",
    "begin",
    "history",
    "publish",
    "status",
]
