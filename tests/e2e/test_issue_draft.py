"""Interpreter sessions in an issue as the first reproducer: used if they show the expected behaviour, otherwise shown to the model."""

from __future__ import annotations

import json
from typing import Any

import pytest
from host import Result
from verifying import (
    ISSUE,
    RIGHT,
    SCRIPT,
    YES_YES,
    Case,
    added,
    case,
    check_repeated,
    guard,
    need_bubblewrap,
    patch,
    review,
    search,
    test_line,
)

__all__ = ["case"]
TOLD = "They print what the issue shows"
WRONG_SHOWN = "half(4) is 1:\n\n>>> from app import half\n>>> half(4)\n1\n\nIt should be 2."
RIGHT_SHOWN = {
    "alone": "It should be:\n\n    >>> from app import half\n    >>> half(4)\n    2\n",
    "after the wrong one": "```pycon\n>>> from app import half\n>>> half(4)\n1\n```\nExpected:\n```\n>>> half(4)\n2\n```\n",
    "printed": ">>> import app\n>>> for i in [4]:\n...     y = app.half(i)\n...\n>>> print(y)\n2\n",
}


def ask(case: Case, issue: str, lines: list[dict[str, Any]], *more: str) -> Result:
    command = case.arguments(lines, *more)
    command[command.index(ISSUE)] = issue
    return case.host.run(*command)


@pytest.mark.parametrize("name", RIGHT_SHOWN)
def test_an_example_of_the_right_behaviour_reproduces(case: Case, name: str) -> None:
    """No model writes a script, and only the example with another output is asserted."""
    need_bubblewrap()
    proof = [review(YES_YES, "reproducer.py")] if name == "alone" else []
    lines = [guard(), *search("AssertionError"), patch(), *proof]
    assert added(ask(case, RIGHT_SHOWN[name], lines).check()) == [RIGHT]
    script = (case.attempt / "reproducer_1.py").read_text()
    assert script.count("assert") == 1 and script.endswith("== '2'\n") and not case.asked("test")
    assert [case.execution(patch, 1)["exit"] for patch in (0, 1)] == [1, 0]
    if proof:
        check_repeated(case, len(case.records("model")))


def test_an_example_of_the_wrong_behaviour_is_evidence(case: Case) -> None:
    need_bubblewrap()
    lines = [guard(), test_line(SCRIPT, TOLD, "assert repr(half(4)) == '1'"), *search(), patch()]
    assert added(ask(case, WRONG_SHOWN, lines).check()) == [RIGHT]


@pytest.mark.parametrize(
    "examples",
    [
        ">>> from app import half\n>>> half(\n1\n",  # no Python
        ">>> half(4)\n2\n",  # this name is not imported
        ">>> import app\n>>> app.__version__\n'3'\n",  # a version
        ">>> from app import half\n>>> half(4)\nTwo, I think\n",  # no value
        ">>> from app import half\n>>> half('x')\nTraceback (most recent call last):\n  ...\nTypeError: no\n",
    ],
)
def test_other_examples_change_no_request(case: Case, examples: str) -> None:
    need_bubblewrap()
    ask(case, examples, [guard(), test_line(SCRIPT), *search(), patch()]).check()
    first = case.asked("test")[0]
    assert TOLD not in json.dumps(first) and len(first["messages"]) == 2
