"""The loop that corrects patch and test against each other: each of its paths, by scripted models on a small project."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Callable

import pytest

from host import SLOWNESS, Host
from hostile import TINY, without_passing, write_script
from loopback import LoopbackOpenAI
from repos import Repo, digest, make_repo
from runs import ARTIFACTS, arguments, check_patch, files_of, folder_digest, journal, read_json
from verifying import (
    HALF_RIGHT,
    NO_NO,
    NO_YES,
    OTHER,
    RED,
    RIGHT,
    SCRIPT,
    YES_NO,
    YES_YES,
    Case,
    Line,
    added,
    case,
    guard,
    has_bubblewrap,
    line,
    patch,
    review,
    sandbox_options,
    search,
    test_line,
    verified,
)

__all__ = ["case"]
NONE, USAGE, ENVIRONMENT, CEILING, INTERRUPTED = 1, 2, 3, 4, 130
ROUNDS, REVIEW_TRIES, GUARD_TRIES = 5, 5, 3

#: Red before, and green with nothing that halves.
WRONG_SCRIPT = SCRIPT.replace("== 2", "== 3")
PASSING = "import app\n"
FAILING = "from app import no_such_name\n"
STRAIGHT: list[Line] = [guard(), test_line(SCRIPT), *search(), patch(), review(YES_YES)]


def without(agent: str, lines: list[Line]) -> list[Line]:
    """The lines of other roles."""
    return [entry for entry in lines if entry["agent"] != agent]


# ---- Straight on -----------------------------------------------------------------------------------


def test_a_patch_is_verified(case: Case) -> None:
    """Red without it and green with it, twice; the reviewer and the searcher see what the script did."""
    before, after = "Without the patch, the script exited with 1", "With the patch, the script exited with 0"
    lines = [
        guard("yes", "half(4) is 1"),
        test_line(SCRIPT, "half(4) is 1"),
        *search("half(4) is 1", "assert half(4) == 2", RED),
        patch(RIGHT, "halve"),
        review(YES_YES, "assert half(4) == 2", "-    return n // 3", "+    return n // 2", before, after, RED),
    ]
    result = case.run(lines).check()
    assert added(result) == [RIGHT]
    assert verified(result) == "yes (reproducer_1.py fails without the patch and passes with it)"
    assert case.selected()["proof"] == "verified"
    assert (case.attempt / "reproducer_1.py").read_text() == SCRIPT
    assert case.files("*.*") == [
        *["conv_patch_1.json", "conv_test_1.json", "execution_0_1.json", "execution_1_1.json", "extract_status.json"],
        *["extracted_patch_1.diff", "patch_raw_1.md", "reproducer_1.py", "review_p1_t1.json"],
    ]


def test_what_the_run_folder_holds_of_it(case: Case) -> None:
    """Executions, the review, and the reproducer's conversation."""
    case.run(STRAIGHT).check()
    red, green = case.execution(0, 1), case.execution(1, 1)
    assert (red["result"], red["exit"], red["signal"], red["limit"]) == ("reproduced", 1, None, None)
    assert RED in red["stderr"] and red["why"].startswith("line 3 of the script raises AssertionError")
    assert (green["result"], green["exit"], green["stderr"]) == ("passed", 0, "")
    assert red["doubts"] == green["doubts"] == []
    said = read_json(case.attempt / "review_p1_t1.json")
    assert (said["patch-correct"], said["test-correct"], said["round"]) == YES_YES + (1,)
    assert said["patch-analysis"] == "about the patch"
    assert [at["role"] for at in said["conversation"]] == ["system", "user", "assistant"]
    told = read_json(case.attempt / "conv_test_1.json")
    assert [at["role"] for at in told] == ["system", "user", "assistant"]


def test_each_pair_of_patch_and_test_is_run_once(case: Case) -> None:
    """And once more where it decides: with the patch, and without."""
    case.run(STRAIGHT).check()
    keys = [(at["request"]["patch"] is not None, at["request"]["repeat"]) for at in case.records("execution")]
    assert keys == [(False, 0), (True, 0), (True, 1), (False, 1)]


