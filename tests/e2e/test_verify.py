"""The loop that corrects patch and test: each of its paths, with scripted models on a small project."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from host import ROOT, Host
from repos import Repo, digest
from runs import ARTIFACTS, arguments, check_patch, files_of, read_json
from verifying import (
    FAILING,
    NO_NO,
    NO_YES,
    OTHER,
    PASSING,
    RED,
    RIGHT,
    SCRIPT,
    STRAIGHT,
    YES_NO,
    YES_YES,
    Case,
    Line,
    added,
    case,
    check_repeated,
    guard,
    line,
    patch,
    rejected,
    review,
    sandbox_options,
    search,
    test_line,
    verified,
)

__all__ = ["case"]
ROUNDS, REVIEW_TRIES, GUARD_TRIES = 5, 5, 3

#: Fails before, and also with any correct patch.
WRONG_SCRIPT = SCRIPT.replace("== 2", "== 3")


def without(agent: str, lines: list[Line]) -> list[Line]:
    """The lines without those of some roles."""
    return [entry for entry in lines if entry["agent"] != agent]


# ---- Straight on -----------------------------------------------------------------------------------


def test_a_patch_is_verified(case: Case) -> None:
    """A script fails before and passes after, and experiments agree; reviewer and search agent see the script's
    results.
    """
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
    assert verified(result).startswith("yes (reproducer_1.py fails without the patch and passes with it; ")
    assert case.selected()["proof"] == "verified"
    assert (case.attempt / "reproducer_1.py").read_text() == SCRIPT
    check_folder(case)
    check_each_pair_is_run_once(case)
    assert case.files("*.*") == [
        *["conv_patch_1.json", "conv_test_1.json", "execution_0_1.json", "execution_1_1.json", "extract_status.json"],
        *["extracted_patch_1.diff", "patch_raw_1.md", "reproducer_1.py", "review_p1_t1.json"],
    ]


@pytest.mark.full
def test_a_patch_is_verified_without_isolation(case: Case) -> None:
    """Each copy has another path, but everything that is kept shows the repository's path."""
    case.options = ["--sandbox", "plain"]
    result = case.run(STRAIGHT).check()
    assert added(result) == [RIGHT] and verified(result).startswith("yes")
    assert f'File "{case.repo}/reproducer.py", line 3' in case.execution(0, 1)["stderr"]
    assert str(case.host.home / "cache") not in (case.out / "journal.jsonl").read_text()


def check_folder(case: Case) -> None:
    """The run folder has executions, the review, and the reproducer's conversation."""
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


def experiments_of_the_guide() -> list[str]:
    text = (ROOT / "docs" / "verifying.md").read_text()
    table = text.partition("| experiment |")[2].partition("\n\n")[0]
    return re.findall(r"^\| ([a-z ]+) \|", table, re.MULTILINE)


def check_each_pair_is_run_once(case: Case) -> None:
    """Experiments follow when the pair decides; result.json has the recorded numbers."""
    requests = [at["request"] for at in case.records("execution")]
    assert [at["patch"] is not None for at in requests[:2]] == [False, True]
    made = {at["experiment"] for at in requests[2:]}
    assert {"negated", "perturbed", "decoy", "rewritten", "written out"} <= made
    made = read_json(case.out / "result.json")["experiments"]
    assert made["runs"] == len(requests) and made["seconds"] > 0
    assert all(row["agrees"] for row in made["table"])
    names = [row["experiment"] for row in made["table"]]
    assert names == sorted(names, key=experiments_of_the_guide().index)  # although the runs come in random order


def test_a_pair_that_is_known_is_not_run_again(case: Case) -> None:
    """The model writes the same patch and the same test again."""
    lines = [
        *[guard(), test_line(SCRIPT), *search(), patch(), review(NO_NO), patch(RIGHT), test_line(SCRIPT)],
        review(YES_YES),
    ]
    result = case.run(lines).check()
    assert verified(result).startswith("yes (reproducer_2.py ")
    assert case.files("execution_*") == [
        "execution_0_1.json",
        "execution_0_2.json",
        "execution_1_1.json",
        "execution_2_2.json",
    ]
    requests = [at["request"] for at in case.records("execution") if "experiment" not in at["request"]]
    requests = [json.dumps(at, sort_keys=True) for at in requests]
    assert len(requests) == len(set(requests)) == 2


