"""One release as the catalog records it: the draft that comes in, the record that is kept."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import polars as pl

from serigraph.errors import ImpossibleState, InputRefused
from serigraph.ledger.storage import FileDigest
from serigraph.policy import Persistence, persistence_of
from serigraph.records import Exposure
from serigraph.short_repr import ShortRepr, Undisclosed
from serigraph.texts import in_one_form

IdType = Literal["integer", "text"]
State = Literal["committed", "published"]

PRESENCE_KNOWN = "presence known"
PRESENCE_UNKNOWN = "presence unknown"

AGAIN = "+"  # a catalog holds a digest once: that of a table published again has a number behind it

_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9_-])?")
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def check_label(label: str) -> None:
    """Refuse a label that is not a safe folder name on every system.

    >>> check_label("2024-H1")
    """
    if not _LABEL.fullmatch(label) or _DEVICES.fullmatch(label):
        raise InputRefused(
            f"the label {label!r} cannot be the name of a folder",
            remedy="use up to 100 letters (a-z), digits, '.', '_' and '-', "
            "beginning with a letter or digit",
        )


def as_json(value: object) -> str:
    """The only way a value is written as JSON, so that equal values have equal digests."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ImpossibleState("a draft holds something that JSON cannot express") from error


@dataclass(frozen=True, slots=True)
class ReleaseDraft:
    """What the publisher says about a release; the ledger adds the rest when it commits.

    ``policy``, ``protected`` and ``summary`` must be JSON-able, and hold nothing about a person.
    """

    label: str
    published_at: datetime  # with a time zone
    table_digest: str
    policy: Mapping[str, Any]
    protected: Any
    threshold: str  # exact, such as "1/3"
    strategy: str
    adversary: str
    summary: Mapping[str, Any]

    def __post_init__(self) -> None:
        check_label(self.label)
        if self.published_at.tzinfo is None:
            raise ImpossibleState("the time of a release needs a time zone")
        if self.adversary not in (PRESENCE_KNOWN, PRESENCE_UNKNOWN):
            raise ImpossibleState("the adversary of a release is neither of the two known ones")

    @property
    def published_at_utc(self) -> str:
        return self.published_at.astimezone(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A complete part that lies elsewhere, and its name in the ledger."""

    name: str
    path: Path
    sha256: str


@dataclass(frozen=True, repr=False)
class WrittenParts(Undisclosed):
    """The parts of a release whose pieces were verified one by one."""

    files: tuple[WrittenFile, ...]
    ids: pl.Series  # empty: only its type matters
    newcomers: int
    members: int
    groups: int


@dataclass(frozen=True, slots=True, repr=False)
class ReleaseRecord(ShortRepr):
    """One row of the catalog. Numbers run from 1 without gaps."""

    number: int
    label: str
    published_at: str  # ISO 8601, UTC
    id_type: IdType
    table_digest: str
    policy_json: str
    protected_json: str
    threshold: str
    strategy: str
    adversary: str
    summary_json: str
    newcomers: int  # people who were never members before
    members: int
    groups: int
    parts: tuple[FileDigest, ...]
    files: tuple[FileDigest, ...]  # the public ones
    salt: str = field(repr=False)  # random and secret; empty in releases of version 0.1
    chain: str  # digest over the previous release's chain and everything above
    state: State

    @property
    def policy(self) -> Any:
        """The frozen part of the policy, values normalised as tables are. Not to be changed: other
        releases with the same policy share it."""
        return _policy_of(self.policy_json)

    @property
    def protected(self) -> Any:
        return _in_one_form(json.loads(self.protected_json))

    @property
    def summary(self) -> Any:
        return json.loads(self.summary_json)

    def is_of(self, table_digest: str) -> bool:
        """Whether this was published of the table with this digest."""
        return self.table_digest.partition(AGAIN)[0] == table_digest

    @property
    def is_presence_known(self) -> bool:
        """Whether the adversary knows who in a group has a record in the release."""
        return self.adversary == PRESENCE_KNOWN

    @property
    def sensitive_columns(self) -> dict[str, str]:
        """The form of each sensitive column, by its name."""
        sensitive = self.policy.get("sensitive", {})
        if isinstance(sensitive.get("column"), str):
            return {sensitive["column"]: sensitive["form"]}
        return {name: each["form"] for name, each in sensitive.items()}

    @property
    def has_several_columns(self) -> bool:
        """Whether values have qualified names, as they do in several sensitive columns."""
        return len(self.sensitive_columns) > 1

    @property
    def shows_records(self) -> bool:
        """Whether a record has several columns, sensitive or plain."""
        return self.has_several_columns or bool(self.policy.get("plain"))

    @property
    def hides_presence(self) -> bool:
        """Whether nobody knows who of a larger registry has a record in the release."""
        return not self.is_presence_known and bool(self.summary.get("has_registry"))

    @property
    def known_members(self) -> int:
        """How many other members of every group the adversary knows not to hold its values."""
        return int(self.policy.get("guarantee", {}).get("known_members", 0))

    def persistence_of(self, names: Iterable[str]) -> tuple[Persistence, ...]:
        """What the promise of the release assumes of protected values and classes over time."""
        stated = self.policy.get("protected", {}).get("persistence", {})
        return tuple(persistence_of(name, stated) for name in names)

    @property
    def has_persisting_values(self) -> bool:
        """Whether the promise must hold for some values however they change over time."""
        stated = self.policy.get("protected", {}).get("persistence", {})
        return any(each != "transient" for each in stated.values())

    @property
    def is_published(self) -> bool:
        """Whether the public files are in place; if not, the next command moves them."""
        return self.state == "published"

    def tables(self, folder: Path) -> dict[str, list[Path]]:
        """The public tables in the folder of the release with the files of each, as Parquet if
        available; empty if a file is missing. Other files in the folder are ignored."""
        found: dict[str, list[Path]] = {}
        for ending in (".csv", ".parquet"):
            of_kind: dict[str, list[Path]] = {}
            for file in self.files:
                first = file.name.partition("/")[0]  # a table may be a folder of files
                if first.endswith(ending):
                    of_kind.setdefault(first.removesuffix(ending), []).append(folder / file.name)
            found |= of_kind
        is_whole = all(path.is_file() for paths in found.values() for path in paths)
        return found if is_whole else {}

    def _facts(self) -> dict[str, object]:
        return {
            "release": f"{self.number}, {self.label}",
            "published at": self.published_at,
            "members": self.members,
            "groups": self.groups,
            "threshold": self.threshold,
            "strategy": self.strategy,
            "chain": self.chain,
        }


def unsealed(
    draft: ReleaseDraft,
    number: int,
    *,
    parts: tuple[FileDigest, ...],
    files: tuple[FileDigest, ...],
    id_type: IdType,
    newcomers: int,
    members: int,
    groups: int,
) -> ReleaseRecord:
    """The row of a draft in the catalog, but for its salt and its chain."""
    return ReleaseRecord(
        number=number,
        label=draft.label,
        published_at=draft.published_at_utc,
        id_type=id_type,
        table_digest=draft.table_digest,
        policy_json=as_json(dict(draft.policy)),
        protected_json=as_json(draft.protected),
        threshold=draft.threshold,
        strategy=draft.strategy,
        adversary=draft.adversary,
        summary_json=as_json(dict(draft.summary)),
        newcomers=newcomers,
        members=members,
        groups=groups,
        parts=parts,
        files=files,
        salt="",
        chain="",
        state="committed",
    )


@dataclass(frozen=True, slots=True)
class PastExposure:
    """One past group that held a person and a value, with its release."""

    release: int
    label: str
    size: int  # n_j: the group as the release's adversary sees it
    count: int  # n_{j,s}
    present: bool  # whether the person had a record in the release
    known_members: int = 0  # c: of the group, whom the adversary knows not to hold the value
    excluded: int = 0  # E: of the group, who cannot hold the value beside one that persists

    @property
    def exposure(self) -> Exposure:
        left = self.size - self.excluded - self.known_members
        return Exposure(max(left, self.count), self.count)


def chain_start(identity: str) -> str:
    """The start of a series' chain."""
    return hashlib.sha256(f"serigraph series {identity}".encode()).hexdigest()


def chain_link(previous: str, columns: Sequence[str | int]) -> str:
    """The digest that ties a release, column by column as stored, to all releases before it.

    It is published. One of the columns is a secret salt, so that somebody who knows or guesses the
    others cannot test the guess. Columns of a type that was never stored do not fail here: they
    give a different digest.
    """
    text = json.dumps([previous, *columns], separators=(",", ":"), default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


@lru_cache(maxsize=8)  # the releases of a series hardly differ in it, and many of them are read
def _policy_of(policy_json: str) -> Any:
    policy = json.loads(policy_json)
    if "protected" in policy:
        policy["protected"] = _in_one_form(policy["protected"])
    return policy


def _in_one_form(stored: Any) -> Any:
    """What an older version stored, with the names of values normalised as today."""
    if isinstance(stored, dict):
        return {in_one_form(key): _in_one_form(value) for key, value in stored.items()}
    if isinstance(stored, list):
        forms = [_in_one_form(each) for each in stored]
        return stored if forms == stored else sorted(set(forms))
    return in_one_form(stored) if isinstance(stored, str) else stored
