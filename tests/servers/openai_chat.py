"""OpenAI's chat completions: POST /v1/chat/completions with a bearer key."""

from __future__ import annotations

import json
import re
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
    unknown,
)

MEMBERS = {
    *("model", "messages", "temperature", "top_p", "max_tokens"),
    *("max_completion_tokens", "response_format", "stream", "stream_options"),
    *("seed", "user", "n", "stop", "reasoning_effort", "verbosity", "store"),
    *("prompt_cache_key", "prompt_cache_options", "service_tier", "metadata"),
    *("tools", "tool_choice", "parallel_tool_calls"),
}
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def failure(
    status: int, message: str, kind: str, code: Any = None, param: str | None = None, *headers: tuple[str, str]
) -> Refusal:
    """An error in OpenAI's format."""
    error = {"message": message, "type": kind, "param": param, "code": code}
    return Refusal(status, {"error": error}, headers)


def check_calls(messages: list[Any]) -> tuple[list[Wrong], list[Any]]:
    """The errors in calls and results, and the messages with text instead of both."""
    wrong: list[Wrong] = []
    plain: list[Any] = []
    asked: list[Any] = []
    answered: list[Any] = []
    for message in [*messages, {}]:
        if message.get("role") == "tool":
            wrong += unknown("a result", message, ("role", "content", "tool_call_id"))
            wrong += [] if message.get("content") else [Wrong(400, "a result is empty")]
            answered.append(message.get("tool_call_id"))
            continue
        wrong += check_ids("messages", asked, answered)
        plain += [{"role": "user", "content": "results"}] if answered else []
        asked, answered = [call.get("id") for call in message.get("tool_calls", [])], []
        if not asked:
            plain.append(message)
            continue
        wrong += unknown("an answer", message, ("role", "content", "tool_calls", "reasoning_content"))
        if message.get("reasoning_content") != SIGNATURE:
            wrong.append(Wrong(400, "the `reasoning_content` must be passed back with its tool calls"))
        for call in message["tool_calls"]:
            wrong += unknown("a call", call, ("id", "type", "function"))
            wrong += unknown("a function", call.get("function"), ("name", "arguments"))
            json.loads(call["function"]["arguments"])
        plain.append({"role": "assistant", "content": "calls"})
    return wrong, plain[:-1]


def check_tools(tools: Any) -> list[Wrong]:
    """Check the offered tools."""
    wrong = []
    for n, tool in enumerate(tools):
        wrong += unknown(f"tools[{n}]", tool, ("type", "function"))
        if not wrong:
            members = ("name", "description", "parameters", "strict")
            wrong += check_tool(f"tools[{n}]", tool["function"], members, "parameters")
    return wrong


def check_messages(messages: Any) -> list[Wrong]:
    """Check the order of roles, and that each message has a text."""
    if not isinstance(messages, list) or not messages:
        return [Wrong(400, "messages is no list, or empty")]
    wrong = []
    if any(isinstance(m, dict) and ("tool_calls" in m or m.get("role") == "tool") for m in messages):
        wrong, messages = check_calls(messages)
    for n, message in enumerate(messages):
        wrong += unknown(f"messages[{n}]", message, ("role", "content"))
        if wrong:
            return wrong
        role = message.get("role")
        if role not in ("system", "developer", "user", "assistant"):
            wrong.append(Wrong(400, f"messages[{n}].role is {role!r}"))
        elif role in ("system", "developer") and n > 0:
            wrong.append(Wrong(400, f"messages[{n}] is of {role} and not the first"))
        if not isinstance(message.get("content"), str):
            wrong.append(Wrong(400, f"messages[{n}].content is no text"))
    if not wrong and messages[-1]["role"] != "user":
        wrong.append(Wrong(400, "the last message is not the user's"))
    return wrong


def check_format(body: dict[str, Any]) -> list[Wrong]:
    """Check the formats of JSON mode."""
    form = body.get("response_format")
    if form is None:
        return []
    if form == {"type": "json_object"}:
        said = json.dumps(body.get("messages")).lower()
        return [] if "json" in said else [Wrong(400, "no message says JSON")]
    if not isinstance(form, dict) or form.get("type") != "json_schema":
        return [Wrong(400, f"response_format is {form!r}")]
    schema: Any = form.get("json_schema")
    wrong = unknown("json_schema", schema, ("name", "schema", "strict", "description"))
    if not wrong and not _NAME.fullmatch(str(schema.get("name", ""))):
        wrong.append(Wrong(400, "json_schema.name is no name"))
    if not wrong and not isinstance(schema.get("schema"), dict):
        wrong.append(Wrong(400, "json_schema.schema is no object"))
    return wrong