def test_a_pair_that_is_known_is_not_run_again(case: Case) -> None:
    """A patch that is written a second time as it was, and a test likewise."""
    lines = [
        *[guard(), test_line(SCRIPT), *search(), patch(), review(NO_NO), patch(RIGHT), test_line(SCRIPT)],
        review(YES_YES),
    ]
    result = case.run(lines).check()
    assert verified(result).startswith("yes (reproducer_2.py ")
    assert case.files("execution_*") == ["execution_0_1.json", "execution_0_2.json", "execution_1_1.json", "execution_2_2.json"]
    requests = [json.dumps(at["request"], sort_keys=True) for at in case.records("execution")]
    assert len(requests) == len(set(requests)) == 4


def test_the_sample_is_verified(host: Host, sample_repo: Repo, tmp_path: Path) -> None:
    """By the lines that it comes with; a first script that cannot be imported goes back."""
    out, before = tmp_path / "out", digest(sample_repo.path)
    result = host.run(*arguments(sample_repo, out, *sandbox_options(), verify="auto")).check()
    assert verified(result) == "yes (reproducer_2.py fails without the patch and passes with it)"
    check_patch(result.stdout, sample_repo.clone(tmp_path / "clone"))
    of_proof = ["conv_test_1.json", "conv_test_2.json", "reproducer_1.py", "reproducer_2.py", "review_p2_t2.json"]
    of_proof += [f"execution_{pair}.json" for pair in ("0_1", "0_2", "2_2")]
    files = {name for name in files_of(out) if not name.startswith(("prompts/", "snapshot/"))}
    assert files == ARTIFACTS | {f"attempt_0/{name}" for name in of_proof}
    assert digest(sample_repo.path) == before
    again = host.run("replay", out, env={"PATH": "/nonexistent"}).check()
    assert again.stdout == result.stdout


# ---- What is refused is written again --------------------------------------------------------------


def test_a_patch_that_is_refused_is_written_again(case: Case) -> None:
    """Told what it was tried with, what came of it, and what the reviewer says."""
    feedback = ["assert half(4) == 2", "AssertionError: half(4) is 0", "about the patch", "divide by two", RED]
    lines = [
        *[guard(), test_line(SCRIPT), *search(), patch(OTHER)],
        review(NO_YES, "half(4) is 0", patch_advice="divide by two"),
        patch(RIGHT, *feedback),
        review(YES_YES, "+    return n // 2"),
    ]
    result = case.run(lines).check()
    assert added(result) == [RIGHT] and verified(result).startswith("yes (reproducer_1.py ")
    assert case.files("review_*") == ["review_p1_t1.json", "review_p2_t1.json"]
    assert read_json(case.attempt / "review_p2_t1.json")["round"] == 2
    assert case.execution(1, 1)["result"] == "reproduced"
    assert case.selected()["selected"] == "attempt_0/extracted_patch_2.diff"


def test_a_test_that_is_refused_is_written_again(case: Case) -> None:
    """Told the patch, what came of both runs, and what the reviewer says."""
    feedback = ["+    return n // 2", "half(4) is 1", "half(4) is 2", "about the test", "four halves to two"]
    lines = [
        *[guard(), test_line(WRONG_SCRIPT), *search(), patch()],
        review(YES_NO, "half(4) is 2", test_advice="four halves to two"),
        test_line(SCRIPT, *feedback),
        review(YES_YES, "assert half(4) == 2"),
    ]
    result = case.run(lines).check()
    assert verified(result).startswith("yes (reproducer_2.py ")
    assert case.files("review_*") == ["review_p1_t1.json", "review_p1_t2.json"]
    assert case.files("execution_*") == [f"execution_{p}_{t}.json" for p in (0, 1) for t in (1, 2)]


def test_where_both_are_refused_both_are_written_again(case: Case) -> None:
    """The patch first."""
    lines = [
        *[guard(), test_line(WRONG_SCRIPT), *search(), patch(OTHER), review(NO_NO)],
        patch(RIGHT, "mend the patch"),
        test_line(SCRIPT, "mend the test"),
        review(YES_YES, "assert half(4) == 2", "+    return n // 2"),
    ]
    result = case.run(lines).check()
    assert added(result) == [RIGHT] and verified(result).startswith("yes (reproducer_2.py ")
    roles = [at["request"]["agent"] for at in case.records("model")]
    assert roles[-4:] == ["review", "patch", "test", "review"]
    assert case.files("execution_*") == ["execution_0_1.json", "execution_0_2.json", "execution_1_1.json", "execution_2_2.json"]


