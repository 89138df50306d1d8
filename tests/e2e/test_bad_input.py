"""What is wrong from outside is told in one line, with the right exit code, and nothing is lost."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import threading
from pathlib import Path
from typing import Any, Callable

import pytest

import repos
from hostile import (
    CALLS,
    ISSUE,
    SCRIPT,
    TINY,
    TINY_ANSWERS,
    Arguments,
    deep_digest,
    grow,
    journal_of,
    outcome,
    read_only,
    sample_run,
    small_disk,
    state_of,
    stop_in_call,
    strays,
    take_back,
    tiny_run,
    whole_stacks,
    write_script,
)
from host import Host, Result
from loopback import Failure, LoopbackOpenAI
from repos import Repo

NONE, USAGE, ENVIRONMENT, INTERRUPTED = 1, 2, 3, 130
Run = Callable[..., Result]
Make = Callable[..., Repo]
Serve = Callable[..., LoopbackOpenAI]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """Answers that mend a repository of TINY."""
    return write_script(tmp_path / "tiny.jsonl")


@pytest.fixture
def tiny(make_repo: Make) -> Repo:
    """A repository of TINY."""
    return make_repo(TINY, name="tiny")


# ---- Repositories -------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["run", "search", "patch", "index"])
def test_a_repository_that_is_not_there_is_named(run_host: Run, tmp_path: Path, verb: str) -> None:
    """Every verb says which folder it did not find."""
    repo, out = tmp_path / "nowhere", tmp_path / "out"
    rest = {
        "run": sample_run(repo, out)[1:],
        "search": ["--repo", repo, 'search_class("A")'],
        "patch": ["--repo", repo, ISSUE],
        "index": ["--repo", repo],
    }
    run_host(verb, *rest[verb]).one_line(ENVIRONMENT, str(repo))
    assert not out.exists()


@pytest.mark.parametrize("rev", ["no-such-branch", "f" * 40, "HEAD~99", "", "HEAD:app.py", "--all"])
def test_a_revision_that_is_not_there_is_named(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path, rev: str
) -> None:
    """Whatever stands for no commit is refused before a folder is made."""
    arguments = tiny_run(tiny, tmp_path / "out", script)
    run_host(*arguments, f"--rev={rev}").one_line(ENVIRONMENT, f"'{rev}'")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("rev", [[], ["--rev", "HEAD"]])
def test_a_repository_without_a_commit_has_nothing_to_work_on(
    run_host: Run, make_repo: Make, script: Path, tmp_path: Path, rev: list[str]
) -> None:
    """Neither its tree nor its HEAD; no folder is left that later runs would be bound to."""
    repo, out = make_repo({}), tmp_path / "out"
    words = ["commit"] if rev else ["no Python files"]
    run_host(*tiny_run(repo, out, script), *rev).one_line(ENVIRONMENT, *words)
    assert not out.exists()


def test_a_repository_without_python_has_nothing_to_work_on(
    run_host: Run, make_repo: Make, script: Path, tmp_path: Path
) -> None:
    """Tests alone are no code; once there is some, the same command works."""
    repo, out = make_repo({"a.txt": "x", "tests/test_a.py": "x = 1\n"}), tmp_path / "out"
    run_host(*tiny_run(repo, out, script)).one_line(ENVIRONMENT, "no Python files", str(repo))
    assert not out.exists()
    repo.commit(TINY)
    run_host(*tiny_run(repo, out, script)).check()


def test_a_shallow_clone_lacks_its_older_commits(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path
) -> None:
    """The oldest commit that is there works; its parent is named as missing."""
    tiny.commit({"app.py": TINY["app.py"] + "\n"})
    first, clone = tiny.git("rev-parse", "HEAD~"), tmp_path / "shallow"
    tiny.git("clone", "-q", "--depth", "1", f"file://{tiny}", str(clone))
    for rev in (first, "HEAD~"):
        arguments = tiny_run(clone, tmp_path / "out", script)
        run_host(*arguments, "--rev", rev).one_line(ENVIRONMENT, rev)
    run_host(*tiny_run(clone, tmp_path / "out", script), "--rev", "HEAD").check()


def test_a_partial_clone_without_its_blobs_names_the_missing_object(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path
) -> None:
    """Nothing is fetched behind the user's back."""
    tiny.git("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "partial"
    tiny.git("clone", "-q", "-n", "--filter=blob:none", f"file://{tiny}", str(clone))
    before = deep_digest(clone)
    blob, arguments = tiny.git("rev-parse", "HEAD:app.py"), tiny_run(clone, tmp_path / "out", script)
    result = run_host(*arguments, "--rev", "HEAD", env=whole_stacks())
    result.one_line(ENVIRONMENT, blob)
    assert deep_digest(clone) == before


@pytest.mark.parametrize("which", ["HEAD:app.py", "HEAD^{tree}", "HEAD"])
def test_an_object_that_was_lost_is_named(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path, which: str
) -> None:
    """A file's content, a tree, the commit itself."""
    lost = tiny.git("rev-parse", which)
    path = tiny.path / ".git" / "objects" / lost[:2] / lost[2:]
    kept = path.rename(tmp_path / "kept")
    arguments = [*tiny_run(tiny, tmp_path / "out", script), "--rev", "HEAD"]
    run_host(*arguments).one_line(ENVIRONMENT, lost)
    kept.rename(path)
    run_host(*arguments).check()


def test_a_damaged_object_is_no_crash(run_host: Run, tiny: Repo, script: Path, tmp_path: Path) -> None:
    """A blob whose file holds garbage."""
    lost = tiny.git("rev-parse", "HEAD:app.py")
    path = tiny.path / ".git" / "objects" / lost[:2] / lost[2:]
    path.chmod(0o644)
    path.write_bytes(b"garbage")
    arguments = [*tiny_run(tiny, tmp_path / "out", script), "--rev", "HEAD"]
    run_host(*arguments).one_line(ENVIRONMENT)


def test_a_sha256_repository_is_refused(run_host: Run, script: Path, tmp_path: Path) -> None:
    """By name, before a folder is made."""
    path = tmp_path / "sha256"
    path.mkdir()
    repo = Repo(path)
    repo.git("init", "-q", "--object-format=sha256")
    repo.commit(TINY)
    result = run_host(*tiny_run(repo, tmp_path / "out", script), env=whole_stacks())
    result.one_line(ENVIRONMENT, "SHA-256")
    assert not (tmp_path / "out").exists()


# ---- Issues -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (None, "No such file"),
        (b"", "empty"),
        (b" \n\t", "empty"),
        (b"a" * 50_000_000, "more than"),
        (b"a\0b", "NUL"),
    ],
    ids=["missing", "empty", "blank", "50 MB", "NUL"],
)
def test_an_issue_that_cannot_be_used(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path, content: bytes | None, word: str
) -> None:
    """It is told before anything is begun."""
    issue = tmp_path / "issue.md"
    if content is not None:
        issue.write_bytes(content)
    out = tmp_path / "out"
    model = f"script:{script}"
    run = ["run", "--repo", tiny, "--issue", issue, "--model", model, "--out", out]
    run_host(*run).one_line(USAGE, word)
    assert not out.exists()


