"""Run folders that are damaged, read-only, full, in use, or made by another command; and where --apply writes."""

from __future__ import annotations

import json
import os
import resource
import shutil
import threading
from pathlib import Path
from typing import Any, Callable

import pytest
from host import Host, Result, without_progress
from hostile import (
    TINY,
    deep_digest,
    grow,
    outcome,
    read_only,
    sample_run,
    small_disk,
    strays,
    take_back,
    tiny_run,
    write_script,
)
from loopback import LoopbackOpenAI
from repos import Repo
from runs import SCRIPT, check_summary

USAGE, ENVIRONMENT = 2, 3
Run = Callable[..., Result]
Make = Callable[..., Repo]
Serve = Callable[..., LoopbackOpenAI]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """Answers that fix a repository of TINY."""
    return write_script(tmp_path / "tiny.jsonl")


@pytest.fixture
def tiny(make_repo: Make) -> Repo:
    """A repository of TINY."""
    return make_repo(TINY, name="tiny")


# ---- Run folders ---------------------------------------------------------------------------------


def _strange(folder: Path, kind: str, elsewhere: Path) -> None:
    """Turn `folder` into one of several things that are not run folders."""
    if kind == "file":
        folder.write_text("mine")
        return
    folder.mkdir()
    if kind == "files":
        (folder / "thesis.tex").write_text("mine")
    elif kind == "gitignore":
        (folder / ".gitignore").write_text("*.pyc\n")
    elif kind == "lock":
        (folder / "lock").write_text("mine, and not a lock\n")
    elif kind == "meta":
        (folder / "meta.json").write_text('{"mine": true}')
    elif kind == "malformed meta":
        (folder / "meta.json").write_text('{"format": 3, "state"')
    elif kind == "meta folder":
        (folder / "meta.json").mkdir()
    elif kind == "huge meta":
        (folder / "meta.json").write_bytes(b" " * (17 << 20))
    elif kind == "linked meta":
        (elsewhere / "meta.json").write_text('{"format": 3, "state": "bad"}')
        (folder / "meta.json").symlink_to(elsewhere / "meta.json")
    elif kind == "linked lock":
        (elsewhere / "precious").write_text("mine")
        (folder / "lock").symlink_to(elsewhere / "precious")


