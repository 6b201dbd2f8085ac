"""A draft is attacked as if it were the next release of its series."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

import serigraph
from cli.running import run
from drafts.hospital import KINDS, hospital
from serigraph.attacking import Attacked
from serigraph.errors import DraftRefused, InputRefused
from serigraph.ledger import Series


def scored(attacked: Attacked) -> list[dict[str, object]]:
    return [asdict(each) for each in attacked.findings]


@pytest.mark.parametrize("kind", KINDS)
def test_a_draft_is_attacked_like_the_release_that_it_becomes(kind: str, tmp_path: Path) -> None:
    made = hospital(tmp_path, KINDS[kind])
    raw = list(made.tables[:2])
    serigraph.publish(made.tables[0], made.series, label="first", **made.options)
    draft = serigraph.draft(made.tables[1], made.series, label="second", **made.options)
    given = {"raw": raw, "registry": made.registry, "seed": 1}
    drafted = serigraph.attack(made.series, draft=draft.name, **given)
    assert drafted.releases == ("first", "second")
    serigraph.publish_draft(made.series, draft.name)
    assert scored(drafted) == scored(serigraph.attack(made.series, **given))
    assert not all(each.not_run for each in drafted.findings)


def test_the_first_release_as_a_draft(tmp_path: Path) -> None:
    made = hospital(tmp_path, KINDS["generalised"])
    draft = serigraph.draft(made.tables[0], made.series, label="first", **made.options)
    made.tables[0].write_csv(tmp_path / "first.csv")
    told = run("attack", made.series.path, "--draft", "first", "--raw", tmp_path / "first.csv")
    assert told.code == 0, told.err
    assert "1 releases" not in told.out
    assert json.loads((draft.folder / "draft.json").read_text())["number"] == 1
    assert Series.open(made.series.path).releases() == ()


def test_a_draft_that_was_changed_or_overtaken_is_not_attacked(tmp_path: Path) -> None:
    made = hospital(tmp_path, KINDS["generalised"])
    first, second = (
        serigraph.draft(table, made.series, label=label, **made.options)
        for table, label in zip(made.tables, ("first", "second"), strict=False)
    )
    with pytest.raises(InputRefused, match="with the series that it belongs to"):
        serigraph.attack(releases=made.tables, policy=made.series.path, draft=first.name)
    serigraph.publish_draft(made.series, first.name)
    with pytest.raises(DraftRefused, match="made to follow"):
        serigraph.attack(made.series, draft=second.name)
    third = serigraph.draft(made.tables[2], made.series, label="third", **made.options)
    (third.public / "table.csv").write_text("changed")
    with pytest.raises(DraftRefused, match="changed after it was made"):
        serigraph.attack(made.series, draft=third.name)
