"""A connection between a reader and a server that can be cut, or fall silent, in the middle."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class Relay:
    """Hands on what both sides say. With a ``limit``, every connection ends after so many bytes of
    the server's: it is closed, or, if ``silent``, stays open without another word."""

    def __init__(self, to_port: int) -> None:
        self.limit: int | None = None
        self.silent = False
        self._to_port = to_port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._open = [self._listening]
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def close(self) -> None:
        for each in self._open:
            _hang_up(each)
        self._accepting.join()

    def _accept(self) -> None:
        with suppress(OSError):  # the socket was closed
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection(("127.0.0.1", self._to_port))
                self._open += [client, server]
                for work, one, other in (
                    (self._ask, client, server),
                    (self._answer, server, client),
                ):
                    threading.Thread(target=work, args=(one, other), daemon=True).start()

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(1 << 16):
                server.sendall(data)
        _hang_up(server)

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        said = 0
        with suppress(OSError):
            while data := server.recv(1 << 16):
                if self.limit is not None:
                    data = data[: max(0, self.limit - said)]
                client.sendall(data)
                said += len(data)
                if said == self.limit:
                    break
        if not (self.silent and said == self.limit):
            _hang_up(client)


def _hang_up(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
