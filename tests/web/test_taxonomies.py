"""Taxonomies on their screen: built, imported, edited as a tree, and put in force."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from serigraph.errors import InputRefused, SeriesDiverged
from serigraph.policy import read_policy
from serigraph.web import policy_editing
from serigraph.web.jobs import Job
from serigraph.web.tasks import TASKS
from serigraph.web.taxonomy_editing import flat, in_force, moved, save, screen
from web.asking import Site, opened
from web.conftest import POLICY, table_of
from web.waiting import done, series_of

ARX = "f;person;*\nm;person;*\n"


def _policy(series: Path) -> Any:
    return read_policy(series / "policy.toml")


def test_values_and_nodes_are_moved_with_what_is_below_them() -> None:
    text = moved(flat(["bus", "car", "ship"]), ["bus", "car"], "road")
    assert screen(text, []).trees[0].children.keys() == {"ship", "road"}
    text = moved(text, ["road", "ship", "plane"], "vehicle")
    (root,) = screen(text, []).trees
    vehicle = root.children["vehicle"]
    assert (root.leaves, vehicle.leaves, vehicle.children["road"].leaves) == (4, 4, 2)
    (root,) = screen(moved(text, ["road"], "*"), []).trees
    assert root.children.keys() == {"vehicle", "road"}
    for chosen, parent in ((["vehicle"], "road"), (["car"], "ship"), ([], "road"), (["car"], " ")):
        with pytest.raises(InputRefused):
            moved(text, chosen, parent)


def test_what_is_no_tree_is_told_and_what_is_lacking_is_listed() -> None:
    found = screen("a;x;*\nb;y;*\n", ["a", "c"])
    assert (found.problem, found.lacking, found.parents) == (None, ["c"], ["*", "x", "y"])
    wrong = screen("a;x;*\na;y;*\n", ["a"])
    assert wrong.problem is not None
    assert wrong.lacking == ["a"]


def test_a_taxonomy_is_named_in_the_policy_and_then_replaced(folder: Path) -> None:
    series = folder / "clinic"
    none = policy_editing.digest_of("")
    save(series, "sex", ARX, none)
    assert in_force(_policy(series), "sex") == ARX
    named = _policy(series).quasi_identifiers["sex"].taxonomy
    with pytest.raises(SeriesDiverged):
        save(series, "sex", ARX, none)
    save(series, "sex", ARX + "x;person;*\n", policy_editing.digest_of(ARX))
    assert _policy(series).quasi_identifiers["sex"].taxonomy == named
    for column in ("born", "patient", "../policy"):
        with pytest.raises(InputRefused):
            save(series, column, ARX, none)


def test_nothing_is_written_outside_of_the_series(folder: Path, tmp_path: Path) -> None:
    series, apart = folder / "clinic", tmp_path / "apart"
    apart.mkdir()
    (apart / "sex.csv").write_text(ARX)
    text = POLICY.replace("[sensitive]", f'taxonomy = "{apart}/sex.csv"\n[sensitive]', 1)
    (series / "policy.toml").write_text(text)
    save(series, "sex", ARX + "x;person;*\n", policy_editing.digest_of(ARX))
    assert (apart / "sex.csv").read_text() == ARX
    assert _policy(series).quasi_identifiers["sex"].taxonomy == "taxonomies/sex.csv"
    (series / "taxonomies/sex.csv").unlink()
    (series / "taxonomies").rmdir()
    (series / "taxonomies").symlink_to(apart)
    (series / "policy.toml").write_text(POLICY)
    with pytest.raises(InputRefused, match="leads elsewhere"):
        save(series, "sex", ARX, policy_editing.digest_of(""))
    assert [each.name for each in apart.iterdir()] == ["sex.csv"]


def test_every_way_to_build_one(folder: Path, tmp_path: Path) -> None:
    table = table_of(60).with_columns(
        pl.col("born").cast(pl.String), century=pl.col("born").cast(pl.String).str.head(2) + "xx"
    )
    table.write_csv(tmp_path / "t.csv")
    (tmp_path / "arx.csv").write_text("1940;40s;*\n1950;50s;*\n")

    def built(by: str, *parts: str) -> dict[str, Any]:
        return TASKS["taxonomy"](
            lambda *_: None,
            table=str(tmp_path / "t.csv"),
            series=str(folder / "clinic"),
            column="born",
            by=by,
            parts=parts,
        )

    assert "1940;194*;*\n" in built("mask", "3")["text"]
    assert "1940;[1940, 1945[;[1940, 1960[;*" in built("intervals", "5", "20")["text"]
    assert "1940;19xx;*" in built("columns", "century")["text"]
    assert "1940;*" in built("flat")["text"]
    imported = built("file", str(tmp_path / "arx.csv"))
    assert imported["text"].startswith("1940;40s;*")
    assert len(screen(imported["text"], imported["values"]).lacking) == 58


def _read(inside: Site, tmp_path: Path, **form: Any) -> tuple[str, Job]:
    address = series_of(inside.enter()) + "/taxonomies"
    table = inside.upload(tmp_path / "2024H1.csv")
    asked = {"table": table, "column": "sex", "by": "flat", **form}
    assert inside.post(address + "/build", asked).status == 303
    return address, done(inside)


def test_the_tree_is_edited_and_saved(folder: Path, tmp_path: Path) -> None:
    with opened(folder) as inside:
        address, job = _read(inside, tmp_path)
        page = inside.get(f"{address}?job={job.key}").text
        assert 'value="f"' in page
        form = {"job": job.key, "text": "f;*\n", "chosen": ["m"], "parent": "<b>", "move": "yes"}
        assert (
            "Not in the taxonomy: 1 value"
            in inside.post(address + "/edit", form | {"move": ""}).text
        )
        edited = inside.post(address + "/edit", form).text
        assert "m;&lt;b&gt;;*" in edited
        assert "Every value of the table is in it" in edited
        assert "<b>" not in edited
        form = {"job": job.key, "text": "x;*\nx;y\n", "digest": policy_editing.digest_of("")}
        assert inside.post(address, form).status == 422
        assert inside.post(address, form | {"text": ARX}).status == 303
        assert inside.post(address, form | {"text": ARX}).status == 422  # as another tab would
        assert "taxonomies/sex.csv" in inside.get(address).text
        for wrong in ({"column": "born"}, {"by": "guess"}, {"column": "../x"}):
            asked = {"table": "x", "column": "sex", "by": "mask", **wrong}
            assert inside.post(address + "/build", asked).status == 422
    assert in_force(_policy(folder / "clinic"), "sex") == ARX
    with opened(folder, read_only=True) as inside:
        address, job = _read(inside, tmp_path, by="kept")
        assert job.result["text"] == ARX
        assert inside.post(address, {"job": job.key, "text": "f;*\nm;*\n"}).status == 403
