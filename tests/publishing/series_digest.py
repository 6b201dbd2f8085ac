"""What a series looks like on disk, to see that nothing of it changed."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

CATALOG = "catalog.sqlite"


def digest_of_series(path: Path) -> dict[str, str]:
    """Every folder and file with its digest; of the catalog, its rows.

    SQLite counts the locks that were taken in the file itself, so its bytes may change while
    nothing that it holds does.
    """
    found = {}
    for each in sorted(path.rglob("*")):
        name = each.relative_to(path).as_posix()
        if each.is_dir():
            found[name] = "folder"
        elif name == CATALOG:
            found[name] = _rows(each)
        elif not name.startswith(CATALOG):
            found[name] = hashlib.sha256(each.read_bytes()).hexdigest()
    return found


def _rows(path: Path) -> str:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        tables = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
        ).fetchall()
        rows = [
            (name, connection.execute(f'SELECT * FROM "{name}" ORDER BY 1').fetchall())
            for (name,) in tables
        ]
    finally:
        connection.close()
    return hashlib.sha256(repr(rows).encode()).hexdigest()
