"""The user's configuration file, and the result of a run as one JSON object."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Callable

import pytest
from host import Result
from loopback import Failure, LoopbackOpenAI
from repos import Repo
from runs import ISSUE, SCRIPT, arguments, read_json

RunHost = Callable[..., Result]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The path of this user's configuration file, which does not exist yet."""
    (tmp_path / "xdg" / "acr-host").mkdir(parents=True)
    return tmp_path / "xdg" / "acr-host" / "config"


def home(config: Path) -> dict[str, str]:
    """The variable that locates it."""
    return {"XDG_CONFIG_HOME": str(config.parents[1])}


def test_file_sets_what_no_option_gives(run_host: RunHost, sample_repo: Repo, tmp_path: Path, config: Path) -> None:
    config.write_text("# mine\n\nrounds = 7\ntries=2\nvalidate = true\ntask-max-cost = 3\n", "utf-8")
    run = arguments(sample_repo, tmp_path / "out", "--rounds", 9, "--sandbox=plain")
    run_host(*run, env=home(config)).check()
    options = read_json(tmp_path / "out" / "meta.json")["options"]
    assert (options["rounds"], options["tries"], options["validate"]) == (9, 2, "true")
    config.write_text("tries = 3\nvalidate = true\n", "utf-8")
    run_host(*run, env=home(config)).one_line(2, "started with --tries 2; ")


def test_a_default_goes_with_what_is_asked_for(run_host: RunHost, sample_repo: Repo, config: Path) -> None:
    """A configured option is ignored if it conflicts with a given option, or needs one that is not given."""
    config.write_text("setup-network = true\nsetup-timeout = 100\nimage = none:1\n", "utf-8")
    command = ["exec", "--repo", sample_repo]
    run_host(*command, "--sandbox=plain", "--", "true", env=home(config)).check()
    config.write_text("sandbox = plain\n", "utf-8")
    asked = run_host(*command, "--image=none:1", "--", "true", env=home(config) | {"DOCKER_HOST": "unix:///nowhere"})
    assert asked.exit == 125 and "--image needs" not in asked.err
    config.write_text("sandbox = plain\nimage = none:1\n", "utf-8")
    run_host(*command, "--", "true", env=home(config)).one_line(2, "--image needs --sandbox container")


def test_a_line_for_another_verb_is_left_alone(
    run_host: RunHost, sample_repo: Repo, tmp_path: Path, config: Path
) -> None:
    """In the file, `jobs` is an option of batches; verbs whose `jobs` means something else ignore the line."""
    config.write_text("jobs = 4\ntask-max-cost = 1\n", "utf-8")
    run_host("index", "--repo", sample_repo, env=home(config)).check()
    config.write_text("jobs = many\nlimit = 1\nkey-file = /a\n", "utf-8")
    run_host("index", "--repo", sample_repo, env=home(config)).check()
    run_host("search", "--list", env=home(config)).one_line(2, "line 2: 'limit' can only be given on the command line")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\nnonsense = 1\n", "line 2: 'nonsense' is not an option"),
        ("rounds = many\n", "line 1: rounds must be from 1 to 1000, not 'many'"),
        ("repo = /x\n", "line 1: 'repo' can only be given on the command line"),
        ("verbose\n", "line 1: must be 'name = value'"),
        ("rounds = 3\ntries = 4\0\n", "line 2: contains a NUL byte"),
        ("key-file = /a\n", "line 1: 'key-file' applies to one provider; "),
    ],
)
def test_bad_line_is_named(
    run_host: RunHost, sample_repo: Repo, tmp_path: Path, config: Path, text: str, said: str
) -> None:
    config.write_text(text, "utf-8")
    line = run_host(*arguments(sample_repo, tmp_path / "out"), env=home(config)).one_line(2, said)
    assert str(config) in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("target", ["nowhere", "config"])
def test_a_link_that_leads_nowhere_is_told(run_host: RunHost, sample_repo: Repo, config: Path, target: str) -> None:
    config.symlink_to(config.parent / target)
    run_host("index", "--repo", sample_repo, env=home(config)).one_line(2, str(config))


