"""The intended differences between our requests and those of the SDKs. Any other difference makes the test fail.

A row is (client, what, why): `client` and `what` are patterns of fnmatch ("[[]" is a bracket); `what` is `-PATH` (only
the SDK sends it), `+PATH` (only we send it) or `PATH` (both send it, with different values). A row that no request
needs makes the test fail, too.
"""

from __future__ import annotations

from typing import NamedTuple


class Meant(NamedTuple):
    """An intended difference."""

    client: str
    what: str
    why: str


MEANT = (
    Meant("*", "-headers.x-stainless-*", "facts about the caller's machine, for the SDK's makers"),
    Meant("gemini*", "-headers.x-goog-api-client", "likewise"),
    Meant("bedrock*", "-headers.x-amz-user-agent", "likewise"),
    Meant("bedrock*", "-headers.amz-sdk-*", "names the SDK's own retries"),
    Meant("bedrock*", "+headers.accept", "says that a stream and JSON are both understood"),
    Meant("bedrock*", "+body.*cachePoint.type", "marks of what to cache: the SDK leaves them to its user"),
    Meant(
        "[oa][pz]*",
        "+body.prompt_cache_key",
        "sends requests that begin alike to the server that holds their prefix: the SDK leaves it to its user",
    ),
    Meant("bedrock", "-headers.x-amz-content-sha256", "signed without it too; the Python SDK does not send it"),
    Meant("[!b]*", "headers.accept-encoding", "a compressing proxy would hold streams back"),
    Meant("b*", "+headers.accept-encoding", "likewise"),
    Meant("[!b]*", "-headers.accept-language", "Node's fetch adds it"),
    Meant("[!b]*", "-headers.sec-fetch-mode", "Node's fetch adds it"),
    Meant("*", "-headers.connection", "HTTP/1.1 keeps connections without it"),
    Meant("[!b]*", "headers.accept", "says that a stream is wanted, which the body says too"),
    # Responses refuses JSON mode unless an input message, not only the instructions, mentions JSON.
    Meant("openai-responses", "+body.input[[]1].*", "the user's message, behind the one added"),
    Meant("openai-responses", "body.input[[]0].*", "a developer's message that asks for JSON"),
)
