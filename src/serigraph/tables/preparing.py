"""From a table and a registry to the arrays of one release, checked against the policy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from serigraph.errors import InputRefused, TableError, TaxonomyError
from serigraph.policy import Policy
from serigraph.population import Population, Taxonomy
from serigraph.tables.digests import cell_hashes, digest_of, record_hashes, sum_of
from serigraph.tables.domains import coded
from serigraph.tables.identifiers import read_ids
from serigraph.tables.people import (
    ID,
    column_name,
    contradicting_rows,
    missing_columns,
    one_row_a_person,
    read_quasi_identifiers,
    repeated_people,
)
from serigraph.tables.protection import ProtectedChoice, choose, holders_of, holdings
from serigraph.tables.rows import counted, rows_where
from serigraph.tables.taxonomies import covering, read_taxonomy
from serigraph.tables.values import read_values, value_sets

_TABLE, _REGISTRY = "the table", "the registry"
_VALUES, _PRESENT = "values", "present"


@dataclass(frozen=True)
class Prepared:
    """The people of a release, and what the publisher should know or keep of their making."""

    population: Population
    protected_choice: ProtectedChoice  # for the ledger: later releases are prepared with it
    differing_from_registry: int  # people whose quasi-identifiers differ from the registry's
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Read:
    """The columns of the table and of the registry, each understood by itself."""

    ids: dict[str, pl.Series]
    quasi_identifiers: dict[str, dict[str, pl.Series]]
    taxonomies: dict[str, Taxonomy]
    values: pl.DataFrame


def prepare(
    table: pl.DataFrame,
    policy: Policy,
    registry: pl.DataFrame | None = None,
    known_protected: ProtectedChoice | None = None,
) -> Prepared:
    """The population of a release: everybody in the table and in the registry.

    Where a person is in both and the quasi-identifiers differ, those of the table are used, because
    they are what the release publishes; the number of such people is returned. ``known_protected``
    is the choice of the first release of the series. Raises ``TableError`` with all problems, or
    ``TaxonomyError`` if nothing but taxonomies is wrong.
    """
    frames = {_TABLE: table} | ({} if registry is None else {_REGISTRY: registry})
    read = _read(frames, policy)
    people = one_row_a_person(read.ids[_TABLE], read.quasi_identifiers[_TABLE])
    person_of_row = _places(read.ids[_TABLE], people[ID])
    values = read.values["value"]
    values = values.cast(pl.Enum(values.unique().sort()))
    sets = value_sets(people.height, person_of_row.gather(read.values["row"]), values)
    people = people.with_columns(sets.alias(_VALUES), pl.lit(True).alias(_PRESENT))
    everybody, outside, differing = people, 0, 0
    if registry is not None:
        listed = one_row_a_person(read.ids[_REGISTRY], read.quasi_identifiers[_REGISTRY])
        everybody, outside, differing = _with_registry(people, listed)
    choice = known_protected or choose(policy, holders_of(sets))
    held = holdings(policy, choice, everybody[_VALUES])
    coding = [
        coded(everybody[column_name(i)].alias(name), described.kind, read.taxonomies.get(name))
        for i, (name, described) in enumerate(policy.quasi_identifiers.items())
    ]
    present = everybody[_PRESENT].to_numpy().astype(np.bool_)
    records = record_hashes(
        people[ID],
        {domain.name: (cell_hashes(domain.values), codes[present]) for domain, codes in coding},
        people[_VALUES],
    )
    population = Population(
        ids=everybody[ID],
        present=present,
        domains=tuple(domain for domain, _ in coding),
        codes=np.stack([codes for _, codes in coding]),
        protected=held.protected,
        held_start=held.start,
        held=held.held,
        values=everybody[_VALUES],
        digest=digest_of(policy.quasi_identifiers, people.height, sum_of(records)),
        outside_registry=outside,
    )
    held_now = frozenset(value.name for value in population.protected)
    return Prepared(population, choice, differing, notes_on(policy, choice, held_now))


def _read(frames: dict[str, pl.DataFrame], policy: Policy) -> _Read:
    problems: list[str] = []
    quasi_identifiers: dict[str, dict[str, pl.Series]] = {}
    for source, frame in frames.items():
        if frame.height == 0:
            problems.append(f"{source} is empty: it has no rows")
        needed = [policy.person.id, *policy.quasi_identifiers]
        needed += [policy.sensitive.column] if source == _TABLE else []
        problems += missing_columns(frame, needed, source)
        quasi_identifiers[source], wrong = read_quasi_identifiers(frame, policy, source)
        problems += wrong
    id_columns = {
        source: frame[policy.person.id]
        for source, frame in frames.items()
        if policy.person.id in frame.columns
    }
    ids, wrong = read_ids(id_columns, policy)
    problems += wrong
    for source, column in ids.items():
        repeated = repeated_people(column, source, policy) if source == _TABLE else []
        problems += repeated or contradicting_rows(column, quasi_identifiers[source], source)
    values = pl.DataFrame(schema={"row": pl.UInt32, "value": pl.String})
    if policy.sensitive.column in frames[_TABLE].columns:
        values, wrong = read_values(frames[_TABLE][policy.sensitive.column], policy)
        problems += [f"{_TABLE}: {each}" for each in wrong]
        problems += classes_named_as_values(policy, values["value"])
    taxonomies, uncovered = taxonomies_of(policy, quasi_identifiers)
    if problems or uncovered:
        raise refusal_of(problems, uncovered)
    return _Read(ids, quasi_identifiers, taxonomies, values)


def refusal_of(problems: list[str], uncovered: list[str]) -> InputRefused:
    """The error that lists everything that is wrong with a table."""
    number = len(problems) + len(uncovered)
    if not problems:
        return TaxonomyError(
            f"taxonomies do not fit ({counted(number, 'problem')})",
            remedy='add what is missing, or set new_values = "branch" in the policy',
            problems=uncovered,
        )
    return TableError(
        f"the table does not fit the policy ({counted(number, 'problem')})",
        remedy="correct the table, or the policy if no release is out yet",
        problems=[*problems, *uncovered],
    )


def taxonomies_of(
    policy: Policy, quasi_identifiers: dict[str, dict[str, pl.Series]]
) -> tuple[dict[str, Taxonomy], list[str]]:
    """The taxonomy of each column that has one, with a leaf for every value, and what is wrong."""
    taxonomies: dict[str, Taxonomy] = {}
    problems: list[str] = []
    for name, described in policy.quasi_identifiers.items():
        path = policy.taxonomy_path(name)
        if path is None:
            continue
        try:
            taxonomy = read_taxonomy(path)
        except TaxonomyError as error:
            problems.append(f"{error.where}: {error.what}")
            problems += [f"{error.where}: {each}" for each in error.problems]
            continue
        for source, columns in quasi_identifiers.items():
            if name not in columns:
                continue
            taxonomy, unknown = covering(taxonomy, columns[name], described.new_values)
            if unknown:
                lacking = columns[name].is_in(list(unknown))
                problems.append(
                    f"{source}: {counted(len(unknown), 'value')} of column {name!r} "
                    f"{'is' if len(unknown) == 1 else 'are'} not in the taxonomy "
                    f"{described.taxonomy}, {rows_where(lacking)}"
                )
        taxonomies[name] = taxonomy
    return taxonomies, problems


def classes_named_as_values(policy: Policy, values: pl.Series) -> list[str]:
    """That a class has the name of a value, so that nobody could tell them apart."""
    classes = list(policy.protected.classes)
    clashing = sorted(set(values.filter(values.is_in(classes)).to_list()))
    return [
        f"the class {name!r} of [protected.classes] has the name of a value in the table: "
        "rename the class"
        for name in clashing
    ]


def _with_registry(people: pl.DataFrame, listed: pl.DataFrame) -> tuple[pl.DataFrame, int, int]:
    """Everybody, ascending by id; how many the registry lacks; how many it describes otherwise."""
    columns = [name for name in listed.columns if name != ID]
    both = people.join(listed, on=ID, how="inner", suffix="_listed")
    differing = both.select(
        pl.any_horizontal(
            pl.col(name).ne_missing(pl.col(f"{name}_listed")) for name in columns
        ).sum()
    ).item()
    absent = listed.join(people, on=ID, how="anti").with_columns(
        pl.lit(None, dtype=people.schema[_VALUES]).alias(_VALUES), pl.lit(False).alias(_PRESENT)
    )
    everybody = pl.concat([people, absent.select(people.columns)], how="vertical_relaxed").sort(ID)
    return everybody, people.height - both.height, int(differing)


def _places(ids: pl.Series, people: pl.Series) -> pl.Series:
    """The place of each id among the ids of the people."""
    if ids.len() == people.len() and ids.equals(people):
        return pl.int_range(ids.len(), dtype=pl.UInt32, eager=True)
    numbered = pl.DataFrame({ID: people}).with_row_index("place")
    return pl.DataFrame({ID: ids}).join(numbered, on=ID, how="left", maintain_order="left")["place"]


def notes_on(policy: Policy, choice: ProtectedChoice, held: frozenset[str]) -> tuple[str, ...]:
    """What the publisher should know of the protected values, given those that somebody holds."""
    notes = []
    if choice.rule == "only":
        unheld = [value for value in choice.values if value not in held]
        if unheld:
            notes.append(
                f"{len(unheld)} of {counted(len(choice.values), 'protected value')} held by nobody "
                "in this table; a misspelt value is not protected"
            )
    empty = [name for name in policy.protected.classes if name not in held]
    if empty:
        notes.append(
            f"nobody in this table holds a value of {counted(len(empty), 'class', 'classes')}"
        )
    if not held:
        notes.append("no protected value is held by anybody in this table")
    return tuple(notes)
