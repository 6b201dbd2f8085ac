"""The evidence that releases of other tools hold, once people are matched against their regions.

In a release whose regions are disjoint, n is the number of people that lie in a region. A region
in which every cell is suppressed stands for the people who lie in no other one.

Where regions overlap, an adversary that knows a person's quasi-identifiers cannot tell which group
the person is in. Such a release is refused, unless the caller tolerates it; then each person is
charged, value by value, for the largest n_s/n of the regions that it lies in, with n counted in
records. That is an upper bound: the adversary may know the group from elsewhere, and can know no
more than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.auditing.evidence import Evidence, InRelease, Memberships
from serigraph.auditing.known_people import KnownPeople
from serigraph.auditing.matching import match, read_regions
from serigraph.auditing.reading import ReadRelease
from serigraph.errors import TableError
from serigraph.model import CodedValues
from serigraph.policy import Policy
from serigraph.runtime.ordering import distinct
from serigraph.short_repr import Undisclosed
from serigraph.tables.cells import counted
from serigraph.tables.protection import ProtectedChoice, choose, holders_of, holdings

Tolerated = Literal["overlaps", "missing-people", "empty-regions"]


@dataclass(frozen=True, repr=False)
class Matched(Undisclosed):
    """One release as arrays: who may be in which group, and what the groups hold."""

    label: str
    ids: pl.Series
    present: NDArray[np.bool_]
    person: NDArray[np.int64]  # pairs (person, group)
    group: NDArray[np.int64]
    size: NDArray[np.int64]  # of each group: the people that the policy's adversary chooses from
    present_size: NDArray[np.int64]  # those of them that have a record
    entries: pl.DataFrame  # group, value, count
    notes: tuple[str, ...]


def match_release(
    release: ReadRelease,
    people: KnownPeople | pl.Series,
    policy: Policy,
    choice: ProtectedChoice,
    tolerated: frozenset[Tolerated],
) -> Matched:
    """Find the groups of everybody in one release. Raises ``TableError`` with all that is wrong.

    An adversary who knows who is present chooses among these: all others are in no group.
    """
    if isinstance(people, pl.Series):
        return _with_shown_ids(release, people, policy, choice)
    is_presence_known = policy.guarantee.adversary == "presence known"
    if is_presence_known:
        people = people.only_present()
    regions, problems = read_regions(
        release.cells, people.domains, release.writing, policy.reading.null_values
    )
    if problems:
        raise TableError(
            f"the release has cells that cannot be read ({counted(len(problems), 'problem')})",
            where=release.label,
            remedy="correct the kind of the column in the policy, give it a taxonomy with these "
            "names, or export the release again",
            problems=problems,
        )
    group_of_row = regions.of_row if release.group is None else release.group
    groups = int(group_of_row.max()) + 1
    records = np.bincount(group_of_row[release.record_row], minlength=groups)
    shown = np.bincount(group_of_row, minlength=groups)
    person, region = match(people.codes, regions)
    person, group = _groups_of(person, region, regions.of_row, group_of_row)
    if release.group is None:
        person, group = _without_catch_all(person, group, regions.is_everything)
    links = np.bincount(person, minlength=len(people.ids))
    inside = np.bincount(group, minlength=groups)
    present = np.bincount(group[people.present[person]], minlength=groups)
    with_record = present if people.tells_presence else inside
    overlap = int((links > 1).sum())
    is_comparable = release.is_counted_in_people and overlap == 0
    found = _Findings(
        overlapping=overlap,
        missing=int(((links == 0) & people.present).sum()) if people.tells_presence else 0,
        empty=int((inside == 0).sum()),
        overfull=int((records > with_record).sum()) if is_comparable else 0,
        underfull=int((records < present).sum()) if is_comparable and people.tells_presence else 0,
        people=len(people.ids),
        groups=groups,
    )
    notes = found.judge(release.label, tolerated)
    if release.group is not None:
        size = most = shown
        present_size = present if people.tells_presence and not overlap else shown
    elif overlap:
        size = present_size = most = np.maximum(records, 1)
    else:
        present_size = most = present if people.tells_presence else np.minimum(records, inside)
        size = present_size if is_presence_known else inside
    return Matched(
        label=release.label,
        ids=people.ids,
        present=people.present,
        person=person,
        group=group,
        size=size,
        present_size=present_size,
        entries=_entries(release, group_of_row, most, policy, choice),
        notes=(*release.notes, *notes, *_on_classes(release, policy)),
    )


def gather_evidence(matched: Sequence[Matched], policy: Policy) -> Evidence:
    """All releases together, for everybody who lies in a region of at least one of them."""
    ids = pl.concat([each.ids.gather(distinct(each.person)) for each in matched]).unique().sort()
    names = pl.concat([each.entries["value"] for each in matched]).unique().sort()
    index = pl.DataFrame({"value": names, "index": np.arange(len(names), dtype=np.int32)})
    memberships: list[InRelease] = []
    first_group, parts = [0], []
    for each in matched:
        somewhere = distinct(each.person)
        place = np.full(len(each.ids), -1, dtype=np.int64)
        place[somewhere] = _places(each.ids.gather(somewhere), ids)
        person, combined, entries = _combined(each, index, policy.guarantee.known_members)
        memberships.append((place[person], combined + first_group[-1], each.present[person]))
        parts.append(entries)
        first_group.append(first_group[-1] + int(combined.max(initial=-1)) + 1)
    together = pl.concat(parts)
    lengths = np.concatenate(
        [
            np.bincount(part["group"].to_numpy(), minlength=last - first)
            for part, (first, last) in zip(parts, pairwise(first_group), strict=True)
        ]
    )
    return Evidence(
        ids=ids,
        labels=tuple(each.label for each in matched),
        members=tuple(len(distinct(each.person)) for each in matched),
        values=tuple(names.to_list()),
        thresholds=tuple(policy.threshold_of(name) for name in names),
        memberships=Memberships.of(len(ids), memberships),
        first_group=np.array(first_group, dtype=np.int64),
        start=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        value=together["index"].to_numpy().astype(np.int32),
        count=together["count"].to_numpy().astype(np.int64),
        size=together["size"].to_numpy().astype(np.int64),
        present_size=together["present_size"].to_numpy().astype(np.int64),
        known_members=(policy.guarantee.known_members,) * len(matched),
        persists=_persisting(policy, names.to_list(), len(matched)),
    )


def _persisting(policy: Policy, names: Sequence[str], releases: int) -> NDArray[np.bool_] | None:
    persists = np.array([policy.persistence_of(name) != "transient" for name in names], np.bool_)
    return np.tile(persists, (releases, 1)) if persists.any() else None


def first_choice(release: ReadRelease, policy: Policy) -> ProtectedChoice:
    """What the policy protects, counted in the first release."""
    return choose(policy, holders_of(CodedValues.of(release.record_values)))


@dataclass(frozen=True)
class _Findings:
    """How people and regions fail to match."""

    overlapping: int  # people in several regions
    missing: int  # people in none
    empty: int  # regions without people
    overfull: int  # regions with more records than people
    underfull: int  # regions with fewer records than people who have one
    people: int
    groups: int

    def judge(self, label: str, tolerated: frozenset[Tolerated]) -> tuple[str, ...]:
        """Notes on what is tolerated; refuses the rest, all at once."""
        said: list[tuple[bool, Tolerated | None, str]] = [
            (
                self.overlapping > 0,
                "overlaps",
                f"regions overlap: {counted(self.overlapping, 'person is', 'people are')} in "
                f"more than one of {self.groups:,} groups",
            ),
            (
                self.missing > 0,
                "missing-people",
                f"{counted(self.missing, 'person is', 'people are')} in no region "
                f"(of {self.people:,} people)",
            ),
            (
                self.underfull > 0,
                "missing-people",
                f"{counted(self.underfull, 'region has', 'regions have')} fewer records than "
                "people who should have one",
            ),
            (
                self.empty > 0,
                "empty-regions",
                f"{counted(self.empty, 'region matches', 'regions match')} no person "
                f"(of {self.groups:,} groups)",
            ),
            (
                self.overfull > self.empty,
                None,
                f"{counted(self.overfull - self.empty, 'region has', 'regions have')} more records "
                "than people",
            ),
        ]
        problems = [words for is_so, way, words in said if is_so and way not in tolerated]
        ways = [way for is_so, way, _ in said if is_so and way and way not in tolerated]
        if problems:
            help_ = (
                "give the raw tables or the registry that the release was made from, and each "
                "column the kind and the taxonomy by which it was generalised"
            )
            if ways:
                flags = " ".join(f"--tolerate {way}" for way in dict.fromkeys(ways))
                help_ += f", or audit anyway with {flags}"
            raise TableError(
                "people and regions do not match",
                where=label,
                remedy=help_,
                problems=problems,
            )
        return tuple(f"{label}: {words}" for is_so, _, words in said if is_so)


def _on_classes(release: ReadRelease, policy: Policy) -> tuple[str, ...]:
    """A note that two tables do not show how many people hold a class."""
    is_shown = release.group is None or release.is_counted_in_people or policy.has_one_value
    if is_shown or not policy.class_rules:
        return ()
    return (
        f"{release.label}: the tables do not show who holds several values of a class; each value "
        "counts as a separate person, so the probabilities of classes are upper bounds",
    )


def _with_shown_ids(
    release: ReadRelease, ids: pl.Series, policy: Policy, choice: ProtectedChoice
) -> Matched:
    """A release that shows ids gives the groups of people itself."""
    if release.group is not None:
        group_of_row = release.group
    else:
        same = release.cells.select(pl.struct(pl.all()).rank("dense")).to_series()
        group_of_row = same.to_numpy().astype(np.int64) - 1
    pairs = pl.DataFrame({"id": ids, "group": group_of_row}).unique().sort("id", "group")
    known = pairs["id"].unique().sort()
    person = _places(pairs["id"], known)
    size = np.bincount(pairs["group"].to_numpy(), minlength=int(group_of_row.max()) + 1)
    return Matched(
        label=release.label,
        ids=known,
        present=np.ones(len(known), dtype=np.bool_),
        person=person,
        group=pairs["group"].to_numpy(),
        size=size,
        present_size=size,
        entries=_entries(release, group_of_row, size, policy, choice),
        notes=(
            *release.notes,
            f"{release.label}: the release shows ids, so groups are taken from them",
        ),
    )


def _groups_of(
    person: NDArray[np.int64],
    region: NDArray[np.int64],
    region_of_row: NDArray[np.int64],
    group_of_row: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """From regions to groups: a group of a bucketised release has the regions of its members."""
    groups = int(group_of_row.max()) + 1
    cell = distinct(region_of_row * groups + group_of_row)
    links = pl.DataFrame({"region": cell // groups, "group": cell % groups})
    pairs = (
        pl.DataFrame({"person": person, "region": region})
        .join(links, on="region")
        .select("person", "group")
        .unique()
        .sort("person", "group")
    )
    return pairs["person"].to_numpy(), pairs["group"].to_numpy()


def _without_catch_all(
    person: NDArray[np.int64], group: NDArray[np.int64], is_everything: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows that are suppressed as a whole stand for the people who lie in no other region."""
    if not is_everything.any() or is_everything.all():
        return person, group
    elsewhere = np.bincount(person[~is_everything[group]], minlength=int(person.max(initial=0)) + 1)
    kept = ~is_everything[group] | (elsewhere[person] == 0)
    return person[kept], group[kept]


