"""`run` with a model server on loopback: the diff is the same as with a script, even if the server fails occasionally."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any, Callable

import pytest
from host import Host, Result, without_progress
from loopback import KEY, Failure, LoopbackOpenAI, rate_limited, too_long
from repos import Repo
from runs import (
    ANALYSE_2,
    CALLS,
    CHANGED,
    SCRIPT,
    SELECT_3,
    arguments,
    check_patch,
    check_summary,
    contents,
    journal,
    read_json,
    script_lines,
)

RunHost = Callable[..., Result]
Serve = Callable[..., LoopbackOpenAI]

UNAUTHORIZED = Failure(
    "status",
    401,
    {},
    {
        "error": {
            "message": f"Incorrect API key provided: {KEY}.",
            "type": "invalid_request_error",
            "code": "invalid_api_key",
        }
    },
)


@pytest.fixture
def server(loopback_openai: Serve) -> LoopbackOpenAI:
    """A server that answers with the sample's script."""
    return loopback_openai(SCRIPT)


def live(server: LoopbackOpenAI, repo: object, out: Path, *more: object) -> list[object]:
    """The arguments of a run of the sample with that server's model."""
    return arguments(repo, out, *more, model=server.model)


def scripted(run_host: RunHost, repo: Repo, out: Path) -> bytes:
    """The diff of the run with the script."""
    return run_host(*arguments(repo, out)).check().stdout


def check_no_key(host: Host, out: Path, *results: Result) -> None:
    """Neither the run folder, the home nor the output contains the key."""
    secret = KEY.encode()
    for folder in (out, host.home):
        files = contents(folder).items()
        assert [name for name, data in files if secret in data] == []
    assert [r.told() for r in results if secret in r.stdout + r.stderr] == []


def test_same_diff_as_the_script(host: Host, server: LoopbackOpenAI, sample_repo: Repo, tmp_path: Path) -> None:
    checkout = sample_repo.clone(tmp_path / "checkout")
    result = host.run(*live(server, sample_repo, tmp_path / "live", "--verbose"), env=server.environment).check()
    assert result.stdout == scripted(host.run, sample_repo, tmp_path / "scripted")
    check_patch(result.stdout, checkout)
    assert len(server.requests) == server.position == CALLS
    check_no_key(host, tmp_path / "live", result)
    cost = read_json(tmp_path / "live" / "cost.json")
    assert cost["total"]["calls"] == CALLS
    assert cost["total"]["input_tokens"] > 1000 < cost["total"]["output_tokens"]
    server.stop()
    again = host.run("replay", tmp_path / "live").check()
    assert again.stdout == result.stdout


def test_a_wait_of_seconds_is_a_line(host: Host, server: LoopbackOpenAI, sample_repo: Repo, tmp_path: Path) -> None:
    """Without a terminal and --verbose, too; a brief wait is none."""
    server.fail(Failure("status", 503), rate_limited(3))
    result = host.run(*live(server, sample_repo, tmp_path / "out"), env=server.environment).check()
    (told,) = [entry for entry in result.progress if "to call the model again" in entry]
    assert re.search(r"waiting 3\.\d s to call the model again: rate_limit.*429", told)


def test_requests_are_the_journal_s(
    run_host: RunHost, server: LoopbackOpenAI, sample_repo: Repo, tmp_path: Path
) -> None:
    """The requests that were sent equal the journal's requests, message by message."""
    args = live(server, sample_repo, tmp_path / "out", "--temperature", "0.25")
    run_host(*args, env=server.environment).check()
    talks: dict[str, list[dict[str, str]]] = {}
    for sent, record in zip(server.requests, journal(tmp_path / "out"), strict=True):
        request = record["request"]
        name = request["conversation"]
        talk = talks.get(name, [])[: request["from"]] + request["messages"]
        talks[name] = talk
        assert sent["messages"] == talk
        assert sent["temperature"] == 0.25
        assert (sent.get("response_format") is not None) == request["json"]
        talk.append({"role": "assistant", "content": record["answer"]["content"]})