def test_an_issue_that_is_not_utf8_is_read_as_latin1_and_said_so(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path
) -> None:
    """The run goes on, and its folder holds the text as it was understood."""
    issue, out = tmp_path / "issue.md", tmp_path / "out"
    issue.write_bytes(b"half(4) \xe9tait 1\n")
    model = f"script:{script}"
    run = ["run", "--repo", tiny, "--issue", issue, "--model", model, "--out", out]
    run_host(*run).one_line(0, "latin-1")
    assert (out / "issue.md").read_text("utf-8") == "half(4) était 1\n"


# ---- Run folders --------------------------------------------------------------------------------


def _strange(folder: Path, kind: str, elsewhere: Path) -> None:
    """Make `folder` one of the things that are no run folder."""
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
        (folder / "meta.json").write_text('{"format": 1, "state"')
    elif kind == "meta folder":
        (folder / "meta.json").mkdir()
    elif kind == "huge meta":
        (folder / "meta.json").write_bytes(b" " * (17 << 20))
    elif kind == "linked meta":
        (elsewhere / "meta.json").write_text('{"format": 1, "state": "bad"}')
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
    """Whatever it holds, and wherever that leads."""
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    elsewhere.mkdir()
    _strange(out, kind, elsewhere)
    before = [deep_digest(folder) for folder in (tmp_path, elsewhere)]
    result = run_host(*tiny_run(tiny, out, script))
    result.one_line(ENVIRONMENT if kind in ("huge meta", "meta folder") else USAGE, str(out))
    assert [deep_digest(folder) for folder in (tmp_path, elsewhere)] == before