@pytest.mark.full
def test_the_sample_is_verified(host: Host, sample_repo: Repo, tmp_path: Path) -> None:
    """The sample's own lines verify it; a first script that cannot be imported is sent back."""
    out, before = tmp_path / "out", digest(sample_repo.path)
    result = host.run(*arguments(sample_repo, out, *sandbox_options(), verify="auto")).check()
    assert verified(result).startswith("yes (reproducer_2.py fails without the patch and passes with it; ")
    picture = re.sub("<[^>]+>", "", (ROOT / "docs" / "terminal.svg").read_text("utf-8"))
    shown = " ".join(re.sub(r"\S*/out|/\S+/brookbill", "PATH", picture).split())
    told = [line.partition(" ")[2] for line in result.progress[-5:]] + result.err.splitlines()[-1:]
    told = [line.replace(str(out), "PATH").replace(str(sample_repo), "PATH") for line in told]
    assert [line for line in told if line not in shown] == []
    check_patch(result.stdout, sample_repo.clone(tmp_path / "clone"))
    of_proof = ["conv_test_1.json", "conv_test_2.json", "reproducer_1.py", "reproducer_2.py", "review_p2_t2.json"]
    of_proof += [f"execution_{pair}.json" for pair in ("0_1", "0_2", "2_2")]
    files = {name for name in files_of(out) if not name.startswith(("prompts/", "snapshot/"))}
    assert files == ARTIFACTS | {f"attempt_0/{name}" for name in of_proof}
    assert digest(sample_repo.path) == before
    again = host.run("replay", out, env={"PATH": "/nonexistent"}).check()
    assert again.stdout == result.stdout


# ---- Rejected patches and scripts are rewritten ----------------------------------------------------


def test_what_is_refused_is_written_again(case: Case) -> None:
    """The patch first. Each writer gets script, patch and results, and the reviewer's analysis of its own work."""
    of_patch = ["assert half(4) == 3", "AssertionError: half(4) is 0", "about the patch", "divide by two", RED]
    of_test = ["+    return n // 5", "half(4) is 1", "half(4) is 0", "about the test", "four halves to two"]
    lines = [
        *[guard(), test_line(WRONG_SCRIPT), *search(), patch(OTHER)],
        review(NO_NO, "half(4) is 0", patch_advice="divide by two", test_advice="four halves to two"),
        *[patch(RIGHT, *of_patch), test_line(SCRIPT, *of_test)],
        review(YES_YES, "assert half(4) == 2", "+    return n // 2"),
    ]
    result = case.run(lines).check()
    assert added(result) == [RIGHT] and verified(result).startswith("yes (reproducer_2.py ")
    roles = [at["request"]["agent"] for at in case.records("model")]
    assert roles[-4:] == ["review", "patch", "test", "review"]
    assert case.files("review_*") == ["review_p1_t1.json", "review_p2_t2.json"]
    assert read_json(case.attempt / "review_p2_t2.json")["round"] == 2
    assert case.execution(1, 1)["result"] == "reproduced"
    assert case.selected()["selected"] == "attempt_0/extracted_patch_2.diff"
    assert case.files("execution_*") == [
        "execution_0_1.json",
        "execution_0_2.json",
        "execution_1_1.json",
        "execution_2_2.json",
    ]


def test_a_patch_that_does_not_apply_is_tried_again_in_the_review(case: Case) -> None:
    """The patch is tried at most --tries times; each try gets the error of the last one."""
    lines = [
        *[guard(), test_line(SCRIPT), *search(), patch(OTHER), review(NO_YES)],
        patch(RIGHT, "mend the patch", before="    return n // 7\n"),
        patch(RIGHT, "return n // 3"),
        review(YES_NO),
    ]
    result = case.run(lines, "--tries", "2").check()
    assert verified(result) == "no (the reviewer found the patch right and the test wrong)"
    assert case.files("execution_*") == ["execution_0_1.json", "execution_1_1.json", "execution_3_1.json"]


def test_where_no_applicable_patch_comes_the_best_so_far_is_taken(case: Case) -> None:
    """All tries of a rewrite are used, and no more."""
    bad = patch(RIGHT, before="    return n // 7\n")
    lines = [guard(), test_line(SCRIPT), *search(), patch(OTHER), review(NO_YES), bad, bad, patch(RIGHT)]
    result = case.run(lines, "--tries", "2")
    assert rejected(case, result) == [OTHER]
    assert verified(result) == "no (the reviewer found the patch wrong)"