def check_body(body: dict[str, Any]) -> list[Wrong]:
    """Check the members of a request."""
    wrong = unknown("the body", body, MEMBERS) + check_messages(body.get("messages"))
    wrong += check_format(body) + check_tools(body.get("tools") or [])
    wrong += number(body, "temperature", 0, 2) + number(body, "n", 1, 128, True)
    for name in ("max_tokens", "max_completion_tokens"):
        wrong += number(body, name, 1, 10**9, True)
    if "max_tokens" in body and "max_completion_tokens" in body:
        wrong.append(Wrong(400, "the limit stands there twice"))
    if body.get("stream") not in (None, True, False):
        wrong.append(Wrong(400, f"stream is {body['stream']!r}"))
    options = body.get("stream_options")
    if options is not None and not body.get("stream"):
        wrong.append(Wrong(400, "stream_options without stream"))
    if options is not None:
        wrong += unknown("stream_options", options, ("include_usage", "include_obfuscation"))
    return wrong


def refuse_body(body: dict[str, Any], model: str) -> Refusal | None:
    """A refusal because the model, by its name, lacks an ability."""
    kind = "invalid_request_error"
    if refuses_tools(model, body, '"tool"'):
        return failure(400, f"registry/{model} does not support tools", "api_error")
    if model.endswith("-reasoning") and "max_tokens" in body:
        text = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
        return failure(400, text, kind, "unsupported_parameter", "max_tokens")
    if model.endswith("-old") and "max_completion_tokens" in body:
        text = "Unrecognized request argument supplied: max_completion_tokens"
        return failure(400, text, kind, None, None)
    if model.endswith("-reasoning") and body.get("temperature", 1) != 1:
        text = "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."
        return failure(400, text, kind, "unsupported_value", "temperature")
    if model.endswith("-nojson") and "response_format" in body:
        text = "Invalid parameter: 'response_format' of type 'json_object' is not supported with this model."
        return failure(400, text, kind, None, "response_format")
    if model.endswith("-nousage") and "stream_options" in body:
        text = "Unrecognized request argument supplied: stream_options"
        return failure(400, text, kind, None, "stream_options")
    if model.endswith("-nostream") and body.get("stream"):
        text = "Unsupported value: 'stream' does not support true with this model."
        return failure(400, text, kind, "unsupported_value", "stream")
    return None


