"""A strict server on 127.0.0.1 with the batch APIs of OpenAI and Anthropic, which answers the sample's requests from the sample's script."""

from __future__ import annotations

import http.server
import itertools
import json
import threading
import time
from dataclasses import dataclass, field
from email.parser import BytesParser
from typing import Any

from runs import script_lines
from serving import Serving

KEY = "sk-batch-0123456789abcdef"


def answer_to(messages: list[dict[str, str]], is_json: bool, system: str) -> str:
    """The script's answer; the request alone determines the line."""
    said = [n for n, message in enumerate(messages) if message["role"] == "assistant"]
    newest = "\n".join(message["content"] for message in messages[said[-1] + 1 if said else 0 :])
    has_code = any("def split_at" in message["content"] for message in messages)
    agent = "patch" if "writes the change" in system else "extract" if is_json else "search"
    texts = [line["content"] for line in script_lines() if line["agent"] == agent]
    if agent == "patch":
        return texts["The search ends here" not in newest]
    if agent == "extract":  # the second line is not JSON
        return texts[0 if "SeasonTariff" in newest else 2 if "cost_in_blocks" in newest else 3]
    if not said:
        return texts[0]
    return texts[(3 if has_code else 1) + ("Is more of the code needed" in newest)]


def _text_of(content: Any) -> str:
    """The text of a message's content, which may be blocks."""
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


@dataclass
class Batch:
    id: str
    calls: dict[str, Any]  # custom id -> body
    metadata: dict[str, str] = field(default_factory=dict)
    polls: int = 0
    made: float = field(default_factory=time.time)


