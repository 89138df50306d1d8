"""`ask`: its output as text and JSON, its exit codes, and what its options send. test_ask_faults.py tests faults."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import time
from pathlib import Path
from typing import Any, Callable

import pytest
from host import SLOWNESS, Host, Result
from loopback import KEY, MODEL, Failure, LoopbackOpenAI, rate_limited, too_long

RunHost = Callable[..., Result]
Serve = Callable[..., LoopbackOpenAI]

USAGE = {
    "prompt_tokens": 1000,
    "completion_tokens": 50,
    "prompt_tokens_details": {"cached_tokens": 400},
    "completion_tokens_details": {"reasoning_tokens": 20},
}
PRICES = {
    f"openai/{MODEL}": {
        "litellm_provider": "openai",
        "mode": "chat",
        "input_cost_per_token": 3e-06,
        "cache_read_input_token_cost": 3e-07,
        "output_cost_per_token": 1.5e-05,
        "max_output_tokens": 4096,
    }
}
COST_MICROUSD = 600 * 3 + 120 + 50 * 15  # the cost of USAGE at PRICES


def line(content: str, **more: Any) -> dict[str, Any]:
    """A line of the server's script."""
    return {"agent": "ask", "content": content, **more}


@pytest.fixture
def server(loopback_openai: Serve) -> LoopbackOpenAI:
    """A server with a few answers."""
    return loopback_openai([line("Häuser")] * 8)


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    """A file with the prices of the server's model."""
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(PRICES), encoding="utf-8")
    return path


class Ask:
    """ask(...) runs `ask` with a server's model; json() returns the object that --json prints."""

    def __init__(self, run: RunHost, server: LoopbackOpenAI) -> None:
        self.run, self.server = run, server

    def __call__(self, *args: object, **more: Any) -> Result:
        env = self.server.environment | {"ACR_RETRY_BASE_MS": "1"} | more.pop("env", {})
        return self.run("ask", "--model", self.server.model, *args, env=env, **more)

    def json(self, *args: object, exit: int = 0, **more: Any) -> dict[str, Any]:
        """The only object on stdout; stderr must be empty."""
        result = self("--json", *args, **more).check(exit)
        assert result.err == "", result.told()
        assert result.out.count("\n") == 1 and result.out.endswith("\n"), result.told()
        made = json.loads(result.out)
        assert isinstance(made, dict)
        return made


@pytest.fixture
def ask(run_host: RunHost, server: LoopbackOpenAI) -> Ask:
    """Asks that server."""
    return Ask(run_host, server)


def test_prints_the_answer_and_one_newline(run_host: RunHost, loopback_openai: Serve) -> None:
    contents = ["one", "two\n", "three\n\n", "ü 🌍"]
    ask = Ask(run_host, loopback_openai([line(text) for text in contents]))
    for text in contents:
        result = ask("hi").check()
        assert result.out == (text if text.endswith("\n") else text + "\n")
        assert result.err == ""


def test_no_question_is_no_call(run_host: RunHost) -> None:
    run_host("ask", "--model", "script:no-such-file", input=b" \n").one_line(2, "give a question")
    run_host("ask", "--model", "script:no-such-file", " ").one_line(2, "give a question")


def test_an_empty_answer_is_a_failure(run_host: RunHost, loopback_openai: Serve) -> None:
    result = Ask(run_host, loopback_openai([line("")]))("hi").check(1)
    assert result.out == ""
    assert "the answer is empty" in result.err


def test_sends_what_is_given(ask: Ask, server: LoopbackOpenAI) -> None:
    ask("--system", "Sei kurz.", "wörd", "--max-tokens", 7, "--temperature", 0.5).check()
    ask("--effort", "low", "--header", "X-Test: a b", input="from stdin\n").check()
    ask("--json-mode", "--", "--as json").check()
    first, second, third = server.requests
    assert first["messages"] == [{"role": "system", "content": "Sei kurz."}, {"role": "user", "content": "wörd"}]
    assert (first["max_tokens"], first["temperature"]) == (7, 0.5)
    assert first["stream"] is True
    assert second["messages"] == [{"role": "user", "content": "from stdin\n"}]
    assert second["reasoning_effort"] == "low"
    assert server.headers[1]["x-test"] == "a b"
    assert "temperature" not in second and "response_format" not in second
    assert third["response_format"] == {"type": "json_object"}
    assert third["messages"][-1]["content"] == "--as json"


