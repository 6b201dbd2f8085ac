"""Finding the line of a key in a TOML text."""

from __future__ import annotations

from serigraph.policy.reading import KeyLines

TEXT = """\
# person.id = "not here"
version = 1
person.id = "a"
[ quasi_identifiers . "zip code" ]  # a comment
'kind' = "x = y"
list = [
  "protected = 1",
]
[protected.classes]
"a \\"b\\"" = []
"""


def test_headers_dotted_keys_and_quoted_keys_are_found() -> None:
    lines = KeyLines(TEXT)
    assert lines.of(("version",)) == 2
    assert lines.of(("person", "id")) == 3
    assert lines.of(("quasi_identifiers", "zip code")) == 4
    assert lines.of(("quasi_identifiers", "zip code", "kind")) == 5
    assert lines.of(("protected", "classes", 'a "b"')) == 10


def test_what_is_not_there_has_the_line_of_what_is_around_it() -> None:
    lines = KeyLines(TEXT)
    assert lines.of(("protected", "classes", "absent")) == 9
    assert lines.of(("quasi_identifiers", "zip code", "list", 3)) == 6
    assert lines.of(("output", "form")) == 0
    assert not lines.has(("output",))
