"""What a publisher does: begin a series, publish releases, and see where it stands."""

from serigraph.publishing.begin import Begun, begin
from serigraph.publishing.publish import publish
from serigraph.publishing.published import STAGES, Published
from serigraph.publishing.standing import PersonHistory, Status, history, status
from serigraph.publishing.unpublished import (
    Documents,
    Unpublished,
    UnpublishedElsewhere,
    UnpublishedHere,
)

__all__ = [
    "STAGES",
    "Begun",
    "Documents",
    "PersonHistory",
    "Published",
    "Status",
    "Unpublished",
    "UnpublishedElsewhere",
    "UnpublishedHere",
    "begin",
    "history",
    "publish",
    "status",
]