def test_a_test_that_cannot_be_written_again_leaves_the_patch_approved(case: Case) -> None:
    """The tries give no script."""
    nothing = line("test", "I would not know how.")
    lines = [guard(), test_line(WRONG_SCRIPT), *search(), patch(), review(YES_NO), nothing, nothing]
    result = case.run(lines, "--tries", "2").check()
    assert added(result) == [RIGHT]
    assert verified(result) == "no (the reviewer found the patch right and the test wrong)"
    assert case.files("reproducer_*") == ["reproducer_1.py"]
    assert case.files("conv_test_*") == [f"conv_test_{n}.json" for n in (1, 2, 3)]


def test_a_script_is_named_by_the_try_that_wrote_it(case: Case) -> None:
    """Later tries give no script."""
    nothing = line("test", "I would not know how.", "no block of Python")
    lines = [
        *[guard(), test_line(WRONG_SCRIPT), *search(), patch(), review(YES_NO)],
        *[test_line(FAILING), line("test", "I would not know how.", "no_such_name"), nothing],
        review(YES_YES, "no_such_name"),
    ]
    result = case.run(lines).check()
    assert (
        verified(result) == "no (the reviewer approves, but reproducer_2.py does not show the issue without the patch)"
    )
    assert case.files("reproducer_*") == ["reproducer_1.py", "reproducer_2.py"]
    assert case.files("review_*") == ["review_p1_t1.json", "review_p1_t2.json"]


def test_when_the_rounds_are_used_up_the_best_so_far_is_taken(case: Case) -> None:
    """Here the one whose patch was judged right in a round that judged the test wrong."""
    numbers = range(10, 10 + ROUNDS)
    lines = [guard(), test_line(SCRIPT), *search()]
    for number in numbers:
        lines += [patch(f"    return n // {number}\n"), review(NO_YES)]
    lines[-1:] = [review(YES_NO), test_line(WRONG_SCRIPT)]
    result = case.run(lines).check()
    assert added(result) == [f"    return n // {numbers[-1]}\n"]
    assert verified(result) == "no (the reviewer found the patch right and the test wrong)"
    assert len(case.asked("review")) == ROUNDS
    assert case.selected()["proof"] == "approved"


@pytest.mark.parametrize(
    ("judged", "why"),
    [(NO_YES, "the reviewer found the patch wrong"), (YES_YES, "validation refused the patch: exit code 1")],
)
def test_of_a_patch_that_is_judged_again_the_newest_judgement_holds(
    case: Case, judged: tuple[str, str], why: str
) -> None:
    """The patch was judged right in a round that judged the test wrong."""
    lines = [guard(), test_line(WRONG_SCRIPT), *search(), patch(), review(YES_NO), test_line(SCRIPT), review(judged)]
    result = case.run(lines, "--validate", "false")
    assert rejected(case, result) == [RIGHT] and verified(result) == f"no ({why})"


# ---- The reviewer ----------------------------------------------------------------------------------


def test_a_review_that_cannot_be_read_is_asked_for_again(case: Case) -> None:
    """The question is repeated in the same round, with the reason."""
    said = json.loads(review(YES_YES)["content"])
    fenced = f"Here it is:\n```json\n{json.dumps(said | {'patch-correct': True, 'test-correct': 'No'})}\n```\n"
    lines = [*without("review", STRAIGHT), line("review", "Both are fine."), line("review", fenced, "no JSON object")]
    result = case.run(lines).check()
    assert verified(result) == "no (the reviewer found the patch right and the test wrong)"
    assert len(read_json(case.attempt / "review_p1_t1.json")["conversation"]) == 5


def test_a_reviewer_that_never_can_be_read_leaves_the_patch_unverified(case: Case) -> None:
    """The review ends after three tries, and the patch is kept."""
    lines = [*without("review", STRAIGHT), *[line("review", "Hm.")] * (REVIEW_TRIES + 1)]
    result = case.run(lines).check()
    assert added(result) == [RIGHT]
    assert (
        verified(result) == f"no (no review could be used in {REVIEW_TRIES} tries: the answer contains no JSON object)"
    )
    why = "the review cannot be used: the answer contains no JSON object"
    assert [f"patch 1: {why}" in step for step in result.progress].count(True) == REVIEW_TRIES, result.told()
    assert len(case.asked("review")) == REVIEW_TRIES and case.files("review_*") == ["review_p1_t1.json"]
    page = case.host.run("report", case.out).check().out.strip()
    assert "review 1: not used: the answer contains no JSON object" in Path(page).read_text()


