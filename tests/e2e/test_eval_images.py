"""The images of graded tasks: found by name, pulled, built, shared, removed; failing engines and invalid input.

The registry is a test server on loopback; the engines are podman and, with `full`, Debian's dockerd.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import repos
import sandboxes
import verifying
from graded import CODE, FIX, make_root
from host import Host, Result
from registry import Registry
from runs import write_script

IMAGE = "acr-host-test/imaged"
BUILT = "sweb.eval.x86_64.a__b-1"
RUN = "trial"
# Images without Python are pulled sooner.
CHECK = "if grep -q 'x + 1' m.py"
SCRIPT = f"""#!/bin/bash
set -uxo pipefail
cd /testbed
: '>>>>> Start Test Output'
{CHECK}; then echo PASSED t::a; else echo FAILED t::a - wrong; fi
: '>>>>> End Test Output'
"""
ROW = {"instance_id": "a__b-1", "repo": "pallets/flask", "FAIL_TO_PASS": '["t::a"]', "PASS_TO_PASS": "[]"}
ROW |= {"image": IMAGE, "eval_type": "pass_and_fail", "log_parser": "parse_log_pytest", "eval_script": SCRIPT}
WITHOUT_IMAGE = {key: value for key, value in ROW.items() if key != "image"}


# ---- An engine, and tasks to grade in it ----


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root archive with the project as git has it."""
    return make_root(tmp_path_factory.mktemp("root"), {"m.py": CODE}, with_python=False)


@pytest.fixture(scope="module")
def foreign(root: Path) -> Path:
    """The same with programs for another machine, whose shell this kernel cannot run."""
    folder = root.parent / "foreign"
    folder.mkdir()
    subprocess.run(["tar", "-xf", root, "-C", folder, "bin"], check=True)
    for name in ("busybox", "bash"):
        data = bytearray((folder / "bin" / name).read_bytes())
        data[18:20] = b"\x16\0"  # for S/390, which is probably not emulated here
        (folder / "bin" / name).write_bytes(data)
    subprocess.run(["tar", "-cf", root.parent / "foreign.tar", "-C", folder, "."], check=True)
    return root.parent / "foreign.tar"


def apart(root: Path, folder: Path) -> Path:
    """The same root, without a layer that an engine may already have."""
    (folder / "apart").write_text(str(folder))
    archive = shutil.copy(root, folder / "apart.tar")
    subprocess.run(["tar", "-rf", archive, "-C", folder, "apart"], check=True)
    return archive


@pytest.fixture(scope="module")
def registry() -> Iterator[Registry]:
    made = Registry()
    yield made
    made.close()


@pytest.fixture(scope="module", params=["podman", pytest.param("dockerd", marks=pytest.mark.full)])
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, root: Path, registry: Registry
) -> Iterator[sandboxes.Engine]:
    folder = tmp_path_factory.mktemp(request.param)
    more = {"registry": registry.address} if request.param == "podman" else {}
    started = sandboxes.start(request.param, folder / "engine", {BUILT: root, IMAGE: root}, **more)
    yield started
    assert started.containers() == []
    started.stop()


def check_end(result: Result) -> Result:
    """The result; the exit code must be 3 only if it says that a prediction could not be graded."""
    return result.check(3 if re.search("(no task could be run|could not be graded) on this machine", result.err) else 0)