def test_a_read_only_place_is_told(run_host: Run, tiny: Repo, script: Path, tmp_path: Path) -> None:
    """As the parent of a new run folder, and as a run folder that is begun already."""
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


def test_a_disk_that_fills_up_in_mid_run_loses_nothing(
    run_host: Run, sample_repo: Repo, tmp_path: Path
) -> None:
    """At whatever step it is full, it is said; with space again the run ends as ever."""
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
def test_a_limit_on_file_sizes_loses_nothing(
    run_host: Run, sample_repo: Repo, tmp_path: Path, limit: int
) -> None:
    """As a quota, it is an error of the write and no signal; without it the run ends as ever."""
    out, plain = tmp_path / "out", tmp_path / "plain"
    limits = (limit, limit)
    result = run_host(
        *sample_run(sample_repo, out),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limits),
    )
    result.one_line(ENVIRONMENT, "File too large")
    run_host(*sample_run(sample_repo, out)).check()
    run_host(*sample_run(sample_repo, plain)).check()
    assert outcome(out) == outcome(plain)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (["--rounds", "3"], "rounds"),
        (["--tries", "2"], "tries"),
        (["--attempts", "2"], "attempts"),
        (["--temperature", "0.5"], "temperature"),
        (["--verify", "never"], "verify"),
        (["--rev", "HEAD"], "rev"),
        (["--instance-id", "a__b-1"], "instance_id"),
        (["--model", "script:/dev/null"], "model"),
    ],
)
def test_other_options_in_a_begun_folder_are_refused_by_name(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path, change: list[str], field: str
) -> None:
    """In a finished folder and in one that is to be gone on with; neither is touched."""
    out = tmp_path / "out"
    arguments = tiny_run(tiny, out, script)
    run_host(*arguments).check()
    for _ in range(2):
        before = deep_digest(out / "attempt_0") if (out / "attempt_0").exists() else None
        run_host(*arguments, *change).one_line(USAGE, f"another {field} ")
        if before:
            assert deep_digest(out / "attempt_0") == before
            take_back(out, 1)
    run_host(*arguments).check()


def test_another_issue_prompt_or_repository_is_refused_by_name(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path
) -> None:
    """Texts are compared too."""
    out, prompts = tmp_path / "out", tmp_path / "prompts"
    arguments = tiny_run(tiny, out, script)
    run_host(*arguments).check()
    texts = shutil.copytree(repos._SAMPLE.parents[2] / "prompts", prompts)
    (texts / "patch_system.txt").write_text("Write a patch.\n")
    run_host(*arguments, "--prompts", texts).one_line(USAGE, "prompt patch_system.txt")
    issue = [text if text != "half(4) is 1" else "half(4) is 7" for text in arguments]
    run_host(*issue).one_line(USAGE, "another issue ")
    copy = tiny.clone(tmp_path / "copy")
    run_host(*tiny_run(copy, out, script)).one_line(USAGE, "another repo ")


def test_two_runs_never_share_a_folder(
    host: Host, loopback_openai: Serve, tmp_path: Path, sample_repo: Repo
) -> None:
    """The second names the first one's process; the first ends well."""
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
    assert (first.returncode, err) == (0, b"")
    assert out == (tmp_path / "out" / "patch.diff").read_bytes()