def test_a_patch_that_does_not_apply_is_tried_again_in_the_review(case: Case) -> None:
    """As often as --tries says, and each try is told the last one's fault."""
    lines = [
        *[guard(), test_line(SCRIPT), *search(), patch(OTHER), review(NO_YES)],
        patch(RIGHT, "mend the patch", before="    return n // 7\n"),
        patch(RIGHT, "return n // 3"),
        review(YES_YES),
    ]
    result = case.run(lines, "--tries", "2").check()
    assert verified(result).startswith("yes")
    assert case.files("execution_*") == ["execution_0_1.json", "execution_1_1.json", "execution_3_1.json"]


def test_where_no_applicable_patch_comes_the_best_so_far_is_taken(case: Case) -> None:
    """All tries of a rewrite are used."""
    bad = patch(RIGHT, before="    return n // 7\n")
    lines = [guard(), test_line(SCRIPT), *search(), patch(OTHER), review(NO_YES), bad, bad]
    result = case.run(lines, "--tries", "2").check()
    assert added(result) == [OTHER]
    assert verified(result) == "no (the reviewer holds the patch for wrong)"


def test_a_test_that_cannot_be_written_again_leaves_the_patch_approved(case: Case) -> None:
    """Its tries bring no script."""
    nothing = line("test", "I would not know how.")
    lines = [guard(), test_line(WRONG_SCRIPT), *search(), patch(), review(YES_NO), nothing, nothing]
    result = case.run(lines, "--tries", "2").check()
    assert added(result) == [RIGHT]
    assert verified(result) == "no (the reviewer holds the patch for right and the test for wrong)"
    assert case.files("reproducer_*") == ["reproducer_1.py"]
    assert case.files("conv_test_*") == [f"conv_test_{n}.json" for n in (1, 2, 3)]


def test_a_script_is_named_by_the_try_that_wrote_it(case: Case) -> None:
    """Where the tries after it bring none."""
    nothing = line("test", "I would not know how.", "no block of Python")
    lines = [
        *[guard(), test_line(WRONG_SCRIPT), *search(), patch(), review(YES_NO)],
        *[test_line(FAILING), line("test", "I would not know how.", "no_such_name"), nothing],
        review(YES_YES, "no_such_name"),
    ]
    result = case.run(lines).check()
    assert verified(result) == "no (the reviewer approves, but the test was not red before and green after)"
    assert case.files("reproducer_*") == ["reproducer_1.py", "reproducer_2.py"]
    assert case.files("review_*") == ["review_p1_t1.json", "review_p1_t2.json"]


def test_when_the_rounds_are_used_up_the_best_so_far_is_taken(case: Case) -> None:
    """Here the one whose patch was found right in a round that held the test for wrong."""
    numbers = range(10, 10 + ROUNDS)
    lines = [guard(), test_line(SCRIPT), *search()]
    for number in numbers:
        lines += [patch(f"    return n // {number}\n"), review(NO_YES)]
    lines[-1:] = [review(YES_NO), test_line(WRONG_SCRIPT)]
    result = case.run(lines).check()
    assert added(result) == [f"    return n // {numbers[-1]}\n"]
    assert verified(result) == "no (the reviewer holds the patch for right and the test for wrong)"
    assert len(case.asked("review")) == ROUNDS
    assert case.selected()["proof"] == "approved"


@pytest.mark.parametrize(
    ("judged", "why"),
    [(NO_YES, "the reviewer holds the patch for wrong"), (YES_YES, "the validation refuses the patch")],
)
def test_of_a_patch_that_is_judged_again_the_newest_judgement_holds(
    case: Case, judged: tuple[str, str], why: str
) -> None:
    """It was found right in a round that held the test for wrong."""
    lines = [guard(), test_line(WRONG_SCRIPT), *search(), patch(), review(YES_NO), test_line(SCRIPT), review(judged)]
    result = case.run(lines, "--validate", "false").check()
    assert added(result) == [RIGHT] and verified(result) == f"no ({why})"


def test_of_equals_the_first_is_taken(case: Case) -> None:
    """Each round's patch is held for wrong."""
    lines = [guard(), test_line(SCRIPT), *search()]
    for number in range(10, 10 + ROUNDS):
        lines += [patch(f"    return n // {number}\n"), review(NO_YES)]
    result = case.run(lines).check()
    assert added(result) == ["    return n // 10\n"]
    assert verified(result) == "no (the reviewer holds the patch for wrong)"
    assert len(case.asked("review")) == ROUNDS and len(case.asked("patch")) == ROUNDS


