"""All people of a release on the cluster: one row per person, checked against the policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from serigraph.engines.spark.cells import REGISTRY, TABLE, Understood, look_at
from serigraph.engines.spark.failures import cluster_errors
from serigraph.engines.spark.keeping import PersistedFrames
from serigraph.engines.spark.ledger_frames import LedgerFrames
from serigraph.engines.spark.merging import FACTS, LEDGER, Merge, added_up
from serigraph.engines.spark.polars_tasks import each_partition, number_of_tasks
from serigraph.engines.spark.rows import RowReader
from serigraph.engines.spark.versions import of_this_version
from serigraph.errors import InputRefused
from serigraph.ledger import ReleaseRecord
from serigraph.ledger.parts import check_id_type
from serigraph.model import Domain
from serigraph.policy import Policy
from serigraph.short_repr import Undisclosed
from serigraph.tables import ProtectedChoice
from serigraph.tables.cells import counted
from serigraph.tables.columns import unsafe_ids
from serigraph.tables.look_alikes import (
    WHOLE_NUMBER,
    columns_in_question,
    described_ids,
    refuse_ids,
    refuse_unique,
)
from serigraph.tables.people import column_name
from serigraph.tables.preparing import classes_named_as_values, notes_on, refusal_of
from serigraph.tables.protection import Protection, choose, protection_of
from serigraph.tables.value_list import ValueList, list_values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, repr=False)
class PeopleOnSpark(Undisclosed):
    """The people, and what the publisher needs to know about them.

    ``frame`` has ``id``, ``number`` (the ledger's, null for people it does not know), ``present``,
    the codes ``q0``, ``q1``, ..., ``values`` (null for absent people) and ``past``, the keys of the
    groups that they were in.
    """

    frame: DataFrame
    merged: DataFrame  # persisted by Spark
    ids: pl.Series  # empty: only its type matters
    domains: tuple[Domain, ...]
    protection: Protection
    choice: ProtectedChoice
    value_list: ValueList  # the policy's values and those of the table
    people: int
    present: int
    known_present: int  # in the table, and known to the ledger
    known_absent: int  # in the registry only, and known to the ledger
    outside_registry: int
    differing_from_registry: int
    notes: tuple[str, ...]


def read_people(
    frames: Mapping[str, DataFrame],
    policy: Policy,
    ledger: LedgerFrames,
    releases: tuple[ReleaseRecord, ...],
    known_protected: ProtectedChoice | None,
    kept: PersistedFrames,
) -> PeopleOnSpark:
    """Read, check and merge the table and the registry; raises what ``prepare`` raises."""
    looked = look_at(frames, policy)
    if looked.understood is None:
        raise _refusal(looked.problems, looked.uncovered)
    understood = looked.understood
    merged = kept.keep(_merged(frames, policy, understood, ledger, releases))
    with cluster_errors("reading the table"):
        facts = _facts(merged)
        held = pl.DataFrame(_held(merged).toArrow())
    ids_are_integers, problems = _id_type(facts, policy, understood)
    problems += _problems(facts, policy, list(frames))
    problems += classes_named_as_values(policy, held["value"])
    if problems:
        raise _refusal(problems, [])
    ids = pl.Series("id", [], dtype=pl.Int64 if ids_are_integers else pl.String)
    check_id_type(ids, releases)
    if policy.reading.look_alikes == "refuse":
        refuse_ids(facts["alike_ledger"])
    choice = known_protected or choose(policy, held)
    protection = protection_of(policy, choice, held["value"].sort())
    value_list = list_values(policy, held, choice)
    return PeopleOnSpark(
        frame=_plain(merged, ids_are_integers),
        merged=merged,
        ids=ids,
        domains=understood.domains,
        protection=protection,
        choice=choice,
        value_list=value_list,
        people=facts["people"],
        present=facts["present"],
        known_present=facts["known_present"],
        known_absent=facts["known_absent"],
        outside_registry=facts["present"] - facts["both"] if REGISTRY in frames else 0,
        differing_from_registry=facts["differing"],
        notes=notes_on(value_list),
    )


def check_unique_columns_on_spark(everybody: PeopleOnSpark, policy: Policy, where: str) -> None:
    """``check_unique_columns`` on the cluster."""
    from pyspark.sql import functions as f

    frame, people = everybody.frame.filter("present"), everybody.present
    numbers = {domain.name: number for number, domain in enumerate(everybody.domains)}
    distinct = {domain.name: domain.size for domain in everybody.domains}
    unique = {}
    for name in columns_in_question(policy, distinct, people):
        held = frame.groupBy(column_name(numbers[name])).agg(f.count(f.lit(1)).alias("people"))
        with cluster_errors("counting values"):
            unique[name] = held.filter("people = 1").count()
    refuse_unique(unique, people, policy, where)


def _merged(
    frames: Mapping[str, DataFrame],
    policy: Policy,
    understood: Understood,
    ledger: LedgerFrames,
    releases: tuple[ReleaseRecord, ...],
) -> DataFrame:
    """One row for each id of the table and the registry, with its number and its past in the
    ledger: one shuffle joins all three."""
    from pyspark.sql import functions as f

    parts = []
    for source, frame in frames.items():
        reader = RowReader(source, policy, understood)
        rows = frame.mapInArrow(of_this_version(reader), reader.schema())
        parts.append(rows.withColumn("source", f.lit(source)))
    id_type = "long" if understood.ids_are_plain else "string"
    number = understood.rows
    if releases:
        parts.append(ledger.memberships(id_type).withColumn("source", f.lit(LEDGER)))
        number += sum(release.members for release in releases)
    nothing = {"number": f.lit(None).cast("long"), "was": f.lit(None).cast("long")}
    rows = parts[0].withColumns(nothing)
    for each in parts[1:]:
        rows = rows.unionByName(each, allowMissingColumns=True)
    task = Merge(len(understood.domains))
    together = f.col("id")
    if id_type == "string":  # ids that look alike go to the same task
        together = f.lower(f.regexp_replace("id", WHOLE_NUMBER, "$1$2"))
    sent = rows.repartition(number_of_tasks(number, rows), together)
    return each_partition(sent, task, task.schema(id_type))


def _facts(merged: DataFrame) -> Mapping[str, int]:
    packed = merged.filter(f"{FACTS} is not null").select(FACTS).toArrow()
    return added_up(pl.DataFrame(packed)[FACTS])


def _held(merged: DataFrame) -> DataFrame:
    """Every value that somebody has, and the number of its holders."""
    from pyspark.sql import functions as f

    each = merged.filter(f.col("id").isNotNull()).select(f.explode("values").alias("value"))
    return each.groupBy("value").agg(f.count(f.lit(1)).alias("people"))


def _id_type(
    facts: Mapping[str, int], policy: Policy, understood: Understood
) -> tuple[bool, list[str]]:
    """Whether ids are integers, by the rule of ``read_ids``, and what is wrong with them."""
    name = policy.person.id
    sources = {"t": TABLE, "r": REGISTRY}
    problems = []
    for short, source in sources.items():
        missing, odd = facts[f"{short}_missing"], facts[f"{short}_odd"]
        if odd and source in understood.sources_of_fractional_ids:
            problems.append(f"{source}: {unsafe_ids(name)}")
        if missing:
            problems.append(
                f"{source}: {counted(missing, 'id')} in column {name!r} "
                f"{'is' if missing == 1 else 'are'} missing"
            )
    if policy.person.type == "text":
        return False, problems
    odd_ids = {source: facts[f"{short}_odd"] for short, source in sources.items()}
    if not any(odd_ids.values()):
        return True, problems
    if policy.person.type == "integer":
        problems += [
            f"{source}: ids are integers by the policy, and those of {counted(number, 'row')} are "
            "something else"
            for source, number in odd_ids.items()
            if number
        ]
        return False, problems
    numbers = understood.sources_of_number_ids
    if numbers and len(numbers) < len(understood.lookups):
        other = next(source for source in understood.lookups if source not in numbers)
        problems.append(
            f"ids are integers in {numbers[0]} and text in {other}: make them one type, or set "
            "type in the section [person] of the policy"
        )
    return False, problems


def _problems(facts: Mapping[str, int], policy: Policy, sources: list[str]) -> list[str]:
    problems = []
    form = policy.only_column.form
    is_repeated = form != "rows" and facts["t_repeated"] > 0
    if is_repeated:
        problems.append(
            f"{TABLE}: {counted(facts['t_repeated'], 'person has', 'people have')} several rows, "
            f'where form = "{form}" allows one row a person: merge them, or set form = "rows" in '
            "[sensitive]"
        )
    for short, source in (("t", TABLE), ("r", REGISTRY)):
        for number, name in enumerate(policy.quasi_identifiers):
            differing = facts[f"{short}_{column_name(number)}"]
            if source in sources and differing and not (is_repeated and source == TABLE):
                problems.append(
                    f"{source}: column {name!r} differs between the rows of "
                    f"{counted(differing, 'person', 'people')}"
                )
    if policy.reading.look_alikes == "refuse":
        problems += described_ids(facts["alike_registry"], TABLE, REGISTRY)
    if policy.only_column.missing == "error" and facts["empty"]:
        number = facts["empty"]
        problems.append(
            f"{TABLE}: column {policy.only_column.column!r}: {counted(number, 'row')} "
            f"{'has' if number == 1 else 'have'} no value"
        )
    return problems


def _refusal(problems: list[str], uncovered: list[str]) -> InputRefused:
    refused = refusal_of(problems, uncovered)
    return type(refused)(
        refused.what,
        where="equal cells are counted once, and rows have no numbers on a cluster",
        remedy=refused.remedy,
        problems=refused.problems,
    )


def _plain(merged: DataFrame, ids_are_integers: bool) -> DataFrame:
    """The people, with ids as the ledger stores them."""
    from pyspark.sql import functions as f

    people = merged.filter(f"{FACTS} is null").drop(FACTS)
    return people.withColumn("id", f.col("id").cast("long")) if ids_are_integers else people
