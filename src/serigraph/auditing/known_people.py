"""The people that releases of other tools are matched against: raw tables, a registry, or both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.auditing.reading import ReadRelease
from serigraph.errors import InputRefused, TableError
from serigraph.model import Domain
from serigraph.policy import Policy
from serigraph.short_repr import Undisclosed
from serigraph.tables import read_table, read_taxonomy
from serigraph.tables.cells import counted
from serigraph.tables.columns import coded
from serigraph.tables.people import (
    ID,
    column_name,
    contradicting_rows,
    missing_columns,
    one_row_a_person,
    read_ids,
    read_quasi_identifiers,
)
from serigraph.tables.taxonomies import covering

_PRESENT = "present"
_REGISTRY = "the registry"


@dataclass(frozen=True, repr=False)
class KnownPeople(Undisclosed):
    """The people who may be in one release, with quasi-identifiers as codes."""

    ids: pl.Series
    present: NDArray[np.bool_]  # has a record; everybody, where only a registry is known
    tells_presence: bool  # whether a raw table says who has a record
    domains: tuple[Domain, ...]
    codes: NDArray[np.int32]  # [column, person]

    def only_present(self) -> KnownPeople:
        """Those of them who have a record."""
        return replace(
            self,
            ids=self.ids.filter(pl.Series(self.present)),
            present=self.present[self.present],
            codes=np.ascontiguousarray(self.codes[:, self.present]),
        )


@dataclass(frozen=True, repr=False)
class Everybody(Undisclosed):
    """The people of each release, or the ids that the release itself shows."""

    of_release: tuple[KnownPeople | pl.Series, ...]


def know_people(
    releases: Sequence[ReadRelease], policy: Policy, raw: Sequence[Any], registry: Any
) -> Everybody:
    """Read the raw tables, one a release, and the registry, with ids of one type in all of them.

    Raises ``InputRefused`` where nothing says who may be in a release, and ``TableError`` with all
    problems of the tables.
    """
    if raw and len(raw) != len(releases):
        raise InputRefused(
            f"{counted(len(raw), 'raw table')} given for {counted(len(releases), 'release')}",
            remedy="give one raw table for each release, in the same order",
        )
    without = [each.label for each in releases if each.ids is None]
    if without and not raw and registry is None:
        raise InputRefused(
            "the people of the releases are not known",
            where=", ".join(without),
            remedy="give the raw tables (--raw) or a registry (--registry), with ids and "
            "quasi-identifiers",
        )
    frames = {
        f"the raw table of {release.label}": read_table(source, policy.reading)
        for release, source in zip(releases, raw, strict=False)
    }
    if registry is not None:
        frames[_REGISTRY] = read_table(registry, policy.reading.for_registry())
    shown = {f"the release {each.label}": each.ids for each in releases if each.ids is not None}
    ids, columns = _read(frames, shown, policy)
    tables = {source: one_row_a_person(ids[source], columns[source]) for source in frames}
    return Everybody(
        tuple(
            ids[f"the release {release.label}"]
            if release.ids is not None
            else _coded(
                tables.get(f"the raw table of {release.label}"), tables.get(_REGISTRY), policy
            )
            for release in releases
        )
    )


def _read(
    frames: dict[str, pl.DataFrame], shown: dict[str, pl.Series], policy: Policy
) -> tuple[dict[str, pl.Series], dict[str, dict[str, pl.Series]]]:
    problems: list[str] = []
    columns: dict[str, dict[str, pl.Series]] = {}
    for source, frame in frames.items():
        problems += missing_columns(frame, [policy.person.id, *policy.quasi_identifiers], source)
        columns[source], wrong = read_quasi_identifiers(frame, policy, source)
        problems += wrong
    with_ids = {
        source: frame[policy.person.id]
        for source, frame in frames.items()
        if policy.person.id in frame.columns
    }
    ids, wrong = read_ids({**with_ids, **shown}, policy)
    problems += wrong
    for source in frames:
        if source in ids:
            problems += contradicting_rows(ids[source], columns[source], source)
    if problems:
        raise TableError(
            f"the people cannot be read ({counted(len(problems), 'problem')})",
            remedy="correct the tables, or the policy",
            problems=problems,
        )
    return ids, columns


def _coded(
    table: pl.DataFrame | None, registry: pl.DataFrame | None, policy: Policy
) -> KnownPeople:
    """Everybody of the table and of the registry; where both know a person, the table counts."""
    parts = []
    if table is not None:
        parts.append(table.with_columns(pl.lit(True).alias(_PRESENT)))
    if registry is not None:
        listed = registry if table is None else registry.join(table, on=ID, how="anti")
        parts.append(listed.with_columns(pl.lit(table is None).alias(_PRESENT)))
    everybody = pl.concat(parts, how="vertical_relaxed").sort(ID)
    coding = []
    for number, (name, described) in enumerate(policy.quasi_identifiers.items()):
        column = everybody[column_name(number)].alias(name)
        path = policy.taxonomy_path(name)
        taxonomy = None
        if path is not None:
            # People outside the taxonomy must still be matched, so that nobody is overlooked.
            taxonomy, _ = covering(read_taxonomy(path), column, "branch")
        coding.append(coded(column, described.kind, taxonomy))
    return KnownPeople(
        ids=everybody[ID],
        present=everybody[_PRESENT].to_numpy().astype(np.bool_),
        tells_presence=table is not None,
        domains=tuple(domain for domain, _ in coding),
        codes=np.stack([codes for _, codes in coding]),
    )
