"""How long pages of the browser take for a large series: `make bench-pages`.

A series with a draft is made, and the server started on it, as `serigraph serve` is. Each page is
asked for three times, over HTTP, by one who is inside: the first time counts too. What pages leave
to jobs is not waited for. The first page is timed from the command on. Processor time is that of
the server, which other programs on the machine do not lengthen; Linux counts it in hundredths.
"""

from __future__ import annotations

import argparse
import http.client
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import serigraph
from benchmarks import speed_data as data

TIMES = 3
STARTS = 3


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--people", type=int, default=1_000_000)
    asked.add_argument("--releases", type=int, default=3)
    asked.add_argument("--form", choices=("generalised", "bucketised"), default="generalised")
    chosen = asked.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _make(folder, chosen.people, chosen.releases, chosen.form)
        first = [_first_page(folder) for _ in range(STARTS)]
        print(
            f"first page from the command on, {STARTS} starts: "
            + ", ".join(f"{wall:.2f} s ({spent:.2f} s of processor)" for wall, spent in first)
        )
        with _serving(folder) as site:
            for page, body in _pages(folder, chosen.releases):
                _tell(site, page, body)


def _make(folder: Path, people: int, releases: int, form: str) -> None:
    """The series ``registry``, with one draft behind its releases."""
    protected = f"values = {data.NAMES[-10:].tolist()}\npersistence = {{ default = 'transient' }}"
    text = data.policy(form=form, protected=protected)
    series = serigraph.Series.create(folder / "registry", {"policy.toml": text.encode()})
    for number in range(1, releases + 1):
        serigraph.publish(data.table(people, number), series, label=f"wave-{number}")
    serigraph.draft(data.table(people, releases + 1), series, label=f"wave-{releases + 1}")
    print(f"{people:,} people in each of {releases} releases and a draft, {form}", flush=True)


class _Site:
    """A server that was entered."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.process = process.pid
        address = process.stdout.readline().split()[-1]
        self.host, _, token = address.removeprefix("http://").partition("/#")
        _, _, answer = self.ask("/enter", token)
        self.cookie = answer["set-cookie"].partition(";")[0]

    cookie = ""

    def spent(self) -> float:
        """The processor seconds of the server so far, without its workers."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def ask(self, page: str, body: str | None = None) -> tuple[float, bytes, dict[str, str]]:
        """The seconds that an answer takes, what it is, and its headers."""
        begun = time.perf_counter()
        connection = http.client.HTTPConnection(self.host)
        headers = {"Origin": f"http://{self.host}", "Cookie": self.cookie}
        connection.request("GET" if body is None else "POST", page, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        seconds = time.perf_counter() - begun
        connection.close()
        if answer.status >= 400:
            raise SystemExit(f"{page}: {answer.status}")
        return seconds, content, {name.lower(): value for name, value in answer.getheaders()}


@contextmanager
def _serving(folder: Path) -> Iterator[_Site]:
    process = subprocess.Popen(
        [sys.executable, "-m", "serigraph", "serve", "--no-browser", str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    try:
        yield _Site(process)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def _first_page(folder: Path) -> tuple[float, float]:
    begun = time.perf_counter()
    with _serving(folder) as site:
        site.ask("/")
        return time.perf_counter() - begun, site.spent()


def _pages(folder: Path, releases: int) -> Iterator[tuple[str, str | None]]:
    """Every page of the series, and what its live parts ask for."""
    from serigraph.web.places import Places

    place = next(each for each in Places([folder]).all() if each.name == "registry")
    (draft,) = serigraph.drafts(place.path)
    policy = (place.path / "policy.toml").read_text()
    series = f"/series/{place.key}"
    yield from (("/", None), ("/cards", ""), ("/new", None), ("/audit", None), ("/study", None))
    for tab in ("", "/policy", "/taxonomies", "/plan", "/publish", "/person"):
        yield series + tab, None
    yield f"{series}/policy/edit", urlencode({"policy": policy, "changed": "policy"})
    yield f"{series}/plan/ratios", urlencode({"threshold": "1/3"})
    yield f"{series}/publish/rows", urlencode({"draft": draft.name})
    yield f"{series}/drafts/{draft.name}/report.html", None
    yield f"{series}/releases/{releases}/report", None
    yield f"{series}/releases/{releases}/zip", None


def _tell(site: _Site, page: str, body: str | None) -> None:
    seconds, processor = [], []
    for _ in range(TIMES):
        before = site.spent()
        taken, content, _ = site.ask(page, body)
        seconds.append(taken)
        processor.append(site.spent() - before)
    print(
        f"{page:<60} first {seconds[0]:6.3f} s ({processor[0]:.2f} s of processor), "
        f"median {statistics.median(seconds):6.3f} s ({statistics.median(processor):.2f} s), "
        f"{len(content) / 1e6:8.3f} MB",
        flush=True,
    )


if __name__ == "__main__":
    main()
