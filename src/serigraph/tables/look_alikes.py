"""Likely mistakes in a table: one thing written in two ways, and columns that identify people.

"7" and "007", or "5" and "5.00", may be two codes, or one number in two formats. The text does not
show which, so nothing is changed here: where it matters, the release is refused until the policy
says that such texts are distinct. A quasi-identifier that is unique for most people would identify
them if published exactly.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Set
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from serigraph.errors import PolicyError, TableError
from serigraph.model import Population
from serigraph.policy import Policy
from serigraph.tables.cells import counted, different
from serigraph.tables.protection import named_by_itself
from serigraph.texts import unqualified

if TYPE_CHECKING:
    from serigraph.tables.protection import ProtectedChoice
    from serigraph.tables.value_list import ValueList


# A whole number; the groups are its sign and significant digits.
WHOLE_NUMBER = r"^\+?(-?)0*([0-9]+?)(?:\.0+)?$"
_NUMBER = r"^[+-]?[0-9]+(?:[.,][0-9]+)?$"
_LITTLE = "zeros, capitals, blanks, dashes or forms of letters"
_SELECTORS = re.compile("[\ufe00-\ufe0f]")  # they select the shape of a letter
_TRUTH = {"true": "1", "false": "0"}
REMEDY = (
    "write them the same way, or, if they are different, set look_alikes = "
    '"distinct" in the section [reading] of the policy'
)


def whole_numbers(ids: pl.Series) -> pl.Series:
    """Ids without insignificant zeros; others unchanged.

    >>> whole_numbers(pl.Series(["007", "7.0", "+70", "000", "A01", "1.10"])).to_list()
    ['7', '7', '70', '0', 'A01', '1.10']
    """
    return ids.str.replace(WHOLE_NUMBER, "${1}${2}")


def numbers(texts: pl.Series) -> pl.Series:
    """The number in each text, in one notation; null if it is not a number.

    >>> numbers(pl.Series(["5", "5.00", "05", "5,0", "-0.50", "True", "5 mg"])).to_list()
    ['5', '5', '5', '5', '-0.5', '1', None]
    """
    plain = texts.str.to_lowercase().replace(_TRUTH)
    is_number = plain.str.contains(_NUMBER)
    digits = (
        plain.str.replace(",", ".", literal=True)
        .str.replace(r"(\.[0-9]*?)0+$", "${1}")
        .str.strip_suffix(".")
        .str.replace(r"^\+?(-?)0*([0-9])", "${1}${2}")
    )
    return digits.set(~is_number.fill_null(False), None)


def written_otherwise(
    here: pl.Series, there: pl.Series, key: Callable[[pl.Series], pl.Series]
) -> int:
    """How many texts that are only here have the key of a text that is only there."""
    only_here = different(here.filter(~here.is_in(there.implode())))
    only_there = different(there.filter(~there.is_in(here.implode())))
    return int(key(only_here).is_in(key(only_there).drop_nulls().implode()).sum())


def id_problems(ids: dict[str, pl.Series], policy: Policy) -> list[str]:
    """Problems with ids that table and registry (the sources, by name) write differently."""
    if policy.reading.look_alikes == "distinct" or len(ids) < 2:
        return []
    (first, here), (second, there) = ids.items()
    if here.dtype != pl.String or there.dtype != pl.String:
        return []
    return described_ids(ids_written_otherwise(here, there), first, second)


def described_ids(alike: int, here: str, there: str) -> list[str]:
    """The problem of this many ids written in two ways, if there are any."""
    if not alike:
        return []
    are = "is a number" if alike == 1 else "are numbers"
    return [
        f"{counted(alike, 'id')} of {here} {are} that {there} writes with other zeros: {REMEDY}"
    ]


def check_ids(ids: pl.Series, known: Callable[[], pl.Series], policy: Policy) -> None:
    """Refuse ids that the ledger writes differently; ``ids`` are those that it does not know."""
    if policy.reading.look_alikes == "distinct" or ids.dtype != pl.String or ids.is_empty():
        return
    refuse_ids(known_otherwise(ids, known()))


def known_otherwise(unknown: pl.Series, known: pl.Series) -> int:
    """How many ids differ from a known one only in zeros or capitals."""

    def key(ids: pl.Series) -> pl.Series:
        return whole_numbers(ids).str.to_lowercase()

    return int(key(unknown).is_in(key(known).implode()).sum())


def refuse_ids(alike: int) -> None:
    """Refuse this many ids that the ledger writes differently, if there are any."""
    if alike:
        raise TableError(
            "people of earlier releases would become new people",
            where="id column",
            remedy="write the ids as in earlier releases",
            problems=[
                f"{counted(alike, 'id')} of the table or registry "
                f"{'differs' if alike == 1 else 'differ'} from the ledger's only in zeros or "
                f"capitals: {REMEDY}"
            ],
        )


def ids_written_otherwise(here: pl.Series, there: pl.Series) -> int:
    """How many numeric ids that are only here are written with other zeros there."""

    def is_number(ids: pl.Series) -> pl.Series:
        return ids.filter(ids.str.contains(WHOLE_NUMBER).fill_null(False))

    return written_otherwise(is_number(here), is_number(there), whole_numbers)


def category_problems(
    quasi_identifiers: dict[str, dict[str, pl.Series]], policy: Policy
) -> list[str]:
    """Problems with categories that table and registry write differently."""
    if policy.reading.look_alikes == "distinct" or len(quasi_identifiers) < 2:
        return []
    problems = []
    (first, here), (second, there) = quasi_identifiers.items()
    for name in here.keys() & there.keys():
        if here[name].dtype != pl.String or there[name].dtype != pl.String:
            continue
        alike = written_otherwise(different(here[name]), different(there[name]), numbers)
        if alike:
            are = "is a number" if alike == 1 else "are numbers"
            problems.append(
                f"{first}: {counted(alike, 'value')} of column {name!r} {are} that {second} "
                f"writes differently: {REMEDY}"
            )
    return sorted(problems)


def check_values(
    values: ValueList,
    choice: ProtectedChoice,
    policy: Policy,
    shown_before: Callable[[], Collection[str]],
) -> None:
    """Refuse a table in which a value is written nearly as a protected one and so is not protected,
    or as another protected one, and so would have a second budget.

    Values that the policy spells out are what they are, and only they are named. ``shown_before``
    gives the protected values of earlier releases.
    """
    if policy.reading.look_alikes == "distinct":
        return
    if policy.has_several_columns:
        shown = [unqualified(name) for name in shown_before()]
        for column in policy.sensitive_columns:
            own = [value for where, value in shown if where == column]
            listed, chosen = values.of_column(column), choice.of_column(column)
            check_values(listed, chosen, policy.of_column(column), own.copy)
        return
    named = named_by_itself(policy, choice)
    held = [each.name for each in values.protected if each.people]
    problems = _unprotected(values, named)
    if any(name not in named for name in held):
        problems += _twice_in_the_table(held, named)
        before = {name for name in shown_before() if name not in policy.class_rules}
        problems += _written_otherwise_before(held, named, before)
    if problems:
        raise TableError(
            "protected values are written in more than one way",
            where=f"column {next(iter(policy.sensitive_columns))!r}",
            remedy=REMEDY,
            problems=problems,
        )


def _unprotected(values: ValueList, named: Set[str]) -> list[str]:
    """Problems with unprotected values that look like protected ones, except those that the policy
    names as unprotected."""
    members = {each.name for listed in values.classes.values() for each in listed}
    protected = sorted(members.union(each.name for each in values.protected))
    by_look = dict(zip(looks(protected), protected, strict=True))
    others = [each.name for each in values.unprotected if each.people and each.name not in named]
    alike = (by_look[look] for look in looks(others) if look in by_look)
    found = Counter(repr(like) if like in named or like in members else "a value" for like in alike)
    return [
        f"{like} is protected, and {counted(number, 'value')} that "
        f"{'differs' if number == 1 else 'differ'} from it only in {_LITTLE} "
        f"{'is' if number == 1 else 'are'} not"
        for like, number in sorted(found.items())
    ]


def _twice_in_the_table(held: list[str], named: Set[str]) -> list[str]:
    """Problems with protected values that look like each other. Codes that differ in zeros may be
    distinct, as in ICD-9."""
    is_number = numbers(pl.Series(held, dtype=pl.String)).is_not_null()
    of_look: dict[str, list[str]] = defaultdict(list)
    for name, look, number in zip(held, looks(held), is_number, strict=True):
        if not number:
            of_look[look].append(name)
    repeated = [each for each in of_look.values() if len(each) > 1 and not named >= set(each)]
    alike = sum(map(len, repeated))
    if not alike:
        return []
    return [
        f"{alike:,} values differ from each other only in capitals, blanks, dashes or forms of "
        "letters, and would be protected as different values"
    ]


def _written_otherwise_before(held: list[str], named: Set[str], before: Set[str]) -> list[str]:
    """Problems with new protected values that look like one of earlier releases."""
    known = set(looks(sorted(before)))
    new = [name for name in held if name not in before and name not in named]
    alike = sum(look in known for look in looks(new))
    if not alike:
        return []
    return [
        f"{counted(alike, 'value')} {'differs' if alike == 1 else 'differ'} from values of "
        f"earlier releases only in {_LITTLE}, and would be protected as new"
    ]


def looks(names: list[str]) -> list[str]:
    """What each name comes to if zeros, capitals, blanks, invisible marks, kinds of dashes and
    forms of letters do not count.

    >>> looks(["COVID\\u201119", "covid-19", "HI\\u200bV", "5.00"])
    ['covid-19', 'covid-19', 'hiv', '5']
    """
    plain = [_plain(name) for name in names]
    as_numbers = numbers(pl.Series(plain, dtype=pl.String)).to_list()
    return [number or text for text, number in zip(plain, as_numbers, strict=True)]


def _plain(name: str) -> str:
    folded = unicodedata.normalize("NFKC", name).casefold()
    if not folded.isascii():
        seen = _SELECTORS.sub("", folded)
        kinds = map(unicodedata.category, seen)
        folded = "".join(
            "-" if kind == "Pd" else letter
            for letter, kind in zip(seen, kinds, strict=True)
            if kind != "Cf"
        )
    return " ".join(folded.split())


FEWEST = 100  # people; in a smaller table every column is nearly unique


def is_mostly_unique(unique: int, people: int) -> bool:
    """Whether at least half of the people have a value that nobody else has.

    >>> is_mostly_unique(50, 100), is_mostly_unique(49, 100), is_mostly_unique(99, 99)
    (True, False, False)
    """
    return people >= FEWEST and 2 * unique >= people


def columns_in_question(policy: Policy, distinct: Mapping[str, int], people: int) -> list[str]:
    """The columns whose exact values the release may show without the policy's consent, and that
    have enough ``distinct`` values to be mostly unique.

    A generalised group of two or more people never shows a value that only one of them has.
    """
    if policy.output.form == "generalised" and policy.guarantee.minimum_group_size > 1:
        return []
    return [
        name
        for name, column in policy.quasi_identifiers.items()
        if column.unique_values == "error" and is_mostly_unique(distinct[name], people)
    ]


def check_unique_columns(population: Population, policy: Policy, where: str) -> None:
    """Refuse to publish columns exactly if their values are mostly unique among the people of the
    table; a registry makes no difference."""
    people = int(np.count_nonzero(population.present))
    numbers = {domain.name: number for number, domain in enumerate(population.domains)}
    distinct = {domain.name: domain.size for domain in population.domains}
    refuse_unique(
        {
            name: _own_values(population.codes[numbers[name], population.present])
            for name in columns_in_question(policy, distinct, people)
        },
        people,
        policy,
        where,
    )


def _own_values(codes: NDArray[np.int32]) -> int:
    """How many people have a code that nobody else has."""
    return int(np.count_nonzero(np.bincount(codes) == 1))


def refuse_unique(unique: Mapping[str, int], people: int, policy: Policy, where: str) -> None:
    """Refuse the columns that are mostly unique; ``unique`` counts the people with a value that
    nobody else has."""
    refused = {name: own for name, own in unique.items() if is_mostly_unique(own, people)}
    if not refused:
        return
    groups = "minimum_group_size = 5 or more in [guarantee]"
    if policy.output.form == "bucketised":
        groups = f'form = "generalised" in [output] with {groups}'
    raise PolicyError(
        f"{counted(len(refused), 'quasi-identifier')} would be published exactly, although most "
        "people have a unique value",
        where=where,
        remedy=f"set {groups}; drop the column or make it coarser, such as the year of a date; or "
        'set unique_values = "publish" in its section to publish it anyway',
        problems=[
            f"column {name!r}: {own:,} of {people:,} people have a value that nobody else has"
            for name, own in refused.items()
        ],
    )
