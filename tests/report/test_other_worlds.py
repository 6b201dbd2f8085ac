"""Documents are public: they must not depend on which member of a group holds a value."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import serigraph
from serigraph.ledger import Series
from serigraph.privacy import persistence
from serigraph.runtime.randomness import SeededRandomness

POLICY = """version = 1
[person]
id = "id"
[quasi_identifiers.age]
kind = "numeric"
[quasi_identifiers.zip]
kind = "numeric"
[sensitive]
column = "diagnosis"
[protected]
values = ["HIV"]
[guarantee]
threshold = "1/2"
[strategy]
name = "{strategy}"
releases = 3
[output]
form = "{form}"
files = ["csv"]
"""
AT = datetime(2026, 1, 1, tzinfo=UTC)


def people(holder: int) -> pl.DataFrame:
    draw = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "id": range(60),
            "age": draw.integers(0, 90, 60),
            "zip": draw.integers(0, 50, 60),
            "diagnosis": ["HIV" if number == holder else "flu" for number in range(60)],
        }
    )


def published(
    path: Path, form: str, *holders: int, strategy: str = "constant"
) -> tuple[dict[str, str], list[int], list[str]]:
    """A release for each holder of the one protected value: the public files of the last, without
    what is random by design, the members of its holder's group, and the publisher's notes."""
    policy = POLICY.format(form=form, strategy=strategy).encode()
    series = Series.create(path, {"policy.toml": policy})
    for number, holder in enumerate(holders, 1):
        made = serigraph.publish(
            people(holder).with_columns(pl.col("age") + number - 1),
            series,
            label=f"r{number}",
            randomness=SeededRandomness(1),
            published_at=AT,
            assume_transient=["HIV"] if number > 1 else [],
        )
    ledger = path.parent / f"{path.name}-exported"
    serigraph.export(path, ledger)
    is_last = pl.col("release") == len(holders)
    group = pl.read_parquet(ledger / "values.parquet").filter(is_last)["group"][0]
    members = pl.read_parquet(ledger / "members.parquet").filter(is_last, pl.col("group") == group)
    digest = re.compile(r"[0-9a-f]{8,}")  # those of the chain have a secret salt
    files = {}
    for each in made.folder.iterdir():
        text = each.read_text(encoding="utf-8")
        rows = sorted(text.splitlines())  # in random order
        files[each.name] = "\n".join(rows) if each.suffix == ".csv" else digest.sub("", text)
    return files, sorted(members["person"].cast(pl.Int64)), list(made.notes)


@pytest.mark.parametrize("form", ["bucketised", "generalised"])
def test_every_world_with_the_same_tables_has_the_same_documents(form: str, tmp_path: Path) -> None:
    files, members, _ = published(tmp_path / "first", form, 7)
    assert len(members) > 1
    assert 7 in members
    assert {"report.html", "certificate.json"} <= files.keys()
    for other in members:
        again, same, _ = published(tmp_path / f"world-{other}", form, other)
        assert same == members
        assert again == files


@pytest.mark.parametrize("strategy", ["constant", "adaptive"])
def test_documents_do_not_say_whether_the_holder_is_the_same_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    """In the bucketised form a seed gives other groups in other worlds.

    What the adaptive strategy learns from the first release is the same in all worlds, and with it
    the groups of the second.
    """
    form = "generalised"
    monkeypatch.setattr(persistence, "LUCK", Fraction(1, 2))  # one person is enough
    files, members, notes = published(tmp_path / "first", form, 7, 7, strategy=strategy)
    assert len(members) > 1
    assert any("'HIV' is not transient" in note for note in notes)
    for other in set(members) - {7}:
        again, same, others = published(
            tmp_path / f"world-{other}", form, 7, other, strategy=strategy
        )
        assert same == members
        assert again == files
        assert not any("'HIV' is not transient" in note for note in others)


PERSISTING = """version = 1
[person]
id = "id"
[quasi_identifiers.age]
kind = "numeric"
[quasi_identifiers.zip]
kind = "numeric"
[sensitive]
column = "diagnosis"
[protected]
values = ["HIV", "lupus"]
[protected.persistence]
default = "{persistence}"
[guarantee]
threshold = "1/2"
adversary = "{adversary}"
cohort_size = 6
[output]
form = "{form}"
files = ["csv"]
"""


def persisting_series(
    path: Path, swapped: tuple[int, int], *, adversary: str, **options: str
) -> tuple[list[dict[str, str]], list[int]]:
    """Three releases of a panel in which two people have changed places; some leave the registry
    before the last. The public files of each release, and the class of person 7 at the end."""
    policy = PERSISTING.format(adversary=adversary, **options).encode()
    series = Series.create(path, {"policy.toml": policy})
    everybody = people(-1).drop("diagnosis")
    held = ["HIV" if n in (7, 31) else "lupus" if n in (7, 12) else "flu" for n in range(60)]
    draw = np.random.default_rng(8)
    hides_presence = adversary == "presence unknown"
    place = list(range(60))
    place[swapped[0]], place[swapped[1]] = swapped[1], swapped[0]
    published = []
    for number in range(1, 4):
        is_there = draw.random(60) < 0.9
        is_there[[7, 12, 31]] |= number == 1
        is_listed = ~np.isin(np.arange(60), [20, 50]) | (number < 3)
        # Where presence is known, people change places in what they hold only.
        attends = is_there[place] if hides_presence else is_there
        values = pl.Series("diagnosis", [held[n] for n in place])
        made = serigraph.publish(
            everybody.with_columns(values).filter(pl.Series(attends & is_listed)),
            series,
            registry=everybody.filter(pl.Series(is_listed)) if hides_presence else None,
            label=f"r{number}",
            randomness=SeededRandomness(number),
            published_at=AT,
        )
        digest = re.compile(r"[0-9a-f]{8,}")
        published.append(
            {
                each.name: digest.sub("", "\n".join(sorted(each.read_text().splitlines())))
                for each in made.folder.iterdir()
            }
        )
    whole = path.parent / f"{path.name}-exported"
    serigraph.export(path, whole, confidential=True)
    cohorts, retired = (
        pl.read_parquet(whole / f"{name}.parquet").with_columns(pl.col("person").cast(pl.Int64))
        for name in ("cohorts", "retired")
    )
    together = cohorts.join(retired, on="person", how="left").select(
        "person", pl.struct("cohort", pl.col("release_right").fill_null(0)).alias("class")
    )
    mine = together.filter(pl.col("person") == 7)["class"]
    return published, together.filter(pl.col("class").is_in(mine.implode()))["person"].to_list()


@pytest.mark.parametrize("form", ["bucketised", "generalised"])
@pytest.mark.parametrize(
    ("adversary", "persistence"),
    [("presence unknown", "any"), ("presence known", "any"), ("presence known", "permanent")],
)
def test_people_of_a_class_can_change_places(
    form: str, adversary: str, persistence: str, tmp_path: Path
) -> None:
    """What they hold over all releases, and where nobody knows it, when they are there."""
    options = {"form": form, "adversary": adversary, "persistence": persistence}
    files, members = persisting_series(tmp_path / "first", (7, 7), **options)
    assert 7 in members
    assert len(members) > 1
    assert all({"report.html", "certificate.json"} <= each.keys() for each in files)
    for other in members:
        again, same = persisting_series(tmp_path / f"world-{other}", (7, other), **options)
        assert same == members
        assert again == files


def test_no_tie_tells_what_a_person_holds_who_left(tmp_path: Path) -> None:
    """One of four leaves and takes a companion along: two pairs are then equally close to the
    threshold, and which of the two documents name must not depend on who of them held what."""
    options = {"form": "generalised", "adversary": "presence unknown", "persistence": "permanent"}
    policy = PERSISTING.format(**options).replace("cohort_size = 6", "cohort_size = 4")
    registry = pl.DataFrame({"id": range(4), "age": [20] * 4, "zip": [1] * 4})
    digest = re.compile(r"[0-9a-f]{8,}")
    documents: dict[str, set[str]] = {}
    for holder in (0, 1, 3):
        path = tmp_path / f"world-{holder}"
        series = Series.create(path, {"policy.toml": policy.encode()})
        held = ["HIV" if n == holder else "lupus" if n == 2 else "flu" for n in range(4)]
        table = registry.with_columns(diagnosis=pl.Series(held))
        for number, first in enumerate((0, 1), 1):
            made = serigraph.publish(
                table[first:],
                series,
                registry=registry[first:],
                label=f"r{number}",
                randomness=SeededRandomness(number),
                published_at=AT,
            )
        texts = {each.name: each.read_text(encoding="utf-8") for each in made.folder.iterdir()}
        shown = "\n".join(sorted(texts["table.csv"].splitlines()))
        told = digest.sub("", texts["certificate.json"] + texts["report.html"])
        documents.setdefault(shown, set()).add(told)
    assert len(documents) == 2  # the leaver and the companion hold it, or somebody who is shown
    assert all(len(told) == 1 for told in documents.values())
