"""Which earlier releases people were members of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from serigraph.errors import GuaranteeExceeded
from serigraph.runtime.threads import parallel_map
from serigraph.verification.committed import CommittedRelease, read_columns

_TOGETHER = 31  # releases that a word takes, beside a number of people


def patterns(people: int, memberships: Iterable[NDArray[np.bool_]]) -> NDArray[np.int64]:
    """A figure for each person, the same for members of the same releases, 0 for none of them; of
    each release it is said who was a member.

    >>> patterns(3, [np.array([True, False, True]), np.array([True, True, True])]).tolist()
    [3, 1, 3]
    """
    found = np.zeros(people, dtype=np.int64)
    for number, is_member in enumerate(memberships, 1):
        found = found * 2 + is_member
        if number % _TOGETHER == 0:
            found = np.unique(np.append(found, 0), return_inverse=True)[1][:-1]
    return found


def read_attendance(
    releases: Sequence[CommittedRelease], place: NDArray[np.int64], people: int
) -> NDArray[np.int64]:
    """The patterns of some people; ``place`` has, by number in the ledger, the place of everybody
    among them, or -1."""
    known = accumulate(release.newcomers for release in releases)

    def members(each: tuple[CommittedRelease, int]) -> NDArray[np.bool_]:
        release, numbers = each
        if not release.files_if_any("cohorts"):
            raise GuaranteeExceeded(
                "people were not kept together in an earlier release",
                where="/".join(release.folder.parts[-2:]),
                remedy="begin a new series for values that persist",
            )
        (person,) = read_columns(release, release.files("members"), ["person"])
        if len(person) != release.members or person.max(initial=0) >= max(numbers, 1):
            raise release.damaged("the members of a release are not those of its record", "members")
        is_member = np.zeros(people + 1, dtype=np.bool_)
        is_member[place[person]] = True  # -1 is the last place, a spare one
        return is_member[:-1]

    return patterns(people, parallel_map(members, list(zip(releases, known, strict=True))))
