"""Rows of other data sets: a made-up task of each, graded in environments and in containers, in files of every format.

The reference patch must resolve a task; a wrong patch must not. A broken row must not affect other rows.
"""

from __future__ import annotations

import csv
import gzip
import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import repos
import sandboxes
from graded import LOGS, make_root
from host import Host, Result
from setups import make_environment, packages_of
from test_eval_trust import FIXED, PYTEST_NEW, PYTEST_OLD, SHOP, VERSION, copy_pytest, diff

FAIL, PASS = "tests/test_shop.py::test_total", "tests/test_shop.py::test_name"
TEST = "python -m pytest -rA -p no:cacheprovider"
IMAGE = "acr-host-test/shop"
OF_PRO = "jefzda/sweap-images:own.shop"
OF_GYM = "xingyaoww/sweb.eval.x86_64.own_s_shop-gym:latest"
SCRIPT = f"""#!/bin/bash
set -uxo pipefail
cd /testbed
: '>>>>> Start Test Output'
{TEST}
: '>>>>> End Test Output'
"""
CONFIG = {"python": VERSION, "install": "", "pip_packages": ["own"], "test_cmd": TEST, "log_parser": "parse_log_pytest"}
PARSER = """import re

def parser(log: str) -> dict[str, str]:
    return {found[2]: {"PASSED": "pass"}.get(found[1], "fail") for found in re.finditer(r"^(PASSED|FAILED) (\\S+)", log, re.M)}
"""
PROGRAM = """import json, re, sys
if __name__ == "__main__":
    found = re.findall(r"^(PASSED|FAILED) (\\S+)", open(sys.argv[1]).read(), re.M)
    json.dump({"tests": [{"name": name, "status": word} for word, name in found]}, open(sys.argv[3], "w"))
"""
HOSTILE = """import os, socket, subprocess

def parser(log):
    for path in ("/etc/shadow", os.path.expanduser("~/.ssh"), "/work"):
        assert not os.path.exists(path), path
    open("/usr/mine", "w")
"""


