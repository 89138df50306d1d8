"""Everything that could run forever is limited: calls, decoding, key commands, descriptors; the clock does not affect a replay."""

from __future__ import annotations

import json
import os
import pkgutil
import shutil
import signal
import subprocess
from encodings import __path__ as codecs
from pathlib import Path
from typing import Any, Callable

import pytest
from fewer import usually
from host import SLOWNESS, Host, Result
from hostile import TINY, deep_digest, journal_of, tiny_run, write_script
from indexing import SANITIZED, limited, run_command
from lying import LyingServer
from repos import Repo
from runs import arguments

NONE, USAGE, ENVIRONMENT, CEILING = 1, 2, 3, 4
Run = Callable[..., Result]
Make = Callable[..., Repo]


@pytest.fixture
def tiny(make_repo: Make) -> Repo:
    """A repository of TINY."""
    return make_repo(TINY, name="tiny")


# ---- Time ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call", usually(["search_nothing({}"], ['search_class("C{}")', "search_nothing({}", 'search_code("n // {}")'])
)
def test_a_hundred_thousand_calls_end_with_the_time(run_host: Run, tiny: Repo, call: str) -> None:
    """The answers so far are printed, each complete and in order."""
    calls = [call.format(number) for number in range(100_000)]
    ended = run_host("search", "--repo", tiny, "--json", "--max-time", SLOWNESS, input="\n".join(calls))
    rows = ended.rows()
    ended.one_line(CEILING, f"--max-time reached after {len(rows)} of 100000 calls")
    assert rows and [row["call"] for row in rows] == calls[: len(rows)]


@pytest.mark.parametrize("verb", ["search", "patch"])
def test_input_without_an_end_ends_with_the_time(host: Host, tiny: Repo, verb: str) -> None:
    """No input arrives, and the writer keeps the pipe open."""
    reader, writer = os.pipe()
    ended = host.run(verb, "--repo", tiny, "--max-time", 0.5, stdin=reader)
    os.close(writer)
    os.close(reader)
    ended.one_line(CEILING, "--max-time reached")
    assert ended.stdout == b""


@pytest.mark.parametrize("verb", ["search", "patch", "index", "replay"])
def test_a_verb_that_asks_no_model_has_a_time(run_host: Run, tiny: Repo, tmp_path: Path, verb: str) -> None:
    """The limit is given or the default from the help; the result is complete or missing."""
    out, script = tmp_path / "out", write_script(tmp_path / "s.jsonl")
    run_host(*tiny_run(tiny, out, script)).check()
    rest: dict[str, list[object]] = {
        "search": ["--no-cache", "--repo", tiny, 'search_method("half")'],
        "patch": ["--repo", tiny, out / "attempt_0" / "patch_raw_1.md"],
        "index": ["--no-cache", "--repo", tiny],
        "replay": ["--no-cache", out],
    }
    assert "Stop after SECONDS (default: 600)" in run_host(verb, "--help").check().out
    whole, before = run_host(verb, *rest[verb]).check(), deep_digest(out)
    short = run_host(verb, *rest[verb], "--max-time", "0.001")
    if short.exit != 0:
        assert short.one_line(CEILING, "--max-time reached") and short.stdout == b""
    elif verb != "index":
        assert short.stdout == whole.stdout
    assert deep_digest(out) == before
    run_host(verb, *rest[verb], "--max-time", "0").one_line(USAGE, "--max-time")


# ---- Calls from standard input -------------------------------------------------------------------


def test_calls_that_are_none_are_answered_each(run_host: Run, tiny: Repo) -> None:
    """NULs, a line of 60 MB, blank lines, and a last line without a line end."""
    lines = ["\0" * 1000, "search_code('" + "x" * 60_000_000 + "')", "", " \t", 'search_method("half")']
    ended = run_host("search", "--repo", tiny, "--json", input="\n".join(lines), timeout=120).check(NONE)
    rows = ended.rows()
    assert [row["ok"] for row in rows] == [False, False, True] and ended.err == ""
    assert "longer than" in rows[1]["output"] and len(rows[1]["output"]) < 1000


