"""A log parser for `eval`: reads the Test Anything Protocol ("ok 1 - name") for rows with "log_parser": "tap"."""

from __future__ import annotations

import re

from acr.extensions import Repo, log_parser

API = 1
_LINE = re.compile(r"^\s*(not )?ok\b[ \t]*\d*(?:[ \t]*-)?[ \t]*(.*?)(?:[ \t]+# (skip|todo)\b.*)?$", re.IGNORECASE)


@log_parser("tap")
def read_tap(log: str) -> dict[str, str]:
    """{test: outcome}; if several tests have one name, the last counts."""
    outcomes = {}
    for failed, name, directive in (match.groups() for match in map(_LINE.match, log.splitlines()) if match):
        if directive and directive.lower() == "skip":
            outcomes[name] = "SKIPPED"
        elif failed:
            outcomes[name] = "XFAIL" if directive else "FAILED"
        else:
            outcomes[name] = "PASSED"
    return outcomes


def test_reads_each_kind_of_line(repo: Repo) -> None:
    """Numbers and dashes are optional."""
    log = "1..4\nok 1 - adds\nnot ok 2 - subtracts\n# why\nok 3 divides # SKIP no zero\nnot ok multiplies # todo\n"
    assert read_tap(log) == {"adds": "PASSED", "subtracts": "FAILED", "divides": "SKIPPED", "multiplies": "XFAIL"}
