"""`doctor` and `run --dry-run`: what the machine lacks, and what a run would do; neither asks a model."""

from __future__ import annotations

import http.server
import json
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
from host import Host, Result, install
from repos import Repo, digest
from runs import ISSUE, SCRIPT, arguments, folder_digest

RunHost = Callable[..., Result]
KEY = "sk-loopback-0123456789"


class Server(http.server.ThreadingHTTPServer):
    """Answers every request with 401, and keeps its line and headers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[tuple[str, dict[str, str]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.seen.append((self.requestline, dict(self.headers)))  # type: ignore[attr-defined]
        self.send_error(401)

    do_POST = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def rows(result: Result) -> dict[str, dict[str, Any]]:
    return {row["check"]: row for row in json.loads(result.stdout)["checks"]}


def test_a_machine_that_can_do_the_main_job(run_host: RunHost) -> None:
    result = run_host("doctor", "--json").check()
    found = rows(result)
    assert json.loads(result.stdout)["ok"] is True and result.err == ""
    assert {"prompts", "python", "pylint", "worker", "sandbox", "engine", "keys", "cache", "locale"} <= set(found)
    assert all(found[name]["state"] == "ok" for name in ("prompts", "python", "worker"))
    for row in found.values():
        assert (row["remedy"] is None) == (row["state"] == "ok"), row
    wrong = rows(run_host("doctor", "--python", "/bin/true", "--json").check())["sandbox"]
    assert found["sandbox"]["state"] != "ok" or "'/bin/true' is not a Python interpreter" in wrong["found"]
    lines = run_host("doctor").check().out.splitlines()
    assert [line.split()[0] for line in lines] == [row["state"] for row in found.values()]


def test_what_is_missing_is_named_with_its_remedy(host: Host, tmp_path: Path) -> None:
    program = install(host.program, tmp_path / "installed")
    own = Host(tmp_path / "home", program)
    (tmp_path / "home").mkdir()
    without = {"PATH": "/nowhere", "LANG": "C", "LC_ALL": None}
    found = rows(own.run("doctor", "--json", env=without).check())
    assert found["sandbox"]["state"] == "warning" and "bubblewrap" in found["sandbox"]["remedy"]
    assert found["locale"]["state"] == found["keys"]["state"] == "warning"
    shutil.rmtree(tmp_path / "installed" / "share" / "acr-host" / "prompts")
    broken = own.run("doctor", "--json").check(3)
    assert rows(broken)["prompts"]["state"] == "failed" and json.loads(broken.stdout)["ok"] is False
    own.close()


def test_keys_are_found_and_never_shown(run_host: RunHost) -> None:
    lacking = run_host("doctor", "--model", "openai/gpt-4.1", "--json").check(3)
    assert "OPENAI_API_KEY" in rows(lacking)["model openai/gpt-4.1"]["found"]
    given = run_host("doctor", "--model", "openai/gpt-4.1", "--json", env={"OPENAI_API_KEY": KEY}).check()
    assert (
        rows(given)["model openai/gpt-4.1"]["found"]
        == "api.openai.com:443, key from OPENAI_API_KEY; not contacted (add --online)"
    )
    assert "OPENAI_API_KEY" in rows(given)["keys"]["found"] and KEY not in given.out + given.err


def test_online_connects_without_the_key(run_host: RunHost, server: Server) -> None:
    env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url}
    run_host("doctor", "--model", "openai/gpt-4.1", env=env).check()
    assert server.seen == []
    found = rows(run_host("doctor", "--model", "openai/gpt-4.1", "--online", "--json", env=env).check())
    assert found["model openai/gpt-4.1"]["found"].endswith("; answers (HTTP 401)")
    ((line, headers),) = server.seen
    assert line.startswith("GET /v1 ") and KEY not in str(headers)
    server.shutdown()
    server.server_close()
    lost = run_host("doctor", "--model", "openai/gpt-4.1", "--online", "--json", env=env).check(3)
    assert rows(lost)["model openai/gpt-4.1"]["state"] == "failed"
    run_host("doctor", "--online").one_line(2, "--online needs --model")


# ---- A dry run ------------------------------------------------------------------------------------


def plan(result: Result) -> dict[str, Any]:
    return json.loads(result.check().stdout)


def test_a_dry_run_asks_nobody_and_writes_nothing(
    run_host: RunHost, sample_repo: Repo, server: Server, tmp_path: Path
) -> None:
    before, state = digest(sample_repo.path), tmp_path / "state"
    env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url, "XDG_STATE_HOME": str(state)}
    words = ["run", "--repo", sample_repo, "--issue", ISSUE, "--model", "openai/gpt-4.1", "--dry-run"]
    told = plan(run_host(*words, "--json", "--max-cost", "2.5", "--validate", "true", env=env))
    (model,) = told["models"]
    assert (model["price"], model["key"], model["usd_per_million_in"]) == ("known", "OPENAI_API_KEY", 2)
    assert (model["typical_microusd"], model["large_microusd"]) == (88_000, 1_032_000)
    said = "\nestimate    0.09 USD for typical issues, 1.03 USD for large ones (1 issue, first model, one attempt)\n"
    assert said in run_host(*words, env=env).check().out
    low = run_host(*words, "--max-cost", "0.08", env=env).check().out
    assert "at most 0.080000 USD; less than the estimate for typical issues\n" in low
    assert (
        told["limits"]["most_microusd"] == 2_500_000
        and told["code"]["validate"] == "true"
        and told["code"]["regressions"] is False
    )
    assert told["folder"] == {"path": None, "state": "new"} and told["repository"]["python_files"] > 10
    assert plan(run_host(*words, "--json", env=env))["limits"]["most_microusd"] is None
    text = run_host(*words, "--rev", "HEAD", "--test-cmd", "pytest -q x", env=env).check()
    assert "\ntests       pytest -q x; run once without a patch, unless that result is cached" in text.out
    assert sample_repo.head in text.out and "--max-cost USD" in text.out and KEY not in text.out
    assert server.seen == [] and not state.exists() and digest(sample_repo.path) == before


@pytest.mark.full
def test_the_time_of_the_tests_is_told_before_they_run_again(
    run_host: RunHost, sample_repo: Repo, tmp_path: Path
) -> None:
    words = [*arguments(sample_repo, tmp_path / "o"), "--regressions"]
    assert "last time" not in run_host(*words, "--dry-run").check().out
    run_host("tests", "--repo", sample_repo)
    assert re.search(r"(?m)^tests .*; the tests took \d+ s last time;", run_host(*words, "--dry-run").check().out)
    told = [line for line in run_host(*words).progress if line.endswith("last time")]
    assert len(told) == 1 and told[0].startswith("the project's tests took "), told


def test_a_dry_run_fails_as_the_run_would(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_host(*arguments(sample_repo, out)).check()
    before = folder_digest(out)
    assert plan(run_host(*arguments(sample_repo, out, "--dry-run", "--json")))["folder"]["state"] == "finished"
    run_host(*arguments(sample_repo, out, "--dry-run", "--rounds", "3")).one_line(2, "--rounds 15")
    keyless = run_host(*arguments(sample_repo, tmp_path / "o", "--dry-run", model="openai/gpt-4.1")).check()
    assert "\nkey         missing: set OPENAI_API_KEY, or give" in keyless.out and "\nestimate " in keyless.out
    words = ["run", "--repo", sample_repo, "--issue", "nowhere", "--model", f"script:{SCRIPT}", "--dry-run"]
    run_host(*words).one_line(2, "cannot read the issue")
    always = arguments(sample_repo, tmp_path / "o", "--dry-run", verify="always")
    run_host(*always, env={"PATH": "/nowhere"}).one_line(3, "bubblewrap")
    assert folder_digest(out) == before and not (tmp_path / "o").exists()
