"""Azure OpenAI: chat completions of a deployment, with a dated API or the v1 API, and an API key or a bearer token."""

from __future__ import annotations

import re
from typing import Any

from .dialect import Refusal, Request, Wrong, bearer, common, only_this_key
from .openai_chat import OpenAIChat, check_body, failure

_DATED = re.compile(r"/openai/deployments/([^/]+)/chat/completions")
_VERSION = re.compile(r"api-version=\d{4}-\d\d-\d\d(-preview)?")
_FILTER = {"filtered": True, "severity": "high"}


class Azure(OpenAIChat):
    """Azure's dialect."""

    name = "azure"
    request_id = "apim-request-id"

    def model_of(self, request: Request) -> str | None:
        dated = _DATED.fullmatch(request.path)
        if dated:
            return dated[1]
        if request.path != "/openai/v1/chat/completions":
            return None
        return str((request.json or {}).get("model", ""))

    def check(self, request: Request) -> list[Wrong]:
        wrong = self._check_key(request) + common(request)
        wrong += only_this_key(request, "x-api-key", "x-goog-api-key")
        dated = _DATED.fullmatch(request.path)
        if dated and not _VERSION.fullmatch(request.query):
            wrong.append(Wrong(404, f"the query is {request.query!r}"))
        if isinstance(request.json, dict):
            wrong += check_body(request.json)
            if dated and request.json.get("model", dated[1]) != dated[1]:
                wrong.append(Wrong(400, "model is not the deployment"))
        return wrong

    def _check_key(self, request: Request) -> list[Wrong]:
        if request.header("api-key") is None:
            return bearer(request, self.key)
        if request.header("api-key") != self.key:
            return [Wrong(401, "api-key is not the key")]
        return only_this_key(request, "authorization")

    def error(self, kind: str) -> Refusal | None:
        special: dict[str, tuple[int, dict[str, Any]]] = {
            "auth": (
                401,
                {
                    "code": "401",
                    "message": f"Access denied due to invalid subscription key {self.key} or wrong API endpoint.",
                },
            ),
            "permission": (403, {"code": "403", "message": "Access denied due to Virtual Network rules."}),
            "rate_limit": (
                429,
                {"code": "429", "message": "Requests have exceeded call rate limit of your current pricing tier."},
            ),
            "no_model": (
                404,
                {"code": "DeploymentNotFound", "message": "The API deployment for this resource does not exist."},
            ),
            "blocked": (
                400,
                {
                    "message": "The response was filtered due to the prompt triggering the content management policy.",
                    "type": None,
                    "param": "prompt",
                    "code": "content_filter",
                    "status": 400,
                    "innererror": {
                        "code": "ResponsibleAIPolicyViolation",
                        "content_filter_result": {"violence": _FILTER},
                    },
                },
            ),
            "server": (500, {"code": "InternalServerError", "message": "Backend returned unexpected response."}),
        }
        if kind in special:
            status, error = special[kind]
            return Refusal(status, {"error": error})
        return super().error(kind)

    def wrong(self, status: int, text: str) -> Refusal:
        return failure(status, text, "invalid_request_error", str(status))