def test_refused_key(host: Host, server: LoopbackOpenAI, sample_repo: Repo, tmp_path: Path) -> None:
    """The call is not retried; the folder resumes once the key is right."""
    server.fail(UNAUTHORIZED, at=SELECT_3)
    run = live(server, sample_repo, tmp_path / "out")
    result = host.run(*run, env=server.environment)
    result.cost_and_line(3, server.model, "Incorrect API key")
    assert result.stdout == b""
    assert len(server.requests) == SELECT_3 + 1
    check_no_key(host, tmp_path / "out", result)
    second = host.run(*run, env=server.environment).check()
    assert second.stdout == scripted(host.run, sample_repo, tmp_path / "scripted")
    assert len(server.requests) == CALLS + 1


def test_overflow_shortens_the_oldest_results(
    run_host: RunHost, server: LoopbackOpenAI, sample_repo: Repo, tmp_path: Path
) -> None:
    server.fail(too_long(), at=ANALYSE_2)
    run = live(server, sample_repo, tmp_path / "out", "--verbose")
    result = run_host(*run, env=server.environment).check()
    assert result.stdout == scripted(run_host, sample_repo, tmp_path / "scripted")
    assert "the context overflowed, older results are shortened" in result.err
    full, short = server.requests[ANALYSE_2], server.requests[ANALYSE_2 + 1]
    (at,) = [n for n, m in enumerate(short["messages"]) if m != full["messages"][n]]
    was, now = full["messages"][at]["content"], short["messages"][at]["content"]
    assert "def invoice(" in was and "def invoice(" not in now
    assert ('search_method_in_class("invoice", "BillingRun"): brookbill/billing/run.py BillingRun.invoice lines') in now
    assert 'search_class("SeasonTariff"): nothing found' in now
    path = tmp_path / "out/attempt_0/search/search_round_2.json"
    kept = [message["content"] for message in read_json(path)]
    assert now in kept and was not in kept
    assert any("def split_at(" in text for text in kept), "too much was shortened"
    server.stop()
    again = run_host("replay", tmp_path / "out").check()
    assert again.stdout == result.stdout


def asked_bytes(request: dict[str, Any]) -> int:
    """The total length of a request's messages."""
    return sum(len(m["content"].encode()) for m in request["messages"])


def test_overflow_with_nothing_left_to_shorten(
    run_host: RunHost, loopback_openai: Serve, sample_repo: Repo, tmp_path: Path
) -> None:
    """Each rejection makes the request smaller. Then the retrieval ends, and the patch is requested nevertheless."""
    lines = [line | {"expect": []} for line in script_lines()]
    stubborn = loopback_openai(lines[:ANALYSE_2] + lines[-1:])
    stubborn.fail(*[too_long()] * 200, at=ANALYSE_2)
    run = live(stubborn, sample_repo, tmp_path / "refused", "--verbose")
    result = run_host(*run, env=stubborn.environment).check(1)
    told = result.err.splitlines()
    end = [n for n, line in enumerate(told) if "retrieval is exhausted after round 2" in line][0]
    refused = sum("the context overflowed" in line for line in told[:end])
    assert "nothing is left to shorten" in told[end - 1]
    assert any("no patch in this try" in line for line in told[end:])
    sizes = [asked_bytes(request) for request in stubborn.requests[ANALYSE_2:]][:refused]
    assert sizes == sorted(set(sizes), reverse=True) and sizes[-1] < sizes[0] / 2
    # A server that accepts the shortest form: the patch is written from that conversation.
    server = loopback_openai(lines[:ANALYSE_2] + lines[-1:])
    server.fail(*[too_long()] * refused, at=ANALYSE_2)
    run = live(server, sample_repo, tmp_path / "out", "--verbose")
    result = run_host(*run, env=server.environment).check()
    assert result.stdout == scripted(run_host, sample_repo, tmp_path / "scripted")
    assert len(server.requests) == ANALYSE_2 + refused + 1
    search = tmp_path / "out" / "attempt_0" / "search"
    assert not (search / "bug_locations_after_process.json").exists()
    asked = server.requests[-1]["messages"]
    assert any("Two-month bill" in message["content"] for message in asked)
    server.stop()
    again = run_host("replay", tmp_path / "out").check()
    assert again.stdout == result.stdout


def test_why_no_patch_was_written_is_told_without_verbose(
    run_host: RunHost, loopback_openai: Serve, sample_repo: Repo, tmp_path: Path
) -> None:
    server = loopback_openai([script_lines()[0] | {"expect": []}])
    server.fail(*[too_long(limit=8)] * 20)
    run = live(server, sample_repo, tmp_path / "out")
    result = run_host(*run, env=server.environment).check(1)
    assert "maximum context length is 8" in result.err, result.told()


