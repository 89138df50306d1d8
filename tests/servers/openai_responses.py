"""OpenAI's Responses: POST /v1/responses with a bearer key; named events, no [DONE]."""

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
    number,
    only_this_key,
    refuses_tools,
    text_of,
    unknown,
)
from .openai_chat import OpenAIChat, failure

MEMBERS = {
    *("model", "input", "instructions", "max_output_tokens", "temperature", "top_p"),
    *("reasoning", "store", "stream", "stream_options", "text", "include", "user"),
    *("truncation", "prompt_cache_key", "prompt_cache_options", "metadata"),
    *("service_tier", "background", "tools", "tool_choice", "parallel_tool_calls"),
}


def _check_calls(items: list[Any]) -> tuple[list[Wrong], list[Any]]:
    """The errors in the items of calls and results; and the other items."""
    wrong: list[Wrong] = []
    asked: list[Any] = []
    answered: list[Any] = []
    plain: list[Any] = []
    thought = False
    for item in items:
        kind = item.get("type", "message")
        if kind == "reasoning":
            thought = item.get("encrypted_content") == SIGNATURE
        elif kind == "function_call":
            asked.append(item.get("call_id"))
            wrong += [] if thought else [Wrong(400, "a function_call without its reasoning item")]
            wrong += unknown("a call", item, ("id", "type", "call_id", "name", "arguments", "status"))
        elif kind == "function_call_output":
            answered.append(item.get("call_id"))
            wrong += unknown("a result", item, ("type", "call_id", "output"))
            wrong += [] if item.get("output") else [Wrong(400, "an output is empty")]
        elif item.get("id") is None:
            thought = False
            plain.append(item)
    return wrong + check_ids("input", asked, answered), plain


def _check_tools(body: dict[str, Any]) -> list[Wrong]:
    tools = body.get("tools") or []
    wrong = [] if not tools or body.get("include") else [Wrong(400, "tools, and no thoughts to send back")]
    for n, tool in enumerate(tools):
        members = ("type", "name", "description", "parameters", "strict")
        wrong += check_tool(f"tools[{n}]", tool, members, "parameters")
        if tool.get("type") != "function" or not isinstance(tool.get("strict"), bool):
            wrong.append(Wrong(400, f"tools[{n}] is no function, or says not whether it is strict"))
    return wrong


def _check_input(value: Any) -> list[Wrong]:
    if isinstance(value, str):
        return [] if value else [Wrong(400, "input is empty")]
    if not isinstance(value, list) or not value:
        return [Wrong(400, "input is no text and no list")]
    wrong, value = _check_calls(value)
    for n, item in enumerate(value):
        wrong += unknown(f"input[{n}]", item, ("type", "role", "content"))
        if wrong:
            return wrong
        if item.get("type", "message") != "message" or item.get("role") not in (
            "system",
            "developer",
            "user",
            "assistant",
        ):
            wrong.append(Wrong(400, f"input[{n}] is no message of a known role"))
        wrong += _check_content(f"input[{n}]", item)
    return wrong


def _check_content(where: str, item: dict[str, Any]) -> list[Wrong]:
    content = item.get("content")
    if isinstance(content, str):
        return []
    kind = "output_text" if item.get("role") == "assistant" else "input_text"
    right = isinstance(content, list) and all(
        isinstance(part, dict) and part.get("type") == kind and isinstance(part.get("text"), str) for part in content
    )
    return [] if right and content else [Wrong(400, f"{where} holds no {kind}")]


def _check_text(body: dict[str, Any]) -> list[Wrong]:
    text = body.get("text")
    if text is None:
        return []
    wrong = unknown("text", text, ("format", "verbosity"))
    form: Any = text.get("format") if not wrong else None
    kind = form.get("type") if isinstance(form, dict) else None
    if kind == "json_schema":
        wrong += unknown("text.format", form, ("type", "name", "schema", "strict", "description"))
        if not isinstance(form.get("schema"), dict) or not form.get("name"):
            wrong.append(Wrong(400, "text.format holds no schema or no name"))
    elif kind == "json_object":
        if "json" not in json.dumps(body.get("input")).lower():
            wrong.append(Wrong(400, "no input says JSON"))
    elif form is not None and kind != "text":
        wrong.append(Wrong(400, f"text.format is {form!r}"))
    return wrong


