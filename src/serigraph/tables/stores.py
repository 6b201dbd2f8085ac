"""Files in a store, such as a bucket: fetched by packages of fsspec, and read in memory."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from serigraph.errors import TableError
from serigraph.tables.addresses import STORES, scheme_of, shown
from serigraph.tables.extras import optional_package

# They log failures with buckets and what the server says. Python prints on the terminal what no
# handler takes; this one takes it and drops it. Handlers of the caller's get it all the same.
_LOGS = ("adlfs", "aiobotocore", "azure", "botocore", "fsspec", "gcsfs", "google", "s3fs")
_DROPPED = logging.NullHandler()

_SECONDS_OF_SILENCE = 15  # as many as s3fs allows
_NO_RIGHT = (401, 403)


class Stored:
    """A file, or a folder of files, at an address."""

    def __init__(self, address: str) -> None:
        scheme = scheme_of(address)
        store = STORES[scheme]
        self.where = shown(address)
        optional_package(
            store.package, extra=store.extra, purpose=f"reading from {scheme} addresses"
        )
        fsspec = optional_package("fsspec", extra="fsspec", purpose="reading from addresses")
        for name in _LOGS:
            logging.getLogger(name).addHandler(_DROPPED)
        # One that was used before would remember keys, and what folders held.
        self._files, self._path = self._guarded(
            lambda: fsspec.core.url_to_fs(address, skip_instance_cache=True)
        )
        if store.package == "gcsfs" and self._files.requests_timeout is None:
            # It would wait for ever for a server that does not answer.
            aiohttp = optional_package("aiohttp", extra=store.extra, purpose="reading from gs")
            self._files.requests_timeout = aiohttp.ClientTimeout(
                sock_connect=_SECONDS_OF_SILENCE, sock_read=_SECONDS_OF_SILENCE
            )

    def content(self, below: str = "") -> bytes:
        """The bytes of the file, or of one below the folder."""
        path = f"{self._path.rstrip('/')}/{below}" if below else self._path
        return bytes(self._guarded(lambda: self._files.cat_file(path)))

    def is_folder(self) -> bool:
        return bool(self._guarded(lambda: self._files.info(self._path))["type"] == "directory")

    def below(self) -> list[str]:
        """The files below the folder, by their paths in it."""
        start = len(self._path.rstrip("/")) + 1
        return [str(path)[start:] for path in self._guarded(lambda: self._files.find(self._path))]

    def _guarded(self, fetch: Callable[[], Any]) -> Any:
        """Fetch, and hide the messages of libraries: they may quote keys and whole addresses."""
        try:
            return fetch()
        except MemoryError:
            raise
        except FileNotFoundError:
            raise TableError(
                "there is no file at this address", where=self.where, remedy="check the address"
            ) from None
        except Exception as error:
            what, remedy = (
                ("the store refuses access", "check the key and the rights of your account")
                if _is_refused(error)
                else ("the store gives nothing", "check the address, the key and the connection")
            )
            raise TableError(
                f"{what} ({type(error).__name__})", where=self.where, remedy=remedy
            ) from None


def _is_refused(error: Exception) -> bool:
    """Whether a store or its library says that key or rights are missing or wrong."""
    status = getattr(error, "status_code", getattr(error, "code", None))
    return (
        isinstance(error, PermissionError)
        or status in _NO_RIGHT
        or "Credential" in type(error).__name__
        or str(error).startswith("Forbidden")  # gcsfs, as an OSError without a number
    )