def _entries(
    release: ReadRelease,
    group_of_row: NDArray[np.int64],
    most: NDArray[np.int64],
    policy: Policy,
    choice: ProtectedChoice,
) -> pl.DataFrame:
    """The protected values of each group with the people that hold them, at most the people in it:
    where a person may have several records, there can be more records than people."""
    values = CodedValues.of(release.record_values)
    held = holdings(policy, choice, values, len(release.record_values))
    record = np.repeat(np.arange(len(release.record_row)), np.diff(held.start))
    group = group_of_row[release.record_row[record]]
    names = pl.Series([value.name for value in held.protected], dtype=pl.String)
    counts = (
        pl.DataFrame({"group": group, "value": names.gather(held.held)})
        .group_by("group", "value")
        .len("count")
    )
    people = pl.Series("people", most).gather(counts["group"]).cast(pl.Int64)
    return counts.select(
        "group", "value", pl.min_horizontal(pl.col("count").cast(pl.Int64), people).alias("count")
    ).filter(pl.col("count") > 0)


def _combined(
    matched: Matched, index: pl.DataFrame, known: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], pl.DataFrame]:
    """People with the set of groups that they may be in, and the largest risk of each set.

    Returns those of them whose groups hold anything protected, the number of their set, and the
    entries of the sets: group, index, count, size, present_size.
    """
    held = matched.entries.join(index, on="value")
    held = held.with_columns(
        size=pl.Series(matched.size).gather(held["group"]),
        present_size=pl.Series(matched.present_size).gather(held["group"]),
    )
    relevant = np.zeros(len(matched.size), dtype=np.bool_)
    relevant[held["group"].to_numpy()] = True
    kept = relevant[matched.group]
    sets = (
        pl.DataFrame({"person": matched.person[kept], "group": matched.group[kept]})
        .sort("person", "group")
        .group_by("person", maintain_order=True)
        .agg("group")
    )
    distinct = sets.select("group").unique(maintain_order=True).with_row_index("set")
    numbered = sets.join(distinct, on="group", how="left", maintain_order="left")
    worst = (
        distinct.explode("group")
        .join(held, on="group")
        .with_columns(
            risk=pl.col("count") / pl.max_horizontal(pl.col("size") - known, "count"),
            risk_if_present=pl.col("count")
            / pl.max_horizontal(pl.col("present_size") - known, "count"),
        )
        .sort("risk", "risk_if_present", descending=True)
        .unique(["set", "index"], keep="first", maintain_order=True)
        .sort("set", "index")
        .select(pl.col("set").alias("group"), "index", "count", "size", "present_size")
    )
    return (
        numbered["person"].to_numpy(),
        numbered["set"].cast(pl.Int64).to_numpy(),
        worst,
    )


def _places(ids: pl.Series, among: pl.Series) -> NDArray[np.int64]:
    numbered = pl.DataFrame({"id": among}).with_row_index("place")
    asked = pl.DataFrame({"id": ids})
    found = asked.join(numbered, on="id", how="left", maintain_order="left")["place"]
    return found.cast(pl.Int64).to_numpy()
