"""Who may come in: the holder of a token that works once, and then of a cookie."""

from __future__ import annotations

import hmac
import secrets
from threading import Lock


class Entrance:
    """Swaps one token for one session. Both are random, and live as long as the server."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self._session = secrets.token_urlsafe(32)
        self._is_used = False
        self._lock = Lock()

    def enter(self, token: str) -> str:
        """The session for the token; empty if the token is wrong or was used before."""
        with self._lock:
            if self._is_used or not hmac.compare_digest(token.encode(), self.token.encode()):
                return ""
            self._is_used = True
            return self._session

    def knows(self, session: str) -> bool:
        """Whether this is the session that was given out."""
        return self._is_used and hmac.compare_digest(session.encode(), self._session.encode())
