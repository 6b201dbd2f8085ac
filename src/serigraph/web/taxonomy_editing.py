"""A taxonomy on its screen: the tree, values that it lacks, and moving them below a node."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from serigraph.errors import InputRefused, SeriesDiverged, SerigraphError, TaxonomyError
from serigraph.ledger import storage_errors
from serigraph.ledger.storage import ensure_folder
from serigraph.model import Taxonomy
from serigraph.policy import Policy, read_policy
from serigraph.tables.taxonomies import parse_taxonomy, taxonomy_text
from serigraph.web import policy_editing
from serigraph.web.policy_text import PolicyText
from serigraph.web.worker import told_of

FOLDER = "taxonomies"
ROOT = "*"
MOST = 1_000  # nodes that are shown as a tree to choose from


@dataclass
class Node:
    """A node of the tree, for the page."""

    label: str
    leaves: int = 0
    children: dict[str, Node] = field(default_factory=dict)


@dataclass(frozen=True)
class Screen:
    """What the screen shows of the text of a taxonomy."""

    text: str
    problem: Mapping[str, Any] | None
    trees: Sequence[Node]  # empty if there are too many nodes
    nodes: int
    parents: Sequence[str]
    lacking: Sequence[str]  # values of the table that have no leaf


def screen(text: str, values: Sequence[str]) -> Screen:
    """The screen for a text and the values of a column."""
    try:
        paths = _paths(_parsed(text))
    except TaxonomyError as error:
        return Screen(text, told_of(error), (), 0, (), values)
    top = Node("")
    for path in paths:
        node = top
        for label in path:
            node = node.children.setdefault(label, Node(label))
            node.leaves += 1
    leaves = {path[-1] for path in paths}
    nodes = list(_below(top))
    return Screen(
        text=text,
        problem=None,
        trees=tuple(top.children.values()) if len(nodes) <= MOST else (),
        nodes=len(nodes),
        parents=[each.label for each in nodes if each.children],
        lacking=[each for each in values if each not in leaves],
    )


def _below(node: Node) -> Iterator[Node]:
    for child in node.children.values():
        yield child
        yield from _below(child)


def flat(values: Sequence[str]) -> str:
    """A taxonomy to begin with: all values below one root."""
    return taxonomy_text(Taxonomy.from_rows([[each, ROOT] for each in values]))


def moved(text: str, chosen: Sequence[str], parent: str) -> str:
    """The text after values and nodes were put below another node, with all that is below them.

    A parent that the tree does not have is made below the root; values that it lacks are added.

    >>> print(moved("flu;*\\nHIV;*\\n", ["HIV", "hepatitis"], "chronic"), end="")
    flu;flu;*
    HIV;chronic;*
    hepatitis;chronic;*
    """
    if not chosen or not parent.strip():
        raise InputRefused("nothing was moved", remedy="choose values, and name what they go below")
    paths = _paths(_parsed(text))
    above = _way_to(parent.strip(), paths)
    if any(label in chosen for label in above):
        raise InputRefused(
            "a node cannot go below itself, or below what is below it",
            remedy="choose another node to put it below",
        )
    rest, taken = list[tuple[str, ...]](), list[tuple[str, ...]]()
    for path in paths:
        at = next((n for n, label in enumerate(path) if label in chosen), None)
        if at is None:
            rest.append(path)
        else:
            taken.append((*above, *path[at:]))
    known = {label for path in paths for label in path}
    taken += [(*above, value) for value in chosen if value not in known]
    made = [*rest, *taken]
    levels = max(map(len, made))
    rows = [[*[path[-1]] * (levels - len(path)), *reversed(path)] for path in made]
    return taxonomy_text(Taxonomy.from_rows(rows))


def _parsed(text: str) -> Taxonomy:
    return parse_taxonomy(text.encode(), "the taxonomy")


def _paths(taxonomy: Taxonomy) -> list[tuple[str, ...]]:
    """From the root to each leaf, without labels that only repeat the one above."""
    return [tuple(dict.fromkeys(path)) for path in taxonomy.paths]


def _way_to(parent: str, paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    for path in paths:
        if parent in path[:-1]:
            return path[: path.index(parent) + 1]
    if any(parent == path[-1] for path in paths):
        raise InputRefused(
            "nothing can go below a value", remedy="name a node above values, or a new one"
        )
    roots = {path[0] for path in paths if len(path) > 1}
    return (*(roots if len(roots) == 1 else ()), parent)


def columns(policy: Policy) -> dict[str, str | None]:
    """The columns that may have a taxonomy, and the file of each that has one."""
    found = policy.quasi_identifiers.items()
    return {name: each.taxonomy for name, each in found if each.kind == "categorical"}


def in_force(policy: Policy, column: str) -> str:
    """The text of a column's taxonomy; empty if it has none."""
    path = policy.taxonomy_path(column)
    if path is None:
        return ""
    with storage_errors(path):
        return path.read_text(encoding="utf-8-sig", errors="replace")


def beginning(policy: Policy, column: str) -> str:
    """The first lines of a column's taxonomy, to look at; or why it cannot be read."""
    try:
        lines = in_force(policy, column).splitlines()
    except SerigraphError as error:
        return error.what
    more = [f"and {len(lines) - MOST:,} more lines"] if len(lines) > MOST else []
    return "\n".join([*lines[:MOST], *more])


def save(series: Path, column: str, text: str, digest: str) -> None:
    """Write the taxonomy of a column below the series, and name it in the policy.

    ``SeriesDiverged`` if the taxonomy in force is not the one that the page was made from.
    """
    policy = read_policy(series / "policy.toml")
    if column not in columns(policy):
        raise InputRefused(
            "only a categorical quasi-identifier has a taxonomy",
            remedy="give the column this role and kind in the policy",
        )
    if policy_editing.digest_of(in_force(policy, column)) != digest:
        raise SeriesDiverged(
            "the taxonomy was changed in the meantime, perhaps in another tab",
            where=f"column {column}",
            remedy="copy your text, reload the page, and make your changes again",
        )
    _parsed(text)
    named = policy.quasi_identifiers[column].taxonomy
    if named is not None and _is_own(series, named):
        policy_editing.replace_durably(series / named, text.encode())
        return
    name = _new_name(series, column)
    with storage_errors(series):
        ensure_folder(series / FOLDER)
    policy_editing.replace_durably(series / name, text.encode())
    before = (series / "policy.toml").read_text(encoding="utf-8-sig")
    edit = PolicyText(before)
    edit.set(("quasi_identifiers", column), {"taxonomy": name})
    try:
        policy_editing.save(series, str(edit), policy_editing.digest_of(before))
    except SerigraphError:
        (series / name).unlink()
        raise


def _is_own(series: Path, name: str) -> bool:
    """Whether a file is in the series' own folder of taxonomies, and no link leads out of it."""
    folder = series.resolve() / FOLDER
    return (series / name).resolve().parent == folder


def _new_name(series: Path, column: str) -> str:
    """A name that no file has."""
    folder = series / FOLDER
    if folder.resolve() != series.resolve() / FOLDER:
        raise InputRefused(
            "the folder of taxonomies is a link that leads elsewhere",
            where=FOLDER,
            remedy="put a folder in its place",
        )
    plain = re.sub(r"[^\w-]+", "_", column)[:40]
    names = (f"{plain}{end}.csv" for end in ("", *(f"-{n}" for n in range(2, 1_000))))
    return f"{FOLDER}/{next(name for name in names if not (folder / name).exists())}"