def test_a_journal_that_is_a_folder_is_told(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path
) -> None:
    """As is one that is a symbolic link: nothing is written through it."""
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


def test_a_lock_that_leads_elsewhere_harms_nothing(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path
) -> None:
    """A run folder from a stranger may hold links."""
    out, precious = tmp_path / "out", tmp_path / "precious"
    run_host(*tiny_run(tiny, out, script)).check()
    precious.write_text("mine")
    (out / "lock").unlink()
    (out / "lock").symlink_to(precious)
    run_host(*tiny_run(tiny, out, script))
    assert precious.read_text() == "mine"


def test_artifacts_are_not_written_through_links(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path
) -> None:
    """A link at an artifact's name is replaced, not followed."""
    out, precious = tmp_path / "out", tmp_path / "precious"
    run_host(*tiny_run(tiny, out, script)).check()
    take_back(out, 1)
    precious.write_text("mine")
    (out / "patch.diff").symlink_to(precious)
    run_host(*tiny_run(tiny, out, script)).check()
    assert precious.read_text() == "mine"


def test_a_run_folder_inside_the_repository_stays_out_of_sight(
    run_host: Run, tiny: Repo, script: Path
) -> None:
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


# ---- Scripts and answers ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("{not json}", ["line 3"]),
        ('{"agent": "patch"}', ["line 3"]),
        ('{"agent": "nobody", "content": "x"}', ["line 3"]),
        ('["agent", "content"]', ["line 3"]),
        ('{"agent": "patch", "content": 7}', ["line 3"]),
        ('{"agent": "patch", "content": "x", "expect": "x"}', ["line 3"]),
        ("\udcff\udcfe", ["line 3"]),
    ],
)
def test_a_malformed_script_names_the_line(
    run_host: Run, tiny: Repo, tmp_path: Path, bad: str, words: list[str]
) -> None:
    """Before a folder is made."""
    lines = [json.dumps(line) for line in TINY_ANSWERS[:2]] + [bad]
    path = tmp_path / "bad.jsonl"
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
    arguments = tiny_run(tiny, tmp_path / "out", path)
    run_host(*arguments).one_line(USAGE, *words, str(path))
    assert not (tmp_path / "out").exists()


def test_a_missing_script_is_named(run_host: Run, tiny: Repo, tmp_path: Path) -> None:
    """Before a folder is made."""
    arguments = tiny_run(tiny, tmp_path / "out", tmp_path / "none.jsonl")
    run_host(*arguments).one_line(USAGE, "none.jsonl")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("left", range(len(TINY_ANSWERS)))
def test_a_used_up_script_ends_without_a_patch(
    run_host: Run, tiny: Repo, tmp_path: Path, left: int
) -> None:
    """Wherever it breaks off; the folder is finished then, and says the same again."""
    path = write_script(tmp_path / "short.jsonl", TINY_ANSWERS[:left])
    for _ in range(2):
        result = run_host(*tiny_run(tiny, tmp_path / "out", path))
        result.one_line(NONE, "no patch")
        assert result.stdout == b""
    assert state_of(tmp_path / "out") == "done"


def test_an_expectation_that_is_not_met_shows_what_came(
    run_host: Run, tiny: Repo, tmp_path: Path
) -> None:
    """The run can be gone on with when the script is mended."""
    lines = [dict(line) for line in TINY_ANSWERS]
    lines[2]["expect"] = ["return n // 3", "not in the request"]
    path, out = write_script(tmp_path / "s.jsonl", lines), tmp_path / "out"
    result = run_host(*tiny_run(tiny, out, path)).check(NONE)
    assert "not in the request" in result.err and "return n // 3" in result.err
    write_script(path)
    run_host(*tiny_run(tiny, out, path)).check()
    assert len(journal_of(out)) == len(TINY_ANSWERS)


