"""Small releases to commit, and what a plain reading of them says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl

from serigraph.ledger import PRESENCE_UNKNOWN, ReleaseDraft, ReleaseRecord, Series
from serigraph.model import CohortChanges, Proof


@dataclass(frozen=True)
class Person:
    """One member of a release, as a test writes it down."""

    id: str | int
    group: int
    values: tuple[str, ...] = ()
    present: bool = True


def changes_of(
    joined: Mapping[str, int] | Mapping[int, int], retired: Sequence[str | int] = ()
) -> CohortChanges:
    """People who join a cohort, and people who retire; text if there is nobody."""
    kind = pl.Int64 if any(isinstance(id, int) for id in (*joined, *retired)) else pl.String
    return CohortChanges(
        joined=pl.Series(sorted(joined), dtype=kind),
        cohort=np.array([cohort for _, cohort in sorted(joined.items())], dtype=np.int64),
        retired=pl.Series(sorted(retired), dtype=kind),
    )


def proof_of(people: Sequence[Person], cohorts: CohortChanges | None = None) -> Proof:
    """The proof of a release, worked out from the people one by one."""
    ordered = sorted(people, key=lambda person: person.id)
    groups = 1 + max(person.group for person in people)
    held = sorted({(p.group, value) for p in people if p.present for value in p.values})
    holders = Counter((p.group, value) for p in people for value in set(p.values))
    is_text = isinstance(ordered[0].id, str)
    names = sorted({value for p in people for value in p.values})
    pairs = [(place, value) for place, p in enumerate(ordered) for value in sorted(set(p.values))]
    return Proof(
        ids=pl.Series([p.id for p in ordered], dtype=pl.String if is_text else pl.Int64),
        group=np.array([p.group for p in ordered], dtype=np.uint32),
        present=np.array([p.present for p in ordered], dtype=np.bool_),
        size=np.array([sum(p.group == g for p in people) for g in range(groups)], dtype=np.int64),
        present_size=np.array(
            [sum(p.group == g and p.present for p in people) for g in range(groups)],
            dtype=np.int64,
        ),
        value_group=np.array([group for group, _ in held], dtype=np.uint32),
        value_name=pl.Series([value for _, value in held], dtype=pl.String),
        value_count=np.array([holders[entry] for entry in held], dtype=np.int64),
        largest=Fraction(1, 3),
        pairs=len(people) * len(held),
        exact_pairs=0,
        holder=np.array([place for place, _ in pairs], dtype=np.int64),
        held=np.array([names.index(value) for _, value in pairs], dtype=np.int32),
        protected_names=tuple(names),
        cohorts=cohorts,
    )


def draft_of(
    label: str, *, table_digest: str | None = None, adversary: str = PRESENCE_UNKNOWN
) -> ReleaseDraft:
    return ReleaseDraft(
        label=label,
        published_at=datetime(2024, 7, 1, 12, 30, tzinfo=UTC),
        table_digest=table_digest or f"digest of {label}",
        policy={"threshold": "1/3", "columns": ["age", "city"]},
        protected={"values": ["flu", "HIV"]},
        threshold="1/3",
        strategy="constant ratio for 20 releases",
        adversary=adversary,
        summary={"records": 3},
    )


def new_series(folder: Path) -> Series:
    return Series.create(folder / "clinic", {"policy.toml": b"# the policy\n"})


def publish(
    series: Series,
    label: str,
    people: Sequence[Person],
    *,
    table_digest: str | None = None,
    adversary: str = PRESENCE_UNKNOWN,
    cohorts: CohortChanges | None = None,
) -> ReleaseRecord:
    """A whole publication: two public files, one of them in a folder, and the commit."""
    with series.writing() as writer:
        (writer.staging / "table.csv").write_text(f"group\n{label}\n")
        (writer.staging / "plots").mkdir()
        (writer.staging / "plots" / "risk.json").write_text("{}")
        return writer.commit(
            proof_of(people, cohorts),
            draft_of(label, table_digest=table_digest, adversary=adversary),
        )


FIRST = (
    Person("ann", 0, ("flu",)),
    Person("bob", 0),
    Person("cat", 1, ("HIV", "flu")),
    Person("dan", 1, present=False),
    Person("eve", 2, ("cough",)),
)
SECOND = (
    Person("aaron", 0, ("HIV",)),
    Person("ann", 0, ("HIV",)),
    Person("cat", 0, present=False),
    Person("dan", 1, ("flu",)),
    Person("zoe", 1),
)


def shape_on_disk(root: Path) -> dict[str, bytes]:
    """Every file of a series with its content, the catalog's locks and journals aside.

    Not for use while this process holds the lock: reading the catalog here would drop it.
    """
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }
