"""Runs the built program as a user would, in a separate environment, and reads its outputs and files."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import schemas

ROOT = Path(__file__).resolve().parents[2]
SLOWNESS = float(os.environ.get("ACR_SLOWNESS") or 1)

_KEPT = re.compile(r"PATH|LANG|LC_.*|TMPDIR|G_.*|.SAN_OPTIONS|..SAN_OPTIONS|PYTHONMALLOC|SSL_CERT_FILE")
_SANITIZER = re.compile(rb"ERROR: (?:Address|Leak|Thread)Sanitizer|runtime error: |SUMMARY: \w+Sanitizer|GLib-CRITICAL")


def binary() -> Path:
    """The program under test: $ACR_BINARY, else the release build's."""
    return Path(os.environ.get("ACR_BINARY") or ROOT / "build" / "release" / "acr-host")


def install(program: Path, folder: Path) -> Path:
    """Install a copy of the program below `folder`, which needs no file of the source tree, because another user may not read it."""
    shared = folder / "share" / "acr-host"
    (folder / "bin").mkdir(parents=True)
    shutil.copytree(ROOT / "python" / "acr", shared / "python" / "acr", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "prompts", shared / "prompts")
    return Path(shutil.copy2(program, folder / "bin" / program.name))


# Dated lines, but not those that say why a task failed.
_PROGRESS = re.compile(
    rb"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (?!(?:graded )?\d+/\d+ \S+: (?:interrupted|.*: ))(.*)\n", re.MULTILINE
)


@dataclass(frozen=True)
class Result:
    """How a run ended: `exit` is negative (minus the signal) if a signal ended it. `progress` has the dated lines of
    stderr, without dates; `stderr` has the other lines."""

    command: list[str]
    exit: int
    stdout: bytes
    stderr: bytes
    seconds: float
    progress: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        stderr, progress = without_progress(self.stderr)
        object.__setattr__(self, "stderr", stderr)
        object.__setattr__(self, "progress", (*self.progress, *progress))

    @property
    def out(self) -> str:
        """Standard output as text."""
        return self.stdout.decode("utf-8", "replace")

    @property
    def err(self) -> str:
        """Standard error as text."""
        return self.stderr.decode("utf-8", "replace")

    def rows(self) -> list[Any]:
        """Standard output read as JSON lines."""
        return [json.loads(line) for line in self.stdout.splitlines() if line]

    def told(self) -> str:
        """A description of the run for a failure message: command, exit code, ends of both streams."""
        out, err = self.out[-4000:], self.err[-4000:]
        return f"$ {' '.join(self.command)}\nexit {self.exit}\n-- stdout\n{out}\n-- stderr\n{err}"

    def check(self, code: int = 0) -> Result:
        """Return this result if the exit code is `code`. Errors: AssertionError that shows the run."""
        assert self.exit == code, f"expected exit {code}\n{self.told()}"
        return self

    def one_line(self, code: int, *words: str) -> str:
        """The only line on stderr of a run that failed with `code`; it must contain each of the words."""
        self.check(code)
        lines = self.err.splitlines()
        assert len(lines) == 1, f"expected one line on stderr\n{self.told()}"
        for word in words:
            assert word in lines[0], f"expected {word!r}\n{self.told()}"
        return lines[0]

    def cost_and_line(self, code: int, *words: str) -> str:
        """Like `one_line`, for a run that called a model: a line with its cost comes first."""
        cost, _, rest = self.err.partition("\n")
        assert re.search(r" calls?, .* tokens in | no answer; .* USD charged", cost), (
            f"expected what it cost\n{self.told()}"
        )
        return replace(self, stderr=rest.encode()).one_line(code, *words)


