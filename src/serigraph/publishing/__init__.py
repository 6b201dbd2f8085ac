"""What a publisher does: begin a series, publish releases, and see where it stands."""

from typing import TYPE_CHECKING

from serigraph.on_demand import on_demand

if TYPE_CHECKING:
    from serigraph.publishing.beginning import Begun, begin
    from serigraph.publishing.publication import publish
    from serigraph.publishing.published import STAGES, Published
    from serigraph.publishing.standing import PersonHistory, Status, history, status
    from serigraph.publishing.unpublished import (
        Documents,
        Unpublished,
        UnpublishedElsewhere,
        UnpublishedHere,
    )

__getattr__, __dir__ = on_demand(
    __name__,
    {
        "STAGES": "serigraph.publishing.published",
        "Begun": "serigraph.publishing.beginning",
        "Documents": "serigraph.publishing.unpublished",
        "PersonHistory": "serigraph.publishing.standing",
        "Published": "serigraph.publishing.published",
        "Status": "serigraph.publishing.standing",
        "Unpublished": "serigraph.publishing.unpublished",
        "UnpublishedElsewhere": "serigraph.publishing.unpublished",
        "UnpublishedHere": "serigraph.publishing.unpublished",
        "begin": "serigraph.publishing.beginning",
        "history": "serigraph.publishing.standing",
        "publish": "serigraph.publishing.publication",
        "status": "serigraph.publishing.standing",
    },
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
