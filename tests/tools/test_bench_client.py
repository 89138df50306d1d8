"""Tests of tools/bench/client.py: what its server streams, and what counts as met."""

from __future__ import annotations

import json
import sys
import threading
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "bench"))

import client  # noqa: E402
from timing import BenchError  # noqa: E402


def test_server_streams_the_same_answer_on_one_connection() -> None:
    with client._Server(("127.0.0.1", 0), client._Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/v1/chat/completions"
        for _ in range(2):
            with urllib.request.urlopen(urllib.request.Request(url, b"{}")) as got:
                events = [line for line in got.read().split(b"\n\n") if line]
            assert events[-1] == b"data: [DONE]"
            chunks = [json.loads(e.removeprefix(b"data: ")) for e in events[:-1]]
            deltas = [c["choices"][0]["delta"] for c in chunks if c["choices"]]
            assert "".join(d.get("content", "") for d in deltas).split() == client.WORDS
            assert chunks[-1]["usage"]["completion_tokens"] == len(client.WORDS)
        server.shutdown()


def test_a_client_that_reads_something_else_is_an_error() -> None:
    told = {"content": "other", "output": 1, "user_us": 1, "system_us": 1}
    command = [sys.executable, "-c", f"print({json.dumps(json.dumps(told))})"]
    with pytest.raises(BenchError, match="another answer"):
        client.measure(command, {"repeat": 1})


@pytest.mark.parametrize(
    ("ratio", "peak", "met"), [(0.2, 32 * 1024, True), (0.21, 1024, False), (0.1, 32 * 1024 + 1, False)]
)
def test_targets(capsys: pytest.CaptureFixture[str], ratio: float, peak: int, met: bool) -> None:
    found = {"calls": 10, "ours_us": 1.0, "sdk_us": 5.0, "ratio": ratio, "peak_kib": peak}
    assert client.report(found) is met
    assert ("MISSED" in capsys.readouterr().out) is not met
