"""Google's Gemini: POST /v1beta/models/MODEL:streamGenerateContent?alt=sse with x-goog-api-key; no terminal event."""

from __future__ import annotations

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
    check_tool,
    common,
    counters,
    number,
    only_this_key,
    refuses_tools,
    text_of,
    unknown,
)

_PATH = re.compile(r"/v1beta/models/([^/:]+):(generateContent|streamGenerateContent)")
MEMBERS = {
    *("contents", "systemInstruction", "generationConfig", "safetySettings"),
    *("cachedContent", "tools", "toolConfig"),
}
CONFIG = {
    *("temperature", "topP", "topK", "maxOutputTokens", "stopSequences", "seed"),
    *("candidateCount", "responseMimeType", "responseJsonSchema", "responseSchema"),
    "thinkingConfig",
}
_STOPS = {"stop": "STOP", "length": "MAX_TOKENS", "tool_calls": "STOP"}
_STOPS |= {"content_filter": "SAFETY", "refusal": "PROHIBITED_CONTENT"}
_ERRORS: dict[str, tuple[int, str, str]] = {
    "auth": (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    "permission": (403, "PERMISSION_DENIED", "The key {key} lacks permission."),
    "billing": (402, "RESOURCE_EXHAUSTED", "Your prepaid credit is used up."),
    "payment": (402, "RESOURCE_EXHAUSTED", "Your prepaid credit is used up."),
    "rate_limit": (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota of requests per minute."),
    "overloaded": (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    "server": (500, "INTERNAL", "An internal error has occurred."),
    "gateway_timeout": (504, "DEADLINE_EXCEEDED", "Deadline expired."),
    "request_timeout": (408, "DEADLINE_EXCEEDED", "Deadline expired."),
    "conflict": (409, "ABORTED", "Conflict."),
    "context": (
        400,
        "INVALID_ARGUMENT",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    ),
    "no_model": (404, "NOT_FOUND", "models/x is not found for API version v1beta"),
    "too_large": (413, "INVALID_ARGUMENT", "Request payload size exceeds the limit."),
    "bad": (422, "INVALID_ARGUMENT", "unprocessable"),
}


def failure(status: int, word: str, message: str, *details: Any) -> Refusal:
    """An error in Google's format."""
    error: dict[str, Any] = {"code": status, "message": message, "status": word}
    if details:
        error["details"] = list(details)
    return Refusal(status, {"error": error})


def _check_calls(contents: list[Any]) -> list[Wrong]:
    """Check that the first call of an answer has its signature, and that the next turn has the results."""
    wrong: list[Wrong] = []
    asked: list[Any] = []
    for content in contents:
        calls = [part for part in content["parts"] if "functionCall" in part]
        results = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
        said = [result["name"] for result in results]
        if said != asked or any(set(r) != {"name", "response"} or not r["response"].get("output") for r in results):
            wrong.append(Wrong(400, f"the calls {asked} are answered by {results}"))
        asked = [part["functionCall"]["name"] for part in calls]
        if calls and calls[0].get("thoughtSignature") != SIGNATURE:
            wrong.append(Wrong(400, "Function call is missing a thought_signature in functionCall parts."))
    return wrong


def _check_parts(where: str, content: Any) -> list[Wrong]:
    parts = content.get("parts") if isinstance(content, dict) else None
    if parts:
        parts = [p for p in parts if not isinstance(p, dict) or not {"functionCall", "functionResponse"} & set(p)]
        parts = parts or [{"text": "calls or results"}]
    right = isinstance(parts, list) and all(
        isinstance(part, dict) and set(part) == {"text"} and isinstance(part["text"], str) for part in parts
    )
    return [] if right and parts else [Wrong(400, f"{where} holds no text parts")]


def check_body(body: dict[str, Any]) -> list[Wrong]:
    """Check the members of a request."""
    wrong = unknown("the body", body, MEMBERS)
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents:
        return [*wrong, Wrong(400, "contents is no list, or empty")]
    for n, content in enumerate(contents):
        wrong += unknown(f"contents[{n}]", content, ("role", "parts"))
        wrong += _check_parts(f"contents[{n}]", content)
        if isinstance(content, dict) and content.get("role") not in ("user", "model"):
            wrong.append(Wrong(400, f"contents[{n}].role is {content.get('role')!r}"))
    wrong += _check_calls(contents) if not wrong else []
    for entry in body.get("tools") or []:
        for n, tool in enumerate(entry.get("functionDeclarations") or []):
            members = ("name", "description", "parametersJsonSchema")
            wrong += check_tool(f"functionDeclarations[{n}]", tool, members, "parametersJsonSchema")
    if not wrong and contents[-1]["role"] != "user":
        wrong.append(Wrong(400, "the last content is not the user's"))
    if "systemInstruction" in body:
        wrong += _check_parts("systemInstruction", body["systemInstruction"])
    if "generationConfig" in body:
        config = body["generationConfig"]
        wrong += unknown("generationConfig", config, CONFIG)
        if isinstance(config, dict):
            wrong += number(config, "temperature", 0, 2)
            wrong += number(config, "maxOutputTokens", 1, 10**9, True)
            if "responseJsonSchema" in config and "responseMimeType" not in config:
                wrong.append(Wrong(400, "a schema without responseMimeType"))
    return wrong


class Gemini(Dialect):
    """Gemini's dialect."""

    name = "gemini"
    request_id = ""
    has_terminal = False

    def model_of(self, request: Request) -> str | None:
        match = _PATH.fullmatch(request.path)
        return match[1] if match else None

    def streams(self, request: Request) -> bool:
        return ":streamGenerateContent" in request.path

    def check(self, request: Request) -> list[Wrong]:
        wrong = common(request)
        if request.header("x-goog-api-key") is None:
            wrong.append(Wrong(403, "no x-goog-api-key"))
        elif request.header("x-goog-api-key") != self.key:
            wrong.append(Wrong(400, "API key not valid"))
        wrong += only_this_key(request, "authorization", "x-api-key", "api-key")
        if request.query != ("alt=sse" if self.streams(request) else ""):
            wrong.append(Wrong(400, f"the query is {request.query!r}"))
        if isinstance(request.json, dict):
            wrong += check_body(request.json)
        return wrong

    def said(self, body: dict[str, Any]) -> Said:
        config = body.get("generationConfig") or {}
        texts = tuple(text_of(content["parts"]) for content in body["contents"])
        system = text_of((body.get("systemInstruction") or {}).get("parts"))
        asks = "responseMimeType" in config
        return Said(system, texts, config.get("maxOutputTokens"), asks)

    def refuse(self, request: Request) -> Refusal | None:
        if refuses_tools(request.model, request.json, "functionResponse"):
            return failure(400, "INVALID_ARGUMENT", "Function calling is not enabled for models/x")
        config = request.json.get("generationConfig") or {}
        if request.model.endswith("-nojson") and "responseMimeType" in config:
            text = "JSON mode is not enabled for models/x"
            return failure(400, "INVALID_ARGUMENT", text)
        return None

    def wrong(self, status: int, text: str) -> Refusal:
        word = "PERMISSION_DENIED" if status == 403 else "INVALID_ARGUMENT"
        return failure(status, word, text)

    def error(self, kind: str) -> Refusal | None:
        if kind == "retry_info":
            url = "type.googleapis.com/google.rpc."
            quota = {"@type": f"{url}QuotaFailure", "violations": []}
            info = {"@type": f"{url}RetryInfo", "retryDelay": "1.2s"}
            return failure(429, "RESOURCE_EXHAUSTED", "Quota exceeded.", quota, info)
        if kind not in _ERRORS:
            return None
        status, word, message = _ERRORS[kind]
        details = []
        if kind == "auth":
            kind_of = "type.googleapis.com/google.rpc.ErrorInfo"
            details = [{"@type": kind_of, "reason": "API_KEY_INVALID"}]
        return failure(status, word, message.replace("{key}", self.key), *details)

    def _usage(self, answer: Answer) -> dict[str, Any] | None:
        full = {
            "promptTokenCount": SENT,
            "cachedContentTokenCount": CACHED,
            "candidatesTokenCount": RECEIVED - REASONING,
            "thoughtsTokenCount": REASONING,
            "totalTokenCount": SENT + RECEIVED,
        }
        return counters(answer.usage, full)

    def _chunk(self, answer: Answer, model: str, parts: list[Any], finish: str | None) -> dict[str, Any]:
        candidate: dict[str, Any] = {"index": 0}
        if parts or not finish:
            candidate["content"] = {"role": "model", "parts": parts}
        if finish:
            candidate["finishReason"] = finish
        chunk: dict[str, Any] = {"candidates": [candidate]}
        if answer.choices > 1:
            other = {"role": "model", "parts": [{"text": "other"}]}
            chunk["candidates"].append({"index": 1, "content": other})
        if answer.usage != "missing":
            chunk["usageMetadata"] = self._usage(answer)
        if answer.unknown:
            chunk["somethingNew"] = {"x": [1]}
        return chunk | {"modelVersion": model, "responseId": "resp-gemini"}

    def _parts(self, answer: Answer) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = []
        if answer.reasoning:
            parts.append({"text": answer.reasoning, "thought": True})
        parts += [{"text": piece} for piece in answer.pieces]
        for n, (_, name, arguments) in enumerate(answer.called):
            signature = {} if n or answer.tools else {"thoughtSignature": SIGNATURE}
            parts.append({"functionCall": {"name": name, "args": arguments}} | signature)
        return parts

    def whole(self, answer: Answer, model: str) -> dict[str, Any]:
        return self._chunk(answer, model, self._parts(answer), answer.reason(_STOPS))

    def events(self, answer: Answer, model: str) -> list[Event]:
        made = []
        for part in self._parts(answer):
            kind = "other" if part.get("thought") else "content"
            chunk = self._chunk(answer, model, [part], None)
            made.append(Event(kind, answer.dump(chunk)))
        chunk = self._chunk(answer, model, [], answer.reason(_STOPS))
        return [*made, Event("finish", answer.dump(chunk))]