class Host:
    """Starts the program; `home` is an empty folder for HOME, cache and temporary files."""

    def __init__(self, home: Path, program: Path | None = None) -> None:
        self.home = home
        self.program = program or binary()
        self._started: list[subprocess.Popen[bytes]] = []

    def environment(self, changes: Mapping[str, str | None]) -> dict[str, str]:
        """The environment of a run: a few variables of the caller; None removes a variable."""
        # pytest sets and removes its own variables meanwhile.
        env = {name: os.environ[name] for name in list(os.environ) if _KEPT.fullmatch(name)}
        env |= {"HOME": str(self.home), "XDG_CACHE_HOME": str(self.home / "cache"), "NO_PROXY": "127.0.0.1"}
        for name, value in changes.items():
            env.pop(name, None)
            if value is not None:
                env[name] = value
        return env

    def sessions(self) -> set[int]:
        """The sessions of runs that were started and still have processes."""
        return {child.pid for child in self._started}

    def start(
        self, *args: object, env: Mapping[str, str | None] | None = None, wrapper: Sequence[str] = (), **options: Any
    ) -> subprocess.Popen[bytes]:
        """Start a run in a new session; it is killed at the latest when the test ends.

        `wrapper` is a command that runs the program; `options` go to Popen; streams are pipes by default.
        """
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        command = [*wrapper, str(self.program), *map(os.fspath, map(_text, args))]
        child = subprocess.Popen(command, env=self.environment(env or {}), start_new_session=True, **(pipes | options))
        self._started.append(child)
        return child

    def run(
        self,
        *args: object,
        env: Mapping[str, str | None] | None = None,
        input: bytes | str | None = None,
        timeout: float = 60,
        **options: Any,
    ) -> Result:
        """Run the program to its end. `timeout` is in seconds of a normal build.

        Errors: AssertionError with the output, if the timeout is exceeded or a sanitizer reports an error.
        """
        if input is not None:
            options["stdin"] = subprocess.PIPE
        begun = time.monotonic()
        child = self.start(*args, env=env, **options)
        data = input.encode() if isinstance(input, str) else input
        late = False
        try:
            out, err = child.communicate(data, timeout=timeout * SLOWNESS)
        except subprocess.TimeoutExpired:
            late = True
            kill(child)
            out, err = child.communicate()
        seconds = time.monotonic() - begun
        result = Result(_texts(child.args), child.returncode, out or b"", err or b"", seconds)
        assert not late, f"no end after {seconds:.0f} s\n{result.told()}"
        assert not _SANITIZER.search(result.stderr), f"a sanitizer complains\n{result.told()}"
        words = result.command[result.command.index(str(self.program)) + 1 :]
        wrong = [*schemas.of_run(words, result.stdout, result.exit == 0)]
        wrong += schemas.of_folder(words) if result.exit in (0, 1) else []
        assert not wrong, "\n".join([*wrong, result.told()])
        return result

    def close(self) -> None:
        """Kill all processes that still run."""
        for child in self._started:
            kill(child)
            for stream in (child.stdin, child.stdout, child.stderr):
                if stream:
                    stream.close()


def without_progress(err: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Split standard error into the text without dated lines, and the dated lines without their dates."""
    lines = _PROGRESS.findall(err)
    return _PROGRESS.sub(b"", err), tuple(line.decode("utf-8", "replace") for line in lines)


def kill(child: subprocess.Popen[bytes]) -> None:
    """Kill a child that `Host.start` started, and its process group, with SIGKILL; wait for it."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def wait_until_caught(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Wait until a child has a handler for the signal, or has ended; earlier, the signal would simply kill it."""
    end = time.monotonic() + 60 * SLOWNESS
    while child.poll() is None:
        caught = re.search(r"^SigCgt:\s*(\w+)$", Path(f"/proc/{child.pid}/status").read_text(), re.MULTILINE)
        if caught and int(caught[1], 16) >> (number - 1) & 1:
            return
        assert time.monotonic() < end, f"{number.name} is not caught"
        time.sleep(0.005)


def _text(value: object) -> str | bytes:
    return value if isinstance(value, bytes) else str(value)


def _texts(command: Any) -> list[str]:
    return [os.fsdecode(part) for part in command]