class Shop:
    """The small project, and its task in the format of each data set."""

    def __init__(self, host: Host, folder: Path) -> None:
        self.host, self.folder = host, folder
        self.repo = repos.make_repo(
            folder / "repos" / "own" / "pytest", {"shop.py": SHOP, "tests/test_shop.py": PYTEST_OLD}
        )
        self.hidden: dict[str, str | None] = {"tests/test_shop.py": "import pytest\n\n" + PYTEST_OLD + PYTEST_NEW}
        self.patch = diff(self.repo, {"shop.py": FIXED})
        (folder / "repos" / "iterative").mkdir()
        (folder / "repos" / "iterative" / "dvc").symlink_to(self.repo.path)
        recipes = [
            {"repo": repo, "versions": ["1"], "python": VERSION, "pip": ["pytest"], "test": TEST}
            for repo in ("own/pytest", "iterative/dvc")
        ]
        (folder / "recipes.json").write_text(json.dumps(recipes))
        for pip in (["own", "pytest"], ["pytest"]):
            copy_pytest(packages_of(make_environment(folder / "cache", {"python": VERSION, "pip": pip})))

    def row(self, which: str) -> dict[str, Any]:
        row = {"instance_id": f"own__shop-{which}", "repo": "own/pytest", "problem_statement": "It sums wrong."}
        row |= {"base_commit": self.repo.git("rev-parse", "HEAD"), "patch": self.patch}
        row |= {"test_patch": diff(self.repo, self.hidden), "FAIL_TO_PASS": [FAIL], "PASS_TO_PASS": [PASS]}
        return row | getattr(self, f"as_{which}")()

    def as_bench(self) -> dict[str, Any]:
        end = ": '>>>>> Start"
        script = SCRIPT.replace(end, f"git apply - <<'EOF'\n{diff(self.repo, self.hidden)}EOF\n{end}", 1)
        return {"version": "1", "image": IMAGE, "eval_script": script, "log_parser": "parse_log_pytest"}

    def as_gym(self) -> dict[str, Any]:
        return {"version": "1", "repo": "iterative/dvc"}

    def as_rebench(self) -> dict[str, Any]:
        return {
            "docker_image": IMAGE,
            "install_config": CONFIG,
            "FAIL_TO_PASS": str([FAIL]),
            "meta": {"n": float("nan")},
        }

    def as_rebench2(self) -> dict[str, Any]:
        names = {"FAIL_TO_PASS": [f"{FAIL} [12 ms]"], "PASS_TO_PASS": [f"{PASS} (1.2s)"]}
        return names | {
            "image_name": IMAGE,
            "install_config": {**CONFIG, "test_cmd": [f"{TEST} tests"]},
            "language": "python",
        }

    def as_live(self) -> dict[str, Any]:
        names = {"PASS_TO_PASS": [PASS, "tests/test_shop.py::test_gone"]}  # a missing test has not failed
        return names | {
            "docker_image": IMAGE,
            "rebuild_cmds": [],
            "test_cmds": [f"{TEST} >log.txt"],
            "print_cmds": ["cat log.txt"],
            "parser": PARSER,
        }

    def as_live_pytest(self) -> dict[str, Any]:
        commands = {"rebuild_cmds": [], "test_cmds": [TEST], "print_cmds": []}
        return {"docker_image": IMAGE, **commands, "parser": "pytest"}

    def as_pro(self) -> dict[str, Any]:
        place = self.folder / "run_scripts" / "own__shop-pro"
        place.mkdir(parents=True, exist_ok=True)
        (place / "run_script.sh").write_text(f"{TEST} ${{1//,/ }}\n")
        (place / "parser.py").write_text(PROGRAM)
        row = {"fail_to_pass": str([FAIL]), "pass_to_pass": str([PASS]), "FAIL_TO_PASS": None, "PASS_TO_PASS": None}
        row |= {
            "dockerhub_tag": "own.shop",
            "before_repo_set_cmd": "git checkout own__shop-smith -- tests/test_shop.py",
        }
        return row | {"selected_test_files_to_run": "['tests/test_shop.py']", "requirements": "r", "interface": "i"}

    def as_smith(self) -> dict[str, Any]:
        """A row of a branch named after the instance, whose code the patch has broken and which has the tests."""
        name, git = "own__shop-smith", self.repo.git
        base = git("rev-parse", "HEAD")
        if name not in git("branch", "--list", name):
            git("checkout", "-q", "-b", name)
            self.repo.commit({path: text or "" for path, text in self.hidden.items()})
            git("checkout", "-q", base)
        lines = self.patch.splitlines(keepends=True)
        turned = {"+": "-", "-": "+"}
        body = [turned.get(at[0], at[0]) + at[1:] if number > 3 else at for number, at in enumerate(lines)]
        return {"image_name": IMAGE, "patch": "".join(body), "base_commit": None, "test_patch": None}

    def grade(self, rows: list[Any], predictions: Any, out: str, how: str = "--official-only", **env: str) -> Result:
        text = "".join(f"{at if isinstance(at, str) else json.dumps(at)}\n" for at in rows)
        (self.folder / "data.jsonl").write_text(text)
        return self.eval("data.jsonl", predictions, out, how, **env)

    def eval(self, name: str, predictions: Any, out: str, how: str = "--official-only", **env: str) -> Result:
        if not isinstance(predictions, str):
            (self.folder / "preds.json").write_text(json.dumps(predictions))
            predictions = str(self.folder / "preds.json")
        options = ["--dataset", self.folder / name, "--predictions", predictions, "--run-id", "r"]
        options += ["--out", self.folder / out]
        if "DOCKER_HOST" not in env:
            options += ["--sandbox", "environment", "--repos", self.folder / "repos"]
            options += ["--environments", self.folder / "recipes.json"]
        env["XDG_CACHE_HOME"] = str(self.folder / "cache")
        return self.host.run("eval", *map(str, options), "--jobs", "2", how, env=env, timeout=900)

    def report(self, out: str, model: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / out / f"{model}.r.json").read_text())
        return found


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    sandboxes.need("bubblewrap")
    return Shop(Host(tmp_path_factory.mktemp("home")), tmp_path_factory.mktemp("shop"))


