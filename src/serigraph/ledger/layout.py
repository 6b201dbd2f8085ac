"""The layout of a series' folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

CATALOG = "catalog.sqlite"
RESERVED = (
    CATALOG,
    f"{CATALOG}-journal",
    "certificates",
    "drafts",
    "ledger",
    "releases",
    "staging",
)
UNCOMMITTED = "UNCOMMITTED"


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of one series; ``root`` is its folder."""

    root: Path

    @property
    def catalog(self) -> Path:
        return self.root / CATALOG

    @property
    def ledger(self) -> Path:
        return self.root / "ledger"

    @property
    def releases(self) -> Path:
        return self.root / "releases"

    @property
    def staging(self) -> Path:
        return self.root / "staging"

    @property
    def drafts(self) -> Path:
        """What was verified and not committed; made with the first draft."""
        return self.root / "drafts"

    @property
    def certificates(self) -> Path:
        """Every certificate issued for the series as a whole."""
        return self.root / "certificates"

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders that files are moved between."""
        always = (self.ledger, self.releases, self.staging)
        return (*always, self.drafts) if os.path.lexists(self.drafts) else always

    def parts(self, number: int) -> Path:
        """The folder of one release's parts of the ledger."""
        return self.ledger / f"{number:04d}"

    def marker(self, number: int) -> Path:
        """The file that marks the parts beside it as possibly never committed."""
        return self.parts(number) / UNCOMMITTED

    def staged(self, number: int) -> Path:
        """The public files of a release that is not published yet."""
        return self.staging / f"{number:04d}"

    def attempts(self, number: int) -> Path:
        """What several machines write for a release before it is known which files count."""
        return self.staging / f"{number:04d}-attempts"

    def published(self, label: str) -> Path:
        """The public files of a published release."""
        return self.releases / label

    def name_of(self, path: Path) -> str:
        """The path as error messages show it: relative to the series."""
        return path.relative_to(self.root).as_posix()


def published_names(folder: Path) -> tuple[str, ...]:
    """The tables of a release: one, or two that groups link; none if one is missing."""
    for names in (("table",), ("quasi_identifiers", "sensitive")):
        if all(_candidates(folder, name) for name in names):
            return names
    return ()


def published_path(folder: Path, name: str) -> Path:
    """A published table, a file or a folder of files: Parquet if there is one."""
    return _candidates(folder, name)[0]


def _candidates(folder: Path, name: str) -> list[Path]:
    return [path for path in (folder / f"{name}.parquet", folder / f"{name}.csv") if path.exists()]
