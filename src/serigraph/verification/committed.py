"""The parts of a committed release, read by the verifier itself, byte for byte as committed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import LedgerDamaged, StorageError
from serigraph.texts import composed

Part = Literal["people", "members", "groups", "values", "cohorts", "retired", "holders"]

_RESTORE = "restore the series from a backup; nothing is published until then"


@dataclass(frozen=True)
class Standing:
    """What the policy of a release said that shows values that persist in standing cohorts."""

    persists: Callable[[str], bool]
    threshold_of: Callable[[str], Fraction]
    has_one_value: bool  # everybody with a record has one value


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
    standing: Standing | None = None  # how its cohorts stand; None if they do not

    def files(self, part: Part) -> list[Path]:
        """The files of one kind of part, in the order of their rows."""
        found = self.files_if_any(part)
        if not found:
            raise self.damaged("the catalog names no such part of a release", part)
        return found

    def files_if_any(self, part: Part) -> list[Path]:
        """The same for a part that not every release has."""
        kind = re.compile(rf"{part}(-\d+)?\.parquet")
        return [self.folder / name for name in sorted(self.digests) if kind.fullmatch(name)]

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


def read_ids(release: CommittedRelease, paths: Sequence[Path]) -> pl.Series:
    """The ids in some files of people, in the order of their numbers."""
    ids = pl.concat([pl.Series(_table(release, path, ["id"])["id"]) for path in paths])
    return composed(ids) if ids.dtype == pl.String else ids


def read_columns(
    release: CommittedRelease, paths: Sequence[Path], names: list[str]
) -> list[NDArray[Any]]:
    """Some numeric columns of some files."""
    import pyarrow as pa

    table = pa.concat_tables([_table(release, path, names) for path in paths])
    return [table[name].to_numpy() for name in names]


def has_column(release: CommittedRelease, path: Path, name: str) -> bool:
    """Whether a file has a column that not every release has."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    return name in pq.read_schema(pa.BufferReader(release.content(path))).names


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
    group, count, value = _read_named(release, paths, ("group", "count"), names)
    return Entries(group, value, count)


def read_holders(
    release: CommittedRelease, names: Sequence[str]
) -> tuple[NDArray[np.integer], NDArray[np.int32]]:
    """Everybody who was published as a holder: the number of the person, and the place of the value
    among the names, or -1."""
    person, value = _read_named(release, release.files("holders"), ("person",), names)
    return person, value


def check_holders(
    release: CommittedRelease,
    names: Sequence[str],
    person: NDArray[np.integer],
    group: NDArray[np.integer],
    held: Entries,
) -> tuple[NDArray[np.integer], NDArray[np.int32]]:
    """Who was published as a holder of the values named, from a release that records it.

    Refuses holders who do not add up to what the groups ``held`` of these values. ``person`` and
    ``group`` are those of the members with a record.
    """
    holder, value = read_holders(release, names)
    if not (asked := value >= 0).all():
        holder, value = holder[asked], value[asked]
    values = max(len(names), 1)
    of_person = np.full(int(person.max(initial=0)) + 2, -1)  # the last place is nobody's
    of_person[person] = group
    found = np.take(of_person, holder, mode="clip")
    found *= values
    found += value
    found.sort()
    said, count = held.group.astype(np.int64) * values + held.value, held.count
    order = np.argsort(said, kind="stable")  # nothing to do as a rule
    said, count = said[order], count[order]
    pair = holder.astype(np.int64)
    pair *= values
    pair += value
    pair.sort()
    is_right = (
        len(pair) == count.sum()
        and (pair[1:] > pair[:-1]).all()
        and (said[1:] > said[:-1]).all()
        and np.array_equal(np.repeat(said, count), found)
    )
    if not is_right:
        raise release.damaged("the holders of a release are not those of its groups", "holders")
    return holder, value


def read_names(release: CommittedRelease, part: Part) -> pl.Series:
    """The values that a part names."""
    tables = [_table(release, path, ["value"]) for path in release.files(part)]
    found = [pl.Series(table["value"], dtype=pl.String).unique() for table in tables]
    return composed(pl.concat(found)).unique()


def _read_named(
    release: CommittedRelease, paths: Sequence[Path], numbers: Sequence[str], names: Sequence[str]
) -> list[Any]:
    """Some numeric columns of files that name values, and for each row the place of its value among
    the names, or -1."""
    import pyarrow as pa

    columns = [*numbers, "value"]
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
    return [*(table[name].to_numpy() for name in numbers), value]
