"""Anthropic's Messages, POST /v1/messages: version 2023-06-01 with x-api-key, 2026-10-21 with a bearer key."""

from __future__ import annotations

import json
from typing import Any

from .dialect import (
    CACHED,
    REASONING,
    RECEIVED,
    SENT,
    SIGNATURE,
    Answer,
    Dialect,
    Event,
    Refusal,
    Request,
    Said,
    Wrong,
    bearer,
    check_ids,
    check_tool,
    common,
    counters,
    halves,
    number,
    only_this_key,
    refuses_tools,
    text_of,
    unknown,
)

OLD, NEW = "2023-06-01", "2026-10-21"
MEMBERS = {
    *("model", "max_tokens", "messages", "system", "stream", "stop_sequences"),
    *("metadata", "service_tier", "thinking", "output_config", "cache_control"),
    *("tools", "tool_choice"),
}
SAMPLING = ("temperature", "top_p", "top_k")
_STOPS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
    "refusal": "refusal",
    "context": "model_context_window_exceeded",
}
_ERRORS: dict[str, tuple[int, str, str]] = {
    "auth": (401, "authentication_error", "invalid x-api-key {key}"),
    "permission": (403, "permission_error", "Your API key {key} may not do this."),
    "billing": (402, "billing_error", "Your credit balance is too low."),
    "payment": (402, "billing_error", "Payment required."),
    "spend_limit": (429, "rate_limit_error", "Your organization's spend limit is reached."),
    "rate_limit": (429, "rate_limit_error", "This request would exceed your rate limit."),
    "slow_down": (429, "rate_limit_error", "Your usage grew too fast."),
    "overloaded": (529, "overloaded_error", "Overloaded"),
    "server": (500, "api_error", "Internal server error"),
    "gateway_timeout": (504, "timeout_error", "Request timed out"),
    "request_timeout": (408, "timeout_error", "Request timed out"),
    "conflict": (409, "conflict_error", "Conflict"),
    "context": (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
    "blocked": (400, "invalid_request_error", "Output blocked by content filtering policy"),
    "no_model": (404, "not_found_error", "model: the-model"),
    "too_large": (413, "request_too_large", "Request exceeds the maximum allowed number of bytes."),
    "bad": (422, "invalid_request_error", "unprocessable"),
}


def failure(status: int, kind: str, message: str, details: Any = None, request_id: str = "req_body") -> Refusal:
    """An error in Anthropic's format."""
    error: dict[str, Any] = {"type": kind, "message": message}
    if details:
        error["details"] = details
    return Refusal(status, {"type": "error", "error": error, "request_id": request_id})


_TOOL_BLOCKS = {
    "thinking": ("thinking", "signature"),
    "tool_use": ("id", "name", "input"),
    "tool_result": ("tool_use_id", "content"),
}


def _check_calls(messages: list[Any]) -> list[Wrong]:
    """Check that thoughts come before calls, and that the next message has all results."""
    wrong: list[Wrong] = []
    asked: list[Any] = []
    for message in messages:
        blocks = [block for block in message["content"] if isinstance(block, dict)]
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        wrong += check_ids("messages", asked, answered)
        wrong += [Wrong(400, "a result is empty") for b in blocks if b["type"] == "tool_result" and not b["content"]]
        asked = [block["id"] for block in blocks if block["type"] == "tool_use"]
        wrong += [Wrong(400, "an input is no object") for b in blocks if not isinstance(b.get("input", {}), dict)]
        if asked and (blocks[0]["type"] != "thinking" or blocks[0]["signature"] != SIGNATURE):
            wrong.append(Wrong(400, "Expected `thinking` with its signature, but found `tool_use`"))
    return wrong


def _check_blocks(where: str, content: Any) -> tuple[list[Wrong], int]:
    """The errors in a text or a list of text blocks, and its number of cache marks."""
    if isinstance(content, str):
        return ([] if content.strip() else [Wrong(400, f"{where} is empty")]), 0
    if not isinstance(content, list) or not content:
        return [Wrong(400, f"{where} is no text and no list of blocks")], 0
    wrong, marks = [], 0
    for n, block in enumerate(content):
        if isinstance(block, dict) and block.get("type") in _TOOL_BLOCKS:
            wrong += unknown(f"{where}[{n}]", block, ("type", *_TOOL_BLOCKS[block["type"]], "cache_control"))
            marks += "cache_control" in block
            continue
        here = f"{where}[{n}]"
        wrong += unknown(here, block, ("type", "text", "cache_control"))
        if wrong:
            return wrong, marks
        text = block.get("text")
        if block.get("type") != "text" or not isinstance(text, str) or not text.strip():
            wrong.append(Wrong(400, f"{here} is no text block with a text"))
        mark = block.get("cache_control")
        if mark is not None:
            marks += 1
            if mark.get("type") != "ephemeral" or mark.get("ttl", "5m") not in ("5m", "1h"):
                wrong.append(Wrong(400, f"{here}.cache_control is {mark!r}"))
    return wrong, marks


def check_body(body: dict[str, Any], version: str) -> list[Wrong]:
    """Check the members of a request."""
    wrong = unknown("the body", body, MEMBERS | (set(SAMPLING) if version == OLD else set()))
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        wrong.append(Wrong(400, "max_tokens: Field required"))
    wrong += number(body, "temperature", 0, 1)
    marks = 1 if "cache_control" in body else 0
    if "system" in body:
        more, count = _check_blocks("system", body["system"])
        wrong, marks = wrong + more, marks + count
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return [*wrong, Wrong(400, "messages is no list, or empty")]
    for n, message in enumerate(messages):
        wrong += unknown(f"messages[{n}]", message, ("role", "content"))
        if wrong:
            return wrong
        if message.get("role") not in ("user", "assistant"):
            wrong.append(Wrong(400, f"messages[{n}].role is {message.get('role')!r}"))
        more, count = _check_blocks(f"messages[{n}].content", message.get("content"))
        wrong, marks = wrong + more, marks + count
    wrong += _check_calls(messages) if not wrong else []
    for n, tool in enumerate(body.get("tools") or []):
        members = ("name", "description", "input_schema", "strict", "cache_control")
        wrong += check_tool(f"tools[{n}]", tool, members, "input_schema")
    if messages[0].get("role") != "user" or messages[-1].get("role") != "user":
        wrong.append(Wrong(400, "the first or the last message is not the user's"))
    if marks > 4:
        wrong.append(Wrong(400, f"{marks} marks of the cache, 4 at most"))
    return wrong + _check_output(body.get("output_config"))


def _check_output(config: Any) -> list[Wrong]:
    if config is None:
        return []
    wrong = unknown("output_config", config, ("format", "effort"))
    form = config.get("format") if not wrong else None
    if form is not None:
        wrong += unknown("output_config.format", form, ("type", "schema"))
        if not wrong and (form.get("type") != "json_schema" or "schema" not in form):
            wrong.append(Wrong(400, "output_config.format is no schema"))
    return wrong


class Anthropic(Dialect):
    """Anthropic's dialect."""

    name = "anthropic"
    error_event = "error"
    request_id = "request-id"

    def model_of(self, request: Request) -> str | None:
        if request.path != "/v1/messages":
            return None
        return str((request.json or {}).get("model", ""))

    def check(self, request: Request) -> list[Wrong]:
        version = request.header("anthropic-version") or ""
        wrong = self._check_key(request, version) + common(request)
        if version not in (OLD, NEW):
            wrong.append(Wrong(400, f"anthropic-version: {version!r}"))
        if request.query:
            wrong.append(Wrong(400, f"a query: {request.query!r}"))
        if isinstance(request.json, dict):
            wrong += check_body(request.json, version)
        return wrong

    def _check_key(self, request: Request, version: str) -> list[Wrong]:
        if version == NEW or request.header("x-api-key") is None:
            return bearer(request, self.key) + only_this_key(request, "x-api-key")
        if request.header("x-api-key") != self.key:
            return [Wrong(401, "x-api-key is not the key")]
        return only_this_key(request, "authorization", "api-key")

    def said(self, body: dict[str, Any]) -> Said:
        texts = tuple(text_of(message["content"]) for message in body["messages"])
        form = (body.get("output_config") or {}).get("format")
        return Said(text_of(body.get("system")), texts, body["max_tokens"], bool(form))

    def refuse(self, request: Request) -> Refusal | None:
        if refuses_tools(request.model, request.json, "tool_result"):
            return failure(400, "invalid_request_error", "tools: this model does not take them")
        if request.model.endswith("-reasoning"):
            for name in SAMPLING:
                if name in request.json:
                    text = f"`{name}` is deprecated for this model."
                    return failure(400, "invalid_request_error", text)
        form = (request.json.get("output_config") or {}).get("format")
        if request.model.endswith("-nojson") and form:
            text = "output_config.format: this model does not support structured outputs"
            return failure(400, "invalid_request_error", text)
        return None

    def wrong(self, status: int, text: str) -> Refusal:
        kind = "authentication_error" if status == 401 else "invalid_request_error"
        return failure(status, kind, text)

    def error(self, kind: str) -> Refusal | None:
        if kind not in _ERRORS:
            return None
        status, word, message = _ERRORS[kind]
        details = None
        if kind == "spend_limit":
            details = {"error_code": "enforced_spend_limit_reached"}
        return failure(status, word, message.replace("{key}", self.key), details)

    def _usage(self, answer: Answer) -> dict[str, Any] | None:
        full = {
            "input_tokens": SENT - CACHED,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": CACHED,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "output_tokens": RECEIVED,
            "output_tokens_details": {"thinking_tokens": REASONING},
        }
        usage = counters(answer.usage, full)
        return usage and usage | {"service_tier": "standard"}

    def _blocks(self, answer: Answer) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = []
        if answer.reasoning:
            thought = {"type": "thinking", "thinking": answer.reasoning}
            blocks.append(thought | {"signature": "sig"})
        if answer.pieces:
            blocks.append({"type": "text", "text": answer.text})
        if answer.calls:
            blocks.insert(0, {"type": "thinking", "thinking": "Hm, 🌍.", "signature": SIGNATURE})
        for id, name, arguments in answer.called:
            blocks.append({"type": "tool_use", "id": id, "name": name, "input": arguments})
        return blocks

    def whole(self, answer: Answer, model: str) -> dict[str, Any]:
        body: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant"}
        body |= {"model": model, "content": self._blocks(answer)}
        body |= {"stop_reason": answer.reason(_STOPS), "stop_sequence": None}
        if answer.refusal:
            body["stop_details"] = {"type": "refusal", "explanation": answer.refusal}
        if answer.usage != "missing":
            body["usage"] = self._usage(answer)
        return body

    def events(self, answer: Answer, model: str) -> list[Event]:
        whole = self.whole(answer, model)
        begun = whole | {"content": [], "stop_reason": None}
        begun.pop("stop_details", None)
        if isinstance(begun.get("usage"), dict) and answer.usage == "full":
            begun["usage"] = begun["usage"] | {"output_tokens": 1}
        made: list[tuple[str, str, dict[str, Any]]] = [("start", "message_start", {"message": begun})]
        if answer.unknown:
            made.append(("other", "message_something", {"thing": [1, {}]}))
        for index, block in enumerate(whole["content"]):
            made += self._block_events(index, block, answer)
        delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        if "stop_details" in whole:
            delta["stop_details"] = whole["stop_details"]
        last: dict[str, Any] = {"delta": delta}
        if "usage" in whole:
            last["usage"] = whole["usage"]
        made += [("finish", "message_delta", last), ("terminal", "message_stop", {})]
        return [Event(kind, answer.dump({"type": name} | data), name) for kind, name, data in made]

    def _block_events(self, index: int, block: dict[str, Any], answer: Answer) -> list[tuple[str, str, dict[str, Any]]]:
        kind = block["type"]
        if kind == "text":
            opened: dict[str, Any] = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": p} for p in answer.pieces]
        elif kind == "thinking":
            opened = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [
                *({"type": "thinking_delta", "thinking": part} for part in halves(block["thinking"])),
                *({"type": "signature_delta", "signature": part} for part in halves(block["signature"])),
            ]
        else:
            opened = block | {"input": {}}
            parts = halves(json.dumps(block["input"]))
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
        at = {"index": index}
        made = [("other", "content_block_start", at | {"content_block": opened})]
        where = "other" if kind == "thinking" else "content"
        made += [(where, "content_block_delta", at | {"delta": d}) for d in deltas]
        return [*made, ("other", "content_block_stop", at)]

    def ping(self) -> Event | None:
        return Event("other", '{"type": "ping"}', "ping")
