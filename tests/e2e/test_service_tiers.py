"""--service-tier: which tier is requested, reserved and charged if the server uses this tier, another one, or none; early errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

import pytest
from host import Result
from loopback import MODEL, Failure, LoopbackOpenAI
from repos import Repo
from runs import CALLS, arguments, read_json, script_lines

RunHost = Callable[..., Result]
Serve = Callable[..., LoopbackOpenAI]

USAGE = {"prompt_tokens": 100, "completion_tokens": 10}
PRICES = {
    "input_cost_per_token": 2e-06,
    "output_cost_per_token": 1e-05,
    "input_cost_per_token_flex": 1e-06,
    "output_cost_per_token_flex": 5e-06,
    "input_cost_per_token_priority": 4e-06,
    "output_cost_per_token_priority": 2e-05,
    "max_output_tokens": 20,
}
STANDARD, FLEX, PRIORITY = 300, 150, 600  # cost of USAGE at PRICES in micro-USD
OF_RUN = {"prompt_tokens": 20000, "completion_tokens": 100}  # usage of each call of a run
RUN_STANDARD = 41000
QUESTION = "Which day is it? " * 20


def refusal(status: int, code: str | None, message: str) -> Failure:
    """An error in OpenAI's format that refuses the tier."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return Failure("status", status, {}, {"error": error})


UNAVAILABLE = refusal(429, "resource_unavailable", "Resource Unavailable")
UNSUPPORTED = refusal(400, None, "service_tier 'flex' is not supported for this model")


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    """A file with the prices of three tiers of the server's model."""
    path = tmp_path / "prices.json"
    path.write_text(json.dumps({f"openai/{MODEL}": PRICES}), encoding="utf-8")
    return path


