"""The same command with the same run folder resumes the run; a different command is rejected with the reason."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Callable

import pytest
from host import ROOT, Result
from repos import Repo, digest
from repos import sample_repo as make_sample
from runs import ANALYSE_2, CHANGED, ISSUE, SCRIPT, SELECT_3, arguments, broken_script, fixed, folder_digest

RunHost = Callable[..., Result]


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    """A copy of the program's prompts, which the test may change."""
    return Path(shutil.copytree(ROOT / "prompts", tmp_path / "prompts"))


@pytest.fixture
def expected(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> bytes:
    """The diff of an uninterrupted run."""
    run = arguments(sample_repo, tmp_path / "in-one-go")
    return run_host(*run).check().stdout


def another_repo(tmp_path: Path) -> Path:
    return make_sample(tmp_path / "another").path


def another_issue(tmp_path: Path) -> Path:
    path = tmp_path / "another.md"
    path.write_text(ISSUE.read_text("utf-8") + "PS: please hurry\n", "utf-8")
    return path


def another_script(tmp_path: Path) -> str:
    return f"script:{shutil.copy(SCRIPT, tmp_path / 'another.jsonl')}"


OPTIONS: list[tuple[str, object, str]] = [
    ("--rounds", 3, "started with --rounds 15; use the same value, or another --out"),
    ("--tries", 4, "started with --tries 3; "),
    ("--attempts", 2, "started with --attempts 1; "),
    ("--verify", "always", "started with --verify never; "),
    ("--sandbox", "plain", "started without --sandbox; leave out this option, or use another --out"),
    ("--python", "/usr/bin/python3", "started without --python; "),
    ("--setup", "true", "started without --setup; "),
    ("--validate", "true", "started without --validate; "),
    ("--temperature", "0.5", "started without --temperature; "),
    ("--rev", "HEAD", "started without --rev; "),
    ("--instance-id", "brook__bill-1", "started without --instance-id; "),
    ("--repo", another_repo, "started with --repo "),
    ("--issue", another_issue, "the issue differs from the one this run was started with"),
    ("--model", another_script, "started with --model script:"),
]


@pytest.mark.parametrize("state", ["finished", "unfinished"])
def test_other_options_are_refused_by_name(run_host: RunHost, sample_repo: Repo, tmp_path: Path, state: str) -> None:
    out, script = tmp_path / "out", tmp_path / "script.jsonl"
    shutil.copy(SCRIPT, script)
    if state == "unfinished":
        broken_script(script, SELECT_3)
    run = {"--repo": sample_repo, "--issue": ISSUE, "--model": f"script:{script}", "--out": out, "--verify": "never"}
    words = [word for pair in run.items() for word in pair]
    run_host("run", *words).check(0 if state == "finished" else 1)
    before = folder_digest(out)
    for option, value, said in OPTIONS:
        other = run | {option: value(tmp_path) if callable(value) else value}
        result = run_host("run", *[word for pair in other.items() for word in pair])
        result.one_line(2, said, "another --out")
        assert result.stdout == b""
    added = run_host("run", *words, "--model", f"script:{SCRIPT}")
    added.one_line(2, "started with --model script:")
    assert folder_digest(out) == before


def test_other_prompts_are_refused(run_host: RunHost, sample_repo: Repo, prompts: Path, tmp_path: Path) -> None:
    """The texts of the prompts are compared, not their paths."""
    run = arguments(sample_repo, tmp_path / "out")
    first = run_host(*run).check()
    same = run_host(*run, "--prompts", prompts).check()
    assert same.stdout == first.stdout
    text = (prompts / "patch_retry.txt").read_text("utf-8")
    (prompts / "patch_retry.txt").write_text(text + "Be careful.\n", "utf-8")
    result = run_host(*run, "--prompts", prompts)
    result.one_line(2, "the prompt patch_retry.txt differs")


def test_same_options_otherwise_spelled_are_the_same(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    """Other spellings of paths, verbosity and retries make no difference."""
    first = run_host(*arguments(sample_repo, tmp_path / "out")).check()
    (tmp_path / "link").symlink_to(sample_repo.path)
    second = run_host(
        *("run", "--repo", "../link", "--issue-text", ISSUE.read_text("utf-8")),
        *("--model", f"script:{SCRIPT}", "--out", "../out", "--rounds=15", "-v"),
        *("--retries", 1, "--verify=never"),
        cwd=sample_repo.path,
    ).check()
    assert second.stdout == first.stdout


def test_finished_folder_answers_at_once(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    """The answer comes from the folder's files, without script or repository; nothing is written."""
    script = tmp_path / "script.jsonl"
    shutil.copy(SCRIPT, script)
    run = arguments(sample_repo, tmp_path / "out", model=f"script:{script}")
    first = run_host(*run).check()
    script.unlink()
    shutil.rmtree(sample_repo.path)
    sample_repo.path.mkdir()
    before = folder_digest(tmp_path / "out")
    second = run_host(*run).check()
    assert second.stdout == first.stdout != b""
    assert second.err == ""
    assert folder_digest(tmp_path / "out") == before


def test_finished_folder_is_applied_later_without_its_script(
    run_host: RunHost, sample_repo: Repo, tmp_path: Path
) -> None:
    """The journal has every answer, so neither script nor key is needed."""
    script = tmp_path / "script.jsonl"
    shutil.copy(SCRIPT, script)
    run = arguments(sample_repo, tmp_path / "out", model=f"script:{script}")
    first = run_host(*run).check()
    assert sample_repo.git("status", "--porcelain") == ""
    script.unlink()
    second = run_host(*run, "--apply").check()
    assert second.stdout == first.stdout
    assert sample_repo.git_bytes("diff", "--full-index") == first.stdout


def test_finished_folder_without_a_patch_says_so_again(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    run = arguments(sample_repo, tmp_path / "out", "--tries", 1)
    first = run_host(*run)
    line = first.one_line(1, "no patch: the quoted code occurs several times in ", ".py: `", "try more --tries")
    assert run_host(*run).one_line(1) == line


def test_goes_on_with_the_tree_of_its_beginning(
    run_host: RunHost, sample_repo: Repo, tmp_path: Path, expected: bytes
) -> None:
    """Between the halves, the working tree is edited, deleted and committed."""
    out, script = tmp_path / "out", tmp_path / "script.jsonl"
    model = broken_script(script, ANALYSE_2)
    run = arguments(sample_repo, out, model=model)
    run_host(*run).check(1)
    text = (sample_repo.path / CHANGED).read_bytes()
    sample_repo.write({CHANGED: b"pass\n", "brookbill/tariffs/blocks.py": None})
    sample_repo.commit({"brookbill/periods.py": "pass\n"})
    shutil.copy(SCRIPT, script)
    changed = digest(sample_repo.path)
    result = run_host(*run).check()
    assert result.stdout == expected
    assert digest(sample_repo.path) == changed
    sample_repo.write({CHANGED: text})
    sample_repo.apply(result.stdout)
    assert (sample_repo.path / CHANGED).read_bytes() == fixed(text)


def test_dirty_tree_goes_on_with_what_was_not_committed(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    """The tree has lost the uncommitted text, but the folder has kept it."""
    dirty = b"# my note\n" + (sample_repo.path / CHANGED).read_bytes()
    sample_repo.write({CHANGED: dirty})
    whole = run_host(*arguments(sample_repo, tmp_path / "whole")).check()
    out, script = tmp_path / "out", tmp_path / "script.jsonl"
    run = arguments(sample_repo, out, model=broken_script(script, ANALYSE_2))
    run_host(*run).check(1)
    sample_repo.git("checkout", "-q", "--", CHANGED)
    shutil.copy(SCRIPT, script)
    assert run_host(*run).check().stdout == whole.stdout
    result = run_host(*run, "--apply")
    result.one_line(3, CHANGED)
    assert (sample_repo.path / CHANGED).read_bytes() != fixed(dirty)


def test_moving_branch_does_not_move_the_run(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    """--rev main stays the commit that it was when the run began."""
    out, script = tmp_path / "out", tmp_path / "script.jsonl"
    whole = run_host(*arguments(sample_repo, tmp_path / "whole", "--rev", "main"))
    model = broken_script(script, SELECT_3)
    run = arguments(sample_repo, out, "--rev", "main", model=model)
    run_host(*run).check(1)
    sample_repo.commit({CHANGED: "pass\n"})
    shutil.copy(SCRIPT, script)
    assert run_host(*run).check().stdout == whole.check().stdout


def test_unfinished_folder_needs_its_script(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    out, script = tmp_path / "out", tmp_path / "script.jsonl"
    run = arguments(sample_repo, out, model=broken_script(script, SELECT_3))
    run_host(*run).check(1)
    script.unlink()
    before = (out / "journal.jsonl").read_bytes()
    run_host(*run).one_line(2, str(script))
    assert (out / "journal.jsonl").read_bytes() == before


def test_cut_journal_is_mended_aloud(run_host: RunHost, sample_repo: Repo, tmp_path: Path, expected: bytes) -> None:
    """One line reports the repair even without --verbose, and none is printed after it."""
    out, script = tmp_path / "out", tmp_path / "script.jsonl"
    run = arguments(sample_repo, out, model=broken_script(script, SELECT_3))
    run_host(*run).check(1)
    path = out / "journal.jsonl"
    path.write_bytes(path.read_bytes()[:-10])
    assert "the last record" in run_host(*run).check(1).err.splitlines()[0]
    shutil.copy(SCRIPT, script)
    result = run_host(*run).check()
    assert (result.stdout, result.err) == (expected, "")
