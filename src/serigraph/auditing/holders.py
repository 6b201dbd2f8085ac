"""Who was published as a holder, release by release, from the tables that releases were made from.

A ledger keeps it for releases made on one machine since version 0.2; releases hide it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.auditing.crowds import PublishedHolders
from serigraph.auditing.evidence import Evidence
from serigraph.auditing.sightings import Sightings
from serigraph.errors import InputRefused, TableError
from serigraph.ledger import ReleaseRecord, Series
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import HOLDERS, has_part, read_part
from serigraph.policy import Policy
from serigraph.short_repr import Undisclosed
from serigraph.tables import ProtectedChoice, read_table
from serigraph.tables.cells import counted
from serigraph.tables.people import missing_columns, read_ids, read_sensitive
from serigraph.tables.protection import protection_of


def holders_in_series(
    raw: Sequence[Any],
    policy: Policy,
    choice: ProtectedChoice,
    evidence: Evidence,
    sightings: Sequence[Sightings],
    recorded: Sequence[PublishedHolders | None],
) -> tuple[list[PublishedHolders], tuple[str, ...]]:
    """The holders of each release of a series of ours, and what to note. Where the ledger has
    ``recorded`` them, nobody counts who held a value that was left out.

    Raises ``TableError`` where a table is not the one that a release was made from: somebody who
    has a record is not in it, or fewer people hold a value than the release shows.
    """
    if len(raw) != len(sightings):
        raise InputRefused(
            f"{counted(len(raw), 'raw table')} given for {counted(len(sightings), 'release')}",
            remedy="give one raw table for each release, in the same order",
        )
    tables = [read_table(source, policy.reading) for source in raw]
    found, notes = [], []
    for rows, label, seen, known in zip(
        _read(tables, policy, choice, evidence.ids, evidence.labels),
        evidence.labels,
        sightings,
        recorded,
        strict=True,
    ):
        held = _published(rows, evidence, seen)
        has_row = np.zeros(len(evidence.ids) + 1, dtype=np.bool_)
        has_row[rows.person] = True
        lacking = int(np.count_nonzero(seen.present & ~has_row[seen.person]))
        fewer, more = _difference(held, seen, evidence)
        if known is not None:
            given = _keys(held.value, held.person)
            fewer += int(np.count_nonzero(~np.isin(_keys(known.value, known.person), given)))
            held, more = known, 0
        if lacking or fewer:
            raise TableError(
                "the raw table is not the one that the release was made from",
                where=label,
                remedy="give the table of each release, in the order of the releases",
                problems=[
                    f"{counted(lacking, 'person has', 'people have')} a record but no row in it",
                    f"it has {counted(fewer, 'holder')} fewer than the release shows",
                ],
            )
        notes += _on_left_out(label, more)
        found.append(held)
    return found, tuple(notes)


def recorded_holders(
    series: Series, releases: Sequence[ReleaseRecord], evidence: Evidence
) -> list[PublishedHolders | None]:
    """The holders of each release as the ledger has them; None if it does not say."""
    kind = pl.Enum(evidence.values)
    found: list[PublishedHolders | None] = []
    for release in releases:
        if not has_part(release, HOLDERS):
            found.append(None)
            continue
        held = read_part(Layout(series.path), release, HOLDERS).select(
            pl.col("person").cast(pl.Int64),
            pl.col("value").cast(pl.String).cast(kind).to_physical().cast(pl.Int64),
        )
        held = held.sort("value")
        found.append(PublishedHolders(held["person"].to_numpy(), held["value"].to_numpy()))
    return found


def holders_in_releases(
    raw: Sequence[pl.DataFrame],
    policy: Policy,
    choice: ProtectedChoice,
    evidence: Evidence,
    sightings: Sequence[Sightings],
) -> tuple[list[PublishedHolders] | None, tuple[str, ...]]:
    """The holders of each release of any tool, and what to note; None where a table does not have
    the values."""
    if not raw or any(set(policy.sensitive_columns) - set(table.columns) for table in raw):
        return None, ()
    rows = _read(raw, policy, choice, evidence.ids, evidence.labels)
    found, notes = [], []
    for each, label, seen in zip(rows, evidence.labels, sightings, strict=True):
        found.append(_published(each, evidence, seen))
        notes += _on_left_out(label, _difference(found[-1], seen, evidence)[1])
    return found, tuple(notes)


def people_with_protected_values(
    raw: Sequence[pl.DataFrame],
    policy: Policy,
    choice: ProtectedChoice,
    ids: pl.Series,
    labels: Sequence[str],
) -> list[NDArray[np.int64]]:
    """Of each table the people who hold any protected value, published or not: places in ``ids``,
    ascending."""
    found = []
    for rows in _read(raw, policy, choice, ids, labels):
        person = np.unique(rows.person[rows.held_row])
        found.append(person[person < len(ids)])
    return found


@dataclass(frozen=True, repr=False)
class _Rows(Undisclosed):
    """The rows of a table: whose they are, and which protected values they hold.

    People are places in the evidence; one behind the last stands for those who are not in it.
    """

    person: NDArray[np.int64]
    held_row: NDArray[np.int64]
    held: pl.Series  # names of values and classes


def _read(
    tables: Sequence[pl.DataFrame],
    policy: Policy,
    choice: ProtectedChoice,
    known_ids: pl.Series,
    labels: Sequence[str],
) -> list[_Rows]:
    """The rows of all tables; people are looked up together, which saves an index a table."""
    ids = [
        _ids(table, policy, known_ids, label) for table, label in zip(tables, labels, strict=True)
    ]
    known = pl.DataFrame({"id": known_ids}).with_row_index("place")
    asked = pl.DataFrame({"id": pl.concat(ids)})
    found = asked.join(known, on="id", how="left", maintain_order="left")["place"]
    place = found.fill_null(len(known_ids)).cast(pl.Int64).to_numpy()
    ends = np.cumsum([len(each) for each in ids])
    read = []
    for table, label, person in zip(tables, labels, np.split(place, ends[:-1]), strict=True):
        values, problems = read_sensitive(table, policy)
        if problems:
            raise _refusal(label, problems)
        kind = cast(pl.Enum, values["value"].dtype)
        counted_as = protection_of(policy, choice, kind.categories).counted_as
        held = values.join(counted_as.with_columns(pl.col("value").cast(kind)), on="value")
        read.append(_Rows(person, held["row"].cast(pl.Int64).to_numpy(), held["name"]))
    return read


def _ids(table: pl.DataFrame, policy: Policy, known_ids: pl.Series, label: str) -> pl.Series:
    """The ids of a table, in the type that the evidence has."""
    problems = missing_columns(table, [policy.person.id, *policy.sensitive_columns], "it")
    if problems:
        raise _refusal(label, problems)
    kind = "text" if known_ids.dtype == pl.String else "integer"
    typed = policy.model_copy(update={"person": policy.person.model_copy(update={"type": kind})})
    ids, problems = read_ids({"it": table[policy.person.id]}, typed)
    if problems:
        raise _refusal(label, problems)
    return ids["it"]


def _refusal(label: str, problems: list[str]) -> TableError:
    return TableError(
        f"the raw table cannot be read ({counted(len(problems), 'problem')})",
        where=label,
        remedy="correct the table, or the policy",
        problems=problems,
    )


def _published(rows: _Rows, evidence: Evidence, seen: Sightings) -> PublishedHolders:
    """Those pairs whose person has a record, in a group that shows the value."""
    index = pl.DataFrame(
        {"value": pl.Series(evidence.values, dtype=pl.String), "index": range(len(evidence.values))}
    )
    pairs = (
        pl.DataFrame({"person": rows.person[rows.held_row], "value": rows.held})
        .join(index, on="value")
        .select("index", "person")
        .unique()
        .sort("index")
    )
    person, value = pairs["person"].to_numpy(), pairs["index"].to_numpy()
    group = np.full(len(evidence.ids) + 1, -1, dtype=np.int64)
    group[seen.person[seen.present]] = seen.group[seen.present]
    is_shown = np.isin(_keys(group[person], value), _keys(seen.shown_group, seen.shown_value))
    return PublishedHolders(person[is_shown], value[is_shown])


def _difference(held: PublishedHolders, seen: Sightings, evidence: Evidence) -> tuple[int, int]:
    """How many holders too few and too many the groups have, compared with what they show."""
    group = np.full(len(evidence.ids), -1)
    group[seen.person] = seen.group
    key = _keys(
        np.append(seen.shown_group, group[held.person]), np.append(seen.shown_value, held.value)
    )
    change = np.append(seen.shown_count, np.full(len(held.person), -1))
    left = np.bincount(np.unique(key, return_inverse=True)[1], weights=change).astype(np.int64)
    return int(left[left > 0].sum()), int(-left[left < 0].sum())


def _on_left_out(label: str, values: int) -> list[str]:
    """What to note of so many values of the table that their groups do not show."""
    if not values:
        return []
    return [
        f"{label}: {counted(values, 'value was', 'values were')} left out of the release, "
        "and nothing says whose; all who held one count as published holders"
    ]


def _keys(group: NDArray[np.int64], value: NDArray[np.int64]) -> NDArray[np.int64]:
    """A group and a value in one number."""
    return group << 32 | value
