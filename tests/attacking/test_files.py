"""No public file tells which member of a group holds a value: two people of a group change places,
and everything that is published stays the same, but for salts and digests."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import serigraph
from attacking.worlds import naive, policy
from serigraph.ledger import Series
from serigraph.runtime.randomness import SeededRandomness

AT = datetime(2026, 1, 1, tzinfo=UTC)
PEOPLE = 80
DIGEST = re.compile(r"[0-9a-f]{8,}")


def table(seed: int, holders: tuple[int, ...]) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    age, place = draw.integers(0, 60, PEOPLE), draw.integers(0, 60, PEOPLE)
    held = ["a" if person in holders else "flu" for person in range(PEOPLE)]
    return pl.DataFrame({"id": np.arange(PEOPLE), "age": age, "zip": place, "diagnosis": held})


def published(folder: Path, seed: int, holders: tuple[int, ...]) -> Path:
    """A second release, after one that is the same whoever holds in it."""
    folder.mkdir()
    text = policy(folder, minimum=4).read_text().replace('["csv"]', '["csv", "parquet"]')
    series = Series.create(folder / "series", {"policy.toml": text.encode()})
    for number, who in enumerate(((seed,), holders), 1):
        made = serigraph.publish(
            table(seed, who),
            series,
            label=f"r{number}",
            randomness=SeededRandomness(number),
            published_at=AT,
        )
    return made.folder


def groups_of(series: Path, out: Path) -> list[int]:
    serigraph.export(series, out)
    members = pl.read_parquet(out / "members.parquet").filter(pl.col("release") == 2)
    found: list[int] = members.sort(pl.col("person").cast(pl.Int64))["group"].to_list()
    return found


def seen_in(folder: Path) -> dict[str, object]:
    """What the files say, whatever the order of rows, which is drawn by lot."""
    found: dict[str, object] = {}
    for file in sorted(folder.iterdir()):
        if file.suffix == ".parquet":
            found[file.name] = pq.read_schema(file).metadata, _statistics(file)
        elif file.suffix == ".csv":
            found[file.name] = sorted(file.read_text().splitlines())
        elif file.suffix == ".json":
            certificate = json.loads(file.read_text())
            found[file.name] = {**certificate, "files": "", "follows": ""}
        else:
            found[file.name] = DIGEST.sub("", file.read_text())
    return found


def _statistics(file: Path) -> list[tuple[object, ...]]:
    parts = pq.read_metadata(file)
    columns = [
        parts.row_group(part).column(column)
        for part in range(parts.num_row_groups)
        for column in range(parts.num_columns)
    ]
    told = [
        (
            one.path_in_schema,
            one.num_values,
            one.encodings,
            one.compression,
            one.has_dictionary_page,
        )
        for one in columns
    ]
    return [
        (*facts, one.statistics and (one.statistics.min, one.statistics.max))
        for facts, one in zip(told, columns, strict=True)
    ]


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_two_who_change_places_change_no_file(seed: int, tmp_path: Path) -> None:
    """Generalised: the bucketised form deals people into groups by lot, which would fall anew."""
    one = published(tmp_path / "one", seed, (40, 60))
    group = groups_of(tmp_path / "one" / "series", tmp_path / "out")
    others = (each for each in range(PEOPLE) if group[each] == group[40] and each not in (40, 60))
    swapped = published(tmp_path / "two", seed, (next(others), 60))
    assert seen_in(swapped) == seen_in(one)
    texts = [(at / "certificate.json").read_text() for at in (one, swapped)]
    assert json.loads(texts[0])["follows"] != json.loads(texts[1])["follows"]  # it is salted


@pytest.mark.parametrize("file", ["certificate.json", "table.parquet"])
def test_files_that_are_written_naively_tell_them_apart(file: str, tmp_path: Path) -> None:
    """A certificate with a digest of the table, and rows in its order, with the statistics that
    Parquet keeps of every twenty."""
    published(tmp_path / "one", 1, (40, 60))
    group = groups_of(tmp_path / "one" / "series", tmp_path / "out")
    mine = (each for each in range(PEOPLE) if group[each] == group[40])
    other = next(each for each in mine if each // 20 not in (40 // 20, 60 // 20))
    seen = []
    for number, holders in enumerate(((40, 60), (other, 60))):
        source, folder = table(1, holders), tmp_path / f"{number}"
        folder.mkdir()
        if file == "certificate.json":
            digest = hashlib.sha256(source.write_csv().encode()).hexdigest()
            (folder / file).write_text(json.dumps({"label": "r2", "table": digest}))
        else:
            rows = naive(source, lambda _table: np.array(group), shuffled=False)
            assert isinstance(rows, pl.DataFrame)
            rows.write_parquet(folder / file, row_group_size=20)
        seen.append(seen_in(folder))
    assert seen[0] != seen[1]


def test_somebody_of_another_group_changes_what_is_seen(tmp_path: Path) -> None:
    one = published(tmp_path / "one", 1, (40, 60))
    group = groups_of(tmp_path / "one" / "series", tmp_path / "out")
    other = next(each for each in range(PEOPLE) if group[each] not in (group[40], group[60]))
    assert seen_in(published(tmp_path / "two", 1, (other, 60))) != seen_in(one)


def test_bucketised_documents_tell_nothing_that_the_tables_do_not(tmp_path: Path) -> None:
    """The deal into groups falls anew in each world, and figures with it. But wherever it falls as
    before, everything else that is published is as before, too."""
    people = table(1, ()).head(12)
    text = policy(tmp_path, minimum=2, form="bucketised").read_text()
    text = text.replace("releases = 3", "releases = 1")
    by_tables: dict[object, dict[int, object]] = {}
    for draw in range(24):
        holder = draw % 2
        held = ["a" if person in (holder, 7) else "flu" for person in range(people.height)]
        series = Series.create(tmp_path / f"{draw}", {"policy.toml": text.encode()})
        made = serigraph.publish(
            people.with_columns(diagnosis=pl.Series(held)),
            series,
            label="r1",
            randomness=SeededRandomness(draw),
            published_at=AT,
        )
        seen = seen_in(made.folder)
        members = pl.read_csv(made.folder / "quasi_identifiers.csv")
        counts = pl.read_csv(made.folder / "sensitive.csv")
        groups = sorted(
            (
                sorted(own.drop("group").rows()),
                sorted(counts.filter(group=name).drop("group").rows()),
            )
            for (name,), own in members.group_by("group")
        )
        documents = {name: each for name, each in seen.items() if not name.endswith(".csv")}
        found = by_tables.setdefault(str(groups), {})
        found.setdefault(holder, documents)
        assert all(each == documents for each in found.values())
    assert any(len(found) == 2 for found in by_tables.values())  # both worlds were compared
    assert len(by_tables) > 2
