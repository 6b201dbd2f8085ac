"""The study on one HTML page that needs nothing else: no script, no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import polars as pl

from serigraph._version import __version__
from serigraph.charts import CHART_STYLE, Line, line_chart
from serigraph.experiments.advice import advice
from serigraph.experiments.claims import NEARLY, STANDS_OUT, Claim
from serigraph.experiments.studies import FIGURE_6, FIGURE_7, FIGURE_8, FIGURE_9
from serigraph.experiments.study import Study

_STYLE = """
:root { --ink: #1c2733; --line: #d5dbe1; --paper: #ffffff; --shade: #f3f6f8; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 1180px; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.7rem; } h2 { margin-top: 2.4rem; border-bottom: 1px solid var(--line); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(300px, 1fr));
  gap: 1.2rem; align-items: start; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; }
th, td { padding: 0.3rem 0.6rem; border-bottom: 1px solid var(--line); text-align: right;
  vertical-align: top; }
th { background: var(--shade); }
td.text { min-width: 8rem; }
td.text, th.text { text-align: left; }
.seen { color: #00664d; font-weight: 600; } .unseen { color: #b3261e; font-weight: 600; }
.note { color: #51606e; font-size: 0.9rem; }
"""

_FIGURES = {
    FIGURE_6: "Figure 6: l, constant ratio with k' = 3",
    FIGURE_7: "Figure 7: l, geometric with alpha = 3",
    FIGURE_8: "Figure 8: k', constant ratio with l = 2",
    FIGURE_9: "Figure 9: alpha, geometric with l = 2",
}
_MEASURES = {
    "error_any_mean": ("Average error, any value", "relative error"),
    "error_protected_mean": ("Average error, protected values", "relative error"),
    "mean_size_with_protected_value": ("Average group size", "people"),
    "largest_size": ("Largest group size", "people"),
}
_OUTCOME = {
    "series": "series",
    "largest_p": "largest p",
    "largest_p_presence_known": "largest p, presence known",
    "share_above_threshold": "people above 1/l",
    "error_any_mean": "error, any value",
    "error_any_median": "median",
    "error_any_p95": "95th pct.",
    "error_protected_mean": "error, protected",
    "error_protected_median": "median",
    "error_protected_p95": "95th pct.",
    "suppressed_share": "suppressed",
    "first_round_with_suppression": "from round",
    "seconds": "s a release",
}
_GROUPS = {
    "series": "series",
    "groups": "groups",
    "mean_size": "mean size",
    "groups_with_protected_value": "groups with protected value",
    "mean_size_with_protected_value": "their mean size",
    "largest_size": "largest size",
    "ncp": "NCP",
    "discernibility": "discernibility",
    "normalised_group_size": "C_avg",
    "kl_divergence": "KL, nats",
    "counterfeits": "counterfeits",
}
_SHARES = {"suppressed_share", "share_above_threshold"}


def study_page(study: Study) -> str:
    """The page as text."""
    sections = [
        _introduction(study),
        _figure_5(study.tables["figure-5.csv"]),
        *(
            _figure(title, study.tables[f"{name}.csv"], _of(study.seconds, name))
            for name, title in _FIGURES.items()
        ),
        _claims(study),
        _baselines(study),
        _harder(study),
        _strategies(study.tables["strategies.csv"]),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Serigraph: the study</title><style>{_STYLE}{CHART_STYLE}</style></head><body>"
        + "\n".join(sections)
        + "</body></html>\n"
    )


def _introduction(study: Study) -> str:
    seen = sum(claim.is_seen for claim in (*study.claims, *study.claims_of_time))
    total = len(study.claims) + len(study.claims_of_time)
    return (
        "<h1>The paper's study, and what it did not try</h1>"
        "<p>Section 8 of <cite>Preserving Individual Privacy in Serial Data Publishing</cite>, "
        f"run by Serigraph {__version__} on: {escape(study.source)}, {study.people:,} people, "
        f"{study.reactions:,} reactions, {study.values:,} values. {study.extent.rounds} rounds and "
        f"{study.extent.queries:,} queries per release.</p>"
        f"<p>Of the {total} statements that the paper makes about its figures, "
        f"<strong>{seen}</strong> were seen. Where one was not, the table below says why.</p>"
        '<p class="note">Errors are relative errors of range queries over two quasi-identifiers '
        "and the value, with an expected selectivity of 5 %. Sizes count people, absent members of "
        "the registry included; unless said otherwise they are those of groups with a protected "
        "value. Every number is in the CSV files beside this page; those whose names begin with "
        "run-time differ from run to run, the others do not.</p>"
    )


def _figure_5(ratios: pl.DataFrame) -> str:
    charts = [
        line_chart(
            title,
            _lines(_of(ratios, name), "link", "ratio"),
            x="link k",
            y="ratio n / n_s",
            is_log=True,
        )
        for name, title in (
            ("figure-5a", "Ratio for alpha, l = 2"),
            ("figure-5b", "Ratio for l, alpha = 5"),
        )
    ]
    return "<h2>Figure 5: the ratio that the geometric strategy asks for</h2>" + _charts(charts)


def _figure(title: str, releases: pl.DataFrame, seconds: pl.DataFrame) -> str:
    charts = [
        line_chart(name, _lines(releases, "round", measure), x="round", y=unit)
        for measure, (name, unit) in _MEASURES.items()
    ]
    charts.append(
        line_chart("Time", _lines(seconds, "round", "seconds"), x="round", y="seconds per release")
    )
    return f"<h2>{escape(title)}</h2>" + _charts(charts)


def _claims(study: Study) -> str:
    rows = []
    for claim in (*study.claims, *study.claims_of_time):
        verdict = ("seen", "seen") if claim.is_seen else ("unseen", "not seen")
        rows.append(
            f'<tr><td class="text">{escape(claim.where)}</td><td class="text">'
            f'{escape(claim.statement)}</td><td class="text {verdict[0]}">{verdict[1]}</td>'
            f'<td class="text">{escape(_finding(claim))}</td></tr>'
        )
    head = "".join(
        f'<th class="text">{name}</th>' for name in ("where", "the paper says", "here", "found")
    )
    return (
        "<h2>The paper's claims</h2><p>A curve is called nearly unchanged if its fitted line moves "
        f"by less than {NEARLY:.0%} of its mean from round 2 to the last, or if its slope is "
        f"within two standard errors of none and no round is above {STANDS_OUT} medians.</p>"
        f'<div class="wide"><table><tr>{head}</tr>{"".join(rows)}</table></div>'
    )


def _finding(claim: Claim) -> str:
    return claim.found + (f". Why: {claim.why}" if claim.why else "")


def _baselines(study: Study) -> str:
    table = _timed(study.tables["baselines.csv"], study.seconds)
    above = table.filter(pl.col("people_above_threshold") > 0)
    return (
        "<h2>Beside what came before</h2><p>The same tables, with one value a person, and the same "
        "queries for all, and every value protected by all; l = m = 2. Each series was audited "
        "afterwards: <em>largest p</em> is the "
        "largest probability, over all people and protected values, of a link in one of the "
        "releases, recomputed in fractions from what was shown.</p>"
        f"<p>People above the threshold are left by: {_named(above)}. Nobody is above it with: "
        f"{_named(table.filter(pl.col('people_above_threshold') == 0))}.</p>"
        "<p>Where the registry counts, an adversary who knows who is in the table is not covered: "
        "<em>largest p, presence known</em> is what it would learn. A publisher who fears that "
        "adversary says so in the policy (the rows called presence known).</p>"
        + _table(table, _OUTCOME)
        + "<h3>Their groups</h3>"
        + _table(table, _GROUPS)
    )


def _harder(study: Study) -> str:
    table = study.tables["harder.csv"]
    breaking = table.filter(pl.col("first_round_with_suppression") > 0)
    lines = [
        f"<li>{escape(row['series'])}: values had to be suppressed from round "
        f"{row['first_round_with_suppression']} on ({_percent(row['suppressed_share'])} of all "
        "records)</li>"
        for row in breaking.to_dicts()
    ]
    lines += [
        f"<li>{escape(row['series'])}: refused from round {row['first_round_refused']} on</li>"
        for row in table.filter(pl.col("first_round_refused") > 0).to_dicts()
    ]
    above = table.filter(pl.col("people_above_threshold") > 0)
    lines += [
        f"<li>{escape(row['series'])}: {row['share_above_threshold']:.1%} of the people end above "
        f"the threshold, p reaches {row['largest_p']:.6f}</li>"
        for row in above.to_dicts()
    ]
    return (
        "<h2>Harder than the paper</h2><p>Strategies as by default, re-planned: constant for 20 "
        "releases, geometric with factor 2. The last series have few values that are all common "
        "and all protected, no registry, and one value a person; the feasible share is one over "
        "the ratio. What breaks, and where:</p>"
        f"<ul>{''.join(lines)}</ul>"
        + _table(_timed(table, study.seconds), _OUTCOME)
        + "<h3>Their groups</h3>"
        + _table(table, _GROUPS)
    )


def _strategies(table: pl.DataFrame) -> str:
    names = table["strategy"].unique(maintain_order=True).to_list()

    def lines(measure: str, wanted: Sequence[str]) -> list[Line]:
        return [
            Line(
                name,
                table.filter(pl.col("strategy") == name).select("return_rate", measure).rows(),
            )
            for name in wanted
        ]

    planned = [name for name in names if name.endswith("as planned")]
    charts = [
        line_chart(
            "Expected group size",
            lines("expected_size", planned),
            x="return rate",
            y="mean ratio",
            is_log=True,
        ),
        line_chart(
            "Measured group size",
            lines("mean_size", names),
            x="return rate",
            y="people",
            is_log=True,
        ),
        line_chart(
            "Suppressed records", lines("suppressed_share", names), x="return rate", y="share"
        ),
    ]
    columns = {
        "return_rate": "return rate",
        "strategy": "strategy",
        "expected_size": "expected size",
        "mean_size": "measured size",
        "largest_size": "largest",
        "suppressed_share": "suppressed",
        "first_round_with_suppression": "first suppression",
        "most_links": "most links",
        "largest_p": "largest p",
    }
    return (
        "<h2>Strategies against each other</h2><p>l = 2, 20 planned links, factor 2; a smaller "
        "part of the people, a quarter of the values protected, and values that persist, so that "
        "links come again. Expected: the mean ratio if a j-th link has the chance q^(j-1).</p>"
        + _charts(charts)
        + _table(table, columns)
        + "<h2>Which to choose when</h2><ul>"
        + "".join(f"<li>{escape(sentence)}</li>" for sentence in advice(table))
        + "</ul>"
    )


def _named(table: pl.DataFrame) -> str:
    return escape("; ".join(table["series"])) or "none of them"


def _of(frame: pl.DataFrame, study: str) -> pl.DataFrame:
    return frame.filter(pl.col("study") == study)


def _timed(table: pl.DataFrame, seconds: pl.DataFrame) -> pl.DataFrame:
    means = seconds.group_by("study", "series").agg(pl.col("seconds").mean())
    return table.join(means, on=["study", "series"], how="left", maintain_order="left")


def _lines(frame: pl.DataFrame, x: str, y: str) -> list[Line]:
    return [
        Line(name, frame.filter(pl.col("series") == name).select(x, y).rows())
        for name in frame["series"].unique(maintain_order=True)
    ]


def _charts(charts: Sequence[str]) -> str:
    return '<div class="charts">' + "".join(f"<div>{chart}</div>" for chart in charts) + "</div>"


def _table(frame: pl.DataFrame, columns: Mapping[str, str]) -> str:
    shown = {name: title for name, title in columns.items() if name in frame.columns}
    texts = {name for name in shown if frame.schema[name] == pl.String}
    head = "".join(
        f"<th{_kind(name in texts)}>{escape(title)}</th>" for name, title in shown.items()
    )
    rows = "".join(
        "<tr>"
        + "".join(f"<td{_kind(name in texts)}>{_cell(name, row[name])}</td>" for name in shown)
        + "</tr>"
        for row in frame.to_dicts()
    )
    return f'<div class="wide"><table><tr>{head}</tr>{rows}</table></div>'


def _percent(share: float) -> str:
    """A share above 0 is never shown as 0."""
    if share == 0:
        return "none"
    return f"{share:.2%}" if share >= 0.0001 else f"{share:.5%}"


def _kind(is_text: bool) -> str:
    return ' class="text"' if is_text else ""


def _cell(name: str, value: str | int | float | None) -> str:
    if value is None or value != value or (name.startswith("first_round") and value == 0):
        return "&ndash;"
    if isinstance(value, str):
        return escape(value)
    if name in _SHARES:
        return _percent(float(value))
    if name.startswith("largest_p"):
        return f"{value:.6g}"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