def test_file_of_the_repository_is_not_read(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    sample_repo.write({"config": "nonsense\n", ".config/acr-host/config": "nonsense\n"})
    run = [*arguments(sample_repo, tmp_path / "out"), "--rev", "HEAD"]
    run_host(*run, cwd=sample_repo.path).check()


def test_result_is_one_object(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    """The run, the finished run and the replay print the object that is in the folder."""
    out = tmp_path / "out"
    run = arguments(sample_repo, out, "--json")
    first = run_host(*run).check()
    assert json.loads(first.out) == read_json(out / "result.json") | {"folder": str(out)}
    assert run_host(*run).check().stdout == first.stdout
    assert run_host("replay", "--json", out).check().stdout == first.stdout
    patch = run_host(*arguments(sample_repo, out)).check().out
    assert json.loads(first.out)["patch"] == patch


def test_run_without_a_patch_has_a_result(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    run = arguments(sample_repo, tmp_path / "out", "--tries", 1, "--json")
    result = json.loads(run_host(*run).check(1).out)
    assert (result["verdict"], result["patch"], result["exit"]) == ("none", None, 1)
    assert result["status"] == "RAW_PATCH_BUT_UNMATCHED"


def test_patch_that_was_validated_says_so(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    run = arguments(sample_repo, tmp_path / "out", "--json", "--sandbox=plain", "--validate=true")
    assert json.loads(run_host(*run).check().out)["verdict"] == "validated"


def test_cost_is_told_by_a_run_that_fails(
    run_host: RunHost, loopback_openai: Callable[..., LoopbackOpenAI], sample_repo: Repo, tmp_path: Path
) -> None:
    server = loopback_openai(SCRIPT)
    server.fail(Failure("status", 401), at=3)
    run = arguments(sample_repo, tmp_path / "out", "--json", model=server.model)
    failed = run_host(*run, env=server.environment).check(3)
    result = json.loads(failed.out)
    assert (result["verdict"], result["exit"], result["error"]["class"]) == ("none", 3, "auth")
    assert result["cost"]["calls"] == 3 and "acr-host run: 3 calls, " in failed.err
    assert not (tmp_path / "out" / "result.json").exists()


@pytest.mark.parametrize("tag", [b"\xff\xfe", "two\nlines", "\x1b[31m"])
def test_tag_is_one_line_of_text(run_host: RunHost, sample_repo: Repo, tmp_path: Path, tag: str | bytes) -> None:
    run = arguments(sample_repo, tmp_path / "out")
    run_host(*run, "--tag", tag).one_line(2, "--tag must be UTF-8 without control characters")


def test_tag_is_kept_where_it_was_given(run_host: RunHost, sample_repo: Repo, tmp_path: Path) -> None:
    """The tag is in meta.json, the result and the prediction; without a tag, none has the member."""
    row = {"instance_id": "a__b-1", "repo": "a/b", "base_commit": "HEAD", "problem_statement": ISSUE.read_text("utf-8")}
    (tmp_path / "tasks.json").write_text(json.dumps([row]), "utf-8")
    (tmp_path / "repos").mkdir()
    sample_repo.path.rename(tmp_path / "repos" / "a__b")
    batch = ["swe-bench", "--dataset", tmp_path / "tasks.json", "--repos", tmp_path / "repos", "--verify=never"]
    for tag in ("first try", None):
        out = tmp_path / f"out-{tag}"
        run_host(*batch, "--model", f"script:{SCRIPT}", "--out", out, *(["--tag", tag] if tag else [])).check()
        prediction = json.loads((out / "preds.jsonl").read_text("utf-8"))
        assert prediction.get("tag") == tag == read_json(out / "a__b-1" / "result.json").get("tag")
        assert read_json(out / "a__b-1" / "meta.json")["options"]["tag"] == tag
        assert ("tag" in prediction) == bool(tag)
        refused = run_host(*batch, "--model", f"script:{SCRIPT}", "--out", out, "--tag", "other").check(2)
        assert "use the same value, or another --out" in refused.err or "leave out this option" in refused.err
        assert json.loads((out / "preds.jsonl").read_text("utf-8")) == prediction


# ---- Where a value comes from --------------------------------------------------------------------


def test_each_value_is_shown_with_its_source(run_host: RunHost, config: Path) -> None:
    config.write_text("rounds = 7\nmodel = openai/a\nmodel = openai/b\n")
    env = home(config) | {"ACR_KEY_COMMAND": "pass show key", "ACR_HEADERS": "X-Token: hush"}
    rows = {row["option"]: row for row in json.loads(run_host("config", "--json", env=env).check().stdout)}
    assert (rows["rounds"]["value"], rows["rounds"]["source"]) == ("7", "file")
    assert (rows["model"]["value"], rows["model"]["source"]) == ("openai/a openai/b", "file")
    assert (rows["key-command"]["source"], rows["key-command"]["variable"]) == ("environment", "ACR_KEY_COMMAND")
    assert (rows["tries"]["source"], rows["max-cost"]["source"]) == ("default", "not set")
    told = [(rows[name]["value"], rows[name]["source"]) for name in ("setup-timeout", "answer-time", "samples")]
    assert told == [("3600", "default"), ("1800", "default"), ("1", "default")]
    out = run_host("config", env=env).check().out
    assert out.startswith(f"# {config}\n") and re.search(r"^rounds +file +7$", out, re.M)
    assert "pass show key" in out and "hush" not in out
    config.write_text("rounds = x\n")
    run_host("config", env=env).one_line(2, str(config), "rounds")
    run_host("config", "nothing", env=env | {"XDG_CONFIG_HOME": "/nowhere"}).one_line(2, "'nothing'")


def test_values_are_those_of_the_verb(run_host: RunHost, config: Path) -> None:
    rows = json.loads(run_host("config", "exec", "--json", env=home(config)).check().stdout)
    assert "rounds" not in {row["option"] for row in rows}
    assert run_host("config", "exec", env=home(config)).check().out.startswith(f"# {config} (not there)\n")
