"""What functions of the library return, as sections of a page: verdict, facts, charts, tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from serigraph.charts import Bar, Line, column_chart, line_chart
from serigraph.planning.recommendation import recommend
from serigraph.reporting.crowds import crowds_section
from serigraph.reporting.page import Page, Section, Table, exact, percent, render
from serigraph.reporting.page import holds as promise_holds
from serigraph.reporting.plan_page import persistence_section
from serigraph.tables.cells import counted

if TYPE_CHECKING:
    from serigraph.attacking.entry import Attacked
    from serigraph.auditing import Audit
    from serigraph.auditing.figures import Figures
    from serigraph.planning.outlook import Outlook
    from serigraph.planning.series_plan import SeriesPlan
    from serigraph.publishing.persistence import Assumption
    from serigraph.publishing.standing import PersonHistory, Status

Shown = Callable[[Fraction], Any]
_NEAREST = 15  # values to list


def hover(probability: Fraction) -> dict[str, str]:
    """A number on a screen, which shows it as a decimal number and exactly to the pointer."""
    return {"exact": str(probability)}


def standing_sections(status: Status) -> list[dict[str, Any]]:
    """Where a series stands."""
    tenths = [Bar(f"{10 * (n + 1)}", float(pairs)) for n, pairs in enumerate(status.spent)]
    charts = [
        column_chart(
            "Pairs by the share of their budget spent",
            tenths,
            x="up to this percentage of the threshold",
            y="pairs of a person and a value",
        )
    ]
    near = Table(
        ["Value", "Threshold", "Pairs", "Near the limit", "Most links"],
        [
            [
                each.name,
                hover(each.threshold),  # type: ignore[list-item]
                f"{each.pairs:,}",
                f"{each.near_limit:,}",
                str(each.most_links),
            ]
            for each in status.values[:_NEAREST]
        ],
    )
    persisting = Table(
        ["Value that persists", "Threshold", "Holders published", "Classes", "Largest share"],
        [
            [
                each.value,
                hover(each.threshold),  # type: ignore[list-item]
                f"{each.holders:,}",
                f"{each.classes:,}",
                hover(each.largest),  # type: ignore[list-item]
            ]
            for each in (status.cohorts.values if status.cohorts else ())
        ],
    )
    return _plain(
        Section(
            "Budget",
            lead="How much of what each pair of a person and a value may spend is spent.",
            facts=[
                ("People ever in a release", f"{status.people:,}"),
                ("Ever exposed", f"{status.people_exposed:,}"),
                ("Pairs", f"{status.pairs:,}"),
                ("More than nine tenths spent", f"{status.spent[-1] if status.spent else 0:,}"),
                ("Strategy", status.strategy),
            ],
            charts=charts if status.pairs else (),
            tables=[each for each in (near, persisting) if each.rows],
            notes=status.notes,
        )
    )


def person_sections(found: PersonHistory) -> list[dict[str, Any]]:
    """What was published about one person; the page does not repeat who it is."""
    rows = [
        [each.label, f"{each.exposure.count:,}", f"{each.exposure.size:,}"]
        for each in found.exposures
    ]
    return _plain(
        Section(
            f"This person and {found.value}",
            lead="Every group that held both, and what an adversary can conclude from all of them."
            if rows
            else "No group has held both.",
            facts=[
                ("Probability", hover(found.probability)),  # type: ignore[list-item]
                ("Threshold", hover(found.threshold)),  # type: ignore[list-item]
                ("Over time", found.persistence),
            ],
            tables=[Table(["Release", "Holders in the group", "People in it"], rows)]
            if rows
            else [],
            notes=[found.caveat] if found.caveat else [],
        )
    )


def audited(audit: Audit, title: str, assumption: Assumption, rests_on: str = "") -> dict[str, Any]:
    """An audit on the screen, and as a report to keep; the promise rests on what is assumed."""
    if audit.above_in_crowds is None and audit.over_all.is_within:
        holds, verdict = (
            None,
            (
                "Whether the promise holds for values that persist cannot be told without the "
                "tables that the releases were made from."
            ),
        )
    elif audit.is_within and audit.files_agree:
        below = "No pair of a person and a value is above its threshold."
        holds, verdict = promise_holds(assumption), f"{below} {assumption.promise(rests_on)}"
    elif audit.is_within:
        holds, verdict = False, "The published files and the ledger disagree."
    else:
        holds, verdict = False, f"The promise is broken: {_above(audit)}."
    page = Page(
        title=title,
        subtitle=f"{audit.people:,} people, {len(audit.releases)} releases",
        verdict=verdict,
        holds=holds,
        sections=_audit_sections(audit, exact),
    )
    return {
        "verdict": verdict,
        "holds": holds,
        "sections": _plain(*_audit_sections(audit, hover)),
        "notes": [],
        "report": render(page),
    }


def _above(audit: Audit) -> str:
    """What is above its threshold, in words."""
    above, told = audit.over_all, []
    if above.pairs_above:
        told.append(
            f"{above.pairs_above:,} of {above.pairs:,} pairs are above their threshold, of "
            f"{above.people_above:,} people"
        )
    if audit.above_in_crowds:
        are = (
            "is in a crowd above its" if audit.above_in_crowds == 1 else "are in crowds above their"
        )
        told.append(
            f"{counted(audit.above_in_crowds, 'pair')} of a person and a value that persists {are} "
            "threshold"
        )
    return "; ".join(told)


def _audit_sections(audit: Audit, show: Shown) -> list[Section]:
    crowds = [crowds_section(audit.crowds, show=show, known_members=1)] if audit.crowds else []
    of_pairs = [_worst_cases(audit, show), _other_assumptions(audit, show)]
    about_pairs = [_measured(audit, show), *(of_pairs if audit.over_all.pairs else ())]
    return [*crowds, *about_pairs] if audit.above_in_crowds else [*about_pairs, *crowds]


def _measured(audit: Audit, show: Shown) -> Section:
    if not audit.over_all.pairs:
        return Section(
            "Measured",
            lead="No group showed a protected value that changes between releases.",
            notes=_notes(audit),
        )
    return Section(
        "Measured",
        lead="The probability that an adversary who has all releases links a person to a "
        "protected value, recomputed.",
        facts=[
            ("Threshold", show(audit.threshold)),
            ("Largest over all releases", show(audit.over_all.largest)),
            ("Mean over all releases", f"{audit.over_all.mean:.4f}"),
            ("Pairs", f"{audit.over_all.pairs:,}"),
            ("Pairs above", f"{audit.over_all.pairs_above:,}"),
        ],
        charts=[
            line_chart(
                "Largest probability of a link",
                [
                    _probabilities("so far", [each.so_far.largest for each in audit.releases]),
                    _probabilities("alone", [each.localised.largest for each in audit.releases]),
                ],
                labels={float(n): each.label for n, each in enumerate(audit.releases, 1)},
                x="release",
                y="probability",
                limit=float(audit.threshold),
                limit_name="threshold",
            ),
            _histogram(audit.over_all),
        ],
        tables=[
            Table(
                [
                    "Release",
                    "People",
                    "Largest alone",
                    "Largest so far",
                    "Mean so far",
                    "Above",
                ],
                [
                    [
                        each.label,
                        f"{each.people:,}",
                        show(each.localised.largest),
                        show(each.so_far.largest),
                        f"{each.so_far.mean:.4f}",
                        f"{each.so_far.people_above:,}",
                    ]
                    for each in audit.releases
                ],
            )
        ],
        notes=_notes(audit),
    )


def _probabilities(name: str, found: Sequence[Fraction]) -> Line:
    """A line that tells the exact numbers of its releases."""
    points = [(float(n), float(each)) for n, each in enumerate(found, 1)]
    return Line(name, points, [exact(each) for each in found])


def _notes(audit: Audit) -> list[str]:
    differences = (
        f"Release {each.label}: {difference}"
        for each in audit.agreement
        for difference in each.differences
    )
    return [*audit.notes, *differences]


def _worst_cases(audit: Audit, show: Shown) -> Section:
    return Section(
        "Worst cases",
        lead="Under pseudonyms that are new in every audit.",
        tables=[
            Table(
                ["Pseudonym", "Value", "Probability", "Threshold", "Groups"],
                [
                    [
                        case.pseudonym,
                        case.value,
                        show(case.probability),
                        show(case.threshold),
                        ", ".join(f"{each.count}/{each.size}" for each in case.exposures),
                    ]
                    for case in audit.worst
                ],
            )
        ]
        if audit.worst
        else [],
    )


def _other_assumptions(audit: Audit, show: Shown) -> Section:
    return Section(
        "Under assumptions that the promise does not make",
        tables=[
            Table(
                ["Assumption", "Largest", "Mean", "Pairs above", "People above"],
                [
                    [
                        each.name,
                        show(each.figures.largest),
                        f"{each.figures.mean:.4f}",
                        f"{each.figures.pairs_above:,}",
                        f"{each.figures.people_above:,}",
                    ]
                    for each in audit.assumptions
                ],
            )
        ],
    )


def _histogram(figures: Figures) -> str:
    bins = len(figures.by_probability)
    return column_chart(
        "Pairs by probability",
        [
            Bar(f"{number / bins:.2f}", float(pairs))
            for number, pairs in enumerate(figures.by_probability)
        ],
        x="probability, from",
        y="pairs of a person and a value",
    )


def attack_result(found: Attacked) -> dict[str, Any]:
    """How far each attack came; for the publisher, not for the public."""
    rows = [
        [each.attack, each.risk, f"not run: {each.not_run}", "", ""]
        if each.not_run
        else [
            each.attack,
            each.risk,
            f"{each.right:,} of {each.guessed:,} guesses right; {each.claimed:,.1f} claimed",
            f"{each.lift:.2f} ({each.lowest:.2f} to {each.highest:.2f})",
            "" if each.control is None else f"{each.control:.2f}",
        ]
        for each in found.findings
    ]
    leaks = [each.attack for each in found.leaks]
    return {
        "verdict": f"Attacks come further than is accepted: {', '.join(leaks)}."
        if leaks
        else "No attack comes further than the policy accepts."
        if found.highest_lift is not None
        else "The policy sets no limit for attacks (highest_lift in [attacks]).",
        "holds": False if leaks else (True if found.highest_lift is not None else None),
        "sections": _plain(
            Section(
                "Attacks",
                lead="What attacks from the literature learn from the releases. These figures "
                "depend on who holds what: they are not for the public.",
                tables=[Table(["Attack", "Risk", "Result", "Lift", "By chance"], rows)],
                notes=found.notes,
            )
        ),
        "notes": [],
    }


def planned_outlooks(found: SeriesPlan, threshold: str) -> dict[str, Any]:
    """Strategies compared under the threshold that was asked for, one tab each."""
    mine = [each for each in found.outlooks if each.threshold == threshold]
    named = [(each.short_name, each) for each in mine]
    best = recommend(mine, threshold) if mine else found.recommendation
    return {
        "people": found.people,
        "releases_so_far": found.releases_so_far,
        "rehearsed": found.rehearsed_people,
        "return_rate": round(100 * found.return_rate.rate, 1),
        "recommended": best.name,
        "reason": best.reason,
        "sections": _plain(persistence_section(found)) if found.costs else [],
        "chart": line_chart(
            "Mean size of groups with a protected value",
            [
                Line(name, [(float(n), one.mean_size) for n, one in enumerate(each.expected, 1)])
                for name, each in named
            ],
            x="release ahead",
            y="people",
        )
        if any(each.expected for _, each in named)
        else "",
        "outlooks": [_outlook(name, each) for name, each in named],
    }


def _outlook(name: str, outlook: Outlook) -> dict[str, Any]:
    return {
        "name": outlook.name,
        "short_name": name,
        "section": outlook.section,
        "threshold": outlook.threshold,
        "is_policy": outlook.is_policy,
        "mean_size": f"{outlook.mean_size:,.0f}" if math.isfinite(outlook.mean_size) else "none",
        "largest_size": f"{max((each.largest_size for each in outlook.expected), default=0):,}",
        "suppressed": percent(outlook.suppressed_share),
        "alone": percent(outlook.alone_share),
        "lost_precision": percent(outlook.lost_precision),
        "ratios": [f"{each:.2f}" if math.isfinite(each) else "used up" for each in outlook.ratios],
        "unfit": [
            [each.name, percent(each.share), percent(each.allowed)] for each in outlook.unfit
        ],
    }


def _plain(*sections: Section) -> list[dict[str, Any]]:
    found: Sequence[dict[str, Any]] = [asdict(each) for each in sections]
    return list(found)
