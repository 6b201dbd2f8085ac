"""Drafts: releases that were verified and written, and are not committed.

A draft is a folder of its own below ``drafts``: the public files and the parts of the ledger as a
commit would take them, what only the publisher may see, and a manifest with the digest of every
file. The end of its name is the beginning of the manifest's digest, so that a name stands for the
bytes that were seen under it. A draft appears by one move of a folder that is already on disk, and
goes by another.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from serigraph.arguments import text
from serigraph.errors import (
    DraftNotFound,
    DraftRefused,
    InputRefused,
    NotInPlace,
    SerigraphError,
)
from serigraph.ledger.catalog import Catalog
from serigraph.ledger.encoding import EncodedParts
from serigraph.ledger.layout import Layout
from serigraph.ledger.parts import id_type_of
from serigraph.ledger.release import (
    IdType,
    ReleaseDraft,
    ReleaseRecord,
    WrittenFile,
    WrittenParts,
    as_json,
    unsealed,
)
from serigraph.ledger.storage import (
    FileDigest,
    digest_of,
    digest_tree,
    ensure_folder,
    make_folder,
    make_private,
    move_durably,
    new_file,
    storage_errors,
    sync,
    sync_tree,
    write_durably,
)
from serigraph.short_repr import Undisclosed

if TYPE_CHECKING:
    from serigraph.ledger.writer import Writer

MANIFEST = "draft.json"
PUBLIC, PARTS, APPROVALS = "public", "parts", "approvals"
_FORMAT = 1
_NAMED = 16  # digits of the digest in the name
_CHUNK = 1 << 20
_TYPES = {
    **dict.fromkeys(("follows", "policy_digest", "table_digest", "threshold", "strategy"), str),
    **dict.fromkeys(("number", "newcomers", "members", "groups"), int),
    **dict.fromkeys(("policy", "protected", "summary", "about", "parts", "files", "beside"), dict),
}
_AGAIN = "discard it with 'serigraph drafts SERIES discard NAME', and draft the table again"


@dataclass(frozen=True, repr=False)
class KeptDraft(Undisclosed):
    """What the manifest of a draft says; nothing in it is to be believed before it is checked."""

    folder: Path
    digest: str  # of the manifest
    follows: str  # the end of the chain that the release would continue
    number: int
    policy_digest: str  # of the policy as it was
    entry: ReleaseDraft
    id_type: IdType
    newcomers: int
    members: int
    groups: int
    parts: tuple[FileDigest, ...]
    files: tuple[FileDigest, ...]  # the public ones
    beside: tuple[FileDigest, ...]  # for the publisher alone
    about: Mapping[str, Any]  # for the publisher alone

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def public(self) -> Path:
        """The folder of the files that the public would get."""
        return self.folder / PUBLIC

    @property
    def approvals(self) -> Path:
        """The folder of the approvals; it may be missing."""
        return self.folder / APPROVALS

    def release_in(self, releases: tuple[ReleaseRecord, ...]) -> ReleaseRecord | None:
        """The release that this draft has become, if it is out."""
        files = set(self.files)
        return next((each for each in releases if files <= set(each.files)), None)


def keep_draft(
    writer: Writer,
    parts: EncodedParts,
    entry: ReleaseDraft,
    *,
    policy_digest: str,
    beside: Mapping[str, bytes],
    about: Mapping[str, Any],
) -> KeptDraft:
    """Make a draft of the public files that lie in the writer's staging folder, and of the parts
    that would be committed with them; it is there as a whole, or not at all."""
    writer.ensure_new(entry.label, entry.table_digest, parts.ids)
    layout = writer.ledger.layout
    folder = layout.staging / f"draft-{secrets.token_hex(8)}"
    with storage_errors(folder):
        make_folder(folder)
        make_private(writer.staging)  # the caller's documents may have any mode
        move_durably([(writer.staging, folder / PUBLIC)])
        make_folder(folder / PARTS)
        for name, content in parts.contents.items():
            write_durably(folder / PARTS / name, content)
        for name, content in beside.items():
            write_durably(folder / name, content)
        manifest = {
            "format": _FORMAT,
            "nonce": secrets.token_hex(32),  # nobody who knows the rest can test a guess by it
            "follows": writer.head,
            "number": len(writer.releases) + 1,
            "policy_digest": policy_digest,
            "label": entry.label,
            "published_at": entry.published_at_utc,
            "table_digest": entry.table_digest,
            "policy": dict(entry.policy),
            "protected": entry.protected,
            "threshold": entry.threshold,
            "strategy": entry.strategy,
            "adversary": entry.adversary,
            "summary": dict(entry.summary),
            "id_type": id_type_of(parts.ids),
            "newcomers": parts.newcomers,
            "members": parts.members,
            "groups": parts.groups,
            "parts": _as_map(parts.digests),
            "files": _as_map(digest_tree(folder / PUBLIC)),
            "beside": {name: digest_of(content) for name, content in beside.items()},
            "about": dict(about),
        }
        text = as_json(manifest).encode()
        write_durably(folder / MANIFEST, text)
        sync_tree(folder)
        ensure_folder(layout.drafts)
        sync(layout.root)
        place = layout.drafts / _name(entry.label, digest_of(text))
        try:
            move_durably([(folder, place)])
        except OSError as error:
            if not place.is_dir():
                raise
            raise NotInPlace(
                "the draft is made, but the disk did not confirm it",
                where=str(place),
                remedy="see to the disk, and look at the draft with 'serigraph drafts SERIES show "
                "NAME' before you rely on it",
            ) from error
    return read_draft(place)


def drafts_of(layout: Layout) -> tuple[KeptDraft, ...]:
    """All drafts, by name."""
    with storage_errors(layout.drafts):
        return tuple(read_draft(folder) for folder in draft_folders(layout))


def head_of(layout: Layout) -> str:
    """What the next release would continue: see ``Writer.head``."""
    with Catalog.opened(layout.catalog) as catalog:
        releases = catalog.releases()
        return releases[-1].chain if releases else catalog.start()


def draft_folders(layout: Layout) -> list[Path]:
    """The folders of drafts: those that have the manifest that belongs to their name."""
    if not layout.drafts.is_dir():
        return []
    return sorted(path for path in layout.drafts.iterdir() if _is_named_rightly(path))


def find_draft(layout: Layout, name: str) -> KeptDraft:
    """The draft with this name, or with a name that begins like this if there is only one.

    ``DraftNotFound`` if there is none, ``InputRefused`` if there are several, ``DraftRefused`` if
    its manifest was changed.
    """
    name = text(name, "name")
    with storage_errors(layout.drafts):
        folder = layout.drafts / name
        if name and Path(name).name == name and folder.is_dir() and not folder.is_symlink():
            return read_draft(folder)
        found = [path for path in draft_folders(layout) if name and path.name.startswith(name)]
        if len(found) > 1:
            raise InputRefused(
                "the names of several drafts begin like this",
                where=str(layout.drafts),
                remedy="give the whole name",
                problems=[path.name for path in found],
            )
        if not found:
            raise DraftNotFound(
                "there is no draft of this name",
                where=str(layout.root),
                remedy="'serigraph drafts SERIES' lists those that there are",
            )
        return read_draft(found[0])


def read_draft(folder: Path) -> KeptDraft:
    """What the manifest says; ``DraftRefused`` if it is not the one that the name stands for."""
    if not _is_named_rightly(folder):
        raise changed(folder, MANIFEST)
    content = (folder / MANIFEST).read_bytes()
    try:
        return _draft(folder, digest_of(content), json.loads(content))
    except (KeyError, ValueError, TypeError, AttributeError, SerigraphError):
        raise changed(folder, MANIFEST) from None


def _draft(folder: Path, digest: str, known: Mapping[str, Any]) -> KeptDraft:
    if any(not isinstance(known[name], kind) for name, kind in _TYPES.items()):
        raise TypeError("the manifest is not one of a draft")
    return KeptDraft(
        folder=folder,
        digest=digest,
        follows=known["follows"],
        number=known["number"],
        policy_digest=known["policy_digest"],
        entry=ReleaseDraft(
            label=known["label"],
            published_at=datetime.fromisoformat(known["published_at"]),
            table_digest=known["table_digest"],
            policy=known["policy"],
            protected=known["protected"],
            threshold=known["threshold"],
            strategy=known["strategy"],
            adversary=known["adversary"],
            summary=known["summary"],
        ),
        id_type=known["id_type"],
        newcomers=known["newcomers"],
        members=known["members"],
        groups=known["groups"],
        parts=_as_digests(known["parts"]),
        files=_as_digests(known["files"]),
        beside=_as_digests(known["beside"]),
        about=known["about"],
    )


@contextmanager
def beside_releases(
    layout: Layout, draft: KeptDraft, releases: tuple[ReleaseRecord, ...]
) -> Iterator[tuple[Layout, tuple[ReleaseRecord, ...]]]:
    """The parts and public files of a series as if a draft were its last release; only to be read.

    Nothing is copied. ``DraftRefused`` if the draft was changed, or does not follow the releases.
    """
    if draft.number != len(releases) + 1:
        raise outdated(draft, "the series is not at the release that the draft was made to follow")
    check_complete(draft)
    record = unsealed(
        draft.entry,
        draft.number,
        parts=draft.parts,
        files=draft.files,
        id_type=draft.id_type,
        newcomers=draft.newcomers,
        members=draft.members,
        groups=draft.groups,
    )
    with tempfile.TemporaryDirectory() as folder:
        seen = Layout(Path(folder))
        for each in (seen.ledger, seen.releases):
            each.mkdir()
        for release in releases:
            seen.parts(release.number).symlink_to(layout.parts(release.number).absolute())
            seen.published(release.label).symlink_to(layout.published(release.label).absolute())
        seen.parts(record.number).symlink_to((draft.folder / PARTS).absolute())
        seen.published(record.label).symlink_to(draft.public.absolute())
        yield seen, (*releases, record)


def check_complete(draft: KeptDraft) -> None:
    """Refuse a draft with a file that is missing, was changed or was added, except approvals."""
    expected = {
        **{f"{PUBLIC}/{file.name}": file.sha256 for file in draft.files},
        **{f"{PARTS}/{file.name}": file.sha256 for file in draft.parts},
        **{file.name: file.sha256 for file in draft.beside},
        MANIFEST: draft.digest,
    }
    with storage_errors(draft.folder):
        if any(path.is_symlink() for path in draft.folder.rglob("*")):
            raise changed(draft.folder, "a link")
        found = {
            file.name: file.sha256
            for file in digest_tree(draft.folder)
            if not file.name.startswith(f"{APPROVALS}/")
        }
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            raise changed(draft.folder, name)


def bring_back(writer: Writer, draft: KeptDraft) -> WrittenParts:
    """Copy the public files of a draft to where the writer expects them, and its parts beside
    them; what is copied is compared with the manifest byte by byte."""
    writer.ensure_new(draft.entry.label, draft.entry.table_digest, _no_ids(draft))
    with storage_errors(writer.staging):
        for file in draft.files:
            _copy(draft, PUBLIC, file, writer.staging)
        make_folder(writer.attempts)
        for file in draft.parts:
            _copy(draft, PARTS, file, writer.attempts)
        sync(writer.attempts)
    return WrittenParts(
        files=tuple(
            WrittenFile(file.name, writer.attempts / file.name, file.sha256) for file in draft.parts
        ),
        ids=_no_ids(draft),
        newcomers=draft.newcomers,
        members=draft.members,
        groups=draft.groups,
    )


def remove_draft(layout: Layout, draft: KeptDraft) -> None:
    """Let a draft go as a whole. It is swept from ``staging`` under the lock of the series, by this
    process or the next one."""
    with storage_errors(draft.folder):
        move_durably([(draft.folder, layout.staging / f"swept-{secrets.token_hex(8)}")])


def remove_published(layout: Layout, releases: tuple[ReleaseRecord, ...]) -> None:
    """Let the drafts go that have become releases: a process was killed before it did."""
    for folder in draft_folders(layout):
        with suppress(DraftRefused):
            draft = read_draft(folder)
            if draft.release_in(releases) is not None:
                remove_draft(layout, draft)


def changed(folder: Path, name: str) -> DraftRefused:
    """The refusal of a draft of which something is not what it was."""
    return DraftRefused(
        "the draft was changed after it was made",
        where=f"drafts/{folder.name}/{name}",
        remedy=_AGAIN,
    )


def outdated(draft: KeptDraft, what: str) -> DraftRefused:
    """The refusal of a draft whose surroundings are not what they were."""
    return DraftRefused(what, where=f"drafts/{draft.name}", remedy=_AGAIN)


def _copy(draft: KeptDraft, kind: str, file: FileDigest, to: Path) -> None:
    source, target = draft.folder / kind / file.name, to / file.name
    if not target.resolve().is_relative_to(to.resolve()):
        raise changed(draft.folder, MANIFEST)
    ensure_folder(target.parent)
    found = hashlib.sha256()
    with open(source, "rb") as reading, new_file(target) as writing:
        while piece := reading.read(_CHUNK):
            found.update(piece)
            writing.write(piece)
        writing.flush()
        os.fsync(writing.fileno())
    if found.hexdigest() != file.sha256:
        raise changed(draft.folder, f"{kind}/{file.name}")


def _is_named_rightly(folder: Path) -> bool:
    manifest = folder / MANIFEST
    if folder.is_symlink() or not manifest.is_file():
        return False
    content = manifest.read_bytes()
    try:
        label = json.loads(content)["label"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
    return folder.name == _name(str(label), digest_of(content))


def _name(label: str, digest: str) -> str:
    return f"{label}-{digest[:_NAMED]}"


def _no_ids(draft: KeptDraft) -> pl.Series:
    return pl.Series(dtype=pl.Int64 if draft.id_type == "integer" else pl.String)


def _as_map(digests: tuple[FileDigest, ...]) -> dict[str, str]:
    return {file.name: file.sha256 for file in digests}


def _as_digests(known: Mapping[str, str]) -> tuple[FileDigest, ...]:
    return tuple(FileDigest(name, sha256) for name, sha256 in sorted(known.items()))
