"""What releases reveal about people whom they treat alike, however values change over time.

Fix a value s. One release says one of three things about a person and s: the person is *away*, that
is, publicly has no record; the person is *clear*, has a record and is not linked to s; or the
person is in a certain group. People about whom every release says the same are *alike*; all who are
alike form a *crowd*. Let K be a crowd, and H the number of its members that were ever published
as holders of s. If

1. (exchangeable) the adversary's belief on who is present and holds s in which release does not
   change when members of K change places, whatever else it says, and
2. (equivariant) neither does the probability of what is published,

then for every o in K

    P(o was ever published as a holder of s | all publications) = E[H | all publications] / |K|.

Swapping two members changes neither the belief nor the publication, so that all members have the
same posterior; and the posteriors add up to the expectation of H. Nothing is assumed about how long
a value lasts, nor that releases are independent of each other.

Differs from the paper: Lemma 4 takes the releases as independent. docs/guarantee.md has the proof.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import TypeVar

from serigraph.records import Exposure

Person = TypeVar("Person", bound=Hashable)


class Seen(Enum):
    """What a release says about a person whom it does not leave in a group."""

    AWAY = "away"  # publicly without a record
    CLEAR = "clear"  # has a record, which does not hold the value


Sight = Seen | Hashable
"""What one release tells of a person: away, clear, or the name of a group."""


def sight(group: Hashable, *, shows: bool, members: int, records: int) -> Sight:
    """What a release says about the members of a group and a value that the group shows or not.

    ``members`` are the people to choose from, ``records`` of whom have a record; an adversary who
    knows who is present chooses among as many as have one. Where a group does not show the value,
    its members are clear only if all of them have a record. If some have none, nobody knows who is
    clear, and only members of the same group are alike.

    >>> sight("g", shows=True, members=9, records=4)
    'g'
    >>> sight("g", shows=False, members=9, records=9)
    <Seen.CLEAR: 'clear'>
    >>> sight("g", shows=False, members=9, records=4)
    'g'
    >>> sight("g", shows=False, members=9, records=0)
    <Seen.AWAY: 'away'>
    """
    if shows:
        return group
    if records == 0:
        return Seen.AWAY
    return Seen.CLEAR if records == members else group


def crowds(sights: Mapping[Person, Sequence[Sight]]) -> list[frozenset[Person]]:
    """The sets of people about whom every release says the same.

    >>> seen = {"a": ["g", Seen.CLEAR], "b": ["g", Seen.CLEAR], "c": ["g", Seen.AWAY]}
    >>> [sorted(each) for each in crowds(seen)]
    [['a', 'b'], ['c']]
    """
    alike: dict[tuple[Sight, ...], set[Person]] = defaultdict(set)
    for person, told in sights.items():
        alike[tuple(told)].add(person)
    return [frozenset(members) for members in alike.values()]


def crowd_probability(holders: int, size: int, known: int = 0) -> Fraction:
    """The chance that a member of a crowd of ``size`` is one of its ``holders``: H/|K|.

    An adversary who knows ``known`` other members chooses among |K| - c. It has the most to gain if
    none of them holds the value: H/(|K| - c), and certainty once only holders are left. With n_s
    and n of one group it is the chance in one release, n_s/(n - c).

    >>> crowd_probability(2, 8), crowd_probability(2, 8, known=1), crowd_probability(2, 8, known=7)
    (Fraction(1, 4), Fraction(2, 7), Fraction(1, 1))
    >>> crowd_probability(0, 1, known=1)
    Fraction(0, 1)
    """
    if not (0 <= holders <= size and size >= 1 and known >= 0):
        raise ValueError(
            f"a crowd needs 0 <= holders <= size and known >= 0, not {holders} of {size}, {known}"
        )
    return Fraction(holders, max(size - known, holders)) if holders else Fraction(0)


def most_holders(size: int, threshold: Fraction, known: int = 0) -> int:
    """The largest H that keeps H/(|K| - c) within a threshold below 1.

    >>> most_holders(8, Fraction(1, 2)), most_holders(8, Fraction(1, 2), known=1)
    (4, 3)
    >>> most_holders(11, Fraction(9, 100)), most_holders(12, Fraction(9, 100))
    (0, 1)
    """
    return max(size - known, 0) * threshold.numerator // threshold.denominator


def smallest_crowd(holders: int, threshold: Fraction, known: int = 0) -> int:
    """The smallest crowd that may have this many holders: ceil(H / threshold) + c.

    >>> smallest_crowd(1, Fraction(1, 2)), smallest_crowd(1, Fraction(9, 100))
    (2, 12)
    >>> smallest_crowd(1, Fraction(1, 2), known=1), smallest_crowd(0, Fraction(1, 2), known=1)
    (3, 1)
    """
    if holders == 0:
        return 1
    return -(-holders * threshold.denominator // threshold.numerator) + known


def holder_bounds(size: int, links: Iterable[Exposure]) -> tuple[int, int]:
    """The smallest and the largest H that the counts of the groups allow (Definition 1).

    ``links`` are the groups with the value that the ``size`` members were in. Of n_s holders at
    most n - |K| are others, and nothing says that two releases show the same holders. Both bounds
    are reached by possible worlds.

    >>> holder_bounds(3, [Exposure(4, 2), Exposure(9, 1)])
    (1, 3)
    >>> holder_bounds(3, [])
    (0, 0)
    """
    known = list(links)
    least = max((each.count - (each.size - size) for each in known), default=0)
    return max(least, 0), min(size, sum(each.count for each in known))