def test_schema_is_sent(ask: Ask, server: LoopbackOpenAI, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(schema), encoding="utf-8")
    ask("--schema", path, "hi").check()
    form = server.requests[0]["response_format"]
    assert form["type"] == "json_schema" and form["json_schema"]["schema"] == schema
    for bad in ("[]", "{", ""):
        path.write_text(bad, encoding="utf-8")
        ask("--schema", path, "hi").one_line(2, str(path))
    assert len(server.requests) == 1


def test_success_object(run_host: RunHost, loopback_openai: Serve, prices: Path) -> None:
    server = loopback_openai([line("Häuser", usage=USAGE)])
    assert Ask(run_host, server).json("--prices", prices, "hi") == {
        "content": "Häuser",
        "model": MODEL,
        "finish": "stop",
        "usage": {"input": 1000, "output": 50, "cached": 400, "reasoning": 20},
        "cost_microusd": COST_MICROUSD,
        "attempts": 1,
        "request_id": "req-1",
    }


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": None, "completion_tokens": None},
        {"prompt_tokens": -1, "completion_tokens": -7},
        {"prompt_tokens": "12", "completion_tokens": 1e30},
    ],
)
def test_usage_that_is_not_said_is_null(run_host: RunHost, loopback_openai: Serve, prices: Path, usage: Any) -> None:
    server = loopback_openai([line("x", usage=usage)])
    answer = Ask(run_host, server).json("--prices", prices, "hi")
    assert answer["usage"] == dict.fromkeys(("input", "output", "cached", "reasoning"))
    assert answer["cost_microusd"] is None


def test_parts_of_usage_that_are_not_said_are_null(run_host: RunHost, loopback_openai: Serve, prices: Path) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    server = loopback_openai([line("x", usage=usage)])
    answer = Ask(run_host, server).json("--prices", prices, "hi")
    expected = {"input": 10, "output": 2, "cached": None, "reasoning": None}
    assert answer["usage"] == expected
    assert answer["cost_microusd"] == 60


def test_cost_of_an_unknown_model_is_null_unless_stated(run_host: RunHost, loopback_openai: Serve) -> None:
    stated = USAGE | {"cost": 0.0000125}
    server = loopback_openai([line("x", usage=USAGE), line("x", usage=stated)])
    ask = Ask(run_host, server)
    assert ask.json("hi")["cost_microusd"] is None
    assert ask.json("hi")["cost_microusd"] == 13  # rounded up


def refusal(status: int, code: str) -> Failure:
    """An error in OpenAI's format that repeats the key."""
    error = {"message": f"no: {KEY}", "type": code, "code": code, "param": None}
    return Failure("status", status, {}, {"error": error})


