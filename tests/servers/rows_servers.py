"""Rows: what servers do that their documentation does not say, and what their users report."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from .dialect import Answer
from .play import Play
from .table import ALIKE, ALL, CHAT, FEW, OFTEN, SSE, Scenario, bad, ok

# The words with which servers refuse a prompt that is too long, and the status, each in the server's own format.
OVERFLOWS = {
    "lm-studio": "Trying to keep the first 6000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
    "lm-studio-keep": "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 6000>= n_ctx: 4096).",
    "sglang": "The input (6000 tokens) is longer than the model's context length (4096 tokens).",
    "sglang-total": "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 6000 tokens.",
    "llama.cpp": "the request exceeds the available context size. try increasing the context size or enable context shift",
    "llama-cpp-python": "Requested tokens (6000) exceed context window of 4096",
    "tgi": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 6000 `inputs` tokens and 20 `max_new_tokens`",
    "tgi-input": "Input validation error: `inputs` must have less than 4096 tokens. Given: 6000",
    "ollama": "the input length exceeds the context length",
    "dashscope": "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]",
    "zhipu": "Prompt 超长",
    "minimax": "invalid params, context window exceeds limit",
    "vllm": "The decoder prompt (length 6000) is longer than the maximum model length of 4096.",
    "moonshot": "Invalid request: Your request exceeded model token limit: 8192",
    "mistral": "Prompt contains 50000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "cohere": "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 6000.",
    "nim": "prompt length (6000) exceeds maximum input length (4096)",
    "watsonx": "the number of input tokens 6000 cannot exceed the total tokens limit 4096 for this model",
    "github": "Request body too large for gpt-4o model. Max size: 8000 tokens.",
    "copilot": "prompt token count of 140000 exceeds the limit of 128000",
    "xai": "This model's maximum prompt length is 131072 but the request contains 200000 tokens.",
}
BROKEN = (
    "abort",
    "error",
    "network_error",
    "insufficient_system_resource",
    "cancelled",
    "timeout",
    "OTHER",
    "unheard-of",
)


def refusal(status: int, body: Any, **more: Any) -> Play:
    """A refusal in an unusual format."""
    data = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
    return Play(status=status, body=data, whole=True, **more)


def _overflows() -> list[Scenario]:
    """A prompt that is too long, in the words of each server, as an error object and flat."""
    rows = []
    for name, words in OVERFLOWS.items():
        for shape, body in (("nested", {"error": {"message": words, "type": "x"}}), ("flat", {"message": words})):
            rows.append(bad(f"overflow-{name}-{shape}", CHAT[:1], "context_overflow", refusal(400, body)))
        rows.append(bad(f"overflow-{name}-500", ("vllm",), "context_overflow", refusal(500, {"error": words})))
    rows.append(bad("window-full", ALL, "context_overflow", Play(Answer(finish="context"))))
    return [*rows, bad("window-full-whole", ALL, "context_overflow", Play(Answer(finish="context"), whole=True))]


def _ends() -> list[Scenario]:
    """Answers that the server ends early, as it says itself."""
    rows = []
    for word in BROKEN:
        for whole in (False, True):
            play = Play(Answer(finish=f"={word}"), whole=whole)
            name = f"broken-{word}" + ("-whole" if whole else "")
            rows.append(bad(name, ALL, "truncated_stream", play, requests=FEW))
            rows.append(ok(f"{name}-then-ok", CHAT, play, Play(), requests=(2, 2)))
    for word in ("eos_token", "COMPLETE", "STOP_SEQUENCE", "stopStringFound"):
        rows.append(ok(f"ends-with-{word}", ALL, Play(Answer(finish=f"={word}"))))
    return [*rows, ok("ends-with-nothing", CHAT, Play(Answer(finish="=")))]


def _thoughts() -> list[Scenario]:
    """Thoughts in the text, or beside it without a text."""
    rows = []
    for whole in (False, True):
        end = "-whole" if whole else ""
        for name, first, last in (
            ("think", "<think>\nperhaps", "\n</think>\n\n"),
            ("unopened", "perhaps\n", "</think>\n\n"),
            ("harmony", "<|channel|>analysis<|message|>hm<|end|><|start|>assistant", "<|channel|>final<|message|>"),
        ):
            answer = Answer(pieces=(first, last, "so", " it is"))
            rows.append(ok(f"thoughts-{name}{end}", ALL, Play(answer, whole=whole), content="so it is"))
        alone = Answer(pieces=("<think>what now",))
        rows.append(bad(f"thoughts-alone{end}", ALL, "malformed", Play(alone, whole=whole)))
        beside = Answer(pieces=(), reasoning="what now")
        rows.append(bad(f"thoughts-beside{end}", ALL, "malformed", Play(beside, whole=whole)))
    return rows


def _signs() -> list[Scenario]:
    """Keep-alive messages written as events, and codes that mean success."""
    lead = b"".join(b"data: " + word + b"\n\n" for word in (b"keep-alive", b": ping", b"[PING]", b"null", b"0", b"{}"))
    rows = [ok("alive", (*CHAT, "anthropic", "openai_responses"), Play(lead=lead))]
    for number, code in enumerate((0, 200, "0", "success")):
        said = {
            "code": code,
            "message": "ok",
            "msg": "",
            "error": None,
            "base_resp": {"status_code": 0, "status_msg": ""},
        }
        for whole in (False, True):
            name = f"code-{number}" + ("-whole" if whole else "")
            rows.append(ok(name, CHAT, Play(Answer(beside=said), whole=whole)))
    base = {"choices": None, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}
    return [*rows, bad("base-resp", CHAT[:1], "billing", refusal(200, base))]


def _quotas() -> list[Scenario]:
    """Daily quotas, which no short wait ends, and quotas per minute."""
    daily = {
        "openrouter": {"error": {"message": "Rate limit exceeded: free-models-per-day", "code": 429}},
        "gemini": {
            "error": {
                "code": 429,
                "message": "You exceeded your current quota.",
                "status": "RESOURCE_EXHAUSTED",
                "details": [
                    {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},
                    {"retryDelay": "34s"},
                ],
            }
        },
        "words": {"error": {"message": "daily limit reached", "type": "rate_limit_error"}},
    }
    rows = [bad(f"daily-{name}", SSE, "billing", refusal(429, body)) for name, body in daily.items()]
    soon = {
        "error": {"message": "tokens per day (TPD): Limit 9. Please try again in 0.01s", "code": "rate_limit_exceeded"}
    }
    return [*rows, bad("day-but-soon", CHAT, "rate_limit", refusal(429, soon), requests=OFTEN)]


def _abilities() -> list[Scenario]:
    """Abilities that are learned from a refusal in every dialect."""
    two: dict[str, Any] = {"requests": (2, 2)}
    made = {"error": {"message": "Failed to generate JSON.", "code": "json_validate_failed", "failed_generation": "{"}}
    data = Answer(pieces=('{"a":', " 1}"))
    limit = ok("limit-too-large", ALL, Play(), **two, limit=None)
    return [
        replace(ok("no-system-role", (*CHAT, *ALIKE, "gemini", "bedrock"), Play(), **two), suffix="-nosystem"),
        replace(limit, args=("--max-tokens", "90000"), suffix="-64"),
        replace(limit, name="limit-beyond-window", args=("--max-tokens", "2000"), suffix="-small"),
        replace(
            ok("json-not-made", (*CHAT, "groq"), refusal(400, made), Play(data), content=data.text, **two, json=False),
            args=("--json-mode",),
        ),
    ]


def _firewalls() -> list[Scenario]:
    """The page with which a firewall answers one prompt."""
    page = b"<html><head><title>403 Forbidden</title></head><body>Request blocked</body></html>"
    return [bad("firewall", ALL, "bad_request", refusal(403, page, content_type="text/html"))]


ROWS = (*_overflows(), *_ends(), *_thoughts(), *_signs(), *_quotas(), *_abilities(), *_firewalls())
