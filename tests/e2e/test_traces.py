"""--trace: the calls that lead to the script's failure are shown to the search agent, the patch writer and the reviewer; recorded, replayed."""

from __future__ import annotations

from verifying import (
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
CALL = "line 3: half(n=4) -> 1"
LINES = [
    *[guard(), test_line(SCRIPT), *search(CALL), patch(RIGHT, "Location of the bug", "[app.py:")],
    review(YES_YES, "without the patch (-) and with it (+)", f"- {CALL}", "+ line 3: half(n=4) -> 2"),
]


def test_models_are_shown_the_calls(case: Case) -> None:
    """All three roles see the calls; a recorded trace is not made again."""
    need_bubblewrap()
    result = case.run(LINES, "--trace").check()
    assert added(result) == [RIGHT]
    traced = [r["request"] for r in case.records("execution") if r["request"].get("experiment") == "calls"]
    assert len(traced) == 2, "once without and once with the patch"
    check_repeated(case, len(case.records("model")))


def test_what_the_script_writes_is_no_part_of_it(case: Case) -> None:
    """Without the option, nothing is traced."""
    need_bubblewrap()
    flooded = SCRIPT.replace("assert", "import os\nos.write(1, b'x' * 100000)\nassert")
    lines = [guard(), test_line(flooded), *search("line 5: half(n=4) -> 1"), patch(), review(YES_YES)]
    case.run(lines, "--trace").check()
    case.run(LINES[:2] + [*search(), patch(), review(YES_YES)]).check()
    assert not [r for r in case.records("execution") if r["request"].get("experiment") == "calls"]
