#!/usr/bin/env python3
"""The model client beside the official Python SDK: short streamed calls to a server on this machine.

usage: client.py --driver FILE [--calls N] [--rounds N] [--json FILE]
`--driver` is the program built from tests/drivers/llm_call.c. Both make the same calls, one after
another over one kept connection, and read the streamed answer to its end; they take turns, round by
round. A figure is user and system processor time per call: ours of the whole process, its start
included; the SDK's of its calls alone, without its imports. Memory is the peak of our process.
Exit 0 if every target was met, 1 if not, 3 if something could not be measured.
"""

from __future__ import annotations

import argparse
import json
import os
import socketserver
import subprocess
import sys
import threading
from pathlib import Path
from statistics import median
from typing import Any

import machine
from timing import BenchError

sys.path.append(str(Path(__file__).resolve().parents[1] / "recorded"))

from environments import EnvironmentFailure, make_venv  # noqa: E402

SDK = "openai==3.54.0"
CALLS, ROUNDS = 1000, 3
TARGET_RATIO = 1 / 5
TARGET_KIB = 32 * 1024
CALL_SECONDS = 600
WORDS = "A short answer comes in pieces , each of them an event of its own .".split()
MESSAGES = [{"role": "system", "content": "You are brief."}, {"role": "user", "content": "Say something short."}]
PEER = """
import json, os, sys, time
import openai
call = json.load(sys.stdin)
client = openai.OpenAI(base_url=call["base_url"], api_key="sk-bench", max_retries=0)
def ask():
    stream = client.chat.completions.create(model="m", messages=call["messages"], max_tokens=100,
        stream=True, stream_options={"include_usage": True})
    text, usage = "", None
    for chunk in stream:
        usage = chunk.usage or usage
        if chunk.choices and chunk.choices[0].delta.content:
            text += chunk.choices[0].delta.content
    return text, usage.completion_tokens
used = os.times()
for _ in range(call["repeat"]):
    text, tokens = ask()
now = os.times()
print(json.dumps({"content": text, "output": tokens, "user_us": (now.user - used.user) * 1e6,
    "system_us": (now.system - used.system) * 1e6}))
"""


def answer() -> list[bytes]:
    """The events of one answer."""
    base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": f"{word} "} for word in WORDS]
    chunks: list[dict[str, Any]] = [
        {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    used = {"prompt_tokens": 20, "completion_tokens": len(WORDS), "total_tokens": 36}
    chunks += [{**base, "choices": [end]}, {**base, "choices": [], "usage": used}]
    return [b"data: %s\n\n" % json.dumps(c).encode() for c in chunks] + [b"data: [DONE]\n\n"]


class _Handler(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True
    wbufsize = 0

    def handle(self) -> None:
        """Answer every request of a connection; a client may end it at any time."""
        try:
            self._answer_all()
        except OSError:
            return

    def _answer_all(self) -> None:
        """Answer each request, each event as a chunk of its own."""
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        chunks = [b"%x\r\n%s\r\n" % (len(e), e) for e in answer()]
        while self.rfile.readline():
            length = 0
            while (line := self.rfile.readline()) not in (b"\r\n", b""):
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            self.rfile.read(length)
            self.wfile.write(head)
            for chunk in chunks:
                self.wfile.write(chunk)
            self.wfile.write(b"0\r\n\r\n")


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


def measure(command: list[str], call: dict[str, Any]) -> dict[str, Any]:
    """What a client prints of itself, `us` per call added. Errors: BenchError."""
    env = {"PATH": os.environ.get("PATH", ""), "OPENAI_API_KEY": "sk-bench"}
    done = subprocess.run(
        command, input=json.dumps(call), env=env, capture_output=True, check=False, text=True, timeout=CALL_SECONDS
    )
    if done.returncode != 0:
        raise BenchError(f"{command[0]}: {done.stdout[-300:]} {done.stderr[-300:]}")
    told: dict[str, Any] = json.loads(done.stdout)
    if told["content"].split() != WORDS or told["output"] != len(WORDS):
        raise BenchError(f"{command[0]} read another answer: {told['content']!r}")
    told["us"] = (told["user_us"] + told["system_us"]) / call["repeat"]
    return told


def compare(driver: Path, python: Path, calls: int, rounds: int) -> dict[str, Any]:
    """Both clients in turns. Errors: BenchError."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_address[1]}/v1"
        call = {"model": "openai/m", "base_url": base, "messages": MESSAGES, "max_tokens": 100}
        call["repeat"] = calls
        ours, peers = [], []
        for _ in range(rounds):
            ours.append(measure([str(driver)], call))
            peers.append(measure([str(python), "-c", PEER], call))
        server.shutdown()
    own, peer = median(o["us"] for o in ours), median(p["us"] for p in peers)
    return {
        "calls": calls,
        "ours_us": round(own, 1),
        "sdk_us": round(peer, 1),
        "ratio": own / peer,
        "peak_kib": max(o["peak_kb"] for o in ours),
    }


def report(found: dict[str, Any]) -> bool:
    """Print the figures; whether both targets were met."""
    within = found["ratio"] <= TARGET_RATIO, found["peak_kib"] <= TARGET_KIB
    words = ["met" if fine else "MISSED" for fine in within]
    print(f"{found['calls']} calls, {SDK}, load before {os.getloadavg()[0]:.1f}")
    ours, sdk = found["ours_us"], found["sdk_us"]
    print(f"processor time per call: ours {ours} us, SDK {sdk} us")
    print(f"ratio {found['ratio']:.3f}, at most {TARGET_RATIO:.3f}: {words[0]}")
    print(f"peak memory {found['peak_kib'] / 1024:.1f} MiB, at most 32: {words[1]}")
    return all(within)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--driver", type=Path, required=True)
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "acr-tests"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    entry = {"python": version, "pip": [SDK], "repo": SDK}
    try:
        python = make_venv(cache, entry, "") / "bin" / "python"
        found = compare(options.driver.resolve(), python, options.calls, options.rounds)
    except (BenchError, EnvironmentFailure) as error:
        print(f"client.py: {error}", file=sys.stderr)
        return 3
    if options.json:
        text = json.dumps(found | {"machine": machine.describe(options.driver)})
        options.json.write_text(text + "\n", "utf-8")
    return 0 if report(found) else 1


if __name__ == "__main__":
    sys.exit(main())
