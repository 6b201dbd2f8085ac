"""Starting a series: a folder with a policy proposed from the first table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from serigraph.arguments import names, several, whole
from serigraph.ledger import Series
from serigraph.policy import Persistence, Reading
from serigraph.publishing.proposal import propose_policy
from serigraph.runtime.progress import Progress, no_progress
from serigraph.runtime.stages import shows_progress
from serigraph.short_repr import ShortRepr
from serigraph.tables import read_table
from serigraph.tables.addresses import shown
from serigraph.tables.value_list import ValueList

if TYPE_CHECKING:
    from serigraph.planning import Outlook

STAGES = ("reading", "rehearsing")


@dataclass(frozen=True, repr=False)
class NewSeries(ShortRepr):
    """A new series, and what its publisher should check before the first release."""

    path: Path
    policy: Path
    files: tuple[str, ...]
    person: str  # the column of the person's id
    quasi_identifiers: tuple[str, ...]
    sensitive: str  # or several, with commas between them
    value_list: ValueList  # protected and unprotected values of the table
    left_out: dict[str, str]  # column -> why it is not published
    strategies: tuple[Outlook, ...]  # rehearsed on the table, the best first: the policy's
    notes: tuple[str, ...]

    def _facts(self) -> dict[str, object]:
        return {
            "policy": self.policy,
            "taxonomies": len(self.files),
            "left out": ", ".join(self.left_out) or "nothing",
            "to check": "; ".join(self.notes) or "nothing",
        }


@shows_progress(STAGES)
def begin(  # an argument for each option of the command
    series: str | os.PathLike[str],
    table: Any,
    *,
    person: str = "",
    sensitive: str | Sequence[str] = "",
    plain: str | Sequence[str] = (),
    query: str = "",
    also: Any = (),
    persistence: Persistence | None = None,
    releases: int | str = 0,
    progress: Progress = no_progress,
) -> NewSeries:
    """Create the folder of a series, with a policy proposed from a table.

    ``person`` and ``sensitive`` name the id column and the sensitive column, or several of them, if
    the guess is wrong; ``plain`` names columns to publish as they are, beside the values. ``also``
    are tables of the same people at other times, from which it is measured which values persist;
    ``query`` reads these too. ``persistence`` is what the publisher knows of the values:
    "transient", "permanent" or "any". ``releases`` is how many to plan for; values that are too
    common for so many are left unprotected. Without it, the plan is as long as it can be. Where all
    values are transient, every strategy is rehearsed with a sample of the people, and the policy
    has the best.
    """
    progress("reading")
    reading = Reading().asking(query)
    proposal = propose_policy(
        read_table(table, reading),
        shown(table),
        person=person,
        sensitive=names(sensitive, "sensitive"),
        plain=names(plain, "plain"),
        also=[read_table(each, reading) for each in several(also)],
        persistence=persistence,
        releases=whole(releases, "releases", least=0),
        progress=progress,
    )
    made = Series.create(
        Path(series), {"policy.toml": proposal.policy_text.encode(), **proposal.files}
    )
    return NewSeries(
        path=made.path,
        policy=made.path / "policy.toml",
        files=tuple(proposal.files),
        person=proposal.roles.person,
        quasi_identifiers=tuple(proposal.roles.quasi_identifiers),
        sensitive=", ".join(proposal.sensitive),
        value_list=proposal.value_list,
        left_out=proposal.roles.left_out,
        strategies=proposal.strategies,
        notes=proposal.notes,
    )
