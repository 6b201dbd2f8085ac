"""The report and the certificate of a release: there before the commit, and true."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import jsonschema
import numpy as np
import polars as pl
import pytest

import serigraph
from audit.series_examples import policy, published, registry, tables
from serigraph.engines import Plan, VerifiedRelease
from serigraph.errors import GuaranteeExceeded, StorageError
from serigraph.ledger import ReleaseDraft, Series
from serigraph.ledger.layout import CATALOG
from serigraph.ledger.release import chain_link, chain_start
from serigraph.model import Past, Proof
from serigraph.policy import parse_policy
from serigraph.publishing import Unpublished, publish
from serigraph.reporting import publish_with_report, read_certificate, write_documents
from serigraph.reporting.certificate import schema_text, shipped_schema
from serigraph.reporting.page import Page, Section, Table, render
from serigraph.reporting.risk import measure_risk, together, touched_pairs

HEADINGS = [
    "Context assessment",
    "Data assessment",
    "Identifiability assessment and mitigation",
    "Governance",
]


@pytest.fixture(scope="module", params=["generalised", "bucketised"])
def series(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Series:
    return published(tmp_path_factory.mktemp("series") / "clinic", form=request.param)


def test_every_release_has_both_documents_and_the_ledger_knows_them(series: Series) -> None:
    for record in series.releases():
        folder = series.path / "releases" / record.label
        known = {file.name: file.sha256 for file in record.files}
        for name in ("report.html", "certificate.json"):
            assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == known[name]
        certificate = read_certificate(folder / "certificate.json")
        assert certificate.files == {
            name: digest for name, digest in known.items() if name != "certificate.json"
        }
        assert certificate.release == record.number
        assert certificate.guarantee.largest_probability == record.summary["largest_probability"]
        assert certificate.policy == record.policy


def test_the_report_is_arranged_after_the_four_clauses(series: Series) -> None:
    page = (series.path / "releases" / "r4" / "report.html").read_text()
    assert re.findall("<h2>(.*?)</h2>", page) == HEADINGS
    assert re.findall("<h3>(.*?)</h3>", page) == ["Measured", "Mitigated", "Residual risk"]
    for words in ("presence unknown", "not stated in the policy"):
        assert words in page
    files = read_certificate(series.path / "releases/r4/certificate.json").files
    for name, digest in files.items():
        assert (digest in page) == (name != "report.html"), "no file can hold its own digest"


def test_no_person_is_in_the_documents(series: Series) -> None:
    for path in (series.path / "releases").rglob("*.*"):
        assert b"secret-" not in path.read_bytes(), path.name


def test_certificates_fit_the_published_schema(series: Series) -> None:
    schema = json.loads(shipped_schema())
    jsonschema.Draft202012Validator.check_schema(schema)
    text = (series.path / "releases" / "r2" / "certificate.json").read_text()
    jsonschema.validate(json.loads(text), schema)
    wrong = json.loads(text) | {"threshold": 0.5}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema)


def test_the_schema_that_is_shipped_is_that_of_the_code() -> None:
    assert shipped_schema() == schema_text()


def test_a_large_release_is_sampled(tmp_path: Path) -> None:
    known = registry(500)
    series = Series.create(tmp_path / "clinic", {"policy.toml": policy().encode()})
    seen = []

    def measure(made: VerifiedRelease, plan: Plan, past: Past, ids: pl.Series) -> None:
        protected = made.population.protected
        sample = touched_pairs(past, ids, made.proof, protected, plan, 100)
        seen.append((sample, measure_risk(made, plan, past, ids).touched))

    for table in tables(known, 3, 300):
        publish(table, series, registry=known, measure=measure, allow_suppression=True)
    for sample, whole in seen:
        assert sample.is_sample
        assert sample.people <= 100
        assert not whole.is_sample
        assert sample.mean == pytest.approx(whole.mean, rel=0.5)
        assert sum(sample.by_share_of_threshold) == sample.pairs < whole.pairs
        halves = together([whole, sample])
        assert halves.mean == pytest.approx(whole.mean, rel=0.5)
        assert halves.pairs == pytest.approx(2 * whole.pairs, rel=0.3)


def test_a_failing_document_publishes_nothing(tmp_path: Path) -> None:
    known = registry(500)
    series = Series.create(tmp_path / "clinic", {"policy.toml": policy().encode()})

    def fail(release: Unpublished) -> None:
        write_documents(release)
        raise StorageError("the disk is full")

    with pytest.raises(StorageError):
        publish_with_report(tables(known, 1, 300)[0], series, registry=known, documents=fail)
    assert series.releases() == ()
    assert list((series.path / "releases").iterdir()) == []


def test_the_report_of_a_series(series: Series, tmp_path: Path) -> None:
    made = serigraph.report(series, tmp_path / "out")
    page = made.report.read_text()
    assert re.findall("<h2>(.*?)</h2>", page) == HEADINGS
    assert "secret-" not in page
    certificate = read_certificate(made.certificate)
    assert certificate.kind == "series"
    assert certificate.guarantee.pairs == made.audit.over_all.pairs
    assert len(certificate.files) == sum(len(each.files) for each in series.releases())


def test_nothing_is_certified_that_does_not_hold(tmp_path: Path) -> None:
    """A ledger that nobody verified: one of two people holds a value whose threshold is 1/3."""
    text = policy().replace('threshold = "1/2"', 'threshold = "1/3"')
    series = Series.create(tmp_path / "clinic", {"policy.toml": text.encode()})
    proof = Proof(
        ids=pl.Series(["one", "two"]),
        group=np.zeros(2, dtype=np.uint32),
        present=np.ones(2, dtype=np.bool_),
        size=np.array([2]),
        present_size=np.array([2]),
        value_group=np.zeros(1, dtype=np.uint32),
        value_name=pl.Series(["HIV"]),
        value_count=np.array([1]),
        largest=Fraction(1, 2),
        pairs=2,
        exact_pairs=0,
        holder=np.array([0]),
        held=np.array([0], dtype=np.int32),
        protected_names=("HIV",),
    )
    draft = ReleaseDraft(
        label="r1",
        published_at=datetime(2024, 1, 1, tzinfo=UTC),
        table_digest="any",
        policy=parse_policy(text, "the policy", tmp_path).frozen(),
        protected={"rule": "all but", "values": ["flu"]},
        threshold="1/3",
        strategy="none",
        adversary="presence unknown",
        summary={},
    )
    with series.writing() as writer:
        table = pl.DataFrame(
            {"age": ["[20, 30]"] * 2, "sex": ["F"] * 2, "diagnosis": ["HIV", "flu"]}
        )
        table.write_parquet(writer.staging / "table.parquet")
        writer.commit(proof, draft)
    assert not serigraph.audit(series).is_within
    with pytest.raises(GuaranteeExceeded, match="2 pairs are above"):
        serigraph.report(series, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_names_cannot_break_out_of_the_page() -> None:
    evil = "<script>alert('x')</script>"
    page = render(
        Page(
            evil,
            evil,
            evil,
            True,
            [Section(evil, evil, [(evil, evil)], (), [Table([evil], [[evil]])])],
        )
    )
    assert "<script>" not in page


def test_values_with_angles_in_a_real_report(tmp_path: Path) -> None:
    known = registry(500)
    text = policy().replace('"any STD" = ["chlamydia", "syphilis"]', '"<b>any</b>" = ["HIV"]')
    series = Series.create(tmp_path / "clinic", {"policy.toml": text.encode()})
    table = tables(known, 1, 300)[0].with_columns(
        pl.col("diagnosis").replace({"chlamydia": "<img src=x>"})
    )
    made = publish_with_report(table, series, registry=known, allow_suppression=True)
    page = (made.folder / "report.html").read_text()
    assert "<img" not in page
    assert "<b>" not in page
    assert "&lt;img src=x&gt;" in page


def test_group_sizes_of_a_release_without_protected_values(tmp_path: Path) -> None:
    known = registry(50)
    series = Series.create(tmp_path / "clinic", {"policy.toml": policy().encode()})
    table = known.with_columns(pl.lit("flu").alias("diagnosis"))
    made = publish_with_report(table, series)
    assert np.isclose(made.figures["mean_size_with_protected_value"], 0)
    page = (made.folder / "report.html").read_text()
    assert "the promise holds" in page


def test_the_publisher_is_told_and_may_change(tmp_path: Path) -> None:
    known = registry(500)
    series = Series.create(tmp_path / "clinic", {"policy.toml": policy().encode()})
    stated = """
