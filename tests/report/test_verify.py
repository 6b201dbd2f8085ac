"""``serigraph verify``: a certificate is believed only where files, ledger and guarantee say so."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import serigraph
from audit.series_examples import published
from serigraph.errors import InputRefused, LedgerDamaged, SeriesNotFound
from serigraph.ledger import Series
from serigraph.reporting import verify_certificate


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    series = published(tmp_path_factory.mktemp("series") / "clinic", releases=2)
    serigraph.report(series)
    return series.path


@pytest.fixture
def clinic(original: Path, tmp_path: Path) -> Path:
    shutil.copytree(original, tmp_path / "clinic")
    return tmp_path / "clinic"


def certificate(clinic: Path, label: str = "r2") -> Path:
    return clinic / "releases" / label / "certificate.json"


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "serigraph", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def change(path: Path, **changes: Any) -> None:
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | changes))


def test_true_certificates(clinic: Path) -> None:
    for label in ("r1", "r2"):
        found = verify_certificate(certificate(clinic, label))
        assert len(found.checks) == 4
        assert str(found.largest) == found.certificate.guarantee.largest_probability
    of_series = serigraph.verify(clinic / "report" / "certificate.json")
    assert of_series.certificate.kind == "series"
    assert of_series.largest is not None


def test_an_early_certificate_stays_true_when_the_series_goes_on(clinic: Path) -> None:
    first = verify_certificate(certificate(clinic, "r1"))
    second = verify_certificate(certificate(clinic, "r2"))
    assert first.largest is not None
    assert second.largest is not None
    assert first.largest <= second.largest


def test_a_release_that_was_taken_away(clinic: Path, tmp_path: Path) -> None:
    away = tmp_path / "download"
    shutil.copytree(clinic / "releases" / "r2", away)
    with pytest.raises(SeriesNotFound, match="--series"):
        verify_certificate(away / "certificate.json")
    assert verify_certificate(away / "certificate.json", series=clinic).largest is not None
    alone = verify_certificate(away / "certificate.json", files_only=True)
    assert alone.largest is None
    assert alone.checks == ("3 files have the digests of this certificate",)


def test_files_that_were_changed_together_with_the_certificate(
    clinic: Path, tmp_path: Path
) -> None:
    """The files agree with the certificate, and nothing more is claimed."""
    away = tmp_path / "download"
    shutil.copytree(clinic / "releases" / "r2", away)
    table = away / "table.csv"
    table.write_text(table.read_text().replace("flu", "gout"))
    files = json.loads((away / "certificate.json").read_text())["files"]
    digest = hashlib.sha256(table.read_bytes()).hexdigest()
    change(away / "certificate.json", files=files | {"table.csv": digest})
    told = run("verify", away / "certificate.json", "--files-only")
    assert told.returncode == 0
    assert "The files agree with this certificate." in told.stdout
    assert "was not checked" in told.stdout
    assert "genuine" not in told.stdout
    found = json.loads(run("verify", away / "certificate.json", "--files-only", "--json").stdout)
    assert found["conclusion"].startswith("The files agree with this certificate.")
    assert found["largest_probability"] is None
    assert run("verify", away / "certificate.json", "--series", clinic).returncode == 6


@pytest.mark.parametrize("name", ["table.csv", "table.parquet", "report.html"])
def test_a_changed_file(clinic: Path, name: str) -> None:
    path = clinic / "releases" / "r2" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(LedgerDamaged, match="was changed") as caught:
        verify_certificate(certificate(clinic))
    assert name in caught.value.where


def test_a_missing_file(clinic: Path) -> None:
    (clinic / "releases" / "r2" / "table.csv").unlink()
    with pytest.raises(LedgerDamaged, match="is missing"):
        verify_certificate(certificate(clinic))


def test_a_certificate_that_was_edited(clinic: Path) -> None:
    path = certificate(clinic)
    content = json.loads(path.read_text())
    content["guarantee"]["largest_probability"] = "1/1000"
    path.write_text(json.dumps(content))
    with pytest.raises(LedgerDamaged, match="the certificate was changed"):
        verify_certificate(path)


def forge(clinic: Path, content: dict[str, Any]) -> Path:
    """A certificate of the series that says something else, put beside those that were made."""
    path = clinic / "report" / "certificate.json"
    path.write_text(json.dumps(content))
    Series.open(clinic).issue(path.read_bytes())
    return path


def test_a_false_claim_whose_digest_fits(clinic: Path) -> None:
    """Who can also write into the series still meets the recomputation."""
    content = json.loads((clinic / "report" / "certificate.json").read_text())
    content["guarantee"]["largest_probability"] = "1/1000"
    with pytest.raises(
        LedgerDamaged, match="the certificate claims a largest probability of 1/1000"
    ):
        verify_certificate(forge(clinic, content))


@pytest.mark.parametrize("claim", ["1/1000", None])
def test_a_false_claim_about_the_worst_pair(clinic: Path, claim: str | None) -> None:
    content = json.loads((clinic / "report" / "certificate.json").read_text())
    pair = content["guarantee"]["worst_in_series"] | {"probability": claim}
    content["guarantee"]["worst_in_series"] = pair if claim else None
    with pytest.raises(LedgerDamaged, match="disagree on the pair of the series"):
        verify_certificate(forge(clinic, content))


def _without(figures: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: figure for key, figure in figures.items() if key != name}


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("field", "forged"),
    [
        ("figures.mean_probability", lambda said: said / 2),
        ("figures.people", lambda said: said + 1),
        ("figures.releases", lambda said: said + 1),
        ("figures.unique_rows", lambda _: 0),
        ("figures.cohorts", lambda _: 7),
        ("figures", lambda said: _without(said, "mean_probability")),
        ("guarantee.rests_on", lambda _: "nothing"),
        ("guarantee.worst_in_series.threshold", lambda _: "1/1"),
        ("files", lambda said: dict(list(said.items())[1:])),
    ],
)
def test_a_forged_certificate_of_a_series_beside_a_forged_copy(
    clinic: Path, field: str, forged: Callable[[Any], Any], version: int
) -> None:
    """Every figure is found again from the ledger; an old format may only say less."""
    content = json.loads((clinic / "report" / "certificate.json").read_text())
    content["format"] = version
    *above, last = field.split(".")
    place = content
    for name in above:
        place = place[name]
    place[last] = forged(place.get(last))
    path = forge(clinic, content)
    if version == 1 and field == "figures":
        assert verify_certificate(path).largest is not None
        return
    with pytest.raises(LedgerDamaged, match="the certificate and the ledger disagree on"):
        verify_certificate(path)


def test_what_only_a_signature_shows_is_said(clinic: Path, tmp_path: Path) -> None:
    """Nothing in the ledger depends on who published, or with which version."""
    key = serigraph.make_key(tmp_path / "key")
    signed = serigraph.report(clinic, tmp_path / "signed", sign=tmp_path / "key").certificate
    assert verify_certificate(signed, series=clinic, key=key.public).unchecked == ()
    content = json.loads(signed.read_text())
    path = forge(clinic, content | {"publisher": {"name": "Somebody"}, "made_by": "somebody"})
    assert verify_certificate(path).unchecked == ("publisher", "made_by")
    told = run("verify", path)
    assert "not checked: publisher and made_by; ask for a signature" in told.stdout
    assert json.loads(run("verify", path, "--json").stdout)["not_checked"] == [
        "publisher",
        "made_by",
    ]
    assert verify_certificate(certificate(clinic)).unchecked == ()


@pytest.mark.parametrize(
    "forged",
    [
        {"made_by": "serigraph 9.9"},
        {"figures": {}},
        {"figures": {"people": 1_000_000}},
        {"files": {}},
        {"publisher": {"name": "Somebody else"}},
        {"format": 1},
    ],
    ids=lambda forged: next(iter(forged)),
)
@pytest.mark.parametrize("kind", ["release", "series"])
def test_a_certificate_of_which_one_field_was_edited(
    clinic: Path, kind: str, forged: dict[str, Any]
) -> None:
    path = clinic / "report" / "certificate.json" if kind == "series" else certificate(clinic)
    change(path, **forged)
    with pytest.raises(LedgerDamaged, match="the certificate was changed"):
        verify_certificate(path)
    assert run("verify", path).returncode == 6


def test_certificates_of_a_series_that_has_gone_on(clinic: Path, tmp_path: Path) -> None:
    """Every certificate that was made stays true; one of another series is not."""
    first = clinic / "report" / "certificate.json"
    away = shutil.copy(first, tmp_path / "old.json")
    policy = clinic / "policy.toml"
    policy.write_text(policy.read_text() + '[publisher]\nname = "Another name"\n')
    made = serigraph.report(clinic, tmp_path / "second")
    assert made.certificate.read_bytes() != first.read_bytes()
    for path in (away, made.certificate):
        assert verify_certificate(path, series=clinic).largest is not None
    shutil.rmtree(clinic / "certificates")
    with pytest.raises(LedgerDamaged, match="does not come from this series"):
        verify_certificate(away, series=clinic)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"threshold": "1/3"}, "threshold"),
        ({"follows": "0" * 64}, "follows"),
        ({"strategy": "none"}, "strategy"),
        ({"label": "r9"}, "has no such release"),
        ({"release": 9}, "has no such release"),
    ],
)
def test_a_certificate_of_something_else(clinic: Path, changes: dict[str, Any], words: str) -> None:
    change(certificate(clinic), **changes)
    with pytest.raises(LedgerDamaged, match=words):
        verify_certificate(certificate(clinic))


def test_a_changed_ledger(clinic: Path) -> None:
    part = clinic / "ledger" / "0001" / "values.parquet"
    content = bytearray(part.read_bytes())
    content[-20] ^= 1
    part.write_bytes(bytes(content))
    with pytest.raises(LedgerDamaged) as caught:
        verify_certificate(certificate(clinic))
    assert "ledger/0001/values.parquet" in caught.value.where


def test_a_changed_catalog(clinic: Path) -> None:
    with sqlite3.connect(clinic / "catalog.sqlite") as connection:
        connection.execute("UPDATE release SET threshold = '1/3' WHERE number = 1")
    connection.close()
    with pytest.raises(LedgerDamaged, match="chain of digests"):
        verify_certificate(certificate(clinic))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"{}", "Field required"),
        (b"not json", "Invalid JSON"),
        (b"\xff\xfe\x00", "it is not text"),
    ],
)
def test_what_is_no_certificate(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "certificate.json"
    path.write_bytes(content)
    with pytest.raises(InputRefused) as caught:
        verify_certificate(path)
    assert problem in str(caught.value)
    with pytest.raises(InputRefused, match="certificate does not exist"):
        verify_certificate(tmp_path / "nowhere.json")


def test_a_certificate_that_points_outside(clinic: Path) -> None:
    secret = hashlib.sha256(b"x").hexdigest()
    change(certificate(clinic), files={"../../policy.toml": secret})
    with pytest.raises(InputRefused, match="outside the release"):
        verify_certificate(certificate(clinic))


def test_the_command(clinic: Path) -> None:
    told = run("verify", certificate(clinic))
    assert told.returncode == 0, told.stderr
    assert "The certificate is true" in told.stdout
    found = json.loads(run("verify", certificate(clinic), "--json").stdout)
    assert found["release"] == 2
    assert len(found["checks"]) == 4
    alone = run("verify", certificate(clinic), "--files-only")
    assert "not checked" in alone.stdout
    made = run("report", clinic, "--out", clinic.parent / "report", "--json")
    assert json.loads(made.stdout)["largest_probability"] == found["largest_probability"]
    (clinic / "releases" / "r2" / "table.csv").write_text("nothing")
    assert run("verify", certificate(clinic)).returncode == 6
