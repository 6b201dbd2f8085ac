"""Reads a policy file, reporting every problem at once with its line, and checks what may change
once a release is out.

The standard library's TOML parser does not give the lines of keys.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails

from serigraph.errors import PolicyChanged, PolicyError
from serigraph.policy.model import Policy, PolicyForm
from serigraph.policy.sections import DEFAULT, UNSTATED, Place
from serigraph.policy.several import ONE, SEVERAL, number_of_columns
from serigraph.texts import composed

_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_KEY = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER = re.compile(rf"\s*\[\s*({_KEY})\s*\]\s*(?:#.*)?$")
_ENTRY = re.compile(rf"\s*({_KEY})\s*=")
_PARTS = re.compile(_PART)
_FORM = re.compile(r"constrained-\w+|(?:literal|tuple|list|function-\w+)\[.*\]")  # Pydantic's names


class KeyLines:
    """The lines of all headers and keys of a TOML text, counted from 1.

    >>> lines = KeyLines("version = 1\\n[person]\\nid = 'patient'\\n")
    >>> lines.of(("person", "id")), lines.of(("person", "name")), lines.of(("output",))
    (3, 2, 0)
    """

    def __init__(self, text: str) -> None:
        self._lines: dict[tuple[str, ...], int] = {}
        section: tuple[str, ...] = ()
        for number, line in enumerate(text.splitlines(), 1):
            header, entry = _HEADER.match(line), _ENTRY.match(line)
            if header:
                section = _parts(header[1])
                self._note(section, number)
            elif entry:
                self._note((*section, *_parts(entry[1])), number)

    def of(self, place: Sequence[str | int]) -> int:
        """The line of a key, or of the nearest table around it, or 0.

        Parts of the place that the text does not have are skipped: positions in a list, and the
        names that the checker gives to alternatives.
        """
        known: tuple[str, ...] = ()
        for part in place:
            if (*known, str(part)) in self._lines:
                known = (*known, str(part))
        return self._lines.get(known, 0)

    def has(self, place: Sequence[str]) -> bool:
        """Whether the text has exactly this key or table."""
        return tuple(place) in self._lines

    def _note(self, place: tuple[str, ...], number: int) -> None:
        for depth in range(1, len(place) + 1):
            self._lines.setdefault(place[:depth], number)


def _parts(key: str) -> tuple[str, ...]:
    return tuple(
        part[1:-1].replace('\\"', '"').replace("\\\\", "\\") if part[0] in "\"'" else part
        for part in _PARTS.findall(key)
    )


def read_policy(path: str | Path) -> Policy:
    """The policy in the file at ``path``; paths in it are relative to the file's folder."""
    path = Path(path)
    return parse_policy(_text_of(path, "the policy file"), str(path), path.parent)


