"""The shortest complete streamed answer of each dialect, selected by the path of the request."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

SSE = "text/event-stream"


def _data(*events: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def _named(*events: dict[str, Any]) -> bytes:
    return b"".join(b"event: " + event["type"].encode() + b"\n" + _data(event) for event in events)


def _chat() -> bytes:
    chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    choice = {"index": 0, "delta": {"role": "assistant", "content": "ok"}}
    usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
    return (
        _data(
            {**chunk, "choices": [{**choice, "finish_reason": None}]},
            {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            {**chunk, "choices": [], "usage": usage},
        )
        + b"data: [DONE]\n\n"
    )


def _responses() -> bytes:
    part = {"type": "output_text", "text": "ok", "annotations": []}
    item = {"type": "message", "id": "m1", "role": "assistant", "status": "completed"}
    item["content"] = [part]  # type: ignore[assignment]
    usage = {"input_tokens": 3, "output_tokens": 1, "total_tokens": 4}
    base = {"id": "r1", "object": "response", "model": "m"}
    started = {**base, "status": "in_progress", "output": []}
    whole = {**base, "status": "completed", "output": [item], "usage": usage}
    delta = {"item_id": "m1", "output_index": 0, "content_index": 0, "delta": "ok"}
    return _named(
        {"type": "response.created", "sequence_number": 0, "response": started},
        {"type": "response.output_text.delta", "sequence_number": 1, **delta},
        {"type": "response.completed", "sequence_number": 2, "response": whole},
    )


def _messages() -> bytes:
    usage = {"input_tokens": 3, "output_tokens": 1}
    message = {"id": "m1", "type": "message", "role": "assistant", "model": "m"}
    message |= {"content": [], "stop_reason": None, "usage": usage}  # type: ignore[dict-item]
    text = {"type": "text_delta", "text": "ok"}
    return _named(
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": text},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    )


def _gemini() -> bytes:
    content = {"role": "model", "parts": [{"text": "ok"}]}
    usage = {"promptTokenCount": 3, "candidatesTokenCount": 1, "totalTokenCount": 4}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    return _data({"candidates": [candidate], "usageMetadata": usage})


def frame(event: str, payload: dict[str, Any]) -> bytes:
    """A message of application/vnd.amazon.eventstream."""
    headers = b""
    for name, value in ((":message-type", "event"), (":event-type", event), (":content-type", "application/json")):
        headers += bytes([len(name)]) + name.encode() + b"\x07"
        headers += struct.pack(">H", len(value)) + value.encode()
    body = json.dumps(payload).encode()
    start = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    start += struct.pack(">I", zlib.crc32(start))
    whole = start + headers + body
    return whole + struct.pack(">I", zlib.crc32(whole))


def _converse() -> bytes:
    usage = {"inputTokens": 3, "outputTokens": 1, "totalTokens": 4}
    return b"".join(
        (
            frame("messageStart", {"role": "assistant"}),
            frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "ok"}}),
            frame("contentBlockStop", {"contentBlockIndex": 0}),
            frame("messageStop", {"stopReason": "end_turn"}),
            frame("metadata", {"usage": usage, "metrics": {"latencyMs": 1}}),
        )
    )


_BY_END = (
    ("/chat/completions", SSE, _chat),
    ("/responses", SSE, _responses),
    ("/messages", SSE, _messages),
    (":streamGenerateContent", SSE, _gemini),
    ("/converse-stream", "application/vnd.amazon.eventstream", _converse),
)


def answer(target: str) -> tuple[int, str, bytes]:
    """(status, content type, body) for a request's target."""
    path = target.split("?")[0]
    for end, kind, make in _BY_END:
        if path.endswith(end):
            return 200, kind, make()
    return 404, "application/json", b'{"error": {"message": "no such path"}}'
