"""Pages as lists of sections, rendered as self-contained HTML, and the sentences and charts that
the reports of releases and of series share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined, Template

from serigraph._version import __version__
from serigraph.charts import CHART_STYLE, Bar, column_chart
from serigraph.policy.sections import Publisher
from serigraph.publishing.persistence import Assumption, listed, names_of
from serigraph.publishing.published import SingledOut
from serigraph.records import WorstPair


@dataclass(frozen=True)
class Table:
    """Rows of text under column headings; the first column names the row."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Section:
    """A heading and its content, in this order, then its subsections."""

    heading: str
    lead: str = ""
    facts: Sequence[tuple[str, str]] = ()
    charts: Sequence[str] = ()  # SVG, made by serigraph.charts
    tables: Sequence[Table] = ()
    notes: Sequence[str] = field(default=())
    parts: Sequence[Section] = ()


@dataclass(frozen=True)
class Page:
    """One document; ``holds`` says whether the promise does, None if the page is not about that."""

    title: str
    subtitle: str
    verdict: str
    holds: bool | None
    sections: Sequence[Section]


def render(page: Page) -> str:
    """The page as HTML: one file, no script, nothing fetched. All texts are escaped."""
    template, style = _form()
    return template.render(page=page, style=style, version=__version__) + "\n"


@cache
def _form() -> tuple[Template, str]:
    """The template and the style of all pages: compiling it takes longer than a page."""
    files = resources.files("serigraph.reporting")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    template = environment.from_string(files.joinpath("page.html").read_text(encoding="utf-8"))
    return template, files.joinpath("page.css").read_text(encoding="utf-8") + CHART_STYLE


NOT_STATED = "not stated in the policy"
ADVERSARIES = {
    "presence unknown": "has every release and the population list, and knows everybody's "
    "quasi-identifiers and how the releases were made, but not who has a record in which release",
    "presence known": "has every release, and knows everybody's quasi-identifiers, how the "
    "releases were made, and who has a record in which release",
}


def exact(probability: Fraction | str) -> str:
    """A probability as a decimal number, followed by the fraction if it is short.

    >>> exact(Fraction(7, 16)), exact("12345678901/98765432101")
    ('0.4375 (7/16)', '0.1250')
    """
    number = Fraction(probability)
    spelt = f" ({number})" if len(str(number)) <= 12 and number.denominator > 1 else ""
    return f"{float(number):.4f}{spelt}"


def closest(pair: WorstPair | None) -> str:
    """The probability of the worst pair beside its threshold.

    >>> closest(WorstPair("HIV", Fraction(2, 25), Fraction(1, 10)))
    '0.0800 (2/25) for HIV; its threshold: 0.1000 (1/10)'
    """
    if pair is None:
        return "nobody is exposed to a protected value"
    named = f" for {pair.value}" if pair.value else ""
    return f"{exact(pair.probability)}{named}; its threshold: {exact(pair.threshold)}"


def knowing_members(number: int) -> str:
    """What an adversary knows of the members of groups, in words; empty if nothing.

    >>> knowing_members(2)
    'an adversary who knows 2 other members of every group, and that they do not hold its values'
    """
    if not number:
        return ""
    who, they = (
        ("1 other member", "it does") if number == 1 else (f"{number} other members", "they do")
    )
    return f"an adversary who knows {who} of every group, and that {they} not hold its values"


def verdict(
    releases: int, worst: WorstPair | None, assumption: Assumption, known_members: int = 0
) -> str:
    """The headline, with what the promise rests on; ``worst`` is the worst pair of the series."""
    over = "in this release" if releases == 1 else f"over all {releases} releases"
    nobody = f"{over} nobody can be linked to a protected value with a probability above its "
    by = f", even by {knowing_members(known_members)}" if known_members else ""
    return f"{_promise(assumption, f'{nobody}threshold{by}')}. Worst case: {closest(worst)}."


def _promise(assumption: Assumption, holds: str) -> str:
    if assumption.overridden:
        return (
            f"{assumption.caveat()} Only if these values change freely between releases, as all "
            f"transient ones must, {holds}"
        )
    if assumption.is_unstated:
        return (
            "This report assumes that values change freely between releases, and the policy does "
            f"not say that they do. Under this assumption the promise holds: {holds}"
        )
    law = "" if assumption.has_transient else ", whatever values do between releases,"
    return f"The promise holds{law} if {assumption.rests_on()}: {holds}"


def holds(assumption: Assumption) -> bool | None:
    """How the headline is marked: not as kept where nobody has stated what it rests on, and as
    broken where the check of it was overridden."""
    if assumption.overridden:
        return False
    return None if assumption.is_unstated else True


def column_facts(sensitive: Sequence[str], plain: Sequence[str]) -> list[tuple[str, str]]:
    """Which columns a release shows beside the quasi-identifiers."""
    several = "s" * (len(sensitive) > 1)
    shown = [("Plain columns", ", ".join(plain))] if plain else []
    return [(f"Sensitive column{several}", ", ".join(sensitive)), *shown]


def lowered(pairs: Iterable[WorstPair | None], policy: Mapping[str, Any]) -> list[str]:
    """A note, if suppression has lowered the threshold of one of these."""
    own = policy["protected"]["thresholds"]
    stated = {Fraction(each) for each in (policy["guarantee"]["threshold"], *own.values())}
    is_lower = any(pair is not None and pair.threshold not in stated for pair in pairs)
    return [LOWERED_THRESHOLDS] if is_lower else []


