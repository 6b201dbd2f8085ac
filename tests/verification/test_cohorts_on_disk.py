"""The verifier reads cohorts from the ledger's files, and notices what does not add up."""

from __future__ import annotations

import hashlib
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from ledger.builders import draft_of, new_series
from serigraph.engines.earlier_releases import ledger_on_disk
from serigraph.errors import GuaranteeExceeded, ImpossibleState, LedgerDamaged
from serigraph.ledger import Series
from serigraph.ledger.layout import Layout
from serigraph.model import Proof
from serigraph.verification import LedgerOnDisk, RecordedCohorts
from verification.cohort_reference import Book
from verification.cohort_series import arrange, recorded_of, series, submit, terms_of

TERMS = terms_of(size=5, has_class=True)


def on_disk(made: Series) -> LedgerOnDisk:
    return ledger_on_disk(Layout(made.path), made.releases())


def commit(made: Series, proof: Proof, label: str) -> None:
    with made.writing() as writer:
        (writer.staging / "table.csv").write_text("group\n")
        writer.commit(proof, draft_of(label))


def persists(name: str) -> bool:
    return name in TERMS.persisting


def known(recorded: RecordedCohorts) -> Book:
    ids = recorded.ids.to_list()
    found = zip(ids, recorded.cohort.tolist(), recorded.retired.tolist(), strict=True)
    rows = [(who, cohort, when) for who, cohort, when in found if cohort >= 0]
    pairs = zip(recorded.holder.tolist(), recorded.value.tolist(), strict=True)
    return Book(
        cohort={who: cohort for who, cohort, _ in rows},
        retired={who: when for who, _, when in rows if when},
        pairs={(ids[place], recorded.names[value]) for place, value in pairs},
    )


@pytest.mark.parametrize("seed", range(6))
def test_a_series_is_followed_from_its_files(tmp_path: Path, seed: int) -> None:
    made = new_series(tmp_path)
    for number, (book, release) in enumerate(series(seed, TERMS, people=30, releases=5), 1):
        expected = replace(book, pairs={pair for pair in book.pairs if persists(pair[1])})
        assert known(on_disk(made).cohorts(persists)) == expected
        proof = submit(release, TERMS, on_disk(made))
        assert proof.cohorts is not None
        again = submit(release, TERMS, recorded_of(book)).cohorts
        assert again is not None
        assert proof.cohorts.joined.equals(again.joined)
        commit(made, proof, f"r{number}")
    assert book.retired
    assert on_disk(made).cohorts(lambda _name: False).names == ()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = new_series(tmp_path_factory.mktemp("template"))
    for number, (_, release) in enumerate(series(1, TERMS, people=30, releases=4), 1):
        commit(made, submit(release, TERMS, on_disk(made)), f"r{number}")
    return made.path


@pytest.fixture
def made(template: Path, tmp_path: Path) -> Series:
    return Series.open(shutil.copytree(template, tmp_path / "clinic"))


@pytest.mark.parametrize("part", ["cohorts", "retired", "holders"])
def test_a_changed_byte_is_noticed(made: Series, part: str) -> None:
    ledger = on_disk(made)
    path = made.path / f"ledger/0002/{part}.parquet"
    path.write_bytes(path.read_bytes()[::-1])
    with pytest.raises(LedgerDamaged, match=f"was changed - ledger/0002/{part}.parquet"):
        ledger.cohorts(persists)
    path.unlink()
    with pytest.raises(LedgerDamaged, match=f"is missing - ledger/0002/{part}.parquet"):
        ledger.cohorts(persists)


@pytest.mark.parametrize("part", ["cohorts", "retired", "holders"])
def test_a_part_that_the_catalog_does_not_name_is_not_done_without(made: Series, part: str) -> None:
    first, second, *others = on_disk(made).releases
    nameless = {name: digest for name, digest in second.digests.items() if part not in name}
    with pytest.raises(LedgerDamaged, match="ledger/0002/"):
        LedgerOnDisk((first, replace(second, digests=nameless), *others)).cohorts(persists)


Change = Callable[[pl.DataFrame], pl.DataFrame]


def again(rows: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([rows, rows.head(1)])


WRONG: dict[str, tuple[int, str, Change]] = {
    "a holder is forgotten": (1, "holders", lambda rows: rows.filter(pl.col("value") != "r")),
    "one holder is forgotten": (2, "holders", lambda rows: rows.slice(1)),
    "a holder stands for another": (
        1,
        "holders",
        lambda rows: rows.with_columns(person=pl.lit(0)).unique(),
    ),
    "a holder occurs twice": (1, "holders", again),
    "a member joins twice": (1, "cohorts", again),
    "somebody unknown joins": (1, "cohorts", lambda rows: rows.with_columns(pl.col("person") + 99)),
    "somebody joins an old cohort": (
        4,
        "cohorts",
        lambda rows: pl.concat([rows, pl.DataFrame({"person": [31], "cohort": [0]}, rows.schema)]),
    ),
    "somebody retires twice": (2, "retired", again),
    "somebody unknown retires": (2, "retired", lambda rows: rows.with_columns(person=pl.lit(999))),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_number_with_a_right_digest_is_noticed(made: Series, name: str) -> None:
    number, part, change = WRONG[name]
    releases = list(on_disk(made).releases)
    release = releases[number - 1]
    path = release.folder / f"{part}.parquet"
    rows = pl.read_parquet(path)
    wrong = change(rows).cast(dict(rows.schema))
    assert not wrong.equals(rows)
    wrong.write_parquet(path)
    digests = {**release.digests, path.name: hashlib.sha256(path.read_bytes()).hexdigest()}
    releases[number - 1] = replace(release, digests=digests)
    with pytest.raises(LedgerDamaged, match=f"ledger/000{number}/"):
        LedgerOnDisk(tuple(releases)).cohorts(persists)


def test_a_mechanism_that_was_told_of_no_holder_is_found_out(made: Series) -> None:
    *_, (book, right) = series(1, TERMS, people=30, releases=5)
    submit(right, TERMS, on_disk(made))
    forgetful = replace(book, pairs=set())
    release = arrange(forgetful, right.table, TERMS, random.Random(1))
    submit(release, TERMS, recorded_of(forgetful))
    with pytest.raises((GuaranteeExceeded, ImpossibleState)):
        submit(release, TERMS, on_disk(made))
