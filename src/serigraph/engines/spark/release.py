"""The engine for a cluster: partitions the people, groups and verifies each part, adds up."""

from __future__ import annotations

import pickle
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa

from serigraph.engines.interface import Measure, Plan
from serigraph.engines.spark.failures import cluster_errors
from serigraph.engines.spark.keeping import PersistedFrames
from serigraph.engines.spark.ledger_frames import LedgerFrames
from serigraph.engines.spark.partitions import (
    MOST,
    SAMPLED,
    Census,
    Tree,
    grow,
    merged_with_siblings,
    partitions,
)
from serigraph.engines.spark.people import PeopleOnSpark
from serigraph.engines.spark.pieces import Piece, codes_of, population_of
from serigraph.engines.spark.tasks import (
    FOR_VERIFIER,
    PACKED,
    PERSON,
    RECALLED,
    File,
    GroupPartition,
    PlacePeople,
    Write,
    WritePiece,
    unpack,
)
from serigraph.engines.spark.verifier_ledger import VerifierFrames
from serigraph.engines.spark.versions import of_this_version
from serigraph.engines.suppression import Counts, demand_of, excess_holders, refusal
from serigraph.errors import GuaranteeExceeded, ImpossibleState, LedgerDamaged
from serigraph.grouping.layout import FEW
from serigraph.ledger import ReleaseRecord
from serigraph.records import worst_of
from serigraph.runtime.progress import Progress
from serigraph.runtime.randomness import SystemRandomness
from serigraph.tables.digests import digest_of
from serigraph.tables.people import column_name
from serigraph.verification.regions import overlapping

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

_LOW = 2**32 - 1
NOT_HERE = "suppression is for one machine: --engine local can leave values out"
_ERRORS = {each.__name__: each for each in (GuaranteeExceeded, ImpossibleState, LedgerDamaged)}


@dataclass(frozen=True)
class MadeOnSpark:
    """A verified release whose groups and tables lie in files, and its figures."""

    pieces: tuple[Piece, ...]  # from left to right
    files: tuple[File, ...]  # of groups, of values and for the public
    widths: dict[str, float]
    counts: Counts  # of what is published

    def figures(self) -> dict[str, object]:
        """What is reported about the release, as for one made on one machine."""
        groups = sum(piece.groups for piece in self.pieces)
        linked = sum(piece.linked_groups for piece in self.pieces)
        members = sum(piece.members for piece in self.pieces)
        worst = worst_of(piece.worst for piece in self.pieces)
        return {
            "people": members,
            "present": self.counts.present,
            "rows": sum(piece.rows for piece in self.pieces),
            # People with equal quasi-identifiers are in one partition.
            "unique_rows": sum(piece.unique_rows for piece in self.pieces),
            "people_alone": sum(piece.people_alone for piece in self.pieces),
            "groups": groups,
            "mean_size": members / groups if groups else 0.0,
            "groups_with_protected_value": linked,
            "mean_size_with_protected_value": sum(piece.linked_size for piece in self.pieces)
            / linked
            if linked
            else 0.0,
            "smallest_size": min(
                (piece.smallest_size for piece in self.pieces if piece.smallest_size), default=0
            ),
            "largest_size": max((piece.largest_size for piece in self.pieces), default=0),
            "protected_values": int(np.count_nonzero(self.counts.holders)),
            "pairs_checked": sum(piece.pairs for piece in self.pieces),
            "pairs_decided_in_fractions": sum(piece.exact_pairs for piece in self.pieces),
            "largest_probability": str(self.largest),
            "worst_in_release": worst.to_json() if worst else None,
            "suppressed": {},
            "suppressed_values": 0,
            "normalised_widths": self.widths,
            "mean_normalised_width": float(np.mean(list(self.widths.values()))),
        }

    @property
    def largest(self) -> Fraction:
        return max((piece.largest for piece in self.pieces), default=Fraction(0))


@dataclass(frozen=True)
class SparkRun:
    """What the engine needs for one release."""

    session: SparkSession
    ledger: LedgerFrames
    for_verifier: VerifierFrames
    releases: tuple[ReleaseRecord, ...]
    drafts: Path  # a folder that driver and executors share
    partition_people: int
    kept: PersistedFrames
    measure: Measure
    write: Write


