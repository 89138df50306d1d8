"""Early ends of the loop that proves a patch: the last known facts about the patch are reported, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

from hostile import TINY
from runs import journal, read_json
from verifying import (
    HALF_RIGHT,
    NO_NO,
    NO_YES,
    OTHER,
    RIGHT,
    SCRIPT,
    YES_NO,
    YES_YES,
    Case,
    added,
    case,
    guard,
    line,
    need_bubblewrap,
    patch,
    rejected,
    review,
    search,
    test_line,
    verified,
)

__all__ = ["case"]

REFUSING = ["--validate", "echo never; exit 3"]
OTHER_SCRIPT = SCRIPT + "\n# again\n"
ENVIRONMENT = 3


def test_a_patch_that_was_approved_with_a_wrong_test_can_still_be_refused(case: Case) -> None:
    """The validation, which comes later, rejects the patch."""
    lines = [
        *[guard(), test_line(SCRIPT), *search(), patch(), review(YES_NO), test_line(OTHER_SCRIPT)],
        review(YES_YES),
    ]
    result = case.run(lines, *REFUSING).check(1)
    assert verified(result) == "no (validation refused the patch: exit code 3: never)"
    assert case.selected()["proof"] == "refused"


def test_a_refused_patch_gives_way_to_one_that_was_only_doubted(case: Case) -> None:
    """The rejected patch was the better one for a while."""
    lines = [
        *[guard(), test_line(SCRIPT), *search(), patch(OTHER), review(NO_YES), patch(), review(YES_NO)],
        *[test_line(OTHER_SCRIPT), review(YES_YES)],
    ]
    result = case.run(lines, *REFUSING)
    assert rejected(case, result) == [OTHER] and case.selected()["proof"] == "doubted"


def test_of_five_rejected_rounds_the_last_patch_is_kept_and_nothing_is_written(case: Case) -> None:
    """The writer of the last patch knew the earlier reviews; the patch is only in the run folder."""
    patches = [f"    return n // {number}\n" for number in range(5, 10)]
    rounds = [at for text in patches for at in (patch(text), review(NO_YES))]
    result = case.run([guard(), test_line(SCRIPT), *search(), *rounds], "--apply")
    assert rejected(case, result) == patches[-1:] and case.selected()["proof"] == "doubted"
    assert (case.repo.path / "app.py").read_text() == TINY["app.py"]
    again = case.host.run("replay", case.out)
    assert (again.exit, again.stdout) == (1, b"")


def test_a_rejected_patch_that_another_attempt_writes_again_stays_rejected(case: Case) -> None:
    """Nobody judges it there, so the reviewer's first judgement holds."""
    lines = [guard(), test_line(SCRIPT), *search(), patch(OTHER), review(NO_YES), guard("no"), *search(), patch(OTHER)]
    assert rejected(case, case.run(lines, "--attempts", "2")) == [OTHER]


def test_what_a_reviewer_approved_is_validated_where_the_review_ends_early(case: Case) -> None:
    """The reproducer's lines are used up before its turn."""
    lines = [guard(), test_line(SCRIPT), *search(), patch(), review(YES_NO)]
    result = case.run(lines, *REFUSING).check(1)
    assert verified(result) == "no (validation refused the patch: exit code 3: never)"
    result = case.run(lines, "--validate", "grep -q 'n // 2' app.py").check()
    reason = "the reviewer found the patch right and the test wrong"
    assert verified(result) == f"no (the --validate command succeeds with the patch; not verified: {reason})"
    assert [at["request"]["command"] is None for at in case.records("execution")] == [True, True, False, False]


def test_what_is_not_applicable_is_not_validated(case: Case) -> None:
    """Otherwise, the command would run on the tree without a patch."""
    lines = [
        *[guard(), test_line(SCRIPT), *search(), patch(OTHER), review(NO_YES)],
        patch(RIGHT, before="    no such line\n"),
    ]
    result = case.run(lines, *REFUSING)
    assert rejected(case, result) == [OTHER] and case.selected()["proof"] == "doubted"
    assert all(at["request"]["command"] is None for at in case.records("execution"))


def test_a_patch_without_a_reproducer_to_review_it_with_is_validated(case: Case) -> None:
    """The review rejected both; the model then wrote a new patch, but no script."""
    lines = [
        *[guard(), test_line(SCRIPT), *search(), patch(HALF_RIGHT), review(NO_NO), patch()],
        *[line("test", "I have none.")] * 3,
    ]
    result = case.run(lines, "--validate", "grep -q 'n // 2' app.py").check()
    assert added(result) == [RIGHT]
    reason = "patch 2 was not reviewed, because no reproducer was written"
    assert verified(result) == f"no (the --validate command succeeds with the patch; not verified: {reason})"
    assert case.records("execution")[-1]["request"]["command"] is not None


def test_the_roles_take_turns_in_the_reproducers_conversation(case: Case) -> None:
    """Some servers reject two questions in a row."""
    lines = [
        *[guard(), test_line(SCRIPT), *search(), patch(), review(YES_NO)],
        *[test_line("print(1)\n"), line("test", "none"), line("test", "none"), review(YES_NO)],
        *[test_line(OTHER_SCRIPT), review(YES_YES)],
    ]
    assert verified(case.run(lines).check()).startswith(
        "yes (reproducer_5.py fails without the patch and passes with it; "
    )
    roles = [message["role"] for message in read_json(case.attempt / "conv_test_5.json")]
    assert roles == ["system", *["user", "assistant"] * 5]


def test_a_sandbox_that_is_demanded_and_gone_ends_the_run_until_it_is_back(case: Case, tmp_path: Path) -> None:
    """The run does not continue as on a machine that never had a sandbox."""
    need_bubblewrap()
    lines = [guard(), test_line(SCRIPT), *search(), patch(), review(YES_YES)]
    command = case.arguments(lines, "--verify=always")
    case.host.run(*command).check()
    keep_journal(case.out, 3)
    (tmp_path / "bin").mkdir()
    case.host.run(*command, env={"PATH": str(tmp_path / "bin")}).one_line(ENVIRONMENT)
    assert len(journal(case.out)) == 3
    assert verified(case.host.run(*command).check()).startswith("yes")


def keep_journal(out: Path, records: int) -> None:
    """Turn a finished run into one that was killed after that many records."""
    path = out / "journal.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:records]))
    meta = read_json(out / "meta.json")
    meta["state"] = "ready"
    (out / "meta.json").write_text(json.dumps(meta), "utf-8")