# ---- The reviewer ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("Both are fine.", "no JSON object"),
        ('{"patch-correct": "yes", "test-correct": ', "no JSON object"),
        ('{"patch-correct": "yes", "test-correct": }', "not valid JSON"),
        ('{"patch-correct": "yes"}', '"test-correct" is missing'),
        ('{"patch-correct": "perhaps", "test-correct": "yes"}', '"patch-correct" is neither yes nor no'),
        ('{"patch-correct": 1, "test-correct": "yes"}', '"patch-correct" is neither yes nor no'),
    ],
)
def test_a_review_that_cannot_be_read_is_asked_for_again(case: Case, answer: str, problem: str) -> None:
    """In the same round, told why."""
    said = json.loads(review(YES_YES)["content"])
    fenced = f"Here it is:\n```json\n{json.dumps(said | {'patch-correct': True, 'test-correct': 'Yes'})}\n```\n"
    lines = [*without("review", STRAIGHT), line("review", answer), line("review", fenced, problem)]
    result = case.run(lines).check()
    assert verified(result).startswith("yes")
    assert len(read_json(case.attempt / "review_p1_t1.json")["conversation"]) == 5


def test_a_reviewer_that_never_can_be_read_leaves_the_patch_unverified(case: Case) -> None:
    """After so many tries; the patch is not lost."""
    lines = [*without("review", STRAIGHT), *[line("review", "Hm.")] * (REVIEW_TRIES + 1)]
    result = case.run(lines).check()
    assert added(result) == [RIGHT]
    assert verified(result) == f"no (no review can be read in {REVIEW_TRIES} tries)"
    assert len(case.asked("review")) == REVIEW_TRIES and case.files("review_*") == []


def test_a_used_up_reviewer_leaves_the_patch_unverified(case: Case) -> None:
    """With the reason."""
    result = case.run(without("review", STRAIGHT)).check()
    assert added(result) == [RIGHT] and verified(result).startswith("no (no review: ")


def test_a_patch_writer_that_is_used_up_leaves_the_best_so_far(case: Case) -> None:
    """In the middle of the review."""
    lines = [guard(), test_line(SCRIPT), *search(), patch(OTHER), review(NO_YES)]
    result = case.run(lines).check()
    assert added(result) == [OTHER] and verified(result) == "no (the reviewer holds the patch for wrong)"


def test_a_reproducer_that_is_used_up_in_the_review_leaves_the_best_so_far(case: Case) -> None:
    """The patch was held for right."""
    lines = [guard(), test_line(WRONG_SCRIPT), *search(), patch(), review(YES_NO)]
    result = case.run(lines).check()
    assert added(result) == [RIGHT]
    assert verified(result) == "no (the reviewer holds the patch for right and the test for wrong)"


@pytest.mark.parametrize(("script", "name"), [(WRONG_SCRIPT, "red after"), (SCRIPT, "green after")])
def test_approval_alone_verifies_nothing(case: Case, script: str, name: str) -> None:
    """The script must have been red before and green after."""
    lines = [guard(), test_line(script), *search(), patch(), review(YES_YES)]
    result = case.run(lines).check()
    wanted = "yes" if name == "green after" else "no (the reviewer approves, but the test was not red before and green"
    assert verified(result).startswith(wanted)


# ---- The reproducer --------------------------------------------------------------------------------


def test_an_issue_that_cannot_be_reproduced_is_worked_on_without(case: Case) -> None:
    """And said so; no script is asked for, nothing is run."""
    result = case.run([guard("no"), *STRAIGHT[1:]]).check()
    assert added(result) == [RIGHT]
    assert verified(result) == "no (the issue gives no example that can be reproduced)"
    assert case.asked("test") == [] == case.records("execution")
    assert case.files("review*") + case.files("repro*") + case.files("execution*") == []


@pytest.mark.parametrize("answer", ["Surely.", '{"reproducible": "maybe"}', '{"a": "yes", "b": "no"}'])
def test_a_guard_that_cannot_be_read_is_asked_again(case: Case, answer: str) -> None:
    """It may answer with true as well."""
    lines = [line("reproducible", answer), line("reproducible", '{"reproducible": true}', "cannot be read"), *STRAIGHT[1:]]
    assert verified(case.run(lines).check()).startswith("yes")


def test_a_guard_that_never_can_be_read_is_gone_on_without(case: Case) -> None:
    """After so many tries."""
    result = case.run([*[line("reproducible", "Hm.")] * (GUARD_TRIES + 1), *STRAIGHT[1:]]).check()
    assert verified(result) == f"no (whether the issue can be reproduced was not answered in {GUARD_TRIES} tries)"
    assert len(case.asked("reproducible")) == GUARD_TRIES