def test_an_answer_of_20_mb_is_taken(run_host: Run, tiny: Repo, tmp_path: Path) -> None:
    """In each role, and the run goes on with it."""
    huge = "nothing to see here\n" * (1 << 20)
    lines = [dict(line) for line in TINY_ANSWERS]
    lines[0]["content"] += huge
    lines[2]["content"] = huge + lines[2]["content"]
    path, out = write_script(tmp_path / "s.jsonl", lines), tmp_path / "out"
    result = run_host(*tiny_run(tiny, out, path), timeout=120).check()
    assert b"+    return n // 2" in result.stdout
    run_host("replay", out, timeout=120).check()


def test_an_answer_that_is_nothing_but_a_block_of_20_mb_is_refused(
    run_host: Run, tiny: Repo, tmp_path: Path
) -> None:
    """An edit of that size matches nothing, in bounded time."""
    lines = [dict(line) for line in TINY_ANSWERS]
    block = "    x = 1\n" * (2 << 20)
    lines[2]["content"] = TINY_ANSWERS[2]["content"].replace("    return n // 3", block)
    path = write_script(tmp_path / "s.jsonl", lines)
    run_host(*tiny_run(tiny, tmp_path / "out", path), timeout=120).check(NONE)


def _one_round(calls: list[str]) -> list[dict[str, Any]]:
    """A script whose first round makes those calls."""
    extract = json.dumps({"API_calls": calls, "bug_locations": []})
    asked = {"agent": "search", "content": "Let me see."}
    return [asked, {"agent": "extract", "content": extract}, asked, *TINY_ANSWERS]


@pytest.mark.parametrize(
    "call",
    [
        "search_class()",
        "search_class(1, 2, 3)",
        "search_class(name='x')",
        "search_nothing('x')",
        "search_class(__import__('os'))",
        "search_class('x'",
        "get_code_around_line('app.py', 'x', [])",
        "get_code_around_line('app.py', 10**9, 5)",
        "get_code_around_line('app.py', -1, 99999999999999999999999)",
        "search_code('')",
        "search_code('\\x00')",
        "(" * 5000,
        "search_code(" + "-" * 100_000 + "1)",
        "search_code('" + "x" * 1_000_000 + "')",
    ],
    ids=range(14),
)
def test_a_wrong_call_is_answered_and_the_run_goes_on(
    run_host: Run, tiny: Repo, tmp_path: Path, call: str
) -> None:
    """Alone, as a search from the command line, too."""
    invalid = _one_round([call])
    retry = [line for line in invalid if line["agent"] == "extract"][:1] * 5
    lines = [invalid[0], *retry, invalid[2], *TINY_ANSWERS]
    path = write_script(tmp_path / "s.jsonl", lines)
    result = run_host(*tiny_run(tiny, tmp_path / "out", path), timeout=120)
    assert result.exit in (0, NONE) and len(result.err.splitlines()) <= 1, result.told()
    direct = run_host("search", "--repo", tiny, "--json", input=call.replace("\n", " "), timeout=120)
    direct.check(NONE)
    assert direct.rows()[0]["ok"] is False


def test_a_thousand_calls_in_one_answer_are_bounded(
    run_host: Run, tiny: Repo, tmp_path: Path
) -> None:
    """The run goes on, and what it says to the model stays small."""
    calls = [f'search_code("n // {number}")' for number in range(1000)]
    path, out = write_script(tmp_path / "s.jsonl", _one_round(calls)), tmp_path / "out"
    run_host(*tiny_run(tiny, out, path), timeout=120).check()
    assert max(len(json.dumps(record)) for record in journal_of(out)) < 2 << 20


# ---- Interruption -------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(CALLS))
def test_a_signal_in_a_model_call_leaves_a_folder_to_go_on_with(
    host: Host, loopback_openai: Serve, sample_repo: Repo, tmp_path: Path, number: int
) -> None:
    """Ctrl-C and SIGTERM in turn; the same command ends with the patch, asking nothing twice."""
    server = loopback_openai(SCRIPT)
    out = tmp_path / "out"
    arguments = sample_run(sample_repo, out, server.model)
    sent = (signal.SIGINT, signal.SIGTERM)[number % 2]
    stop_in_call(host, server, number, arguments, sent).one_line(INTERRUPTED, "interrupted")
    assert len(journal_of(out)) == number and strays(out) == []
    result = host.run(*arguments, env=server.environment).check()
    assert len(server.requests) == CALLS + 1
    assert result.stdout == (out / "patch.diff").read_bytes() != b""
    assert host.run("replay", out).check().stdout == result.stdout


