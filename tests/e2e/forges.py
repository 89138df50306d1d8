"""Strict servers on 127.0.0.1 that accept draft requests as the APIs of GitHub, GitLab and Gitea do.

Each server checks method, path, query, headers and the types of the body's members by the API's documentation. It
answers errors with 400 and records them in `wrong`. Members that the API does not know are errors.
"""

from __future__ import annotations

import http.server
import json
import urllib.parse
from dataclasses import dataclass, field
from typing import Any

import serving

TOKEN = "forge-token-0123456789abcdef"
PROJECT = "owner/name"


@dataclass(frozen=True)
class Dialect:
    """The rules of one API, from its documentation."""

    root: str
    project: str  # as written in a path
    opened: str  # the state of an open request
    collection: str
    token: tuple[str, str]
    headers: dict[str, str]
    query: frozenset[str]
    page: int  # maximum number of rows per page
    body: dict[str, type]  # members of a new request, with their types
    needed: frozenset[str]
    head: str
    link: str
    taken: int  # the status if a request is open already
    variable: str


_TEXTS = ("title", "head", "base", "body")
DIALECTS = {
    "github": Dialect(
        "/api/v3", f"/repos/{PROJECT}", "open", "pulls", ("Authorization", f"Bearer {TOKEN}"),
        {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"},
        frozenset({"state", "head", "base", "sort", "direction", "per_page", "page"}), 100,
        dict.fromkeys((*_TEXTS, "head_repo"), str) | {"maintainer_can_modify": bool, "draft": bool, "issue": int},
        frozenset({"title", "head", "base"}), "head", "html_url", 422, "GITHUB_TOKEN",
    ),
    "gitlab": Dialect(
        "/api/v4", "/projects/owner%2Fname", "opened", "merge_requests", ("PRIVATE-TOKEN", TOKEN),
        {"Accept": "application/json"},
        frozenset({"state", "source_branch", "target_branch", "scope", "per_page", "page"}), 100,
        dict.fromkeys(("title", "source_branch", "target_branch", "description", "labels", "merge_after"), str)
        | dict.fromkeys(("assignee_id", "milestone_id", "target_project_id"), int)
        | dict.fromkeys(("remove_source_branch", "squash", "allow_collaboration"), bool),
        frozenset({"title", "source_branch", "target_branch"}), "source_branch", "web_url", 409, "GITLAB_TOKEN",
    ),
    "gitea": Dialect(
        "/api/v1", f"/repos/{PROJECT}", "open", "pulls", ("Authorization", f"token {TOKEN}"),
        {"Accept": "application/json"},
        frozenset({"state", "sort", "base_branch", "milestone", "labels", "poster", "page", "limit"}), 50,
        dict.fromkeys((*_TEXTS, "assignee", "due_date"), str)
        | dict.fromkeys(("assignees", "labels", "reviewers", "team_reviewers"), list)
        | {"milestone": int, "allow_maintainer_edit": bool},
        frozenset({"title", "head", "base"}), "head", "html_url", 409, "GITEA_TOKEN",
    ),
}  # fmt: skip


@dataclass
class Forge(serving.Serving):
    """One server. `answer`: a status and JSON (and a Location) that replace all of its answers; `rows`: the open requests."""

    kind: str
    answer: tuple[int, Any] | None = None
    location: str = ""
    rows: list[dict[str, Any]] = field(default_factory=list)
    made: list[dict[str, Any]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        handler = type("Handler", (_Handler,), {"forge": self})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)

    @property
    def dialect(self) -> Dialect:
        return DIALECTS[self.kind]

    @property
    def url(self) -> str:
        """The value of --api-url."""
        return f"http://127.0.0.1:{self._server.server_address[1]}{self.dialect.root}"

    def add_row(self, branch: str, is_fork: bool = False) -> dict[str, Any]:
        """Add an open request for that branch."""
        number = len(self.rows) + 1
        row: dict[str, Any] = {"number": number, "iid": number, self.dialect.link: f"https://forge.test/{number}"}
        if self.kind == "gitlab":
            row |= {"source_branch": branch, "source_project_id": 8 if is_fork else 7, "target_project_id": 7}
        else:
            row |= {"head": {"ref": branch, "repo": {"id": 8 if is_fork else 7}}, "base": {"repo": {"id": 7}}}
        self.rows.append(row)
        return row

    def respond(self, method: str, path: str, headers: Any, body: bytes) -> tuple[int, Any]:
        """Return status and JSON; record the errors in the request."""
        self.asked.append(f"{method} {path}")
        found = [*self._check_headers(headers, body), *self._check_path(method, path)]
        sent = json.loads(body) if body else {}
        found += self._check_body(sent) if method == "POST" else []
        self.wrong += found
        if self.answer:
            return self.answer
        if found:
            return 400, {"message": "; ".join(found)}
        if method == "POST":
            return self._open(sent)
        return 200, self._list(path) if self.dialect.collection in path else {"id": 7, "default_branch": "trunk"}

    def _check_headers(self, headers: Any, body: bytes) -> list[str]:
        wanted = dict([self.dialect.token]) | self.dialect.headers
        wanted |= {"Content-Type": "application/json"} if body else {}
        wrong = [f"{name} is {headers.get(name)!r}" for name, value in wanted.items() if headers.get(name) != value]
        return wrong + ([] if headers.get("User-Agent") else ["there is no User-Agent"])

    def _check_path(self, method: str, path: str) -> list[str]:
        url = urllib.parse.urlsplit(path)
        project = self.dialect.root + self.dialect.project
        collection = f"{project}/{self.dialect.collection}"
        if url.path not in ((project, collection) if method == "GET" else (collection,)):
            return [f"there is no {method} {url.path}"]
        query = urllib.parse.parse_qs(url.query, strict_parsing=bool(url.query))
        wrong = [f"unknown parameter {name}" for name in query if name not in self.dialect.query]
        sizes = [int(query[name][0]) for name in ("per_page", "limit") if name in query]
        wrong += ["too many rows"] if any(size > self.dialect.page for size in sizes) else []
        is_list = method == "GET" and url.path == collection
        return wrong + (["state"] if is_list and query.get("state") != [self.dialect.opened] else [])

    def _check_body(self, body: Any) -> list[str]:
        if not isinstance(body, dict):
            return ["no object"]
        wrong = [f"unknown member {name}" for name in body if name not in self.dialect.body]
        wrong += [f"{name} is missing" for name in self.dialect.needed if name not in body]
        known = self.dialect.body
        return wrong + [f"{name}: type" for name, v in body.items() if name in known and type(v) is not known[name]]

    def _list(self, path: str) -> list[dict[str, Any]]:
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(path).query)
        size = int((query.get("per_page") or query.get("limit") or ["30"])[0])
        page, rows = int(query.get("page", ["1"])[0]), self.rows
        if "source_branch" in query:
            rows = [row for row in rows if row["source_branch"] == query["source_branch"][0]]
        if "head" in query:
            owner, _, branch = query["head"][0].partition(":")
            rows = [row for row in rows if row["head"]["ref"] == branch and owner == "owner"]
        return rows[(page - 1) * size : page * size]

    def _open(self, body: dict[str, Any]) -> tuple[int, Any]:
        branch = body[self.dialect.head]
        if any(row.get("source_branch", row.get("head", {}).get("ref")) == branch for row in self.rows):
            return self.dialect.taken, {"message": "it exists", "errors": [{"message": "already"}]}
        self.made.append(body)
        return 201, self.add_row(branch)


class _Handler(http.server.BaseHTTPRequestHandler):
    forge: Forge

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, answer = self.forge.respond(self.command, self.path, self.headers, body)
        data = json.dumps(answer).encode()
        self.send_response(status)
        if self.forge.location:
            self.send_header("Location", self.forge.location)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = _serve

    def log_message(self, *_: object) -> None:
        pass
