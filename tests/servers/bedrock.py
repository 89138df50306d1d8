"""AWS Bedrock's Converse: POST /model/ID/converse-stream, signed or with a bearer key; returns a binary event stream."""

from __future__ import annotations

import json
import re
import struct
import zlib
from typing import Any
from urllib.parse import unquote

from . import sigv4
from .dialect import (
    CACHED,
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
    alternating,
    bearer,
    check_ids,
    check_tool,
    common,
    counters,
    halves,
    number,
    refuses_tools,
    text_of,
    unknown,
)

ACCESS, REGION = "AKIDLOOPBACKEXAMPLE", "eu-west-3"
TOKEN = "session-token/0123456789+abcdef=="
_PATH = re.compile(r"/model/([^/]+)/(converse|converse-stream)")
_ENCODED = re.compile(r"(?:[A-Za-z0-9._~-]|%[0-9A-F]{2}|:)+")
MEMBERS = {
    *("messages", "system", "inferenceConfig", "additionalModelRequestFields"),
    *("requestMetadata", "serviceTier", "performanceConfig", "outputConfig"),
    *("toolConfig", "guardrailConfig"),
}
_STOPS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "content_filtered",
    "context": "model_context_window_exceeded",
}
_ERRORS: dict[str, tuple[int, str, str]] = {
    "auth": (403, "UnrecognizedClientException", "The security token included in the request is invalid."),
    "permission": (403, "AccessDeniedException", "User {key} is not authorized."),
    "rate_limit": (429, "ThrottlingException", "Too many requests, please wait before trying again."),
    "overloaded": (503, "ServiceUnavailableException", "Bedrock is unable to process your request."),
    "not_ready": (429, "ModelNotReadyException", "Model is not ready."),
    "server": (500, "InternalServerException", "An internal server error occurred."),
    "model_error": (424, "ModelErrorException", "The model had an error."),
    "request_timeout": (408, "ModelTimeoutException", "Model has timed out."),
    "context": (400, "ValidationException", "Input is too long for requested model."),
    "no_model": (404, "ResourceNotFoundException", "Could not resolve the foundation model."),
    "bad": (400, "ValidationException", "Malformed input request, please reformat your input."),
}
_IN_STREAM = {
    "rate_limit": "throttlingException",
    "overloaded": "serviceUnavailableException",
    "server": "internalServerException",
    "bad": "validationException",
}


def failure(status: int, name: str, message: str) -> Refusal:
    """An error in AWS's format."""
    header = "x-amzn-ErrorType", f"{name}:http://internal.amazon.com/coral/"
    return Refusal(status, {"message": message}, (header,))


def frame(headers: dict[str, str], payload: bytes) -> bytes:
    """A message of application/vnd.amazon.eventstream; all headers are strings."""
    head = b"".join(
        struct.pack("!B", len(n)) + n.encode() + struct.pack("!BH", 7, len(v.encode())) + v.encode()
        for n, v in headers.items()
    )
    prelude = struct.pack("!II", 16 + len(head) + len(payload), len(head))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + head + payload
    return message + struct.pack("!I", zlib.crc32(message))


def event_frame(event: Event) -> bytes:
    """An event, or an exception if its kind says so."""
    what = "exception" if event.kind == "error" else "event"
    headers = {f":{what}-type": event.name, ":content-type": "application/json"}
    return frame(headers | {":message-type": what}, event.data.encode())


def _check_blocks(where: str, blocks: Any) -> list[Wrong]:
    if not isinstance(blocks, list) or not blocks:
        return [Wrong(400, f"{where} is no list of blocks, or empty")]
    wrong = []
    for n, block in enumerate(blocks):
        if block in (
            {"cachePoint": {"type": "default"}},
            {"cachePoint": {"type": "default", "ttl": "5m"}},
            {"cachePoint": {"type": "default", "ttl": "1h"}},
        ):
            continue
        if isinstance(block, dict) and set(block) in ({"toolUse"}, {"toolResult"}, {"reasoningContent"}):
            continue
        text = block.get("text") if isinstance(block, dict) else None
        if not isinstance(text, str) or set(block) != {"text"}:
            wrong.append(Wrong(400, f"{where}[{n}] is no text"))
        elif not text.strip():
            wrong.append(Wrong(400, f"{where}[{n}].text is blank"))
    return wrong


