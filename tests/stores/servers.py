"""Servers of three stores on this machine, each with a bucket, and what says where they are.

Moto and Azurite check keys and signatures. The emulator of Google's store does not: there, the
server that gives out tokens does.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from azure.storage.blob import BlobServiceClient

from stores.tokens import service_accounts

BUCKET = "sesame-bucket"
PUBLISHER, STRANGER = "publisher", "stranger"  # one whose key is right, and one whose is not
FILES_ONLY, NO_RIGHTS = "files-only", "no-rights"  # right keys of accounts that may do less

Environment = dict[str, str]


@dataclass(frozen=True)
class Store:
    """A store that runs on this machine."""

    scheme: str
    port: int
    accounts: tuple[str, ...]
    put: Callable[[str, bytes], object]  # an object into the bucket
    _environment: Callable[[int, str], Environment]
    secrets: tuple[str, ...]  # which nobody may be told

    def address(self, path: str) -> str:
        return f"{self.scheme}://{BUCKET}/{path}"

    def environment(self, account: str = PUBLISHER, port: int | None = None) -> Environment:
        """What the packages of fsspec look for, with a server at this port."""
        return self._environment(port or self.port, account)


# Nothing else on the machine may be asked for keys, or stand in between.
ALONE = {
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
    "NO_GCE_CHECK": "true",
    "CLOUDSDK_CONFIG": os.devnull,
    "FSSPEC_CONFIG_DIR": os.devnull,
    "NO_PROXY": "127.0.0.1",
}


@contextmanager
def s3(folder: Path) -> Iterator[Store]:
    with _server(folder, sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p") as port:
        at = {"endpoint_url": f"http://127.0.0.1:{port}", "region_name": "us-east-1"}
        iam = boto3.Session("nobody", "nobody").client("iam", **at)
        rights = {
            PUBLISHER: ["s3:GetObject", "s3:ListBucket"],
            FILES_ONLY: ["s3:GetObject"],
            NO_RIGHTS: ["s3:PutObject"],
            "owner": ["s3:*"],
        }
        keys = {name: _aws_user(iam, name, actions) for name, actions in rights.items()}
        keys[STRANGER] = (keys[PUBLISHER][0], "sesame" * 7)
        # From now on keys and rights are checked.
        _send(f"{at['endpoint_url']}/moto-api/reset-auth", b"0", "text/plain")
        bucket = boto3.Session(*keys["owner"]).resource("s3", **at).create_bucket(Bucket=BUCKET)

        def environment(port: int, account: str) -> Environment:
            return {
                "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
                "AWS_DEFAULT_REGION": "us-east-1",
                "AWS_ACCESS_KEY_ID": keys[account][0],
                "AWS_SECRET_ACCESS_KEY": keys[account][1],
            }

        yield Store(
            "s3",
            port,
            tuple(rights),
            lambda path, data: bucket.put_object(Key=path, Body=data),
            environment,
            tuple(part for pair in keys.values() for part in pair),
        )


def _aws_user(iam: Any, name: str, actions: list[str]) -> tuple[str, str]:
    iam.create_user(UserName=name)
    rights = [{"Effect": "Allow", "Action": actions, "Resource": "*"}]
    document = json.dumps({"Version": "2012-10-17", "Statement": rights})
    iam.put_user_policy(UserName=name, PolicyName="rights", PolicyDocument=document)
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return key["AccessKeyId"], key["SecretAccessKey"]


@contextmanager
def gs(folder: Path) -> Iterator[Store]:
    program = str(Path(sys.executable).parent / "gcp-storage-emulator")
    with (
        _server(folder, program, "start", "--in-memory", "--host", "127.0.0.1", "--port") as port,
        service_accounts(folder, PUBLISHER, STRANGER) as files,
    ):
        at = f"http://127.0.0.1:{port}"
        bucket = json.dumps({"name": BUCKET}).encode()
        _send(f"{at}/storage/v1/b?project=hospital", bucket, "application/json")

        def put(path: str, data: bytes) -> None:
            name = urllib.parse.quote(path, safe="")
            upload = f"{at}/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={name}"
            _send(upload, data, "application/octet-stream")

        def environment(port: int, account: str) -> Environment:
            return {
                "STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}",
                # Otherwise gcsfs asks for the kind of each bucket by gRPC, for a minute.
                "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false",
                "GOOGLE_APPLICATION_CREDENTIALS": str(files[account]),
            }

        told = "ya29.sesame", f"{STRANGER}@hospital", f"{PUBLISHER}@hospital", "PRIVATE KEY"
        yield Store("gs", port, tuple(files), put, environment, told)


@contextmanager
def abfs(folder: Path) -> Iterator[Store]:
    name = "sesameclinic"
    keys = {each: base64.b64encode(each.encode() * 4).decode() for each in (PUBLISHER, STRANGER)}

    def connection(port: int, account: str) -> str:
        return (
            f"DefaultEndpointsProtocol=http;AccountName={name};AccountKey={keys[account]};"
            f"BlobEndpoint=http://127.0.0.1:{port}/{name};"
        )

    def environment(port: int, account: str) -> Environment:
        return {"AZURE_STORAGE_CONNECTION_STRING": connection(port, account)}

    options = ("--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck", "--silent")
    command = (_azurite(), *options, "--blobHost", "127.0.0.1", "--blobPort")
    known = f"{name}:{keys[PUBLISHER]}"
    with (
        _server(folder, *command, AZURITE_ACCOUNTS=known) as port,
        BlobServiceClient.from_connection_string(connection(port, PUBLISHER)) as service,
    ):
        container = service.create_container(BUCKET)

        def put(path: str, data: bytes) -> None:
            container.upload_blob(path, data, overwrite=True)

        told = (*keys.values(), "AccountKey", name)
        yield Store("abfs", port, tuple(keys), put, environment, told)


SERVERS: Mapping[str, Callable[[Path], AbstractContextManager[Store]]] = {
    "s3": s3,
    "gs": gs,
    "abfs": abfs,
}


def _azurite() -> str:
    installed = Path(sys.prefix) / "azurite/node_modules/.bin/azurite-blob"
    found = str(installed) if installed.exists() else shutil.which("azurite-blob")
    if not found and os.environ.get("CI"):
        pytest.fail("azurite is missing: install Node.js, and run make test-stores")
    if not found:
        pytest.skip("azurite is missing: install Node.js, and run make test-stores")
    return found


@contextmanager
def _server(folder: Path, *command: str, **environment: str) -> Iterator[int]:
    """What runs by this command, followed by a port that is free."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folder / "server.log"
    with log.open("w") as file:
        server = subprocess.Popen(
            [*command, str(port)],
            stdout=file,
            stderr=file,
            cwd=folder,
            env=os.environ | environment,
        )
    try:
        _wait_for(port, log)
        yield port
    finally:
        server.terminate()
        server.wait()


def _wait_for(port: int, log: Path) -> None:
    for _ in range(600):
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(log.read_text())


def _send(address: str, data: bytes, kind: str) -> None:
    request = urllib.request.Request(address, data, {"Content-Type": kind})
    with urllib.request.urlopen(request, timeout=30) as answer:
        answer.read()
