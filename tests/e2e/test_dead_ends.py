"""Models that make no progress: acr-host ends each run within twelve calls, with a one-line reason and exit code 1."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from host import Result
from runs import journal
from verifying import OTHER, Case, Line, added, case, guard, line, patch, search, verified

__all__ = ["case"]

ROLES = ("reproducible", "test", "search", "extract", "patch")
MOST_CALLS = 12


def every_role(content: Callable[[int], str]) -> list[Line]:
    """A model whose n-th answer in a role is content(n); it has far more answers than should be requested."""
    return [line(role, content(n)) for role in ROLES for n in range(100)]


def of_calls(calls: Callable[[int], list[str]], reproducible: str | None = None) -> list[Line]:
    """A model that requests calls, in words and as JSON, and answers everything else with other words."""
    lines = []
    for n in range(100):
        asked = json.dumps({"API_calls": calls(n), "bug_locations": []})
        lines += [line("search", f"I call {calls(n)}."), line("extract", asked), line("search", f"This is result {n}.")]
    rest = [role for role in ROLES if role not in ("search", "extract")]
    lines += [guard(reproducible)] if reproducible else []
    return lines + [line(role, f"I have not found it yet ({n}).") for role in rest for n in range(100)]


MODELS: dict[str, tuple[list[Line], str]] = {
    "silent": (every_role(lambda n: ""), "three empty answers"),
    "repeating": (every_role(lambda n: "I shall look into the issue."), "the same answer three times"),
    "prose only": (every_role(lambda n: f"Step {n}: one should think about it."), "none of its calls found any"),
    "calls that never hit": (
        of_calls(lambda n: [f"search_method('nothing_{n}_of_that')"]),
        "none of its calls found any",
    ),
    "broken JSON": (every_role(lambda n: f'{{"API_calls": ["search_method(\\"half_{n}'), "none of its calls found any"),
    "alternating": (every_role(lambda n: ["I look at the class.", "I look at the file."][n % 2]), ""),
    "alternating calls": (
        of_calls(lambda n: [["search_method('half')"], ["search_code('def half')"]][n % 2], "no"),
        "circles",
    ),
    "the same calls": (of_calls(lambda n: ["search_method('half')"]), "the same answer three times"),
    "the same call, more often each time": (
        of_calls(lambda n: ["search_method('half')"] * (n + 1), "no"),
        "the same answer three times",
    ),
}


def calls(case: Case) -> int:
    """The number of requests."""
    return len([record for record in journal(case.out) if record["event"] == "model"])


def given_up(result: Result) -> str:
    """The only line that gives the reason, apart from those about costs and a sandbox without isolation."""
    others = ("calls,", "isolates nothing")
    said = [text for text in result.err.splitlines() if not any(other in text for other in others)]
    assert len(said) == 1 and result.stdout == b"" and result.exit == 1, result.told()
    return said[0]


@pytest.mark.parametrize("verify", ["auto", "never"])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_leads_nowhere_is_given_up(case: Case, name: str, verify: str) -> None:
    """The run ends with and without a sandbox; a replay ends in the same way."""
    lines, why = MODELS[name]
    told = given_up(case.run(lines, "--verify", verify))
    assert why in told and "no patch: " in told
    assert calls(case) <= MOST_CALLS
    again = case.host.run("replay", case.out)
    assert (again.exit, again.stdout) == (1, b"") and why in again.err


def test_a_stuck_model_still_writes_its_patch(case: Case) -> None:
    """Only the retrieval ends: its findings are often sufficient for a patch."""
    lines = [at for at in of_calls(lambda n: ["search_method('half')"]) if at["agent"] != "patch"]
    result = case.run([*lines, patch(OTHER)], "--verify=never").check()
    assert added(result) == [OTHER]


def test_three_misses_with_a_hit_between_are_no_dead_end(case: Case) -> None:
    """A useful answer resets the count of useless ones."""
    lines = []
    for wanted in ("a1", "b2", "half", "c3", "d4"):
        asked = json.dumps({"API_calls": [f"search_method('{wanted}')"], "bug_locations": []})
        lines += [line("search", f"I call {wanted}."), line("extract", asked), line("search", f"Read {wanted}.")]
    result = case.run([guard("no"), *lines, *search(), patch()]).check()
    assert verified(result).startswith("no") and calls(case) == 1 + 15 + 2 + 1


def test_a_patch_that_is_refused_again_and_again_is_not_asked_for_ten_times(case: Case) -> None:
    """The model gives the same answer to any feedback."""
    lines = [*search(), *[patch(OTHER)] * 10]
    result = case.run(lines, "--verify=never", "--validate", "false", "--tries", "10")
    assert result.exit == 1 and len(case.asked("patch")) == 3, result.told()


def test_code_that_is_missing_is_quoted_and_more_tries_are_no_advice(case: Case) -> None:
    told = given_up(case.run([*search(), *[patch(before="    return nowhere(1)")] * 3], "--verify=never"))
    missing = "no patch: the quoted code is not in app.py: `return nowhere(1)`"
    assert f"{missing}; the model gave the same answer three times; try another model; see " in told
    assert given_up(case.host.run(*case.command)) == told
    page = case.host.run("report", case.out, "-f", "json").check().out
    assert json.loads(page)["edits"][0]["quote"] == "return nowhere(1)"


def test_an_interrupted_dead_end_resumes_to_the_same_end(case: Case, tmp_path: Path) -> None:
    """The journal is truncated after some of its calls."""
    lines, why = MODELS["prose only"]
    case.run(lines, "--verify=never")
    whole = calls(case)
    path = case.out / "journal.jsonl"
    records = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(records[: len(records) // 2]))
    for name in ("result.json", "patch.diff", "selected_patch.json"):
        (case.out / name).unlink()
    meta = json.loads((case.out / "meta.json").read_text())
    meta["state"] = "ready"
    (case.out / "meta.json").write_text(json.dumps(meta))
    assert why in given_up(case.host.run(*case.command))
    assert calls(case) == whole