def digest_of_policy(path: str | Path) -> str:
    """The SHA-256 of everything that the policy in this file and the files that it names say,
    comments and the order of keys aside."""
    policy = read_policy(path)
    named = [column.taxonomy for column in policy.quasi_identifiers.values()]
    files = {
        name: hashlib.sha256((policy.folder / name).read_bytes()).hexdigest()
        for name in (*named, policy.protected.file)
        if name is not None
    }
    given = tomllib.loads(_text_of(Path(path), "the policy file"))
    text = json.dumps([given, files], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def parse_policy(text: str, where: str, folder: str | Path) -> Policy:
    """The policy that ``text`` spells. ``where`` names it in errors, ``folder`` holds its files.

    Raises ``PolicyError`` with all problems, each with its line.
    """
    folder = Path(folder)
    try:
        given = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers of thousands of digits
        raise PolicyError(
            f"the policy is not valid TOML: {error}", where=where, remedy="correct this line"
        ) from None
    lines = KeyLines(text)
    problems: list[tuple[int, str]] = []
    try:
        PolicyForm.model_validate(given)
    except ValidationError as error:
        problems = _all_described(error.errors(), lines)
    listed, missing_files = _referred_files(given, folder, lines)
    problems += missing_files
    if problems:
        raise PolicyError(
            f"the policy has {len(problems)} problem{'s' if len(problems) > 1 else ''}",
            where=where,
            remedy="correct these lines of the policy file",
            problems=[
                f"line {line}: {message}" if line else message for line, message in sorted(problems)
            ],
        )
    return Policy(**given, folder=folder, listed_in_file=listed.pop("", ()), listed_in_files=listed)


def _all_described(errors: list[ErrorDetails], lines: KeyLines) -> list[tuple[int, str]]:
    """The line of each problem, and what is wrong. A key that may hold one of several things has
    one problem, not one for each of them."""
    described: list[tuple[int, str]] = []
    forms: dict[tuple[int | str, ...], list[tuple[int, str]]] = {}
    for each in errors:
        place = _of_key(each["loc"])
        of_key = forms.setdefault(place, []) if place != each["loc"] else described
        of_key.append(_described({**each, "loc": place}, lines))
    for (line, message), *others in forms.values():
        also = [text.partition(": ")[2].removeprefix("must be ") for _, text in others]
        described.append((line, ", or ".join(dict.fromkeys((message, *also)))))
    return described


def _of_key(place: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """The place of a key, without the names that the checker gives to forms of its value."""
    return tuple(takewhile(lambda part: not _FORM.fullmatch(str(part)), place))


def _described(error: ErrorDetails, lines: KeyLines) -> tuple[int, str]:
    place = error["loc"]
    line = lines.of(place)
    key = ".".join(_written(place, lines))
    message = error["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    message = message.replace("a valid tuple", "a list")
    match error["type"]:
        case "extra_forbidden":
            unknown = str(place[-1])
            known = _known_keys(place)
            near = difflib.get_close_matches(unknown, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(known)}"
            return line, f"unknown key {unknown!r}; {hint} ({key})"
        case "missing":
            is_section = len(place) == 1 and place[0] != "version"
            if not is_section:
                return line, f"the key {place[-1]!r} is missing ({key})"
            known = _known_keys((*place, ""))
            has = f"; it may have {', '.join(known)}" if known else ""
            return line, f"the section [{place[0]}] is missing{has}"
        case "union_tag_not_found":
            message = "the key 'name' is missing: adaptive, constant, geometric or schedule"
        case "union_tag_invalid":
            message = "name must be adaptive, constant, geometric or schedule"
    return line, f"{key}: {message}"


def _written(place: tuple[int | str, ...], lines: KeyLines) -> list[str]:
    """The place without what is not in the text: the names of alternatives, all but the key."""
    known: list[str] = []
    for number, part in enumerate(place):
        is_key = isinstance(part, str) and (number == len(place) - 1 or number == 0)
        if lines.has([*known, str(part)]) or is_key:
            known.append(str(part))
    return known


class _KeysOnly(GenerateJsonSchema):
    """Keys without their defaults: JSON has no fractions."""

    def encode_default(self, dft: object) -> object:
        return str(dft)


def _known_keys(place: tuple[int | str, ...]) -> list[str]:
    """The keys that the model at this place has."""
    schema = PolicyForm.model_json_schema(by_alias=True, schema_generator=_KeysOnly)
    here: Mapping[str, Any] = schema
    for part in place[:-1]:
        here = _resolved(here, schema)
        branches = here.get("discriminator", {}).get("mapping", {})
        if part in branches:
            here = {"$ref": branches[part]}
        elif part in (ONE, SEVERAL):
            here = here["oneOf"][(ONE, SEVERAL).index(part)]
        else:
            here = here.get("properties", {}).get(part) or here.get("additionalProperties", {})
    here = here.get("oneOf", [here])[0]
    return list(_resolved(here, schema).get("properties", {}))


def _resolved(here: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    name = here.get("$ref", "").removeprefix("#/$defs/")
    found: Mapping[str, Any] = schema["$defs"][name] if name else here
    return found


def _referred_files(
    given: Mapping[str, Any], folder: Path, lines: KeyLines
) -> tuple[dict[str, tuple[str, ...]], list[tuple[int, str]]]:
    """The protected values that files list, by sensitive column, or by an empty name if there is
    one, and what is wrong with any file referred to."""
    problems = _missing_taxonomies(given, folder, lines)
    sensitive = given.get("sensitive")
    sections: dict[str, tuple[Place, Any]] = {"": (("protected",), given.get("protected"))}
    if number_of_columns(sensitive) == SEVERAL:
        sections = {
            name: (("sensitive", name, "protected"), section.get("protected"))
            for name, section in given["sensitive"].items()
        }
    listed: dict[str, tuple[str, ...]] = {}
    for name, (place, protected) in sections.items():
        file = protected.get("file") if isinstance(protected, dict) else None
        if not isinstance(file, str):
            continue
        try:
            text = _text_of(folder / file, "the file")
            lines_of_file = composed(pl.Series(text.splitlines(), dtype=pl.String))
            listed[name] = tuple(line for line in lines_of_file if line)
            wrong = "" if listed[name] else f"the file {file!r} lists no values"
        except PolicyError as error:
            wrong = f"{file!r}: {error.what}"
        if wrong:
            key = (*place, "file")
            problems.append((lines.of(key), f"{'.'.join(key)}: {wrong}"))
    return listed, problems


def _missing_taxonomies(
    given: Mapping[str, Any], folder: Path, lines: KeyLines
) -> list[tuple[int, str]]:
    problems: list[tuple[int, str]] = []
    columns = given.get("quasi_identifiers")
    for name, column in columns.items() if isinstance(columns, dict) else ():
        taxonomy = column.get("taxonomy") if isinstance(column, dict) else None
        if isinstance(taxonomy, str) and not (folder / taxonomy).is_file():
            place = ("quasi_identifiers", name, "taxonomy")
            problems.append((lines.of(place), f"{'.'.join(place)}: there is no file {taxonomy!r}"))
    return problems


def _text_of(path: Path, what: str) -> str:
    try:
        if path.exists() and not path.is_file():  # a device may have no end
            raise IsADirectoryError(0, "not a file")
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        wrong, remedy = "does not exist", "check the path"
    except UnicodeDecodeError:
        wrong, remedy = "is not UTF-8", "save it as UTF-8"
    except OSError as error:
        wrong, remedy = f"cannot be read ({error.strerror})", "give a readable file"
    raise PolicyError(f"{what} {wrong}", where=str(path), remedy=remedy)


_SHOWN = 5
_MAY_RISE = ("guarantee", "minimum_group_size")
_MAY_BECOME_BLIND = ("guarantee", "cuts")
_PERSISTENCE = ("protected", "persistence")
_PLAIN = ("plain",)  # recorded, and no part of the promise
# Alternative keys: if one is not in the text, the other is.
_ALSO_WRITTEN: Mapping[Place, Place] = {
    ("protected", "values"): ("protected", "file"),
    ("guarantee", "threshold"): ("guarantee", "l"),
}


def check_unchanged(published: Mapping[str, object], now: Policy, text: str, where: str) -> None:
    """Refuse a policy that differs from ``published`` where the promise depends on it.

    ``published`` is what ``Policy.frozen`` gave at the first release, as it was or read back from
    JSON; ``text`` is the policy file of ``now``. Strategy, output, reading, plain columns and the
    taxonomies may change, the minimum group size may rise, cuts may become blind, and the
    persistence of a value may become "any". Raises ``PolicyChanged`` with every change, its line,
    and what it was and is.
    """
    before, after = _with_persistence(published, now.frozen())
    lines = KeyLines(text)
    changes = []
    for place in sorted(before.keys() | after.keys()):
        was, is_now = before.get(place), after.get(place)
        if was == is_now or (place == _MAY_RISE and _rose(was, is_now)):
            continue
        if (place[:2] == _PERSISTENCE and is_now == "any") or place[:1] == _PLAIN:
            continue
        if place == _MAY_BECOME_BLIND and is_now == "blind":
            continue
        line = _line(place, lines)
        changes.append(
            (f"line {line}, " if line else "") + f"{'.'.join(place)} {_difference(was, is_now)}"
        )
    if changes:
        raise PolicyChanged(
            "the policy was changed in a way that the promise of earlier releases does not allow: "
            + "; ".join(changes),
            where=where,
            remedy="undo the change, or start a new series",
        )


def _leaves(frozen: Mapping[str, object], above: Place = ()) -> Iterator[tuple[Place, object]]:
    for key, value in frozen.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*above, key))
        else:
            yield (*above, key), value


def _with_persistence(
    published: Mapping[str, object], now: Mapping[str, object]
) -> tuple[dict[Place, object], dict[Place, object]]:
    """The leaves of both, each with the persistence of every value that one of them names."""
    leaves = [dict(_leaves(each)) for each in (published, now)]
    named = {place for each in leaves for place in each if place[:2] == _PERSISTENCE}
    for each in leaves:
        default = each.get((*_PERSISTENCE, DEFAULT), UNSTATED)
        for place in named:
            each.setdefault(place, default)
    return leaves[0], leaves[1]


def _rose(was: object, is_now: object) -> bool:
    return isinstance(was, int) and isinstance(is_now, int) and is_now >= was


def _line(place: Place, lines: KeyLines) -> int:
    if place[:2] == ("protected", "columns"):
        return _line(("sensitive", place[2], "protected", *place[3:]), lines)
    also = None if lines.has(place) else _ALSO_WRITTEN.get(place[-2:])
    return lines.of(place if also is None else (*place[:-2], *also))


def _difference(was: object, is_now: object) -> str:
    if isinstance(was, list) and isinstance(is_now, list):
        parts = [
            f"{verb} {_shown(names)}"
            for verb, names in (
                ("lost", [name for name in was if name not in is_now]),
                ("gained", [name for name in is_now if name not in was]),
            )
            if names
        ]
        return " and ".join(parts)
    return f"was {_spelt(was)}, is {_spelt(is_now)}"


def _spelt(value: object) -> str:
    if value is None:
        return "absent"
    return _shown(value) if isinstance(value, list) else repr(value)


def _shown(names: list[object]) -> str:
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
