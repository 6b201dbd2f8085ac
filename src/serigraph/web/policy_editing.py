"""A policy on its screen: the roles and protected values that its text gives, the edits that change
them, what is locked, and the difference from what is in force."""

from __future__ import annotations

import difflib
import hashlib
import os
import secrets
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from serigraph.errors import InputRefused, PolicyError, SeriesDiverged, SerigraphError
from serigraph.ledger import Series, storage_errors
from serigraph.ledger.storage import sync, write_durably
from serigraph.policy import Policy, check_unchanged, parse_policy
from serigraph.policy.sections import Protected
from serigraph.publishing.toml_text import key as toml_key
from serigraph.texts import qualifier, unqualified
from serigraph.web.forms import Form
from serigraph.web.policy_text import Place, PolicyText
from serigraph.web.worker import told_of

ID, QUASI, SENSITIVE = "id", "quasi-identifier", "sensitive"
PLAIN, DROP = "publish as is", "drop"
ROLES = (ID, QUASI, SENSITIVE, PLAIN, DROP)
KINDS = ("numeric", "date", "categorical")
ADVERSARIES = ("presence unknown", "presence known")
PERSISTENCE = ("transient", "permanent", "any")
_GUARANTEE = ("guarantee",)
_PROTECTED = ("protected",)


@dataclass(frozen=True)
class Screen:
    """What the screen shows of one text."""

    text: str
    policy: Policy | None  # None if the text is not valid
    problem: Mapping[str, Any] | None
    columns: tuple[Mapping[str, Any], ...]
    difference: tuple[tuple[str, str], ...]  # kind of line, line
    is_frozen: bool
    least_size: int  # of a group, that releases allow
    digest: str  # of the text in force, so that nobody overwrites what another tab has saved

    def is_picked(self, name: str) -> bool:
        """Whether the text protects a value, as the list of values names it."""
        if self.policy is None:
            return False
        column, value = unqualified(name) if self.policy.has_several_columns else ("", name)
        chosen = self.policy.of_column(column).protected
        return value not in chosen.excepted and (chosen.values == "all" or value in chosen.values)


def screen(
    text: str,
    folder: Path,
    *,
    before: str,
    frozen: Mapping[str, Any] | None = None,
    known: Sequence[Mapping[str, Any]] = (),
    reasons: Mapping[str, tuple[str, str]] | None = None,
) -> Screen:
    """The screen for a text; ``before`` is what is in force, ``known`` what is known of columns,
    ``reasons`` the roles that were proposed for them, and why."""
    policy, problem = None, None
    try:
        policy = parse_policy(text, "the policy", folder)
        if frozen is not None:
            check_unchanged(frozen, policy, text, "the policy")
    except SerigraphError as error:
        problem = told_of(error)
    return Screen(
        text=text,
        policy=policy,
        problem=problem,
        columns=tuple(_columns(policy, known, reasons)),
        difference=tuple(_difference(before, text)),
        is_frozen=frozen is not None,
        least_size=_least_size(frozen),
        digest=digest_of(before),
    )


def _least_size(frozen: Mapping[str, Any] | None) -> int:
    return int(frozen["guarantee"]["minimum_group_size"]) if frozen else 1


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def frozen_of(path: Path) -> Mapping[str, Any] | None:
    """What releases have frozen of a series' policy; None before the first."""
    releases = Series.open(path).releases()
    frozen: Mapping[str, Any] | None = releases[-1].policy if releases else None
    return frozen


def _columns(
    policy: Policy | None,
    known: Sequence[Mapping[str, Any]],
    reasons: Mapping[str, tuple[str, str]] | None,
) -> list[Mapping[str, Any]]:
    if policy is None:
        return []
    facts = {each["name"]: each for each in known}
    names = list(
        dict.fromkeys(
            [
                *facts,
                policy.person.id,
                *policy.quasi_identifiers,
                *policy.sensitive_columns,
                *policy.plain,
            ]
        )
    )
    found: list[Mapping[str, Any]] = []
    for name in names:
        section = policy.quasi_identifiers.get(name)
        fact, role = facts.get(name, {}), role_of(policy, name)
        proposed, why = (reasons or {}).get(name, (role, ""))
        found.append(
            {
                "name": name,
                "role": role,
                "kind": section.kind if section else fact.get("kind", ""),
                "taxonomy": section.taxonomy if section else None,
                "fact": fact,
                "why": why if role == proposed else f"you chose this, in place of {proposed}",
            }
        )
    return found


def role_of(policy: Policy, column: str) -> str:
    """What a policy makes of a column."""
    if column == policy.person.id:
        return ID
    if column in policy.sensitive_columns:
        return SENSITIVE
    if column in policy.plain:
        return PLAIN
    return QUASI if column in policy.quasi_identifiers else DROP


def _difference(before: str, after: str) -> list[tuple[str, str]]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
    kinds = {"+": "added", "-": "removed", "@": "place"}
    return [(kinds.get(line[:1], "same"), line) for line in list(lines)[2:]]


def edited(form: Form, folder: Path, known: Sequence[Mapping[str, Any]]) -> str:
    """The text of a form after the change of one control, which the field ``changed`` names.

    Unchanged if the text itself was changed, or is not valid: then the controls lag behind it.
    """
    text, changed = form.text("policy"), form.text("changed")
    try:
        policy = parse_policy(text, "the policy", folder)
    except PolicyError:
        return text
    edit = PolicyText(text)
    facts = {each["name"]: each for each in known}
    control, _, name = changed.partition(":")
    new = form.text(changed).strip()
    if control == "role" and new in ROLES and new != role_of(policy, name):
        _set_role(edit, policy, name, new, facts.get(name, {}))
    elif control == "kind" and new in KINDS and name in policy.quasi_identifiers:
        edit.set(("quasi_identifiers", name), {"kind": new, **_TREES[new == "categorical"]})
    elif control in ("pick", "all"):
        _set_protected(edit, policy, form)
    elif control == "persistence" and new in PERSISTENCE:
        for place in _places_of_persistence(policy):
            edit.set(place, {"default": new})
    else:
        _set_guarantee(edit, control, new)
    return str(edit)