@dataclass
class Grading:
    """Grades predictions for rows in an engine, without experiments; `folder` contains all files."""

    host: Host
    folder: Path
    engine: sandboxes.Engine | None

    def command(self, rows: list[dict[str, Any]], *more: object, patch: str | None = FIX) -> list[object]:
        for name, content in {
            "dataset.jsonl": rows,
            "preds.jsonl": [{"instance_id": row["instance_id"], "model_patch": patch} for row in rows],
        }.items():
            (self.folder / name).write_text("".join(f"{json.dumps(line)}\n" for line in content))
        known = ["--dataset", self.folder / "dataset.jsonl", "--run-id", RUN, "--out", self.folder / "out"]
        known += ["--official-only"]
        return ["eval", *known, "--predictions", self.folder / "preds.jsonl", "--json", *more]

    def environment(self) -> dict[str, str]:
        assert self.engine
        return {"DOCKER_HOST": f"unix://{self.engine.socket}"}

    def run(self, rows: list[dict[str, Any]], *more: object, env: Any = None, **options: Any) -> Result:
        command = self.command(rows, *more, **options)
        return self.host.run(*command, env=env or self.environment(), timeout=300)

    def ended(self, rows: list[dict[str, Any]], *more: object, **options: Any) -> dict[str, str]:
        """The grade of each prediction."""
        report = json.loads(check_end(self.run(rows, *more, **options)).stdout)
        kinds = ("resolved", "unresolved", "error", "empty_patch")
        return {name: kind for kind in kinds for name in report[f"{kind}_ids"]}

    def refused(self, rows: list[dict[str, Any]], *more: object, **options: Any) -> str:
        """The line on stderr that says why the first prediction was not graded; none was graded."""
        result = check_end(self.run(rows, *more, **options))
        assert json.loads(result.stdout)["error_ids"] == [row["instance_id"] for row in rows], result.told()
        lines = [line for line in result.err.splitlines() if ": error: " in line]
        assert len(lines) == len(rows), result.told()
        return lines[0]

    def start(self, rows: list[dict[str, Any]], *more: object) -> subprocess.Popen[bytes]:
        """Start in the background; returns once the script runs in a container."""
        assert self.engine
        started = self.host.start(*self.command(rows, *more), env=self.environment())
        until = time.monotonic() + 120
        while time.monotonic() < until and started.poll() is None:
            if any(self._has_begun(container["Id"]) for container in self.engine.containers()):
                return started
            time.sleep(0.1)
        raise AssertionError("no container began")

    def _has_begun(self, container: str) -> bool:
        assert self.engine
        return self.engine.call("GET", f"/containers/{container}/archive?path=/tmp/begun")[0] == 200


@pytest.fixture
def grading(host: Host, tmp_path: Path, engine: sandboxes.Engine) -> Grading:
    return Grading(host, tmp_path, engine)


SLOW = ROW | {"eval_script": SCRIPT.replace(CHECK, f"touch /tmp/begun; sleep 600; {CHECK}")}


# ---- Names ----


def test_an_image_that_was_built_has_another_name_than_the_published_one(grading: Grading) -> None:
    assert grading.ended([WITHOUT_IMAGE]) == {"a__b-1": "resolved"}
    (verdict,) = grading.folder.glob("out/logs/run_evaluation/*/*/*/verdict.json")
    assert json.loads(verdict.read_text())["image"].endswith(BUILT + ":latest")


def test_a_template_names_images(grading: Grading) -> None:
    row = ROW | {"image": "gone", "flavour": "IMAGED"}
    assert grading.ended([row], "--image-template", "sweb.eval.x86_64.{instance_id}") == {"a__b-1": "resolved"}
    assert grading.ended([row], "--image-template", "acr-host-test/{flavour}") == {"a__b-1": "resolved"}
    said = grading.refused([row], "--no-pull", "--image-template", "x/{arch}.{id_1776}:{flavour}")
    assert f"no image 'x/{os.uname().machine}.a_1776_b-1:imaged'" in said
    grading.run([row], "--image-template", "x/{nothing}").one_line(2, "row of 'a__b-1' lacks the string \"nothing\"")


# ---- Pulling ----


def test_missing_images_are_pulled_once_shared_and_removed(grading: Grading, registry: Registry, root: Path) -> None:
    assert grading.engine
    name = registry.add("graded:one", root)
    rows = [ROW | {"instance_id": f"a__b-{number}", "image": name} for number in (1, 2, 3)]
    before, others = grading.engine.images(), registry.pulls("graded:one")
    assert set(grading.ended(rows, "--jobs", "2").values()) == {"resolved"}
    pulls = registry.pulls("graded:one")
    assert pulls == others + 1
    assert grading.engine.images() == before
    assert grading.engine.containers() == []
    assert set(grading.ended(rows).values()) == {"resolved"}  # the grade is kept, so no image is needed
    assert registry.pulls("graded:one") == pulls


def test_a_level_keeps_images(grading: Grading, registry: Registry, root: Path) -> None:
    assert grading.engine
    name = registry.add("graded:two", root)
    before = grading.engine.images()
    assert grading.ended([ROW | {"image": name}], "--cache", "instance") == {"a__b-1": "resolved"}
    assert [image for image in grading.engine.images() if image not in before] == [name]
    # An image that existed before stays at every level.
    assert grading.ended([ROW | {"image": name}], "--cache", "none", "--rules", "4") == {"a__b-1": "resolved"}
    assert name in grading.engine.images()
    grading.engine.remove_image(name)


