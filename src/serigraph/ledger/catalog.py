"""The catalog: a small SQLite file; committing one row to it makes a release exist.

Nothing else in the program may open this file: closing any other handle on it would drop the
locks that SQLite holds for this process.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from serigraph.errors import (
    ImpossibleState,
    LedgerDamaged,
    SeriesBusy,
    SeriesError,
    SerigraphError,
    StorageError,
)
from serigraph.ledger.layout import CATALOG
from serigraph.ledger.release import ReleaseRecord, chain_link, chain_start
from serigraph.ledger.storage import FileDigest, new_file

FORMAT = 2
_WITHOUT_SALT = 1  # the format of version 0.1, which can be read and continued

_SCHEMA = """
CREATE TABLE series (
    format INTEGER NOT NULL,
    identity TEXT NOT NULL
);
CREATE TABLE release (
    number INTEGER PRIMARY KEY,
    label TEXT NOT NULL UNIQUE COLLATE NOCASE,
    published_at TEXT NOT NULL,
    id_type TEXT NOT NULL CHECK (id_type IN ('integer', 'text')),
    table_digest TEXT NOT NULL UNIQUE,
    policy_json TEXT NOT NULL,
    protected_json TEXT NOT NULL,
    threshold TEXT NOT NULL,
    strategy TEXT NOT NULL,
    adversary TEXT NOT NULL,
    summary_json TEXT NOT NULL,
    newcomers INTEGER NOT NULL,
    members INTEGER NOT NULL,
    groups INTEGER NOT NULL,
    parts TEXT NOT NULL,
    files TEXT NOT NULL,
    salt TEXT NOT NULL DEFAULT '',
    chain TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('committed', 'published'))
);
"""

_COLUMNS = tuple(field.name for field in fields(ReleaseRecord))
_SALT, _UNSEALED = "salt", 2  # the chain and the state come last, behind the salt

# A commit waits for readers, and readers for a commit; both take milliseconds.
_PATIENCE = 60.0

_STORAGE_CODES = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_NOLFS,
}


class Catalog:
    """One connection to a catalog; use it as ``with Catalog.opened(path) as catalog``."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @staticmethod
    def create(path: Path, identity: str) -> None:
        """Make the catalog of a new series; ``identity`` is random and begins its chain."""
        new_file(path).close()  # SQLite keeps its mode, and uses it for the journal
        with _sqlite_errors(), closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.executescript(f"BEGIN; {_SCHEMA}")
            connection.execute("INSERT INTO series VALUES (?, ?)", (FORMAT, identity))
            connection.execute("COMMIT")

    @staticmethod
    @contextmanager
    def opened(path: Path) -> Iterator[Catalog]:
        """A connection that is closed, its open transaction rolled back, when the block ends."""
        with _sqlite_errors():
            # mode=rw creates nothing, and falls back to reading if writing is not allowed.
            connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=rw",
                uri=True,
                isolation_level=None,
                timeout=_PATIENCE,
            )
        with closing(connection):
            catalog = Catalog(connection)
            # EXTRA also syncs the folder after the journal is deleted. With FULL a power cut could
            # bring the journal back and undo a commit whose release is public already.
            catalog._run("PRAGMA synchronous = EXTRA")
            yield catalog

    def lock(self, wait: float) -> None:
        """Become the one writer, waiting up to ``wait`` seconds; ``SeriesBusy`` if that fails.

        The lock lasts until ``commit`` or until the connection is closed, and the operating
        system drops it when the process dies.
        """
        deadline = time.monotonic() + wait
        self._run("PRAGMA busy_timeout = 0")
        while True:
            try:
                self._run("BEGIN IMMEDIATE")
                break
            except SeriesBusy:
                if not time.monotonic() < deadline:  # also if it is NaN
                    raise
            time.sleep(0.02)
        self._run(f"PRAGMA busy_timeout = {int(_PATIENCE * 1000)}")

    def commit(self) -> None:
        self._run("COMMIT")

    def has_kept(self, record: ReleaseRecord) -> bool:
        """Whether a release is there though its commit failed: SQLite's last step, making the end
        of its journal durable, can fail after the release is in."""
        with suppress(SerigraphError):
            self._run("ROLLBACK")
        return record.chain in {each.chain for each in self.releases()}

    def releases(self) -> tuple[ReleaseRecord, ...]:
        """All releases, after checking their numbers and their chain."""
        identity, has_salt = self._identity()
        columns = [name if has_salt or name != _SALT else "''" for name in _COLUMNS]
        rows = self._run(f"SELECT {', '.join(columns)} FROM release ORDER BY number")
        chain = chain_start(identity)
        records = []
        for number, row in enumerate(rows, 1):
            recorded_chain = row[-_UNSEALED]
            chain = chain_link(chain, _sealed(row))
            if row[0] != number or recorded_chain != chain:
                raise LedgerDamaged(
                    "the catalog was changed: its chain of digests is broken",
                    where=f"{CATALOG}, release {number}",
                    remedy="restore the whole series from a backup",
                )
            records.append(_record(row))
        return tuple(records)

    def start(self) -> str:
        """What the chain of the first release continues."""
        return chain_start(self._identity()[0])

    def unpublished(self) -> frozenset[int]:
        """The numbers of releases whose files are not in their place yet."""
        rows = self._run("SELECT number FROM release WHERE state <> 'published'")
        return frozenset(number for (number,) in rows)

    def append(self, record: ReleaseRecord, existing: tuple[ReleaseRecord, ...]) -> ReleaseRecord:
        """Add a release to the ``existing`` ones, read since the lock was taken; its salt and chain
        are made here, whatever the record has. A catalog of version 0.1 first gets a column for
        salts."""
        identity, has_salt = self._identity()
        if not has_salt:
            self._run("ALTER TABLE release ADD COLUMN salt TEXT NOT NULL DEFAULT ''")
            self._run("UPDATE series SET format = ?", (FORMAT,))
        previous = existing[-1].chain if existing else chain_start(identity)
        salted = replace(record, salt=secrets.token_hex(32))
        sealed = replace(salted, chain=chain_link(previous, _sealed(_row(salted))))
        marks = ", ".join("?" for _ in _COLUMNS)
        self._run(f"INSERT INTO release ({', '.join(_COLUMNS)}) VALUES ({marks})", _row(sealed))
        return sealed

    def mark_published(self, number: int) -> None:
        self._run("UPDATE release SET state = 'published' WHERE number = ?", (number,))

    def _identity(self) -> tuple[str, bool]:
        """What the chain begins with, and whether releases have a salt."""
        rows = self._run("SELECT format, identity FROM series")
        if len(rows) != 1:
            raise LedgerDamaged(
                "the catalog was changed: it does not say which series it belongs to",
                where=CATALOG,
                remedy="restore the whole series from a backup",
            )
        stored_format, identity = rows[0]
        if stored_format not in (_WITHOUT_SALT, FORMAT):
            raise SeriesError(
                f"the series has format {stored_format}, this version reads formats up to {FORMAT}",
                where=CATALOG,
                remedy="install the version of serigraph that wrote it, or a newer one",
            )
        return str(identity), stored_format == FORMAT

    def _run(self, statement: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with _sqlite_errors():
            return self._connection.execute(statement, values).fetchall()


def _sealed(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The columns that the chain covers; releases of version 0.1 have no salt among them."""
    *columns, salt = row[:-_UNSEALED]
    return (*columns, salt) if salt else tuple(columns)


def _record(row: tuple[Any, ...]) -> ReleaseRecord:
    columns = dict(zip(_COLUMNS, row, strict=True))
    for name in ("parts", "files"):
        digests = json.loads(columns[name]).items()
        columns[name] = tuple(FileDigest(file, sha256) for file, sha256 in digests)
    return ReleaseRecord(**columns)


def _row(record: ReleaseRecord) -> tuple[Any, ...]:
    digests = {
        name: json.dumps({file.name: file.sha256 for file in getattr(record, name)})
        for name in ("parts", "files")
    }
    return tuple(digests.get(name, getattr(record, name)) for name in _COLUMNS)


@contextmanager
def _sqlite_errors() -> Iterator[None]:
    """Turn SQLite's errors into ours; its messages hold no data, but are not passed on."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise SeriesBusy(
                "another process is publishing to this series",
                where=CATALOG,
                remedy="try again when it is done, or wait for it",
            ) from error
        if code in _STORAGE_CODES:
            raise StorageError(
                "the catalog cannot be read or written",
                where=CATALOG,
                remedy="check that the disk has space and the folder is writable",
            ) from error
        if code == sqlite3.SQLITE_CONSTRAINT:
            raise ImpossibleState("the catalog refused a row", where=CATALOG) from error
        raise LedgerDamaged(
            "the catalog is not a readable SQLite file",
            where=CATALOG,
            remedy="restore the whole series from a backup",
        ) from error