KINDS = [
    *("file", "files", "gitignore", "lock", "meta", "malformed meta", "meta folder", "huge meta"),
    *("linked meta", "linked lock"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_that_is_no_run_folder_is_not_touched(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path, kind: str
) -> None:
    """The folder's contents and the targets of its links stay unchanged; a dry run also reports a foreign meta.json."""
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    elsewhere.mkdir()
    _strange(out, kind, elsewhere)
    before = [deep_digest(folder) for folder in (tmp_path, elsewhere)]
    result = run_host(*tiny_run(tiny, out, script))
    result.one_line(ENVIRONMENT if kind in ("huge meta", "meta folder") else USAGE, str(out))
    if "meta" in kind:
        dry = run_host(*tiny_run(tiny, out, script), "--dry-run")
        assert (dry.exit, dry.err) == (result.exit, result.err)
    assert [deep_digest(folder) for folder in (tmp_path, elsewhere)] == before


def test_a_read_only_place_is_told(run_host: Run, tiny: Repo, script: Path, tmp_path: Path) -> None:
    """The parent of a new run folder is read-only, or an existing run folder is."""
    place = tmp_path / "place"
    with read_only(place):
        run_host(*tiny_run(tiny, place / "out", script)).one_line(ENVIRONMENT, str(place))
    run_host(*tiny_run(tiny, place / "out", script), "--rounds", "2").check()
    shutil.copytree(place / "out", tmp_path / "begun")
    take_back(tmp_path / "begun", 1)
    with read_only(tmp_path / "begun"):
        arguments = [*tiny_run(tiny, tmp_path / "begun", script), "--rounds", "2"]
        run_host(*arguments).one_line(ENVIRONMENT, str(tmp_path / "begun"))
    run_host(*arguments).check()


def test_a_disk_that_fills_up_in_mid_run_loses_nothing(run_host: Run, sample_repo: Repo, tmp_path: Path) -> None:
    """A full disk is reported at any step; with free space, the run ends with the usual result."""
    run_host(*sample_run(sample_repo, tmp_path / "plain")).check()
    told: set[str] = set()
    for kilobytes in (8, 40, 80, 96, 112, 128, 144, 160, 176, 192):
        with small_disk(tmp_path / "disk", kilobytes) as disk:
            out = disk / "out"
            result = run_host(*sample_run(sample_repo, out))
            if result.exit != 0:
                told.add(result.one_line(ENVIRONMENT, "No space left"))
                assert result.stdout == b""
            grow(disk, 4096)
            run_host(*sample_run(sample_repo, out)).check()
            assert outcome(out) == outcome(tmp_path / "plain")
            assert strays(disk) == []
    assert len(told) >= 3, f"the disk was never full in mid-run: {told}"


@pytest.mark.parametrize("limit", [1000, 8000, 20_000])
def test_a_limit_on_file_sizes_loses_nothing(run_host: Run, sample_repo: Repo, tmp_path: Path, limit: int) -> None:
    """Like a quota, the limit causes a write error, not a signal; without it the run ends with the usual result."""
    out, plain = tmp_path / "out", tmp_path / "plain"
    limits = (limit, limit)
    result = run_host(
        *sample_run(sample_repo, out), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    )
    result.one_line(ENVIRONMENT, "File too large")
    run_host(*sample_run(sample_repo, out)).check()
    run_host(*sample_run(sample_repo, plain)).check()
    assert outcome(out) == outcome(plain)


def test_two_runs_never_share_a_folder(host: Host, loopback_openai: Serve, tmp_path: Path, sample_repo: Repo) -> None:
    """The second names the process of the first; the first finishes normally."""
    server = loopback_openai(SCRIPT)
    arguments = sample_run(sample_repo, tmp_path / "out", server.model)
    gate = threading.Event()
    answer = server.next_reply

    def wait(headers: Any, body: Any) -> Any:
        gate.wait(30)
        return answer(headers, body)

    server.next_reply = wait  # type: ignore[method-assign]
    first = host.start(*arguments, env=server.environment)
    while not (tmp_path / "out" / "journal.jsonl").exists():
        assert first.poll() is None
    second = host.run(*arguments, env=server.environment)
    gate.set()
    second.one_line(ENVIRONMENT, f"process {first.pid}", str(tmp_path / "out"))
    out, err = first.communicate(timeout=60)
    assert first.returncode == 0
    check_summary(without_progress(err)[0].decode())
    assert out == (tmp_path / "out" / "patch.diff").read_bytes()


def test_a_journal_that_is_a_folder_is_told(run_host: Run, tiny: Repo, script: Path, tmp_path: Path) -> None:
    """The same holds for a symbolic link: nothing is written through it."""
    out, arguments = tmp_path / "out", tiny_run(tiny, tmp_path / "out", script)
    run_host(*arguments).check()
    take_back(out, 1)
    kept = (out / "journal.jsonl").rename(tmp_path / "kept")
    (out / "journal.jsonl").mkdir()
    run_host(*arguments).one_line(ENVIRONMENT, "journal.jsonl")
    (out / "journal.jsonl").rmdir()
    (out / "journal.jsonl").symlink_to(kept)
    before = kept.read_bytes()
    run_host(*arguments).one_line(ENVIRONMENT, "journal.jsonl")
    assert kept.read_bytes() == before


def test_a_lock_that_leads_elsewhere_harms_nothing(run_host: Run, tiny: Repo, script: Path, tmp_path: Path) -> None:
    """A run folder from a stranger may contain links."""
    out, precious = tmp_path / "out", tmp_path / "precious"
    run_host(*tiny_run(tiny, out, script)).check()
    precious.write_text("mine")
    (out / "lock").unlink()
    (out / "lock").symlink_to(precious)
    run_host(*tiny_run(tiny, out, script))
    assert precious.read_text() == "mine"


def test_artifacts_are_not_written_through_links(run_host: Run, tiny: Repo, script: Path, tmp_path: Path) -> None:
    """A link at an artifact's name is replaced, not followed."""
    out, precious = tmp_path / "out", tmp_path / "precious"
    run_host(*tiny_run(tiny, out, script)).check()
    take_back(out, 1)
    precious.write_text("mine")
    (out / "patch.diff").symlink_to(precious)
    run_host(*tiny_run(tiny, out, script)).check()
    assert precious.read_text() == "mine"


def test_a_run_folder_inside_the_repository_stays_out_of_sight(run_host: Run, tiny: Repo, script: Path) -> None:
    """Neither git nor a later snapshot sees it."""
    first = run_host(*tiny_run(".", "out", script), cwd=tiny.path).check()
    second = run_host(*tiny_run(".", "runs/deep/out", script), cwd=tiny.path).check()
    assert first.stdout == second.stdout != b""
    assert tiny.git("status", "--porcelain") == ""
    snapshots = [tiny.path / name / "meta.json" for name in ("out", "runs/deep/out")]
    digests = {json.loads(path.read_bytes())["snapshot"]["digest"] for path in snapshots}
    assert len(digests) == 1
    found = run_host("search", "--repo", ".", 'search_code("halve")', cwd=tiny.path)
    assert "out/" not in found.out


# ---- Apply ---------------------------------------------------------------------------------------


def _changed(tiny: Repo, elsewhere: Path, how: str) -> None:
    """Change app.py while the run does not notice."""
    app = tiny.path / "app.py"
    if how == "edited":
        app.write_text(TINY["app.py"] + "# mine\n")
    elif how == "deleted":
        app.unlink()
    elif how == "folder":
        app.unlink()
        app.mkdir()
    elif how == "fifo":
        app.unlink()
        os.mkfifo(app)
    else:
        elsewhere.write_text(TINY["app.py"])
        app.unlink()
        app.symlink_to(elsewhere)


@pytest.mark.parametrize("how", ["edited", "deleted", "folder", "fifo", "link"])
def test_apply_refuses_what_has_changed_meanwhile(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path, how: str
) -> None:
    """The message names the file, nothing is written, and the patch stays in the folder."""
    arguments = tiny_run(tiny, tmp_path / "out", script)
    run_host(*arguments).check()
    _changed(tiny, tmp_path / "elsewhere.py", how)
    before = deep_digest(tiny.path), deep_digest(tmp_path / "out" / "attempt_0").keys()
    refused = run_host(*arguments, "--apply")
    refused.one_line(ENVIRONMENT, "app.py")
    assert not any("with --apply" in line or "next: " in line for line in refused.progress)
    assert (deep_digest(tiny.path), deep_digest(tmp_path / "out" / "attempt_0").keys()) == before
    assert (tmp_path / "out" / "patch.diff").read_bytes() != b""
    if how == "link":
        assert (tmp_path / "elsewhere.py").read_text() == TINY["app.py"]


def test_apply_does_not_go_with_a_revision(run_host: Run, tiny: Repo, script: Path, tmp_path: Path) -> None:
    """This usage error is reported before the run begins."""
    arguments = [*tiny_run(tiny, tmp_path / "out", script), "--apply", "--rev", "HEAD"]
    run_host(*arguments).one_line(USAGE, "--apply", "--rev")
    assert not (tmp_path / "out").exists()
