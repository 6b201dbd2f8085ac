"""Where the policy asks for approvals, a draft is published with enough of them, not with fewer."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import serigraph
from cli.running import run
from drafts.hospital import Hospital, Kind, hospital
from serigraph.errors import DraftRefused, InputRefused, LedgerDamaged, NotApproved
from serigraph.signing import PublicKey

PEOPLE = ("ann", "ben", "eve")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keys, and a series with a draft that two people have to approve of."""
    folder = tmp_path_factory.mktemp("original")
    for who in PEOPLE:
        serigraph.make_key(folder / who)
    made = hospital(folder, Kind(), more="[signing]\napprovals = 2\n")
    serigraph.draft(made.tables[0], made.series, label="r1", **made.options)
    return folder


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "folder"))


def fingerprint(folder: Path, who: str) -> str:
    return PublicKey.read(folder / f"{who}.pub").fingerprint


def test_two_people_approve(folder: Path) -> None:
    clinic = folder / "clinic"
    with pytest.raises(NotApproved, match="asks for 2 approvals, and the draft has 0"):
        serigraph.publish_draft(clinic, "r1")
    assert serigraph.approve(clinic, "r1", folder / "ann") == (fingerprint(folder, "ann"),)
    with pytest.raises(NotApproved, match="the draft has 1"):
        serigraph.publish_draft(clinic, "r1")
    both = serigraph.approve(clinic, "r1", folder / "ben")
    (draft,) = serigraph.drafts(clinic)
    assert set(draft.approvals) == set(both) == {fingerprint(folder, who) for who in ("ann", "ben")}
    release = serigraph.publish_draft(clinic, "r1")
    assert set(release.figures["approved_by"]) == set(both)
    certificate = json.loads((release.folder / "certificate.json").read_text())
    assert certificate["approvals"] == 2
    approvals = sorted(path.name for path in release.folder.glob("approval-*.json"))
    assert approvals == sorted(f"approval-{each[:16]}.json" for each in both)
    recorded = {file.name for file in serigraph.status(clinic).releases[0].files}
    assert set(approvals) <= recorded
    serigraph.Series.open(clinic).check()


@pytest.fixture
def released(folder: Path) -> Path:
    """The certificate of a release that ann and ben have approved of."""
    for who in ("ann", "ben"):
        serigraph.approve(folder / "clinic", "r1", folder / who)
    return serigraph.publish_draft(folder / "clinic", "r1").folder / "certificate.json"


def test_a_reader_checks_with_keys(folder: Path, released: Path) -> None:
    keys = [folder / f"{who}.pub" for who in ("ann", "ben")]
    found = serigraph.verify(released, key=keys)
    assert found.approved_by == tuple(fingerprint(folder, who) for who in ("ann", "ben"))
    assert found.signed_by == ""
    assert "of the 2 approvals that it asks for, 2 were made with keys that you gave" in "\n".join(
        found.checks
    )
    received = shutil.copytree(released.parent, folder / "received") / "certificate.json"
    assert len(serigraph.verify(received, files_only=True, key=keys[:1]).approved_by) == 1
    assert serigraph.verify(received, files_only=True).approved_by == ()
    with pytest.raises(LedgerDamaged, match=r"not signed or approved of with the key eve\.pub"):
        serigraph.verify(released, key=[*keys, folder / "eve.pub"])
    told = run("verify", received, "--files-only", "--key", keys[0], "--key", keys[1], "--json")
    assert told.json["approved_by"] == list(found.approved_by)


def test_what_a_reader_got_with_an_approval_missing_or_of_another(
    folder: Path, released: Path
) -> None:
    received = Path(shutil.copytree(released.parent, folder / "received"))
    certificate = received / "certificate.json"
    first, second = sorted(received.glob("approval-*.json"))
    content = first.read_bytes()
    first.unlink()
    with pytest.raises(LedgerDamaged, match="asks for 2 approvals, and 1 lie beside it"):
        serigraph.verify(certificate, files_only=True)
    first.write_bytes(second.read_bytes())  # a repeated one
    with pytest.raises(LedgerDamaged, match="and 1 lie beside it"):
        serigraph.verify(certificate, files_only=True)
    first.write_bytes(b"{}")
    with pytest.raises(LedgerDamaged, match="not an approval"):
        serigraph.verify(certificate, files_only=True)
    first.write_bytes(content)
    certificate.write_text(certificate.read_text().replace('"approvals": 2', '"approvals": 0'))
    with pytest.raises(LedgerDamaged, match="that of another certificate"):
        serigraph.verify(certificate, files_only=True)


def approvals(folder: Path) -> Path:
    (draft,) = (folder / "clinic" / "drafts").iterdir()
    return draft / "approvals"