def test_a_used_up_reviewer_leaves_the_patch_unverified(case: Case) -> None:
    """The result has the reason."""
    result = case.run(without("review", STRAIGHT)).check()
    assert added(result) == [RIGHT] and verified(result).startswith("no (no review: ")


def test_a_patch_writer_that_is_used_up_leaves_the_best_so_far(case: Case) -> None:
    """The script of answers ends in the middle of the review."""
    lines = [guard(), test_line(SCRIPT), *search(), patch(OTHER), review(NO_YES)]
    result = case.run(lines)
    assert rejected(case, result) == [OTHER] and verified(result) == "no (the reviewer found the patch wrong)"


@pytest.mark.parametrize("script", [WRONG_SCRIPT, SCRIPT.replace("== 2", "!= 1") + "raise ValueError\n"])
def test_a_script_that_fails_with_the_patch_rejects_it(case: Case, script: str) -> None:
    """The reviewer approves both. The patch is not applied, and a reviewer that only approves changes nothing."""
    lines = [guard(), test_line(script), *search(), patch(), review(YES_YES)]
    lines += [review(YES_YES, "patch and script correct, but the script fails with the patch")]
    result, before = case.run(lines, "--apply"), digest(case.repo.path)
    assert rejected(case, result) == [RIGHT]
    assert verified(result) == "no (reproducer_1.py fails with the patch, too)"
    assert "the patch is not applied" in result.err and digest(case.repo.path) == before
    assert case.selected()["proof"] == "doubted"
    assert case.host.run("replay", case.out).check(1).stdout == b""


@pytest.mark.full
def test_a_reviewer_that_approves_a_failing_script_may_correct_itself(case: Case) -> None:
    """In the same round, the reviewer judges the script wrong, which is then rewritten."""
    lines = [guard(), test_line(WRONG_SCRIPT), *search(), patch(), review(YES_YES)]
    lines += [review(YES_NO, "patch and script correct, but the script fails"), test_line(SCRIPT), review(YES_YES)]
    assert verified(case.run(lines).check()).startswith("yes (reproducer_2.py ")
    check_repeated(case, 6)


# ---- The reproducer --------------------------------------------------------------------------------


def test_an_issue_that_cannot_be_reproduced_is_worked_on_without(case: Case) -> None:
    """The result says so; no script is requested, and nothing is run."""
    result = case.run([guard("no"), *STRAIGHT[1:]]).check()
    assert added(result) == [RIGHT]
    assert verified(result) == "no (the issue gives no example that can be reproduced)"
    assert case.asked("test") == [] == case.records("execution")
    assert case.files("review*") + case.files("repro*") + case.files("execution*") == []


def test_a_used_up_guard_is_gone_on_without(case: Case) -> None:
    """Scripts of answers from before verification existed therefore still work."""
    result = case.run([*search(), patch()]).check()
    assert added(result) == [RIGHT]
    assert verified(result).startswith("no (whether the issue can be reproduced is not known: ")


@pytest.mark.parametrize(
    ("first", "told"),
    [
        (test_line(FAILING), ["another error ended the script", "ImportError", "no_such_name"]),
        (
            test_line("print('AssertionError')\nraise SystemExit(1)\n"),
            ["no exception ended it", "<stdout>\nAssertionError"],
        ),
    ],
    ids=["fails otherwise", "prints the word"],
)
def test_a_script_that_does_not_reproduce_is_written_again(case: Case, first: Line, told: list[str]) -> None:
    """The writer gets its results."""
    result = case.run([guard(), first, test_line(SCRIPT, *told), *search(), patch()]).check()
    assert verified(result).startswith("no (no review: ")
    assert "conv_test_2.json" in case.files("conv_test_*") and "execution_1_2.json" in case.files("execution_*")


@pytest.mark.parametrize("tests", [[], [test_line(PASSING)]], ids=["none", "one"])
def test_a_reproducer_without_a_line_left_is_gone_on_without(case: Case, tests: list[Line]) -> None:
    """The run says that it has no reproducer."""
    result = case.run([guard(), *tests, *search(), patch()]).check()
    assert added(result) == [RIGHT] and verified(result).startswith("no (no reproducer in this try: ")
