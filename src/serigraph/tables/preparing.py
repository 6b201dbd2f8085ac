"""From a table and a registry to the arrays of one release, checked against the policy."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import InputRefused, TableError, TaxonomyError
from serigraph.model import CodedValues, Domain, Population, Taxonomy, order_by
from serigraph.policy import Policy
from serigraph.runtime.progress import Progress, no_progress
from serigraph.runtime.threads import parallel_map, slices
from serigraph.short_repr import Undisclosed
from serigraph.tables.cells import counted, rows_where
from serigraph.tables.columns import coded
from serigraph.tables.digests import cell_hashes, digest_of, record_hashes, sum_of
from serigraph.tables.look_alikes import category_problems, id_problems
from serigraph.tables.people import (
    ID,
    contradicting_rows,
    differing_records,
    has_repeats,
    missing_columns,
    one_row_a_person,
    read_ids,
    read_plain,
    read_quasi_identifiers,
    read_sensitive,
    repeated_people,
    value_sets,
)
from serigraph.tables.protection import Holdings, ProtectedChoice, choose, holders_of, holdings
from serigraph.tables.taxonomies import covering, read_taxonomy
from serigraph.tables.value_list import ValueList, list_values

_TABLE, _REGISTRY = "the table", "the registry"


@dataclass(frozen=True)
class Prepared:
    """The people of a release, and what the publisher should know about them."""

    population: Population
    protected_choice: ProtectedChoice  # for the ledger: later releases are prepared with it
    value_list: ValueList  # the policy's values beside those of the table
    differing_from_registry: int  # people whose quasi-identifiers differ from the registry's
    notes: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class _Read(Undisclosed):
    """The columns of the table and of the registry, each read separately."""

    ids: dict[str, pl.Series]
    quasi_identifiers: dict[str, dict[str, pl.Series]]
    taxonomies: dict[str, Taxonomy]
    values: pl.DataFrame  # as ``read_sensitive`` gives them, and each text once
    plain: pl.DataFrame  # row by row


def prepare(
    table: pl.DataFrame,
    policy: Policy,
    registry: pl.DataFrame | None = None,
    known_protected: ProtectedChoice | None = None,
    progress: Progress = no_progress,
) -> Prepared:
    """The population of a release: everybody in the table and in the registry.

    Where a person is in both and the quasi-identifiers differ, those of the table are used, because
    they are what the release publishes; the number of such people is returned. ``known_protected``
    is the choice of the first release of the series. Raises ``TableError`` with all problems, or
    ``TaxonomyError`` if nothing but taxonomies is wrong.
    """
    frames = {_TABLE: table} | ({} if registry is None else {_REGISTRY: registry})
    read = _read(frames, policy)
    progress("preparing", 1, 4)
    # What becomes of the values is found out beside what becomes of the people.
    with ThreadPoolExecutor(2) as beside:
        listing = None
        if registry is not None:
            columns = read.quasi_identifiers[_REGISTRY]
            listing = beside.submit(one_row_a_person, read.ids[_REGISTRY], columns)
        people = one_row_a_person(read.ids[_TABLE], read.quasi_identifiers[_TABLE])
        valued = beside.submit(_valued, read, people)
        everybody = _everybody(people, listing.result() if listing else None)
        progress("preparing", 2, 4)
        size, place = len(everybody.ids), everybody.place
        holding = beside.submit(_holding, valued, everybody, policy, known_protected)
        codes = np.empty((len(everybody.columns), size), dtype=np.int32)

        def code(number: int) -> Domain:
            name, described = list(policy.quasi_identifiers.items())[number]
            column = everybody.columns[number].alias(name)
            taxonomy = read.taxonomies.get(name)
            return coded(column, described.kind, taxonomy, codes[number])[0]

        domains = parallel_map(code, range(len(codes)))
        progress("preparing", 3, 4)
        sets, values, plain = valued.result()

        def total() -> int:
            of_table = {
                domain.name: (
                    cell_hashes(domain.values),
                    column if size == len(place) else column[place],
                )
                for domain, column in zip(domains, codes, strict=True)
            }
            of_table |= {column.name: _hashed(column) for column in plain}
            return sum_of(record_hashes(people[ID], of_table, values))

        # Not in the main thread, which may be interrupted while another one loads kernels.
        summed = beside.submit(total)
        choice, held, value_list = holding.result()
        named = (*policy.quasi_identifiers, *policy.plain)
        digest = digest_of(named, people.height, summed.result())
    present = np.zeros(size, dtype=np.bool_)
    present[place] = True
    population = Population(
        ids=everybody.ids,
        present=present,
        domains=tuple(domains),
        codes=codes,
        protected=held.protected,
        held_start=held.start,
        held=held.held,
        values=sets,
        digest=digest,
        outside_registry=everybody.outside,
        plain=plain,
        keeps_records_whole=policy.shows_records,
    )
    return Prepared(population, choice, value_list, everybody.differing, notes_on(value_list))


def _hashed(column: pl.Series) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """The hashes of different cells of a plain column, and which of them each cell has."""
    if not isinstance(column.dtype, pl.Enum):
        return cell_hashes(column), np.arange(len(column), dtype=np.int32)
    texts = column.dtype.categories
    codes = column.to_physical().cast(pl.Int32).fill_null(len(texts)).to_numpy()
    return cell_hashes(pl.concat([texts, texts.clear(1)])), codes


_Valued = tuple[pl.Series, CodedValues, pl.DataFrame]


def _valued(read: _Read, people: pl.DataFrame) -> _Valued:
    """The values of each person of the table, as a set and as codes, and its plain cells."""
    person_of_row = _places(read.ids[_TABLE], people[ID])
    sets = value_sets(people.height, person_of_row.gather(read.values["row"]), read.values["value"])
    plain = read.plain
    if plain.width and not read.ids[_TABLE].equals(people[ID]):
        row_of_person = np.empty(people.height, dtype=np.int64)
        row_of_person[person_of_row.to_numpy()] = np.arange(len(person_of_row))
        plain = plain[row_of_person]
    return sets, CodedValues.of(sets), plain


def _holding(
    valued: Future[_Valued],
    everybody: _Everybody,
    policy: Policy,
    known_protected: ProtectedChoice | None,
) -> tuple[ProtectedChoice, Holdings, ValueList]:
    """What is protected, who holds it, and how many hold each value."""
    _, values, _ = valued.result()
    size, place = len(everybody.ids), everybody.place
    holders = holders_of(values)
    choice = known_protected or choose(policy, holders)
    placed = values if size == len(place) else replace(values, person=place[values.person])
    listed = list_values(policy, holders, choice)
    return choice, holdings(policy, choice, placed, size), listed


def _read(frames: dict[str, pl.DataFrame], policy: Policy) -> _Read:
    with ThreadPoolExecutor(1) as beside:
        reading = beside.submit(_read_values, frames[_TABLE], policy)
        ids, quasi_identifiers, problems = _read_people(frames, policy)
        plain, wrong = read_plain(frames[_TABLE], policy)
        problems += [f"{_TABLE}: {each}" for each in wrong]
        if _TABLE in ids:
            problems += differing_records(ids[_TABLE], frames[_TABLE], plain, policy)
        values, wrong = reading.result()
    problems += wrong
    taxonomies, uncovered = taxonomies_of(policy, quasi_identifiers)
    if problems or uncovered:
        raise refusal_of(problems, uncovered)
    return _Read(ids, quasi_identifiers, taxonomies, values, plain)


def _read_people(
    frames: dict[str, pl.DataFrame], policy: Policy
) -> tuple[dict[str, pl.Series], dict[str, dict[str, pl.Series]], list[str]]:
    """Ids and quasi-identifiers, and what is wrong with them."""
    problems: list[str] = []
    quasi_identifiers: dict[str, dict[str, pl.Series]] = {}
    for source, frame in frames.items():
        if frame.height == 0:
            problems.append(f"{source} is empty: it has no rows")
        needed = [policy.person.id, *policy.quasi_identifiers]
        needed += [*policy.sensitive_columns, *policy.plain] if source == _TABLE else []
        problems += missing_columns(frame, needed, source)
        quasi_identifiers[source], wrong = read_quasi_identifiers(frame, policy, source)
        problems += wrong
    id_columns = {
        source: frame[policy.person.id]
        for source, frame in frames.items()
        if policy.person.id in frame.columns
    }
    ids, wrong = read_ids(id_columns, policy)
    ids = {source: column.rechunk() for source, column in ids.items()}
    problems += wrong or id_problems(ids, policy)
    problems += category_problems(quasi_identifiers, policy)
    for source, column in ids.items():
        if has_repeats(column):
            repeated = repeated_people(column, source, policy) if source == _TABLE else []
            problems += repeated or contradicting_rows(column, quasi_identifiers[source], source)
    return ids, quasi_identifiers, problems


def _read_values(table: pl.DataFrame, policy: Policy) -> tuple[pl.DataFrame, list[str]]:
    """The sensitive values, and what is wrong with them."""
    if any(column not in table.columns for column in policy.sensitive_columns):
        return pl.DataFrame(schema={"row": pl.UInt32, "value": pl.Enum([])}), []
    values, wrong = read_sensitive(table, policy)
    texts = cast(pl.Enum, values["value"].dtype).categories
    problems = [f"{_TABLE}: {each}" for each in wrong]
    return values, problems + classes_named_as_values(policy, texts)


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
    """The problem that a class has the name of a value."""
    classes = list(policy.protected_classes)
    clashing = sorted(set(values.filter(values.is_in(classes)).to_list()))
    return [
        f"the class {name!r} of [protected.classes] has the name of a value in the table: "
        "rename the class"
        for name in clashing
    ]


@dataclass(frozen=True, repr=False)
class _Everybody(Undisclosed):
    """The people of the table and of the registry, ascending by id."""

    ids: pl.Series
    columns: list[pl.Series]  # the quasi-identifiers, in the order of the policy
    place: NDArray[np.int64]  # where the people of the table are
    outside: int  # people that the registry lacks
    differing: int  # people that it describes otherwise


def _everybody(people: pl.DataFrame, listed: pl.DataFrame | None) -> _Everybody:
    """Merge the people of the table into the registry, in order of id."""
    ids, *columns = people.get_columns()
    if listed is None:
        return _Everybody(ids, columns, np.arange(len(ids)), 0, 0)
    listed_ids, *listed_columns = listed.get_columns()
    found = _searched(listed_ids, ids)
    nearest = listed_ids.gather(np.minimum(found, len(listed_ids) - 1))
    is_new = (nearest != ids).to_numpy()
    new, known = np.flatnonzero(is_new), np.flatnonzero(~is_new)
    # People outside the registry go before the first larger id, after others who do.
    place = found + np.cumsum(is_new) - is_new
    source = np.arange(len(listed_ids) if len(new) else 0)
    source = np.insert(source, found[new], len(listed_ids) + np.arange(len(new)))

    def with_new(other: pl.Series, own: pl.Series) -> pl.Series:
        return pl.concat([other, own.gather(new)]).gather(source) if len(new) else other

    def together(columns: tuple[pl.Series, pl.Series]) -> tuple[pl.Series, pl.Series]:
        own, other = columns
        if own.dtype != other.dtype:  # numbers, of several sizes or with decimals in one of them
            kind = pl.Int64 if own.dtype.is_integer() and other.dtype.is_integer() else pl.Float64
            own, other = own.cast(kind), other.cast(kind)
        differs = own.gather(known).ne_missing(other.gather(found[known]))
        column = with_new(other, own)
        return column.clone().scatter(place, own) if differs.any() else column, differs

    merged = parallel_map(together, zip(columns, listed_columns, strict=True))
    return _Everybody(
        ids=with_new(listed_ids, ids),
        columns=[column for column, _ in merged],
        place=place,
        outside=len(new),
        differing=int(np.logical_or.reduce([differs.to_numpy() for _, differs in merged]).sum()),
    )


def _searched(listed: pl.Series, ids: pl.Series) -> NDArray[np.int64]:
    """Where each id is in an ascending list, or would be. Integers are shared out to threads."""
    if listed.dtype != pl.Int64 or listed.null_count() or ids.null_count():
        return listed.search_sorted(ids).to_numpy().astype(np.int64)
    all_of_them, some = listed.to_numpy(), ids.to_numpy()
    found = np.empty(len(some), dtype=np.int64)

    def search(part: slice) -> None:
        found[part] = np.searchsorted(all_of_them, some[part])

    parallel_map(search, slices(len(some)))
    return found


def _places(ids: pl.Series, people: pl.Series) -> pl.Series:
    """The place of each id among the ids of the people."""
    if ids.len() == people.len():
        places = pl.int_range(ids.len(), dtype=pl.UInt32, eager=True)
        return places if ids.equals(people) else places.clone().scatter(_order(ids), places)
    numbered = pl.DataFrame({ID: people}).with_row_index("place")
    return pl.DataFrame({ID: ids}).join(numbered, on=ID, how="left", maintain_order="left")["place"]


def _order(ids: pl.Series) -> pl.Series:
    """The rows in the ascending order of their ids, none of which is there twice."""
    if ids.dtype == pl.Int64 and not ids.null_count():
        numbers = ids.to_numpy()
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < 2**32:
            return pl.Series(order_by(numbers - low)).cast(pl.UInt32)
    return ids.arg_sort()


def notes_on(values: ValueList) -> tuple[str, ...]:
    """Notes on the protected values for the publisher."""
    notes = []
    if values.unheld:
        number = len(values.unheld)
        notes.append(
            f"{counted(number, 'protected value')} {'is' if number == 1 else 'are'} held by nobody "
            "in this table; check the spelling: a misspelt value is not protected"
        )
    if not values.is_any_protected_held:
        notes.append("nobody in this table holds a protected value")
    return tuple(notes)
