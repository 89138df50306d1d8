"""`replay`: prints the same bytes from the run folder alone, or describes the difference; writes nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Callable

import pytest
from host import Host, Result, without_progress
from repos import Repo, digest
from runs import ANALYSE_2, CHANGED, ISSUE, SAMPLE, SCRIPT, arguments, broken_script, journal, read_json

RunHost = Callable[..., Result]


def offline(host: Host, *args: object) -> subprocess.CompletedProcess[bytes]:
    """Run the program without a network; skips the test if this user cannot do that."""
    for words in (["unshare", "-n"], ["unshare", "-r", "-n"]):
        if shutil.which("unshare"):
            probe = subprocess.run([*words, "true"], capture_output=True, check=False)
            if probe.returncode == 0:
                command = [*words, str(host.program), *map(str, args)]
                return subprocess.run(command, env=host.environment({}), capture_output=True, check=False, timeout=120)
    pytest.skip("the network cannot be cut off here")


@pytest.fixture
def finished(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> Path:
    """The folder of a finished run of the sample."""
    run_host(*arguments(sample_repo, tmp_path / "out")).check()
    return tmp_path / "out"


@pytest.mark.parametrize("git", [True, False], ids=["git", "plain"])
def test_a_repository_whose_path_is_no_utf_8(run_host: RunHost, sample_repo: Repo, tmp_path: Path, git: bool) -> None:
    """The run folder records the path, so a replay finds it, and so does --apply of a finished run."""
    place = tmp_path / os.fsdecode(b"caf\xe9")
    sample_repo.path.rename(place)
    if not git:
        shutil.rmtree(place / ".git")
    first = run_host(*arguments(place, tmp_path / "out")).check()
    assert run_host("replay", tmp_path / "out").check().stdout == first.stdout
    before = (place / CHANGED).read_bytes()
    run_host(*arguments(place, tmp_path / "out", "--apply")).check()
    assert (place / CHANGED).read_bytes() != before


def delete_working_tree(repo: Repo) -> None:
    """Delete everything in a repository except `.git`."""
    for path in repo.path.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.parametrize("options", [[], ["--rev", "HEAD"]], ids=["tree", "commit"])
def test_without_script_working_tree_and_network(
    host: Host, sample_repo: Repo, tmp_path: Path, options: list[str]
) -> None:
    script, out = tmp_path / "script.jsonl", tmp_path / "out"
    shutil.copy(SCRIPT, script)
    run = arguments(sample_repo, out, *options, model=f"script:{script}")
    first = host.run(*run).check()
    script.unlink()
    delete_working_tree(sample_repo)
    before = digest(out), digest(sample_repo.path)
    again = offline(host, "replay", out)
    assert (again.returncode, without_progress(again.stderr)[0]) == (0, b"")
    assert again.stdout == first.stdout == (out / "patch.diff").read_bytes() != b""
    assert (digest(out), digest(sample_repo.path)) == before


def test_dirty_tree_that_has_changed_since(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    """The run folder has the changed and untracked files of that time, which are used."""
    dirty = b"# my note\n" + (sample_repo.path / CHANGED).read_bytes()
    sample_repo.write({CHANGED: dirty})
    moved = (sample_repo.path / "brookbill/tariffs/blocks.py").read_bytes()
    sample_repo.git("rm", "-q", "--cached", "brookbill/tariffs/blocks.py")
    sample_repo.write({"brookbill/tariffs/blocks.py": moved + b"# untracked now\n"})
    first = run_host(*arguments(sample_repo, tmp_path / "out")).check()
    assert b"# my note" in dirty and b"seasonal.py" in first.stdout
    sample_repo.write({CHANGED: b"raise SystemExit\n"})
    (sample_repo.path / "brookbill/tariffs/blocks.py").unlink()
    again = run_host("replay", tmp_path / "out").check()
    assert again.stdout == first.stdout
    assert again.err == ""


def test_dirty_tree_whose_branch_has_moved(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    """The run's commit is found by its id, not by the branch."""
    sample_repo.write({"brookbill/extra.py": "EXTRA = 1\n"})
    first = run_host(*arguments(sample_repo, tmp_path / "out")).check()
    sample_repo.commit({CHANGED: "pass\n"})
    assert run_host("replay", tmp_path / "out").check().stdout == first.stdout


