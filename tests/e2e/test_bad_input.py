"""Invalid input causes a one-line error and the right exit code; nothing is lost."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Callable

import pytest
from host import Host, Result, without_progress
from hostile import (
    TINY,
    TINY_ANSWERS,
    Arguments,
    journal_of,
    read_only,
    sample_run,
    state_of,
    tiny_run,
    whole_stacks,
    write_script,
)
from repos import Repo
from runs import ISSUE

NONE, USAGE, ENVIRONMENT = 1, 2, 3
# Lines of 20 bytes. Half as many with sanitizers, which still exceeds every limit except that of an answer.
HUGE_LINES = 1 << 18
Run = Callable[..., Result]
Make = Callable[..., Repo]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """Answers that fix a repository of TINY."""
    return write_script(tmp_path / "tiny.jsonl")


@pytest.fixture
def tiny(make_repo: Make) -> Repo:
    """A repository of TINY."""
    return make_repo(TINY, name="tiny")


# ---- Repositories --------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["run", "search", "patch", "index"])
def test_a_repository_that_is_not_there_is_named(run_host: Run, tmp_path: Path, verb: str) -> None:
    """Every verb names the missing folder."""
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
    """A name of no commit is rejected before a folder is created."""
    arguments = tiny_run(tiny, tmp_path / "out", script)
    run_host(*arguments, f"--rev={rev}").one_line(ENVIRONMENT, f"'{rev}'" if rev else "--rev is empty")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("rev", [[], ["--rev", "HEAD"]])
def test_a_repository_without_a_commit_has_nothing_to_work_on(
    run_host: Run, make_repo: Make, script: Path, tmp_path: Path, rev: list[str]
) -> None:
    """Neither its tree nor HEAD can be used, and no run folder remains to which later runs would be bound."""
    repo, out = make_repo({}), tmp_path / "out"
    words = ["commit"] if rev else ["no Python files"]
    run_host(*tiny_run(repo, out, script), *rev).one_line(ENVIRONMENT, *words)
    assert not out.exists()


def test_a_repository_without_python_has_nothing_to_work_on(
    run_host: Run, make_repo: Make, script: Path, tmp_path: Path
) -> None:
    """Tests alone do not count as code; once there is code, the same command works."""
    repo, out = (make_repo({"a.txt": "x", "tests/test_a.py": "x = 1\n"}), tmp_path / "out")
    run_host(*tiny_run(repo, out, script)).one_line(ENVIRONMENT, "no Python files", str(repo))
    assert not out.exists()
    repo.commit(TINY)
    run_host(*tiny_run(repo, out, script)).check()


def test_the_objects_of_a_sha256_repository_are_refused(run_host: Run, script: Path, tmp_path: Path) -> None:
    """The message names the format, and no run folder is created; its working tree is read as a plain folder."""
    path = tmp_path / "sha256"
    path.mkdir()
    repo = Repo(path)
    repo.git("init", "-q", "--object-format=sha256")
    repo.commit(TINY)
    assert b"SHA-256" in run_host("search", "--repo", str(path), "class", "Nobody").stderr
    repo.git("config", "core.bare", "true")
    result = run_host(*tiny_run(repo, tmp_path / "out", script), env=whole_stacks())
    result.one_line(ENVIRONMENT, "256")
    assert not (tmp_path / "out").exists()


# ---- Issues --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "word"),
    [(None, "No such file"), (b"", "empty"), (b" \n\t", "empty"), (b"a" * 50_000_000, "larger than"), (b"a\0b", "NUL")],
    ids=["missing", "empty", "blank", "50 MB", "NUL"],
)
def test_an_issue_that_cannot_be_used(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path, content: bytes | None, word: str
) -> None:
    """The error is reported before the run begins."""
    issue = tmp_path / "issue.md"
    if content is not None:
        issue.write_bytes(content)
    out = tmp_path / "out"
    model = f"script:{script}"
    run = ["run", "--repo", tiny, "--issue", issue, "--model", model, "--out", out, "--verify=never"]
    run_host(*run).one_line(USAGE, word)
    assert not out.exists()


def test_an_issue_that_is_not_utf8_is_read_as_latin1_and_said_so(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path
) -> None:
    """The run continues, and its folder contains the decoded text."""
    issue, out = tmp_path / "issue.md", tmp_path / "out"
    issue.write_bytes(b"half(4) \xe9tait 1\n")
    model = f"script:{script}"
    run = ["run", "--repo", tiny, "--issue", issue, "--model", model, "--out", out, "--verify=never"]
    run_host(*run).one_line(0, "latin-1")
    assert (out / "issue.md").read_text("utf-8") == "half(4) était 1\n"


# ---- Scripts and answers -------------------------------------------------------------------------


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
    """The error is reported before a folder is created."""
    lines = [json.dumps(line) for line in TINY_ANSWERS[:2]] + [bad]
    path = tmp_path / "bad.jsonl"
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
    arguments = tiny_run(tiny, tmp_path / "out", path)
    run_host(*arguments).one_line(USAGE, *words, str(path))
    assert not (tmp_path / "out").exists()


def test_a_missing_script_is_named(run_host: Run, tiny: Repo, tmp_path: Path) -> None:
    """The error is reported before a folder is created."""
    arguments = tiny_run(tiny, tmp_path / "out", tmp_path / "none.jsonl")
    run_host(*arguments).one_line(USAGE, "none.jsonl")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("left", range(len(TINY_ANSWERS)))
def test_a_used_up_script_ends_without_a_patch(run_host: Run, tiny: Repo, tmp_path: Path, left: int) -> None:
    """The script may end at any line; the folder is then finished, and a rerun prints the same."""
    path = write_script(tmp_path / "short.jsonl", TINY_ANSWERS[:left])
    for _ in range(2):
        result = run_host(*tiny_run(tiny, tmp_path / "out", path))
        result.one_line(NONE, "no patch")
        assert result.stdout == b""
    assert state_of(tmp_path / "out") == "done"


def test_an_expectation_that_is_not_met_shows_what_came(run_host: Run, tiny: Repo, tmp_path: Path) -> None:
    """The run can be resumed once the script is corrected."""
    lines = [dict(line) for line in TINY_ANSWERS]
    lines[2]["expect"] = ["return n // 3", "not in the request"]
    path, out = write_script(tmp_path / "s.jsonl", lines), tmp_path / "out"
    result = run_host(*tiny_run(tiny, out, path)).check(NONE)
    assert 'lacks "not in the request"' in result.err and len(result.err) < 1000
    write_script(path)
    run_host(*tiny_run(tiny, out, path)).check()
    assert len(journal_of(out)) == len(TINY_ANSWERS)


@pytest.mark.full
def test_an_answer_of_5_mb_is_taken(run_host: Run, tiny: Repo, tmp_path: Path) -> None:
    """Each role may give such an answer, and the run continues."""
    huge = "nothing to see here\n" * HUGE_LINES
    lines = [dict(line) for line in TINY_ANSWERS]
    lines[0]["content"] += huge
    lines[2]["content"] = huge + lines[2]["content"]
    path, out = write_script(tmp_path / "s.jsonl", lines), tmp_path / "out"
    result = run_host(*tiny_run(tiny, out, path), timeout=120).check()
    assert b"+    return n // 2" in result.stdout
    run_host("replay", out, timeout=120).check()


def test_an_answer_that_is_nothing_but_a_block_of_5_mb_is_refused(run_host: Run, tiny: Repo, tmp_path: Path) -> None:
    """An edit of that size matches nothing; the search takes bounded time."""
    lines = [dict(line) for line in TINY_ANSWERS]
    block = "    x = 1\n" * (2 * HUGE_LINES)
    lines[2]["content"] = TINY_ANSWERS[2]["content"].replace("    return n // 3", block)
    path = write_script(tmp_path / "s.jsonl", lines)
    run_host(*tiny_run(tiny, tmp_path / "out", path), timeout=120).check(NONE)


def _one_round(calls: list[str]) -> list[dict[str, Any]]:
    """A script whose first round makes these calls."""
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
def test_a_wrong_call_is_answered_and_the_run_goes_on(run_host: Run, tiny: Repo, tmp_path: Path, call: str) -> None:
    """The same is true if `search` gets the call on the command line."""
    invalid = _one_round([call])
    retry = [line for line in invalid if line["agent"] == "extract"][:1] * 5
    lines = [invalid[0], *retry, invalid[2], *TINY_ANSWERS]
    path = write_script(tmp_path / "s.jsonl", lines)
    result = run_host(*tiny_run(tiny, tmp_path / "out", path), timeout=120)
    assert result.exit in (0, NONE) and len(result.err.splitlines()) <= 1, result.told()
    direct = run_host("search", "--repo", tiny, "--json", input=call.replace("\n", " "), timeout=120)
    direct.check(NONE)
    assert direct.rows()[0]["ok"] is False


def test_a_thousand_calls_in_one_answer_are_bounded(run_host: Run, tiny: Repo, tmp_path: Path) -> None:
    """The run continues, and the reply to the model stays small."""
    calls = [f'search_code("n // {number}")' for number in range(1000)]
    path, out = write_script(tmp_path / "s.jsonl", _one_round(calls)), tmp_path / "out"
    run_host(*tiny_run(tiny, out, path), timeout=120).check()
    assert max(len(json.dumps(record)) for record in journal_of(out)) < 2 << 20


# ---- Streams, environment ------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["run", "search", "index", "patch", "replay", "--help"])
def test_a_reader_that_has_gone_is_no_crash(host: Host, tiny: Repo, script: Path, tmp_path: Path, verb: str) -> None:
    """`acr-host … | head` with a reader that reads nothing; the run folder is complete."""
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


def test_an_empty_environment_is_enough(tiny: Repo, script: Path, tmp_path: Path, host: Host) -> None:
    """Started as by `env -i`, so without PATH, too."""
    command = [str(host.program), *map(str, tiny_run(tiny, tmp_path / "out", script))]
    kept = {name: v for name, v in os.environ.items() if name.endswith("SAN_OPTIONS")}
    done = subprocess.run(command, env=kept, timeout=60, capture_output=True, check=False)
    assert (done.returncode, without_progress(done.stderr)[0]) == (0, b"")


def test_a_cache_that_cannot_be_written_or_read_is_done_without(
    run_host: Run, tiny: Repo, script: Path, tmp_path: Path
) -> None:
    """The cache is read-only, a file is in its place, or it is a dangling link."""
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "none" / "none")
    with read_only(tmp_path / "ro") as folder:
        for number, cache in enumerate((folder, tmp_path / "file", tmp_path / "link")):
            arguments = tiny_run(tiny, tmp_path / f"out{number}", script)
            run_host(*arguments, env={"XDG_CACHE_HOME": str(cache)}).check()


# ---- Arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [[], [""], [b"\xff\xfe"], ["run", "--rounds", "99999999999999999999"], ["patch"], ["replay"], ["swe-bench"]],
)
def test_a_mistake_in_the_arguments_is_a_usage_error(run_host: Run, arguments: list[object], tmp_path: Path) -> None:
    """Exit code 2 and a message on stderr only, outside any repository."""
    result = run_host(*arguments, cwd=tmp_path).check(USAGE)
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
    """The error is reported before the run begins."""
    out = tmp_path / "out"
    words = [values[0]] if values[-1] else []
    run_host(*tiny_run(tiny, out, script), *values).one_line(USAGE, *words)
    assert not out.exists()


@pytest.mark.parametrize("home", [None, "/nonexistent/home", ""])
def test_no_home_is_needed(run_host: Run, tiny: Repo, script: Path, tmp_path: Path, home: str | None) -> None:
    """The program runs without HOME, with a missing home folder, and without any cache folder."""
    changes = {"HOME": home, "XDG_CACHE_HOME": None}
    run_host(*tiny_run(tiny, tmp_path / "out", script), env=changes).check()
    run_host("search", "--repo", tiny, 'search_method("half")', env=changes).check()