def context_section(
    publisher: Publisher, adversary: str, assumption: Assumption, known_members: int
) -> Section:
    """Who publishes, for whom, and against whom the promise holds."""
    known = knowing_members(known_members)
    return Section(
        "Context assessment",
        lead="Who publishes, for whom, and what an adversary is assumed to know.",
        facts=[
            ("Publisher", publisher.name or NOT_STATED),
            ("Contact", publisher.contact or NOT_STATED),
            ("Recipients", publisher.recipients or NOT_STATED),
            ("Adversary", adversary),
            ("Values over time", _over_time(assumption)),
        ],
        notes=[
            f"The assumed adversary {ADVERSARIES[adversary]}. The adversary wants to link a person "
            "to a protected value in any of the releases.",
            *([f"The promise is made against {known}."] if known else []),
            *over_time_notes(assumption),
        ],
    )


def governance_facts(publisher: Publisher) -> list[tuple[str, str]]:
    """Who answers for the series, as stated in the policy."""
    roles = "; ".join(f"{role}: {who}" for role, who in publisher.roles.items())
    return [
        ("Roles", roles or NOT_STATED),
        ("Re-evaluation", publisher.re_evaluation or NOT_STATED),
        ("Incidents", publisher.incidents or NOT_STATED),
    ]


def _over_time(assumption: Assumption) -> str:
    if assumption.is_unstated:
        return f"{NOT_STATED}; taken as changing freely between releases"
    if not assumption.has_transient:
        return "nothing is assumed of how long they last"
    if not assumption.has_persisting:
        return "assumed to change freely between releases"
    return "transient ones are assumed to change freely between releases, others may persist"


def over_time_notes(assumption: Assumption) -> list[str]:
    """What holds for which values under which conditions, where values may persist."""
    if not assumption.has_persisting:
        return []
    notes = [
        "Values that persist (permanent or any): the promise holds whatever they do over time, if "
        f"{listed(assumption.conditions())}."
    ]
    if assumption.hides_presence and not assumption.may_depart:
        notes.append("Nobody in a cohort may leave the registry.")
    if assumption.has_transient:
        notes.append(
            "Transient values: the promise holds as long as releases are independent of each other."
        )
    return notes


def persistence_notes(assumption: Assumption) -> list[str]:
    """What follows if the assumption is wrong."""
    if not assumption.has_transient:
        return []
    notes = [PERSISTENT_VALUES]
    if assumption.overridden:
        notes.append(
            f"For {names_of(assumption.overridden)} the publisher has overridden the check that "
            "compares this assumption with the data (--assume-transient)."
        )
    return notes


PERSISTENT_VALUES = (
    "Releases are assumed to be independent of each other for values that the policy calls "
    "transient, or of which it says nothing. If such a value persists from release to release (a "
    "chronic diagnosis), neither the probabilities here nor their sum is a bound: an adversary who "
    "knows that it persists can compare releases, and identify holders with certainty after a few."
)
ALIKE = (
    "For a value that persists, the probability is the share of published holders in a class: the "
    "people of a cohort whom all releases so far treat alike. All classes count, also those of "
    "people who have retired."
)
LOWERED_THRESHOLDS = (
    "Some thresholds are lower than in the policy: what suppressed holders reveal by their absence "
    "was deducted for everybody."
)
ATTACKS_ARE_PRIVATE = (
    "How far attacks came depends on who holds what, so only the publisher knows. Attacks that "
    "compare releases are run by serigraph attack."
)
UNPROTECTED_VALUES = "Values that are not protected can be linked to a person with certainty."


def width_chart(widths: Mapping[str, float], form: str) -> str:
    """How wide groups are: in a generalised release, the precision lost."""
    is_exact = form == "bucketised"
    return column_chart(
        "Width of a group per column" if is_exact else "Information lost per column",
        [Bar(name, float(f"{width:.3g}")) for name, width in widths.items()],
        x="quasi-identifier",
        y="share of the column's range"
        + ("; values are shown exactly" if is_exact else " (0: exact, 1: all lost)"),
    )


def width_fact(width: float, form: str) -> tuple[str, str]:
    """The mean precision lost over the columns."""
    if form == "bucketised":
        return "Precision lost", "none: quasi-identifiers are published as they are"
    return "Precision lost, mean of the columns", percent(width)


def size_chart(sizes: Sequence[tuple[int, int]]) -> str:
    """Numbers of groups by size, in powers of two."""
    if not len(sizes):
        return column_chart("Groups with a protected value", [], x="people in a group", y="groups")
    number: Counter[int] = Counter()
    for size, groups in sizes:
        number[max(size, 1).bit_length() - 1] += groups
    first, last = min(number), max(number)
    bars = [
        Bar(f"{2**each}-{2 ** (each + 1) - 1}" if each else "1", float(number[each]))
        for each in range(first, last + 1)
    ]
    return column_chart(
        "Groups with a protected value, by size", bars, x="people in a group", y="groups"
    )


def singled_out_facts(singled: SingledOut | None) -> list[tuple[str, str]]:
    """The number of people alone and of unique rows; nothing if they were not counted."""
    if singled is None:
        return []
    return [
        ("People alone in their group", f"{singled.people_alone:,}"),
        (
            "Unique rows",
            f"{singled.unique_rows:,} of {singled.rows:,} ({percent(float(singled.share))})",
        ),
    ]


def singled_out_notes(singled: SingledOut | None) -> list[str]:
    """The same in words, if not 0."""
    return [f"{words}." for words in singled.words()] if singled is not None else []


def files_table(files: Mapping[str, str]) -> Table:
    return Table(["File", "SHA-256"], [[name, digest] for name, digest in sorted(files.items())])


def percent(share: float) -> str:
    """
    >>> percent(0.123), percent(0.00002), percent(math.nan)
    ('12.3 %', '0.002 %', 'not measured')
    """
    if math.isnan(share):
        return "not measured"
    return f"{100 * share:.1f} %" if share >= 0.001 or share == 0 else f"{100 * share:.2g} %"