# What else a column loses with its kind: only a categorical one can have a taxonomy.
_TREES: Mapping[bool, Mapping[str, object]] = {
    True: {},
    False: {"taxonomy": None, "new_values": None},
}


def _of_column(name: str) -> Place:
    """The section on what is protected in one of several columns."""
    return ("sensitive", name, *_PROTECTED)


def _places_of_persistence(policy: Policy) -> list[Place]:
    """Where a policy says what is assumed of values over time."""
    several = [_of_column(name) for name in policy.sensitive_columns]
    sections = several if policy.has_several_columns else [_PROTECTED]
    return [(*each, "persistence") for each in sections]


def _set_role(
    edit: PolicyText, policy: Policy, name: str, role: str, fact: Mapping[str, Any]
) -> None:
    if role != QUASI and name in policy.quasi_identifiers:
        edit.without("quasi_identifiers", name)
    if role != PLAIN and name in policy.plain:
        edit.set(("plain",), {toml_key(name): None})
    if role == ID:
        edit.set(("person",), {"id": name, "type": None})
    elif role == SENSITIVE and policy.has_several_columns:
        edit.add(("sensitive", name), [])
        if over_time := policy.stated_persistence.get("default"):
            edit.set((*_of_column(name), "persistence"), {"default": over_time})
    elif role == SENSITIVE:
        edit.set(("sensitive",), {"column": name, "form": "single", "delimiter": None})
    elif role == PLAIN:
        kind = fact.get("kind")
        edit.set(("plain",), {toml_key(name): kind if kind in ("numeric", "date") else "text"})
    elif role == QUASI:
        kind = fact.get("kind")
        edit.add(
            ("quasi_identifiers", name),
            [f'kind = "{kind if kind in KINDS else "categorical"}"'],
        )


def _set_guarantee(edit: PolicyText, control: str, new: str) -> None:
    if control == "threshold" and new:
        edit.set(_GUARANTEE, {"threshold": new, "l": None})
    elif control == "adversary" and new in ADVERSARIES:
        edit.set(_GUARANTEE, {"adversary": new})
    elif control == "minimum_group_size" and new.isascii() and new.isdigit():
        edit.set(_GUARANTEE, {"minimum_group_size": int(new[:9])})
    elif control == "approvals" and new.isascii() and new.isdigit():
        edit.set(("signing",), {"approvals": int(new[:9]) or None})


def _set_protected(edit: PolicyText, policy: Policy, form: Form) -> None:
    """Values are picked from the list of the table: those that are not picked are excepted, or the
    picked ones are named, as the text does it already."""
    shown, picked = form.texts("shown"), set(form.texts("pick"))
    if not policy.has_several_columns:
        _protect(edit, _PROTECTED, policy.protected, shown, picked)
        return
    for column in policy.sensitive_columns:
        lead = qualifier(column)
        of_column = [name.removeprefix(lead) for name in shown if name.startswith(lead)]
        chosen = {name.removeprefix(lead) for name in picked if name.startswith(lead)}
        _protect(edit, _of_column(column), policy.of_column(column).protected, of_column, chosen)


def _protect(
    edit: PolicyText, place: Place, chosen: Protected, shown: Sequence[str], picked: Set[str]
) -> None:
    if chosen.file is not None or chosen.rarest is not None:
        return
    if chosen.values == "all":
        left = [name for name in chosen.excepted if name not in shown]
        excepted = sorted({*left, *(name for name in shown if name not in picked)})
        if excepted != sorted(chosen.excepted):
            edit.set(place, {"except": excepted or None})
        return
    named = [name for name in chosen.values if name not in shown]
    values = sorted({*named, *picked})
    if values != sorted(chosen.values) and values:
        edit.set(place, {"values": values})


def save(path: Path, text: str, digest: str) -> None:
    """Put a text in force. Refused if it is not valid, if it changes what is frozen, or if the file
    is not what the page was made from (``SeriesDiverged``)."""
    file = path / "policy.toml"
    if digest_of(file.read_text(encoding="utf-8-sig")) != digest:
        raise SeriesDiverged(
            "the policy was changed in the meantime, perhaps in another tab",
            where="policy.toml",
            remedy="copy your changes, reload the page, and make them again",
        )
    policy = parse_policy(text, "policy.toml", path)
    frozen = frozen_of(path)
    if frozen is not None:
        check_unchanged(frozen, policy, text, "policy.toml")
    replace_durably(file, text.encode())


def replace_durably(file: Path, content: bytes) -> None:
    """Write a file; whatever happens, it has the old content or the new one."""
    unfinished = file.parent / f".{file.name}.{secrets.token_hex(4)}"
    with storage_errors(file.parent):
        try:
            write_durably(unfinished, content)
            os.replace(unfinished, file)
            sync(file.parent)
        finally:
            unfinished.unlink(missing_ok=True)


def refuse_invalid(text: str, folder: Path) -> Policy:
    """The policy of a text; ``InputRefused`` if there is none."""
    if not text.strip():
        raise InputRefused("the policy is empty", remedy="propose one from a table")
    return parse_policy(text, "the policy", folder)
