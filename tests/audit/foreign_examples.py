"""One table of twelve people, and what several tools would make of it: three groups of four.

The dialects are those of ARX 3.9 (labels of hierarchies, and intervals), anjana 1.2, anonypy 0.2,
anonypyx 0.2, two Mondrian scripts, sdcMicro 5.8 (recoded with R's cut), and Serigraph's own.
"""

from __future__ import annotations

from pathlib import Path

RAW = """id,age,sex,marital,job
1,21,F,single,a
2,24,F,divorced,b
3,36,F,single,a
4,28,F,divorced,c
5,40,F,married,a
6,44,M,married,b
7,52,M,married,b
8,59,F,single,c
9,61,M,single,a
10,65,M,divorced,c
11,70,M,single,b
12,79,M,divorced,a
"""
TAXONOMY = "single;alone;*\ndivorced;alone;*\nmarried;together;*\n"
POLICY = """version = 1
[person]
id = "id"
[quasi_identifiers.age]
kind = "numeric"
[quasi_identifiers.sex]
kind = "categorical"
[quasi_identifiers.marital]
kind = "categorical"
taxonomy = "marital.csv"
[sensitive]
column = "job"
[guarantee]
l = 3
"""
_JOBS = ("abac", "abbc", "acba")


def _rows(header: str, cells: tuple[str, str, str], *, prefix: tuple[str, ...] = ()) -> str:
    lines = [header]
    number = 0
    for cell, jobs in zip(cells, _JOBS, strict=True):
        for job in jobs:
            first = prefix[number] + "," if prefix else ""
            lines.append(f"{first}{cell},{job}")
            number += 1
    return "\n".join(lines) + "\n"


def _counted(header: str, cells: tuple[str, str, str]) -> str:
    lines = [header]
    for cell, jobs in zip(cells, _JOBS, strict=True):
        lines += [f"{cell},{job},{jobs.count(job)}" for job in sorted(set(jobs))]
    return "\n".join(lines) + "\n"


_COLUMNS = "age,sex,marital,job"
_NUMBERS = tuple(str(number) for number in range(12))
DIALECTS = {
    "ARX, labels of hierarchies": _rows(
        "id," + _COLUMNS, ("20-39,F,alone", "40-59,*,*", "60-79,M,alone"), prefix=("*",) * 12
    ),
    "ARX, intervals": _rows(
        _COLUMNS, ('"[20, 40[",F,"{single, divorced}"', '"[40, 60[",*,*', ">=60,M,alone")
    ),
    "ARX, one class suppressed": _rows(_COLUMNS, ("20-39,F,alone", "*,*,*", "60-79,M,alone")),
    "anjana": _rows(
        "index," + _COLUMNS,
        ('"[20, 40)",F,alone', '"[40, 60)",*,*', '"[60, 80)",M,alone'),
        prefix=_NUMBERS,
    ),
    "anonypy": _counted(
        _COLUMNS + ",count",
        (
            "['21-36'],['F'],\"['single,divorced']\"",
            "['40-59'],\"['F,M']\",\"['married,single']\"",
            "['61-79'],['M'],\"['divorced,single']\"",
        ),
    ),
    "anonypyx": _counted(
        _COLUMNS + ",count",
        ('21-36,F,"divorced,single"', '40-59,"F,M","married,single"', '61-79,M,"single,divorced"'),
    ),
    "Mondrian with brackets": _rows(
        _COLUMNS,
        (
            "[21-36],F,{divorced; single}".replace("{divorced; single}", "single/divorced"),
            "[40-59],F/M,married/single",
            "[61-79],M,single/divorced",
        ),
    ),
    "Mondrian with tildes": _rows(
        _COLUMNS, ("21~36,F,single~divorced", '40~59,"F,M",married~single', "61~79,M,alone")
    ),
    "sdcMicro": _rows(
        "id," + _COLUMNS,
        ('"(20,39]",F,alone', '"(39,60]",NA,NA', '"(60,80]",M,alone'),
        prefix=tuple(str(number) for number in range(1, 13)),
    ),
    "Serigraph": _rows(
        _COLUMNS,
        ('"[21, 36]",F,alone', '"[40, 59]","{F, M}","{single, together}"', '"[61, 79]",M,alone'),
    ),
    "masked": _rows(_COLUMNS, ('"2*,3*",F,alone', '"{4*, 5*}",*,*', '">= 60",M,alone')),
}
MEMBERS = """age,sex,marital,group
21,F,single,x
24,F,divorced,x
36,F,single,x
28,F,divorced,x
40,F,married,y
44,M,married,y
52,M,married,y
59,F,single,y
61,M,single,z
65,M,divorced,z
70,M,single,z
79,M,divorced,z
"""
HELD = "group,job,count\n" + "".join(
    f"{group},{job},{jobs.count(job)}\n"
    for group, jobs in zip("xyz", _JOBS, strict=True)
    for job in sorted(set(jobs))
)


def write(folder: Path, **texts: str) -> dict[str, Path]:
    """The policy, its taxonomy, the raw table and further files, by name."""
    everything = {"policy.toml": POLICY, "marital.csv": TAXONOMY, "raw.csv": RAW}
    everything |= {f"{name}.csv": text for name, text in texts.items()}
    for name, text in everything.items():
        (folder / name).write_text(text, encoding="utf-8")
    return {name.rpartition(".")[0]: folder / name for name in everything}
