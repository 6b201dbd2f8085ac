"""Texts, numbers and names that programs stumble over."""

from __future__ import annotations

from random import Random

CELLS = (
    *("", " ", "\t", "\0", "a\0b", "\ufeff", "\u202eright to left", "🩺", "e\u0301", "\ud7ff"),
    *("1e-5000", "1e5000", "1e308", "-1e309", "nan", "NaN", "inf", "-inf", "-0", "0x10", "1_000"),
    *("9" * 400, "-" + "9" * 30, "9223372036854775808", "0.1" + "0" * 300 + "1", "1/0", "1,5", "٣"),
    *("0001-01-01", "9999-12-31", "99999-01-01", "1975-02-30", "1975-03-04T05:06:07+99:99"),
    *(
        "=1+1",
        "@cmd",
        "+1",
        "-1",
        "'",
        '"',
        '""',
        "a;b",
        "a,b",
        "a\nb",
        "a\rb",
        "a|b",
        "\\",
        "%s{}",
    ),
    *("x" * 200_000, "^.*$", "*", "null", "None", "True", "[1, 2]", "{}", "(missing)", "../.."),
)
NAMES = (
    *("^age$", "*", "^.*$", "", " ", "\0", "a\0b", "n" * 5000, "age ", "AGE", "a.b", "`a`", "[x]"),
    *(
        "group",
        "value",
        "count",
        "id",
        "q0",
        "row",
        "cell",
        "len",
        "literal",
        "a\nb",
        "🩺",
        "%s",
        "{}",
    ),
    *(
        "person",
        "region",
        "record",
        "size",
        "place",
        "text",
        "name",
        "people",
        "\u202e",
        '"',
        "'",
        "é",
    ),
)
NUMBERS = (
    *(
        "0",
        "-1",
        "1000000",
        "1e300",
        "1e-300",
        "inf",
        "nan",
        "-inf",
        "1e-5000",
        '"1e-5000"',
        '"1/0"',
    ),
    *(
        '"1e5000"',
        '"1e-18"',
        '"0/0"',
        '"-1/2"',
        '"1/3"',
        '"99.999%"',
        '"l=2"',
        '"l=1e400"',
        '"1/1e5"',
    ),
    *(f'"1/{10**30}"', f'"{"9" * 5000}"', str(10**400), "9" * 5000, "true", '""', '"½"', "0x7fff"),
    *(
        "[]",
        "[1, 0.5]",
        "[1, 2]",
        '["1e-5000"]',
        "{}",
        "1979-05-27",
        '"learned"',
        '"geometric"',
        "2",
    ),
    *("9223372036854775808", "2147483648", "1000", "1001", '"1/2"', '"10%"', "0.5", "20", '"text"'),
)
TEXTS = (
    *(
        '""',
        '"\\u0000"',
        '"\\n"',
        '","',
        '"\'"',
        '"utf-16"',
        '"rot13"',
        '"hex"',
        '"idna"',
        '"undefined"',
    ),
    *(
        '"%"',
        '"%Q"',
        '"%d.%m"',
        '"%s%s%s"',
        '"%Y-%m-%d %H"',
        '"%"',
        '"%%%"',
        '"%-"',
        '"%10d"',
        '"%Z"',
    ),
    *('"../../etc/passwd"', '"/dev/full"', '"/dev/zero"', '"."', '"policy.toml"', '"a/b"', '"all"'),
    *(
        '"flu"',
        '["flu"]',
        '["flu", "flu"]',
        "[]",
        '[""]',
        '["\\u0000"]',
        '"select 1"',
        '"list"',
        '"rows"',
    ),
    *(
        '"delimited"',
        '"bucketised"',
        '"bottom-up"',
        '["csv"]',
        '["csv", "csv"]',
        '"presence known"',
    ),
    *(
        f'"{"x" * 10_000}"',
        "[" * 500 + "]" * 500,
        '"^.*$"',
        '"*"',
        '"error"',
        '"branch"',
        '"integer"',
    ),
)
LABELS = (
    *(
        "..",
        ".",
        "a/b",
        "/etc",
        "",
        " ",
        "x" * 300,
        "\n",
        "🩺",
        "-",
        "--json",
        "con",
        "a\\b",
        "ünï",
    ),
    *("~", "$(id)", "%s", "a\tb", "2024H1", "2024h1", "b", "release", "\u202e", "*", "a:b", "a."),
)


def bytes_flipped(content: bytes, draw: Random) -> bytes:
    """Some bytes changed, cut off or repeated."""
    damaged = bytearray(content)
    for _ in range(draw.choice((1, 1, 3, 20))):
        place = draw.randrange(len(damaged)) if damaged else 0
        match draw.randrange(4):
            case 0 if damaged:
                damaged[place] = draw.randrange(256)
            case 1:
                del damaged[place:]
            case 2:
                damaged[place:place] = damaged[place : place + draw.randrange(200)]
            case 3:
                damaged[place:place] = draw.randbytes(draw.randrange(9))
    return bytes(damaged)