@pytest.mark.parametrize(
    ("level", "kept"),
    [
        pytest.param("none", set(), marks=pytest.mark.full),
        ("base", {"base"}),
        pytest.param("env", {"base", "env"}, marks=pytest.mark.full),
    ],
)
def test_levels_of_what_a_build_brings_along(
    grading: Grading, registry: Registry, root: Path, level: str, kept: set[str]
) -> None:
    assert grading.engine
    layers = {kind: registry.add(f"sweb.{kind}.py.x86_64:latest", root) for kind in ("base", "env")}
    before = grading.engine.images()
    folder = grading.folder / "files" / "a__b-1"
    folder.mkdir(parents=True)
    lines = [f"FROM {layers['base']} AS base", f"FROM {layers['env']}", "COPY --from=base /testbed/m.py /copied"]
    (folder / "Dockerfile").write_text("\n".join(lines) + "\n")
    row = ROW | {"image": "acr-host-test/layered:latest"}
    assert grading.ended([row], "--cache", level, "--dockerfiles", folder.parent) == {"a__b-1": "resolved"}
    left = [name for name in grading.engine.images() if name not in before]
    for name in left:
        grading.engine.remove_image(name)
    named = {kind for kind, layer in layers.items() if layer in left}
    assert named == kept, left


def test_what_cannot_be_pulled_is_one_line(grading: Grading, registry: Registry) -> None:
    assert grading.engine
    before = grading.engine.images()
    said = grading.refused([ROW | {"image": f"{registry.address}/graded:gone"}])
    assert f"cannot pull the image '{registry.address}/graded:gone'" in said
    assert "manifest unknown" in said
    asked = len(registry.asked)
    said = grading.refused([ROW | {"image": f"{registry.address}/graded:gone"}], "--no-pull")
    assert "or leave out --no-pull" in said
    assert len(registry.asked) == asked
    assert grading.engine.images() == before


def test_too_little_room_stops_before_a_pull(grading: Grading, registry: Registry, root: Path) -> None:
    assert grading.engine
    name = registry.add("graded:three", root)
    rows = [ROW | {"image": name}, ROW | {"instance_id": "a__b-2", "image": name}]
    result = grading.run(rows, "--min-free", 16 * 1024 * 1024)
    said = result.one_line(3, str(grading.engine.folder))
    assert said.endswith("MB free; free disk space, or lower --min-free (16777216); rerun to resume")
    assert registry.pulls("graded:three") == 0
    # An image that exists needs no space.
    assert grading.ended([ROW], "--min-free", 16 * 1024 * 1024) == {"a__b-1": "resolved"}


# ---- Building ----


def test_missing_images_are_built_of_local_files(grading: Grading) -> None:
    assert grading.engine
    folder = grading.folder / "files" / "a__b-1"
    folder.mkdir(parents=True)
    (folder / "Dockerfile").write_text(f"FROM {IMAGE}\nCOPY data /data\nRUN sed 's/.*/&&/' /data >/made\n")
    (folder / "data").write_text("ab")
    script = SCRIPT.replace(CHECK, f'[ "$(cat /made)" = abab ] && {CHECK}')
    row = ROW | {"image": "acr-host-test/made:1", "eval_script": script}
    assert grading.ended([row], "--dockerfiles", folder.parent) == {"a__b-1": "resolved"}
    assert not [name for name in grading.engine.images() if "made" in name]


