"""Requests that no page would send: odd addresses, forms and headers, from inside the session.

``python -m web.fuzzing 10000`` sends many; the tests send a few. An answer of 500 is a fault.
"""

from __future__ import annotations

import contextlib
import io
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import serigraph
from serigraph.web import site
from web.asking import Answer, Site, opened
from web.conftest import POLICY, table_of

ODD = (
    "",
    " ",
    "0",
    "-1",
    "9" * 30,
    "1/0",
    "1/3",
    "0.5",
    "1e999",
    "٣",
    "NaN",
    "\0",
    "\ud7ff￿",
    "<script>alert(1)</script>",
    "{{ 7 * 7 }}",
    "' or 1=1 --",
    "../../../etc/passwd",
    "C:\\con",
    "%00%2e%2e%2f",
    "a" * 5_000,
    "[guarantee]\nthreshold = 7",
    "version = 1",
    "=" * 40,
    POLICY,
    POLICY.replace("HIV", 'x" # "'),
    "role:born",
    "role:no such column",
    "kind:born",
    "drop",
    "id",
    "quasi-identifier",
    "categorical",
    "any",
    "on",
    "release",
    "raw",
    "sex",
    "intervals",
    "flat",
    "-----BEGIN ENCRYPTED PRIVATE KEY-----",
    "HIV;chronic;*\nflu;*",
)
FIELDS = (
    *("table", "registry", "label", "policy", "digest", "changed", "values_job", "threshold"),
    *("releases", "return_rate", "minimum_group_size", "job", "outlook", "draft", "typed", "name"),
    *("root", "person", "value", "sure", "sensitive", "pick", "shown", "tolerate", "series", "raw"),
    *("role:born", "kind:born", "role:\0", "persistence", "adversary", "assume_transient"),
    *(
        "key",
        "passphrase",
        "approvals",
        "column",
        "by",
        "parts",
        "file",
        "text",
        "chosen",
        "parent",
    ),
    *("move", "people", "rounds", "queries", "seed"),
    *("part:{0}", "order:{0}", "column:{0}:sex", "delimiter:{0}", "decimal:{0}", "missing:{0}"),
)
HEADERS = (
    "x_fragment",
    "content_type",
    "x_name",
    "accept",
    "range",
    "if_none_match",
    "cookie2",
    "referer",
)

Known = dict[str, list[str]]  # what means something, by where it stands in an address


def send_random(inside: Site, draw: random.Random, known: Known) -> tuple[str, Answer]:
    """One request; with keys that mean something in most places."""

    def text() -> str:
        odd = (
            draw.choice(ODD)
            if draw.random() < 0.6
            else draw.choice(draw.choice(list(known.values())))
        )
        return odd if draw.random() < 0.9 else odd + chr(draw.randrange(1, 0xD7FF))

    pattern = draw.choice([*site.READING, *site.CHANGING, "/uploads", "/enter", "/static/{name}"])
    path = "/".join(
        _filled(part, text(), known, draw) if part.startswith("{") else part
        for part in pattern.split("/")
    )
    headers = {draw.choice(HEADERS): quote(text())[:200] for _ in range(draw.randrange(3))}
    is_get = pattern in site.READING if draw.random() < 0.9 else draw.random() < 0.5
    if is_get:
        query = draw.choice(("", "?saved=1", "?job=" + quote(text())))
        return path, inside.get(path + query, **headers)
    if draw.random() < 0.1:
        return path, inside.post(path, draw.randbytes(draw.randrange(2_000)), **headers)
    names = [draw.choice(FIELDS).format(known["upload"][-1]) for _ in range(draw.randrange(10))]
    fields = {name: _encodable(text()) for name in names}
    return path, inside.post(path, fields, **headers)


def _filled(part: str, odd: str, known: Known, draw: random.Random) -> str:
    if ":int" in part:
        return str(draw.choice((0, 1, 2, 10**9)))
    meant = known.get(part.strip("{}"), ["style.css"])
    return draw.choice(meant) if draw.random() < 0.9 else _encodable(odd).replace("/", "%2f")


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


@contextlib.contextmanager
def target() -> Iterator[tuple[Site, Known]]:
    """A site with a series, a draft, and a table."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "data"
        root.mkdir()
        table_of(240).write_csv(Path(name) / "table.csv")
        for each in ("clinic", "registry"):
            serigraph.Series.create(root / each, {"policy.toml": POLICY.encode()})
        serigraph.publish(table_of(240), root / "clinic", label="2024H1")
        draft = serigraph.draft(table_of(240, 1), root / "clinic", label="2024H2")
        with opened(root) as inside:
            key = inside.enter().upload(Path(name) / "table.csv")
            keys = [each.key for each in inside.desk.places.all()]
            found = {"key": keys, "upload": [key], "name": [draft.name], "job": ["none"]}
            yield inside, found | {"file": ["report.html"], "label": ["2024H2"]}


def campaign(requests: int, seed: int) -> tuple[Counter[int], list[str]]:
    """Send them; returns how many answers had each status, and the requests that failed."""
    draw = random.Random(seed)
    statuses: Counter[int] = Counter()
    failed: list[str] = []
    with target() as (inside, known), contextlib.redirect_stderr(io.StringIO()) as told:
        for number in range(requests):
            path, answer = send_random(inside, draw, known)
            statuses[answer.status] += 1
            known["upload"] = [each.key for each in inside.desk.uploads.all()] or ["none"]
            known["job"] = list(inside.desk.jobs._jobs)[-20:] or ["none"]
            if answer.status >= 500:
                failed.append(f"{number}: {path!r}: {told.getvalue().splitlines()[-1:]}")
    return statuses, failed


if __name__ == "__main__":
    sent = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    found, faults = campaign(sent, seed=int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    print(f"{sent:,} requests: " + ", ".join(f"{n:,} of {s}" for s, n in sorted(found.items())))
    print("\n".join(faults[:20]) or "no 500")
    sys.exit(bool(faults))