def test_signatures_that_do_not_count(folder: Path) -> None:
    clinic = folder / "clinic"
    serigraph.approve(clinic, "r1", folder / "ann")
    with pytest.raises(NotApproved, match="has approved of the draft already"):
        serigraph.approve(clinic, "r1", folder / "ann")
    (own,) = approvals(folder).iterdir()
    repeated = own.with_name("approval-0000000000000000.json")
    repeated.write_bytes(own.read_bytes())
    with pytest.raises(NotApproved, match="twice, or under another name"):
        serigraph.publish_draft(clinic, "r1")
    repeated.unlink()

    known = json.loads(own.read_text())
    eve = fingerprint(folder, "eve")
    forgeries = {
        "not signed with the key": known | {"public_key": (folder / "eve.pub").read_text()},
        "was not signed": known | {"signature": "00" * 64},
        "that of another draft": known | {"draft": "0" * 64},
        "not an approval": {"signature": "?"},
    }
    for match, forged in forgeries.items():
        path = own.with_name(f"approval-{eve[:16]}.json")
        path.write_text(json.dumps(forged))
        with pytest.raises(NotApproved, match=match):
            serigraph.publish_draft(clinic, "r1")
        (draft,) = serigraph.drafts(clinic)
        assert draft.obstacle
        path.unlink()
    assert serigraph.status(clinic).releases == ()


def test_the_approval_of_another_draft(folder: Path) -> None:
    clinic = folder / "clinic"
    serigraph.approve(clinic, "r1", folder / "ann")
    (own,) = approvals(folder).iterdir()
    other = hospital(folder / "other", Kind())
    again = serigraph.draft(other.tables[0], clinic, label="again", registry=other.registry)
    (again.folder / "approvals").mkdir()
    shutil.copy(own, again.folder / "approvals" / own.name)
    with pytest.raises(NotApproved, match="that of another draft"):
        serigraph.publish_draft(clinic, again.name)


def test_keys_that_the_policy_does_not_name(tmp_path: Path) -> None:
    for who in PEOPLE:
        serigraph.make_key(tmp_path / who)
    keys = [fingerprint(tmp_path, who) for who in ("ann", "ben")]
    made = hospital(tmp_path, Kind(), more=f"[signing]\napprovals = 2\nkeys = {keys}\n")
    serigraph.draft(made.tables[0], made.series, label="r1", **made.options)
    with pytest.raises(NotApproved, match="does not name the key"):
        serigraph.approve(made.series, "r1", tmp_path / "eve")
    for who in ("ann", "ben"):
        serigraph.approve(made.series, "r1", tmp_path / who)
    assert serigraph.publish_draft(made.series, "r1").record.number == 1


def test_a_table_is_not_published_at_once(folder: Path) -> None:
    other: Hospital = hospital(folder / "other", Kind())
    with pytest.raises(NotApproved, match="before a release is published") as refusal:
        serigraph.publish(other.tables[0], folder / "clinic", registry=other.registry)
    assert "serigraph publish --draft NAME" in refusal.value.remedy


def test_an_approval_that_nobody_asks_for_or_that_comes_too_late(folder: Path) -> None:
    made = hospital(folder / "other", Kind())
    name = serigraph.draft(made.tables[0], made.series, label="r1", **made.options).name
    with pytest.raises(NotApproved, match="asks for no approvals"):
        serigraph.approve(made.series, name, folder / "ann")
    policy = folder / "clinic" / "policy.toml"
    policy.write_text(policy.read_text().replace("approvals = 2", "approvals = 1"))
    with pytest.raises(DraftRefused, match="the policy"):
        serigraph.approve(folder / "clinic", "r1", folder / "ann")
    with pytest.raises(InputRefused, match="not a private Ed25519 key"):
        serigraph.approve(folder / "clinic", "r1", folder / "ann.pub")


def test_fewer_keys_than_approvals(tmp_path: Path) -> None:
    made = hospital(tmp_path, Kind(), more=f'[signing]\napprovals = 2\nkeys = ["{"0" * 64}"]\n')
    with pytest.raises(InputRefused, match="2 approvals need as many keys, and keys has 1"):
        serigraph.draft(made.tables[0], made.series)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="OpenSSL is not installed")
def test_openssl_agrees(folder: Path, released: Path) -> None:
    own = released.with_name(f"approval-{fingerprint(folder, 'ann')[:16]}.json")
    known = json.loads(own.read_text())
    statement = f"serigraph approval\ncertificate {known['certificate']}\ndraft {known['draft']}\n"
    (folder / "statement").write_text(statement)
    (folder / "signature").write_bytes(bytes.fromhex(known["signature"]))
    command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", folder / "ann.pub", "-rawin"]
    files = ["-in", folder / "statement", "-sigfile", folder / "signature"]
    assert subprocess.run([*command, *files], capture_output=True, check=False).returncode == 0