def test_a_task_repository_s_own_files_build_its_image(grading: Grading) -> None:
    """A data set that is a folder needs no option for its Dockerfiles; another test covers reading it."""
    folder = grading.folder / "tasks" / "a__b-1"
    folder.mkdir(parents=True)
    (folder / "Dockerfile").write_text(f"FROM {IMAGE}\nRUN echo 1 >/made\n")
    program = grading.folder / "bin" / "python3"
    program.parent.mkdir()
    row = ROW | {"image": "acr-host-test/made:3"}
    (grading.folder / "row.json").write_text(json.dumps(row) + "\n")
    program.write_text(f"#!/bin/sh\ncat {grading.folder}/row.json\n")
    program.chmod(0o755)
    env = grading.environment() | {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    command = grading.command([row])
    command[command.index(grading.folder / "dataset.jsonl")] = grading.folder
    report = json.loads(grading.host.run(*command, env=env, timeout=300).check().stdout)
    assert report["resolved_ids"] == ["a__b-1"]


def test_missing_images_are_built_by_a_recipe(grading: Grading, root: Path) -> None:
    """The project's repository has later commits, which are not in the image."""
    assert grading.engine
    repo = repos.make_repo(grading.folder / "repos" / "pallets" / "flask", {"m.py": CODE, "mine": "1\n"})
    commit = repo.git("rev-parse", "HEAD")
    (repo.path / "later").write_text("x")
    repo.git("add", "later")
    repo.git("commit", "-q", "-m", "later")
    script = SCRIPT.replace(
        ": '>>>>> Start", f"git checkout {commit} mine\ncat mine set up\n[ ! -e later ]\n: '>>>>> Start", 1
    )
    is_set_up = "[ $(git log --all --format=%s | wc -l) = 1 ] && [ \"$(cat 'set up')\" = 1 ]"
    script = script.replace(CHECK, f"{is_set_up} && {CHECK}")
    row = ROW | {"image": "acr-host-test/recipe:1", "base_commit": commit, "eval_script": script}
    recipe = ["--setup", "cp mine 'set up' && echo \"$PWD\"", "--repos", grading.folder / "repos"]
    grading.run([row], *recipe).one_line(2, "--setup needs --base-image and --repos")
    recipe += ["--base-image", IMAGE]
    assert grading.ended([row], *recipe) == {"a__b-1": "resolved"}
    assert not [name for name in grading.engine.images() if "recipe" in name]
    said = grading.refused([row | {"base_commit": "f" * 40}], *recipe)
    assert "cannot copy the project for its image" in said
    said = grading.refused([row | {"repo": "psf/requests"}], *recipe)
    assert "find a repository of 'psf/requests'" in said
    recipe[1] = "exit 7"
    assert "cannot build the image 'acr-host-test/recipe:1'" in grading.refused([row | {"n": 1}], *recipe)


def test_a_build_that_fails_is_one_line(grading: Grading) -> None:
    assert grading.engine
    folder = grading.folder / "files" / "a__b-1"
    folder.mkdir(parents=True)
    for text, said in {f"FROM {IMAGE}\nRUN exit 3\n": "exit", "FROM\n": "FROM"}.items():
        (folder / "Dockerfile").write_text(text)
        line = grading.refused([ROW | {"image": "acr-host-test/made:2"}], "--dockerfiles", folder.parent)
        assert "cannot build the image 'acr-host-test/made:2'" in line
        assert said in line
    assert grading.engine.containers() == []


# ---- Engines that fail ----


def test_no_engine_stops_with_the_sockets_that_were_tried(host: Host, tmp_path: Path) -> None:
    grading = Grading(host, tmp_path, None)
    rows = [ROW, ROW | {"instance_id": "a__b-2"}]
    result = grading.run(rows, env={"DOCKER_HOST": f"unix://{tmp_path}/none.sock"})
    result.one_line(3, f"{tmp_path}/none.sock", "rerun to resume")
    assert not list(tmp_path.glob("out/*.json"))
    if any(Path(usual).is_socket() for usual in ("/var/run/docker.sock", "/run/podman/podman.sock")):
        return
    nothing = {"DOCKER_HOST": None, "CONTAINER_HOST": None, "XDG_RUNTIME_DIR": str(tmp_path)}
    result = grading.run(rows, env=nothing)
    result.one_line(3, "/var/run/docker.sock", "/run/podman/podman.sock", f"{tmp_path}/podman/podman.sock")


def test_an_image_for_another_machine(grading: Grading, registry: Registry, foreign: Path) -> None:
    name = registry.add("graded:foreign", foreign, architecture="s390x")
    said = grading.refused([ROW | {"image": name}])
    assert f"the image '{name}' cannot be run here: the image is built for s390x, but the engine runs on amd64" in said


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/kill"), pytest.param("DELETE", "?force=1", marks=pytest.mark.full)]
)
def test_a_container_that_somebody_ends(grading: Grading, method: str, path: str) -> None:
    assert grading.engine
    started = grading.start([SLOW])
    (container,) = grading.engine.containers()
    status, answer = grading.engine.call(method, f"/containers/{container['Id']}{path}")
    assert status in (200, 204), answer
    out, err = started.communicate(timeout=180)
    assert json.loads(out)["error_ids"] == ["a__b-1"]
    assert b"the container was stopped from outside" in err
    assert grading.engine.containers() == []
    assert grading.ended([ROW]) == {"a__b-1": "resolved"}


