"""A real model on llama.cpp's server answers `ask` in three dialects: streams, JSON, a schema, a prompt that exceeds the context."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
from host import ROOT, Host, Result

sys.path.append(str(ROOT / "tests" / "servers"))

from real_model import MODEL_NAME, WINDOW_TOKENS, RealModel, Unavailable  # noqa: E402

KEY = "sk-real-0123456789"
# Dialect -> (model, variable for the base URL, whether the URL includes /v1, variable for the key).
DIALECTS = {
    "chat": (f"openai/{MODEL_NAME}", "OPENAI_BASE_URL", "/v1", "OPENAI_API_KEY"),
    "responses": (f"openai-responses/{MODEL_NAME}", "OPENAI_BASE_URL", "/v1", "OPENAI_API_KEY"),
    "messages": (f"anthropic/{MODEL_NAME}", "ANTHROPIC_BASE_URL", "", "ANTHROPIC_API_KEY"),
}
SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "green"]}},
    "required": ["colour"],
    "additionalProperties": False,
}
Ask = Callable[..., dict[str, Any]]


def started(**options: Any) -> RealModel:
    """A running server; skips the test if the packages cannot be installed."""
    try:
        return RealModel(**options).start()
    except Unavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def server() -> Iterator[RealModel]:
    """One server with a key for all tests of this file."""
    running = started(key=KEY)
    yield running
    running.stop()


@pytest.fixture
def ask(host: Host, server: RealModel) -> Ask:
    """ask(dialect, *args, exit=None, key=KEY) -> the object that `ask --json` prints. A truncated answer exits with 1."""

    def call(dialect: str, *args: object, exit: int | None = None, key: str = KEY) -> dict[str, Any]:
        model, base, tail, variable = DIALECTS[dialect]
        env = {base: server.address + tail, variable: key, "ACR_RETRY_BASE_MS": "1"}
        result: Result = host.run("ask", "--json", "--model", model, *args, env=env)
        assert key.encode() not in result.stdout + result.stderr
        (row,) = result.rows()
        result.check(exit if exit is not None else int(row.get("finish") == "length"))
        return row

    return call


@pytest.mark.parametrize("dialect", DIALECTS)
def test_answers_and_says_what_it_used(ask: Ask, dialect: str) -> None:
    row = ask(dialect, "--max-tokens", "12", "--system", "You are brief.", "Say hello to me.")
    assert row["content"].strip()
    assert row["attempts"] == 1 and row["cost_microusd"] is None
    assert 10 < row["usage"]["input"] < 60
    assert 1 <= row["usage"]["output"] <= 12
    assert row["model"] == MODEL_NAME


@pytest.mark.parametrize("dialect", ["chat", "messages"])
def test_cut_answer_says_so(ask: Ask, dialect: str) -> None:
    row = ask(dialect, "--max-tokens", "4", "Tell me a long story about a river.")
    assert row["finish"] == "length" and row["usage"]["output"] == 4


@pytest.mark.parametrize("dialect", DIALECTS)
def test_too_long_is_a_context_overflow(ask: Ask, dialect: str) -> None:
    """In any dialect, the server's error has OpenAI's shape, with a number as its code."""
    row = ask(dialect, "--max-tokens", "4", "word " * (WINDOW_TOKENS + 500), exit=1)
    assert row["error"]["class"] == "context_overflow"
    assert row["error"]["http_status"] == 400 and row["error"]["attempts"] == 1
    assert str(WINDOW_TOKENS) in row["error"]["message"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_wrong_key_is_auth(ask: Ask, dialect: str) -> None:
    row = ask(dialect, "hello", exit=3, key="sk-wrong-0123456789")
    assert row["error"]["class"] == "auth" and row["error"]["http_status"] == 401


def test_json_mode_gives_the_beginning_of_an_object(ask: Ask) -> None:
    row = ask("chat", "--json-mode", "--max-tokens", "40", "Name a colour, as JSON.")
    assert row["content"].lstrip().startswith("{")
    if row["finish"] == "stop":
        assert isinstance(json.loads(row["content"]), dict)


def test_schema_is_kept(ask: Ask, tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SCHEMA), encoding="utf-8")
    row = ask("chat", "--schema", path, "--max-tokens", "60", "The colour of grass?")
    assert row["finish"] == "stop"
    assert json.loads(row["content"])["colour"] in ("red", "green")
