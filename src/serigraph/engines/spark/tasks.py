"""What executors do: place people, form and verify the groups of a partition, write files.

Randomness cannot be repeated, so nothing that depends on it is computed twice: a task writes its
groups to draft files with unique names and reports them to the driver. If a task is retried, only
one attempt reports; the files of the others are never read.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from serigraph.engines.interface import Measure, Plan, VerifiedRelease
from serigraph.engines.local import finished, formed
from serigraph.engines.spark.partitions import Tree
from serigraph.engines.spark.pieces import (
    Piece,
    batches_of,
    codes_of,
    past_of,
    population_of,
)
from serigraph.engines.spark.verifier_ledger import earlier_releases
from serigraph.engines.suppression import demand_of
from serigraph.errors import GuaranteeExceeded, ImpossibleState, LedgerDamaged
from serigraph.grouping import Grouping
from serigraph.ledger.encoding import (
    check_shape,
    encode_groups,
    encode_members,
    encode_people,
    encode_values,
)
from serigraph.ledger.parts import GROUPS, MEMBERS, PEOPLE, VALUES
from serigraph.ledger.storage import digest_of, new_file, sync, write_durably
from serigraph.model import CodedValues, Domain, Past, Population
from serigraph.recoding import as_text
from serigraph.recoding.tables import GROUP
from serigraph.runtime.randomness import SystemRandomness
from serigraph.tables.digests import cell_hashes, record_hashes
from serigraph.tables.protection import Protection, holdings_under
from serigraph.verification import RememberedReleases

Write = Callable[[Path, str, dict[str, pl.DataFrame]], list[Path]]

# A task's rows: people, and what past groups held, both as recalled for grouping and as the
# verifier reads it.
PERSON, RECALLED, FOR_VERIFIER = "person", "recalled", "for the verifier"
PACKED = "node int, packed binary"  # a pickled result of a task


def pack(node: int, what: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            "node": pa.array([node], pa.int32()),
            "packed": pa.array([pickle.dumps(what)], pa.binary()),
        }
    )


def unpack(rows: pa.Table) -> list[Any]:
    """The results of tasks, ascending by node."""
    in_order = sorted(rows.to_pylist(), key=lambda row: int(row["node"]))
    return [pickle.loads(row["packed"]) for row in in_order]


@dataclass(frozen=True)
class PlacePeople:
    """Adds each person's leaf, protected values and record hash."""

    tree: Tree
    domains: tuple[Domain, ...]
    protection: Protection

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        hashes = {domain.name: cell_hashes(domain.values) for domain in self.domains}
        for batch in batches:
            people = pl.DataFrame(batch)
            if people.is_empty():
                continue
            codes = codes_of(people, len(self.domains))
            values = CodedValues.of(people["values"])
            records = record_hashes(
                people["id"],
                {
                    domain.name: (hashes[domain.name], column)
                    for domain, column in zip(self.domains, codes, strict=True)
                },
                values,
            )
            held = holdings_under(self.protection, values, people.height)
            placed = people.with_columns(
                pl.Series("leaf", self.tree.leaf_of(codes), dtype=pl.Int32),
                pl.Series("record", records.view(np.int64)),
                _lists(held.start, held.held).alias("held"),
            )
            yield from batches_of(placed)


