"""What a series assumes of values over time, and whether the data agree.

Figures of how often holders keep a value depend on who holds it, so they are for the publisher
alone. Public documents say what is assumed, and for which values the publisher has overridden the
check; both follow from the policy and from the options of ``publish``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from serigraph.errors import InputRefused, NotTransient
from serigraph.ledger import ReleaseRecord
from serigraph.ledger.release import PRESENCE_KNOWN
from serigraph.model import KeptValues, ValueOverTime
from serigraph.policy import Policy
from serigraph.policy.sections import DEFAULT
from serigraph.tables import ProtectedChoice
from serigraph.tables.cells import counted
from serigraph.texts import in_one_form

OVERRIDDEN = "assumed_transient"  # in the summary of a release
_NAMED = 8
UNSAID = "The policy does not say whether values persist."
UNSTATED = (
    "the policy does not say whether values persist, so they are assumed to change freely between "
    "releases; for a value that does not, such as a chronic diagnosis, the promise does not hold: "
    "say in {} whether values are transient"
)


@dataclass(frozen=True)
class Assumption:
    """What the promise of a series assumes of values over time."""

    is_unstated: bool  # the policy leaves open whether some values persist
    has_transient: bool  # some values are taken as transient, stated or not
    has_persisting: bool  # the policy says of some values that they may persist
    overridden: tuple[str, ...]  # kept as transient without the check, in any release
    hides_presence: bool = False  # nobody knows who of a larger registry has a record
    may_depart: bool = True  # people may leave the registry
    of_records: bool = False  # of several columns, sensitive or plain
    sections: str = "[protected.persistence]"  # where the policy says it

    @staticmethod
    def of(frozen: Mapping[str, Any], summaries: Sequence[Mapping[str, Any]]) -> Assumption:
        """From what is frozen of a policy and the summaries of the releases.

        >>> listed = {"values": ["flu", "HIV"], "classes": {}, "persistence": {"HIV": "any"}}
        >>> found = Assumption.of({"protected": listed}, [])
        >>> found.is_unstated, found.has_transient, found.has_persisting
        (True, True, True)
        """
        protected = frozen["protected"]
        stated = protected.get("persistence", {})
        listed = protected.get("values", "all")
        names = {*(listed if isinstance(listed, list) else ()), *protected["classes"]}
        # More values, or classes, may be protected than are named.
        is_open = not isinstance(listed, list) or "closeness" in protected
        default = stated.get(DEFAULT)
        unnamed = is_open or bool(names - stated.keys())
        kinds = {stated[name] for name in stated.keys() - {DEFAULT}}
        guarantee = frozen.get("guarantee", {})
        has_registry = any(each.get("has_registry") for each in summaries[-1:])
        return Assumption(
            is_unstated=default is None and unnamed,
            has_transient="transient" in kinds or (unnamed and default in (None, "transient")),
            has_persisting=any(each != "transient" for each in stated.values()),
            overridden=tuple(
                sorted({name for each in summaries for name in each.get(OVERRIDDEN, ())})
            ),
            hides_presence=has_registry and guarantee.get("adversary") != PRESENCE_KNOWN,
            may_depart=guarantee.get("departures") != "refuse",
            of_records="columns" in protected or bool(frozen.get("plain")),
            sections=sections_on_persistence("columns" in protected),
        )

    def conditions(self) -> tuple[str, ...]:
        """What the promise for values that persist rests on; nothing if there are none."""
        if not self.has_persisting:
            return ()
        found = [
            "the adversary has no prior reason to suspect one member of a cohort more than another"
        ]
        if self.of_records:
            found.append("no cell of a person's record is known")
        if self.hides_presence:
            leaving = "leaving the registry says nothing about a person's values"
            return (*found, *([leaving] if self.may_depart else []))
        found.append("being in a table says nothing about a person's values")
        if self.of_records:
            found.append("values that are not protected, and plain cells, say nothing about others")
        return tuple(found)

    def rests_on(self) -> str:
        """All conditions of the promise in one clause.

        >>> Assumption(False, True, False, ()).rests_on()
        'values change freely between releases'
        """
        if not self.has_persisting:
            return "values change freely between releases"
        transient = "values that the policy calls transient change freely between releases"
        return listed([*([transient] if self.has_transient else []), *self.conditions()])

    def caveat(self) -> str:
        """What every statement of the promise begins with, where nobody has stated what it rests
        on, or the check of that was overridden; otherwise empty."""
        if self.overridden:
            return (
                "The promise is not kept for values that persist, and the publisher has overridden "
                f"the check of this for {names_of(self.overridden)}."
            )
        return UNSAID if self.is_unstated else ""

    def promise(self, rests_on: str = "") -> str:
        """The promise and what it rests on; by default what it does in releases of Serigraph.

        >>> Assumption(False, True, False, ()).promise()
        'The promise holds if values change freely between releases.'
        >>> Assumption(False, True, False, ("HIV",)).promise().partition(". ")[2]
        'The promise holds only if values change freely between releases.'
        """
        caveat = self.caveat()
        only = "only if" if caveat else "if"
        return f"{caveat} The promise holds {only} {rests_on or self.rests_on()}.".strip()

    def caveat_of(self, value: str, stated: Collection[str]) -> str:
        """The same about one transient value; ``stated`` are the names about which the policy says
        something, values or ``default``."""
        if value in self.overridden:
            return (
                "The publisher has overridden the check whether holders keep this value. If they "
                "do, the probability is higher."
            )
        if value in stated or DEFAULT in stated:
            return ""
        return f"{UNSAID} If this one persists, the probability is higher."

    def notes(self) -> tuple[str, ...]:
        """What the publisher must be told until it changes."""
        notes = []
        if self.is_unstated:
            notes.append(UNSTATED.format(self.sections))
        if self.overridden:
            notes.append(
                "the check whether the data contradict the policy was overridden for "
                f"{names_of(self.overridden)}, and every report says so"
            )
        return tuple(notes)


def sections_on_persistence(has_several_columns: bool) -> str:
    """Where a policy says what is assumed of values over time."""
    if has_several_columns:
        return "[sensitive.NAME.protected.persistence] of every sensitive column NAME"
    return "[protected.persistence]"


def assumption_of(releases: Sequence[ReleaseRecord]) -> Assumption:
    """What the promise of some releases, at least one, assumes."""
    return Assumption.of(releases[-1].policy, [each.summary for each in releases])


def assumed_of_others(policy: Policy) -> tuple[Assumption, str]:
    """What a policy assumes of releases that any tool made, and what their promise rests on."""
    assumption = Assumption.of(policy.frozen(), [])
    if not assumption.has_persisting:
        return assumption, assumption.rests_on()
    return assumption, (
        "values that the policy calls transient change freely between releases, and neither the "
        "adversary nor the way the releases were made tells the members of a crowd apart"
    )


def listed(clauses: Sequence[str]) -> str:
    """Several clauses as one.

    >>> listed(["a is", "b is", "c is"]), listed(["a is", "b is"]), listed(["a is"])
    ('a is, b is, and c is', 'a is and b is', 'a is')
    """
    *others, last = clauses
    if not others:
        return last
    return f"{', '.join(others)}{',' if len(others) > 1 else ''} and {last}"


def names_of(names: Sequence[str]) -> str:
    """Some names of values, quoted.

    >>> names_of(["HIV", "gout"])
    "'HIV', 'gout'"
    """
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(repr(name) for name in names[:_NAMED]) + more


def overridden_values(
    given: Collection[str], policy: Policy, choice: ProtectedChoice
) -> tuple[str, ...]:
    """The values whose check is overridden, ascending; refuses what is not protected as transient.

    Looks at the policy alone: whether somebody holds a value must not show.
    """
    names = sorted({in_one_form(name) for name in ([given] if isinstance(given, str) else given)})
    wrong = [
        name
        for name in names
        if not (name in policy.class_rules or choice.covers(name))
        or policy.persistence_of(name) != "transient"
    ]
    if wrong:
        raise InputRefused(
            f"{names_of(wrong)} cannot be assumed to be transient: not a protected value or class "
            "that the policy calls transient",
            remedy="correct --assume-transient (assume_transient in Python)",
        )
    return tuple(names)


def check_transient(
    values: Sequence[ValueOverTime],
    overridden: Collection[str],
    releases: tuple[ReleaseRecord, ...],
    policy: Policy,
) -> None:
    """Refuse a release if holders keep a value that the policy takes as transient."""
    found = [each for each in values if each.contradicts and each.name not in overridden]
    if not found:
        return
    one = len(found) == 1
    it = "it" if one else "them"
    sections = sections_on_persistence(policy.has_several_columns)
    # Of records all values persist, or none.
    change = (
        f'set default = "any" in {sections}'
        if policy.shows_records
        else (f'set {it} to "any" in {sections}')
    )
    raise NotTransient(
        f"the data contradict the policy: {counted(len(found), 'value')} that it takes as "
        f"transient {'persists' if one else 'persist'}, so that the promise would not hold",
        where=f"{counted(len(releases), 'release')} and this table",
        remedy=f"{change} (in a new series: releases that show {it} are out), or leave {it} out "
        "of the table; --assume-transient VALUE (assume_transient in Python) overrides the check, "
        "and every report will say so: the promise does not hold for what people do keep",
        problems=[f"value {each.name!r}: {each.words()}" for each in found],
    )


def notes_on_persistence(
    assumption: Assumption, kept: KeptValues, values: Sequence[ValueOverTime]
) -> tuple[str, ...]:
    """What the publisher must know of the assumption, with figures; not for public documents."""
    return (
        *assumption.notes(),
        *(
            f"value {each.name!r} is not transient, and the promise does not hold for it: "
            f"{each.words()}"
            for each in values
            if each.contradicts and each.persistence == "transient"
        ),
        *notes_on_unrecorded(assumption, kept),
    )


def notes_on_unrecorded(assumption: Assumption, kept: KeptValues) -> tuple[str, ...]:
    """Which releases could not be looked at."""
    if not (kept.unrecorded and assumption.has_transient):
        return ()
    number = len(kept.unrecorded)
    return (
        f"{counted(number, 'earlier release')} of version 0.1 or of Spark did not record who held "
        "what, so whether values persist cannot be measured from "
        f"{'it' if number == 1 else 'them'}",
    )


def notes_on_cohorts(figures: Mapping[str, Any], left_out: int) -> tuple[str, ...]:
    """Who is not in a release because of cohorts, and whose values are not; ``left_out`` people are
    for the publisher only."""
    if "cohorts" not in figures:
        return ()
    waiting, retired = figures["people_waiting"], figures["people_retired"]
    leaving, withheld = figures["people_leaving"], figures["records_withheld"]
    notes = []
    if waiting:
        notes.append(
            f"{counted(waiting, 'person waits', 'people wait')} until there are enough others to "
            "form a cohort with"
        )
    if retired:
        notes.append(
            f"{counted(retired, 'person is', 'people are')} left out for good: retired from a "
            "cohort"
        )
    if leaving:
        notes.append(
            f"{counted(leaving, 'person is', 'people are')} published for the last time: in a "
            "group that shows a value which persists"
        )
    if withheld:
        notes.append(
            f"{counted(withheld, 'record is', 'records are')} withheld: beside a value that "
            "persists nothing else is shown"
        )
    if left_out:
        notes.append(
            f"values of {counted(left_out, 'person', 'people')} are left out: their cohorts may "
            "show no more holders; no public file says so"
        )
    return tuple(notes)