def test_input_beyond_the_ceiling_is_refused(run_host: Run, tiny: Repo, tmp_path: Path) -> None:
    """All of it is rejected; from a pipe whose writer pauses, calls are answered meanwhile."""
    (tmp_path / "calls").write_text('search_method("half")\n' * (68 * 1024 * 1024 // 22))
    with open(tmp_path / "calls", "rb") as calls:
        ended = run_host("search", "--repo", tiny, stdin=calls, timeout=120)
    ended.one_line(ENVIRONMENT, "standard input is larger than 67108864 bytes")
    assert ended.stdout == b""


# ---- Descriptors, stacks, memory -----------------------------------------------------------------


def _command(verb: str, repo: Repo, folder: Path) -> list[object]:
    answer = folder / "answer.md"
    script = write_script(folder / "s.jsonl")
    answer.write_text(json.loads(script.read_text().splitlines()[2])["content"])
    rest: dict[str, list[object]] = {
        "index": ["--repo", repo, "--no-cache", "--json"],
        "search": ["--repo", repo, "--no-cache", "--json", 'search_class("Deep")', 'search_method("half")'],
        "patch": ["--repo", repo, "--no-cache", answer],
        "run": [*tiny_run(repo, folder / "out", script)[1:], "--no-cache"],
        "replay": ["--no-cache", folder / "done"],
    }
    return [verb, *rest[verb]]


@pytest.fixture
def deep(make_repo: Make) -> Repo:
    """A repository of TINY with modules in many nested folders, some of which are ignored."""
    folders = ["/".join(["d"] * depth) for depth in range(1, 30)]
    files = {f"{folder}/m{n}.py": f"class Deep{n}:\n    pass\n" for n, folder in enumerate(folders)}
    files |= {f"{folder}/.gitignore": "left_*.py\n" for folder in folders}
    repo = make_repo(TINY | files, name="deep")
    for folder in folders:
        (repo.path / folder / "left_out.py").write_text("class Left:\n    pass\n")
        (repo.path / folder / "new.py").write_text("class Deep:\n    pass\n")
    return repo


def _result(verb: str, result: Result, folder: Path) -> Any:
    """The parts of a result that must not depend on limits."""
    if verb == "index":
        (row,) = result.rows()
        return {name: row[name] for name in ("entries", "files", "symbols", "unparsable")}
    return result.stdout, journal_of(folder / "out") if verb == "run" else None


@pytest.mark.parametrize("verb", ["index", "search", "patch", "run", "replay"])
def test_with_few_descriptors_a_result_is_whole_or_there_is_none(
    host: Host, deep: Repo, tmp_path: Path, verb: str
) -> None:
    """A file, folder or ignore file that cannot be opened must not be treated as missing."""
    host.run(*tiny_run(deep, tmp_path / "done", write_script(tmp_path / "s.jsonl"))).check()
    command = _command(verb, deep, tmp_path)
    whole = _result(verb, host.run(*command).check(), tmp_path)
    failed = []
    for number in (4, 8, 32, 64, 104, 128):
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        result = run_command(host, limited(f"ulimit -n {number}")(host.program, *command))
        if result.exit == 0:
            assert result.err == "" and _result(verb, result, tmp_path) == whole, (number, result.told())
            continue
        failed.append(number)
        result.one_line(ENVIRONMENT)
        assert result.stdout == b"", (number, result.told())
    assert {4, 8, 64} <= set(failed) and 128 not in failed


@pytest.mark.skipif(SANITIZED, reason="shadow memory takes more of everything")
@pytest.mark.parametrize(
    "limit",
    usually(["-s 128", "-v 150000"], ["-s 64", "-s 128", "-s 256", "-s 1024", "-v 50000", "-v 150000", "-v 400000"]),
)
@pytest.mark.parametrize("verb", ["index", "search", "patch", "run", "replay"])
def test_with_little_memory_a_result_is_whole_or_there_is_none(
    host: Host, tiny: Repo, tmp_path: Path, verb: str, limit: str
) -> None:
    """Stacks are limited in one case, and total memory in another."""
    host.run(*tiny_run(tiny, tmp_path / "done", write_script(tmp_path / "s.jsonl"))).check()
    command = _command(verb, tiny, tmp_path)
    whole = _result(verb, host.run(*command), tmp_path)
    shutil.rmtree(tmp_path / "out", ignore_errors=True)
    result = run_command(host, limited(f"ulimit {limit}")(host.program, *command))
    if result.exit == ENVIRONMENT:
        result.one_line(ENVIRONMENT)
        assert result.stdout == b"" and limit not in ("-s 1024", "-v 400000"), result.told()
    else:
        assert _result(verb, result, tmp_path) == whole, result.told()


# ---- Encodings -----------------------------------------------------------------------------------

# Half a megabyte that takes this codec longer than any deadline; without the codec, it is valid code.
SLOW = "# coding: punycode\nclass Slow:\n    def crawl(self):\n        return 1\n#-" + "a" * 500_000 + "\n"
ENCODINGS = sorted({module.name for module in pkgutil.iter_modules(codecs)} | {"rot13", "UTF8", "none_such", "x" * 60})


@pytest.fixture
def declared(make_repo: Make) -> Repo:
    """One file for each encoding that a file may declare, including slow ones, and one that declares none."""
    files = {f"e{n}.py": f"# -*- coding: {name} -*-\nclass E{n}:\n    pass\n" for n, name in enumerate(ENCODINGS)}
    files |= {f"slow{n}.py": SLOW + "#" * n for n in range(4)}
    return make_repo(TINY | files)


def test_whatever_encoding_a_file_declares_the_others_are_served(run_host: Run, declared: Repo) -> None:
    """Slow codecs are not used: the file's classes are found."""
    calls = [f'search_class("E{n}")' for n in range(len(ENCODINGS))]
    (counts,) = run_host("index", "--repo", declared, "--json", timeout=120).check().rows()
    assert counts["files"] == len(ENCODINGS) + 5 and counts["unparsable"] < 20
    found = run_host("search", "--repo", declared, "--json", 'search_class("Slow")', 'search_method("half")', *calls)
    slow, half, *rest = found.rows()
    assert len(slow["results"]) == 4 and half["ok"] and found.err == ""
    read = {name for name, row in zip(ENCODINGS, rest) if row["ok"]}
    assert {"utf_8", "latin_1", "punycode", "idna", "cp1252", "bz2_codec", "mbcs", "none_such"} <= read


def test_a_file_in_any_encoding_can_be_patched(run_host: Run, declared: Repo, tmp_path: Path) -> None:
    """The codec may be slow; whether Python can read the file does not matter for a change elsewhere."""
    answers = []
    for number, name in enumerate(ENCODINGS):
        answers.append(tmp_path / f"{name[:30]}.md")
        edit = f"<file>e{number}.py</file>\n<original>    pass</original>\n<patched>    x = 1</patched>\n"
        answers[-1].write_text(edit)
    (tmp_path / "slow.md").write_text(
        "<file>slow0.py</file>\n<original>        return 1</original>\n<patched>        return 2</patched>\n"
    )
    rows = run_host("patch", "--repo", declared, "--json", *answers, tmp_path / "slow.md", timeout=300).rows()
    status = {Path(row["file"]).stem: row["status"] for row in rows}
    assert len(rows) == len(ENCODINGS) + 1
    for name in ("utf_8", "latin_1", "cp1252", "slow"):
        assert status[name] == "APPLICABLE_PATCH", name


# ---- The clock -----------------------------------------------------------------------------------

CLOCK = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *now)
{
    const char *offset = getenv("CLOCK_OFFSET");
    int failed = (int)syscall(SYS_clock_gettime, id, now);
    if (!failed && offset && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        now->tv_sec += atol(offset);
    return failed;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *out = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}
"""


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that sets the clock of a process ahead by CLOCK_OFFSET seconds."""
    folder = tmp_path_factory.mktemp("clock")
    (folder / "clock.c").write_text(CLOCK)
    built = subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", folder / "clock.so", folder / "clock.c"], capture_output=True, check=False
    )
    if built.returncode or SANITIZED:
        pytest.skip("no clock can be put before this program")
    return folder / "clock.so"


DAY = 86400
YEARS = 365 * DAY


@pytest.mark.parametrize(
    "offset", usually([-60 * YEARS, 5000 * YEARS], [-56 * YEARS, -60 * YEARS, -DAY, DAY, 75 * YEARS, 5000 * YEARS])
)
@pytest.mark.parametrize("cached", [True, False])
def test_a_replay_does_not_change_with_the_clock(
    host: Host, sample_repo: Repo, tmp_path: Path, clock: Path, offset: int, cached: bool
) -> None:
    """Nor with the time zone: the output is the same, and no byte of the run folder changes."""
    out = tmp_path / "out"
    host.run(*arguments(sample_repo, out)).check()
    rest = [] if cached else ["--no-cache"]
    recorded, before = host.run("replay", out, "--json", *rest).check(), deep_digest(out)
    env = {"LD_PRELOAD": str(clock), "CLOCK_OFFSET": str(offset), "TZ": "Pacific/Apia"}
    again = host.run("replay", out, "--json", *rest, env=env).check()
    assert (again.stdout, again.stderr) == (recorded.stdout, recorded.stderr)
    assert deep_digest(out) == before


# ---- Key commands --------------------------------------------------------------------------------

SECRET = "sk-bounds-0123456789abcdef"
COMMANDS = {
    "endless": f"yes {SECRET}",
    "a gigabyte": "head -c 1000000000 /dev/zero",
    "endless complaints": f"yes {SECRET} >&2",
    "never ends": f"echo {SECRET}; sleep 1000",
    "control characters": f"printf '{SECRET}\\033[31m\\n'",
    "a carriage return inside": f"printf '{SECRET}\\rX-Other: 1\\n'",
    "blanks inside": f"echo '{SECRET} {SECRET}'",
    "not ASCII": f"echo '{SECRET}é'",
    "a blank line first": f"printf '\\n{SECRET}\\n'",
    "nothing": "true",
    "complaints alone": f"echo {SECRET} >&2",
    "fails": f"echo {SECRET}; exit 3",
    "killed": f"echo {SECRET}; kill -9 $$",
    "not found": f"/no/such/{SECRET}",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_key_command_that_gives_no_key_is_one_line(host: Host, tmp_path: Path, name: str) -> None:
    """It ends within --max-time; nothing is sent, and none of its output is shown."""
    with LyingServer(["no usage"], tmp_path / "ledger.jsonl", (2, 8)) as server:
        ended = host.run(
            *("ask", "--model", "openai/gpt-4.1", "--base-url", server.base_url, "--max-time", 5 * SLOWNESS),
            *("--key-command", COMMANDS[name], "why?"),
        )
    line = ended.one_line(ENVIRONMENT, "key command")
    assert SECRET not in line and ended.stdout == b"" and server.received == 0


@pytest.mark.parametrize("session", ["", "setsid "])
def test_a_child_that_holds_the_pipe_of_a_key_command_delays_nothing(host: Host, tmp_path: Path, session: str) -> None:
    """The printed line is the key, and the answer arrives."""
    mark = tmp_path / "pid"
    child = f"{session}sh -c 'echo $$ >{mark}; exec sleep 1000' &"
    wait = f"while [ ! -s {mark} ]; do sleep 0.01; done"
    with LyingServer(["no usage"], tmp_path / "ledger.jsonl", (2, 8)) as server:
        ended = host.run(
            *("ask", "--model", "openai/gpt-4.1", "--base-url", server.base_url),
            *("--key-command", f"{child} {wait}; echo {SECRET}; echo noise >&2", "why?"),
        )
    if session:  # nothing else ends it
        os.kill(int(mark.read_text()), signal.SIGKILL)
    assert ended.check().out == "hi\n" and server.received == 1