def test_plain_folder_that_was_deleted(run_host: RunHost, tmp_path: Path) -> None:
    shutil.copytree(SAMPLE / "repo", tmp_path / "plain")
    first = run_host(*arguments(tmp_path / "plain", tmp_path / "out")).check()
    shutil.rmtree(tmp_path / "plain")
    assert run_host("replay", tmp_path / "out").check().stdout == first.stdout != b""


def test_run_folder_can_be_moved(run_host: RunHost, finished: Path, tmp_path: Path) -> None:
    patch = (finished / "patch.diff").read_bytes()
    (tmp_path / "elsewhere").mkdir()
    finished.rename(tmp_path / "elsewhere" / "kept")
    result = run_host("replay", "kept", cwd=tmp_path / "elsewhere").check()
    assert result.stdout == patch


def test_run_without_a_patch(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    run = run_host(*arguments(sample_repo, tmp_path / "out", "--tries", 1))
    run.one_line(1, "the quoted code occurs several times in ")
    assert (tmp_path / "out" / "patch.diff").read_bytes() == b""
    again = run_host("replay", tmp_path / "out")
    again.one_line(1, "no patch", "the quoted code occurs several times in ", "as recorded")
    assert again.stdout == b""


def test_unfinished_run(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    model = broken_script(tmp_path / "script.jsonl", ANALYSE_2)
    run_host(*arguments(sample_repo, tmp_path / "out", model=model)).check(1)
    before = digest(tmp_path / "out")
    result = run_host("replay", tmp_path / "out")
    result.one_line(1, "is not finished", str(tmp_path / "out"))
    assert result.stdout == b""
    assert digest(tmp_path / "out") == before


@pytest.mark.parametrize(
    "name",
    [
        "patch.diff",
        "selected_patch.json",
        "cost.json",
        "attempt_0/extracted_patch_2.diff",
        "attempt_0/extract_status.json",
        "attempt_0/patch_raw_1.md",
        "attempt_0/search/search_round_2.json",
        "attempt_0/search/bug_locations_after_process.json",
    ],
)
def test_artifact_that_was_changed(run_host: RunHost, finished: Path, name: str) -> None:
    data = (finished / name).read_bytes()
    (finished / name).write_bytes(data[:-2] + b"x" + data[-2:])
    before = digest(finished)
    result = run_host("replay", finished)
    result.one_line(1, name)
    assert result.stdout == b""
    assert digest(finished) == before


def test_artifact_that_is_gone(run_host: RunHost, finished: Path) -> None:
    (finished / "attempt_0" / "search" / "tool_call_layers.json").unlink()
    run_host("replay", finished).one_line(1, "attempt_0/search/tool_call_layers.json")


def change_question(record: dict[str, Any]) -> None:
    record["request"]["messages"][-1]["content"] += " changed"


def change_answer(record: dict[str, Any]) -> None:
    record["answer"]["content"] += " changed"


@pytest.mark.parametrize("change", [change_question, change_answer])
def test_journal_that_was_changed(run_host: RunHost, finished: Path, change: Callable[[dict[str, Any]], None]) -> None:
    records = journal(finished)
    assert {"request", "answer"} <= records[2].keys()
    change(records[2])
    text = "".join(json.dumps(r, separators=(",", ":")) + "\n" for r in records)
    (finished / "journal.jsonl").write_text(text, "utf-8")
    result = run_host("replay", finished).check(1)
    assert result.stdout == b""
    assert "changed" in result.err or "differs from the recorded one" in result.err
    assert len(result.err.splitlines()) <= 3


def test_what_is_no_run_folder(run_host: RunHost, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    shutil.copy(ISSUE, tmp_path / "other")
    run_host("replay", tmp_path / "other").one_line(2, "is not a run folder")
    run_host("replay", tmp_path / "missing").one_line(2, "is not a run folder")
    run_host("replay").one_line(2, "give the folder of a run")


def test_verbose_shows_the_rounds_again(run_host: RunHost, finished: Path) -> None:
    result = run_host("replay", "--verbose", finished).check()
    assert any(line.startswith("round 3: locate (") for line in result.progress)
    assert "    the edits apply\n" in result.err


@pytest.mark.parametrize("model", [None, [], 7])
def test_options_that_are_damaged_are_told(run_host: RunHost, finished: Path, model: object) -> None:
    meta = read_json(finished / "meta.json")
    meta["options"]["model"] = model
    (finished / "meta.json").write_text(json.dumps(meta), "utf-8")
    run_host("replay", finished).one_line(
        3, str(finished), "meta.json is damaged: its options cannot be read; use another --out"
    )
