"""Which series there are, and where new ones may be made: below the folders named at the start,
and nowhere else."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from serigraph.errors import InputRefused, SeriesNotFound

_CATALOG = "catalog.sqlite"
_NAME = re.compile(r"\w[\w .+-]{0,79}")


@dataclass(frozen=True)
class Place:
    """A series: ``key`` stands for it in addresses."""

    key: str
    name: str
    path: Path


class Places:
    """The folders named at the start, and the series in them."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.roots = tuple(dict.fromkeys(each.resolve() for each in folders))

    def all(self) -> tuple[Place, ...]:
        """Every series: a root that is one, and the children of a root that are."""
        near = (each for root in self.roots for each in (root, *_children(root)))
        return tuple(_place(path) for path in dict.fromkeys(filter(self._is_series, near)))

    def get(self, key: str) -> Place:
        """The series of this key; ``SeriesNotFound`` if there is none below the roots."""
        for each in self.all():
            if each.key == key:
                return each
        raise SeriesNotFound(
            "there is no such series in the folders that the server was started with",
            remedy="choose one from the list of series, or start the server with its folder",
        )

    def new(self, root: int, name: str) -> Path:
        """The path of a new series; ``InputRefused`` unless the name is one of a folder."""
        if not _NAME.fullmatch(name) or name != name.strip(" ."):
            raise InputRefused(
                "this cannot be the name of a series",
                remedy="use letters, digits, spaces, and . + - _, at most 80 of them; begin with "
                "a letter or a digit",
            )
        if not 0 <= root < len(self.roots):
            raise InputRefused("there is no such folder", remedy="choose one from the list")
        return self.roots[root] / name

    def _is_series(self, path: Path) -> bool:
        """A link may lead out of the folders; what is there is not shown."""
        real = path.resolve()
        return (real / _CATALOG).is_file() and any(real.is_relative_to(root) for root in self.roots)


def _children(root: Path) -> list[Path]:
    try:
        return sorted(each for each in root.iterdir() if not each.name.startswith("."))
    except OSError:
        return []


def _place(path: Path) -> Place:
    slug = re.sub(r"[^a-z0-9]+", "-", path.name.lower()).strip("-") or "series"
    return Place(f"{slug}-{hashlib.sha256(str(path).encode()).hexdigest()[:6]}", path.name, path)
