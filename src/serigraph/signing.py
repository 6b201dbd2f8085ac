"""Signatures of certificates: Ed25519 over the bytes of ``certificate.json`` as it is published.
And approvals of drafts, which are signatures of a statement about the certificate and the draft.

Keys are PEM files (PKCS 8 and SubjectPublicKeyInfo), which OpenSSL can read and write. A
signature is a file of 64 bytes beside the certificate, ``certificate.sig``. It is computed from
public bytes only, so it reveals nothing but who signed them.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from serigraph.errors import InputRefused, NotApproved
from serigraph.ledger.storage import new_file, storage_errors
from serigraph.short_repr import ShortRepr
from serigraph.tables.extras import optional_package

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

SIGNATURE = "certificate.sig"
APPROVAL = "approval-"  # the beginning of a file's name; the rest is that of a fingerprint
_NAMED = 16  # digits
PASSPHRASE = "SERIGRAPH_PASSPHRASE"  # an environment variable: others could see an argument
_LOCKED = b"-----BEGIN ENCRYPTED PRIVATE KEY-----"


@dataclass(frozen=True, repr=False)
class KeyPair(ShortRepr):
    """The files of a new key pair: one to keep secret, one to hand out."""

    private: Path
    public: Path
    fingerprint: str
    is_locked: bool  # whether the private key needs the passphrase

    def _facts(self) -> dict[str, object]:
        return {
            "private key": self.private,
            "public key": self.public,
            "fingerprint": self.fingerprint,
            "has a passphrase": "yes" if self.is_locked else "no",
        }


@dataclass(frozen=True)
class SigningKey:
    """A private key."""

    _key: Ed25519PrivateKey

    @staticmethod
    def read(key: str | os.PathLike[str] | SigningKey) -> SigningKey:
        """Read a private key from its file, if it is not read already; the passphrase comes from
        the environment if it is encrypted."""
        if isinstance(key, SigningKey):
            return key
        _require_cryptography()
        return SigningKey.from_pem(_content(Path(key)), str(key))

    @staticmethod
    def from_pem(content: bytes, where: str, passphrase: bytes | None = None) -> SigningKey:
        """The private key in the content of a file. One that is encrypted needs a passphrase, by
        default that of the environment."""
        _require_cryptography()
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        is_locked = content.startswith(_LOCKED)
        try:
            key = load_pem_private_key(
                content, (passphrase or _passphrase()) if is_locked else None
            )
        except TypeError:
            raise InputRefused(
                "the private key is encrypted with a passphrase",
                where=where,
                remedy=f"give its passphrase, to a command in the variable {PASSPHRASE}",
            ) from None
        except (ValueError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise InputRefused(
                "this is not a private Ed25519 key in a PEM file, or the passphrase is wrong",
                where=where,
                remedy="give the private key that 'serigraph key' made, and its passphrase, to a "
                f"command in {PASSPHRASE}",
            )
        return SigningKey(key)

    def sign(self, content: bytes) -> bytes:
        """The signature of these bytes, which must be public."""
        return self._key.sign(content)

    def public_pem(self) -> str:
        """The public key, as its file has it."""
        return _pem_of(self._key.public_key()).decode()


@dataclass(frozen=True)
class PublicKey:
    """A public key, and the name of its file."""

    name: str
    _key: Ed25519PublicKey

    @staticmethod
    def read(path: str | os.PathLike[str]) -> PublicKey:
        """Read a public key."""
        return PublicKey.from_pem(_content(Path(path)), Path(path).name, str(path))

    @staticmethod
    def from_pem(content: bytes, name: str, where: str = "") -> PublicKey:
        """The public key in the content of a file."""
        _require_cryptography()
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key

        try:
            key = load_pem_public_key(content)
        except (ValueError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, Ed25519PublicKey):
            raise InputRefused(
                "this is not a public Ed25519 key in a PEM file",
                where=where or name,
                remedy="give the publisher's public key, whose file name ends in .pub",
            )
        return PublicKey(name, key)

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the key as DER, for people to compare."""
        return _fingerprint(self._key)

    def has_signed(self, content: bytes, signature: bytes) -> bool:
        from cryptography.exceptions import InvalidSignature

        try:
            self._key.verify(signature, content)
        except InvalidSignature:
            return False
        return True