@dataclass(frozen=True)
class Placed:
    """The people of a release in the leaves of a tree, and counts of them."""

    everybody: PeopleOnSpark
    frame: DataFrame
    tree: Tree
    census: Census
    counts: Counts
    digest: str  # of the table


def place_people(
    everybody: PeopleOnSpark, *, is_presence_known: bool, run: SparkRun, progress: Progress
) -> Placed:
    """Assign everybody to a leaf of the tree that partitions the release."""
    people = everybody.frame
    number = everybody.present if is_presence_known else everybody.people
    if is_presence_known:
        people = people.filter("present")
    progress("recalling")
    tree = _tree(people, number, everybody, run.partition_people)
    place = PlacePeople(tree, everybody.domains, everybody.protection)
    placed = run.kept.keep(
        _with_memberships(people.mapInArrow(of_this_version(place), _placed_schema(people)), run)
    )
    progress("ordering")
    with cluster_errors("placing the people"):
        census, counts, total = _counted(placed, tree, everybody, is_presence_known)
    run.kept.release(everybody.merged)
    digest = digest_of((each.name for each in everybody.domains), everybody.present, total)
    return Placed(everybody, placed, tree, census, counts, digest)


def make_release_on_spark(
    placed: Placed, plan: Plan, run: SparkRun, progress: Progress
) -> MadeOnSpark:
    """Make a release on a cluster; raises what ``make_release`` raises."""
    everybody, counts = placed.everybody, placed.counts
    protected = everybody.protection.protected
    base = demand_of(protected, plan).base_targets(
        population_of(_nobody(everybody), everybody.domains, protected)
    )
    weight = counts.present if plan.is_presence_known else counts.people
    excess = excess_holders(protected, counts.holders, base, weight, plan.clearance)
    if excess:
        missing = {protected[value].name: number for value, number in excess.items()}
        raise refusal(counts, base, missing, plan, len(run.releases), NOT_HERE)
    progress("forming groups")
    pieces = _grouped(placed, base, plan, run)
    missing = {protected[v].name: 1 for piece in pieces for v in piece.excess}
    if missing:
        raise refusal(counts, base, missing, plan, len(run.releases), NOT_HERE)
    progress("verifying")
    _check_whole(pieces, placed.tree, placed.census, plan)
    run.kept.release(placed.frame)
    progress("recoding")
    members = np.array([piece.members for piece in pieces])
    shares = members / max(members.sum(), 1)
    widths = shares @ np.array([piece.widths for piece in pieces])
    return MadeOnSpark(
        pieces=pieces,
        files=_written(pieces, plan, run),
        widths={d.name: float(w) for d, w in zip(everybody.domains, widths, strict=True)},
        counts=counts,
    )


def _with_memberships(placed: DataFrame, run: SparkRun) -> DataFrame:
    """The people, with the groups that they were in as the verifier reads them."""
    from pyspark.sql import functions as f

    if not run.releases:
        return placed
    id_type = placed.schema["id"].dataType.simpleString().replace("bigint", "long")
    found = run.for_verifier.memberships(id_type)
    # Spark takes quadratic time over long runs of null lists.
    known = f.coalesce("member_of", f.array().cast("array<long>"))
    return placed.join(found.hint("merge"), "id", "left").withColumn("member_of", known)


def _nobody(everybody: PeopleOnSpark) -> pl.DataFrame:
    codes = [pl.Series(column_name(n), [], dtype=pl.Int32) for n in range(len(everybody.domains))]
    held = pl.Series("held", [], dtype=pl.List(pl.Int32))
    values = pl.Series("values", [], dtype=pl.List(pl.String))
    present = pl.Series("present", [], dtype=pl.Boolean)
    return pl.DataFrame([everybody.ids.alias("id"), present, *codes, held, values])


def _placed_schema(frame: DataFrame) -> Any:
    from pyspark.sql.types import ArrayType, IntegerType, LongType, StructType

    schema = StructType(list(frame.schema.fields))
    schema = schema.add("leaf", IntegerType()).add("record", LongType())
    return schema.add("held", ArrayType(IntegerType()))


