"""A row of the fault table: what a server does, for which dialects, and the expected outcome in the client.

A row's name is the model's name. `Expect` is the outcome; `but` has the differences for single dialects.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from .dialect import TEXT
from .play import Play

SSE = ("openai_chat", "openai_responses", "azure", "anthropic", "gemini")
ALL = (*SSE, "bedrock")
# Dialects whose streams have a terminal event.
TERMINAL = tuple(name for name in ALL if name != "gemini")
CHAT = ("openai_chat", "azure")
# Dialects whose newer models refuse a temperature.
NO_SAMPLING = ("openai_chat", "openai_responses", "azure", "anthropic", "bedrock")
# Other ways to send a key; the plain rows run with these, too.
KEYS = (*("anthropic_bearer", "anthropic_2026", "bedrock_bearer", "azure_v1"), *("azure_token", "gemini_google"))
# Servers with OpenAI's format, whose providers have their own names.
ALIKE = (*("groq", "deepseek", "openrouter", "litellm", "vllm", "llamacpp", "ollama"),)

OFTEN = (2, 13)  # number of requests if a failure is retried
FEW = (2, 6)
ONCE = (1, 1)
SOME = (1, 6)  # the rules do not say whether it is retried


@dataclass(frozen=True)
class Expect:
    """The outcome. `error`: the correct classes (none if an answer is expected); `also`: answers that are correct, too."""

    error: tuple[str, ...] = ()
    content: str = TEXT
    also: tuple[str, ...] = ()
    finish: tuple[str, ...] = ("stop",)
    exit: int | None = None  # None: 0, or 1 if there is an error
    requests: tuple[int, int] = ONCE
    # None: as many as the server received; -1: at least as many, if a request may have met a closing connection.
    attempts: int | None = None
    gap: tuple[float, float] = (0, 60)  # seconds between the first two requests
    usage: str = "full"  # full, bare, unknown, any
    cost: int | str | None = None  # micro-USD; "some": any number above 0
    status: tuple[int | None, ...] | None = None  # of an error; None: not compared
    connections: tuple[int, int] = (0, 99)
    sent_mb: float = 0  # maximum that the server could send in one response; 0: not compared
    seconds: float = 25  # for the whole call
    request_id: bool = True  # it is the last request's
    json: bool | None = None  # whether the last request asked for JSON
    limit: int | None = 77  # of the answer, if the row sends --max-tokens; None: not compared


@dataclass(frozen=True)
class Scenario:
    """A row."""

    name: str
    dialects: tuple[str, ...]
    plays: tuple[Play, ...]
    expect: Expect = Expect()
    args: tuple[str, ...] = ()
    model: str = ""  # a name other than the row's
    suffix: str = ""  # of the model's name: the ability that it lacks
    but: dict[str, dict[str, Any]] = field(default_factory=dict)
    peer: str = ""  # nobody: nothing listens; nowhere: unknown host; no_key, bad_key

    @property
    def model_name(self) -> str:
        """The name of the model to ask."""
        return (self.model or self.name) + self.suffix

    def expected(self, dialect: str) -> Expect:
        """The expected outcome for a dialect."""
        return replace(self.expect, **self.but.get(dialect, {}))


def ok(name: str, dialects: tuple[str, ...], *plays: Play, **expect: Any) -> Scenario:
    """A row that ends in an answer."""
    return Scenario(name, dialects, plays, Expect(**expect))


def bad(name: str, dialects: tuple[str, ...], error: str, *plays: Play, **expect: Any) -> Scenario:
    """A row that ends in an error of one of these classes, separated by blanks."""
    return Scenario(name, dialects, plays, Expect(error=tuple(error.split()), **expect))