def _check_calls(messages: list[Any]) -> list[Wrong]:
    """Check that thoughts come before calls, and that the next message has all results."""
    wrong: list[Wrong] = []
    asked: list[Any] = []
    for message in messages:
        blocks = message["content"]
        results = [block["toolResult"] for block in blocks if "toolResult" in block]
        wrong += check_ids("messages", asked, [result["toolUseId"] for result in results])
        if not all(result["content"][0].get("text") for result in results):
            wrong.append(Wrong(400, "a result is empty"))
        uses = [block["toolUse"] for block in blocks if "toolUse" in block]
        asked = [use["toolUseId"] for use in uses]
        if not all(set(use) == {"toolUseId", "name", "input"} and isinstance(use["input"], dict) for use in uses):
            wrong.append(Wrong(400, f"not all of these are calls: {uses}"))
        thought = blocks[0].get("reasoningContent", {}).get("reasoningText", {})
        if uses and thought.get("signature") != SIGNATURE:
            wrong.append(Wrong(400, "calls without the thoughts before them"))
    return wrong


def _check_tools(config: Any) -> list[Wrong]:
    wrong = unknown("toolConfig", config, ("tools", "toolChoice"))
    for n, tool in enumerate(config.get("tools") or [] if not wrong else []):
        spec = dict(tool["toolSpec"])
        spec["schema"] = spec.pop("inputSchema")["json"]
        wrong += check_tool(f"tools[{n}]", spec, ("name", "description", "schema", "strict"), "schema")
    return wrong


def check_body(body: dict[str, Any]) -> list[Wrong]:
    """Check the members of a request."""
    wrong = unknown("the body", body, MEMBERS)
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return [*wrong, Wrong(400, "messages is no list, or empty")]
    for n, message in enumerate(messages):
        wrong += unknown(f"messages[{n}]", message, ("role", "content"))
        if wrong:
            return wrong
        wrong += _check_blocks(f"messages[{n}].content", message.get("content"))
    wrong += _check_calls(messages) if not wrong else []
    wrong += _check_tools(body.get("toolConfig") or {})
    wrong += alternating([m.get("role") for m in messages], "assistant")
    if "system" in body:
        wrong += _check_blocks("system", body["system"])
    if "inferenceConfig" in body:
        config = body["inferenceConfig"]
        wrong += unknown("inferenceConfig", config, ("maxTokens", "temperature", "topP", "stopSequences"))
        if isinstance(config, dict):
            wrong += number(config, "maxTokens", 1, 10**9, True)
            wrong += number(config, "temperature", 0, 1)
    return wrong


