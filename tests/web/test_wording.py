"""Messages of the library on pages: in the words of the pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from serigraph.errors import SerigraphError
from serigraph.publishing.persistence_section import notes
from serigraph.publishing.proposed_persistence import proposed_persistence
from serigraph.web.pages import rendered
from serigraph.web.uploads import Uploads
from serigraph.web.wording import for_the_page
from web.asking import opened
from web.waiting import done

COMMAND = re.compile(r"--[a-z]|serigraph [a-z]+ |\brepeat init\b")


def test_the_wizard_and_the_draft_speak_of_what_is_on_their_pages(
    folder: Path, tmp_path: Path
) -> None:
    with opened(folder) as inside:
        inside.enter()
        inside.post("/new/inspect", {"table": inside.upload(tmp_path / "2024H1.csv")})
        page = inside.get(f"/new?job={done(inside).key}").text
    shown = re.sub(r"<textarea.*?</textarea>", "", page, flags=re.DOTALL)
    assert "nobody has said how long people keep these values" in shown
    assert "choose transient under Values over time" in shown
    assert not COMMAND.search(shown.partition("<main")[2])


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (
            "make a draft of it with 'serigraph draft', let it be approved with 'serigraph "
            "approve', and publish it with 'serigraph publish --draft NAME'",
            "make a draft of it with “Make the draft” on the page Publish, let it be approved with "
            "“Approve of this draft” on the page Publish, and publish it there",
        ),
        (
            "discard it with 'serigraph drafts SERIES discard NAME', and draft the table again",
            "discard it, and draft the table again",
        ),
        (
            "give the raw tables (--raw) or a registry (--registry)",
            "give the raw tables or a registry",
        ),
        (
            "leave out holders of these values with --allow-suppression",
            "leave out holders of these values with “Leave out values that do not fit”",
        ),
        ("the name of a table called serigraph-2024 -- or not", None),
        ("give the private key that 'serigraph key' made", None),
    ],
)
def test_a_message(words: str, shown: str | None) -> None:
    assert for_the_page(words) == (words if shown is None else shown)


def test_an_error_and_a_note_are_said_so() -> None:
    uploads = Uploads()
    try:
        error = SerigraphError("no", where="", remedy="run 'serigraph audit' to see all of it")
        page = rendered("error.html", desk=type("Desk", (), {"uploads": uploads}), error=error)
    finally:
        uploads.close()
    assert "run “Audit” on the page of the series to see all of it" in page
    said = notes(proposed_persistence(None, ()), None)
    assert any("--" in note for note in said)
    assert not any("--" in for_the_page(note) for note in said)
