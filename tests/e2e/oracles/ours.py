"""Makes the SDKs' calls with our client: the model and the environment for each SDK."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from host import binary

from .recorder import Recorder, Request
from .sdks import ENVIRONMENT, KEY

CALL_SECONDS = 60
CLAUDE = "anthropic.claude-3-5-sonnet-20241022-v2:0"
_AZURE = {
    "AZURE_OPENAI_ENDPOINT": ENVIRONMENT["ORACLE_AZURE_ENDPOINT"],
    "OPENAI_API_VERSION": ENVIRONMENT["ORACLE_AZURE_VERSION"],
}
_AWS = {
    "AWS_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": ENVIRONMENT["ORACLE_ACCESS"],
    "AWS_SECRET_ACCESS_KEY": ENVIRONMENT["ORACLE_SECRET"],
    "AWS_SESSION_TOKEN": ENVIRONMENT["ORACLE_SESSION"],
}


@dataclass(frozen=True)
class Client:
    """The settings with which our client does what an SDK does."""

    model: str
    env: dict[str, str] = field(default_factory=dict)


CLIENTS = {
    "openai": Client("openai/gpt-4.1", {"OPENAI_API_KEY": KEY}),
    "openai-responses": Client("openai-responses/gpt-4.1", {"OPENAI_API_KEY": KEY}),
    "azure": Client("azure/my-deployment", {"AZURE_OPENAI_API_KEY": KEY, **_AZURE}),
    "azure-token": Client("azure/my-deployment", {"AZURE_OPENAI_AD_TOKEN": KEY, **_AZURE}),
    "azure-v1": Client(
        "azure/my-deployment", {"AZURE_OPENAI_API_KEY": KEY, "AZURE_OPENAI_ENDPOINT": _AZURE["AZURE_OPENAI_ENDPOINT"]}
    ),
    "anthropic": Client("anthropic/claude-sonnet-4-5", {"ANTHROPIC_API_KEY": KEY}),
    "anthropic-2026": Client(
        "anthropic/claude-sonnet-4-5", {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_API_VERSION": "2026-10-21"}
    ),
    "gemini": Client("gemini/gemini-2.5-pro", {"GEMINI_API_KEY": KEY}),
    "gemini-3": Client("gemini/gemini-3-pro-preview", {"GEMINI_API_KEY": KEY}),
    "bedrock": Client(f"bedrock/{CLAUDE}", _AWS),
    "bedrock-bearer": Client(f"bedrock/{CLAUDE}", {"AWS_REGION": "us-east-1", "AWS_BEARER_TOKEN_BEDROCK": KEY}),
}


def driver() -> Path:
    """The program built from tests/drivers/llm_call.c."""
    return binary().parent / "tests" / "llm_call"


def make(recorder: Recorder, client: str, call: dict[str, Any]) -> Request:
    """The only request that our client sends for a call, which must return the answer."""
    row = CLIENTS[client]
    before = len(recorder.requests)
    done = subprocess.run(
        [driver()],
        input=json.dumps({"model": row.model, **call}),
        env=recorder.environment() | row.env,
        capture_output=True,
        check=False,
        text=True,
        timeout=CALL_SECONDS,
    )
    assert done.returncode == 0, f"{client}: {done.stdout} {done.stderr}"
    assert json.loads(done.stdout)["content"] == "ok"
    (request,) = recorder.requests[before:]
    return request
