"""Nothing that lies in the folder of a draft is believed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import serigraph
from drafts.hospital import Hospital, Kind, forged, hospital, rewrite
from publishing.series_digest import digest_of_series
from serigraph.errors import DraftRefused, SerigraphError
from serigraph.policy import digest_of_policy, read_policy
from serigraph.reporting import Draft

Change = Callable[[Path], None]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Hospital:
    made = hospital(tmp_path_factory.mktemp("original"), Kind("bucketised"))
    serigraph.draft(made.tables[0], made.series, label="r1", **made.options)
    return made


def copied(original: Hospital, tmp_path: Path) -> tuple[Path, Draft]:
    path = Path(shutil.copytree(original.series.path, tmp_path / "clinic"))
    (draft,) = serigraph.drafts(path)
    return path, draft


def appended(name: str) -> Change:
    def change(folder: Path) -> None:
        with (folder / name).open("ab") as file:
            file.write(b" ")

    return change


CHANGES: dict[str, Change] = {
    "a public file": appended("public/sensitive.csv"),
    "the certificate": appended("public/certificate.json"),
    "a part": appended("parts/members.parquet"),
    "the sample": appended("sample.json"),
    "the report": appended("report.html"),
    "the manifest": appended("draft.json"),
    "a missing file": lambda folder: (folder / "public/sensitive.csv").unlink(),
    "a missing part": lambda folder: (folder / "parts/holders.parquet").unlink(),
    "a missing manifest": lambda folder: (folder / "draft.json").unlink(),
    "one more file": lambda folder: (folder / "public/raw.csv").write_text("P1,HIV"),
    "a link": lambda folder: (folder / "public/raw.csv").symlink_to("/etc/hostname"),
    "another name": lambda folder: None,
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_draft_that_was_changed(original: Hospital, tmp_path: Path, what: str) -> None:
    path, draft = copied(original, tmp_path)
    CHANGES[what](draft.folder)
    name = draft.name
    if what == "another name":
        name = f"{name[:-1]}{'0' if name[-1] != '0' else '1'}"
        draft.folder.rename(draft.folder.with_name(name))
    before = digest_of_series(path)
    with pytest.raises(DraftRefused, match="was changed after it was made"):
        serigraph.publish_draft(path, name)
    assert digest_of_series(path) == before
    assert serigraph.status(path).releases == ()


def in_values(change: Callable[[pl.DataFrame], pl.DataFrame]) -> Change:
    """Change the part that says what groups hold."""

    def changed(folder: Path) -> None:
        path = folder / "parts" / "values.parquet"
        rewrite(path, change(pl.read_parquet(path)))

    return changed


def smaller_group(folder: Path) -> None:
    """One member of the first group goes to the second, in every part."""
    path = folder / "parts" / "members.parquet"
    members = pl.read_parquet(path)
    place = members["group"].to_list().index(0)
    group = members["group"].to_list()
    group[place] = 1
    rewrite(path, members.with_columns(group=pl.Series(group, dtype=pl.UInt32)))
    path = folder / "parts" / "groups.parquet"
    size = pl.read_parquet(path)["size"].to_list()
    rewrite(
        path,
        pl.read_parquet(path).with_columns(
            size=pl.Series([size[0] - 1, size[1] + 1, *size[2:]], dtype=pl.UInt32)
        ),
    )


def unseen_group(folder: Path) -> None:
    """The members say something else than the groups."""
    path = folder / "parts" / "groups.parquet"
    groups = pl.read_parquet(path)
    rewrite(path, groups.with_columns(size=groups["size"] + 1))


def milder_certificate(folder: Path) -> None:
    path = folder / "public" / "certificate.json"
    known = json.loads(path.read_text())
    known["guarantee"]["largest_probability"] = "1/100"
    path.write_text(json.dumps(known))


def certificate_of_another(folder: Path) -> None:
    path = folder / "public" / "certificate.json"
    path.write_text(path.read_text().replace('"release": 1', '"release": 2'))


FORGERIES: dict[str, tuple[Change, dict[str, object]]] = {
    "fewer values": (in_values(lambda values: values.head(values.height - 1)), {}),
    "larger counts": (in_values(lambda values: values.with_columns(count=values["count"] + 5)), {}),
    "a value that is not protected": (
        in_values(lambda values: values.with_columns(value=pl.lit("flu"))),
        {},
    ),
    "people in another group": (smaller_group, {}),
    "groups that their members do not have": (unseen_group, {}),
    "a milder certificate": (milder_certificate, {}),
    "the certificate of another release": (certificate_of_another, {}),
    "another threshold": (lambda folder: None, {"threshold": "9/10"}),
    "another adversary": (lambda folder: None, {"adversary": "presence known"}),
    "another number": (lambda folder: None, {"number": 2}),
    "another policy": (lambda folder: None, {"policy": {}}),
    "another time": (lambda folder: None, {"published_at": "2020-01-01T00:00:00+00:00"}),
    "another strategy": (lambda folder: None, {"strategy": "geometric"}),
    "no people": (lambda folder: None, {"members": 0}),
    "nonsense": (lambda folder: None, {"policy_digest": None}),
    "nonsense of another type": (lambda folder: None, {"summary": 7}),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_forged_draft_whose_digests_fit(original: Hospital, tmp_path: Path, what: str) -> None:
    """Somebody can write the folder, and has made the name fit as well."""
    path, draft = copied(original, tmp_path)
    change, known = FORGERIES[what]
    name = forged(draft, change, **known)
    with pytest.raises(SerigraphError) as refusal:
        serigraph.publish_draft(path, name)
    assert refusal.value.exit_code in (4, 6)
    assert serigraph.status(path).releases == ()
    assert not any((path / "ledger").iterdir())
    assert not any((path / "releases").iterdir())


def test_a_draft_with_fitting_digests_and_nothing_changed_is_published(
    original: Hospital, tmp_path: Path
) -> None:
    """So that it is not the way of forging that is refused."""
    path, draft = copied(original, tmp_path)
    name = forged(draft, lambda folder: None, nonce="another")
    assert name != draft.name
    assert serigraph.publish_draft(path, name).record.number == 1


def test_groups_that_the_guarantee_does_not_allow(tmp_path: Path) -> None:
    """A whole draft that was made under a threshold that the policy does not have."""
    made = hospital(tmp_path, Kind("bucketised", has_registry=False))
    path = made.series.path / "policy.toml"
    strict = path.read_text().replace('"constant"', '"constant"\nreleases = 1')
    path.write_text(strict.replace('threshold = "1/2"', 'threshold = "9/10"'))
    draft = serigraph.draft(made.tables[0], made.series, label="r1", **made.options)
    path.write_text(strict.replace('threshold = "1/2"', 'threshold = "1/10"'))
    (now,) = serigraph.drafts(made.series)
    assert "the policy" in now.obstacle
    policy = read_policy(path)

    def change(folder: Path) -> None:
        certificate = folder / "public" / "certificate.json"
        known = json.loads(certificate.read_text())
        known["threshold"] = "1/10"
        known["policy"] = policy.frozen()
        certificate.write_text(json.dumps(known))

    name = forged(
        draft,
        change,
        threshold="1/10",
        policy=policy.frozen(),
        policy_digest=digest_of_policy(path),
    )
    with pytest.raises(SerigraphError, match="above their threshold"):
        serigraph.publish_draft(made.series, name)
    assert made.series.releases() == ()