STAGES = ["snapshot", "index", "select", "extract", "search", "analyse", "locate", "patch"]


@pytest.mark.parametrize("stage", STAGES)
def test_a_signal_in_a_stage_leaves_a_folder_to_go_on_with(
    host: Host, loopback_openai: Serve, sample_repo: Repo, tmp_path: Path, stage: str
) -> None:
    """The signal is sent as soon as the stage is told; the next model call would hang."""
    server = loopback_openai(SCRIPT)
    arguments = sample_run(sample_repo, tmp_path / "out", server.model)
    hangs_at = {"extract": 1, "search": 2, "analyse": 2, "locate": 9, "patch": 9}.get(stage, 0)
    server.fail(Failure("hang"), at=hangs_at)
    child = host.start(*arguments, "-v", env=server.environment)
    assert child.stderr is not None
    for line in child.stderr:
        if line.decode().rsplit(": ", 1)[-1].strip() == stage:
            break
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (INTERRUPTED, b""), err
    assert b"interrupted" in err.splitlines()[-1]
    server.next_reply = _without_failures(server)  # type: ignore[method-assign]
    result = host.run(*arguments, env=server.environment).check()
    host.run(*sample_run(sample_repo, tmp_path / "plain")).check()
    assert result.stdout == (tmp_path / "plain" / "patch.diff").read_bytes()


def _without_failures(server: LoopbackOpenAI) -> Callable[[Any, Any], Any]:
    """How the server replies when nothing hangs any more."""
    server._failures.clear()
    return server.next_reply


def _large(make_repo: Make) -> Repo:
    """A repository whose index takes seconds when cold."""
    body = "".join(f"    def m{n}(self, a=1):\n        return a + {n}\n" for n in range(400))
    files = {f"pkg/m{n}.py": f"class C{n}:\n{body}" for n in range(400)}
    return make_repo(files | TINY, name="large")


def test_a_signal_stops_the_index_and_long_searches(host: Host, make_repo: Make) -> None:
    """At once, with 130; what was indexed is good."""
    repo = _large(make_repo)
    calls = "\n".join(f'search_code("return a + {n % 150}")' for n in range(50_000)).encode()
    for verb, wait in (("index", 0.3), ("search", 0.3), ("search", 3)):
        child = host.start(verb, "--repo", repo, stdin=subprocess.PIPE)
        assert child.stdin is not None
        if verb == "search":
            child.stdin.write(calls)
        child.stdin.close()
        child.stdin = None
        try:
            child.communicate(timeout=wait)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGTERM)
        _, err = child.communicate(timeout=10)
        assert child.returncode == INTERRUPTED, err
    host.run("search", "--repo", repo, 'search_method_in_class("m7", "C299")').check()


def test_a_second_signal_ends_at_once(
    host: Host, loopback_openai: Serve, sample_repo: Repo, tmp_path: Path
) -> None:
    """Also while the first is being dealt with."""
    server = loopback_openai(SCRIPT)
    server.fail(Failure("hang"), at=3)
    arguments = sample_run(sample_repo, tmp_path / "out", server.model)
    child = host.start(*arguments, env=server.environment)
    server.wait_for(4)
    child.send_signal(signal.SIGINT)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=10)
    assert child.returncode == INTERRUPTED
    host.run(*arguments, env=server.environment).check()


