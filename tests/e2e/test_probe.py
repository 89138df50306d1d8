"""--probe: snippets that the search agent and the reviewer run in the sandbox are limited, recorded, replayed, and never proof."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fewer import usually
from runs import read_json
from verifying import (
    PASSING,
    RIGHT,
    SCRIPT,
    STRAIGHT,
    YES_NO,
    YES_YES,
    Case,
    added,
    case,
    check_repeated,
    guard,
    line,
    need_bubblewrap,
    patch,
    review,
    search,
    test_line,
)

__all__ = ["case"]
Line = dict[str, Any]
SEES = "from app import half\nprint('half is', half(4))"


def probing(*snippets: str) -> list[Line]:
    """A retrieval round that runs snippets."""
    calls = json.dumps({"API_calls": [f"probe({code!r})" for code in snippets], "bug_locations": []})
    return [line("search", "I run it.", "- probe(code: str)"), line("extract", calls), line("search", "It is clear.")]


def looking(code: str, *expect: str) -> Line:
    return line("review", json.dumps({"probe": code}), *expect)


def probes(case: Case) -> list[dict[str, Any]]:
    """The journal's records of snippets."""
    return [r["answer"] for r in case.records("execution") if r["request"].get("experiment") == "probe"]


def test_both_roles_see_what_the_code_does(case: Case) -> None:
    """Snippets run without the patch in the retrieval and with it in the review; a replay runs none of them again."""
    need_bubblewrap()
    first = probing(SEES)
    first[2]["expect"] = ["half is 1\n(exit code 0)", "Snippets left: 2."]
    lines = [guard(), test_line(SCRIPT), *first, *search()[1:], patch()]
    lines += [looking(SEES, "You may run 2 in all"), review(YES_YES, "half is 2\n(exit code 0)", "Snippets left: 1.")]
    result = case.run(lines, "--probe").check()
    assert added(result) == [RIGHT] and len(probes(case)) == 2
    check_repeated(case, len(case.records("model")))


HOSTILE = {
    "endless output": ("while True: print('x' * 1000)", "(its output was too long)"),
    "a hang": ("import time\ntime.sleep(100)", "(it was stopped at its limit of"),
    "forks": ("import os\nwhile True: os.fork()", "("),
    "no network": ("import socket\nsocket.create_connection(('1.1.1.1', 53), 5)", "(exit code 1)"),
    "writes": ("open('app.py', 'w').write('x')\nopen('/etc/passwd', 'w')", "(exit code 1)"),
    "an error": ("1 / 0", "ZeroDivisionError"),
}


@pytest.mark.parametrize("name", usually(["endless output", "a hang", "no network"], HOSTILE))
def test_what_a_snippet_does_is_bounded(case: Case, name: str) -> None:
    """The snippet ends by itself or at a limit, and the run continues with an unchanged tree."""
    need_bubblewrap()
    code, said = HOSTILE[name]
    first = probing(code)
    first[2]["expect"] = [said, "Snippets left: 2."]
    result = case.run([guard(), test_line(SCRIPT), *first, *search()[1:], patch()]).check()
    assert added(result) == [RIGHT] and len(probes(case)) == 1
    assert len(json.dumps(probes(case))) < 100_000
    if name == "a hang":
        check_repeated(case, len(case.records("model")))


def test_a_run_may_ask_three_times(case: Case) -> None:
    need_bubblewrap()
    first = probing(*[f"print({i})" for i in range(4)])
    first[2]["expect"] = ["Snippets left: 0.", "Not run: 3 snippets were run already."]
    ask = looking("print(9)")
    case.run(
        [guard(), test_line(SCRIPT), *first, *search()[1:], patch(), ask, review(YES_NO, "cannot be parsed")]
    ).check()
    assert len(probes(case)) == 3


def test_a_snippet_proves_nothing(case: Case) -> None:
    """If only a snippet has a passing assertion, a patch without a reproducer stays unverified."""
    need_bubblewrap()
    lines = [
        guard(),
        *[test_line(PASSING)] * 3,
        *probing("from app import half\nassert half(4) == 1"),
        *search()[1:],
        patch(),
    ]
    case.run(lines).check()
    assert read_json(case.out / "result.json")["verdict"] == "unverified"
    assert len(probes(case)) == 1


@pytest.mark.parametrize("options", [["--probe=never"], ["--verify=never"], ["--sandbox", "plain"]])
def test_it_is_absent_where_code_is_not_confined(case: Case, options: list[str]) -> None:
    lines = [*STRAIGHT[:-1], review(YES_NO)] if "--verify=never" not in options else [*search(), patch()]
    case.run(lines, *options).check()
    asked = json.dumps([r["request"] for r in case.records("model")])
    assert "probe" not in asked
