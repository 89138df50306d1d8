"""Defaults for new users: the enclosing repository, a new run folder, an issue by its URL."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import threading
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
from host import Result
from repos import Repo
from runs import ISSUE, SCRIPT, check_patch

RunHost = Callable[..., Result]
TOKEN = "ghp-loopback-0123456789"


def words(*more: object) -> list[object]:
    return ["run", "--model", f"script:{SCRIPT}", "--verify=never", *more]


# ---- Without arguments, and places ----------------------------------------------------------------


def test_without_arguments_it_says_what_to_try(run_host: RunHost) -> None:
    result = run_host().check(2)
    lines = result.err.splitlines()
    assert result.out == "" and len(lines) <= 10 and max(map(len, lines)) <= 120, result.err
    assert sum(line.startswith("  acr-host ") for line in lines) == 4, result.err


def test_the_sample_is_fixed_by_one_word(run_host: RunHost, tmp_path: Path) -> None:
    """The demo works on a copy, of which nothing remains."""
    (tmp_path / "tmp").mkdir()
    result = run_host("demo", env={"TMPDIR": str(tmp_path / "tmp")}).check()
    assert b"+            total" in result.stdout and not list((tmp_path / "tmp").glob("acr-host-demo-*"))
    assert "written: brookbill/tariffs/seasonal.py (+2 -2)" in result.progress
    assert result.err.splitlines()[0].startswith("$ acr-host run --repo ")


@pytest.mark.full
def test_a_demonstration_in_a_folder_can_be_repeated(run_host: RunHost, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    shown = run_host("demo", "kept", cwd=tmp_path).check().err.splitlines()[0]
    assert shown.startswith("$ acr-host run --repo ") and "removed" not in shown
    assert (kept / "sample" / "issue.md").is_file() and (kept / "out" / "patch.diff").is_file()
    run_host(*shown.split()[2:]).check()
    run_host("demo", "kept", cwd=tmp_path).one_line(2, "name a new folder")


def test_a_demonstration_in_a_repository_is_one_of_its_own(run_host: RunHost, sample_repo: Repo) -> None:
    run_host("demo", "try", cwd=sample_repo.path).check()
    sample = sample_repo.path / "try" / "sample" / "repo"
    assert subprocess.run(["git", "status", "--short"], cwd=sample, capture_output=True, check=True).stdout == b""
    answers = "script:../answers.jsonl"
    run_host(
        "run", "--issue", "../issue.md", "--model", answers, "--verify=never", "--out", "../two", cwd=sample
    ).check()


def test_the_demonstration_takes_only_json(run_host: RunHost, tmp_path: Path) -> None:
    run_host("demo", "--apply").one_line(2, "takes only the name of a new folder")
    (row,) = run_host("demo", "--json", "--", tmp_path / "new" / "kept").check().rows()
    assert row["patch"] and (tmp_path / "new" / "kept" / "sample").is_dir()
    assert "bundled sample" in run_host("demo", "--help").check().out
    run_host("demo", env={"TMPDIR": str(tmp_path / "none")}).one_line(3, "none")


def test_the_repository_around_and_a_new_run_folder(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    inside = sample_repo.path / "brookbill" / "tariffs"
    state = tmp_path / "state"
    folders = []
    for _ in range(2):
        result = run_host(*words("--issue", ISSUE), cwd=inside, env={"XDG_STATE_HOME": str(state)}).check()
        first = result.err.splitlines()[0]
        assert first.startswith("acr-host run: the run folder is ")
        folders.append(Path(first.rpartition(" is ")[2]))
        assert b"+" in result.stdout and (folders[-1] / "patch.diff").read_bytes() == result.stdout
    assert folders[0] != folders[1] and {path.parent for path in folders} == {state / "acr-host" / "runs"}
    for folder in folders:
        assert json.loads((folder / "result.json").read_text())["verdict"] == "unverified"
        assert folder.stat().st_mode & 0o777 == 0o700
        assert folder.name.startswith(sample_repo.path.name + "-")
    for bad in (
        ["--issue", "none.md"],
        ["--issue-text", "x", "--rev", "none"],
        ["--issue-text", "x", "--model", "no/m"],
    ):
        result = run_host(*words(*bad), cwd=inside, env={"XDG_STATE_HOME": str(state)})
        assert result.exit in (2, 3) and not result.progress and result.err.count("\n") == 1, result.told()
    assert len(list((state / "acr-host" / "runs").iterdir())) == 2
    found = run_host("search", 'search_class("SeasonalTariff")', cwd=inside).check()
    assert "<class>SeasonalTariff</class>" in found.out


def test_where_there_is_no_repository_around(run_host: RunHost, tmp_path: Path) -> None:
    state = tmp_path / "state"
    for line in (words("--issue", ISSUE), ["exec", "--", "true"]):
        run_host(*line, cwd=tmp_path, env={"XDG_STATE_HOME": str(state)}).one_line(2, "--repo", str(tmp_path))
    assert not state.exists()


def test_an_empty_name_is_no_name(run_host: RunHost, sample_repo: Repo) -> None:
    run_host(*words("--issue", ISSUE, "--repo", ""), cwd=sample_repo.path).one_line(2, "--repo is empty")
    run_host(*words("--issue", ISSUE, "--out", ""), cwd=sample_repo.path).one_line(2, "--out is empty")
    no_python = run_host(*words("--issue", ISSUE, "--python", "/bin/true"), cwd=sample_repo.path)
    no_python.one_line(2, "--python: '/bin/true' is not a Python interpreter")


def test_no_folder_is_left_where_nothing_was_begun(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    state = tmp_path / "state"
    result = run_host(*words("--issue", tmp_path / "none"), cwd=sample_repo.path, env={"XDG_STATE_HOME": str(state)})
    assert "cannot read the issue" in result.check(2).err
    assert not any("to resume" in line for line in result.progress)
    assert list((state / "acr-host" / "runs").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="making another user's repository needs root")
def test_a_repository_of_another_user_is_not_taken(run_host: RunHost, sample_repo: Repo) -> None:
    """root may use it, because it runs code for others."""
    os.chown(sample_repo.path / ".git", 1234, 1234)
    run_host("index", "--json", "--no-cache", cwd=sample_repo.path).check()


# ---- Issues by their address ----------------------------------------------------------------------


class Forge:
    """Answers like the APIs of GitHub and GitLab; records the requests."""

    def __init__(self, comments: int) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.status = 200
        self.body: bytes | None = None
        self.comments = [
            {
                "body": f"comment {i}",
                "user": {"login": f"u{i}"},
                "author": {"username": f"u{i}"},
                "created_at": f"2024-05-{i % 28 + 1:02d}T12:00:00Z",
                "system": i == 3,
            }
            for i in range(comments)
        ]

    def answer(self, path: str, query: dict[str, list[str]]) -> Any:
        text = ISSUE.read_text()
        issues = {
            "/api/v3/repos/owner/name/issues/7": {"title": "Seasons are wrong", "body": text},
            "/api/v4/projects/group%2Fsub%2Fname/issues/7": {"title": "Seasons are wrong", "description": text},
        }
        if path in issues:
            return issues[path]
        for issue, behind in zip(issues, ("/comments", "/notes")):
            if path == issue + behind:
                size, page = int(query["per_page"][0]), int(query["page"][0])
                return self.comments[(page - 1) * size : page * size]
        return None


@pytest.fixture
def forge() -> Iterator[tuple[Forge, str]]:
    made = Forge(comments=130)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urllib.parse.urlsplit(self.path)
            made.asked.append((self.path, dict(self.headers)))
            found = made.answer(url.path, urllib.parse.parse_qs(url.query))
            body = made.body or json.dumps(found or {"message": "Not Found"}).encode()
            self.send_response(made.status if found is not None else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield made, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


PLACES = {"github": "/owner/name/issues/7", "gitlab": "/group/sub/name/-/issues/7"}


@pytest.mark.parametrize("dialect", PLACES)
def test_an_issue_by_its_address(
    run_host: RunHost, sample_repo: Repo, tmp_path: Path, forge: tuple[Forge, str], dialect: str
) -> None:
    made, base = forge
    out = tmp_path / "out"
    line = words("--issue", base + PLACES[dialect] + "#note_1", "--out", out)
    tokens = {"GITHUB_TOKEN": TOKEN, "GITLAB_TOKEN": TOKEN}
    result = run_host(*line, cwd=sample_repo.path, env=tokens).check()
    check_patch(result.stdout, sample_repo)
    text = (out / "issue.md").read_text()
    assert text.startswith("# Seasons are wrong\n\n" + ISSUE.read_text())
    said = [line for line in text.splitlines() if line.startswith("comment ")]
    assert said == [f"comment {i}" for i in range(130) if i != 3]
    assert "Comment by u129, 2024-05-18T12:00:00Z:" in text
    told = json.loads(run_host("pr", out, "--json").check().out)
    assert told["issue"] == base + PLACES[dialect] and f"Fixes {told['issue']}\n" in told["body"]
    assert TOKEN not in json.dumps(made.asked), "a token went to a server that nobody named"


def test_a_token_goes_to_the_api_that_was_named(
    run_host: RunHost, sample_repo: Repo, tmp_path: Path, forge: tuple[Forge, str]
) -> None:
    made, base = forge
    line = words("--issue", "https://github.com/owner/name/issues/7", "--issue-api", base + "/api/v3/")
    run_host(*line, "--out", tmp_path / "out", cwd=sample_repo.path, env={"GH_TOKEN": TOKEN}).check()
    assert {headers.get("Authorization") for _, headers in made.asked} == {f"Bearer {TOKEN}"}
    found = [path for path in (tmp_path / "out").rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert found == []


def test_comments_before_a_day(run_host: RunHost, sample_repo: Repo, tmp_path: Path, forge: tuple[Forge, str]) -> None:
    line = words("--issue", forge[1] + PLACES["github"], "--issue-before", "2024-05-03", "--out", tmp_path / "out")
    run_host(*line, cwd=sample_repo.path).check()
    days = {row[-21:-11] for row in (tmp_path / "out" / "issue.md").read_text().splitlines() if "Comment by" in row}
    assert days == {"2024-05-01", "2024-05-02"}


@pytest.mark.parametrize(
    "place,code,said",
    [
        ("/owner/name/issues/8", 3, "404"),
        ("/owner/name/issues/", 2, "not the address of an issue"),
        ("/owner/name/pulls", 2, "not the address of an issue"),
        ("/owner/name/issues/7x", 2, "not the address of an issue"),
        ("/issues/7", 2, "not the address of an issue"),
    ],
)
def test_addresses_of_nothing(
    run_host: RunHost, sample_repo: Repo, forge: tuple[Forge, str], place: str, code: int, said: str
) -> None:
    result = run_host(*words("--issue", forge[1] + place, "--out", "o"), cwd=sample_repo.path)
    result.one_line(code, said)
    assert not (sample_repo.path / "o").exists()


@pytest.mark.parametrize(
    "status,body,said",
    [
        (401, b"{}", "GITHUB_TOKEN"),
        (500, b"{}", "500"),
        (301, b"{}", "moved"),
        (200, b"<html>", "does not answer"),
        (200, b"[]", "no title"),
        (200, b'{"title": "\xff"}', ""),
    ],
)
def test_servers_that_do_not_answer(
    run_host: RunHost, sample_repo: Repo, forge: tuple[Forge, str], status: int, body: bytes, said: str
) -> None:
    made, base = forge
    made.status, made.body = status, body
    result = run_host(*words("--issue", base + PLACES["github"], "--out", "o"), cwd=sample_repo.path)
    result.one_line(3, said)


def test_a_server_out_of_reach_and_a_wrong_day(run_host: RunHost, sample_repo: Repo) -> None:
    line = words("--issue", "http://127.0.0.1:1/owner/name/issues/7", "--out", "o")
    run_host(*line, cwd=sample_repo.path).one_line(3, "127.0.0.1:1")
    run_host(*line, "--issue-before", "May", cwd=sample_repo.path).one_line(2, "--issue-before")
    run_host(*line, "--issue-api", "ftp://x", cwd=sample_repo.path).one_line(2, "--issue-api")
