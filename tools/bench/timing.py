"""Measures the wall time of whole processes and of answers within a process, and compares two programs in alternating rounds."""

from __future__ import annotations

import fcntl
import os
import resource
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Callable, NamedTuple

TIMEOUT_SECONDS = 1800
PIPE_BYTES = 1 << 20


class BenchError(Exception):
    """A measurement failed; the message is one line."""


class Spent(NamedTuple):
    """Elapsed seconds, and CPU seconds of all processes involved."""

    wall: float
    cpu: float


Step = Callable[[], Spent]


@dataclass(frozen=True)
class Times:
    """Elapsed seconds, one value per round; `cpu` has the CPU seconds, if they were measured."""

    seconds: tuple[float, ...]
    cpu: tuple[float, ...] = ()

    @property
    def median(self) -> float:
        """The median."""
        return statistics.median(self.seconds)

    @property
    def least(self) -> float:
        """The minimum: the round with the least disturbance."""
        return min(self.seconds)

    @property
    def mean(self) -> float:
        """The mean."""
        return sum(self.seconds) / len(self.seconds)


@dataclass(frozen=True)
class Comparison:
    """The times of acr-host and of the other program, from the same rounds."""

    ours: Times
    peer: Times

    @property
    def ratio(self) -> float:
        """Our median divided by the other program's."""
        return self.ours.median / self.peer.median

    @property
    def least_ratio(self) -> float:
        """Our minimum divided by the other program's."""
        return self.ours.least / self.peer.least

    @property
    def cpu_ratio(self) -> float:
        """Our least CPU time divided by the other program's; other work on the machine disturbs this ratio least."""
        return min(self.ours.cpu) / min(self.peer.cpu)


@dataclass(frozen=True)
class Command:
    """A process to measure. `exits` are the exit codes that mean success."""

    argv: Sequence[str]
    env: Mapping[str, str]
    stdin: bytes = b""
    exits: tuple[int, ...] = (0, 1)

    def check(self, code: int, stderr: bytes) -> None:
        """Errors: BenchError if the exit code is not one of `exits`."""
        if code in self.exits:
            return
        said = stderr.decode("utf-8", "replace").strip().splitlines()[-2:]
        shown = " ".join(self.argv[:4])
        raise BenchError(f"'{shown} …' exits with {code}: {'; '.join(said)}")


def _children_cpu() -> float:
    """CPU seconds of all child processes that have been waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(command: Command) -> Spent:
    """The time from the start to the end of the process; its output is read from a pipe.

    Errors: BenchError, also if the process takes longer than TIMEOUT_SECONDS.
    """
    before, begin = _children_cpu(), time.perf_counter()
    try:
        done = subprocess.run(
            command.argv,
            input=command.stdin,
            env=command.env,
            capture_output=True,
            check=False,
            timeout=TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise BenchError(f"'{command.argv[0]}' takes over {TIMEOUT_SECONDS} s") from None
    spent = Spent(time.perf_counter() - begin, _children_cpu() - before)
    command.check(done.returncode, done.stderr)
    return spent


def together(commands: Sequence[Command]) -> Spent:
    """The time until all these processes, started together and without output, have ended."""
    before, begin = _children_cpu(), time.perf_counter()
    null = subprocess.DEVNULL
    running = [subprocess.Popen(c.argv, env=c.env, stdin=null, stdout=null) for c in commands]
    codes = [process.wait(TIMEOUT_SECONDS) for process in running]
    spent = Spent(time.perf_counter() - begin, _children_cpu() - before)
    for command, code in zip(commands, codes):
        command.check(code, b"")
    return spent


def alternate(rounds: int, *steps: Step) -> list[Times]:
    """The times of each step. Each round runs all steps in turn, so that all suffer the same disturbances."""
    taken: list[list[Spent]] = [[] for _ in steps]
    for _ in range(rounds):
        for times, step in zip(taken, steps):
            times.append(step())
    return [Times(tuple(s.wall for s in times), tuple(s.cpu for s in times)) for times in taken]


def compare(rounds: int, ours: Step, peer: Step) -> Comparison:
    """The times of acr-host and of the other program, which run alternately, after one unmeasured round."""
    alternate(1, ours, peer)
    return Comparison(*alternate(rounds, ours, peer))


def _read_stamps(stream: int) -> list[float]:
    """The times at which line ends were read from a file descriptor."""
    stamps: list[float] = []
    while piece := os.read(stream, PIPE_BYTES):
        stamps += [time.perf_counter()] * piece.count(b"\n")
    return stamps


def line_times(command: Command, calls: Sequence[str]) -> list[float]:
    """Seconds from the start of a process to each line that it prints, with these lines on its stdin.

    Errors: BenchError.
    """
    text = "".join(f"{call}\n" for call in calls).encode()
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    argv, env = command.argv, command.env
    begin = time.perf_counter()
    process = subprocess.Popen(argv, env=env, stdin=pipe, stdout=pipe, stderr=null)
    with process:
        assert process.stdin and process.stdout
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        process.stdin.write(text)
        process.stdin.close()
        stamps = _read_stamps(process.stdout.fileno())
    command.check(process.returncode, b"")
    return [stamp - begin for stamp in stamps]


def answer_times(command: Command, calls: Sequence[str]) -> Times:
    """Seconds between the answers of one process to these calls, one line per answer.

    The first call only warms up, so there is one time less than calls. If several answers arrive together, some times
    are 0, but the sum is right. Errors: BenchError.
    """
    stamps = line_times(command, calls)
    if len(stamps) != len(calls):
        raise BenchError(f"{len(calls)} calls have {len(stamps)} answers")
    return Times(tuple(b - a for a, b in zip(stamps, stamps[1:])))