def test_containers_of_a_killed_run_are_swept_though_nothing_is_run_next(grading: Grading) -> None:
    assert grading.engine
    started = grading.start([SLOW])
    started.send_signal(signal.SIGKILL)
    started.wait()
    assert grading.engine.containers()
    assert grading.refused([ROW | {"image": "acr-host-test/nowhere"}], "--no-pull")
    assert grading.engine.containers() == []


def test_a_script_that_ignores_every_signal_and_leaves_children(grading: Grading) -> None:
    stubborn = SCRIPT.replace("set -uxo pipefail\n", "trap '' TERM INT HUP\nsetsid sleep 1000 &\n")
    stubborn = stubborn.replace(CHECK, f"sleep 1000; {CHECK}")  # which ignores the signals, too
    said = grading.refused([ROW | {"eval_script": stubborn}], "--timeout", "3")
    assert "did not end within 3 s" in said
    (place,) = grading.folder.glob("out/logs/run_evaluation/*/*/a__b-1")
    assert "Timeout error: 3 seconds exceeded." in (place / "test_output.txt").read_text()
    assert not (place / "report.json").exists()
    assert grading.engine
    assert grading.engine.containers() == []


@pytest.mark.full
def test_a_disk_that_is_full(host: Host, tmp_path: Path, registry: Registry, root: Path) -> None:
    """A real engine whose store is smaller than the image."""
    sandboxes.need("podman")
    store = tmp_path / "store"
    store.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", store], check=False).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        engine = sandboxes.podman(store / "engine", registry=registry.address)
        try:
            name = registry.add("graded:large", apart(root, tmp_path))
            rows = [ROW | {"image": name}, ROW | {"instance_id": "a__b-2", "image": name}]
            result = Grading(host, tmp_path, engine).run(rows, "--min-free", "0")
            result.one_line(3, "no space left on device", "rerun to resume")
        finally:
            engine.stop()
    finally:
        subprocess.run(["umount", store], check=True)


# ---- The exact requests to an engine ----------

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
KNOWN = {
    "GET /v1.41/_ping": OK + b"OK",
    "GET /v1.41/info": OK + b'{"DockerRootDir":"/nowhere"}',
    "GET /v1.41/images/json": OK + b"[]",
    "GET /v1.41/images/own/image:1/json": b"HTTP/1.1 404 No\r\nConnection: close\r\n\r\n"
    + b'{"message":"no such image"}',
}
PULL = "POST /v1.41/images/create?fromImage=own%2Fimage&tag=1"


class StrictEngine:
    """The part of the Engine API that a pull needs: it has no image, and pulls as the test tells it to."""

    def __init__(self, path: Path, pulling: bytes) -> None:
        self.unknown: list[str] = []
        self._answers = KNOWN | {PULL: pulling}
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen(8)
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                asked = b""
                while b"\r\n\r\n" not in asked and (piece := connection.recv(65536)):
                    asked += piece
                connection.sendall(self._answer(" ".join(asked.decode().split(" ")[:2])))

    def _answer(self, call: str) -> bytes:
        if call.startswith("GET /v1.41/containers/json?"):
            return OK + b"[]"
        if call not in self._answers:
            self.unknown.append(call)
        return self._answers.get(call, b"HTTP/1.1 501 No\r\nConnection: close\r\n\r\n")


PROGRESS = b'{"status":"Pulling from own/image","id":"1"}\r\n'


@pytest.mark.parametrize(
    ("pulling", "code", "said"),
    [
        (OK + PROGRESS + b'{"errorDetail":{},"error":"write /x: no space left on device"}\r\n', 3, "no space left"),
        (OK + b'{"error":"disk quota exceeded"}', 3, "disk quota exceeded"),
        (OK + PROGRESS + b'{"error":"unexpected EOF"}\n' + PROGRESS, 0, "unexpected EOF"),
        (OK + PROGRESS, 0, "the pull succeeded, but the image is missing"),
        (OK + b'{"status":"' + b"x" * 1_000_000 + b'"}\n{"error":"a\\tb"}\n', 0, "a b"),
        (OK + b"\xff\xfe\0[[[\n" * 1000, 0, "the pull succeeded, but the image is missing"),
        (b"HTTP/1.1 500 Oh\r\nConnection: close\r\n\r\n" + b'{"message":"alas"}', 0, "alas"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + PROGRESS, 0, "cannot pull the image 'own/image:1'"),
        (b"", 0, "cannot pull the image 'own/image:1'"),
    ],
)
def test_how_a_pull_may_end(host: Host, tmp_path: Path, pulling: bytes, code: int, said: str) -> None:
    engine = StrictEngine(tmp_path / "engine.sock", pulling)
    try:
        rows = [ROW | {"image": "own/image:1"}, ROW | {"instance_id": "a__b-2", "image": "own/image:1"}]
        result = Grading(host, tmp_path, None).run(rows, env={"DOCKER_HOST": f"unix://{tmp_path}/engine.sock"})
    finally:
        engine.close()
    lines = [line for line in result.check(code or 3).err.splitlines() if said in line]
    assert len(lines) == 1 and len(lines[0]) < 2000, result.told()
    assert ("a__b-2: error: (as above)" in result.err) == (not code)
    assert engine.unknown == []


