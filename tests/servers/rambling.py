"""A model server on 127.0.0.1 that imitates a verbose model with a small context: a cheap substitute for a small real
model.

Answers depend only on the request, so a run is repeatable. The model makes search calls from words of its prompt,
sometimes answers the extract agent without JSON, names places that may not exist, and quotes code that never existed.
The server refuses prompts that exceed the context in the words of llama.cpp's server.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BYTES_PER_TOKEN = 3.4
MESSAGE_TOKENS = 6
_NAME = re.compile(r"\b[A-Za-z_][A-Za-z0-9_]{3,40}\b")
_CALL = re.compile(r"search_\w+\(\"[^\"\n]*\"\)")


def tokens_of(messages: list[dict[str, str]]) -> int:
    """The number of tokens that this model counts for the messages."""
    text = sum(len(m["content"].encode()) for m in messages)
    return int(text / BYTES_PER_TOKEN) + MESSAGE_TOKENS * len(messages)


def _ramble(dice: random.Random, names: list[str], words: int) -> str:
    return " ".join(dice.choice(names) for _ in range(words)) + ".\n"


def _search(dice: random.Random, names: list[str], length: int) -> str:
    kinds = ("search_class", "search_method", "search_code")
    calls = [f'{dice.choice(kinds)}("{dice.choice(names)}")' for _ in range(3)]
    return _ramble(dice, names, length) + "\n".join(calls)


def _extract(dice: random.Random, names: list[str], notes: str) -> str:
    if dice.random() < 0.2:
        return _ramble(dice, names, 20)
    if dice.random() < 0.15:
        place = {"file": "", "class": dice.choice(names), "method": dice.choice(names)}
        return json.dumps({"API_calls": [], "bug_locations": [place]})
    found = _CALL.findall(notes)
    return json.dumps({"API_calls": found, "bug_locations": []})


def _patch(dice: random.Random, names: list[str], length: int) -> str:
    quote = "\n".join(f"    {dice.choice(names)} = {dice.choice(names)}" for _ in range(4))
    edit = f"<file>{dice.choice(names)}.py</file>\n<original>\n{quote}\n</original>\n"
    return _ramble(dice, names, length) + f"{edit}<patched>\n{quote}  # now\n</patched>\n"


def answer(messages: list[dict[str, str]], length: int) -> str:
    """The model's answer: `length` words, and the content that its role requires."""
    digest = hashlib.sha256(json.dumps(messages).encode()).digest()
    dice = random.Random(digest)
    names = sorted(set(_NAME.findall(messages[1]["content"])))[:200] or ["nothing"]
    system = messages[0]["content"]
    if "notes into JSON" in system:
        return _extract(dice, names, messages[1]["content"])
    if "writes the change" in system:
        return _patch(dice, names, length)
    return _search(dice, names, length)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        """Stream an answer to a chat completion, or refuse it."""
        length = int(self.headers.get("Content-Length", 0))
        messages = json.loads(self.rfile.read(length))["messages"]
        tokens, window = tokens_of(messages), self.server.window
        self.server.asked.append(tokens)
        if tokens > window:
            text = f"request ({tokens} tokens) exceeds the available context size ({window} tokens), try increasing it"
            error = {"code": 400, "message": text, "type": "exceed_context_size_error"}
            error |= {"n_prompt_tokens": tokens, "n_ctx": window}
            self._send(400, "application/json", json.dumps({"error": error}).encode())
            return
        content = answer(messages, self.server.words)
        chunk = {"id": "c", "object": "chat.completion.chunk", "model": "rambling"}
        delta = {"index": 0, "delta": {"content": content}, "finish_reason": None}
        end = {"index": 0, "delta": {}, "finish_reason": "stop"}
        usage = {"prompt_tokens": tokens, "completion_tokens": len(content) // 4}
        events = [{**chunk, "choices": [delta]}, {**chunk, "choices": [end], "usage": usage}]
        body = b"".join(b"data: %s\n\n" % json.dumps(e).encode() for e in events)
        self._send(200, "text/event-stream", body + b"data: [DONE]\n\n")


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, window: int, words: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.window, self.words = window, words
        self.asked: list[int] = []


class RamblingModel:
    """A running server; a context manager. `asked` has the number of tokens of each request."""

    def __init__(self, window: int = 4096, words: int = 150) -> None:
        self._server = _Server(window, words)
        self.asked = self._server.asked
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> RamblingModel:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
