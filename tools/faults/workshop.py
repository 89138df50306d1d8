"""A private copy of the tree, its builds, and the tests, which run on the builds inside walls.

Its folder contains `source` (the copy), `plain` and `asan` (builds), `written` (the only folder to which tests may
write), and `logs`. Nothing else on the machine changes.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import rooms
from seeding import Fault
from walls import NO_WALLS

HERE = Path(__file__).resolve().parent
BUILD_SECONDS = 900
BASELINE_SECONDS = 900
_FAILURE = re.compile(r"^(?:not ok|FAILED |E  |.*ERROR:.*:\d+:|==\d+==ERROR|.*runtime error:|left running|.*CRITICAL)")
NICE = ["nice", "-n", "10"]
OPTIONS = {
    "plain": ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O1"],
    "asan": ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O1", "-DACR_SANITIZE=address,undefined"],
}


class Workshop:
    """A copy; `judge` returns the tests' result for its present content."""

    def __init__(self, root: Path, folder: Path, seconds: dict[str, float]) -> None:
        self.root, self.folder = root, folder
        self.seconds = seconds  # the time of each test without a fault
        self.source, self.logs = folder / "source", folder / "logs"
        self._tests: dict[str, dict[str, object]] = {}
        self._running: subprocess.Popen[bytes] | None = None
        self.is_ended = False

    # ---- The copy and its builds ----

    def prepare(self, tests: list[str]) -> bool:
        """Copy the tree, and build all that the tests need; return whether the copy has changed."""
        for name in ("written", "logs", "source"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        changed = self._copy()
        for build in OPTIONS:
            self._configure(build)
            needed = {rooms.target(test) for test in tests if test.startswith("asan/") == (build == "asan")}
            if not self.build(build, sorted(needed)):
                sys.exit(f"the tree does not build; see {self.logs}/build.log")
            self._read_tests(build)
        return changed

    def _copy(self) -> bool:
        """Make `source` equal to the files that git sees in the tree, writing only files that differ; return whether any did."""
        command = ["git", "-C", str(self.root), "ls-files", "-z", "-co", "--exclude-standard"]
        listed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
        names = {name for name in listed.split("\0") if name and (self.root / name).is_file()}
        changed = False
        for name in sorted(names):
            here, there = self.root / name, self.source / name
            if not there.is_file() or there.read_bytes() != here.read_bytes():
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(here, there)
                os.utime(there)
                changed = True
        for path in [path for path in self.source.rglob("*") if path.is_file()]:
            if str(path.relative_to(self.source)) not in names:
                path.unlink()
                changed = True
        return changed

    def _configure(self, build: str) -> None:
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        command = ["cmake", "-S", str(self.source), "-B", str(self.folder / build), *generator, *OPTIONS[build]]
        self._call(command, "configure.log", 300)

    def build(self, build: str, targets: list[str]) -> bool:
        """Build the targets; return whether that succeeds."""
        if not targets:
            return True
        jobs = os.environ.get("ACR_FAULTS_BUILD_JOBS", "2")
        command = ["cmake", "--build", str(self.folder / build), "--parallel", jobs, "--target", *targets]
        return self._call(command, "build.log", BUILD_SECONDS) == 0

    @contextlib.contextmanager
    def changed(self, fault: Fault) -> Iterator[None]:
        """Inject the fault while the context is active."""
        path = self.source / fault.file
        text = path.read_text(encoding="utf-8")
        path.write_text(fault.applied(text), encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, (time.time() + 1, time.time() + 1))

    # ---- Tests ----

    def _read_tests(self, build: str) -> None:
        """Read the command and environment of each test from ctest."""
        command = ["ctest", "--test-dir", str(self.folder / build), "--show-only=json-v1", "-C", "usual"]
        listed = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
        for test in listed["tests"]:
            properties = {entry["name"]: entry["value"] for entry in test["properties"]}
            variables = dict(line.split("=", 1) for line in properties.get("ENVIRONMENT", []))
            for name, folder in (("PYTHONPYCACHEPREFIX", "pycache"), ("ACR_SKIPPED", "skipped")):
                if name in variables:
                    variables[name] = str(self.folder / "written" / folder)
            self._tests[test["name"]] = {"command": test["command"], "variables": variables}

    def measure(self, tests: queue.SimpleQueue[str], note: Callable[[], None]) -> None:
        """Take tests from the queue: each must pass without a fault. `seconds`, which all copies share, records the times."""
        with contextlib.suppress(queue.Empty):
            while not self.is_ended:
                test = tests.get_nowait()
                if test.split("[")[0] not in self._tests:
                    print(f"left out, as ctest does not know it here: {test}", flush=True)
                    continue
                begun = time.monotonic()
                if self.passes(test, BASELINE_SECONDS):
                    self.seconds[test] = round(time.monotonic() - begun, 1)
                    note()
                else:
                    print(f"left out, as it fails without a fault: {test} {self.said()}", flush=True)

    def passes(self, test: str, seconds: float) -> bool:
        """Whether a test passes within that time, inside walls."""
        name, _, selected = test.partition("[")
        known = self._tests[name]
        command = [*known["command"], *(["-x"] if "pytest" in known["command"] else [])]
        command += ["-k", selected.rstrip("]")] if selected else []
        group = f"acr-faults-{os.getpid()}-{self.folder.name}"
        walls = [
            "unshare",
            "--mount",
            "--pid",
            "--ipc",
            "--net",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "/usr/bin/python3",
        ]
        walls += ["-IS", str(HERE / "walls.py"), str(self.folder), "ACR_REPOS", "ACR_SHARED", "--"]
        environment = known["variables"] | {"ACR_FAULTS_GROUP": group}
        for _ in range(3):
            with control_groups(group):
                code = self._call([*walls, *command], "test.log", seconds, environment)
            if code != NO_WALLS:
                return code == 0
        raise RuntimeError((self.logs / "test.log").read_text(encoding="utf-8", errors="replace"))

    def said(self) -> str:
        """The line of the last test's log that names the failure."""
        lines = (self.logs / "test.log").read_text(encoding="utf-8", errors="replace").splitlines()
        found = [line for line in lines if _FAILURE.search(line)]
        return found[0].strip()[:200] if found else ""

    def judge(self, stages: list[tuple[str, list[str]]]) -> tuple[str, str, str]:
        """The result of the tests on the copy as it is now, the test that failed, and its line that names the failure."""
        result = ("survived", "", "")
        for build, test in self._in_order(stages):
            if not self.build(build, [rooms.target(test)]):
                result = ("does not build", "", "")
            elif not self.passes(test, 30 + 4 * self.seconds[test]):
                result = ("killed", test, self.said())
            if self.is_ended:
                return "interrupted", "", ""
            if result[0] != "survived":
                break
        return result

    def _in_order(self, stages: list[tuple[str, list[str]]]) -> Iterator[tuple[str, str]]:
        """(build, test) of the tests that pass without a fault; within a stage the cheapest first, but unit tests in the given order."""
        for build, names in stages:
            known = [test for test in names if test in self.seconds]
            if not names or not names[0].startswith("unit/"):
                known.sort(key=lambda test: self.seconds[test])
            yield from ((build, test) for test in known)

    # ---- Processes ----

    def _call(self, command: list[str], log: str, seconds: float, environment: dict[str, str] | None = None) -> int:
        """Run a command; return its exit code, or -1 if it timed out or was killed."""
        if self.is_ended:
            return -1
        with open(self.logs / log, "wb") as out:
            self._running = subprocess.Popen(
                [*NICE, *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, "CCACHE_BASEDIR": str(self.folder), **(environment or {})},
                start_new_session=True,
            )
            try:
                return self._running.wait(seconds)
            except subprocess.TimeoutExpired:
                return -1
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._running.pid, signal.SIGKILL)
                self._running.wait()

    def end(self) -> None:
        """Kill what is running."""
        self.is_ended = True
        if self._running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._running.pid, signal.SIGKILL)


@contextlib.contextmanager
def control_groups(name: str) -> Iterator[None]:
    """Make control groups of that name, if possible; walls.py enters them."""
    made = []
    for controller in ("memory", "pids"):
        group = Path("/sys/fs/cgroup", controller, name)
        with contextlib.suppress(OSError):
            if group.parent.joinpath("cgroup.procs").is_file():
                group.mkdir(exist_ok=True)
                made.append(group)
    try:
        yield
    finally:
        for group in made:
            for _ in range(100):
                try:
                    group.rmdir()
                    break
                except OSError:
                    time.sleep(0.05)