def make_key(path: str | os.PathLike[str]) -> KeyPair:
    """Make a key pair: the private key at ``path``, readable by its owner only, and the public key
    beside it, with ``.pub`` appended to the name.

    The private key is encrypted with the passphrase in the environment, if there is one.
    ``InputRefused`` if either path exists.
    """
    _require_cryptography()
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private, public = Path(path), Path(f"{os.fspath(path)}.pub")
    for each in (private, public):
        if os.path.lexists(each):
            raise InputRefused(
                "this path already exists, and keys are never overwritten",
                where=str(each),
                remedy="give another path",
            )
    key = Ed25519PrivateKey.generate()
    passphrase = _passphrase()
    lock = (
        serialization.BestAvailableEncryption(passphrase)
        if passphrase
        else serialization.NoEncryption()
    )
    pem = serialization.Encoding.PEM
    with storage_errors(private):
        with new_file(private) as file:
            file.write(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, lock))
        with open(public, "xb") as file:
            file.write(_pem_of(key.public_key()))
    return KeyPair(private, public, _fingerprint(key.public_key()), passphrase is not None)


def _fingerprint(key: Ed25519PublicKey) -> str:
    from cryptography.hazmat.primitives import serialization

    der = key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return hashlib.sha256(der).hexdigest()


def _pem_of(key: Ed25519PublicKey) -> bytes:
    from cryptography.hazmat.primitives import serialization

    return key.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def _passphrase() -> bytes | None:
    return os.fsencode(os.environ.get(PASSPHRASE, "")) or None


def _content(path: Path) -> bytes:
    if not path.is_file():
        raise InputRefused("the key file does not exist", where=str(path), remedy="check the path")
    with storage_errors(path):
        return path.read_bytes()


def _require_cryptography() -> None:
    optional_package("cryptography", extra="signing", purpose="signing certificates")


@dataclass(frozen=True)
class Approval:
    """That the owner of a key has approved of a draft: of its certificate, which is public, and of
    the draft as a whole, of which only a digest with a secret in it becomes public."""

    certificate: str  # SHA-256
    draft: str  # SHA-256
    public_key: str  # PEM
    signature: bytes

    @staticmethod
    def of(certificate: str, draft: str, key: SigningKey) -> Approval:
        """Sign a draft with this certificate."""
        signature = key.sign(_statement(certificate, draft))
        return Approval(certificate, draft, key.public_pem(), signature)

    @staticmethod
    def read(path: Path) -> Approval:
        """Read an approval; ``NotApproved`` if the file is none."""
        try:
            known = json.loads(path.read_bytes())
            names = ("certificate", "draft", "public_key")
            certificate, draft, public_key = (str(known[name]) for name in names)
            signature = bytes.fromhex(known["signature"])
        except (ValueError, KeyError, TypeError):
            raise NotApproved(
                "this file is not an approval",
                where=str(path),
                remedy="remove it, and let the draft be approved with 'serigraph approve'",
            ) from None
        return Approval(certificate, draft, public_key, signature)

    def to_text(self) -> str:
        """The approval as it is written: indented JSON."""
        known = {
            "certificate": self.certificate,
            "draft": self.draft,
            "public_key": self.public_key,
            "signature": self.signature.hex(),
        }
        return json.dumps(known, indent=2) + "\n"

    @property
    def key(self) -> PublicKey:
        """The key that it says it was signed with; whose key that is, it does not say."""
        return PublicKey.from_pem(self.public_key.encode(), "an approval")

    @property
    def file_name(self) -> str:
        return f"{APPROVAL}{self.key.fingerprint[:_NAMED]}.json"

    def is_by(self, key: PublicKey) -> bool:
        """Whether the owner of this key has signed it."""
        return key.has_signed(_statement(self.certificate, self.draft), self.signature)


def _statement(certificate: str, draft: str) -> bytes:
    """The bytes that are signed. They are nothing that a certificate could be."""
    return f"serigraph approval\ncertificate {certificate}\ndraft {draft}\n".encode()