class OpenAIResponses(OpenAIChat):
    """The dialect of OpenAI's Responses."""

    name = "openai_responses"
    path = "/v1/responses"

    def check(self, request: Request) -> list[Wrong]:
        wrong = bearer(request, self.key) + common(request)
        wrong += only_this_key(request, "api-key", "x-api-key", "x-goog-api-key")
        body = request.json
        if not isinstance(body, dict):
            return wrong
        wrong += unknown("the body", body, MEMBERS) + _check_input(body.get("input"))
        wrong += _check_text(body) + _check_tools(body) + number(body, "temperature", 0, 2)
        wrong += number(body, "max_output_tokens", 1, 10**9, True)
        if body.get("store") is not False:
            wrong.append(Wrong(400, "store is not false: what is said would be kept"))
        if "instructions" in body and not isinstance(body["instructions"], str):
            wrong.append(Wrong(400, "instructions is no text"))
        if "stream_options" in body:
            wrong += unknown("stream_options", body["stream_options"], ("include_obfuscation",))
        return wrong

    def said(self, body: dict[str, Any]) -> Said:
        items = body["input"]
        if isinstance(items, str):
            items = [{"role": "user", "content": items}]
        texts = [text_of(item.get("content")) for item in items]
        system = body.get("instructions") or ""
        if items[0].get("role") in ("system", "developer"):
            system += texts.pop(0)
        form = (body.get("text") or {}).get("format")
        return Said(system, tuple(texts), body.get("max_output_tokens"), bool(form))

    def refuse(self, request: Request) -> Refusal | None:
        body, kind = request.json, "invalid_request_error"
        if refuses_tools(request.model, body, "function_call_output"):
            return failure(400, "Tools are not supported with this model.", kind, None, "tools")
        if request.model.endswith("-reasoning") and "temperature" in body:
            text = "Unsupported parameter: 'temperature' is not supported with this model."
            return failure(400, text, kind, None, "temperature")
        form = (body.get("text") or {}).get("format", {})
        if request.model.endswith("-nojson") and form.get("type") == "json_object":
            text = "Invalid parameter: 'text.format' of type 'json_object' is not supported with this model."
            return failure(400, text, kind, None, "text.format")
        return None

    def _usage(self, answer: Answer) -> dict[str, Any] | None:
        full = {
            "input_tokens": SENT,
            "input_tokens_details": {"cached_tokens": CACHED},
            "output_tokens": RECEIVED,
            "output_tokens_details": {"reasoning_tokens": REASONING},
            "total_tokens": SENT + RECEIVED,
        }
        return counters(answer.usage, full)

    def _items(self, answer: Answer) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        if answer.reasoning:
            summary = [{"type": "summary_text", "text": answer.reasoning}]
            items.append({"id": "rs_1", "type": "reasoning", "summary": summary})
        if answer.calls:
            items.append({"id": "rs_2", "type": "reasoning", "summary": [], "encrypted_content": SIGNATURE})
        for n, (id, name, arguments) in enumerate(answer.called):
            call = {"id": f"fc_{n}", "type": "function_call", "call_id": id, "status": "completed"}
            items.append(call | {"name": name, "arguments": json.dumps(arguments)})
        content: list[dict[str, Any]] = []
        if answer.refusal:
            content = [{"type": "refusal", "refusal": answer.refusal}]
        elif answer.pieces:
            content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        if content or not items:
            message = {"id": "msg_1", "type": "message", "role": "assistant"}
            items.append(message | {"status": "completed", "content": content})
        return items

    def whole(self, answer: Answer, model: str) -> dict[str, Any]:
        reason = {"length": "max_output_tokens", "content_filter": "content_filter"}
        incomplete = answer.finish in reason or answer.finish == "context" or answer.finish.startswith("=")
        body: dict[str, Any] = {"id": "resp_1", "object": "response", "model": model}
        body["status"] = "incomplete" if incomplete else "completed"
        body |= {"created_at": 1760000000, "error": None, "output": self._items(answer)}
        details = {"reason": answer.reason(reason)} if incomplete else None
        body["incomplete_details"] = details
        if answer.usage != "missing":
            body["usage"] = self._usage(answer)
        return body

    def events(self, answer: Answer, model: str) -> list[Event]:
        whole = self.whole(answer, model)
        begun = whole | {"status": "in_progress", "output": [], "usage": None}
        begun["incomplete_details"] = None
        made: list[tuple[str, str, dict[str, Any]]] = [
            ("start", "response.created", {"response": begun}),
            ("other", "response.in_progress", {"response": begun}),
        ]
        if answer.unknown:
            made.append(("other", "response.something_new", {"thing": [1, {}]}))
        for index, item in enumerate(whole["output"]):
            made += self._item_events(index, item, answer)
        last = "terminal", f"response.{whole['status']}", {"response": whole}
        return [
            Event(kind, answer.dump({"type": name, "sequence_number": n} | data), name)
            for n, (kind, name, data) in enumerate([*made, last])
        ]

    def _item_events(self, index: int, item: dict[str, Any], answer: Answer) -> list[tuple[str, str, dict[str, Any]]]:
        at = {"output_index": index, "item_id": item["id"]}
        made: list[tuple[str, str, dict[str, Any]]] = []
        opened = item | ({"content": []} if item["type"] == "message" else {})
        made.append(("other", "response.output_item.added", at | {"item": opened}))
        part = at | {"content_index": 0}
        if item["type"] == "reasoning":
            name = "response.reasoning_summary_text.delta"
            made.append(("other", name, at | {"delta": answer.reasoning}))
        elif item["type"] == "function_call":
            name = "response.function_call_arguments.delta"
            made.append(("content", name, at | {"delta": item["arguments"]}))
        elif answer.refusal:
            made.append(("content", "response.refusal.delta", part | {"delta": answer.refusal}))
        else:
            name = "response.output_text.delta"
            made += [("content", name, part | {"delta": p}) for p in answer.pieces]
            if answer.pieces:
                done = part | {"text": answer.text}
                made.append(("finish", "response.output_text.done", done))
        return [*made, ("other", "response.output_item.done", at | {"item": item})]

    def failing_event(self, kind: str) -> Event | None:
        refusal = self.error(kind)
        if refusal is None:
            return None
        error = refusal.body["error"]
        code = error["code"] or error["type"]
        data = {"type": "error", "code": code, "message": error["message"]}
        return Event("error", json.dumps(data | {"param": None}), "error")
