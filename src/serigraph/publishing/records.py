"""Releases whose records have several columns: how they are shown, and what that assumes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from serigraph.policy import Policy
from serigraph.recoding import RecordShape
from serigraph.recoding.records import ShownColumn
from serigraph.tables.cells import counted


def record_shape(policy: Policy) -> RecordShape | None:
    """How a release shows records; None if they are nothing but the values of one column."""
    if not policy.shows_records:
        return None
    return RecordShape(
        tuple(
            ShownColumn(name, how.form == "single")
            for name, how in policy.sensitive_columns.items()
        ),
        is_qualified=policy.has_several_columns,
        apart=policy.output.apart,
    )


def notes_on_plain(summary: Mapping[str, Any], *, persists: bool) -> tuple[str, ...]:
    """How far plain columns single people out, for the publisher to consider; ``persists`` says
    whether values beside them do."""
    if "plain_columns" not in summary:
        return ()
    rows, alone = summary["present"], summary["plain_unique_in_group"]
    found = [
        f"plain columns single out {alone:,} of {counted(rows, 'row')} in their groups "
        f"({alone / max(rows, 1):.0%}): somebody who knows these cells of a person learns the "
        "values beside them"
    ]
    if linked := summary.get("plain_linked_rows"):
        harm = (
            "somebody who knows one cell of such a person learns what both rows show"
            if persists
            else "if these are the same people, their groups do not hide them any more; leave out "
            "columns that people keep"
        )
        found.append(
            f"plain columns link {counted(linked, 'row')} to a row of release "
            f"{summary['plain_linked_to']}: {harm}"
        )
    return tuple(found)


def facts_on_plain(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The same for a report; nothing if there are no plain columns."""
    if "plain_columns" not in summary:
        return []
    rows = summary["present"]

    def share(key: str) -> str:
        return f"{summary[key]:,} ({summary[key] / max(rows, 1):.1%})"

    facts = [
        ("Rows that plain columns single out in their group", share("plain_unique_in_group")),
        ("Rows that they single out in the table", share("plain_unique_in_table")),
    ]
    if "plain_linked_to" in summary:
        before = summary["plain_linked_to"]
        facts.append((f"Rows that they link to a row of {before}", share("plain_linked_rows")))
    return facts


def assumptions(policy: Policy, summary: Mapping[str, Any]) -> list[str]:
    """What the promise assumes of records, beyond what it assumes of a single value."""
    found, apart, plain = [], summary.get("apart", False), bool(policy.plain)
    if policy.shows_records and not apart:
        found.append(
            "A row shows a whole record. The promise is for each column and value, against "
            "somebody who knows none of the cells of a person's record: one known cell may give "
            "the others away."
        )
    elif policy.has_several_columns:
        found.append(
            "The promise is for each column and value. Columns may go with each other: one known "
            "value may make others likely."
        )
    if plain and policy.has_persisting_values:
        found.append(
            "Plain columns are published as they are, but never beside a value that is shown once. "
            "It is assumed that nobody knows them of a person, and that they say nothing about "
            "protected values; people may keep them from one release to the next."
        )
    elif plain:
        found.append(
            "Plain columns are published as they are. It is assumed that nobody knows them of a "
            "person, that they say nothing about protected values, and that people do not keep "
            "them from one release to the next."
        )
    return found
