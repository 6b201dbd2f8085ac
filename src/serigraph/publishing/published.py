"""What came of publishing a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from serigraph.ledger import ReleaseRecord
from serigraph.publishing.worst_pairs import pair_of
from serigraph.recoding import as_text
from serigraph.short_repr import ShortRepr
from serigraph.tables.value_list import ValueList

STAGES = (
    "reading",
    "preparing",
    "recalling",
    "ordering",
    "forming groups",
    "verifying",
    "recoding",
    "writing",
    "committing",
)


@dataclass(frozen=True, repr=False)
class Published(ShortRepr):
    """What became of a table: the release, where its files are, and what they hold."""

    record: ReleaseRecord
    folder: Path
    tables: Mapping[str, pl.DataFrame]
    notes: tuple[str, ...]
    value_list: ValueList  # the policy's values beside those of the table

    @property
    def figures(self) -> dict[str, Any]:
        figures: dict[str, Any] = self.record.summary
        return figures

    def _facts(self) -> dict[str, object]:
        return {
            "release": f"{self.record.number}, {self.record.label}",
            "people": self.figures["present"],
            "groups": self.figures["groups"],
            "probability at worst": pair_of(self.figures["worst_in_release"]),
            "over the series": pair_of(self.figures["worst_in_series"]),
            "tables": ", ".join(self.tables),
            "notes": len(self.notes),
            "folder": self.folder,
        }


class TablesInMemory(Mapping[str, pl.DataFrame]):
    """The tables of a release, with text where they still have numbers for texts."""

    def __init__(self, tables: Mapping[str, pl.DataFrame]) -> None:
        self._tables = tables

    def __getitem__(self, name: str) -> pl.DataFrame:
        return as_text(self._tables[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


class TablesOnDisk(Mapping[str, pl.DataFrame]):
    """The tables of a release that may be larger than memory: each is read when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self._paths = {
            path.name.removesuffix(ending): path
            for ending in (".csv", ".parquet")  # Parquet wins
            for path in sorted(folder.glob(f"*{ending}"))
        }

    def __getitem__(self, name: str) -> pl.DataFrame:
        path = self._paths[name]
        parts = sorted(path.iterdir()) if path.is_dir() else [path]
        if path.suffix == ".parquet":
            return pl.concat([pl.read_parquet(part, glob=False) for part in parts])
        return pl.concat([pl.read_csv(part, glob=False, infer_schema=False) for part in parts])

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)