# ---- Streams, environment -----------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["run", "search", "index", "patch", "replay", "--help"])
def test_a_reader_that_has_gone_is_no_crash(
    host: Host, tiny: Repo, script: Path, tmp_path: Path, verb: str
) -> None:
    """`acr-host … | head` with a reader that reads nothing at all; the run folder is complete."""
    out = tmp_path / "out"
    host.run(*tiny_run(tiny, tmp_path / "done", script)).check()
    rest: dict[str, Arguments] = {
        "run": tiny_run(tiny, out, script)[1:],
        "search": ["--repo", tiny, *['search_class("A")'] * 50],
        "index": ["--repo", tiny],
        "patch": ["--repo", tiny, tmp_path / "done" / "attempt_0" / "patch_raw_1.md"],
        "replay": [tmp_path / "done"],
        "--help": [],
    }
    reader, writer = os.pipe()
    os.close(reader)
    result = host.run(verb, *rest[verb], stdout=writer)
    os.close(writer)
    assert result.exit in (0, NONE) and result.err == "", result.told()
    if verb == "run":
        assert state_of(out) == "done"


def test_streams_that_are_closed_are_no_crash(
    tiny: Repo, script: Path, tmp_path: Path, host: Host
) -> None:
    """Started without stdin, stdout and stderr, no file of the run is mistaken for one of them."""
    out = tmp_path / "out"
    command = [str(host.program), *map(str, tiny_run(tiny, out, script)), "-v"]
    closed = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command]
    before = deep_digest(tiny.path)
    subprocess.run(closed, env=host.environment({}), timeout=60, check=False)
    assert deep_digest(tiny.path) == before
    host.run(*tiny_run(tiny, out, script)).check()
    assert len(journal_of(out)) == len(TINY_ANSWERS)
    host.run("replay", out).check()


@pytest.mark.parametrize("home", [None, "/nonexistent/home", ""])
def test_no_home_is_needed(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path, home: str | None
) -> None:
    """Without HOME, and with one that is not there, and without any cache folder."""
    changes = {"HOME": home, "XDG_CACHE_HOME": None}
    run_host(*tiny_run(tiny, tmp_path / "out", script), env=changes).check()
    run_host("search", "--repo", tiny, 'search_method("half")', env=changes).check()


def test_an_empty_environment_is_enough(
    tiny: Repo, script: Path, tmp_path: Path, host: Host
) -> None:
    """As `env -i` starts it: no PATH either."""
    command = [str(host.program), *map(str, tiny_run(tiny, tmp_path / "out", script))]
    kept = {name: v for name, v in os.environ.items() if name.endswith("SAN_OPTIONS")}
    done = subprocess.run(command, env=kept, timeout=60, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_cache_that_cannot_be_written_or_read_is_done_without(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path
) -> None:
    """Read-only, a file in its place, a link that leads nowhere."""
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "none" / "none")
    with read_only(tmp_path / "ro") as folder:
        for number, cache in enumerate((folder, tmp_path / "file", tmp_path / "link")):
            arguments = tiny_run(tiny, tmp_path / f"out{number}", script)
            run_host(*arguments, env={"XDG_CACHE_HOME": str(cache)}).check()