def test_a_used_up_guard_is_gone_on_without(case: Case) -> None:
    """As every script of before there was verification."""
    result = case.run([*search(), patch()]).check()
    assert added(result) == [RIGHT]
    assert verified(result).startswith("no (whether the issue can be reproduced is not known: ")


@pytest.mark.parametrize(
    ("first", "told"),
    [
        (line("test", "I cannot."), ["no block of Python code"]),
        (test_line(PASSING), ["exits with 0 in the project as it is", "Without a patch, the script exited with 0"]),
        (test_line(FAILING), ["another error ended the script", "ImportError", "no_such_name"]),
        (test_line("def f(:\n"), ["SyntaxError"]),
        (test_line("print('AssertionError')\nraise SystemExit(1)\n"), ["no exception ended it", "<stdout>\nAssertionError"]),
        (test_line("# " + "x" * 300_000 + "\n"), ["longer than"]),
    ],
    ids=["no script", "passes at once", "fails otherwise", "no Python", "prints the word", "too long"],
)
def test_a_script_that_does_not_reproduce_is_written_again(case: Case, first: Line, told: list[str]) -> None:
    """Told what it did."""
    result = case.run([guard(), first, test_line(SCRIPT, *told), *STRAIGHT[2:]]).check()
    assert verified(result).startswith("yes (reproducer_2.py ")
    assert "conv_test_2.json" in case.files("conv_test_*")


def test_a_reproducer_whose_tries_are_used_up_is_gone_on_without(case: Case) -> None:
    """And said so."""
    result = case.run([guard(), *[test_line(PASSING)] * 3, *search(), patch()], "--tries", "2").check()
    assert added(result) == [RIGHT]
    assert verified(result) == "no (the issue was not reproduced in 2 tries)"
    assert case.files("reproducer_*") == ["reproducer_1.py", "reproducer_2.py"]


@pytest.mark.parametrize("tests", [[], [test_line(PASSING)]], ids=["none", "one"])
def test_a_reproducer_without_a_line_left_is_gone_on_without(case: Case, tests: list[Line]) -> None:
    """And said so."""
    result = case.run([guard(), *tests, *search(), patch()]).check()
    assert added(result) == [RIGHT] and verified(result).startswith("no (no reproducer in this try: ")


# ---- The validation --------------------------------------------------------------------------------

CHECK = "python3 -c 'import app, sys; sys.exit(app.half(9) != 4 and \"half of nine is four\")' 2>&1"


def test_a_refusal_by_the_validation_goes_back_to_the_patch_writer(case: Case) -> None:
    """Without a reproducer; its message stands in the prompt."""
    lines = [guard("no"), *search(), patch(HALF_RIGHT), patch(RIGHT, "half of nine is four", "(exit code 1)")]
    result = case.run(lines, "--validate", CHECK).check()
    assert added(result) == [RIGHT] and case.selected()["proof"] == "none"
    assert [at["request"]["command"] for at in case.records("execution")] == [CHECK] * 2


def test_a_refusal_after_the_review_goes_back_to_the_patch_writer(case: Case) -> None:
    """With a reproducer; what comes is reviewed and validated again."""
    lines = [
        *[guard(), test_line(SCRIPT), *search(), patch(HALF_RIGHT), review(YES_YES)],
        patch(RIGHT, "half of nine is four"),
        review(YES_YES, "+    return n // 2"),
    ]
    result = case.run(lines, "--validate", CHECK).check()
    assert added(result) == [RIGHT] and verified(result).startswith("yes")
    commands = [at["request"]["command"] for at in case.records("execution")]
    assert commands.count(CHECK) == 2


@pytest.mark.parametrize("verify", ["auto", "never"])
def test_a_patch_that_is_always_refused_is_the_result_all_the_same(case: Case, verify: str) -> None:
    """And said so. What the command prints on stderr alone goes back, too."""
    lines = [*search(), patch(OTHER), patch(OTHER, "never good"), patch(OTHER, "never good")]
    result = case.run([guard("no"), *lines], "--validate", "echo never good >&2; exit 3", "--verify", verify).check()
    assert added(result) == [OTHER] and verified(result) == "no (the validation refuses the patch)"
    assert len(case.asked("patch")) == 3 and len(case.records("execution")) == 1


