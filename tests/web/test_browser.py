"""The site in a real browser, by clicks and keys only."""

from __future__ import annotations

import re
import signal
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import serigraph
from serigraph.signing import PASSPHRASE
from web.browsing import Server, Tab, browsing, serving
from web.conftest import table_of

PHONE, WIDE = {"width": 390, "height": 800}, {"width": 1280, "height": 900}
TALL = {"width": 1280, "height": 1400}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing() as found:
        yield found


def _inside(browser: Any, server: Server) -> tuple[Any, Tab]:
    context = browser.new_context(viewport=WIDE, accept_downloads=True)
    tab = Tab(context, server)
    tab.page.goto(server.address)
    tab.wait("h1:has-text('Series')")
    assert tab.page.url == server.home  # the token is neither in the address nor in the history
    return context, tab


def _publish(tab: Tab, table: Path, picture: str = "") -> None:
    tab.go("nav >> text=Publish")
    tab.upload(table)
    tab.page.select_option("select[name=table]", label=table.name)
    tab.page.press("#draft", "Enter")
    tab.wait(f"h2:has-text('Draft of {table.stem}')")
    if picture:
        tab.look(picture, picture=".card")
    tab.page.type("#typed-1", table.stem)
    tab.page.press("#typed-1", "Enter")
    tab.wait(f"text={table.stem}, is published")


def test_a_newcomer_gets_from_an_empty_folder_to_an_audit(browser: Any, tmp_path: Path) -> None:
    root = tmp_path / "data"
    root.mkdir()
    tables = [tmp_path / f"202{number}.csv" for number in (4, 5, 6)]
    for number, path in enumerate(tables):
        table_of(240, seed=number).write_csv(path)
    with serving(root) as server:
        _, tab = _inside(browser, server)
        page = tab.page
        tab.wait("text=There is no series here yet")
        tab.look("empty")
        tab.go("text=Start a new series")
        tab.upload(tables[0])
        page.click("text=Look at the table")
        tab.wait("#policy")
        assert not tab.has("td:has-text('P0001')")  # masked
        page.click("#unmask")
        tab.wait("td:has-text('P0001')")
        page.select_option("#persistence", "transient")
        tab.wait(".difference .added:has-text('transient')")
        for value in ("flu", "asthma", "fracture"):
            page.click(f".values label:has-text('{value}') input")
            tab.wait(f".difference .added:has-text('{value}')")
        tab.look("wizard", picture="#policy-panel")
        page.fill("#name", "clinic")
        page.press("#name", "Enter")
        tab.wait("text=Rehearse with this table")
        page.click("#rehearse")
        tab.wait("text=Recommended")
        page.press("#minimum_group_size", "ArrowRight")
        tab.wait("#rehearsed h2:has-text('groups of 6 or more')")  # without another click
        assert not tab.has(".outdated")
        page.press("#releases", "PageUp")
        tab.wait("#rehearsed h2:has-text('5 releases')")
        page.set_viewport_size(TALL)
        tab.look("plan", picture="nav.tabs")
        page.set_viewport_size(WIDE)
        page.focus("#ratios svg")
        page.keyboard.press("ArrowRight")
        tab.wait(".tip:has-text('exposure 1'):has-text('adaptive')")
        page.keyboard.press("Escape")
        page.click("[role=tab]:has-text('constant')")
        page.click("[role=tabpanel]:not([hidden]) >> text=Adopt")
        tab.wait("text=The policy has this plan now")
        assert "minimum_group_size = 6" in (root / "clinic" / "policy.toml").read_text()
        for table in tables:
            _publish(tab, table, picture="draft" if table == tables[-1] else "")
        tab.look("publish", picture="body")
        with page.expect_download() as download:
            page.click("text=Zip to hand over")
        _is_what_is_public(Path(download.value.path()), root / "clinic" / "releases" / "2026")
        page.click("text=All releases")
        tab.wait("h2:has-text('Budget')")
        page.click("text=Audit: recompute")
        tab.wait("text=No pair of a person and a value is above its threshold")
        page.hover("figure .at >> nth=0")
        tab.wait(".tip:has-text('2024'):has-text('/')")  # the label, and the exact fraction
        page.mouse.move(0, 0)
        tab.look("series", picture="body")
        page.set_viewport_size(PHONE)
        tab.look("phone")
        page.set_viewport_size(WIDE)
        tab.go("text=Look up a person")
        tab.look("person")
        page.fill("#person", "P0040")
        page.fill("#value", "HIV")
        page.click("button:has-text('Look up')")  # not confirmed
        assert not tab.has("#looked-up .job")
        page.check("[name=sure]")
        page.click("button:has-text('Look up')")
        tab.wait("text=Every group that held both")
        assert "P0040" not in page.url
        tab.go("nav >> text=Policy")
        tab.wait("text=Roles and kinds are frozen")
        assert page.locator("#role-1").is_disabled()
        tab.look("policy")
        _audit_foreign(tab, root / "clinic", tables)
        printed = server.stop()
    assert not re.search("P0|HIV|flu|clinic", printed.replace(str(root), ""))
    assert len(serigraph.Series.open(root / "clinic").releases()) == 3


