"""Series to draft releases of: both forms, registry or none, values that pass or stay."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from publishing.clinic import clinic, new_series, policy_text
from serigraph.ledger import Series
from serigraph.reporting import Draft

STAYS = '[protected.persistence]\ndefault = "any"'


@dataclass(frozen=True)
class Kind:
    """One kind of series."""

    form: str = "generalised"
    has_registry: bool = True
    persists: bool = False
    rest: str = ""

    def policy(self, more: str = "") -> str:
        excepted = 'except = ["flu", "fracture", "gout", "migraine"]'
        return policy_text(
            output=f'form = "{self.form}"',
            protected=f"{excepted}\n{STAYS}" if self.persists else excepted,
            rest=f"{self.rest}\n{more}",
        )


KINDS = {
    "generalised": Kind(),
    "bucketised": Kind("bucketised"),
    "without a registry": Kind(has_registry=False),
    "values stay": Kind("bucketised", persists=True),
    "values stay, without a registry": Kind(has_registry=False, persists=True),
}


@dataclass(frozen=True)
class Hospital:
    """A series and the tables of its releases."""

    series: Series
    tables: tuple[pl.DataFrame, ...]
    registry: pl.DataFrame | None

    @property
    def options(self) -> dict[str, Any]:
        return {} if self.registry is None else {"registry": self.registry}


def hospital(folder: Path, kind: Kind, *, more: str = "", seed: int = 12) -> Hospital:
    """A new series with tables for three releases."""
    made = clinic(releases=3, people=120, registered=300, seed=seed, protected_share=0.08)
    series = new_series(folder / "clinic", kind.policy(more))
    return Hospital(series, made.tables, made.registry if kind.has_registry else None)


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def forged(draft: Draft, change: Callable[[Path], None], **known: Any) -> str:
    """Change a draft and make all its digests and its name fit; returns the new name. ``known`` are
    other entries of its manifest."""
    change(draft.folder)
    manifest = json.loads((draft.folder / "draft.json").read_bytes()) | known
    for kind in ("public", "parts"):
        digests = {
            name: hashlib.sha256(content).hexdigest()
            for name, content in bytes_of(draft.folder / kind).items()
        }
        manifest["files" if kind == "public" else kind] = digests
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode()
    (draft.folder / "draft.json").write_bytes(text)
    name = f"{manifest['label']}-{hashlib.sha256(text).hexdigest()[:16]}"
    draft.folder.rename(draft.folder.with_name(name))
    return name


def rewrite(path: Path, table: pl.DataFrame) -> None:
    """Put another table in the place of a part."""
    path.unlink()
    table.write_parquet(path)