def test_a_patch_that_is_refused_is_worse_than_one_that_is_not(case: Case) -> None:
    """Also where it comes first."""
    lines = [guard("no"), *search(), patch(OTHER), patch(RIGHT)]
    result = case.run(lines, "--validate", "grep -q 'n // 2' app.py", "--attempts", "3").check()
    assert added(result) == [RIGHT] and "attempt_1" not in {path.name for path in case.out.iterdir()}


def test_a_validation_that_ends_by_a_signal_refuses(case: Case) -> None:
    """As one that exits otherwise than with 0."""
    result = case.run([guard("no"), *search(), patch()], "--validate", "kill -9 $$", "--tries", "1").check()
    assert verified(result) == "no (the validation refuses the patch)"


# ---- When to verify --------------------------------------------------------------------------------


def test_never_asks_and_runs_nothing(case: Case) -> None:
    """No call of the roles that verify, and no word of it."""
    result = case.run(STRAIGHT, "--verify=never").check()
    assert "verified" not in result.err and case.selected()["reason"] == "--verify=never was given"
    assert {at["request"]["agent"] for at in case.records("model")} == {"search", "extract", "patch"}
    assert case.records("sandbox") == case.records("execution") == []


def test_without_a_sandbox_the_run_goes_on_and_says_so(case: Case, tmp_path: Path) -> None:
    """The default: verify where it can be."""
    case.options = []
    (tmp_path / "bin").mkdir()
    result = case.run(STRAIGHT, env={"PATH": str(tmp_path / "bin")}).check()
    assert added(result) == [RIGHT]
    assert verified(result).startswith("no (the issue is not reproduced: ") and "bubblewrap" in verified(result)
    assert len(result.err.splitlines()) == 1 + ("calls," in result.err), result.told()


@pytest.mark.parametrize("option", ["--verify=always", "--verify"])
def test_always_ends_where_there_is_no_sandbox(case: Case, tmp_path: Path, option: str) -> None:
    """With one line, and can be gone on with where there is one."""
    case.options = [] if has_bubblewrap() else ["--sandbox", "bubblewrap"]
    (tmp_path / "bin").mkdir()
    command = case.arguments(STRAIGHT, option)
    case.host.run(*command, env={"PATH": str(tmp_path / "bin")}).one_line(ENVIRONMENT, "bubblewrap")
    assert journal(case.out) == []
    if has_bubblewrap():
        assert verified(case.host.run(*command).check()).startswith("yes")


def test_a_validation_that_cannot_be_run_is_said(case: Case, tmp_path: Path) -> None:
    """The patch is the result all the same."""
    case.options = [] if has_bubblewrap() else ["--sandbox", "bubblewrap"]
    (tmp_path / "bin").mkdir()
    result = case.run([*search(), patch()], "--validate", "true", env={"PATH": str(tmp_path / "bin")}).check()
    assert verified(result).startswith("no (patch 1 is not validated: ")


# ---- Attempts --------------------------------------------------------------------------------------


def test_attempts_go_on_until_one_is_approved(case: Case) -> None:
    """Each from the beginning, with a reproducer of its own."""
    lines = [
        *[guard(), test_line(SCRIPT), *search(), patch(OTHER), review(NO_YES)],
        *[patch(OTHER, before="    nothing\n")],
        *[guard(), test_line(SCRIPT), *search(), patch(), review(YES_YES)],
    ]
    result = case.run(lines, "--attempts", "3", "--tries", "1").check()
    assert added(result) == [RIGHT] and verified(result).startswith("yes")
    assert case.selected()["selected"] == "attempt_1/extracted_patch_1.diff"
    assert (case.out / "attempt_1" / "reproducer_1.py").is_file() and not (case.out / "attempt_2").exists()
    assert [at["request"]["repeat"] for at in case.records("execution")] == [0, 0, 0, 1, 1]


@pytest.mark.parametrize("first", [NO_YES, YES_NO])
def test_the_best_of_all_attempts_is_taken(case: Case, first: tuple[str, str]) -> None:
    """Verified, approved, nothing known, held for wrong, refused; here the first attempt's against the second's."""
    lines = [guard(), test_line(SCRIPT), *search(), patch(OTHER), review(first), guard("no"), *search(), patch(RIGHT)]
    result = case.run(lines, "--attempts", "2").check()
    assert added(result) == [RIGHT if first == NO_YES else OTHER]