class Bedrock(Dialect):
    """Bedrock's dialect. `key` is the secret of `ACCESS`, or the bearer key."""

    name = "bedrock"
    framing = "eventstream"
    request_id = "x-amzn-RequestId"
    says_model = False

    def __init__(self, key: str, signed: bool | None = None, token: str | None = TOKEN) -> None:
        super().__init__(key)
        self.signed = signed  # None: the request decides
        self.token = token

    def model_of(self, request: Request) -> str | None:
        match = _PATH.fullmatch(request.path)
        return unquote(match[1]) if match else None

    def streams(self, request: Request) -> bool:
        return request.path.endswith("/converse-stream")

    def check(self, request: Request) -> list[Wrong]:
        wrong = self._check_key(request) + common(request)
        match = _PATH.fullmatch(request.path)
        if match and not _ENCODED.fullmatch(match[1]):
            wrong.append(Wrong(400, f"the path is not encoded: {request.path}"))
        if request.query:
            wrong.append(Wrong(400, f"a query: {request.query!r}"))
        if isinstance(request.json, dict):
            wrong += check_body(request.json)
        return wrong

    def _check_key(self, request: Request) -> list[Wrong]:
        is_signed = (request.header("authorization") or "").startswith("AWS4-")
        if self.signed is not None and is_signed != self.signed:
            return [Wrong(403, "the other way to show a key was meant")]
        if not is_signed:
            return [Wrong(403, w.text) for w in bearer(request, self.key)]
        problem = sigv4.verify(request, ACCESS, self.key, self.token, REGION)
        return [Wrong(403, problem)] if problem else []

    def said(self, body: dict[str, Any]) -> Said:
        texts = tuple(text_of(message["content"]) for message in body["messages"])
        limit = (body.get("inferenceConfig") or {}).get("maxTokens")
        return Said(text_of(body.get("system")), texts, limit, "outputConfig" in body)

    def refuse(self, request: Request) -> Refusal | None:
        if refuses_tools(request.model, request.json, "toolResult"):
            return failure(400, "ValidationException", "This model doesn't support tool use.")
        config = request.json.get("inferenceConfig") or {}
        if request.model.endswith("-reasoning") and "temperature" in config:
            text = "The model returned the following errors: `temperature` is deprecated for this model."
            return failure(400, "ValidationException", text)
        if request.model.endswith("-nojson") and "outputConfig" in request.json:
            text = "This model doesn't support the outputConfig field."
            return failure(400, "ValidationException", text)
        if request.model.endswith("-nocache") and "cachePoint" in json.dumps(request.json):
            text = "You invoked an unsupported model or your request did not allow prompt caching."
            return failure(403, "AccessDeniedException", text)
        return None

    def wrong(self, status: int, text: str) -> Refusal:
        name = "InvalidSignatureException" if status == 403 else "ValidationException"
        return failure(status, name, text)

    def error(self, kind: str) -> Refusal | None:
        if kind not in _ERRORS:
            return None
        status, name, message = _ERRORS[kind]
        return failure(status, name, message.replace("{key}", self.key))

    def _usage(self, answer: Answer) -> dict[str, Any] | None:
        full = {
            "inputTokens": SENT - CACHED,
            "outputTokens": RECEIVED,
            "totalTokens": SENT + RECEIVED,
            "cacheReadInputTokens": CACHED,
            "cacheWriteInputTokens": 0,
        }
        return counters(answer.usage, full)

    def _blocks(self, answer: Answer) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = []
        if answer.reasoning:
            text = {"text": answer.reasoning, "signature": "sig"}
            blocks.append({"reasoningContent": {"reasoningText": text}})
        if answer.pieces:
            blocks.append({"text": answer.text})
        if answer.calls:
            thought = {"text": "Hm, 🌍.", "signature": SIGNATURE}
            blocks.insert(0, {"reasoningContent": {"reasoningText": thought}})
        for id, name, arguments in answer.called:
            blocks.append({"toolUse": {"toolUseId": id, "name": name, "input": arguments}})
        return blocks

    def whole(self, answer: Answer, model: str) -> dict[str, Any]:
        message = {"role": "assistant", "content": self._blocks(answer)}
        body: dict[str, Any] = {"output": {"message": message}}
        body |= {"stopReason": answer.reason(_STOPS), "metrics": {"latencyMs": 5}}
        if answer.usage != "missing":
            body["usage"] = self._usage(answer)
        return body

    def events(self, answer: Answer, model: str) -> list[Event]:
        made: list[tuple[str, str, dict[str, Any]]] = [("start", "messageStart", {"role": "assistant"})]
        if answer.unknown:
            made.append(("other", "somethingNew", {"x": [1]}))
        for index, block in enumerate(self._blocks(answer)):
            made += self._block_events(index, block, answer)
        made.append(("finish", "messageStop", {"stopReason": answer.reason(_STOPS)}))
        last: dict[str, Any] = {"metrics": {"latencyMs": 5}}
        if answer.usage != "missing":
            last["usage"] = self._usage(answer)
        made.append(("terminal", "metadata", last))
        return [Event(kind, answer.dump(data | {"p": "abcd"}), name) for kind, name, data in made]

    def _block_events(self, index: int, block: dict[str, Any], answer: Answer) -> list[tuple[str, str, dict[str, Any]]]:
        at = {"contentBlockIndex": index}
        made: list[tuple[str, str, dict[str, Any]]] = []
        if "text" in block:
            deltas: list[Any] = [{"text": piece} for piece in answer.pieces]
        elif "toolUse" in block:
            use = block["toolUse"]
            start = {"toolUse": {"toolUseId": use["toolUseId"], "name": use["name"]}}
            made.append(("other", "contentBlockStart", at | {"start": start}))
            deltas = [{"toolUse": {"input": part}} for part in halves(json.dumps(use["input"]))]
        else:
            thought = block["reasoningContent"]["reasoningText"]
            deltas = [{"reasoningContent": {"text": part}} for part in halves(thought["text"])]
            deltas += [{"reasoningContent": {"signature": part}} for part in halves(thought["signature"])]
        kind = "other" if "reasoningContent" in block else "content"
        made += [(kind, "contentBlockDelta", at | {"delta": d}) for d in deltas]
        return [*made, ("other", "contentBlockStop", at)]

    def failing_event(self, kind: str) -> Event | None:
        if kind not in _IN_STREAM:
            return None
        return Event("error", json.dumps({"message": _ERRORS[kind][2]}), _IN_STREAM[kind])

    def usage_expected(self) -> dict[str, int | None]:
        return super().usage_expected() | {"reasoning": None}