def test_another_python_in_path_changes_nothing(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path
) -> None:
    """Nor do the variables that make Python another one."""
    fake = tmp_path / "bin"
    fake.mkdir()
    for name in ("python3", "python", "pylint"):
        (fake / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/called\nexit 42\n")
        (fake / name).chmod(0o755)
    (fake / "ast.py").write_text("raise SystemExit(42)\n")
    changes = {
        "PATH": f"{fake}:{os.environ['PATH']}",
        "PYTHONHOME": str(fake),
        "PYTHONPATH": str(fake),
        "PYTHONSTARTUP": str(fake / "ast.py"),
        "VIRTUAL_ENV": str(tmp_path),
    }
    run_host(*tiny_run(tiny, tmp_path / "out", script), env=changes).check()
    assert not (tmp_path / "called").exists()


def test_python_files_of_the_repository_are_never_imported(
    run_host: Run, make_repo: Make, script: Path, tmp_path: Path
) -> None:
    """Started inside the repository, where modules shadow the standard library's."""
    trap = f"open({str(tmp_path / 'called')!r}, 'w')\n"
    names = ["ast", "re", "json", "pylint/__init__", "astroid/__init__", "sitecustomize", "acr/__init__"]
    rc = "[MASTER]\ninit-hook='open(\"called\", \"w\")'\n"
    traps = {f"{name}.py": trap for name in names} | {".pylintrc": rc, "pylintrc": rc}
    repo = make_repo(TINY | traps)
    run_host(*tiny_run(".", tmp_path / "out", script), cwd=repo.path).check()
    assert not (tmp_path / "called").exists() and not (repo.path / "called").exists()
    assert repo.git("status", "--porcelain", "--ignored") == ""


# ---- Apply --------------------------------------------------------------------------------------


def test_apply_writes_what_the_patch_says_and_nothing_else(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path
) -> None:
    """Modes are kept, the index is not written, and a second time changes nothing."""
    (tiny.path / "app.py").chmod(0o755)
    (tiny.path / "untracked.txt").write_text("mine")
    index = (tiny.path / ".git" / "index").read_bytes()
    arguments = tiny_run(tiny, tmp_path / "out", script)
    run_host(*arguments, "--apply").check()
    assert (tiny.path / "app.py").read_text() == "def half(n):\n    return n // 2\n"
    assert stat.S_IMODE((tiny.path / "app.py").stat().st_mode) == 0o755
    assert (tiny.path / ".git" / "index").read_bytes() == index
    assert sorted(p.name for p in tiny.path.iterdir()) == [".git", "app.py", "untracked.txt"]


def _changed(tiny: Repo, elsewhere: Path, how: str) -> None:
    """Change app.py behind the run's back."""
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
    """It says which file, and writes nothing; the patch stays in the folder."""
    arguments = tiny_run(tiny, tmp_path / "out", script)
    run_host(*arguments).check()
    _changed(tiny, tmp_path / "elsewhere.py", how)
    before = deep_digest(tiny.path), deep_digest(tmp_path / "out" / "attempt_0").keys()
    run_host(*arguments, "--apply").one_line(ENVIRONMENT, "app.py")
    assert (deep_digest(tiny.path), deep_digest(tmp_path / "out" / "attempt_0").keys()) == before
    assert (tmp_path / "out" / "patch.diff").read_bytes() != b""
    if how == "link":
        assert (tmp_path / "elsewhere.py").read_text() == TINY["app.py"]


def test_apply_does_not_go_with_a_revision(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path
) -> None:
    """It is a mistake of usage, told before anything is begun."""
    arguments = [*tiny_run(tiny, tmp_path / "out", script), "--apply", "--rev", "HEAD"]
    run_host(*arguments).one_line(USAGE, "--apply", "--rev")
    assert not (tmp_path / "out").exists()


# ---- Arguments ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["fly"],
        [""],
        [b"\xff\xfe"],
        ["run"],
        ["run", "--nope"],
        ["run", "--rounds", "many"],
        ["run", "--rounds", "99999999999999999999"],
        ["search"],
        ["index"],
        ["patch"],
        ["replay"],
        ["replay", "a", "b"],
        ["swe-bench"],
    ],
)
def test_a_mistake_in_the_arguments_is_a_usage_error(run_host: Run, arguments: list[object]) -> None:
    """Exit 2, and something is said on stderr alone."""
    result = run_host(*arguments).check(USAGE)
    assert result.stdout == b"" and result.err


@pytest.mark.parametrize(
    "values",
    [
        ["--rounds", "0"],
        ["--rounds", "-1"],
        ["--tries", "0"],
        ["--attempts", "101"],
        ["--temperature", "3"],
        ["--temperature", "nan"],
        ["--verify", "maybe"],
        ["--out", ""],
        ["--model", ""],
        ["stray"],
    ],
)
def test_a_value_out_of_range_is_a_usage_error(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path, values: list[str]
) -> None:
    """Before anything is begun."""
    out = tmp_path / "out"
    words = [values[0]] if values[-1] else []
    run_host(*tiny_run(tiny, out, script), *values).one_line(USAGE, *words)
    assert not out.exists()