def test_models_are_taken_in_turn(case: Case, tmp_path: Path) -> None:
    """The first model's attempt is doubted, the second one's is verified."""
    second = write_script(tmp_path / "second.jsonl", STRAIGHT)
    lines = [guard(), test_line(SCRIPT), *search(), patch(OTHER), review(NO_YES)]
    result = case.run(lines, "--attempts", "2", "--model", f"script:{second}").check()
    assert added(result) == [RIGHT] and verified(result).startswith("yes")
    used = [(r["conversation"].split("/")[0], Path(r["model"]).name) for r in (at["request"] for at in case.records("model"))]
    assert set(used) == {("attempt_0", "script_1.jsonl"), ("attempt_1", "second.jsonl")}


# ---- Again -----------------------------------------------------------------------------------------


def test_replay_of_a_verified_run_needs_no_sandbox(case: Case, tmp_path: Path) -> None:
    """Nor Python, nor the repository's files; it writes nothing."""
    whole = case.run(STRAIGHT, "--validate", CHECK).check()
    before = folder_digest(case.out)
    (tmp_path / "bin").mkdir()
    again = case.host.run("replay", case.out, env={"PATH": str(tmp_path / "bin")}).check()
    assert again.stdout == whole.stdout and folder_digest(case.out) == before


@pytest.mark.parametrize("name", ["reproducer_1.py", "execution_0_1.json", "execution_1_1.json", "review_p1_t1.json", "conv_test_1.json"])
def test_replay_compares_what_verification_wrote(case: Case, name: str) -> None:
    """A file that differs is named."""
    case.run(STRAIGHT).check()
    (case.attempt / name).write_text("other\n")
    case.host.run("replay", case.out).one_line(NONE, name)


def test_an_execution_that_was_recorded_otherwise_diverges(case: Case) -> None:
    """The journal is the truth: its stderr goes into the next request."""
    case.run(STRAIGHT).check()
    path = case.out / "journal.jsonl"
    path.write_text(path.read_text().replace("half(4) is 1\\n", "half(4) is 7\\n"))
    result = case.host.run("replay", case.out)
    assert result.exit not in (0, -6, -11) and len(result.err.splitlines()) == 1, result.told()


def test_a_finished_run_returns_its_proof(case: Case) -> None:
    """Without running anything."""
    command = case.arguments(STRAIGHT)
    first, again = case.host.run(*command).check(), case.host.run(*command).check()
    assert again.stdout == first.stdout and verified(again) == verified(first)
    other = case.host.run(*command, "--validate", "true")
    other.one_line(USAGE, "begun with another validate")


SLEEPER = "import time\nfrom app import half\nassert half(4) == 2\nwhile True:\n    time.sleep(0.1)\n"


def _journal_grows_to(case: Case, records: int) -> None:
    """Waits until the newest run has so many records."""
    until = time.monotonic() + 60 * SLOWNESS
    path = case.out / "journal.jsonl"
    while not path.is_file() or path.read_bytes().count(b"\n") < records:
        assert time.monotonic() < until, "the run does not get there"
        time.sleep(0.02)


def test_a_run_that_is_interrupted_in_an_execution_goes_on(case: Case) -> None:
    """The execution is not recorded, and is made again."""
    slow = "import time\ntime.sleep(1)\n" + SCRIPT
    command = case.arguments([guard(), test_line(slow), *search(), patch(), review(YES_YES)])
    child = case.host.start(*command)
    _journal_grows_to(case, 3)
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60 * SLOWNESS)
    assert child.returncode == INTERRUPTED, err
    assert case.records("execution") == []
    assert verified(case.host.run(*command).check()).startswith("yes")


def test_the_time_of_a_run_ends_an_execution(case: Case) -> None:
    """It is not recorded; the patch so far is the result, and with more time the run goes on."""
    lines = [guard(), test_line(SLEEPER), *search(), patch(), review(YES_YES)]
    seconds = str(round(3 * SLOWNESS))
    command = case.arguments(lines)
    begun = time.monotonic()
    result = case.host.run(*command, "--max-time", seconds).check(CEILING)
    assert time.monotonic() - begun < 40 * SLOWNESS, result.told()
    assert added(result) == [RIGHT] and "the time of the run is over" in result.err, result.told()
    assert len(case.records("execution")) == 1
    assert without_passing(case.records("execution"))[0]["answer"]["limit"] is None