# ---- Patches ----

BINARY = "diff --git a/m.py b/m.py\nindex 1234567..89abcde 100644\nBinary files a/m.py and b/m.py differ\n"
ELSEWHERE = FIX.replace("m.py", "src/other/thing.py")


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        (BINARY + ELSEWHERE, "the patch does not apply: cannot apply binary patch"),
        ("\0\1\2", "the patch does not apply"),
        ("\n", "the patch does not apply: No valid patches in input"),
        *(
            pytest.param(patch, f"the patch does not apply: {said}", marks=pytest.mark.full)
            for patch, said in {
                ELSEWHERE: "src/other/thing.py: No such file or directory",
                "not a patch": "No valid patches in input",
                FIX.replace("@@ -1,2 +1,2 @@", "@@ -1,2 +1,9 @@"): "corrupt patch at line 8",
            }.items()
        ),
    ],
)
def test_patches_that_are_none(grading: Grading, patch: str, said: str) -> None:
    assert said in grading.refused([ROW], patch=patch)


def test_a_binary_patch_without_its_bytes_changes_nothing(grading: Grading) -> None:
    """`patch` accepts it, and so does SWE-bench's harness."""
    assert grading.ended([ROW], patch=BINARY) == {"a__b-1": "unresolved"}
    (verdict,) = grading.folder.glob("out/logs/run_evaluation/*/*/*/verdict.json")
    assert json.loads(verdict.read_text())["applied_by"].startswith("patch ")


def test_blank_patches_are_not_run(grading: Grading) -> None:
    assert grading.ended([ROW], patch="") == {"a__b-1": "empty_patch"}


# ---- In a batch ----


@pytest.mark.parametrize("names", [pytest.param(["--image-template", IMAGE], marks=pytest.mark.full), []])
def test_a_batch_runs_its_code_in_the_image_of_each_task(grading: Grading, names: list[str]) -> None:
    """The image has the name of a local build or the user's name; it is also used for grading."""
    repo = repos.make_repo(grading.folder / "repos" / "pallets" / "flask", {"m.py": CODE})
    row = WITHOUT_IMAGE | {"base_commit": repo.head, "problem_statement": "f(1) must be 2", "test_patch": ""}
    (grading.folder / "tasks.jsonl").write_text(json.dumps(row) + "\n")
    found = json.dumps(
        {"API_calls": [], "bug_locations": [{"file": "m.py", "method": "f", "intended_behavior": "add"}]}
    )
    lines = [verifying.line("search", "It is in f."), verifying.line("extract", found)]
    edit = "```\n<file>m.py</file>\n<original>    return x</original>\n<patched>    return x + 1</patched>\n```"
    model = write_script(grading.folder / "script.jsonl", [*lines, verifying.line("patch", edit)])
    options = ["--dataset", grading.folder / "tasks.jsonl", "--repos", grading.folder / "repos", "--model", model]
    options += ["--out", grading.folder / "batch", "--verify=never", "--sandbox", "auto", "--grade", *names]
    options += ["--validate", "cd /testbed && grep -q 'x + 1' m.py && test -d /proc/1 && ! test -d /home"]
    result = grading.host.run("swe-bench", *options, env=grading.environment(), timeout=300).check()
    assert result.out.splitlines()[1].split()[:2] == ["a__b-1", "resolved"]
    spec = json.loads((grading.folder / "batch" / "a__b-1" / "meta.json").read_text())["options"]
    assert (spec["sandbox"], spec["image"], spec["python"]) == (
        "container",
        IMAGE if names else f"{BUILT}:latest",
        None,
    )
    grading.host.run("swe-bench", *options, env=grading.environment(), timeout=300).check()  # the result is saved