def test_window_is_learnt_from_the_first_refusal(
    run_host: RunHost, loopback_openai: Serve, sample_repo: Repo, tmp_path: Path
) -> None:
    """Requests that are known to be too long are not sent; the journal records a rejection."""
    server = loopback_openai([line | {"expect": []} for line in script_lines()])
    server.fail(too_long(limit=3000), at=ANALYSE_2)
    run = live(server, sample_repo, tmp_path / "out", "--verbose")
    result = run_host(*run, env=server.environment).check()
    failures = [r["answer"]["error"] for r in journal(tmp_path / "out") if "error" in r["answer"]]
    assert failures[0]["window"] == 3000 and "sent" not in failures[0]
    assert len(failures) > 1 and all(f["sent"] is False for f in failures[1:])
    assert all(f["class"] == "context_overflow" for f in failures)
    assert max(asked_bytes(request) for request in server.requests[ANALYSE_2 + 1 :]) < 3000 * 3
    server.stop()
    assert run_host("replay", tmp_path / "out").check().stdout == result.stdout


def test_given_window_is_kept_in_advance(
    run_host: RunHost, loopback_openai: Serve, sample_repo: Repo, tmp_path: Path
) -> None:
    server = loopback_openai([line | {"expect": []} for line in script_lines()])
    run = live(server, sample_repo, tmp_path / "out", "--verbose", "--context", "4096")
    result = run_host(*run, env=server.environment).check()
    assert "the context overflowed, " in result.err
    assert max(asked_bytes(request) for request in server.requests) < 4096 * 3
    server.stop()
    assert run_host("replay", tmp_path / "out").check().stdout == result.stdout
    other = live(server, sample_repo, tmp_path / "out", "--context", "8192")
    run_host(*other, env=server.environment).one_line(2, "started with --context 4096; ")


@pytest.mark.parametrize("tokens", ["-1", "0", "100", "many"])
def test_bad_context(run_host: RunHost, sample_repo: Repo, tmp_path: Path, tokens: str) -> None:
    result = run_host(*arguments(sample_repo, tmp_path / "out", "--context", tokens)).check(2)
    assert "context" in result.err


def test_stopped_server_and_the_run_goes_on(
    host: Host, server: LoopbackOpenAI, sample_repo: Repo, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    server.fail(Failure("hang"), at=SELECT_3)
    run = live(server, sample_repo, out)
    child = host.start(*run, "--retries", 0, env=server.environment)
    server.wait_for(SELECT_3 + 1)
    server.stop()
    stdout, stderr = child.communicate(timeout=60)
    assert (child.returncode, stdout) == (3, b"")
    cost, line = without_progress(stderr)[0].splitlines()
    assert b" calls, " in cost and server.model.encode() in line
    assert len(journal(out)) == SELECT_3
    assert read_json(out / "meta.json")["state"] == "ready"
    refused = host.run(*run, "--retries", 1, env=server.environment)
    refused.cost_and_line(3, server.model, str(server.port))
    assert len(journal(out)) == SELECT_3
    server.start()
    result = host.run(*run, env=server.environment).check()
    check_summary(result.err)
    assert result.stdout == scripted(host.run, sample_repo, tmp_path / "scripted")
    assert len(server.requests) == CALLS + 1, "an answered call was made again"
    assert server.position == CALLS
    check_no_key(host, out, result, refused)


def test_waits_for_a_server_that_comes_back(
    host: Host, server: LoopbackOpenAI, sample_repo: Repo, tmp_path: Path
) -> None:
    """The run waits while the server stops and starts again."""
    server.fail(Failure("hang"), at=SELECT_3)
    run = live(server, sample_repo, tmp_path / "out")
    child = host.start(*run, "--retries", 20, env=server.environment)
    server.wait_for(SELECT_3 + 1)
    server.stop()
    time.sleep(0.5)
    assert child.poll() is None
    server.start()
    stdout, stderr = child.communicate(timeout=120)
    assert child.returncode == 0
    check_summary(without_progress(stderr)[0].decode(), retries="[1-9]")
    assert stdout == scripted(host.run, sample_repo, tmp_path / "scripted")
    assert CHANGED.encode() in stdout


def test_bad_retries(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    for number in (-1, 21):
        run = arguments(sample_repo, tmp_path / "out", f"--retries={number}")
        run_host(*run).one_line(2, f"--retries must be from 0 to 20, not '{number}'")
