"""The report of a draft, for the publisher alone: rows before and after, what differs from the last
release, and how far attacks come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from serigraph.attacking import Finding
from serigraph.publishing.differences import Differences
from serigraph.publishing.published import SingledOut, pair_of
from serigraph.reporting.page import (
    UNPROTECTED_VALUES,
    Page,
    Section,
    Table,
    closest,
    render,
    singled_out_facts,
    singled_out_notes,
)
from serigraph.tables.value_list import ListedValue, ValueList, nearly_protected

_VALUES = 20  # at each end of a list

_CONFIDENTIAL = "Confidential: this page shows cells of the table. It is not part of the release."


def draft_report(
    label: str,
    number: int,
    figures: Mapping[str, Any],
    since: Differences | None,
    attacks: Sequence[Finding],
    rows: tuple[Sequence[Mapping[str, str]], Sequence[Mapping[str, str]]],
    values: ValueList,
    notes: Sequence[str],
) -> bytes:
    """The page as it is written; ``rows`` are those before and after."""
    page = Page(
        title=f"Draft of release {label}",
        subtitle=f"It would be release {number}; nothing is published yet",
        verdict=_CONFIDENTIAL,
        holds=None,
        sections=[
            _summary(figures, notes),
            values_section(values),
            differences_section(since),
            attacks_section(attacks),
            rows_section(*rows),
        ],
    )
    return render(page).encode()


def _summary(figures: Mapping[str, Any], notes: Sequence[str]) -> Section:
    singled = SingledOut.of(figures)
    return Section(
        "What would be published",
        lead="The release was formed, verified and written. Its own report and certificate are in "
        "the folder public beside this page.",
        facts=[
            ("People with a record", f"{figures['present']:,}"),
            ("Groups", f"{figures['groups']:,}"),
            ("Worst of the pairs here", closest(pair_of(figures["worst_in_release"]))),
            ("Worst in the whole series", closest(pair_of(figures["worst_in_series"]))),
            *singled_out_facts(singled),
        ],
        notes=[*singled_out_notes(singled), *notes],
    )


def values_section(values: ValueList) -> Section:
    """The values of the table with their holders, so that a misspelt one is seen in time."""
    unheld = (
        f"{each.name} is protected, but nobody in the table holds it"
        + (f"; the table has {each.nearest}" if each.nearest else "")
        for each in values.unheld[:_VALUES]
    )
    alike = (
        f"{each.name} ({each.people:,}) is not protected, but {protected} is"
        for each, protected in nearly_protected(values)
    )
    lists = {
        "Protected": [each for each in values.protected if each.people],
        **{f"In class {name}": members for name, members in values.classes.items()},
        "Not protected": values.unprotected,
    }
    return Section(
        "Values and their holders",
        lead=f"{UNPROTECTED_VALUES} A misspelt one is published like that, for good.",
        tables=[_listed(name, listed) for name, listed in lists.items() if listed],
        notes=[*unheld, *alike],
    )


def _listed(name: str, listed: Sequence[ListedValue]) -> Table:
    """The commonest and the rarest of a long list: misspelt ones are rare."""
    rows = [[each.name, f"{each.people:,}"] for each in listed]
    if len(rows) > 2 * _VALUES:
        between = f"and {len(rows) - 2 * _VALUES:,} more between"
        rows = [*rows[:_VALUES], [between, ""], *rows[-_VALUES:]]
    return Table([name, "Holders"], rows)


def differences_section(since: Differences | None) -> Section:
    if since is None:
        return Section("What differs from the last release", lead="There is no release yet.")
    return Section(
        "What differs from the last release",
        lead=f"Compared with {since.since}.",
        facts=[
            ("People in both", f"{since.again:,}"),
            ("People who are gone", f"{since.gone:,}"),
            ("People who are new", f"{since.new:,}"),
        ],
        tables=[
            _changes("Figure", since.figures),
            _changes("Holders of a protected value", since.values),
        ],
    )


def _changes(what: str, changes: Mapping[str, tuple[float, float]]) -> Table:
    return Table(
        [what, "Before", "Now"],
        [[name, _number(before), _number(now)] for name, (before, now) in changes.items()],
    )


def _number(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:,.3g}"


def attacks_section(found: Sequence[Finding]) -> Section:
    return Section(
        "Attacks",
        lead="How often each attack on the draft alone was right, against what is claimed. Attacks "
        "that compare releases need the release to be out.",
        tables=[
            Table(
                ["Attack", "Bets", "Right", "Lift", "95 % interval"],
                [
                    [each.attack, "", "", each.not_run, ""]
                    if each.not_run
                    else [
                        each.attack,
                        f"{each.guessed:,}",
                        f"{each.right:,}",
                        f"{each.lift:.2f}",
                        f"{each.lowest:.2f} to {each.highest:.2f}",
                    ]
                    for each in found
                ],
            )
        ],
    )


def rows_section(
    before: Sequence[Mapping[str, str]], after: Sequence[Mapping[str, str]]
) -> Section:
    """Both samples, the same people in the same order."""

    def table(rows: Sequence[Mapping[str, str]]) -> Table:
        columns = list(rows[0]) if rows else []
        numbered = [[str(n), *(row[name] for name in columns)] for n, row in enumerate(rows, 1)]
        return Table(["Record", *columns], numbered)

    return Section(
        "Records before and after",
        lead="The same records, drawn at random. Values that are left out are in neither table.",
        parts=[
            Section("Before", tables=[table(before)]),
            Section("After", lead="What the release shows of each.", tables=[table(after)]),
        ],
    )
