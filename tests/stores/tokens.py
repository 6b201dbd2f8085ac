"""Google's way to log in: a signed request for a token, to a server that checks the signature."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import jwt

_AUDIENCE = "https://oauth2.googleapis.com/token"  # nobody is asked there; the request names it


@contextmanager
def service_accounts(folder: Path, *names: str) -> Iterator[dict[str, Path]]:
    """The key file of each account. A server knows the first of them alone."""
    keys = {name: rsa.generate_private_key(65537, 2048) for name in names}
    known = keys[names[0]].public_key()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(_public_pem(known)))
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    files = {}
    for name, key in keys.items():
        files[name] = folder / f"{name}.json"
        files[name].write_text(
            json.dumps(
                {
                    "type": "service_account",
                    "project_id": "hospital",
                    "private_key": _private_pem(key),
                    "client_email": f"{name}@hospital.example",
                    "token_uri": f"http://127.0.0.1:{server.server_port}/token",
                }
            )
        )
    try:
        yield files
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


def _handler(known: bytes) -> type[BaseHTTPRequestHandler]:
    class Tokens(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
            status, answer = 200, {"access_token": "ya29.sesame", "expires_in": 3600}
            try:
                jwt.decode(parse_qs(asked)["assertion"][0], certs=known, audience=_AUDIENCE)
            except ValueError:
                status, answer = 400, {"error": "invalid_grant"}
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    return Tokens


def _private_pem(key: rsa.RSAPrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()


def _public_pem(key: rsa.RSAPublicKey) -> bytes:
    return key.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
