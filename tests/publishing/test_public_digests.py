"""What is hashed and published does not tell a right guess about the table from a wrong one."""

from __future__ import annotations

import hashlib
import itertools
import json
import sqlite3
from contextlib import closing
from dataclasses import astuple
from pathlib import Path

import numpy as np
import polars as pl

import serigraph
from publishing.clinic import new_series
from serigraph.ledger import ReleaseRecord, Series
from serigraph.policy import read_policy
from serigraph.tables import prepare, read_table

PEOPLE = 24
POLICY = """
version = 1
[person]
id = "id"
[quasi_identifiers.age]
kind = "numeric"
[sensitive]
column = "diagnosis"
[protected]
values = ["hiv"]
[guarantee]
threshold = "1/2"
[strategy]
name = "constant"
releases = 5
[output]
form = "bucketised"
"""


def table_of(holders: set[int]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": range(PEOPLE),
            "age": [20 + person for person in range(PEOPLE)],
            "diagnosis": ["hiv" if person in holders else "none" for person in range(PEOPLE)],
        }
    )


def published(folder: Path, seed: int = 7) -> tuple[Series, list[set[int]]]:
    series = new_series(folder, POLICY)
    draw = np.random.default_rng(seed)
    truth = []
    for number in range(3):
        holders = set(draw.choice(PEOPLE, 2, replace=False).tolist())
        serigraph.publish(table_of(holders), series, label=f"r{number + 1}")
        truth.append(holders)
    return series, truth


def possible_tables(folder: Path) -> list[set[int]]:
    """Every set of holders that agrees with the public files of a release."""
    people = pl.read_parquet(folder / "quasi_identifiers.parquet")
    held = pl.read_parquet(folder / "sensitive.parquet").filter(value="hiv")
    choices = [
        itertools.combinations((people.filter(group=group)["age"].cast(int) - 20).to_list(), count)
        for group, count in held.select("group", "count").iter_rows()
    ]
    return [set(itertools.chain(*each)) for each in itertools.product(*choices)]


def link(previous: str, record: ReleaseRecord, table_digest: str, *salt: str) -> str:
    """The chain after a release, as somebody would compute it who knows all columns."""
    columns = dict(zip(record.__slots__, astuple(record), strict=True)) | {
        "table_digest": table_digest,
        "parts": json.dumps({file.name: file.sha256 for file in record.parts}),
        "files": json.dumps({file.name: file.sha256 for file in record.files}),
    }
    sealed = [columns[name] for name in record.__slots__ if name not in ("salt", "chain", "state")]
    text = json.dumps([previous, *sealed, *salt], separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def worlds_that_match(series: Series, worlds: list[set[int]], *salt: str) -> list[set[int]]:
    """Those of some tables with which the second of three releases gives the chain that the third
    one publishes: to an adversary who knows everything but who holds what, and perhaps a salt."""
    before, after = (
        json.loads((series.path / "releases" / label / "certificate.json").read_text())["follows"]
        for label in ("r2", "r3")
    )
    policy = read_policy(series.path / "policy.toml")

    def digest(holders: set[int]) -> str:
        rows = read_table(table_of(holders), policy.reading)
        return prepare(rows, policy, None, None).population.digest

    record = series.releases()[1]
    return [each for each in worlds if link(before, record, digest(each), *salt) == after]


def test_the_chain_tells_no_table_from_another(tmp_path: Path) -> None:
    series, truth = published(tmp_path / "clinic")
    worlds = possible_tables(series.path / "releases" / "r2")
    assert truth[1] in worlds
    assert len(worlds) >= 28
    salts = [release.salt for release in series.releases()]
    for salt in ((), ("",), (salts[0],), (salts[2],)):
        assert worlds_that_match(series, worlds, *salt) == []
    # With the salt, the attack works: it is the salt that stops it.
    assert worlds_that_match(series, worlds, salts[1]) == [truth[1]]


def test_salts_are_random_and_in_no_public_file(tmp_path: Path) -> None:
    series, truth = published(tmp_path / "clinic")
    digests = {record.table_digest for record in series.releases()}
    salts = {record.salt for record in series.releases()}
    assert len(salts) == len(truth)
    assert all(len(salt) == 64 for salt in salts)
    series.export(tmp_path / "export")
    for folder in (series.path / "releases", tmp_path / "export"):
        for path in folder.rglob("*"):
            content = path.read_bytes() if path.is_file() else b""
            assert not any(secret.encode() in content for secret in digests | salts)
    assert not any(salt in repr(series.releases()) for salt in salts)


def test_a_series_of_version_0_1_goes_on_with_salt(tmp_path: Path) -> None:
    series, _ = published(tmp_path / "clinic")
    _as_version_0_1_wrote_it(series)
    old = series.releases()
    assert [record.salt for record in old] == [""] * 3
    serigraph.publish(table_of({1, 2}), series, label="r4")
    releases = series.releases()
    assert [record.chain for record in releases[:3]] == [record.chain for record in old]
    assert len(releases[3].salt) == 64
    series.check()


def _as_version_0_1_wrote_it(series: Series) -> None:
    with closing(sqlite3.connect(series.path / "catalog.sqlite")) as catalog:
        (identity,) = catalog.execute("SELECT identity FROM series").fetchone()
        chain = hashlib.sha256(f"serigraph series {identity}".encode()).hexdigest()
        for record in series.releases():
            chain = link(chain, record, record.table_digest)
            catalog.execute("UPDATE release SET chain = ? WHERE number = ?", (chain, record.number))
        catalog.execute("ALTER TABLE release DROP COLUMN salt")
        catalog.execute("UPDATE series SET format = 1")
        catalog.commit()
