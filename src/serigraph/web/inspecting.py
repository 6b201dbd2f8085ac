"""A first look at a table: its columns, its first rows, its values, and the policy they suggest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import polars as pl

from serigraph.errors import TableError
from serigraph.policy import Policy, Reading, parse_policy, read_policy
from serigraph.publishing.proposal import Proposal, propose_policy
from serigraph.runtime.progress import Progress
from serigraph.tables import build_taxonomy, read_table, read_taxonomy
from serigraph.tables.cells import read_text
from serigraph.tables.column_guesses import guess_column
from serigraph.tables.hierarchies import By
from serigraph.tables.people import read_values
from serigraph.tables.person_column import called
from serigraph.tables.taxonomies import taxonomy_text
from serigraph.tables.value_list import ValueList, list_values
from serigraph.tables.vocabulary import QUASI_IDENTIFIER, says
from serigraph.tables.vocabulary import SENSITIVE as SENSITIVE_WORDS
from serigraph.texts import qualifier
from serigraph.web import taxonomy_editing
from serigraph.web.policy_editing import DROP, ID, QUASI, SENSITIVE

ROWS = 50  # of the preview
_LONGEST = 60  # letters of a cell in it
_MOST_VALUES = 2_000  # to pick from
_MOST_LEAVES = 20_000
KEPT, FLAT, IMPORTED = "kept", "flat", "file"


def inspected(
    progress: Progress, table: str, name: str, *, person: str, sensitive: str
) -> dict[str, Any]:
    """The proposal for a table, or what stands in its way beside the columns."""
    progress("reading")
    read = read_table(table, Reading())
    progress("looking at columns")
    found: dict[str, Any] = {
        "name": name,
        "rows": read.height,
        "columns": _columns(read),
        "preview": _preview(read),
    }
    progress("proposing")
    try:
        chosen = [sensitive] if sensitive else []
        proposal = propose_policy(read, name, person=person, sensitive=chosen)
    except TableError as error:
        if not read.height:
            raise
        problem = {"what": error.what, "remedy": error.remedy, "problems": list(error.problems)}
        return {**found, "problem": problem}
    named = [name for name in (person, sensitive) if name]
    return {**found, "problem": None, **_proposed(proposal, named)}


def _proposed(proposal: Proposal, named: Sequence[str]) -> dict[str, Any]:
    return {
        "policy": proposal.policy_text,
        "files": {path: content.decode() for path, content in proposal.files.items()},
        "reasons": _reasons(proposal, named),
        "notes": list(proposal.notes),
        "values": listed(proposal.value_list),
    }


def _reasons(proposal: Proposal, named: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The role that is proposed for each column, and why; ``named`` are those that were given."""
    roles = proposal.roles
    found = {name: (DROP, why) for name, why in roles.left_out.items()}
    for name in roles.quasi_identifiers:
        is_known = says(name, QUASI_IDENTIFIER)
        why = "by its name, outsiders know it"
        found[name] = (QUASI, why if is_known else "outsiders may know it")
    for name in proposal.sensitive:
        by_name = "by its name, it is sensitive"
        found[name] = (SENSITIVE, by_name if says(name, SENSITIVE_WORDS) else "it holds lists")
    by_name = "by its name, a person's id"
    by_cells = "its cells are written like ids"
    is_named = called(roles.person) in ("person", "number", "id")
    found[roles.person] = (ID, by_name if is_named else by_cells)
    return {
        name: (role, "you named it" if name in named else why)
        for name, (role, why) in found.items()
    }


def _columns(table: pl.DataFrame) -> list[dict[str, Any]]:
    """What is known of each column by itself."""
    found = []
    for column in table.get_columns():
        guess = guess_column(column)
        distinct = 0 if column.dtype.is_nested() else column.n_unique()
        reason = "a code, not a quantity" if guess.is_digit_code else _BECAUSE[guess.kind]
        found.append(
            {
                "name": column.name,
                "kind": guess.kind,
                "distinct": distinct,
                "unique": distinct / max(table.height, 1),
                "missing": column.null_count(),
                "why": reason,
            }
        )
    return found