SETS = ["bench", "rebench", "rebench2", "live", "live_pytest", "pro", "smith", "gym"]
IN_IMAGES = ["live", "smith"]  # the two most different ones; with `full`, all
TRIED = ["pro"]  # with experiments in environments; with `full`, all


@pytest.fixture(scope="module")
def engine(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sandboxes.Engine]:
    """An engine with one image that has the project in each set's folder, pytest, and the parts of conda that scripts
    use.
    """
    folder = tmp_path_factory.mktemp("image")
    shop.row("smith")  # creates the branch, which also has the hidden tests of Pro's row
    programs = [shutil.which(name) or name for name in ("env", "sha256sum", "base64")]  # experiments need the last two
    root = make_root(folder, {}, programs, project=shop.repo)
    (folder / "packages").mkdir()
    copy_pytest(folder / "packages")
    (folder / "activate").write_text("conda() { :; }\n")
    (folder / "pytest").write_text('#!/bin/sh\nexec python3 -m pytest "$@"\n')
    (folder / "pytest").chmod(0o755)
    with tarfile.open(root, "a") as tar:
        tar.add(folder / "packages", "usr/lib/python3/dist-packages")
        tar.add(folder / "activate", "opt/miniconda3/bin/activate")
        tar.add(folder / "pytest", "bin/pytest")
        for name, target in {"app": "testbed", "REPO": "testbed", "bin/python": "../usr/bin/python3"}.items():
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            tar.addfile(link)
    started = sandboxes.start("podman", folder / "engine", {IMAGE: root})
    for name in (OF_PRO, OF_GYM):
        repo, tag = name.split(":")
        status, answer = started.call("POST", f"/images/{IMAGE}/tag?repo={repo}&tag={tag}")
        assert status == 201, answer
    yield started
    started.stop()


def check_grades(shop: Shop, sets: list[str], place: str, how: str = "--verbose", **env: str) -> None:
    """The reference patch resolves a task of each set, also in experiments by default; a wrong patch does not."""
    rows = [shop.row(which) for which in sets]
    ids = sorted(row["instance_id"] for row in rows)
    shop.grade(rows, "gold", f"{place}-gold", how, **env).check()
    for name in ids:
        folder = shop.folder / f"{place}-gold" / LOGS / "r" / "gold" / name
        verdict = json.loads((folder / "verdict.json").read_text())
        believed = None if how == "--official-only" else True
        assert (verdict["resolved"], verdict["why"]) == (believed, None), (folder / "test_output.txt").read_text()
    assert shop.report(f"{place}-gold", "gold")["resolved_ids"] == ids
    wrong = diff(shop.repo, {"shop.py": SHOP.replace("[1:]", "[2:]")})
    predictions = [{"instance_id": name, "model_patch": wrong} for name in ids]
    shop.eval("data.jsonl", predictions, f"{place}-wrong", **env).check()
    assert shop.report(f"{place}-wrong", "unnamed-model")["unresolved_ids"] == ids


@pytest.mark.parametrize("tried", [TRIED, pytest.param(SETS, marks=pytest.mark.full)], ids=["few", "all"])
def test_each_set_is_graded_in_environments(shop: Shop, tried: list[str]) -> None:
    check_grades(shop, tried, f"tried-{len(tried)}")
    if others := [name for name in SETS if name not in tried]:
        check_grades(shop, others, "official", "--official-only")


@pytest.mark.parametrize("sets", [IN_IMAGES, pytest.param(SETS, marks=pytest.mark.full)], ids=["two", "all"])
def test_each_set_is_graded_in_its_image(shop: Shop, engine: sandboxes.Engine, sets: list[str]) -> None:
    how = "--verbose" if sets == SETS else "--official-only"  # test_eval has experiments in a container
    check_grades(shop, sets, f"image-{len(sets)}", how, DOCKER_HOST=f"unix://{engine.socket}")


