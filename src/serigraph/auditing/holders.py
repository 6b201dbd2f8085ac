"""Who was published as a holder, release by release, from the tables that releases were made from.

A ledger does not keep it, and releases hide it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.auditing.crowds import PublishedHolders
from serigraph.auditing.evidence import Evidence
from serigraph.auditing.sightings import Sightings
from serigraph.errors import InputRefused, TableError
from serigraph.policy import Policy
from serigraph.tables import ProtectedChoice, read_table
from serigraph.tables.identifiers import read_ids
from serigraph.tables.people import missing_columns
from serigraph.tables.protection import protection_of
from serigraph.tables.rows import counted
from serigraph.tables.values import read_values


def holders_in_series(
    raw: Sequence[Any],
    policy: Policy,
    choice: ProtectedChoice,
    evidence: Evidence,
    sightings: Sequence[Sightings],
) -> tuple[list[PublishedHolders], tuple[str, ...]]:
    """The holders of each release of a series of ours, and what to note.

    Raises ``TableError`` where a table is not the one that a release was made from: somebody who
    has a record is not in it, or fewer people hold a value than the release shows.
    """
    if len(raw) != len(sightings):
        raise InputRefused(
            f"there are {counted(len(raw), 'raw table')} for {counted(len(sightings), 'release')}",
            remedy="give one raw table for each release, in the same order",
        )
    found, notes = [], []
    for source, label, seen in zip(raw, evidence.labels, sightings, strict=True):
        pairs, ids = _read(read_table(source, policy.reading), policy, choice, evidence, label)
        held = _published(pairs, evidence, seen)
        has_row = np.zeros(len(evidence.ids) + 1, dtype=np.bool_)
        has_row[_places(ids, evidence.ids)] = True
        lacking = int(np.count_nonzero(seen.present & ~has_row[seen.person]))
        fewer, more = _difference(held, seen, evidence)
        if lacking or fewer:
            raise TableError(
                "the raw table is not the one that the release was made from",
                where=label,
                remedy="give the table of each release, in the order of the releases",
                problems=[
                    f"{counted(lacking, 'person has', 'people have')} a record and no row in it",
                    f"{counted(fewer, 'holder')} fewer in it than the release shows",
                ],
            )
        if more:
            notes.append(
                f"{label}: {counted(more, 'value was', 'values were')} left out of the release, "
                "and nothing says whose; all who held one count as published holders"
            )
        found.append(held)
    return found, tuple(notes)


def holders_in_releases(
    raw: Sequence[pl.DataFrame],
    policy: Policy,
    choice: ProtectedChoice,
    evidence: Evidence,
    sightings: Sequence[Sightings],
) -> list[PublishedHolders] | None:
    """The holders of each release of any tool; None where a table does not have the values."""
    if not raw or any(policy.sensitive.column not in table.columns for table in raw):
        return None
    return [
        _published(_read(table, policy, choice, evidence, label)[0], evidence, seen)
        for table, label, seen in zip(raw, evidence.labels, sightings, strict=True)
    ]


def _read(
    table: pl.DataFrame, policy: Policy, choice: ProtectedChoice, evidence: Evidence, label: str
) -> tuple[pl.DataFrame, pl.Series]:
    """Pairs of an ``id`` and the ``value`` or class that it holds, and the ids of all rows."""
    problems = missing_columns(table, [policy.person.id, policy.sensitive.column], "it")
    if problems:
        raise _refusal(label, problems)
    kind = "text" if evidence.ids.dtype == pl.String else "integer"
    typed = policy.model_copy(update={"person": policy.person.model_copy(update={"type": kind})})
    ids, problems = read_ids({"it": table[policy.person.id]}, typed)
    values, wrong = read_values(table[policy.sensitive.column], policy)
    if problems or wrong:
        raise _refusal(label, [*problems, *wrong])
    texts = values["value"].cast(pl.String)
    counted_as = protection_of(policy, choice, texts.unique().sort()).counted_as
    pairs = (
        pl.DataFrame({"id": ids["it"].gather(values["row"]), "value": texts})
        .join(counted_as, on="value")
        .select("id", pl.col("name").alias("value"))
        .unique()
    )
    return pairs, ids["it"]


def _refusal(label: str, problems: list[str]) -> TableError:
    return TableError(
        f"the raw table cannot be read ({counted(len(problems), 'problem')})",
        where=label,
        remedy="correct the table, or the policy",
        problems=problems,
    )


def _published(pairs: pl.DataFrame, evidence: Evidence, seen: Sightings) -> PublishedHolders:
    """Those pairs whose person has a record, in a group that shows the value."""
    index = pl.DataFrame(
        {"value": pl.Series(evidence.values, dtype=pl.String), "index": range(len(evidence.values))}
    )
    known = pairs.join(index, on="value").sort("index")
    person, value = _places(known["id"], evidence.ids), known["index"].to_numpy()
    group = np.full(len(evidence.ids) + 1, -1, dtype=np.int64)  # the last for unknown people
    group[seen.person[seen.present]] = seen.group[seen.present]
    shown, asked = _keys(seen.shown_group, seen.shown_value), _keys(group[person], value)
    is_shown = np.isin(asked, shown)
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


def _keys(group: NDArray[np.int64], value: NDArray[np.int64]) -> NDArray[np.int64]:
    """A group and a value in one number."""
    return group << 32 | value


def _places(ids: pl.Series, among: pl.Series) -> NDArray[np.int64]:
    """Where each id is in the evidence; one behind the last for those who are not in it."""
    numbered = pl.DataFrame({"id": among}).with_row_index("place")
    asked = pl.DataFrame({"id": ids})
    found = asked.join(numbered, on="id", how="left", maintain_order="left")["place"]
    return found.fill_null(len(among)).cast(pl.Int64).to_numpy()
