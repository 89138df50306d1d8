"""Options for reaching a model: headers, keys from a command or file, a second model, effort; which options a resumed run must repeat."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

import pytest
from host import Result
from loopback import KEY, Failure, LoopbackOpenAI
from repos import Repo
from runs import CALLS, SCRIPT, arguments, journal, read_json

RunHost = Callable[..., Result]
Serve = Callable[..., LoopbackOpenAI]

SECRET = "s3cret-value-0123456789"


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    """The loopback server's key in a file that only its owner can read."""
    path = tmp_path / "key"
    path.write_text(f"{KEY}\n", "utf-8")
    path.chmod(0o600)
    return path


def keyless(server: LoopbackOpenAI) -> dict[str, str | None]:
    """The variables for the server, without its key."""
    return server.environment | {"OPENAI_API_KEY": None}


@pytest.mark.parametrize("verb", ["run", "swe-bench"])
@pytest.mark.parametrize("header", [SECRET, f": {SECRET}", f"X: {SECRET}\r\nY: 1", f"X Y: {SECRET}"])
def test_header_that_cannot_be_sent_is_refused(
    run_host: RunHost, sample_repo: Repo, tmp_path: Path, verb: str, header: str
) -> None:
    where = {"run": ["--repo", sample_repo, "--issue-text", "x"]}
    batch = ["--dataset", tmp_path / "none", "--repos", tmp_path]
    args = [verb, *where.get(verb, batch), "--model", "openai/x", "--out", tmp_path / "o"]
    line = run_host(*args, "--header", header).one_line(2, "--header number 1")
    assert SECRET not in line


def test_headers_of_the_environment_are_checked_too(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    args = arguments(sample_repo, tmp_path / "out", model="openai/x")
    env = {"ACR_HEADERS": f"X-One: 1\n{SECRET}", "OPENAI_API_KEY": KEY}
    assert SECRET not in run_host(*args, env=env).one_line(2, "number 2")


def test_two_sources_of_a_key_are_refused(run_host: RunHost, sample_repo: Repo, tmp_path: Path, key_file: Path) -> None:
    args = arguments(sample_repo, tmp_path / "out", model="openai/x")
    both = ["--key-file", key_file, "--key-command", "true"]
    run_host(*args, *both).one_line(2, "--key-command", "--key-file")


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602])
def test_key_file_for_others_is_refused(
    run_host: RunHost, sample_repo: Repo, tmp_path: Path, key_file: Path, mode: int
) -> None:
    key_file.chmod(mode)
    out = tmp_path / "out"
    args = arguments(sample_repo, out, "--key-file", key_file, model="openai/x")
    run_host(*args).one_line(3, "chmod 600")
    assert not out.exists()


def test_keys_do_not_bind_a_folder_but_effort_and_second_model_do(
    run_host: RunHost, loopback_openai: Serve, sample_repo: Repo, tmp_path: Path, key_file: Path
) -> None:
    server, out = loopback_openai(SCRIPT), tmp_path / "out"
    args = arguments(sample_repo, out, model=server.model)
    server.fail(Failure("status", 401), at=3)
    run_host(*args, "--key-file", key_file, env=keyless(server)).check(3)
    command = ["--key-command", f"cat '{key_file}'"]
    result = run_host(*args, *command, env=keyless(server)).check()
    assert result.stdout and len(server.requests) == CALLS + 1
    assert len(journal(out)) == CALLS
    options = read_json(out / "meta.json")["options"]
    assert options["effort"] is None is options["fallback_model"]
    assert not [name for name in options if "key" in name or "header" in name]
    run_host(*args, "--effort", "low").one_line(2, "started without --effort; ")
    more = ["--fallback-model", "openai/other"]
    run_host(*args, *more).one_line(2, "started without --fallback-model; ")


def test_key_given_is_for_the_first_model_s_provider_alone(
    run_host: RunHost, sample_repo: Repo, tmp_path: Path, key_file: Path
) -> None:
    second = ["--fallback-model", "groq/x", "--key-file", key_file]
    args = arguments(sample_repo, tmp_path / "out", *second, model="openai/x")
    run_host(*args).one_line(3, "no key for model 'groq/x'", "GROQ_API_KEY")


def test_second_model_goes_on_where_the_first_has_failed(
    run_host: RunHost, loopback_openai: Serve, sample_repo: Repo, tmp_path: Path
) -> None:
    """The first model fails permanently in the middle of a run, and is not called again."""
    server, out = loopback_openai(SCRIPT), tmp_path / "out"
    server.fail(*[Failure("status", 503)] * 20, at=4)
    second = ["--fallback-model", f"script:{SCRIPT}", "--retries", "2"]
    args = arguments(sample_repo, out, *second, model=server.model)
    env = server.environment | {"ACR_RETRY_BASE_MS": "1"}
    live = run_host(*args, env=env).check()
    assert len(server.requests) == 4 + 3
    assert len(journal(out)) == CALLS
    script = run_host(*arguments(sample_repo, tmp_path / "script")).check()
    assert live.stdout == script.stdout
    server.stop()
    assert run_host("replay", out).check().stdout == live.stdout


def test_given_address_goes_before_the_environments_and_not_to_another_provider(
    run_host: RunHost, loopback_openai: Serve, sample_repo: Repo, tmp_path: Path
) -> None:
    dead = "http://127.0.0.1:1/v1"
    env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": dead, "VLLM_BASE_URL": dead}
    server = loopback_openai(SCRIPT)
    there = ["--base-url", server.base_url]
    args = arguments(sample_repo, tmp_path / "a", *there, model=server.model)
    assert run_host(*args, env=env).check().stdout.startswith(b"diff --git")
    busy = loopback_openai(SCRIPT)
    busy.fail(Failure("status", 503))
    there = ["--base-url", busy.base_url, "--retries", 0, "--fallback-model", "vllm/x"]
    args = arguments(sample_repo, tmp_path / "b", *there, model=busy.model)
    result = run_host(*args, env=env).check(3)
    assert b"vllm/x" in result.stderr and b"127.0.0.1:1" in result.stderr
    assert len(busy.requests) == 1