def _tree(people: DataFrame, number: int, everybody: PeopleOnSpark, partition_people: int) -> Tree:
    """Borders from a sample that fits on the driver."""
    leaves = max(number // partition_people, 1)
    codes = [column_name(column) for column in range(len(everybody.domains))]
    with cluster_errors("sampling the people"):
        if leaves > 1:
            share = min(1.0, SAMPLED * leaves / number)
            sample = pl.DataFrame(
                people.select(*codes).sample(fraction=share, seed=secrets.randbits(62)).toArrow()
            )
        else:
            sample = _nobody(everybody)
    sampled = codes_of(sample, len(codes))
    return grow(everybody.domains, sampled, leaves, SystemRandomness())


def _counted(
    placed: DataFrame, tree: Tree, everybody: PeopleOnSpark, is_presence_known: bool
) -> tuple[Census, Counts, int]:
    """People and holders of each leaf, what is published overall, and the sum of the records."""
    from pyspark.sql import functions as f

    is_present = f.col("present")
    own = f.when(is_present, f.col("record"))
    by_leaf = pl.DataFrame(
        placed.groupBy("leaf")
        .agg(
            f.count(f.lit(1)).alias("people"),
            f.count_if(is_present).alias("present"),
            f.coalesce(f.sum(f.array_size("values")), f.lit(0)).alias("values"),
            f.coalesce(f.sum(own.bitwiseAND(f.lit(_LOW))), f.lit(0)).alias("low"),
            f.coalesce(f.sum(f.shiftrightunsigned(own, 32)), f.lit(0)).alias("high"),
        )
        .toArrow()
    )
    held = pl.DataFrame(
        placed.select("leaf", f.explode("held").alias("value"))
        .groupBy("leaf", "value")
        .agg(f.count(f.lit(1)).alias("holders"))
        .toArrow()
    )
    people = np.zeros(len(tree.nodes), dtype=np.int64)
    weight = people.copy()
    leaf = by_leaf["leaf"].to_numpy()
    people[leaf] = by_leaf["people"].to_numpy()
    weight[leaf] = by_leaf["present" if is_presence_known else "people"].to_numpy()
    census = Census(
        people=people,
        weight=weight,
        leaf=held["leaf"].to_numpy().astype(np.int64),
        value=held["value"].to_numpy().astype(np.int64),
        holders=held["holders"].to_numpy().astype(np.int64),
    )
    protected = everybody.protection.protected
    counts = Counts(
        protected=protected,
        holders=census.of_values(len(protected)),
        people=int(by_leaf["people"].sum()),
        present=int(by_leaf["present"].sum()),
        values=int(by_leaf["values"].sum()),
    )
    total = sum(by_leaf["low"].to_list()) + (sum(by_leaf["high"].to_list()) << 32)
    return census, counts, total % 2**64


def _grouped(
    placed: Placed, base: NDArray[np.float64], plan: Plan, run: SparkRun
) -> tuple[Piece, ...]:
    """Form the groups of every partition; merge partitions that fail with their neighbours."""
    tree, census, everybody = placed.tree, placed.census, placed.everybody
    most = max(MOST, run.partition_people)
    nodes = partitions(tree, census, base, plan.minimum_size)
    last_resort = frozenset([0])
    names = [value.name for value in everybody.protection.protected]
    with cluster_errors("reading the ledger"):
        run.for_verifier.check_holders(names)
    compositions = (
        {
            (RECALLED, "past"): run.ledger.compositions(names),
            (FOR_VERIFIER, "member_of"): run.for_verifier.compositions(names),
        }
        if run.releases
        else {}
    )
    done: dict[int, Piece] = {}
    while True:
        wanted = [node for node in nodes if node not in done]
        task = GroupPartition(
            tree=tree,
            domains=everybody.domains,
            protection=everybody.protection,
            plan=plan,
            releases=len(run.releases),
            drafts=run.drafts,
            last_resort=last_resort,
            at_least=np.minimum(census.of_values(len(names)), FEW),
            measure=run.measure,
        )
        with cluster_errors("forming groups"):
            sent = _sent(placed.frame, tree, wanted, compositions, run)
            found = unpack(sent.mapInArrow(of_this_version(task), PACKED).toArrow())
        for piece in found:
            if piece.error is not None:
                kind, what, where, remedy, problems = piece.error
                raise _ERRORS[kind](what, where=where, remedy=remedy, problems=problems)
        failed = [piece.node for piece in found if piece.has_failed]
        done |= {piece.node: piece for piece in found if not piece.has_failed}
        if not failed:
            return tuple(done[node] for node in nodes if node in done)
        nodes, stuck = merged_with_siblings(tree, nodes, failed, census.people, most)
        last_resort |= stuck
        done = {node: piece for node, piece in done.items() if node in nodes}


def _sent(
    placed: DataFrame,
    tree: Tree,
    nodes: list[int],
    compositions: Mapping[tuple[str, str], DataFrame],
    run: SparkRun,
) -> DataFrame:
    """The people of some partitions, one partition per task, together with the compositions of
    their past groups, in one shuffle. Compositions have a kind, and the column of the people that
    names their groups."""
    from pyspark.sql import functions as f

    rows = [
        (int(leaf), node, slot)
        for slot, node in enumerate(nodes)
        for leaf in tree.leaves_below(node)
    ]
    where = run.session.createDataFrame(rows, "leaf int, node int, slot int")
    people = placed.drop("record").join(f.broadcast(where), "leaf").drop("leaf")
    sent = people.withColumn("kind", f.lit(PERSON))
    for (kind, column), held in compositions.items():
        groups = people.select("node", "slot", f.explode(column).alias("was")).distinct()
        # Spark does not know how large the ledger is, and would broadcast all of it.
        past = groups.join(held.hint("merge"), "was").withColumn("kind", f.lit(kind))
        # Its Arrow writer takes quadratic time over long runs of null lists.
        sent = _with_empty_lists(sent, past).unionByName(_with_empty_lists(past, sent), True)
    return sent.repartitionById(len(nodes), "slot")


def _with_empty_lists(frame: DataFrame, other: DataFrame) -> DataFrame:
    """The frame, with an empty list for every list column that only the other has."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import ArrayType

    return frame.withColumns(
        {
            field.name: f.array().cast(field.dataType)
            for field in other.schema
            if isinstance(field.dataType, ArrayType) and field.name not in frame.columns
        }
    )


def _check_whole(pieces: tuple[Piece, ...], tree: Tree, census: Census, plan: Plan) -> None:
    """Check that everybody was grouped once, and that the partitions' boxes are disjoint."""
    people = sum(piece.people for piece in pieces)
    expected = [int(census.people[tree.leaves_below(piece.node)].sum()) for piece in pieces]
    if [piece.people for piece in pieces] != expected or people != census.people.sum():
        raise ImpossibleState("the partitions do not hold everybody once")
    if not plan.interleaves:
        boxes = np.array([tree.box(piece.node) for piece in pieces], dtype=np.int32)
        first, second = overlapping(boxes[:, 0].copy(), boxes[:, 1].copy())
        if first >= 0:
            raise ImpossibleState(f"the partitions {first} and {second} overlap")


def _written(pieces: tuple[Piece, ...], plan: Plan, run: SparkRun) -> tuple[File, ...]:
    """The files of groups and values, and the public ones, with groups numbered consecutively."""
    first = np.cumsum([0, *(piece.groups for piece in pieces)]).tolist()
    work = [
        pickle.dumps((replace(piece, measured=None), number, first[number]))
        for number, piece in enumerate(pieces)
    ]
    rows = pa.table(
        {"node": pa.array(range(len(work)), pa.int32()), "packed": pa.array(work, pa.binary())}
    )
    task = WritePiece(run.drafts, plan.form == "bucketised", run.write)
    with cluster_errors("writing the release"):
        sent = run.session.createDataFrame(rows).repartitionById(len(work), "node")
        found = unpack(sent.mapInArrow(of_this_version(task), PACKED).toArrow())
    return tuple(file for files in found for file in files)
