"""Messages of the library in the words of the pages: an option is a field, a command a button."""

from __future__ import annotations

import re
from collections.abc import Mapping

_FIELDS: Mapping[str, str] = {
    "person": "Id of a person",
    "sensitive": "Sensitive column",
    "allow-suppression": "Leave out values that do not fit",
    "new-people": "Most people are new to the series",
    "same-table": "Nothing has changed since a release",
    "assume-transient": "Values to publish though the data say that they persist",
    "registry": "Registry",
    "raw": "the table a release was made from",
    "label": "Label",
    "releases": "Releases of the whole series",
    "return-rate": "People who come back",
    "tolerate": "Accept and note",
}
_SERIES = "on the page of the series"
_BUTTONS: Mapping[str, str] = {
    "attack": f"“Attack it” {_SERIES}",
    "audit": f"“Audit” {_SERIES}",
    "verify": f"“Verify the latest certificate” {_SERIES}",
    "report": f"“Make the series report” {_SERIES}",
    "status": "the page of the series",
    "drafts": "the page Publish",
    "draft": "“Make the draft” on the page Publish",
    "approve": "“Approve of this draft” on the page Publish",
    "plan": "“Rehearse” on the page Plan",
    "init": "“Start a new series”",
}

# Whole phrases, where another word for an option or a command would not make a sentence.
_PHRASES: Mapping[str, str] = {
    "delete the folder and repeat init with --persistence transient": "choose transient under "
    "Values over time",
    "say so with --persistence transient": "choose transient under Values over time",
    "--from is table 1, --also the next ones": "the tables in their order",
    "--person COLUMN, --sensitive COLUMN": "Id of a person, Sensitive column",
    "with --raw, in order": "in order",
    "discard it with 'serigraph drafts SERIES discard NAME'": "discard it",
    "publish it with 'serigraph publish --draft NAME'": "publish it there",
    ", or --query": "",
    ", and give --series": "",
    " with --query, or as": " as",
    " with --query": "",
    "or --engine spark": "or the command line with --engine spark",
}
_ASIDE = re.compile(  # what something is called on the command line, or in Python
    r" \((?:--[a-z-]+(?: [A-Z]+)?|[a-z]+ \(--[a-z]\)|[a-z_]+(?:=True)? in Python)\)"
)
_PERCENT = re.compile(r"(?<=\d)%")
_OPTION = re.compile(rf"--({'|'.join(_FIELDS)})(?![a-z-])(?: [A-Z]{{2,}})?")
_COMMAND = re.compile(rf"('?)serigraph ({'|'.join(_BUTTONS)})(?: [A-Z]+| --[a-z-]+)*\1(?!\w)")


def for_the_page(words: str) -> str:
    """A message as a page says it.

    >>> print(for_the_page("confirm it with --new-people (new_people=True in Python)"))
    confirm it with “Most people are new to the series”
    >>> print(for_the_page("run 'serigraph audit' to see all differences"))
    run “Audit” on the page of the series to see all differences
    """
    for phrase, instead in _PHRASES.items():
        words = words.replace(phrase, instead)
    words = _ASIDE.sub("", _PERCENT.sub(" %", words))
    words = _OPTION.sub(lambda found: f"“{_FIELDS[found[1]]}”", words)
    return _COMMAND.sub(lambda found: _BUTTONS[found[2]], words)
