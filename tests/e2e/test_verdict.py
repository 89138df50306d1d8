"""Honest and forged pairs of a patch and a script: the verdict of a run with a sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sandboxes
import verdict_cases
from host import Host
from repos import make_repo
from runs import read_json
from verifying import Case, need_bubblewrap, verified

ALL = sorted(path.stem for path in verdict_cases.FOLDER.glob("*.txt"))
IMAGE = "acr-host-test/verdict"
USUAL = [
    *["forged_end_osexit_after_flush", "forged_builtin_assertionerror", "forged_eq_metaclass", "forged_only_argv0"],
    *["forged_shadow_unittest", "honest_async_run", "honest_child_dash_m"],
]


def judged(host: Host, folder: Path, name: str, *options: object, **more: object) -> str:
    """The verdict of a run on a case."""
    parts = verdict_cases.sections(name)
    case = Case(host, make_repo(folder / "repo", verdict_cases.files(parts)), folder, ["--verify", *options])
    result = case.run(verdict_cases.lines(parts), "--tries", "1", timeout=300, **more)
    if result.exit == 1:  # a rejected patch, or no applicable patch
        return read_json(case.out / "result.json")["why"] or "no patch could be applied"
    return verified(result.check())


def check(name: str, told: str) -> None:
    assert told.startswith("yes") == name.startswith(("honest", "weak")), told


@pytest.mark.parametrize("name", USUAL)
def test_case(host: Host, tmp_path: Path, name: str) -> None:
    need_bubblewrap()
    check(name, judged(host, tmp_path, name))


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in ALL if name not in USUAL])
def test_other_case(host: Host, tmp_path: Path, name: str) -> None:
    need_bubblewrap()
    check(name, judged(host, tmp_path, name))


@pytest.fixture(scope="module", params=["podman", pytest.param("dockerd", marks=pytest.mark.full)])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sandboxes.Engine]:
    """An engine with an image of a small project."""
    folder = tmp_path_factory.mktemp(request.param)
    sandboxes.make_rootfs({"m.py": "def f(x):\n    return x + 2\n"}, folder / "root.tar")
    started = sandboxes.start(request.param, folder / "engine", {IMAGE: folder / "root.tar"})
    yield started
    started.stop()


def check_in_image(host: Host, folder: Path, engine: sandboxes.Engine, name: str) -> None:
    """The same in a container whose image has the case's files."""
    own = f"{IMAGE}-{name.replace('_', '-')}"
    engine.extend(IMAGE, verdict_cases.files(verdict_cases.sections(name)), own)
    check(name, judged(host, folder, name, "--image", own, env={"DOCKER_HOST": f"unix://{engine.socket}"}))
    engine.remove_image(own)


@pytest.mark.parametrize("name", ["forged_only_argv0", "honest_plain"])
def test_case_in_an_image(host: Host, tmp_path: Path, engine: sandboxes.Engine, name: str) -> None:
    check_in_image(host, tmp_path, engine, name)


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in ALL[::4] if not name.startswith("weak")])
def test_other_case_in_an_image(host: Host, tmp_path: Path, engine: sandboxes.Engine, name: str) -> None:
    check_in_image(host, tmp_path, engine, name)


def test_an_answer_on_a_machine_with_a_number_for_a_name(host: Host, tmp_path: Path, engine: sandboxes.Engine) -> None:
    """Containers have such names: an answer only for such a name proves nothing, and code that reads it is not plain."""
    before = "def f(x):\n    return x + 2\n"
    condition = "len(name) == 12 and int(name, 16)"
    after = f"import os\n\nname = os.uname().nodename\n\ndef f(x):\n    return x + (1 if {condition} else 2)\n"
    parts = {"before m.py": before, "after m.py": after, "script": "from m import f\nassert f(1) == 2\n"}
    case = Case(
        host, make_repo(tmp_path / "repo", verdict_cases.files(parts)), tmp_path, ["--verify", "--image", IMAGE]
    )
    environment = {"DOCKER_HOST": f"unix://{engine.socket}"}
    result = case.run(verdict_cases.lines(parts), "--tries", "1", timeout=300, env=environment).check()
    assert case.execution(1, 1)["result"] == "passed", result.told()
    assert verified(result).startswith("no (") and "os.uname" in verified(result), result.told()