class BatchServer(Serving):
    """`manner` is "honest", or: results are "reordered" or sent "twice" (with a foreign one); the batch is "slow"; one
    result of the first batch is "lost"; the first batch is "expired" or "failing" without results, or "silent"
    (created without a response); "refusing": batches are not supported; "lying": the usage is impossible."""

    def __init__(self, kind: str, manner: str = "honest") -> None:
        self.kind, self.manner = kind, manner
        self.batches: list[Batch] = []
        self.files: dict[str, str] = {}
        self.singles = 0
        self.violations: list[str] = []
        self.counter = itertools.count(1)
        self.lock = threading.Lock()
        server = self

        class Handler(_Handler):
            owner = server

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    @property
    def environment(self) -> dict[str, str]:
        address = f"http://127.0.0.1:{self._server.server_address[1]}"
        if self.kind == "anthropic":
            return {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": address}
        return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": address + "/v1"}

    def sent(self) -> list[str]:
        """The custom ids of all batches, in order."""
        return [key for batch in self.batches for key in batch.calls]

    # ---- Answers ----

    def completion(self, body: dict[str, Any], tier: str = "batch") -> dict[str, Any]:
        if self.kind == "anthropic":
            system = _text_of(body.get("system", ""))
            messages = [{"role": m["role"], "content": _text_of(m["content"])} for m in body["messages"]]
            text = answer_to(messages, "JSON object and nothing else" in system, system)
            usage = {"input_tokens": len(str(body)) // 4, "output_tokens": len(text) // 4, "service_tier": tier}
            return {
                "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "stop_reason": "end_turn",
                "content": [{"type": "text", "text": text}], "usage": usage,
            }  # fmt: skip
        system = body["messages"][0]["content"]
        text = answer_to(body["messages"], "response_format" in body, system)
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": len(str(body)) // 4, "completion_tokens": len(text) // 4}
        if self.manner == "lying":
            usage = {"prompt_tokens": 10**9, "completion_tokens": 10**9}
        return {"id": "x", "object": "chat.completion", "model": body["model"], "choices": [choice], "usage": usage}

    def results(self, batch: Batch) -> list[dict[str, Any]]:
        """The lines of a batch's results, changed as `manner` says."""
        is_first = batch is self.batches[0]
        lines = [self.result(key, body) for key, body in batch.calls.items()]
        if self.manner == "lost" and is_first:
            return lines[1:]
        if self.manner == "expired" and is_first:
            return []
        if self.manner == "reordered":
            return lines[::-1]
        if self.manner == "twice":
            return [*lines, *lines, {"custom_id": "of-somebody-else", "response": {"status_code": 200, "body": {}}}]
        if self.manner == "failing" and is_first:
            if self.kind == "anthropic":
                error = {"type": "error", "error": {"type": "api_error", "message": "sorry"}}
                return [{"custom_id": key, "result": {"type": "errored", "error": error}} for key in batch.calls]
            failed = {"status_code": 500, "body": {"error": {"message": "sorry"}}}
            return [{"custom_id": key, "response": failed} for key in batch.calls]
        return lines

    def result(self, key: str, body: dict[str, Any]) -> dict[str, Any]:
        if self.kind == "anthropic":
            return {"custom_id": key, "result": {"type": "succeeded", "message": self.completion(body)}}
        return {"custom_id": key, "error": None, "response": {"status_code": 200, "body": self.completion(body)}}

    def add(self, calls: dict[str, Any], metadata: dict[str, str]) -> Batch:
        for key, body in calls.items():
            if body.get("stream"):
                self.violations.append("a pooled request asks for a stream")
            if not key.isalnum() or len(key) > 64:
                self.violations.append(f"custom id {key!r}")
        batch = Batch(f"batch_{next(self.counter)}", calls, metadata)
        self.batches.append(batch)
        return batch


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: BatchServer

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._serve(b"")

    def do_POST(self) -> None:
        self._serve(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _serve(self, data: bytes) -> None:
        owner = self.owner
        key = self.headers.get("x-api-key") or self.headers.get("Authorization", "").removeprefix("Bearer ")
        if key != KEY:
            return self._send(401, {"error": {"type": "authentication_error", "message": "no such key"}})
        with owner.lock:
            status, value = (self._anthropic if owner.kind == "anthropic" else self._openai)(data)
        if status:
            return self._send(status, value)
        self.close_connection = True  # no response

    def _send(self, status: int, value: Any) -> None:
        text = value if isinstance(value, str) else json.dumps(value)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    # ---- OpenAI ----

    def _openai(self, data: bytes) -> tuple[int, Any]:
        owner, path = self.owner, self.path.split("?")[0]
        if path == "/v1/chat/completions":
            owner.singles += 1
            return 200, owner.completion(json.loads(data), "standard")
        if owner.manner == "refusing":
            return 404, {"error": {"message": "there are no batches here"}}
        if path == "/v1/files" and self.command == "POST":
            form = BytesParser().parsebytes(
                b"Content-Type: " + self.headers["Content-Type"].encode() + b"\r\n\r\n" + data
            )
            parts = {
                part.get_param("name", header="content-disposition"): part.get_payload() for part in form.get_payload()
            }
            if parts["purpose"] != "batch":
                owner.violations.append("purpose")
            name = f"file-{next(owner.counter)}"
            owner.files[name] = parts["file"]
            return 200, {"id": name}
        if path == "/v1/batches" and self.command == "POST":
            asked = json.loads(data)
            lines = [json.loads(line) for line in owner.files[asked["input_file_id"]].splitlines() if line]
            if asked["endpoint"] != "/v1/chat/completions" or {line["url"] for line in lines} != {asked["endpoint"]}:
                owner.violations.append(f"endpoint {asked['endpoint']}")
            batch = owner.add({line["custom_id"]: line["body"] for line in lines}, asked["metadata"])
            gone = owner.manner == "silent" and len(owner.batches) == 1
            return 0 if gone else 200, {"id": batch.id, "status": "validating"}
        if path == "/v1/batches":
            return 200, {"data": [{"id": batch.id, "metadata": batch.metadata} for batch in owner.batches]}
        if path.startswith("/v1/batches/"):
            [batch] = [batch for batch in owner.batches if batch.id == path.split("/")[3]]
            batch.polls += 1
            if batch.polls < (3 if owner.manner == "slow" else 1):
                return 200, {"id": batch.id, "status": "in_progress"}
            status = "expired" if owner.manner == "expired" and batch is owner.batches[0] else "completed"
            owner.files[f"out-{batch.id}"] = "".join(json.dumps(line) + "\n" for line in owner.results(batch))
            return 200, {"id": batch.id, "status": status, "output_file_id": f"out-{batch.id}"}
        if path.startswith("/v1/files/") and path.endswith("/content"):
            return 200, owner.files[path.split("/")[3]]
        owner.violations.append(f"{self.command} {self.path}")
        return 404, {"error": {"message": "not found"}}

    # ---- Anthropic ----

    def _anthropic(self, data: bytes) -> tuple[int, Any]:
        owner, path = self.owner, self.path.split("?")[0]
        if path == "/v1/messages":
            owner.singles += 1
            return 200, owner.completion(json.loads(data), "standard")
        if owner.manner == "refusing":
            return 404, {"type": "error", "error": {"type": "not_found_error", "message": "there are no batches here"}}
        if path == "/v1/messages/batches" and self.command == "POST":
            calls = {item["custom_id"]: item["params"] for item in json.loads(data)["requests"]}
            batch = owner.add(calls, {})
            gone = owner.manner == "silent" and len(owner.batches) == 1
            return 0 if gone else 200, {"id": batch.id, "processing_status": "in_progress"}
        if path == "/v1/messages/batches":
            return 200, {"data": [{"id": batch.id, "created_at": _date(batch.made)} for batch in owner.batches]}
        [batch] = [batch for batch in owner.batches if batch.id == path.split("/")[4]]
        if path.endswith("/results"):
            return 200, "".join(json.dumps(line) + "\n" for line in owner.results(batch))
        batch.polls += 1
        over = batch.polls >= (3 if owner.manner == "slow" else 1)
        return 200, {"id": batch.id, "processing_status": "ended" if over else "in_progress"}
