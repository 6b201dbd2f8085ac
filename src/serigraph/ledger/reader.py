"""What the ledger says, as of one reading of the catalog."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.ledger.cohorts import (
    PublishedHolders,
    recall_cohorts,
    recall_holders,
    recall_kept_values,
)
from serigraph.ledger.exporting import export_ledger
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import check_id_type, read_people
from serigraph.ledger.past import (
    id_asked,
    recall_exposures,
    recall_members,
    recall_names,
    recall_past,
)
from serigraph.ledger.person_numbers import Numbered
from serigraph.ledger.release import PastExposure, ReleaseRecord
from serigraph.model import (
    Classes,
    Cohorts,
    KeptValues,
    Past,
    Population,
    attendance_of,
    link_gaps,
)
from serigraph.privacy.link_chances import LEARNED_FROM, LinkGaps

RELEASES_COMPARED = 10
"""How many of the latest releases show whether values persist: what a publication reads, and what
it takes, must not grow with the series. A value that people begin to keep is found no later."""


@dataclass(frozen=True)
class Reader:
    """Reads the parts of some releases, whose records were already read and checked. Made by
    ``Series.reader``; a ``Writer`` has one too."""

    layout: Layout
    releases: tuple[ReleaseRecord, ...]

    def history(self, ids: pl.Series, protected: Sequence[str]) -> Past:
        """What the ledger knows of these people, in their order, for the values named.

        People it does not know have -1 everywhere; values that are not named are left out.
        ``TableError`` if the ids are not of the series' type.
        """
        check_id_type(ids, self.releases)
        return recall_past(self.layout, self.releases, ids, protected)[1]

    def history_of_all(self, protected: Sequence[str]) -> Past:
        """The same for everybody who was ever a member."""
        return self.history(self.people()["id"], protected)

    def people(self) -> pl.DataFrame:
        """Everybody who was ever a member: ``person``, the number given once, and ``id``."""
        return read_people(self.layout, self.releases)

    def protected_names(self) -> tuple[str, ...]:
        """Every protected value that was ever in a group, ascending."""
        return recall_names(self.layout, self.releases)

    def transient_names(self) -> tuple[str, ...]:
        """Those of them that the latest release takes as transient."""
        return self._transient(self.protected_names())

    def _transient(self, names: Sequence[str]) -> tuple[str, ...]:
        kinds = self.releases[-1].persistence_of(names) if self.releases else ()
        return tuple(name for name, kind in zip(names, kinds, strict=True) if kind == "transient")

    def cohorts(self, names: Sequence[str]) -> Cohorts:
        """Everybody who was ever in a cohort, and who of them was ever published as a holder of
        the values named.

        Before the first release the ids, of which there are none, are text.
        """
        return recall_cohorts(self.layout, self.releases, names)

    def holders(self) -> Iterator[PublishedHolders]:
        """Who had a record in each release, and who was published as a holder; oldest first."""
        return recall_holders(self.layout, self.releases)

    def kept_values(
        self,
        names: Sequence[str],
        population: Population | None = None,
        number: NDArray[np.int64] | None = None,
    ) -> KeptValues:
        """How often people held the values named again when they came back: those published as
        holders in the latest ten releases, and those of a table that is not published yet.

        ``number`` are the numbers of its people, looked up if they are not given.
        """
        latest = None
        if population is not None:
            if number is None:
                number = Numbered.asked(self.layout, self.releases, population.ids).with_new()
            latest = attendance_of(population, number, names)
        recent = self.releases[-RELEASES_COMPARED:]
        return recall_kept_values(recall_holders(self.layout, recent), names, latest)

    def link_gaps(self) -> LinkGaps:
        """How many releases lay between everybody's links to transient values, and since the last
        ones, in the latest releases."""
        recent = self.releases[-LEARNED_FROM:]
        names = self._transient(recall_names(self.layout, recent))
        past = recall_members(self.layout, recent, names)
        return link_gaps(past, len(names), out=len(self.releases))

    def exposures(self, person: str | int, value: str) -> tuple[PastExposure, ...]:
        """Every past group that held the person and the value, oldest first.

        ``InputRefused`` if the ledger does not know the person.
        """
        return recall_exposures(self.layout, self.releases, person, value)

    def alike(self, person: str | int, value: str) -> tuple[int, int] | None:
        """How many people are in the person's class, and how many of these were ever published as
        holders of the value; None if the person is in no cohort."""
        cohorts = self.cohorts([value])
        place = cohorts.ids.index_of(id_asked(self.releases, person)[0])
        if place is None:
            return None
        classes = Classes.of(cohorts, len(self.releases))
        number = classes.number[place]
        holders = classes.holders.get(value, np.zeros_like(classes.size))
        return int(classes.size[number]), int(holders[number])

    def export(self, folder: Path, *, confidential: bool = False) -> None:
        """Write the ledger as Parquet, by the published contract, into a new or empty folder; see
        ``Series.export``."""
        export_ledger(self.layout, self.releases, folder, confidential=confidential)