def amounts(ledger: Path, step: str) -> list[int]:
    """The amounts of a ledger's reservations or settlements in micro-USD."""
    lines = [json.loads(line) for line in ledger.read_text("utf-8").splitlines()]
    return [line["pico"] // 10**6 for line in lines if step in line]


# What is asked, what the answer names; the cost that is told, and what the ceiling counts. A server
# that is not the provider's own is not believed that it served a cheaper tier than was asked for;
# and whatever it names, no more is counted than was reserved.
@pytest.mark.parametrize(
    ("asked", "named", "cost", "charged"),
    [
        (None, None, STANDARD, STANDARD),
        (None, "default", STANDARD, STANDARD),
        ("standard", "default", STANDARD, STANDARD),
        ("flex", "flex", FLEX, FLEX),
        ("flex", "default", STANDARD, STANDARD),
        ("flex", None, STANDARD, STANDARD),
        ("flex", "no such tier", STANDARD, STANDARD),
        ("flex", "priority", PRIORITY, PRIORITY),
        ("priority", "priority", PRIORITY, PRIORITY),
        ("priority", "default", STANDARD, PRIORITY),
        ("priority", "flex", FLEX, PRIORITY),
        ("priority", None, PRIORITY, PRIORITY),
    ],
)
def test_cost_is_of_the_tier_that_served(
    run_host: RunHost,
    loopback_openai: Serve,
    prices: Path,
    tmp_path: Path,
    asked: str | None,
    named: str | None,
    cost: int,
    charged: int,
) -> None:
    line = {"agent": "ask", "content": "Monday", "usage": USAGE} | ({"tier": named} if named else {})
    server, ledger = loopback_openai([line]), tmp_path / "ledger"
    tier = ["--service-tier", asked] if asked else []
    args = ["ask", "--json", "--model", server.model, "--prices", prices, *tier]
    args += ["--ledger", ledger, "--max-cost", 0.01, QUESTION]
    told = json.loads(run_host(*args, env=server.environment).check().out)
    words = {None: None, "standard": "default"}
    assert server.requests[0].get("service_tier") == words.get(asked, asked)
    assert told["cost_microusd"] == cost
    (reserved,), (settled,) = amounts(ledger, "reserve"), amounts(ledger, "settle")
    sent = len(json.dumps(server.requests[0], separators=(",", ":")))
    most = (sent * 2 + 20 * 10) * (2 if asked == "priority" else 1)
    assert reserved == most
    assert settled == min(charged, max(reserved, STANDARD))


def test_answer_that_is_not_streamed_names_its_tier(run_host: RunHost, loopback_openai: Serve, prices: Path) -> None:
    """The tier is read after the last byte of a whole answer, and earlier in a stream."""
    server = loopback_openai([{"agent": "ask", "content": "Monday", "usage": USAGE, "tier": "flex"}])
    server.fail(refusal(400, "unsupported_value", "Unsupported value: 'stream' does not support true"))
    args = ["ask", "--json", "--model", server.model, "--prices", prices, "--service-tier", "flex"]
    told = json.loads(run_host(*args, QUESTION, env=server.environment).check().out)
    assert [request["service_tier"] for request in server.requests] == ["flex", "flex"]
    assert "stream" not in server.requests[1] and told["cost_microusd"] == FLEX


@pytest.mark.parametrize(("failure", "asked_again"), [(UNAVAILABLE, True), (UNSUPPORTED, False)])
def test_refused_flex_goes_on_at_standard_and_says_so_once(
    run_host: RunHost,
    loopback_openai: Serve,
    sample_repo: Repo,
    prices: Path,
    tmp_path: Path,
    failure: Failure,
    asked_again: bool,
) -> None:
    """A lack of resources is temporary; a model without that tier gets no further request for it."""
    lines = [line | {"tier": "flex", "usage": OF_RUN} for line in script_lines()]
    lines[1]["tier"] = lines[2]["tier"] = "default"
    if not asked_again:
        lines = lines[:1] + [line | {"tier": "default"} for line in lines[1:]]
    server, out = loopback_openai(lines), tmp_path / "out"
    server.fail(failure, at=1)
    if asked_again:
        server.fail(failure, at=2)
    args = arguments(sample_repo, out, "--service-tier", "flex", "--prices", prices, model=server.model)
    result = run_host(*args, env=server.environment).check()
    asked = [request["service_tier"] for request in server.requests]
    flex = CALLS - 2 if asked_again else 1
    assert asked[:3] == ["flex", "flex", "default"]
    assert asked.count("default") == CALLS - flex
    assert result.err.count("the flex tier is refused") == 1
    cost = read_json(out / "cost.json")["total"]
    assert cost["cost_microusd"] == flex * RUN_STANDARD // 2 + (CALLS - flex) * RUN_STANDARD
    assert (cost["flex_calls"], cost["standard_microusd"]) == (flex, CALLS * RUN_STANDARD)
    assert f"{flex} at the flex tier ({CALLS * RUN_STANDARD / 1e6:.6f} USD at the standard tier)" in result.err
    run_host(*arguments(sample_repo, out, model=server.model)).one_line(2, "--service-tier flex")
    assert run_host("replay", out).check().stdout == result.stdout


@pytest.mark.parametrize(("tier", "then"), [("flex", "default"), ("priority", "priority")])
@pytest.mark.parametrize("kind", ["hang", "stall"])
def test_flex_answer_that_does_not_come_in_time_is_asked_for_at_standard(
    run_host: RunHost, loopback_openai: Serve, prices: Path, tmp_path: Path, kind: str, tier: str, then: str
) -> None:
    """Another try at flex might time out, too; the lost try is charged with its reservation."""
    server = loopback_openai([{"agent": "ask", "content": "Monday", "usage": USAGE, "tier": then}])
    server.fail(Failure(kind))
    ledger = tmp_path / "ledger"
    args = ["ask", "--json", "--model", server.model, "--prices", prices, "--service-tier", tier, "--timeout", 2]
    result = run_host(*args, "--ledger", ledger, "--max-cost", 0.1, QUESTION, env=server.environment).check()
    assert [request["service_tier"] for request in server.requests] == [tier, then]
    assert ("the flex tier is too slow" in result.err) == (tier == "flex")
    assert amounts(ledger, "settle")[0] == amounts(ledger, "reserve")[0]


@pytest.mark.parametrize(
    ("model", "tier", "words"),
    [
        ("anthropic/claude-sonnet-4-5", "flex", "has only: standard"),
        ("groq/llama-3.3-70b-versatile", "flex", "has no service tiers"),
        ("openai/gpt-4.1", "flex", "known: standard, priority"),
        ("azure/my-deployment", "priority", "known: standard"),
        ("script:none", "flex", "a script supports neither --service-tier"),
        ("openai/gpt-5.4", "cheap", "standard, flex"),
    ],
)
def test_tier_that_cannot_be_had_is_refused_before_anything_is_sent(
    run_host: RunHost, sample_repo: Repo, tmp_path: Path, model: str, tier: str, words: str
) -> None:
    keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GROQ_API_KEY", "AZURE_OPENAI_API_KEY")
    env: dict[str, Any] = dict.fromkeys(keys, "sk-none-0123456789") | {"AZURE_OPENAI_ENDPOINT": "http://127.0.0.1:1"}
    args = arguments(sample_repo, tmp_path / "out", "--service-tier", tier, model=model)
    run_host(*args, env=env).one_line(2, "--service-tier", words)
    assert not (tmp_path / "out").exists()