def test_the_tokens_of_a_run_end_a_review(case: Case, loopback_openai: Callable[..., LoopbackOpenAI]) -> None:
    """The patch so far is the result; nothing is asked after the ceiling."""
    used = {"prompt_tokens": 10, "completion_tokens": 900_000, "total_tokens": 900_010}
    lines = [*STRAIGHT[:-2], STRAIGHT[-2] | {"usage": used}, STRAIGHT[-1]]
    server = loopback_openai(lines)
    command = case.arguments([], "--max-tokens-total", "500000")
    command[command.index("--model") + 1] = server.model
    result = case.host.run(*command, env=server.environment).check(CEILING)
    assert added(result) == [RIGHT] and len(server.requests) == len(lines) - 1
    assert [at["request"]["patch"] is None for at in case.records("execution")] == [True, False]


# ---- reproduce -------------------------------------------------------------------------------------

ALONE = [guard(), test_line(FAILING), test_line(SCRIPT, "no_such_name")]


def test_reproduce_prints_the_script(case: Case) -> None:
    """And keeps it in the folder; replay prints it again, where there is no sandbox."""
    result = case.run(ALONE, verb="reproduce").check()
    assert result.out == SCRIPT == (case.out / "reproducer.py").read_text()
    assert not (case.out / "patch.diff").exists() and case.files("reproducer_*") == ["reproducer_1.py", "reproducer_2.py"]
    assert case.asked("search") == [] and "look at it" not in result.err
    again = case.host.run("replay", case.out, env={"PATH": "/nonexistent"}).check()
    assert again.stdout == result.stdout
    (case.out / "reproducer.py").write_text("other\n")
    case.host.run("replay", case.out).one_line(NONE, "reproducer.py")


def test_reproduce_again_returns_the_script(case: Case) -> None:
    """From the finished folder; `run` does not go on there."""
    command = case.arguments(ALONE, verb="reproduce")
    first = case.host.run(*command).check()
    assert case.host.run(*command).check().stdout == first.stdout
    case.host.run("run", *command[1:]).one_line(USAGE, "begun with another")


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([guard("no")], "the issue gives no example that can be reproduced"),
        ([guard(), *[test_line(PASSING)] * 3], "the issue was not reproduced in 3 tries"),
        ([guard()], "no reproducer in this try"),
        ([], "whether the issue can be reproduced is not known"),
    ],
    ids=["no example", "tries", "used up", "no guard"],
)
def test_reproduce_ends_with_1_where_there_is_none(case: Case, lines: list[Line], why: str) -> None:
    """And says why; so does replay."""
    result = case.run(lines, verb="reproduce").check(NONE)
    assert result.stdout == b"" and f"not reproduced: {why}" in result.err
    again = case.host.run("replay", case.out)
    assert again.stdout == b"" and "not reproduced" in again.one_line(NONE, "as recorded")


def test_reproduce_tells_what_to_look_at(case: Case) -> None:
    """A script that may be red for reasons of its own."""
    script = SCRIPT + "import time\nassert time.time() > 1\n"
    result = case.run([guard(), test_line(script)], verb="reproduce").check()
    assert result.out == script
    assert "look at it before you trust it: the script asks the clock by time.time (line 5)" in result.err


def test_reproduce_needs_a_sandbox(case: Case) -> None:
    """Without one it ends with 3, and nothing is asked."""
    case.options = [] if has_bubblewrap() else ["--sandbox", "bubblewrap"]
    case.run(ALONE, verb="reproduce", env={"PATH": "/nonexistent"}).one_line(ENVIRONMENT, "bubblewrap")
    assert journal(case.out) == []


def test_reproduce_has_attempts(case: Case) -> None:
    """The next one begins where the one before ended without a script."""
    lines = [guard("no"), guard(), test_line(SCRIPT)]
    assert case.run(lines, "--attempts", "2", verb="reproduce").check().out == SCRIPT
    assert (case.out / "attempt_1" / "reproducer_1.py").read_text() == SCRIPT


def test_the_project_is_found_below_src(host: Host, tmp_path: Path) -> None:
    """As packages lie that are installed to be imported."""
    repo = make_repo(tmp_path / "repo", {"src/pkg/__init__.py": "", "src/pkg/app.py": TINY["app.py"]})
    made = Case(host, Repo(repo.path), tmp_path)
    script = SCRIPT.replace("from app", "from pkg.app")
    assert made.run([guard(), test_line(script)], verb="reproduce").check().out == script