def usage_of(answer: Answer) -> dict[str, Any] | None:
    """The usage object, with the stated cost."""
    full = {
        "prompt_tokens": SENT,
        "completion_tokens": RECEIVED,
        "total_tokens": SENT + RECEIVED,
        "prompt_tokens_details": {"cached_tokens": CACHED, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": REASONING},
    }
    usage = counters(answer.usage, full)
    if usage is not None and answer.cost is not None:
        usage = usage | {"cost": answer.cost}
    return usage


_INVALID, _SERVER = "invalid_request_error", "server_error"
_RATE = (429, "Rate limit reached for requests", "requests", "rate_limit_exceeded")
_ERRORS: dict[str, tuple[Any, ...]] = {
    "auth": (
        401,
        "Incorrect API key provided: {key}. You can find your API key in your account.",
        _INVALID,
        "invalid_api_key",
    ),
    "permission": (403, "Your project {key} does not have access.", _INVALID, "permission_denied"),
    "billing": (429, "You exceeded your current quota.", "insufficient_quota", "insufficient_quota"),
    "payment": (402, "Insufficient Balance", "unknown_error", "invalid_request_error"),
    "spend_limit": (429, "Spend limit.", "insufficient_quota", "project_spend_limit_exceeded"),
    "rate_limit": _RATE,
    "slow_down": (429, "Slow down.", "rate_limit_error", "slow_down"),
    "overloaded": (503, "Overloaded.", _SERVER, "server_is_overloaded"),
    "server": (500, "The server had an error.", _SERVER, None),
    "gateway_timeout": (504, "Upstream timed out.", _SERVER, None),
    "request_timeout": (408, "Request timed out.", _SERVER, None),
    "conflict": (409, "Conflict.", _SERVER, None),
    "context": (
        400,
        "This model's maximum context length is 4096 tokens. However, your messages resulted in 9000 tokens.",
        _INVALID,
        "context_length_exceeded",
        "messages",
    ),
    "blocked": (400, "Your request was rejected by our safety system.", _INVALID, "content_policy_violation"),
    "no_model": (404, "The model does not exist or you do not have access to it.", _INVALID, "model_not_found"),
    "too_large": (413, "Request too large.", _INVALID, None),
    "bad": (422, "Unprocessable.", _INVALID, None),
}


class OpenAIChat(Dialect):
    """The dialect of OpenAI's chat completions."""

    name = "openai_chat"
    path = "/v1/chat/completions"

    def model_of(self, request: Request) -> str | None:
        if request.path != self.path:
            return None
        return str((request.json or {}).get("model", ""))

    def check(self, request: Request) -> list[Wrong]:
        wrong = bearer(request, self.key) + common(request)
        wrong += only_this_key(request, "api-key", "x-api-key", "x-goog-api-key")
        if request.query:
            wrong.append(Wrong(400, f"a query: {request.query!r}"))
        if isinstance(request.json, dict):
            wrong += check_body(request.json)
        return wrong

    def said(self, body: dict[str, Any]) -> Said:
        head = body["messages"][0]["role"] in ("system", "developer")
        texts = tuple(message["content"] or "" for message in body["messages"])
        limit = body.get("max_tokens", body.get("max_completion_tokens"))
        asks = body.get("response_format") is not None
        return Said(texts[0] if head else "", texts[head:], limit, asks)

    def refuse(self, request: Request) -> Refusal | None:
        return refuse_body(request.json, request.model)

    def wrong(self, status: int, text: str) -> Refusal:
        code = "invalid_api_key" if status == 401 else None
        return failure(status, text, _INVALID, code)

    def error(self, kind: str) -> Refusal | None:
        if kind not in _ERRORS:
            return None
        status, message, *rest = _ERRORS[kind]
        return failure(status, message.replace("{key}", self.key), *rest)

    def _chunk(self, answer: Answer, model: str, **members: Any) -> str:
        base: dict[str, Any] = {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1760000000,
            "model": model,
        }
        if answer.unknown:
            base["obfuscation"] = "xyz"
        if answer.usage != "missing":
            base["usage"] = None
        return answer.dump(base | members | dict(answer.beside))

    def _deltas(self, answer: Answer) -> list[tuple[str, dict[str, Any], str | None]]:
        deltas: list[tuple[str, dict[str, Any], str | None]] = [
            ("start", {"role": "assistant", "content": None, "refusal": None}, None)
        ]
        if answer.reasoning:
            deltas.append(("other", {"reasoning_content": answer.reasoning}, None))
        deltas += [("content", {"content": piece}, None) for piece in answer.pieces]
        if answer.refusal:
            deltas.append(("content", {"refusal": answer.refusal}, None))
        if answer.calls:
            deltas += [("other", {"reasoning_content": part}, None) for part in halves(SIGNATURE)]
        for n, (id, name, arguments) in enumerate(answer.called):
            call = {"index": n, "id": id, "type": "function"}
            call |= {"function": {"name": name, "arguments": ""}}
            deltas.append(("content", {"tool_calls": [call]}, None))
            for part in halves(json.dumps(arguments)):
                more = {"index": n, "function": {"arguments": part}}
                deltas.append(("content", {"tool_calls": [more]}, None))
        finish = answer.reason({"refusal": "stop"})
        return [*deltas, ("finish", {}, finish)]

    def events(self, answer: Answer, model: str) -> list[Event]:
        made = []
        if answer.unknown:
            data = self._chunk(answer, model, choices=[], prompt_filter_results=[])
            made += [Event("other", data), Event("other", '{"x": 1}', "news")]
        for kind, delta, finish in self._deltas(answer):
            for index in reversed(range(answer.choices)):
                changed = {n: v and f"other {v}" for n, v in delta.items()}
                one: dict[str, Any] = {"index": index, "delta": delta if index == 0 else changed}
                one |= {"logprobs": None, "finish_reason": finish}
                made.append(Event(kind, self._chunk(answer, model, choices=[one])))
        usage = usage_of(answer)
        if usage is not None:
            data = self._chunk(answer, model, choices=[], usage=usage)
            made.append(Event("usage", data))
        return [*made, Event("terminal", "[DONE]")]

    def whole(self, answer: Answer, model: str) -> dict[str, Any]:
        content = None if answer.null_content or not answer.pieces else answer.text
        message: dict[str, Any] = {"role": "assistant", "content": content}
        message["refusal"] = answer.refusal or None
        if answer.reasoning:
            message["reasoning_content"] = answer.reasoning
        if answer.calls:
            message["reasoning_content"] = SIGNATURE
        if answer.called:
            message["tool_calls"] = [
                {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
                for id, name, arguments in answer.called
            ]
        finish = answer.reason({"refusal": "stop"})
        choices = [
            {"index": n, "message": message if n == 0 else message | {"content": "other"}, "finish_reason": finish}
            for n in range(answer.choices)
        ]
        body: dict[str, Any] = {"id": "chatcmpl-1", "object": "chat.completion"}
        body |= {"created": 1760000000, "model": model, "choices": choices, **answer.beside}
        if answer.usage != "missing":
            body["usage"] = usage_of(answer)
        return body
