"""A run that is killed at any point can be resumed with the same result; a damaged journal is repaired or rejected."""

from __future__ import annotations

import json
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
import repos
from fewer import usually
from host import Host, Result, kill
from hostile import journal_of, outcome, sample_run, strays, take_back
from loopback import Failure, LoopbackOpenAI
from repos import Repo
from runs import CALLS, SCRIPT

Run = Callable[..., Result]
Serve = Callable[..., LoopbackOpenAI]
NONE, ENVIRONMENT = 1, 3


@pytest.fixture(scope="module")
def sample_repo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repo]:
    """The sample as a repository, made once; no run may change it."""
    repo = repos.sample_repo(tmp_path_factory.mktemp("sample") / "sample")
    before = repos.digest(repo.path)
    yield repo
    assert repos.digest(repo.path) == before


@pytest.fixture(scope="module")
def finished(binary: Path, sample_repo: Repo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of the sample, which must not be changed."""
    folder = tmp_path_factory.mktemp("finished") / "finished"
    Host(tmp_path_factory.mktemp("home"), binary).run(*sample_run(sample_repo, folder)).check()
    return folder


def _copy(finished: Path, records: int) -> Path:
    """A copy of a finished run, reset to the time when it had that many records."""
    copy = finished.with_name("copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(finished, copy)
    take_back(copy, records)
    return copy


@pytest.mark.parametrize("number", usually([0, 5, CALLS - 1], range(CALLS)))
def test_a_run_killed_in_a_model_call_goes_on_to_the_same_end(
    host: Host, loopback_openai: Serve, sample_repo: Repo, tmp_path: Path, number: int
) -> None:
    """The run is killed after each record of the journal; only the call in progress is repeated."""
    server, out = loopback_openai(SCRIPT), tmp_path / "out"
    arguments = sample_run(sample_repo, out, server.model)
    server.fail(Failure("hang"), at=number)
    child = host.start(*arguments, env=server.environment)
    server.wait_for(number + 1)
    kill(child)
    assert len(journal_of(out)) == number
    host.run(*arguments, env=server.environment).check()
    assert len(server.requests) == CALLS + 1
    whole = loopback_openai(SCRIPT)
    host.run(*sample_run(sample_repo, tmp_path / "whole", server.model), env=whole.environment).check()
    assert outcome(out) == outcome(tmp_path / "whole")


def test_a_run_killed_after_every_record_goes_on_to_the_same_end(
    host: Host, loopback_openai: Serve, sample_repo: Repo, tmp_path: Path
) -> None:
    """Kills one run in each of its calls in turn."""
    server, out = loopback_openai(SCRIPT), tmp_path / "out"
    arguments = sample_run(sample_repo, out, server.model)
    for number in range(CALLS):
        server.fail(Failure("hang"), at=number)
        child = host.start(*arguments, env=server.environment)
        server.wait_for(2 * number + 1)
        kill(child)
    host.run(*arguments, env=server.environment).check()
    whole = loopback_openai(SCRIPT)
    host.run(*sample_run(sample_repo, tmp_path / "whole", server.model), env=whole.environment).check()
    assert outcome(out) == outcome(tmp_path / "whole")


@pytest.mark.parametrize("records", usually([1, 6, CALLS], range(CALLS + 1)))
def test_a_journal_with_some_of_its_records_is_gone_on_with(
    host: Host, sample_repo: Repo, finished: Path, records: int
) -> None:
    """The scripted model skips the lines that the journal answers."""
    copy = _copy(finished, records)
    host.run(*sample_run(sample_repo, copy)).check()
    assert outcome(copy) == outcome(finished)


def _killed_at_random(host: Host, arguments: list[object], seconds: float) -> bool:
    """Start a run, kill it after that time; return whether it was still running."""
    child = host.start(*arguments)
    time.sleep(seconds)
    alive = child.poll() is None
    kill(child)
    assert alive or child.returncode == 0
    return alive


def _kill_often(host: Host, repo: Repo, finished: Path, out: Path, times: int, seed: int) -> int:
    """Start runs and kill each several times at random moments; return how many kills hit a running run."""
    chance, kills = random.Random(seed), 0
    arguments = sample_run(repo, out)
    begun = time.monotonic()
    host.run(*sample_run(repo, out.with_name("timing"))).check()
    whole = time.monotonic() - begun
    while kills < times:
        shutil.rmtree(out, ignore_errors=True)
        while _killed_at_random(host, arguments, chance.uniform(0, 1.1 * whole)):
            kills += 1
        assert outcome(out) == outcome(finished) and strays(out) == []
        host.run(*arguments).check()
        assert host.run("replay", out).check().stdout == (out / "patch.diff").read_bytes()
    return kills


def test_a_run_killed_at_random_moments_goes_on_to_the_same_end(
    host: Host, sample_repo: Repo, finished: Path, tmp_path: Path
) -> None:
    """Real SIGKILLs, several for each run."""
    assert _kill_often(host, sample_repo, finished, tmp_path / "out", 8, seed=1) >= 8


def _cut(host: Host, repo: Repo, finished: Path, records: int, kept: int) -> None:
    """The last record is cut after `kept` bytes: it is dropped, which a line reports, and made again."""
    copy = _copy(finished, records)
    journal = copy / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]) + lines[-1][:kept])
    result = host.run(*sample_run(repo, copy), "-v").check()
    assert (0 < kept < len(lines[-1])) == ("the last record" in result.err), result.told()
    assert outcome(copy) == outcome(finished)


def _cuts(finished: Path, count: int | None) -> list[tuple[int, int]]:
    """Places to cut: (records, bytes of the last record): its ends, and `count` other places or every seventh."""
    lines = (finished / "journal.jsonl").read_bytes().splitlines(keepends=True)
    chance, cuts = random.Random(3), []
    for records in (4,) if count else (CALLS,):
        length = len(lines[records - 1])
        some = range(chance.randrange(7), length, 7)
        places = some if count is None else chance.sample(range(length), count)
        cuts += [(records, at) for at in {0, 1, length - 2, length - 1, length, *places}]
    return cuts


def test_a_last_record_that_was_cut_is_dropped(host: Host, sample_repo: Repo, finished: Path) -> None:
    """A line reports it; tests/unit/journal cuts at every byte."""
    for records, kept in _cuts(finished, 1):
        _cut(host, sample_repo, finished, records, kept)


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "zeros": lambda line: b"\0" * len(line),
    "zeros and line feed": lambda line: b"\0" * (len(line) - 1) + b"\n",
    "half zeros": lambda line: line[: len(line) // 2] + b"\0" * (len(line) // 2),
    "no UTF-8": lambda line: line.replace(b"model", b"mod\xffl", 1),
    "no brace": lambda line: line[1:],
    "other number": lambda line: line.replace(b'"n":', b'"n":7', 1),
    "empty line": lambda line: b"\n",
    "no record": lambda line: b'{"n": 3}\n',
    "number": lambda line: b"17\n",
    "deep": lambda line: b"[" * 100_000 + b"\n",
}


@pytest.mark.parametrize("damage", usually(["zeros", "no brace"], DAMAGES))
def test_a_last_record_that_was_damaged_is_dropped(host: Host, sample_repo: Repo, finished: Path, damage: str) -> None:
    """A line reports it, and the run resumes with the same result."""
    copy = _copy(finished, 4)
    lines = (copy / "journal.jsonl").read_bytes().splitlines(keepends=True)
    lines[-1] = DAMAGES[damage](lines[-1])
    (copy / "journal.jsonl").write_bytes(b"".join(lines))
    result = host.run(*sample_run(sample_repo, copy), "-v").check()
    assert "the last record" in result.err, result.told()
    assert outcome(copy) == outcome(finished)


@pytest.mark.parametrize("damage", usually(["zeros", "no brace"], DAMAGES))
def test_damage_before_the_last_record_is_refused(host: Host, sample_repo: Repo, finished: Path, damage: str) -> None:
    """The message names the line, and nothing is changed."""
    copy = _copy(finished, 6)
    lines = (copy / "journal.jsonl").read_bytes().splitlines(keepends=True)
    damaged = DAMAGES[damage](lines[2])
    lines[2] = damaged if damaged.endswith(b"\n") else damaged[:-1] + b"\n"
    (copy / "journal.jsonl").write_bytes(b"".join(lines))
    before = (copy / "journal.jsonl").read_bytes(), (copy / "meta.json").read_bytes()
    host.run(*sample_run(sample_repo, copy)).one_line(ENVIRONMENT, "journal.jsonl", "line 3")
    assert ((copy / "journal.jsonl").read_bytes(), (copy / "meta.json").read_bytes()) == before
    host.run("replay", copy).one_line(ENVIRONMENT, "line 3")


def _edit(line: bytes, change: Callable[[Any], None]) -> bytes:
    """A record, changed."""
    record = json.loads(line)
    change(record)
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


FOREIGN: dict[str, Callable[[Any], None]] = {
    "request": lambda r: r["request"]["messages"][-1].update(content="Something else."),
    "event": lambda r: r.update(event="sandbox"),
    "agent": lambda r: r["request"].update(agent="review"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_record_in_the_middle_is_a_divergence(
    host: Host, sample_repo: Repo, finished: Path, kind: str
) -> None:
    """The message shows both sides, and the journal stays unchanged."""
    copy = _copy(finished, 6)
    lines = (copy / "journal.jsonl").read_bytes().splitlines(keepends=True)
    lines[2] = _edit(lines[2], FOREIGN[kind])
    (copy / "journal.jsonl").write_bytes(b"".join(lines))
    before = (copy / "journal.jsonl").read_bytes()
    host.run(*sample_run(sample_repo, copy)).one_line(ENVIRONMENT, "diverges", "line 3")
    assert (copy / "journal.jsonl").read_bytes() == before


def test_a_divergence_names_the_version_that_made_the_folder(host: Host, sample_repo: Repo, finished: Path) -> None:
    """If the version differs, it is the likely reason; both resume and replay name it, and only then."""
    copy = _copy(finished, 6)
    lines = (copy / "journal.jsonl").read_bytes().splitlines(keepends=True)
    lines[2] = _edit(lines[2], FOREIGN["agent"])
    (copy / "journal.jsonl").write_bytes(b"".join(lines))
    for command in (sample_run(sample_repo, copy), ["replay", copy]):
        assert "created this folder" not in host.run(*command).err
    meta = json.loads((copy / "meta.json").read_text())
    (copy / "meta.json").write_text(json.dumps(meta | {"version": "0.0.9"}))
    for command in (sample_run(sample_repo, copy), ["replay", copy]):
        assert "(acr-host 0.0.9 created this folder; this is acr-host" in host.run(*command).err
    meta["prompts"]["search_start.txt"] = "0" * 64
    (copy / "meta.json").write_text(json.dumps(meta | {"version": "0.0.9"}))
    host.run(*sample_run(sample_repo, copy)).one_line(2, "search_start.txt differs", "0.0.9 created this folder")


ANSWERS: dict[str, Callable[[Any], None]] = {
    "none": lambda r: r.update(answer=None),
    "number": lambda r: r.update(answer=7),
    "no content": lambda r: r["answer"].pop("content"),
    "content no text": lambda r: r["answer"].update(content=[1]),
    "usage of text": lambda r: r["answer"].update(usage={"input": "x", "output": -9e99}),
    "error no object": lambda r: r.update(answer={"error": 7}),
    "unknown error": lambda r: r.update(answer={"error": {"class": "x", "message": 3}}),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_recorded_answer_out_of_shape_is_no_crash(host: Host, sample_repo: Repo, finished: Path, kind: str) -> None:
    """A journal may come from a stranger. The exit code is one of the program's own."""
    copy = _copy(finished, 6)
    lines = (copy / "journal.jsonl").read_bytes().splitlines(keepends=True)
    lines[2] = _edit(lines[2], ANSWERS[kind])
    (copy / "journal.jsonl").write_bytes(b"".join(lines))
    result = host.run(*sample_run(sample_repo, copy))
    assert result.exit in (0, 1, ENVIRONMENT), result.told()
    assert len(result.err.splitlines()) <= 1, result.told()


def test_what_a_kill_at_the_beginning_leaves_is_taken_up(
    host: Host, sample_repo: Repo, finished: Path, tmp_path: Path
) -> None:
    """A lock, .gitignore and a temporary file without meta.json; and a folder in the state "new"."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "lock").write_text("12345\n")
    (out / ".gitignore").write_text("*\n")
    (out / ".acr-AbC123").write_text('{"form')
    host.run(*sample_run(sample_repo, out)).check()
    assert outcome(out) == outcome(finished)
    meta = json.loads((out / "meta.json").read_bytes())
    assert meta.pop("snapshot")
    shutil.rmtree(out)
    out.mkdir()
    (out / "meta.json").write_text(json.dumps(meta | {"state": "new"}))
    host.run(*sample_run(sample_repo, out)).check()
    assert outcome(out) == outcome(finished)
