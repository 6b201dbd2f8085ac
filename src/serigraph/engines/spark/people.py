"""Everybody of a release on the cluster: one row a person, checked against the policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from serigraph.engines.spark.cells import REGISTRY, TABLE, Understood, look_at
from serigraph.engines.spark.failures import cluster_errors
from serigraph.engines.spark.keeping import Kept
from serigraph.engines.spark.ledger_frames import LedgerFrames
from serigraph.engines.spark.rows import RowReader
from serigraph.engines.spark.versions import of_this_version
from serigraph.errors import InputRefused
from serigraph.ledger import ReleaseRecord
from serigraph.ledger.parts import check_id_type
from serigraph.policy import Policy
from serigraph.population import Domain
from serigraph.tables import ProtectedChoice
from serigraph.tables.people import column_name
from serigraph.tables.preparing import classes_named_as_values, notes_on, refusal_of
from serigraph.tables.protection import Protection, choose, protection_of
from serigraph.tables.rows import counted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_KNOWN = "the ledger"


@dataclass(frozen=True)
class Everybody:
    """The people, and what the publisher should know or keep of their making.

    ``frame`` has ``id``, ``number`` (the ledger's, null for people that it does not know),
    ``present``, the codes ``q0``, ``q1``, ... and ``values`` (null for absent people).
    """

    frame: DataFrame
    merged: DataFrame  # what Spark keeps of them
    ids: pl.Series  # empty: only its type counts
    domains: tuple[Domain, ...]
    protection: Protection
    choice: ProtectedChoice
    people: int
    present: int
    outside_registry: int
    differing_from_registry: int
    notes: tuple[str, ...]


def everybody(
    frames: Mapping[str, DataFrame],
    policy: Policy,
    ledger: LedgerFrames,
    releases: tuple[ReleaseRecord, ...],
    known_protected: ProtectedChoice | None,
    kept: Kept,
) -> Everybody:
    """Read, check and merge the table and the registry; raises what ``prepare`` raises."""
    looked = look_at(frames, policy)
    if looked.understood is None:
        raise _refusal(looked.problems, looked.uncovered)
    understood = looked.understood
    merged = kept.keep(_merged(frames, policy, understood, ledger, releases))
    with cluster_errors("reading the table"):
        facts = _facts(merged, len(understood.domains))
        held = pl.DataFrame(_held(merged).toArrow())
    ids_are_integers, problems = _id_type(facts, policy, understood)
    problems += _problems(facts, policy, list(frames))
    problems += classes_named_as_values(policy, held["value"])
    if problems:
        raise _refusal(problems, [])
    ids = pl.Series("id", [], dtype=pl.Int64 if ids_are_integers else pl.String)
    check_id_type(ids, releases)
    choice = known_protected or choose(policy, held)
    protection = protection_of(policy, choice, held["value"].sort())
    names = frozenset(value.name for value in protection.protected)
    return Everybody(
        frame=_plain(merged, understood, ids_are_integers),
        merged=merged,
        ids=ids,
        domains=understood.domains,
        protection=protection,
        choice=choice,
        people=facts["people"],
        present=facts["present"],
        outside_registry=facts["present"] - facts["both"] if REGISTRY in frames else 0,
        differing_from_registry=facts["differing"],
        notes=notes_on(policy, choice, names),
    )


def _merged(
    frames: Mapping[str, DataFrame],
    policy: Policy,
    understood: Understood,
    ledger: LedgerFrames,
    releases: tuple[ReleaseRecord, ...],
) -> DataFrame:
    """One row for each id of the table and the registry, with its number in the ledger: all three
    meet in one shuffle."""
    from pyspark.sql import functions as f

    parts = []
    for source, frame in frames.items():
        reader = RowReader(source, policy, understood)
        rows = frame.mapInArrow(of_this_version(reader), reader.schema())
        parts.append(
            rows.withColumns({"source": f.lit(source), "number": f.lit(None).cast("long")})
        )
    if releases:
        known = ledger.people().select(
            f.col("id").try_cast(parts[0].schema["id"].dataType).alias("id"),
            f.lit(_KNOWN).alias("source"),
            f.col("person").cast("long").alias("number"),
        )
        parts.append(known)
    rows = parts[0]
    for each in parts[1:]:
        rows = rows.unionByName(each, allowMissingColumns=True)
    of = {source: f.col("source") == source for source in (TABLE, REGISTRY)}
    columns = [column_name(number) for number in range(len(understood.domains))]
    asked: list[Column] = [f.max("number").alias("number")]
    for short, condition in (("t", of[TABLE]), ("r", of[REGISTRY])):
        asked.append(f.count_if(condition).alias(f"{short}_rows"))
        asked.append(f.count_if(condition & f.col("is_odd")).alias(f"{short}_odd"))
        for name in columns:
            cell = f.when(condition, f.col(name))
            asked += [f.min(cell).alias(f"{short}_{name}"), f.max(cell).alias(f"{short}_{name}_")]
    if policy.sensitive.form == "rows":
        together = f.array_sort(f.array_distinct(f.flatten(f.collect_list("values"))))
    else:
        together = f.first("values", ignorenulls=True)
    asked.append(together.alias("values"))
    asked.append(
        f.count_if(of[TABLE] & (f.coalesce(f.array_size("values"), f.lit(0)) == 0)).alias("empty")
    )
    grouped = rows.groupBy("id").agg(*asked)
    return grouped.filter((f.col("t_rows") > 0) | (f.col("r_rows") > 0))


def _facts(merged: DataFrame, columns: int) -> dict[str, int]:
    from pyspark.sql import functions as f

    is_person = f.col("id").isNotNull()
    of_table, of_registry = f.col("t_rows") > 0, f.col("r_rows") > 0
    asked = {
        "people": f.count_if(is_person),
        "present": f.count_if(is_person & of_table),
        "both": f.count_if(is_person & of_table & of_registry),
        "repeated": f.count_if(is_person & (f.col("t_rows") > 1)),
        "empty": f.sum("empty"),
        "t_odd": f.sum("t_odd"),
        "r_odd": f.sum("r_odd"),
        "t_missing": f.sum(f.when(~is_person, f.col("t_rows"))),
        "r_missing": f.sum(f.when(~is_person, f.col("r_rows"))),
    }
    differs = f.lit(False)
    for name in map(column_name, range(columns)):
        for short in "tr":
            asked[f"{short}_{name}"] = f.count_if(
                is_person & (f.col(f"{short}_{name}") != f.col(f"{short}_{name}_"))
            )
        differs = differs | (f.col(f"t_{name}") != f.col(f"r_{name}"))
    asked["differing"] = f.count_if(is_person & of_table & of_registry & differs)
    row = merged.agg(*(column.alias(name) for name, column in asked.items())).first()
    return {name: int(row[name] or 0) for name in asked} if row else dict.fromkeys(asked, 0)


def _held(merged: DataFrame) -> DataFrame:
    """Every value that somebody has, and how many people have it."""
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
        if odd and source in understood.sources_of_float_ids:
            problems.append(
                f"{source}: column {name!r} holds numbers with decimals, where ids are expected"
            )
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
    form = policy.sensitive.form
    is_repeated = form != "rows" and facts["repeated"] > 0
    if is_repeated:
        problems.append(
            f"{TABLE}: {counted(facts['repeated'], 'person has', 'people have')} several rows, "
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
    if policy.sensitive.missing == "error" and facts["empty"]:
        number = facts["empty"]
        problems.append(
            f"{TABLE}: column {policy.sensitive.column!r}: {counted(number, 'row')} "
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


def _plain(merged: DataFrame, understood: Understood, ids_are_integers: bool) -> DataFrame:
    """The columns that count, those of the table before those of the registry."""
    from pyspark.sql import functions as f

    ids: Any = f.col("id").cast("long") if ids_are_integers else f.col("id")
    is_present = f.col("t_rows") > 0
    codes = [
        f.coalesce(f"t_{name}", f"r_{name}").alias(name)
        for name in map(column_name, range(len(understood.domains)))
    ]
    none = f.array().cast("array<string>")
    values = f.when(is_present, f.coalesce("values", none)).alias("values")
    return merged.select(ids.alias("id"), "number", is_present.alias("present"), *codes, values)


def with_past(
    people: DataFrame, ledger: LedgerFrames, releases: tuple[ReleaseRecord, ...]
) -> DataFrame:
    """Everybody with ``past``, the release and group of each membership, where there were any."""
    from pyspark.sql import functions as f

    if not releases:
        return people
    past = (
        ledger.members()
        .groupBy(f.col("person").alias("number"))
        .agg(f.collect_list(f.struct("release", "group")).alias("past"))
    )
    return people.join(past, "number", "left")
