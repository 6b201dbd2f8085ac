"""The pictures that are checked in show what the code computes."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from docs.pages import ROOT

PICTURES = ROOT / "docs/pictures"
README = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def ten_releases() -> dict[str, Any]:
    made = runpy.run_path(str(PICTURES / "ten_releases.py"))
    return made | dict(zip(("alone", "together"), made["outcomes"](), strict=True))


def test_ten_releases_are_as_computed(ten_releases: dict[str, Any]) -> None:
    drawn = ten_releases["picture"](ten_releases["alone"], ten_releases["together"])
    checked_in = Path(ten_releases["PICTURE"]).read_text(encoding="utf-8")
    assert drawn == checked_in, "run: make picture"


def test_the_readme_says_what_the_picture_shows(ten_releases: dict[str, Any]) -> None:
    alone, together = ten_releases["alone"], ten_releases["together"]
    threshold = float(ten_releases["THRESHOLD"])
    assert alone.largest[0] <= threshold < alone.largest[-1]
    assert max(together.largest) <= threshold
    assert together.above == 0
    for each in (alone, together):
        assert f"from {each.largest[0]:.2f} to {each.largest[-1]:.2f}" in README
    assert f"{ten_releases['PATIENTS']:,} patients ten times; {alone.patients} of them" in README
    assert f"link {alone.above} of the {alone.patients} with a higher probability" in README


def test_a_chronic_clinic_is_as_computed() -> None:
    made = runpy.run_path(str(PICTURES / "chronic_clinic.py"))
    called_transient, kept_together = made["outcomes"]()
    checked_in = Path(made["PICTURE"]).read_text(encoding="utf-8")
    assert made["picture"](called_transient, kept_together) == checked_in, "run: make picture"
    # What the tutorial says of it.
    assert called_transient.above[0] == 0.0
    assert f"{called_transient.above[7]:.0%}" == "78%"
    assert not any(kept_together.above)


def test_rooms_are_those_of_the_import_contract() -> None:
    rooms = runpy.run_path(str(PICTURES / "rooms.py"))
    checked_in = Path(rooms["PICTURE"]).read_text(encoding="utf-8")
    assert rooms["picture"]() == checked_in, "run: make picture"


def test_the_architecture_page_has_every_room_and_every_step() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    rooms = runpy.run_path(str(PICTURES / "rooms.py"))
    described = page.split("## The rooms\n")[1].split("\n## ")[0]
    assert {room for row in rooms["layers"]() for room in row} == set(
        re.findall(r"`(\w+)`(?=[^|]*\|[^|]*\|$)", described, re.MULTILINE)
    )
    steps = re.findall(r"^\d\. \*\*(\w+)\*\*", page, re.MULTILINE)
    assert steps == list(rooms["WAY"])
