"""A row of the fault table: what a server does, for which dialects, and what a client is to make of it.

A row's name is the model's name. `Expect` says the outcome; what differs for one dialect stands in `but`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from .dialect import TEXT
from .play import Play

SSE = ("openai_chat", "openai_responses", "azure", "anthropic", "gemini")
ALL = (*SSE, "bedrock")
# Whose streams have an event that ends them.
TERMINAL = tuple(name for name in ALL if name != "gemini")
CHAT = ("openai_chat", "azure")
# Whose newer models refuse a temperature.
NO_SAMPLING = ("openai_chat", "openai_responses", "azure", "anthropic", "bedrock")
# Other ways to show a key; the plain rows run over them too.
KEYS = (*("anthropic_bearer", "anthropic_2026", "bedrock_bearer", "azure_v1"), *("azure_token", "gemini_google"))
# Servers that speak OpenAI's dialect, and own names of providers for them.
ALIKE = (*("groq", "deepseek", "openrouter", "litellm", "vllm", "llamacpp", "ollama"),)

OFTEN = (2, 13)  # requests where a class is retried
FEW = (2, 6)
ONCE = (1, 1)
SOME = (1, 6)  # the rules leave open whether it is retried


@dataclass(frozen=True)
class Expect:
    """The outcome. `error`: classes that are right, none where an answer is; `also`: answers that are right too."""

    error: tuple[str, ...] = ()
    content: str = TEXT
    also: tuple[str, ...] = ()
    finish: tuple[str, ...] = ("stop",)
    exit: int | None = None  # None: 0, or 1 with an error
    requests: tuple[int, int] = ONCE
    # None: as many as the server received; -1: or more, where one may have met a connection that was being closed.
    attempts: int | None = None
    gap: tuple[float, float] = (0, 60)  # seconds between the first two requests
    usage: str = "full"  # full, bare, unknown, any
    cost: int | str | None = None  # micro-USD; "some": any number above 0
    status: tuple[int | None, ...] | None = None  # of an error; None: not looked at
    connections: tuple[int, int] = (0, 99)
    sent_mb: float = 0  # the most that the server got rid of in one response; 0: not looked at
    seconds: float = 25  # the whole call
    request_id: bool = True  # it is the last request's
    json: bool | None = None  # whether the last request asked for JSON
    limit: int | None = 77  # of the answer, where the row sends --max-tokens; None: not looked at


@dataclass(frozen=True)
class Scenario:
    """A row."""

    name: str
    dialects: tuple[str, ...]
    plays: tuple[Play, ...]
    expect: Expect = Expect()
    args: tuple[str, ...] = ()
    model: str = ""  # another name than the row's
    suffix: str = ""  # of the model's name: what it cannot do
    but: dict[str, dict[str, Any]] = field(default_factory=dict)
    peer: str = ""  # nobody: nothing listens; nowhere: no such host; no_key, bad_key

    @property
    def model_name(self) -> str:
        """The name to ask for."""
        return (self.model or self.name) + self.suffix

    def expected(self, dialect: str) -> Expect:
        """The outcome for a dialect."""
        return replace(self.expect, **self.but.get(dialect, {}))


def ok(name: str, dialects: tuple[str, ...], *plays: Play, **expect: Any) -> Scenario:
    """A row that ends in an answer."""
    return Scenario(name, dialects, plays, Expect(**expect))


def bad(name: str, dialects: tuple[str, ...], error: str, *plays: Play, **expect: Any) -> Scenario:
    """A row that ends in an error of one of the classes, parted by blanks."""
    return Scenario(name, dialects, plays, Expect(error=tuple(error.split()), **expect))
