"""Two publishers at once: one is refused, or waits for the other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import serigraph
from publishing import dying
from publishing.clinic import clinic, new_series, policy_text
from serigraph.errors import SeriesBusy
from serigraph.ledger import Series


@pytest.fixture
def series(tmp_path: Path) -> Path:
    """An empty series beside the files of two tables, a and b."""
    made = clinic(releases=2, people=120, registered=300, seed=12, protected_share=0.08)
    for name, table in zip("ab", made.tables, strict=True):
        table.write_parquet(tmp_path / f"{name}.parquet")
    return new_series(tmp_path / "clinic", policy_text()).path


def test_the_second_is_refused_or_waits(series: Path, tmp_path: Path) -> None:
    first = dying.held_up(tmp_path, "publish", tmp_path / "a.parquet", "--series", series)
    refused = dying.command("publish", tmp_path / "b.parquet", "--series", series, "--json")
    out, err = refused.communicate(timeout=dying.PATIENCE)
    assert refused.returncode == SeriesBusy.exit_code
    assert json.loads(out)["error"] == "SeriesBusy"
    assert err.startswith("SeriesBusy: ")
    with pytest.raises(SeriesBusy):
        serigraph.publish(tmp_path / "b.parquet", series, wait=0.05)
    # Readers are not held up, and see nothing of it yet.
    assert serigraph.status(series).releases == ()

    waiting = dying.command(
        "publish", tmp_path / "b.parquet", "--series", series, "--wait", dying.PATIENCE, "--json"
    )
    (tmp_path / "go").touch()
    out, err = first.communicate(timeout=dying.PATIENCE)
    assert first.returncode == 0, err
    out, err = waiting.communicate(timeout=dying.PATIENCE)
    assert waiting.returncode == 0, err
    # The one that waited reckons with what the other had published meanwhile, or came before it.
    assert json.loads(out)["release"] == 2
    assert [release.label for release in Series.open(series).releases()] == ["a", "b"]
    Series.open(series).check()