def test_rows_of_swe_gym_need_a_recipe_outside_their_image(shop: Shop) -> None:
    result = shop.grade([{**shop.row("gym"), "version": "2"}], "gold", "gym-2")
    assert "there is no environment for iterative/dvc 2; add one with --environments" in result.err


@pytest.mark.parametrize(("which", "file"), [("live", "results.json"), ("pro", "eval_results.json")])
def test_the_file_of_the_sets_own_harness_is_written(shop: Shop, which: str, file: str) -> None:
    name = f"own__shop-{which}"
    shop.grade([shop.row(which)], "gold", f"own_{which}").check()
    lists = {f"{key}_ids": [] for key in ("failure", "error", "empty_patch", "incomplete")}
    wanted = {"success_ids": [name], **lists} if which == "live" else {name: True}
    assert json.loads((shop.folder / f"own_{which}" / file).read_text()) == wanted


def test_code_of_a_data_set_runs_in_the_sandbox_and_nowhere_else(shop: Shop) -> None:
    row = {**shop.row("live"), "parser": HOSTILE}
    result = shop.grade([row, shop.row("rebench")], "gold", "hostile")
    assert shop.report("hostile", "gold")["resolved_ids"] == ["own__shop-rebench"]
    assert shop.report("hostile", "gold")["error_ids"] == ["own__shop-live"]
    (line,) = [at for at in result.err.splitlines() if "log parser" in at and "live" in at]
    assert "Read-only file system: '/usr/mine'" in line


def test_a_bad_row_fails_and_the_others_go_on(shop: Shop) -> None:
    bad: list[Any] = ['{"instance_id": "own__shop-cut', {"repo": "own/pytest", "test_cmds": []}, 7]
    bad += [{**shop.row("rebench"), "instance_id": "own__shop-list", "FAIL_TO_PASS": "[1"}]
    result = shop.grade([shop.row("rebench"), *bad], "gold", "bad")
    assert shop.report("bad", "gold")["resolved_ids"] == ["own__shop-rebench"]
    errors = shop.report("bad", "gold")["error_ids"]
    assert errors == ["own__shop-list", "row_2", "row_3", "row_4"]
    for said in (
        "row 2 of", "is not JSON", 'row 3 of', 'lacks the string "instance_id"', "row 4 of", "is not an object",
        'row 5 of', '"FAIL_TO_PASS" is not a list of strings',
    ):  # fmt: skip
        assert said in result.err, result.err


def test_files_of_each_kind_hold_the_same_rows(shop: Shop) -> None:
    row = {key: value for key, value in shop.row("pro").items() if value is not None}
    text = json.dumps([row])
    (shop.folder / "whole.json").write_text("\ufeff" + text)
    with gzip.open(shop.folder / "lines.jsonl.gz", "wt") as out:
        out.write(json.dumps(row) + "\r\n")
    with (shop.folder / "table.csv").open("w", newline="") as out:
        writer = csv.DictWriter(out, row)
        writer.writeheader()
        writer.writerow(row)
    for name in ("whole.json", "lines.jsonl.gz", "table.csv"):
        shop.eval(name, "gold", f"as_{name}").check()
        assert shop.report(f"as_{name}", "gold")["resolved_ids"] == ["own__shop-pro"], name


def test_a_user_can_add_a_table(shop: Shop, tmp_path: Path) -> None:
    place = tmp_path / "config" / "acr-host" / "datasets"
    place.mkdir(parents=True)
    table = {"name": "own", "known_by": ["my_tests"], "image": ["x"], "folder": "/testbed", "test": ["my_tests"]}
    table |= {"parser_text": "parse_log_pytest", "counts": "passed"}
    (place / "own.json").write_text(json.dumps(table))
    row = shop.row("rebench")
    del row["install_config"]
    row |= {"instance_id": "own__shop-mine", "my_tests": f"{TEST} tests"}
    (shop.folder / "mine.jsonl").write_text(json.dumps(row))
    shop.eval("mine.jsonl", "gold", "mine", XDG_CONFIG_HOME=str(tmp_path / "config")).check()
    assert shop.report("mine", "gold")["resolved_ids"] == ["own__shop-mine"]