@pytest.mark.parametrize(
    ("failure", "kind", "status"),
    [
        (refusal(401, "invalid_api_key"), "auth", 401),
        (refusal(403, "permission_error"), "auth", 403),
        (refusal(429, "insufficient_quota"), "billing", 429),
        (refusal(429, "rate_limit_exceeded"), "rate_limit", 429),
        (refusal(503, "server_is_overloaded"), "overloaded", 503),
        (refusal(500, "server_error"), "server", 500),
        (refusal(404, "model_not_found"), "bad_request", 404),
        (refusal(400, "content_filter"), "content_filter", 400),
        (too_long(), "context_overflow", 400),
        (Failure("cut stream"), "truncated_stream", 200),
        (Failure("garbage"), "malformed", 200),
        (Failure("close"), "network", None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_failure_object(ask: Ask, server: LoopbackOpenAI, failure: Failure, kind: str, status: int | None) -> None:
    server.fail(failure, failure)
    code = 1 if kind in ("content_filter", "context_overflow") else 3
    made = ask.json("--retries", 0, "hi", exit=code)
    error = made.pop("error")
    assert made == {} and KEY not in error["message"]
    message = error.pop("message")
    assert message and "\n" not in message
    request_id = None if status is None else "req-1"
    expected = {"class": kind, "http_status": status, "request_id": request_id}
    assert error == expected | {"attempts": 1}
    plain = ask("--retries", 0, "hi")
    assert KEY not in plain.one_line(code, "ask: ", server.model)
    assert plain.out == ""


def test_attempts_are_the_requests_sent(ask: Ask, server: LoopbackOpenAI) -> None:
    busy = Failure("status", 503)
    server.fail(busy, rate_limited(), busy)
    assert ask.json("hi")["attempts"] == 4
    server.fail(*[busy] * 3)
    failed = ask.json("--retries", 2, "hi", exit=3)["error"]
    assert failed["attempts"] == 3 and "; tried 3 times; " in failed["message"]
    assert len(server.requests) == 7


def test_back_off_is_scaled_and_retry_after_is_not(ask: Ask, server: LoopbackOpenAI) -> None:
    server.fail(*[Failure("status", 503)] * 4)
    waits = re.findall(r"waiting (\d+\.\d) s", "\n".join(ask("--verbose", "hi").check().progress))
    assert len(waits) == 4 and max(map(float, waits)) < 1
    server.fail(rate_limited(1))
    result = ask("--verbose", "hi").check()
    assert result.seconds >= 1
    (waited,) = [line for line in result.progress if "call the model again" in line]
    assert "waiting 1." in waited and result.err == ""


@pytest.mark.parametrize("name", ["x", "-1", "1.5", "3600001", " 1"])
def test_nonsense_for_the_scale_is_refused(ask: Ask, server: LoopbackOpenAI, name: str) -> None:
    ask("hi", env={"ACR_RETRY_BASE_MS": name}).one_line(2, "ACR_RETRY_BASE_MS")
    assert server.requests == []


def test_timeout_bounds_each_attempt(ask: Ask, server: LoopbackOpenAI) -> None:
    server.fail(Failure("hang"), Failure("hang"))
    begun = time.monotonic()
    error = ask.json("--timeout", "0.4", "--retries", 1, "hi", exit=3)["error"]
    assert "allow more time with --timeout" in error["message"]
    assert time.monotonic() - begun >= 0.8
    assert (error["class"], error["attempts"]) == ("timeout", 2)
    assert error["http_status"] is None


def test_time_for_all_attempts_is_a_ceiling(ask: Ask, server: LoopbackOpenAI) -> None:
    server.fail(Failure("hang"))
    error = ask.json("--max-time", "0.5", "hi", exit=4)["error"]
    assert (error["class"], error["attempts"]) == ("ceiling", 1)


def test_ceiling_of_money_and_tokens(ask: Ask, server: LoopbackOpenAI, prices: Path) -> None:
    for option in (["--max-cost", "0.000001"], ["--max-cost", "1e-06"], ["--max-tokens-total", "3"]):
        made = ask.json("--prices", prices, *option, "hi", exit=4)["error"]
        assert (made["class"], made["attempts"]) == ("ceiling", 0)
        assert made["http_status"] is None and made["request_id"] is None
    assert server.requests == []
    answer = ask.json("--prices", prices, "--max-cost", "1", "hi")
    assert answer["cost_microusd"] > 0
    assert server.requests[0]["max_tokens"] == 4096, "the worst case has no bound"


def test_a_ledger_that_cannot_be_opened(ask: Ask, server: LoopbackOpenAI, tmp_path: Path) -> None:
    """This is an environment error, and nothing is sent."""
    for path in (tmp_path, tmp_path / "no" / "such"):
        error = ask.json("--ledger", path, "--max-cost", "1", "hi", exit=3)["error"]
        assert str(path) in error["message"] and error["attempts"] == 0
    assert server.requests == []


def test_an_answer_is_shrunk_to_what_is_left(ask: Ask, server: LoopbackOpenAI, prices: Path) -> None:
    ask.json("--prices", prices, "--max-cost", "0.01", "hi")
    assert 256 <= server.requests[0]["max_tokens"] <= 0.01 / 1.5e-05


def test_missing_key(run_host: RunHost) -> None:
    """The error is found before anything is sent."""
    env = {"OPENAI_API_KEY": None, "OPENAI_BASE_URL": None}
    args = ("ask", "--model", "openai/gpt-4.1", "hi")
    run_host(*args, env=env).one_line(3, "OPENAI_API_KEY")
    result = run_host(*args, "--json", env=env).check(3)
    error = json.loads(result.out)["error"]
    assert "OPENAI_API_KEY" in error.pop("message") and result.err == ""
    nothing = {"http_status": None, "request_id": None, "attempts": 0}
    assert error == {"class": "auth"} | nothing


def test_nothing_listens(run_host: RunHost) -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{sock.getsockname()[1]}/v1"
        for base in (url, "http://no-such-host.invalid/v1"):
            args = ("ask", "--model", "openai/m", "--base-url", base, "--retries", 0)
            env = {"OPENAI_API_KEY": KEY}
            run_host(*args, "hi", env=env).one_line(3, "openai/m")
            result = run_host(*args, "--json", "hi", env=env).check(3)
            error = json.loads(result.out)["error"]
            assert (error["class"], error["attempts"]) == ("network", 1)


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (["--timeout", "0"], "--timeout"),
        (["--timeout", "nan"], "--timeout"),
        (["--timeout", "1s"], "--timeout"),
        (["--timeout", "-1"], "--timeout"),
        (["--max-time", "x"], "--max-time"),
        (["--max-cost", "1e"], "--max-cost"),
        (["--max-cost", "e3"], "--max-cost"),
        (["--max-cost", "nan"], "--max-cost"),
        (["--max-cost", "1e300"], "--max-cost"),
        (["--timeout", "0x10"], "--timeout"),
        (["--max-cost", "-1"], "--max-cost"),
        (["--max-cost", "99999999999"], "--max-cost"),
        (["--max-tokens", "0"], "--max-tokens"),
        (["--max-tokens", "4294967296"], "--max-tokens"),
        (["--max-tokens-total", "many"], "--max-tokens-total"),
        (["--temperature", "nan"], "--temperature"),
        (["--temperature", "0x1p0"], "--temperature"),
        (["--temperature", " 1"], "--temperature"),
        (["--temperature", "+1"], "--temperature"),
        (["--model", "openai/another"], "give one --model"),
        (["--retries", "21"], "--retries"),
        (["--header", "no colon"], "--header"),
        (["--header", "a b: c"], "--header"),
        (["--header", "X: a\nY: b"], "--header"),
        (["--base-url", "ftp://x"], "base URL"),
        (["--prices", "/nowhere.json"], "/nowhere.json"),
        (["--no-such-option"], "--no-such-option"),
        (["one", "too many"], "too many"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_usage_is_told_in_a_line_and_an_object(ask: Ask, server: LoopbackOpenAI, args: list[str], word: str) -> None:
    result = ask("--json", *args, *([] if word == "too many" else ["hi"]))
    result.one_line(2, word)
    assert result.rows()[0]["error"]["class"] == "usage" and server.requests == []


def test_models_that_are_none(run_host: RunHost) -> None:
    run_host("ask", "hi").one_line(2, "--model is missing")
    for name in ("nobody/m", "m", "/m", "openai/", ""):
        result = run_host("ask", "--json", "--model", name, "hi")
        result.one_line(2)
        assert result.rows()[0]["error"]["class"] == "usage"


def test_interrupted(host: Host, server: LoopbackOpenAI) -> None:
    server.fail(Failure("hang"))
    child = host.start("ask", "--model", server.model, "hi", env=server.environment)
    server.wait_for(1)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60 * SLOWNESS)
    assert (child.returncode, out) == (130, b"")
    assert len(err.splitlines()) == 1


def test_stdout_that_is_full(ask: Ask) -> None:
    with open("/dev/full", "wb") as full:
        ask("hi", stdout=full).one_line(3, "standard output")


def test_input_that_is_no_text(ask: Ask, server: LoopbackOpenAI) -> None:
    ask(input=b"a\0b").one_line(2, "NUL")
    ask(input=b"caf\xe9").check()
    assert server.requests[0]["messages"][0]["content"] == "caf\ufffd"


def test_input_that_cannot_be_read(ask: Ask, tmp_path: Path) -> None:
    """Input such as a folder is reported like any other failure."""
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        ask(stdin=folder).one_line(3, "standard input")
        error = ask.json(stdin=folder, exit=3)["error"]
    finally:
        os.close(folder)
    assert (error["class"], error["attempts"]) == ("bad_request", 0)
    assert "standard input" in error["message"]
