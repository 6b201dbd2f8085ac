"""Whether table and registry are those that a release was made from.

The series keeps neither. The table is known by its digest. Of the registry, the ledger knows who
became a member, and some counts; the release shows the rest: the regions, or the quasi-identifiers
of the members.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import LedgerDamaged, TableError
from serigraph.ledger import ReleaseRecord
from serigraph.ledger.layout import Layout
from serigraph.model import Population
from serigraph.recoding.labels import region_labels
from serigraph.recoding.output import DIALECT, as_meant
from serigraph.recoding.tables import GROUP
from serigraph.tables import Prepared, read_table
from serigraph.utility.published import Groups
from serigraph.verification.regions import overlapping

_OTHERS = "the quasi-identifiers of its members are not those that the release shows"


def refuse_other_people(
    prepared: Prepared,
    has_registry: bool,
    published: Population,
    group: NDArray[np.int64],
    release: ReleaseRecord,
    layout: Layout,
    where: str,
) -> None:
    """Refuse people who cannot be those of the release: ``TableError`` with all that is wrong.

    ``published`` is the population after suppression, ``group`` the group of each person, -1 where
    it was no member.
    """
    problems = _differing_counts(prepared, has_registry, release)
    shown = _shown(release, layout.published(release.label))
    if release.summary["form"] == "bucketised":
        if not _same_members(published, group, shown, release.is_presence_known):
            problems.append(_OTHERS)
    else:
        if not release.is_presence_known and _has_outsiders(published, group):
            problems.append("people who were no members of the release lie in its regions")
        if not _same_regions(published, group, shown):
            problems.append(_OTHERS)
    if problems:
        raise TableError(
            "these are not the people that the release was made of",
            where=where,
            remedy="give the registry of this release (--registry), or none if it had none, and "
            "evaluate releases of other registries apart; put back taxonomies that have changed",
            problems=problems,
        )


def _differing_counts(prepared: Prepared, has_registry: bool, release: ReleaseRecord) -> list[str]:
    """What the catalog counted of the registry, then and now; older releases lack two of these."""
    outside = prepared.population.outside_registry
    now = {
        "has_registry": has_registry,
        "people_in_registry": prepared.population.size - outside if has_registry else None,
        "people_outside_registry": outside,
        "people_differing_from_registry": prepared.differing_from_registry,
    }
    then = {name: release.summary.get(name, count) for name, count in now.items()}
    if then["has_registry"] != has_registry:
        return [f"the release was made {'with' if then['has_registry'] else 'without'} a registry"]
    words = {
        "people_in_registry": "people are in the registry",
        "people_outside_registry": "people of the table are not in the registry",
        "people_differing_from_registry": "people are described otherwise than in the table",
    }
    return [
        f"{now[name]:,} {said}; when the release was made there were {then[name]:,}"
        for name, said in words.items()
        if now[name] != then[name]
    ]


def _has_outsiders(population: Population, group: NDArray[np.int64]) -> bool:
    """Whether somebody lies in a region without being a member: in no release of ours."""
    outsiders = np.unique(population.codes[:, group < 0].T, axis=0)
    if not len(outsiders):
        return False
    regions = Groups.of(population, group)
    low, high = (np.concatenate([ends.T, outsiders]) for ends in (regions.low, regions.high))
    return overlapping(low, high)[0] >= 0


def _same_regions(population: Population, group: NDArray[np.int64], table: pl.DataFrame) -> bool:
    """Whether the regions are those of the table, except where a taxonomy names them."""
    regions = Groups.of(population, group)
    labels = {
        domain.name: region_labels(domain, regions.low[column], regions.high[column])
        for column, domain in enumerate(population.domains)
        if domain.taxonomy is None
    }
    records = np.repeat(np.arange(len(regions.present)), regions.present)
    ours = pl.DataFrame({name: each.cast(pl.String) for name, each in labels.items()})[records]
    return _equal(ours, table.select(pl.col(name).cast(pl.String) for name in labels))


def _same_members(
    population: Population, group: NDArray[np.int64], table: pl.DataFrame, only_present: bool
) -> bool:
    """Whether the members of the groups are those of the table."""
    is_shown = group >= 0
    if only_present:
        is_shown &= population.present
    places = np.flatnonzero(is_shown)
    ours = pl.DataFrame(
        {
            GROUP: group[places],
            **{
                domain.name: domain.values.gather(population.codes[column, places])
                for column, domain in enumerate(population.domains)
            },
        }
    )
    theirs = table.select(
        pl.col(name).cast(kind, strict=False) for name, kind in ours.schema.items()
    )
    return _equal(ours, theirs)


def _equal(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Whether two tables have the same rows, in any order."""
    return one.sort(pl.all()).equals(other.sort(pl.all()))


def _shown(release: ReleaseRecord, folder: Path) -> pl.DataFrame:
    """The table that says where the members are."""
    for files in list(release.tables(folder).values())[:1]:
        table = pl.concat([read_table(file, DIALECT) for file in files])
        return as_meant(table) if files[0].suffix == ".csv" else table
    raise LedgerDamaged(
        "a table of the release is missing",
        where=str(folder),
        remedy="restore it from a backup",
    )
