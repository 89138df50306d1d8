"""Options and variables that point the program at a strict server, for each provider and each way to give a key."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from servers.anthropic import Anthropic  # noqa: E402
from servers.azure import Azure  # noqa: E402
from servers.bedrock import ACCESS, REGION, TOKEN, Bedrock  # noqa: E402
from servers.dialect import Dialect  # noqa: E402
from servers.gemini import Gemini  # noqa: E402
from servers.openai_chat import OpenAIChat  # noqa: E402
from servers.openai_responses import OpenAIResponses  # noqa: E402

_VERSION = {"OPENAI_API_VERSION": "2024-10-21"}
_AWS = {"AWS_ACCESS_KEY_ID": ACCESS, "AWS_SESSION_TOKEN": TOKEN, "AWS_REGION": REGION}


@dataclass(frozen=True)
class Peer:
    """How the program finds a provider. `key` and `base` are variables; `path` ends the base URL."""

    kind: type[Dialect]
    prefix: str
    key: str
    base: str
    path: str = ""
    more: Mapping[str, str] = field(default_factory=dict)

    def environment(self, root: str, key: str | None) -> dict[str, str | None]:
        """The variables for a run with a server at `root`; no key if `key` is None."""
        made: dict[str, str | None] = {**self.more, self.base: root + self.path}
        return made | ({} if key is None else {self.key: key})


PEERS = {
    "openai_chat": Peer(OpenAIChat, "openai/", "OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1"),
    "openai_responses": Peer(OpenAIResponses, "openai-responses/", "OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1"),
    "azure": Peer(Azure, "azure/", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "", _VERSION),
    "azure_v1": Peer(Azure, "azure/", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"),
    "azure_token": Peer(Azure, "azure/", "AZURE_OPENAI_AD_TOKEN", "AZURE_OPENAI_ENDPOINT", "", _VERSION),
    "anthropic": Peer(Anthropic, "anthropic/", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "anthropic_bearer": Peer(Anthropic, "anthropic/", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"),
    "anthropic_2026": Peer(
        *(Anthropic, "anthropic/", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", ""),
        {"ANTHROPIC_API_VERSION": "2026-10-21"},
    ),
    "bedrock": Peer(*(Bedrock, "bedrock/", "AWS_SECRET_ACCESS_KEY"), *("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "", _AWS)),
    "bedrock_bearer": Peer(
        *(Bedrock, "bedrock/", "AWS_BEARER_TOKEN_BEDROCK"),
        *("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "", {"AWS_REGION": REGION}),
    ),
    "gemini": Peer(Gemini, "gemini/", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
    "gemini_google": Peer(Gemini, "gemini/", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
    "ollama": Peer(OpenAIChat, "ollama/", "OLLAMA_API_KEY", "OLLAMA_HOST"),
} | {
    name: Peer(OpenAIChat, f"{name}/", f"{variable}_API_KEY", f"{variable}_BASE_URL", "/v1")
    for name, variable in (
        ("groq", "GROQ"),
        ("deepseek", "DEEPSEEK"),
        ("openrouter", "OPENROUTER"),
        ("litellm", "LITELLM"),
        ("vllm", "VLLM"),
        ("llamacpp", "LLAMA"),
    )
}
