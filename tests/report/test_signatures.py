"""Signed certificates: who signed one, and that nothing else passes for it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import serigraph
from audit.series_examples import policy, registry, tables
from cli.running import run
from ledger.modes import modes
from serigraph.errors import InputRefused, LedgerDamaged
from serigraph.ledger import Series
from serigraph.signing import PASSPHRASE, PublicKey, SigningKey

openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="OpenSSL is not installed")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A series with a signed release, a signed report and the keys, in one folder."""
    folder = tmp_path_factory.mktemp("signed")
    known = registry(400)
    table = tables(known, 1, 200)[0]
    serigraph.make_key(folder / "clinic.key")
    serigraph.make_key(folder / "other.key")
    series = Series.create(folder / "clinic", {"policy.toml": policy().encode()})
    serigraph.publish(table, series, registry=known, label="r1", sign=folder / "clinic.key")
    serigraph.report(series, sign=folder / "clinic.key")
    return folder


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return shutil.copytree(original, tmp_path / "signed")


def certificates(folder: Path) -> list[Path]:
    clinic = folder / "clinic"
    return [clinic / "releases" / "r1" / "certificate.json", clinic / "report" / "certificate.json"]


def test_a_pair_of_keys(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        told = run("key", tmp_path / "clinic.key", "--json")
    finally:
        os.umask(before)
    assert told.code == 0
    assert modes(tmp_path)[f"file {tmp_path.name}/clinic.key"] == "0o600"
    public = PublicKey.read(tmp_path / "clinic.key.pub")
    assert told.json["fingerprint"] == public.fingerprint
    assert told.json["is_locked"] is False
    signature = SigningKey.read(tmp_path / "clinic.key").sign(b"public")
    assert len(signature) == 64
    assert public.has_signed(b"public", signature)
    assert not public.has_signed(b"Public", signature)
    assert not public.has_signed(b"public", signature[:-1])
    shown = run("key", tmp_path / "second.key").out
    assert "without a passphrase" in shown
    assert PublicKey.read(tmp_path / "second.key.pub").fingerprint in shown


@pytest.mark.parametrize("there", ["clinic.key", "clinic.key.pub"])
def test_keys_are_never_overwritten(tmp_path: Path, there: str) -> None:
    (tmp_path / there).write_text("precious")
    told = run("key", tmp_path / "clinic.key")
    assert told.code == 3
    assert there in told.err
    assert [path.read_text() for path in tmp_path.iterdir()] == ["precious"]


def test_a_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSPHRASE, "horse staple")
    made = serigraph.make_key(tmp_path / "locked.key")
    assert made.is_locked
    assert b"ENCRYPTED" in made.private.read_bytes()
    signature = SigningKey.read(made.private).sign(b"public")
    assert PublicKey.read(made.public).has_signed(b"public", signature)
    monkeypatch.setenv(PASSPHRASE, "another")
    with pytest.raises(InputRefused, match="the passphrase is wrong"):
        SigningKey.read(made.private)
    monkeypatch.delenv(PASSPHRASE)
    with pytest.raises(InputRefused, match="encrypted with a passphrase"):
        SigningKey.read(made.private)
    unlocked = serigraph.make_key(tmp_path / "unlocked.key")
    monkeypatch.setenv(PASSPHRASE, "is not asked for")
    assert SigningKey.read(unlocked.private)


def test_whose_certificate_it_is(folder: Path) -> None:
    fingerprint = PublicKey.read(folder / "clinic.key.pub").fingerprint
    for path in certificates(folder):
        found = serigraph.verify(path, key=folder / "clinic.key.pub")
        assert found.signed_by == fingerprint
        assert found.checks[0] == (
            f"it was signed with the key clinic.key.pub (SHA-256 {fingerprint})"
        )
        assert serigraph.verify(path).signed_by == ""
        with pytest.raises(LedgerDamaged, match=r"not signed with the key other\.key\.pub"):
            serigraph.verify(path, key=folder / "other.key.pub")


def test_the_command(folder: Path, tmp_path: Path) -> None:
    away = shutil.copytree(folder / "clinic" / "releases" / "r1", tmp_path / "away")
    key = folder / "clinic.key.pub"
    told = run("verify", away / "certificate.json", "--files-only", "--key", key)
    assert told.code == 0
    assert "signed with the key clinic.key.pub" in told.out
    assert "which was signed with this key" in told.out
    found = run("verify", away / "certificate.json", "--files-only", "--key", key, "--json").json
    assert found["signed_by"] == PublicKey.read(key).fingerprint
    other = run(
        "verify", away / "certificate.json", "--files-only", "--key", f"{folder}/other.key.pub"
    )
    assert other.code == 6