[publisher]
name = "General <Hospital>"
contact = "privacy@hospital.example"
recipients = "signed researchers"
re_evaluation = "every January"
incidents = "are reported"
[publisher.roles]
"data-protection officer" = "Jo Doe"
"""
    rules = policy() + '[protected.persistence]\ndefault = "transient"\n'
    for number, table in enumerate(tables(known, 2, 300), 1):
        text = rules + (stated if number == 2 else "")
        (series.path / "policy.toml").write_text(text, encoding="utf-8")
        made = publish_with_report(table, series, registry=known, label=f"r{number}")
        page = (made.folder / "report.html").read_text(encoding="utf-8")
        certificate = read_certificate(made.folder / "certificate.json")
        assert certificate.publisher is not None
        if number == 1:
            assert page.count("not stated in the policy") == 6
            assert certificate.publisher.name is None
            continue
        assert "not stated" not in page
        for words in (
            "General &lt;Hospital&gt;",
            "data-protection officer: Jo Doe",
            "are reported",
        ):
            assert words in page
        assert certificate.publisher.roles == {"data-protection officer": "Jo Doe"}
    assert "publisher" not in series.releases()[-1].policy
    of_series = serigraph.report(series, tmp_path / "out").report.read_text(encoding="utf-8")
    assert "signed researchers" in of_series


@pytest.mark.parametrize("own", [{}, {"HIV": "1/4"}])
def test_figures_of_releases_that_did_not_say_them(tmp_path: Path, own: dict[str, str]) -> None:
    """Releases of version 0.1.0 have neither worst pairs nor a word on the registry."""
    thresholds = "".join(f'\n[protected.thresholds]\n{name} = "{t}"' for name, t in own.items())
    text = policy().replace("\n[guarantee]", f"{thresholds}\n[guarantee]")
    series = Series.create(tmp_path / "clinic", {"policy.toml": text.encode()})
    known = registry(500)
    first, second, third = tables(known, 3, 300)
    told = []
    for table in (first, second):
        made = publish_with_report(table, series, registry=known, allow_suppression=True)
        told.append((made.figures["worst_in_release"], made.figures["worst_in_series"]))
    forget(series, {"worst_in_release", "worst_in_series", "has_registry"})
    found = serigraph.status(series).closest
    for pair, (in_release, in_series) in zip(found, told, strict=True):
        for mine, theirs in ((pair.in_release, in_release), (pair.in_series, in_series)):
            assert mine is not None
            assert str(mine.probability) == theirs["probability"]
            assert str(mine.threshold) == theirs["threshold"]
    made = publish_with_report(third, series, registry=known, allow_suppression=True)
    whole = serigraph.audit(series).over_all.worst
    assert whole is not None
    assert Fraction(made.figures["worst_in_series"]["probability"]) == whole.probability
    assert serigraph.verify(made.folder / "certificate.json").largest is not None
    assert serigraph.report(series, tmp_path / "out").report.exists()


def forget(series: Series, keys: set[str]) -> None:
    """Make the catalog say less of its releases, as an older version did; its chain fits."""
    with sqlite3.connect(series.path / CATALOG) as catalog:
        columns = [row[1] for row in catalog.execute("PRAGMA table_info(release)")]
        (identity,) = catalog.execute("SELECT identity FROM series").fetchone()
        chain = chain_start(identity)
        for row in catalog.execute("SELECT * FROM release ORDER BY number").fetchall():
            given = dict(zip(columns, row, strict=True))
            summary = json.loads(given["summary_json"])
            given["summary_json"] = json.dumps({k: v for k, v in summary.items() if k not in keys})
            chain = chain_link(chain, [given[name] for name in columns[:-2]])
            catalog.execute(
                "UPDATE release SET summary_json = ?, chain = ? WHERE number = ?",
                (given["summary_json"], chain, given["number"]),
            )
    catalog.close()
