"""Earlier releases on disk, read by the verifier itself.

No code is shared with the part of the ledger that recalls the past for grouping: a fault there is
found here. Every byte that matters is compared with the catalog's digest, and the sizes of groups
are counted from their members.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import LedgerDamaged, StorageError
from serigraph.runtime.ordering import ascend
from serigraph.runtime.progress import Report
from serigraph.runtime.threads import parallel_map
from serigraph.short_repr import Undisclosed
from serigraph.texts import composed
from serigraph.verification.earlier import EarlierGroups, groups_by_place, places_among

Part = Literal["people", "members", "groups", "values"]

GROUPS_DIFFER = "the groups of a release do not have the sizes that the ledger gives them"
_RESTORE = "restore the series from a backup; nothing is published until then"


@dataclass(frozen=True)
class CommittedRelease:
    """What the catalog records about a release: where its parts are, their digests and sizes."""

    folder: Path
    digests: Mapping[str, str]  # the SHA-256 of each part, by file name
    newcomers: int  # people who were never members before
    members: int
    groups: int
    is_presence_known: bool
    known_members: int = 0  # of every group, to the adversary

    def files(self, part: Part) -> list[Path]:
        """The files of one kind of part, in the order of their rows."""
        kind = re.compile(rf"{part}(-\d+)?\.parquet")
        names = sorted(name for name in self.digests if kind.fullmatch(name))
        if not names:
            raise self.damaged("the catalog names no such part of a release", part)
        return [self.folder / name for name in names]

    def content(self, path: Path) -> bytes:
        """A file, byte for byte as it was committed."""
        try:
            content = path.read_bytes()
        except FileNotFoundError as error:
            raise self.damaged("a part of the ledger is missing", path.name) from error
        except OSError as error:
            raise StorageError(
                "a part of the ledger cannot be read",
                where=self._where(path.name),
                remedy="see to the disk and run the command again",
            ) from error
        if hashlib.sha256(content).hexdigest() != self.digests[path.name]:
            raise self.damaged("a part of the ledger was changed", path.name)
        return content

    def damaged(self, what: str, name: str) -> LedgerDamaged:
        return LedgerDamaged(what, where=self._where(name), remedy=_RESTORE)

    def _where(self, name: str) -> str:
        return "/".join([*self.folder.parts[-2:], name])


@dataclass(frozen=True, repr=False)
class LedgerOnDisk(Undisclosed):
    """The releases of a series, as `EarlierReleases`; all of them, oldest first."""

    releases: tuple[CommittedRelease, ...]

    def people(self) -> pl.Series:
        """In the order of their numbers in the ledger."""
        ids = parallel_map(_newcomers, self.releases)
        return pl.concat(ids) if ids else pl.Series(dtype=pl.String)

    def groups_of(
        self, ids: pl.Series, names: Sequence[str], report: Report
    ) -> list[EarlierGroups]:
        if not self.releases or not len(ids):
            return []
        place = places_among(ids, self.people())
        _check_known_once(place, len(ids))
        # Numbers are given in the order in which people arrive: a release whose people all have
        # lower numbers than the first of these has none of them.
        known = list(accumulate(release.newcomers for release in self.releases))
        numbers = np.flatnonzero(place >= 0)
        first = int(numbers[0]) if len(numbers) else len(place)
        asked = [
            (release, place[:people])
            for release, people in zip(self.releases, known, strict=True)
            if people > first
        ]
        return parallel_map(lambda each: _read_groups(*each, len(ids), names), asked, report)


def _check_known_once(place: NDArray[np.int64], people: int) -> None:
    is_known = np.zeros(people + 1, dtype=np.bool_)
    is_known[place] = True
    if np.count_nonzero(is_known[:-1]) != np.count_nonzero(place >= 0):
        raise LedgerDamaged(
            "the ledger knows people twice, by two Unicode forms of one id",
            where="ledger",
            remedy="begin a new series: what these people were exposed to cannot be added up",
        )


def _newcomers(release: CommittedRelease) -> pl.Series:
    """The people who were new in a release."""
    ids = read_ids(release, release.files("people"))
    if len(ids) != release.newcomers:
        raise release.damaged("the people of a release are not those of its record", "people")
    return ids


def read_ids(release: CommittedRelease, paths: Sequence[Path]) -> pl.Series:
    """The ids in some files of people, in the order of their numbers."""
    ids = pl.concat(pl.read_parquet(io.BytesIO(release.content(path)))["id"] for path in paths)
    return composed(ids) if ids.dtype == pl.String else ids


def read_columns(
    release: CommittedRelease, paths: Sequence[Path], names: list[str]
) -> list[NDArray[Any]]:
    """Some numeric columns of some files."""
    import pyarrow as pa

    table = pa.concat_tables([_table(release, path, names) for path in paths])
    return [table[name].to_numpy() for name in names]


def _table(release: CommittedRelease, path: Path, names: list[str]) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    source = pa.BufferReader(release.content(path))
    file = pq.ParquetFile(source, read_dictionary=["value"] if "value" in names else [])
    return file.read(names, use_threads=False)


@dataclass(frozen=True)
class Entries:
    """What groups held: a value that was asked for, or -1, and how many people hold it."""

    group: NDArray[np.integer]
    value: NDArray[np.int32]
    count: NDArray[np.integer]

    def asked(self) -> Entries:
        """The entries of values that were asked for."""
        asked = self.value >= 0
        if asked.all():
            return self
        return Entries(self.group[asked], self.value[asked], self.count[asked])


def read_entries(release: CommittedRelease, paths: Sequence[Path], names: Sequence[str]) -> Entries:
    """The entries of some files of values, for the values named."""
    import pyarrow as pa

    columns = ["group", "value", "count"]
    table = pa.concat_tables([_table(release, path, columns) for path in paths])
    coded = table["value"].unify_dictionaries()
    known = coded.chunk(0).dictionary if coded.num_chunks else pa.array([], pa.string())
    forms = composed(pl.Series(known, dtype=pl.String))
    if forms.n_unique() < len(forms):
        raise release.damaged("a release holds one value twice, in two Unicode forms", "values")
    number = {name: place for place, name in enumerate(names)}
    place = np.array([number.get(form, -1) for form in forms] or [-1], dtype=np.int32)
    code = [np.asarray(chunk.indices) for chunk in coded.chunks]
    value = place[np.concatenate(code)] if code else np.empty(0, dtype=np.int32)
    return Entries(table["group"].to_numpy(), value, table["count"].to_numpy())


def _read_groups(
    release: CommittedRelease, place: NDArray[np.int64], people: int, names: Sequence[str]
) -> EarlierGroups:
    """One release; ``place`` has, by number, the place of everybody known by then among the
    ``people`` asked for, or -1."""
    person, group, present = read_columns(
        release, release.files("members"), ["person", "group", "present"]
    )
    is_sound = (
        len(person) == release.members
        and person.max(initial=0) < max(len(place), 1)
        and group.max(initial=0) < max(release.groups, 1)
        and (ascend(person) or len(np.unique(person)) == len(person))
    )
    if not is_sound:
        raise release.damaged("the members of a release are not those of its record", "members")
    size = np.bincount(group, minlength=release.groups)
    shown = np.bincount(group[present], minlength=release.groups)
    number, said, said_shown = read_columns(
        release, release.files("groups"), ["group", "size", "present"]
    )
    if not (
        np.array_equal(number, np.arange(release.groups))
        and np.array_equal(said, size)
        and np.array_equal(said_shown, shown)
    ):
        raise release.damaged(GROUPS_DIFFER, "groups")
    held = read_entries(release, release.files("values"), names)
    left = (shown if release.is_presence_known else size) - release.known_members
    if (
        held.group.max(initial=0) >= max(release.groups, 1)
        or ((held.count < 1) | (held.count > shown[held.group])).any()
        or (held.count > left[held.group]).any()
    ):
        raise release.damaged("the values of a release do not fit its groups", "values")
    held = held.asked()
    return EarlierGroups.of(
        groups_by_place(people, place[person], group),
        left,
        held.group,
        held.value,
        held.count,
    )
