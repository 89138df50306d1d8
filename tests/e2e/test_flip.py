"""After two failed tries, acr-host asks for a script that passes while the bug exists, and inverts its last assertion."""

from __future__ import annotations

import pytest
from fewer import usually
from runs import read_json
from verifying import (
    FAILING,
    PASSING,
    RIGHT,
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
ASK = "passes in the project as it is"
HEAD = "from app import half\n\n"
SHAPES = {
    "assert": "assert half(4) == 1\n",
    "name": "seen = half(4)\nassert seen == 1, seen\n",
    "unittest": "import unittest\n\nunittest.TestCase().assertEqual(half(4), 1)\n",
    "error": "def check():\n    if half(4) == 1:\n        raise ValueError('as reported')\n\n\n"
    "try:\n    check()\nexcept ValueError:\n    pass\nelse:\n    raise AssertionError('no error')\n",
}


@pytest.mark.parametrize("shape", usually(["assert", "error"], SHAPES))
def test_the_third_try_may_pass(case: Case, shape: str) -> None:
    """Inverted, it fails without the patch and passes with it; the first one also in experiments, replayed and resumed."""
    need_bubblewrap()
    lines = [guard(), test_line(PASSING), test_line(FAILING, "exits with 0"), test_line(HEAD + SHAPES[shape], ASK)]
    proof = [review(YES_YES)] if shape == "assert" else []
    result = case.run([*lines, *search("AssertionError"), patch(), *proof]).check()
    assert added(result) == [RIGHT]
    script = (case.out / "attempt_0/reproducer_3.py").read_text()
    assert script not in (HEAD + SHAPES[shape],) and "half(4)" in script
    assert [case.execution(patch, 3)["exit"] for patch in (0, 1)] == [1, 0]
    if proof:
        check_repeated(case, len(case.records("model")))


def test_a_script_that_fails_at_once_is_taken_as_it_is(case: Case) -> None:
    need_bubblewrap()
    right = HEAD + "assert half(4) == 2\n"
    lines = [guard(), test_line(PASSING), test_line(FAILING), test_line(right, ASK)]
    case.run([*lines, *search(), patch()]).check()
    assert (case.out / "attempt_0/reproducer_3.py").read_text() == right


@pytest.mark.parametrize("script", [PASSING, "from app import half\n\nassert True\n"])
def test_what_cannot_be_turned_round_reproduces_nothing(case: Case, script: str) -> None:
    need_bubblewrap()
    last = test_line(script, ASK)
    case.run([guard(), test_line(PASSING), test_line(FAILING), last, *search(), patch()]).check()
    assert "the issue was not reproduced in 3 tries" in read_json(case.out / "result.json")["why"]