def test_files_digests_and_certificate_changed_together(folder: Path, tmp_path: Path) -> None:
    """What ``--files-only`` cannot see without a signature."""
    away = shutil.copytree(folder / "clinic" / "releases" / "r1", tmp_path / "away")
    (away / "table.csv").write_text("age,sex,diagnosis\n")
    content = json.loads((away / "certificate.json").read_text())
    content["files"]["table.csv"] = hashlib.sha256(b"age,sex,diagnosis\n").hexdigest()
    (away / "certificate.json").write_text(json.dumps(content))
    assert serigraph.verify(away / "certificate.json", files_only=True)
    with pytest.raises(LedgerDamaged, match="not signed with the key"):
        serigraph.verify(away / "certificate.json", files_only=True, key=folder / "clinic.key.pub")


def test_a_signature_that_is_missing_or_belongs_to_another_certificate(folder: Path) -> None:
    of_release, of_series = certificates(folder)
    shutil.copy(of_series.with_suffix(".sig"), of_release.with_suffix(".sig"))
    key = folder / "clinic.key.pub"
    with pytest.raises(LedgerDamaged, match="not signed with the key"):
        serigraph.verify(of_release, key=key)
    of_release.with_suffix(".sig").unlink()
    with pytest.raises(LedgerDamaged, match="is not signed"):
        serigraph.verify(of_release, key=key)


def test_an_unsigned_report_leaves_no_old_signature(folder: Path) -> None:
    made = serigraph.report(folder / "clinic")
    assert not made.certificate.with_suffix(".sig").exists()


def test_the_ledger_knows_the_signature(folder: Path) -> None:
    series = Series.open(folder / "clinic")
    assert "certificate.sig" in [file.name for file in series.releases()[0].files]
    assert series.unknown_files() == ()
    (folder / "clinic" / "releases" / "r1" / "certificate.sig").write_bytes(bytes(64))
    with pytest.raises(LedgerDamaged, match=r"certificate\.sig"):
        series.check()


@pytest.mark.parametrize("content", [b"", b"no key", b"-----BEGIN PUBLIC KEY-----\n"])
def test_what_is_no_key(folder: Path, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "odd.key"
    path.write_bytes(content)
    with pytest.raises(InputRefused, match="not a private Ed25519 key"):
        SigningKey.read(path)
    with pytest.raises(InputRefused, match="not a public Ed25519 key"):
        PublicKey.read(path)
    with pytest.raises(InputRefused, match="key file does not exist"):
        SigningKey.read(tmp_path / "nowhere.key")
    before = Series.open(folder / "clinic").releases()
    with pytest.raises(InputRefused, match="not a public Ed25519 key"):
        serigraph.verify(certificates(folder)[0], key=folder / "clinic.key")
    told = run("publish", folder / "no.csv", "--series", folder / "clinic", "--sign", path)
    assert told.code == 3
    assert "not a private Ed25519 key" in told.err, "the key is read before the table is"
    assert Series.open(folder / "clinic").releases() == before


@openssl
def test_openssl_comes_to_the_same(folder: Path, tmp_path: Path) -> None:
    """The signature is over the bytes of the file: nothing of ours is needed to check it."""
    for path in certificates(folder):
        command = ["openssl", "pkeyutl", "-verify", "-pubin", "-rawin"]
        command += ["-inkey", str(folder / "clinic.key.pub"), "-in", str(path)]
        command += ["-sigfile", str(path.with_suffix(".sig"))]
        assert subprocess.run(command, capture_output=True, check=False).returncode == 0
        path.write_text(path.read_text().replace("presence", "Presence"))
        assert subprocess.run(command, capture_output=True, check=False).returncode != 0
    der = tmp_path / "public.der"
    convert = ["openssl", "pkey", "-pubin", "-in", str(folder / "clinic.key.pub")]
    subprocess.run([*convert, "-outform", "DER", "-out", str(der)], check=True)
    fingerprint = hashlib.sha256(der.read_bytes()).hexdigest()
    assert fingerprint == PublicKey.read(folder / "clinic.key.pub").fingerprint


@openssl
def test_a_key_of_openssl(tmp_path: Path) -> None:
    private, public = tmp_path / "private.pem", tmp_path / "public.pem"
    subprocess.run(
        ["openssl", "genpkey", "-algorithm", "ed25519", "-out", str(private)], check=True
    )
    subprocess.run(
        ["openssl", "pkey", "-in", str(private), "-pubout", "-out", str(public)], check=True
    )
    signature = SigningKey.read(private).sign(b"public")
    assert PublicKey.read(public).has_signed(b"public", signature)
    other = tmp_path / "rsa.pem"
    subprocess.run(
        ["openssl", "genpkey", "-quiet", "-algorithm", "rsa", "-out", str(other)], check=True
    )
    with pytest.raises(InputRefused, match="not a private Ed25519 key"):
        SigningKey.read(other)
