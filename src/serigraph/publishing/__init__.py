"""What a publisher does: start a series, publish releases, and see where it stands."""

from typing import TYPE_CHECKING

from serigraph.runtime.on_demand import on_demand

if TYPE_CHECKING:
    from serigraph.publishing.beginning import NewSeries, begin
    from serigraph.publishing.publication import publish
    from serigraph.publishing.published import STAGES, Documents, Published, Unpublished
    from serigraph.publishing.standing import PersonHistory, Status, history, status

__getattr__, __dir__ = on_demand(
    __name__,
    {
        "STAGES": "serigraph.publishing.published",
        "NewSeries": "serigraph.publishing.beginning",
        "Documents": "serigraph.publishing.published",
        "PersonHistory": "serigraph.publishing.standing",
        "Published": "serigraph.publishing.published",
        "Status": "serigraph.publishing.standing",
        "Unpublished": "serigraph.publishing.published",
        "begin": "serigraph.publishing.beginning",
        "history": "serigraph.publishing.standing",
        "publish": "serigraph.publishing.publication",
        "status": "serigraph.publishing.standing",
    },
)

__all__ = [
    "STAGES",
    "Documents",
    "NewSeries",
    "PersonHistory",
    "Published",
    "Status",
    "Unpublished",
    "begin",
    "history",
    "publish",
    "status",
]
