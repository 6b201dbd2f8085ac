"""Two publishers at once, in real processes: one waits or is refused."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ledger import children
from ledger.builders import FIRST, SECOND, draft_of, new_series, proof_of, publish
from serigraph.errors import AlreadyPublished, SeriesBusy
from serigraph.ledger import Series, recovery


def test_a_second_writer_is_refused_and_readers_are_not(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", FIRST)
    with series.writing() as writer:
        staged = writer.staging / "table.csv"
        staged.write_text("x")
        assert children.exit_code_of(children.act_and_report, "publish", series.path) == (
            SeriesBusy.exit_code
        )
        assert children.exit_code_of(children.act_and_report, "open", series.path) == 0
        assert staged.read_text() == "x"
        assert len(Series.open(series.path).releases()) == 1
        series.check()
        series.export(tmp_path / "out")
        writer.commit(proof_of(SECOND), draft_of("b"))
    assert children.exit_code_of(children.act_and_report, "publish", series.path) == (
        AlreadyPublished.exit_code
    )


def test_a_second_writer_waits_as_long_as_it_says(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    locked, lock_speaks = children.pipe()
    release_hears, release = children.pipe()
    child = children.in_child(children.hold_the_lock, series.path, lock_speaks, release_hears)
    assert locked.recv() == "locked"
    began = time.monotonic()
    with pytest.raises(SeriesBusy), series.writing(wait=0.2):
        pass
    assert time.monotonic() - began >= 0.2
    release.send("go")
    with series.writing(wait=30) as writer:
        assert writer.releases == ()
    child.join()
    assert child.exitcode == 0


def test_the_lock_dies_with_its_holder(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    locked, lock_speaks = children.pipe()
    release_hears, _release = children.pipe()
    child = children.in_child(children.hold_the_lock, series.path, lock_speaks, release_hears)
    assert locked.recv() == "locked"
    with pytest.raises(SeriesBusy), series.writing():
        pass
    child.kill()
    child.join()
    publish(series, "a", FIRST)


def test_many_publishers_of_one_table_make_one_release(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", FIRST)
    publishers = [
        children.in_child(children.act_and_report, "publish", series.path) for _ in range(6)
    ]
    for publisher in publishers:
        publisher.join(60)
    codes = [publisher.exitcode for publisher in publishers]
    assert codes.count(0) == 1
    assert set(codes) <= {0, AlreadyPublished.exit_code, SeriesBusy.exit_code}
    assert [release.label for release in series.releases()] == ["a", "b"]
    series.check()


def test_a_reader_in_the_same_process_does_not_drop_the_lock(tmp_path: Path) -> None:
    series = new_series(tmp_path)
    publish(series, "a", FIRST)
    with series.writing():
        series.history(proof_of(SECOND).ids, ["flu"])
        series.exposures("ann", "flu")
        series.check()
        assert children.exit_code_of(children.act_and_report, "publish", series.path) == (
            SeriesBusy.exit_code
        )


def test_the_next_writer_may_finish_the_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the commit and the move the lock is free for a moment."""
    series = new_series(tmp_path)
    publish(series, "a", FIRST)
    from serigraph.ledger import writer as writer_module

    settle = writer_module.settle

    def meanwhile(*arguments: object) -> None:
        with series.writing() as other:
            assert [release.is_published for release in other.releases] == [True, True]
            settle(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(writer_module, "settle", meanwhile)
    assert publish(series, "b", SECOND).is_published
    series.check()


def test_tidying_up_after_a_commit_cannot_make_it_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_layout: object) -> None:
        raise MemoryError

    series = new_series(tmp_path)
    with series.writing() as writer:
        writer.commit(proof_of(FIRST), draft_of("a"))
        monkeypatch.setattr(recovery, "recover", fail)  # at a moment that nothing outside hits
    monkeypatch.undo()
    assert [release.label for release in Series.open(series.path).releases()] == ["a"]
