"""Files in a store, such as a bucket: fetched by packages of fsspec, and read in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from serigraph.errors import TableError
from serigraph.tables.addresses import STORES, scheme_of, shown
from serigraph.tables.extras import optional_package


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
        self._files, self._path = self._guarded(lambda: fsspec.core.url_to_fs(address))

    def content(self, below: str = "") -> bytes:
        """The bytes of the file, or of one below the folder."""
        path = f"{self._path.rstrip('/')}/{below}" if below else self._path
        return bytes(self._guarded(lambda: self._files.cat_file(path)))

    def is_folder(self) -> bool:
        return bool(self._guarded(lambda: self._files.isdir(self._path)))

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
            raise TableError(
                f"the store gives nothing ({type(error).__name__})",
                where=self.where,
                remedy="check the address, the rights of your account, and the connection",
            ) from None