_BECAUSE = {
    "numeric": "every cell is a number",
    "date": "every cell is a date",
    "categorical": "cells are text",
    "unusable": "it is empty, or holds lists",
}


def _preview(table: pl.DataFrame) -> list[list[str]]:
    rows = table.head(ROWS)
    texts = [
        [""] * rows.height
        if column.dtype.is_nested()
        else ["" if each is None else each for each in read_text(column, Reading())[0].to_list()]
        for column in rows.get_columns()
    ]
    return [[cell[:_LONGEST] for cell in row] for row in zip(*texts, strict=True)]


def held_values(table: str, policy: str, folder: str) -> dict[str, Any]:
    """The values of a table under the text of a policy, with their holders, and its columns."""
    rules = parse_policy(policy, "the policy", Path(folder))
    read = read_table(table, rules.reading)
    person = rules.person.id
    ids = read[person] if person in read.columns else pl.Series(range(read.height))
    holders = pl.concat([_holders(read, ids, rules, name) for name in rules.sensitive_columns])
    return {
        "values": listed(list_values(rules, holders)),
        "people": ids.n_unique(),
        "rows": read.height,
        "columns": _columns(read),
        "preview": _preview(read),
    }


def taxonomy_of(
    table: str, series: str, column: str, by: str, parts: Sequence[str]
) -> dict[str, Any]:
    """The text of a taxonomy that is built, kept (``KEPT``), begun anew (``FLAT``) or imported, and
    the values of the column, which it need not have."""
    policy = read_policy(Path(series) / "policy.toml")
    read = read_table(table, policy.reading)
    if column not in read.columns:
        raise TableError(f"the table has no column {column!r}", remedy="choose another table")
    cells, problems = read_text(read[column], policy.reading)
    if problems:
        raise TableError("the column cannot be read", remedy="correct it", problems=problems)
    values = cells.drop_nulls().unique().sort().to_list()
    if not 0 < len(values) <= _MOST_LEAVES:
        raise TableError(
            f"the column has {len(values):,} different values, and a taxonomy here 1 to "
            f"{_MOST_LEAVES:,}",
            remedy="choose another table, or write the file by hand",
        )
    if by == KEPT:
        text = taxonomy_editing.in_force(policy, column)
    elif by == FLAT:
        text = taxonomy_editing.flat(values)
    elif by == IMPORTED:  # what it lacks is shown
        text = taxonomy_text(read_taxonomy(Path(parts[0])))
    else:
        text = build_taxonomy(table, column, by=cast("By", by), parts=parts, series=series).text
    return {"text": text, "values": values}


def _holders(read: pl.DataFrame, ids: pl.Series, rules: Policy, column: str) -> pl.DataFrame:
    """The values of a sensitive column, each with the number of people who hold it."""
    if column not in read.columns:
        raise TableError(
            f"the table has no column {column!r}", remedy="choose the sensitive columns again"
        )
    values, problems = read_values(read[column], rules.of_column(column))
    if problems:
        raise TableError("a sensitive column cannot be read", problems=problems)
    lead = qualifier(column) if rules.has_several_columns else ""
    named = pl.lit(lead) + pl.col("value").cast(pl.String)
    held = values.with_columns(named.alias("value"), person=ids.gather(values["row"]))
    return held.group_by("value").agg(pl.col("person").n_unique().alias("people"))


def listed(values: ValueList) -> list[dict[str, Any]]:
    """Every value of a table and of the policy, with its holders and whether it is protected."""
    in_classes = {each.name: label for label, members in values.classes.items() for each in members}
    found = [
        {
            "name": each.name,
            "people": each.people,
            "nearest": each.nearest,
            "protected": is_protected,
            "in_class": in_classes.get(each.name, ""),
        }
        for is_protected, group in ((True, values.protected), (False, values.unprotected))
        for each in group
    ]
    return sorted(found, key=lambda each: (-int(str(each["people"])), str(each["name"])))[
        :_MOST_VALUES
    ]
