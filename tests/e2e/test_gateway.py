"""`ask` through a real gateway: LiteLLM's proxy, with a master key and models with fixed answers.

pip installs `litellm[proxy]` into an environment in the tests' cache (about 700 MB); if that fails, the tests are
skipped. The gateway contacts no provider: every model has a mock response.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from host import Host, Result
from packages import pinned_python

pytestmark = pytest.mark.full

VERSION = "1.106.2"
KEY = "sk-gateway-0123456789"
TEXT = "Hello from the gateway, ü 🌍"
START_SECONDS = 120
# gpt-4o costs less in every table, but the price that the gateway states must be used.
IN_COST, OUT_COST = 0.0001, 0.0002
CONFIG: dict[str, Any] = {
    "model_list": [
        {
            "model_name": "gpt-4o",
            "litellm_params": {
                "model": "openai/gpt-4o",
                "api_key": "sk-of-nobody",
                "mock_response": TEXT,
                "input_cost_per_token": IN_COST,
                "output_cost_per_token": OUT_COST,
            },
        },
        {
            "model_name": "limited",
            "litellm_params": {
                "model": "openai/gpt-4o",
                "api_key": "sk-of-nobody",
                "mock_response": "litellm.RateLimitError",
                "num_retries": 0,
            },
        },
    ],
    "general_settings": {"master_key": KEY},
    "litellm_settings": {"telemetry": False, "num_retries": 0},
    "router_settings": {"disable_cooldowns": True},
}


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A free port that no other server on shared addresses gets."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("127.0.0.1", 0))
        yield int(sock.getsockname()[1])


def wait_for(root: str, server: subprocess.Popen[bytes], log: Path) -> None:
    """Return when the gateway answers. The test fails if the gateway ends or takes too long."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and server.poll() is None:
        try:
            urllib.request.urlopen(f"{root}/health/liveliness", timeout=2).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
    pytest.fail(f"the gateway does not start: {log.read_text(errors='replace')[-2000:]}")


@pytest.fixture(scope="module")
def gateway(port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The gateway's address."""
    python = pinned_python([f"litellm[proxy]=={VERSION}"])
    folder = tmp_path_factory.mktemp("gateway")
    config = folder / "config.yaml"  # JSON is YAML
    config.write_text(json.dumps(CONFIG, ensure_ascii=False), encoding="utf-8")
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "NO_PROXY": "127.0.0.1"}
    env["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    command = [str(python.parent / "litellm"), "--config", str(config)]
    log = folder / "log"
    with log.open("wb") as out:
        server = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            cwd=folder,
            env=env,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        root = f"http://127.0.0.1:{port}"
        wait_for(root, server, log)
        yield root
    finally:
        server.kill()
        server.wait()


def ask(host: Host, root: str, model: str, key: str = KEY, provider: str = "litellm") -> Result:
    """One question, sent in LiteLLM's dialect or in any of OpenAI's dialects."""
    env = {"LITELLM_PROXY_API_KEY": key, "OPENAI_API_KEY": key, "ACR_RETRY_BASE_MS": "10"}
    command = ["ask", "--json", "--base-url", f"{root}/v1"]
    return host.run(*command, "--model", f"{provider}/{model}", "hello", env=env)


@pytest.mark.parametrize("provider", ["litellm", "openai"])
def test_stated_cost_wins(provider: str, host: Host, gateway: str) -> None:
    made = json.loads(ask(host, gateway, "gpt-4o", provider=provider).check().stdout)
    assert (made["content"], made["finish"], made["attempts"]) == (TEXT, "stop", 1)
    usage = made["usage"]
    assert usage["input"] > 0 and usage["output"] > 0
    wanted = (usage["input"] * IN_COST + usage["output"] * OUT_COST) * 1e6
    assert abs(made["cost_microusd"] - wanted) <= 1
    assert made["request_id"]


@pytest.mark.parametrize("provider", ["litellm", "openai"])
def test_wrong_key_is_refused(provider: str, host: Host, gateway: str) -> None:
    wrong = "sk-wrong-9876543210"
    result = ask(host, gateway, "gpt-4o", wrong, provider).check(3)
    error = json.loads(result.stdout)["error"]
    # Without a database, it answers a foreign key with 400.
    assert (error["class"], error["attempts"]) == ("auth", 1)
    assert error["http_status"] in (400, 401, 403)
    assert wrong.encode() not in result.stdout + result.stderr


def test_limit_behind_the_gateway_is_a_limit(host: Host, gateway: str) -> None:
    error = json.loads(ask(host, gateway, "limited").check(3).stdout)["error"]
    assert error["class"] == "rate_limit" and error["attempts"] > 1


def test_unknown_model_is_a_bad_request(host: Host, gateway: str) -> None:
    error = json.loads(ask(host, gateway, "no-such-model").check(3).stdout)["error"]
    assert (error["class"], error["attempts"]) == ("bad_request", 1)
