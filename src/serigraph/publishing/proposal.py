"""A first policy for a table: what the columns seem to be, with the reasons beside each key."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass

import polars as pl

from serigraph.policy import Policy, Reading
from serigraph.tables.cells import read_text
from serigraph.tables.column_guesses import ColumnGuess, masked_digits
from serigraph.tables.roles import Roles, guess_roles
from serigraph.tables.values import read_values

_NAMED = 10
_FORMS = {
    "single": "one row a person, one value a row",
    "rows": "people have several rows, which are merged to one set of values",
    "list": "one row a person, with a list of values",
    "delimited": "one row a person, with values separated by the delimiter",
}


@dataclass(frozen=True)
class Proposal:
    """The text of a policy, the files it refers to by relative path, and what to look at."""

    policy_text: str
    files: dict[str, bytes]
    notes: tuple[str, ...]


def propose_policy(
    table: pl.DataFrame, source: str, *, person: str = "", sensitive: str = ""
) -> Proposal:
    """A policy that fits the table, made from guesses that the publisher should check.

    ``source`` names the table in the text. ``person`` and ``sensitive`` name the columns of the id
    and of the sensitive values where the guess would be wrong. Raises ``TableError`` where a role
    finds no column.
    """
    roles = guess_roles(table, person=person, sensitive=sensitive)
    paths = _taxonomy_paths(roles)
    head = [*_head(source), *_person(roles), *_quasi_identifiers(roles, paths), *_sensitive(roles)]
    tail = [*_plan(), *_rest(roles)]
    plain = Policy.model_validate(tomllib.loads("\n".join([*head, *tail])))
    common, notes = _too_common(table, plain)
    return Proposal(
        policy_text="\n".join([*head, *_protected(common), *tail]),
        files={
            path: masked_digits(read_text(table[name], Reading(null_values=roles.missing_texts))[0])
            for name, path in paths.items()
        },
        notes=(*roles.notes, *notes),
    )


def _head(source: str) -> list[str]:
    return [
        f"# A policy proposed from {_one_line(source)}. Check it before the first release:",
        "# what the promise depends on cannot be changed afterwards.",
        "version = 1",
        "",
    ]


def _person(roles: Roles) -> list[str]:
    return [
        "[person]",
        f"id = {_quoted(roles.person)}  # the same for a person in every release; never published",
        f'type = "{roles.person_type}"  # of the ids: "integer" or "text"',
        "",
    ]


def _quasi_identifiers(roles: Roles, paths: dict[str, str]) -> list[str]:
    lines = [
        "# Columns that an outsider may know of a person. Columns that this file does not name",
        '# are not published. kind: "numeric", "date" or "categorical".',
    ]
    for name, guess in roles.quasi_identifiers.items():
        lines += [f"[quasi_identifiers.{_key(name)}]", f'kind = "{guess.kind}"{_reason(guess)}']
        if name in paths:
            lines += [
                f"taxonomy = {_quoted(paths[name])}  # digits masked from the right; edit at will",
                'new_values = "branch"  # new values get a branch of their own; or "error"',
            ]
        lines.append("")
    return lines


def _reason(guess: ColumnGuess) -> str:
    if guess.is_digit_code:
        return "  # a code of digits, which is no quantity"
    return "  # a taxonomy may be added: one line a leaf, leaf;...;root" * (
        guess.kind == "categorical"
    )


def _sensitive(roles: Roles) -> list[str]:
    lines = [
        "[sensitive]",
        f"column = {_quoted(roles.sensitive)}",
        f'form = "{roles.form}"  # {_FORMS[roles.form]}; or single, rows, list, delimited',
    ]
    if roles.delimiter:
        lines.append(f"delimiter = {_quoted(roles.delimiter)}")
    return [*lines, 'missing = "no value"  # an empty cell; or "error": refuse it', ""]


def _protected(common: list[str]) -> list[str]:
    lines = [
        "[protected]",
        'values = "all"  # or a list; or instead of it: file = "protected.txt", except = [...],',
        '                # rarest = "10%"',
    ]
    if common:
        names = ", ".join(map(_quoted, common[:_NAMED]))
        lines += [
            "# Held by too many people for the plan below, unless there is a registry:",
            f"# except = [{names}]" + (" # and more" if len(common) > _NAMED else ""),
        ]
    return [
        *lines,
        "# A class is protected as a value of its own, and may have a threshold of its own:",
        "# [protected.classes]",
        '# "any of them" = ["one value", "another value"]',
        "# [protected.thresholds]",
        '# "any of them" = "1/10"',
        "",
    ]


def _plan() -> list[str]:
    return [
        "[guarantee]",
        'threshold = "1/2"  # the largest probability of a link, over all releases; exact text',
        'adversary = "presence unknown"  # or "presence known": outsiders know who is in the table',
        "minimum_group_size = 1  # for everybody, also far from protected values; may rise later",
        "",
        "[strategy]",
        'name = "constant"  # or "geometric" (factor), or "schedule" (link_chances)',
        "releases = 20  # that the budget is planned for; fewer releases allow smaller groups",
        "replan = true  # use in later releases what earlier ones left over",
        "",
    ]


def _rest(roles: Roles) -> list[str]:
    lines = [
        "[output]",
        'form = "generalised"  # or "bucketised": two tables, linked by groups',
        'method = "top-down"  # or "bottom-up"',
        'files = ["parquet", "csv"]',
        "",
        "[missing]",
        'quasi_identifiers = "value"  # missing is a value of its own; or "error": refuse it',
        "",
    ]
    reading = []
    if roles.missing_texts:
        names = ", ".join(map(_quoted, roles.missing_texts))
        reading.append(f"null_values = [{names}]  # texts that stand for a missing cell")
    if roles.date_format:
        reading.append(f"date_format = {_quoted(roles.date_format)}")
    if reading:
        lines += ["[reading]", *reading, ""]
    return [*lines, *_publisher()]


def _publisher() -> list[str]:
    return [
        "# Told in every report and certificate, which are public; may change at any time.",
        "# [publisher]",
        '# name = "General Hospital"',
        '# contact = "data-protection@hospital.example"',
        '# recipients = "researchers who signed the terms of use"',
        '# re_evaluation = "before every release, and every January"',
        '# incidents = "are reported to the contact; the next release then waits"',
        "# [publisher.roles]",
        '# "controller" = "General Hospital"',
        '# "data-protection officer" = "Jo Doe"',
        "",
    ]


def _too_common(table: pl.DataFrame, policy: Policy) -> tuple[list[str], list[str]]:
    """The values, commonest first, that more people hold than the plan allows, and a note."""
    values, _ = read_values(table[policy.sensitive.column], policy)
    people = table[policy.person.id].n_unique()
    held = (
        values.with_columns(person=table[policy.person.id].gather(values["row"]))
        .group_by("value")
        .agg(pl.col("person").n_unique().alias("people"))
        .sort("people", "value", descending=[True, False])
    )
    target = policy.strategy_for().preview(policy.threshold, 1)[0]
    common = held.filter(pl.col("people") * target > people)
    if common.is_empty():
        return [], []
    share = common["people"][0] / people
    return common["value"].to_list(), [
        f"{common.height} of {held.height} values are held by more people than the plan allows "
        f"({1 / target:.1%} of them; the commonest value has {share:.1%}): plan fewer releases, "
        "add a registry, or leave common values unprotected (except in [protected])"
    ]


def _taxonomy_paths(roles: Roles) -> dict[str, str]:
    paths: dict[str, str] = {}
    for name, guess in roles.quasi_identifiers.items():
        if guess.is_digit_code:
            plain = re.sub(r"[^\w-]+", "_", name)
            taken = set(paths.values())
            path = f"taxonomies/{plain}.csv"
            paths[name] = path if path not in taken else f"taxonomies/{plain}_{len(paths)}.csv"
    return paths


def _quoted(text: str) -> str:
    """The text as a TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)