def _is_what_is_public(packed: Path, folder: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    public = {f"2026/{path.name}": path.read_bytes() for path in folder.iterdir()}
    assert found == public


def _audit_foreign(tab: Tab, series: Path, tables: list[Path]) -> None:
    """Releases as if another tool had made them, with a policy file."""
    for number, table in enumerate(tables):
        made = series / "releases" / table.stem / "table.csv"
        (table.parent / f"release-{number}.csv").write_bytes(made.read_bytes())
    tab.go("text=Audit releases")
    tab.upload(
        *(table.parent / f"release-{number}.csv" for number in range(len(tables))),
        series / "policy.toml",
    )
    for table in tables:
        tab.page.select_option(f"[aria-label='What {table.name} is']", "raw")
    tab.page.click("button:has-text('Audit')")
    tab.wait("h2:has-text('Worst cases')")
    tab.look("audit", picture="#checked")
    with tab.page.context.expect_page() as report:
        tab.page.click("text=Open the report to keep")
    assert "Audit of 3 releases" in report.value.content()


def _in_policy_words(published: Path, folder: Path) -> Path:
    """A release whose columns are not called as in the policy, its table, and the policy."""
    made = (published / "clinic/releases/2024H1/table.csv").read_text()
    (folder / "release.csv").write_text(made.replace("sex", "Gender", 1))
    table_of(240).write_csv(folder / "raw.csv")
    return published / "clinic" / "policy.toml"


def test_an_officer_looks_and_changes_nothing(
    browser: Any, published: Path, tmp_path: Path
) -> None:
    before = sorted((path, path.stat().st_mtime_ns) for path in published.rglob("*.toml"))
    with serving(published, options=("--read-only",)) as server:
        _, tab = _inside(browser, server)
        tab.wait("text=read only")
        assert not tab.has("text=Start a new series")
        tab.go("text=clinic")
        tab.wait("h2:has-text('Budget')")
        assert not tab.has("text=Make the series report")
        tab.page.click("text=Verify the latest certificate")
        tab.wait("text=The certificate is true")
        for name in ("Policy", "Plan", "Publish"):
            tab.go(f"nav >> text={name}")
            tab.wait(f"[aria-current=page]:has-text('{name}')")
            tab.look(f"officer-{name.lower()}")
            assert not tab.has("text=Save the policy")
            assert not tab.has("text=Make the draft")
        tab.go("nav >> text=Taxonomies")
        tab.look("officer-taxonomies")
        tab.go('nav >> text="Releases"')
        with tab.page.expect_download() as download:
            tab.page.click("text=zip to hand over")
        assert zipfile.is_zipfile(download.value.path())
        with tab.page.context.expect_page() as report:
            tab.page.click("td >> text=Report")
        report.value.wait_for_load_state()
        assert "Release 2024H1" in report.value.title()
        policy = _in_policy_words(published, tmp_path)
        tab.go("text=Audit releases")
        tab.upload(tmp_path / "raw.csv", tmp_path / "release.csv", policy)
        tab.page.select_option("details[open] label:has-text('sex is') select", "Gender")
        tab.look("officer-audit")
        tab.page.set_viewport_size(PHONE)
        tab.look("officer-audit-phone")
        tab.page.set_viewport_size(WIDE)
        tab.page.click("#audit")
        tab.wait("text=No pair of a person and a value is above its threshold")
        tab.page.click("summary:has-text('Files handed in')")
        tab.page.click("[aria-label='Remove raw.csv']")
        tab.wait("summary:has-text('Files handed in: 2')")
    assert before == sorted((path, path.stat().st_mtime_ns) for path in published.rglob("*.toml"))


def test_trees_keys_and_attacks_without_a_terminal(
    browser: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = folder / "clinic" / "policy.toml"
    policy.write_text(policy.read_text() + "[signing]\napprovals = 1\n")
    signer = serigraph.make_key(tmp_path / "signer.key")
    monkeypatch.setenv(PASSPHRASE, "horse staple")
    approver = serigraph.make_key(tmp_path / "approver.key")
    monkeypatch.delenv(PASSPHRASE)
    with serving(folder) as server:
        _, tab = _inside(browser, server)
        page = tab.page
        tab.go("text=clinic")
        tab.go("nav >> text=Policy")
        tab.upload(tmp_path / "2024H1.csv")
        page.click("#read-values")
        tab.wait("td:has-text('every cell is a number')")
        assert not tab.has("td:has-text('P0001')")  # masked
        page.click("#unmask")
        tab.wait("td:has-text('P0001')")
        tab.look("policy-with-table")
        tab.go("nav >> text=Taxonomies")
        page.select_option("#by", "flat")
        page.click("#build")
        tab.wait("#tree")
        page.check("#tree input[value=m]")
        page.fill("#parent", "known")
        page.click("#move")
        tab.wait(".tree .tree .tree label:has-text('m')")
        assert "m;known;*" in page.input_value("#text")
        page.fill("#text", "f;known;*")
        tab.wait(".lacking:has-text('m')")
        tab.look("taxonomies")
        page.set_viewport_size(PHONE)
        tab.look("taxonomies-phone")
        page.set_viewport_size(WIDE)
        page.check(".lacking input")
        page.fill("#parent", "known")
        page.click("#move")
        tab.wait("text=Every value of the table is in it")
        page.click("#save")
        tab.wait("text=The taxonomy is saved")
        tab.go("nav >> text=Publish")
        page.click("text=Sign the certificate")
        page.set_input_files("#sign-key", str(signer.private))
        page.click("#draft")
        tab.wait("text=the draft has 0")
        page.set_input_files("#approve-1-key", str(approver.private))
        page.click("#approve-1")
        tab.wait("text=is encrypted with a passphrase")
        tab.look("approvals")
        page.fill("#approve-1-passphrase", "horse staple")
        page.press("#approve-1-passphrase", "Enter")
        tab.wait(f".digest:has-text('{approver.fingerprint}')")
        page.type("#typed-1", "2024H1")
        page.press("#typed-1", "Enter")
        tab.wait("text=2024H1, is published")
        tab.go("text=All releases")
        page.click("text=Attack with these tables")
        tab.wait("h2:has-text('Attacks')")
        tab.look("attacked")
    certificate = folder / "clinic/releases/2024H1/certificate.json"
    found = serigraph.verify(certificate, key=[signer.public, approver.public])
    assert (found.signed_by, found.approved_by) == (signer.fingerprint, (approver.fingerprint,))


def test_work_survives_a_reload_and_ends_when_it_is_cancelled(
    browser: Any, folder: Path, tmp_path: Path
) -> None:
    with serving(folder) as server:
        context, tab = _inside(browser, server)
        tab.go("text=clinic")
        tab.go("nav >> text=Publish")
        tab.upload(tmp_path / "2024H1.csv")
        _hold(server)
        tab.page.click("#draft")
        tab.wait("progress")
        tab.page.reload()
        tab.wait("progress")
        other = Tab(context, server)  # a second tab
        other.page.goto(tab.page.url)
        other.page.click("#draft")
        other.wait("text=is under way for this series, perhaps in another tab")
        context.set_offline(True)
        tab.wait(".job.lost")
        context.set_offline(False)
        server.signal_workers(signal.SIGCONT)
        tab.wait("h2:has-text('Draft of 2024H1')")
        tab.page.click("#discard-1")
        tab.wait("h2:text-is('A draft')")
        _hold(server)
        tab.page.click("#draft")
        tab.page.click("text=Cancel")
        tab.wait("text=was cancelled")
        tab.page.reload()
        assert not tab.has("h2:has-text('Draft of')")
        tab.page.click("#draft")  # the series is free again
        tab.wait("h2:has-text('Draft of 2024H1')")
    assert not serigraph.Series.open(folder / "clinic").releases()


def _hold(server: Server) -> None:
    """Stop the workers, so that the next job lasts until they go on."""
    until = time.monotonic() + 60
    while not server.workers() and time.monotonic() < until:
        time.sleep(0.05)
    server.signal_workers(signal.SIGSTOP)


def test_a_policy_is_not_overwritten_by_a_second_tab(browser: Any, folder: Path) -> None:
    with serving(folder) as server:
        context, tab = _inside(browser, server)
        tab.go("text=clinic")
        tab.go("nav >> text=Policy")
        tab.wait("#policy")
        other = Tab(context, server)
        other.page.goto(tab.page.url)
        for each, size in ((tab, "6"), (other, "7")):
            each.page.fill("#minimum_group_size", size)
            each.wait(f".difference .added:has-text('{size}')")
            each.page.click("#save")
        tab.wait("text=The policy is saved")
        other.wait("text=the policy was changed in the meantime")
    assert "minimum_group_size = 6" in (folder / "clinic" / "policy.toml").read_text()


@pytest.mark.parametrize("pause", [0.0, 0.3])
def test_a_server_that_is_killed_while_it_publishes_leaves_a_whole_series(
    browser: Any, folder: Path, tmp_path: Path, pause: float
) -> None:
    with serving(folder) as server:
        _, tab = _inside(browser, server)
        tab.go("text=clinic")
        tab.go("nav >> text=Publish")
        tab.upload(tmp_path / "2024H1.csv")
        tab.page.click("#draft")
        tab.wait("#typed-1")
        tab.page.fill("#typed-1", "2024H1")
        workers = server.workers()
        tab.page.click("#commit-1")
        tab.wait("progress")
        time.sleep(pause)
        server.kill()
    _have_ended(workers)
    series = serigraph.Series.open(folder / "clinic")
    series.check()
    with serving(folder) as server:
        _, tab = _inside(browser, server)
        tab.go("text=clinic")
        if series.releases():
            tab.wait("th:has-text('2024H1')")
        else:
            tab.go("nav >> text=Publish")
            tab.page.fill("#typed-1", "2024H1")
            tab.page.press("#typed-1", "Enter")
            tab.wait("text=2024H1, is published")
    assert len(series.releases()) == 1
    series.check()


def _have_ended(workers: list[int]) -> None:
    """Workers end with their server."""
    until = time.monotonic() + 30
    left = workers
    while left and time.monotonic() < until:
        left = [each for each in left if _is_running(each)]
        time.sleep(0.05)
    assert not left


def _is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