@dataclass(frozen=True)
class GroupPartition:
    """Forms and verifies the groups of partitions; the same work as on one machine."""

    tree: Tree
    domains: tuple[Domain, ...]
    protection: Protection
    plan: Plan
    releases: int
    drafts: Path
    last_resort: frozenset[int]  # nodes without a neighbour to merge with
    at_least: NDArray[np.int64]  # holders of each value that a partition must have room for
    measure: Measure

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        got = [pl.DataFrame(batch) for batch in batches if batch.num_rows]
        if not got:
            return
        for (node,), rows in pl.concat(got).partition_by("node", as_dict=True).items():
            yield pack(int(node), self._piece(int(node), rows))

    def _piece(self, node: int, rows: pl.DataFrame) -> Piece:
        people = rows.filter(rows["kind"] == PERSON).sort("id")
        compositions = rows.filter(rows["kind"] == RECALLED)
        population = population_of(people, self.domains, self.protection.protected)
        past = past_of(people, compositions, self.releases)
        try:
            earlier = self._earlier(people, rows.filter(rows["kind"] == FOR_VERIFIER))
            return self._made(node, population, past, earlier, people["number"])
        except (GuaranteeExceeded, ImpossibleState, LedgerDamaged) as error:
            said = (error.what, error.where, error.remedy, error.problems)
            return Piece(node, population.size, error=(type(error).__name__, *said))

    def _earlier(self, people: pl.DataFrame, compositions: pl.DataFrame) -> RememberedReleases:
        if not self.releases:
            return RememberedReleases()
        names = [value.name for value in self.protection.protected]
        return earlier_releases(people, compositions, names)

    def _made(
        self,
        node: int,
        population: Population,
        past: Past,
        earlier: RememberedReleases,
        number: pl.Series,
    ) -> Piece:
        randomness = SystemRandomness()
        demand = demand_of(population.protected, self.plan)
        box = self.tree.box(node)
        found = formed(population, past, demand, self.plan, randomness, box, self.at_least)
        if node not in self.last_resort and (
            not isinstance(found, Grouping) or population.size < self.plan.minimum_size
        ):
            return Piece(node, population.size, has_failed=True)
        if not isinstance(found, Grouping):
            return Piece(node, population.size, excess=tuple(found.tolist()))
        self._check_box(node, found)
        made = finished(population, population, earlier, self.plan, found, randomness)
        check_shape(made.proof)
        draft = f"{node:06d}-{uuid.uuid4().hex}"
        self._write(node, draft, made, population, number)
        proof = made.proof
        linked = np.unique(proof.value_group)
        return Piece(
            node=node,
            people=population.size,
            draft=draft,
            tables=tuple(made.tables),
            members=len(proof.ids),
            groups=len(proof.size),
            linked_groups=len(linked),
            linked_size=int(proof.size[linked].sum()),
            smallest_size=int(proof.size.min()) if len(proof.size) else 0,
            largest_size=int(proof.size.max(initial=0)),
            rows=made.rows,
            unique_rows=made.unique_rows(),
            people_alone=made.people_alone,
            largest=proof.largest,
            worst=proof.worst,
            pairs=proof.pairs,
            exact_pairs=proof.exact_pairs,
            widths=tuple(made.widths.values()),
            measured=self.measure(made, self.plan, past, population.ids),
        )

    def _check_box(self, node: int, grouping: Grouping) -> None:
        """Partitions have disjoint boxes: groups that stay inside cannot overlap another's."""
        low, high = (np.array(ends) for ends in self.tree.box(node))
        if grouping.low.shape[1] and not (
            (grouping.low >= low).all() and (grouping.high <= high).all()
        ):
            raise ImpossibleState("a group reaches beyond its partition")

    def _write(
        self,
        node: int,
        draft: str,
        made: VerifiedRelease,
        population: Population,
        number: pl.Series,
    ) -> None:
        proof = made.proof
        place = population.ids.search_sorted(proof.ids)
        members = pl.DataFrame(
            {
                "id": proof.ids,
                "number": number.gather(place),
                "group": pl.Series(proof.group, dtype=pl.Int64),
                "present": proof.present,
            }
        ).with_columns(pl.lit(node, dtype=pl.Int32).alias("node"))
        groups = pl.DataFrame({"size": proof.size, "present": proof.present_size})
        values = pl.DataFrame(
            {
                "group": pl.Series(proof.value_group, dtype=pl.Int64),
                "value": proof.value_name.cast(pl.String),
                "count": proof.value_count,
            }
        )
        frames = {MEMBERS: members, GROUPS: groups, VALUES: values}
        frames |= {f"{name}.parquet": as_text(table) for name, table in made.tables.items()}
        for name, frame in frames.items():
            path = self.drafts / f"{draft}-{name}"
            new_file(path).close()
            frame.write_parquet(path, compression="zstd")


@dataclass(frozen=True)
class File:
    """A file that a task wrote: its kind, its number and its content."""

    kind: str
    number: int
    path: Path
    sha256: str
    rows: int


@dataclass(frozen=True)
class WritePiece:
    """Numbers the groups of a partition consecutively, and writes files for ledger and public."""

    drafts: Path
    is_numbered: bool  # group numbers are published
    write: Write

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                piece, number, first = pickle.loads(row["packed"])
                yield pack(number, self._written(piece, number, first))

    def _written(self, piece: Piece, number: int, first: int) -> list[File]:
        def draft(name: str) -> pl.DataFrame:
            return pl.read_parquet(self.drafts / f"{piece.draft}-{name}", glob=False)

        groups, values = draft(GROUPS), draft(VALUES)
        contents = {
            GROUPS: encode_groups(
                first + np.arange(groups.height),
                groups["size"].to_numpy(),
                groups["present"].to_numpy(),
            ),
            VALUES: encode_values(
                first + values["group"].to_numpy(), values["value"], values["count"].to_numpy()
            ),
        }
        own = f"{number:05d}-{uuid.uuid4().hex}"
        files = [
            _written(self.drafts, own, kind, number, content, 0)
            for kind, content in contents.items()
        ]
        tables = {name: draft(f"{name}.parquet") for name in piece.tables}
        if self.is_numbered:
            tables = {n: t.with_columns(pl.col(GROUP) + first) for n, t in tables.items()}
        for path in self.write(self.drafts, own, tables):
            sync(path)
            content = path.read_bytes()
            kind = path.name.removeprefix(f"{own}-")
            files.append(File(kind, number, path, digest_of(content), 0))
        return files


@dataclass(frozen=True)
class WriteMembers:
    """Writes members in the order of their numbers, or new ones in the order of their ids.

    The column ``piece`` says which part of the order a task has; ``first`` has the number of the
    first new person in each.
    """

    drafts: Path
    first: dict[int, int] | None  # None for members who have numbers already

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        got = [pl.DataFrame(batch) for batch in batches if batch.num_rows]
        if not got:
            return
        members = pl.concat(got)
        part = int(members["piece"][0])
        own = f"{uuid.uuid4().hex}-{part:05d}"
        files = []
        number: NDArray[np.int64]
        if self.first is None:
            number = members["number"].to_numpy()
        else:
            number = self.first[part] + np.arange(members.height)
            content = encode_people(members["id"])
            files.append(_written(self.drafts, own, PEOPLE, part, content, members.height))
        content = encode_members(number, members["group"].to_numpy(), members["present"].to_numpy())
        files.append(_written(self.drafts, own, MEMBERS, part, content, members.height))
        yield pack(part, files)


def _written(drafts: Path, own: str, kind: str, number: int, content: bytes, rows: int) -> File:
    path = drafts / f"{own}-{kind}"
    write_durably(path, content)
    return File(kind, number, path, digest_of(content), rows)


def _lists(start: NDArray[np.int64], entries: NDArray[np.int32]) -> pl.Series:
    lists = pa.LargeListArray.from_arrays(pa.array(start), pa.array(entries.astype(np.int32)))
    return pl.Series(pl.from_arrow(lists))
