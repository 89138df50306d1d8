#!/usr/bin/env python3
"""Injects faults into a copy of this tree, one at a time, and runs the tests that should detect each.

usage: run.py [--seed TEXT] [--each N] [--rooms ROOM,...] [--jobs N] [--minutes N] [--again survived|KEY,...] [--list]

Results are JSON lines in WORK/results.jsonl; the last line of each key counts. Rerun the same command to resume an
interrupted run. Needs root, because faulty programs run in `walls.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import rooms
import seeding
from workshop import Workshop

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DEFAULT_ROOMS = "journal vcs patch search sandbox money llm py agents loops task"


def arguments() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description="Injects faults and runs the tests that should detect them.")
    parser.add_argument("--seed", default="1", help="choose other faults with another text")
    parser.add_argument("--each", type=int, default=1, metavar="N", help="try N faults per file, besides each fsync")
    parser.add_argument(
        "--rooms", default=DEFAULT_ROOMS.replace(" ", ","), help="try only these folders of native/ and runtime/"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="work on N copies in parallel")
    parser.add_argument("--minutes", type=float, default=1e9, metavar="N", help="start no fault after N minutes")
    parser.add_argument("--again", metavar="WHICH", help="repeat the faults that survived (`survived`), or these keys")
    parser.add_argument(
        "--stages",
        type=int,
        default=4,
        metavar="N",
        help="run only the first N kinds of tests (3: no end-to-end tests)",
    )
    parser.add_argument("--trusted", action="store_true", help="skip the first run of the tests without a fault")
    parser.add_argument("--list", action="store_true", help="print the faults, and exit")
    parser.add_argument(
        "--work", type=Path, default=Path("/tmp/acr-faults"), help="keep copies and results in this folder"
    )
    return parser.parse_args()


def room_of(path: str) -> str:
    """The folder of a file of the program."""
    return str(Path(path).parent)


def files(wanted: list[str]) -> list[str]:
    """The C files of the wanted folders."""
    folders = [folder for folder in rooms.ROOMS if Path(folder).name in wanted and (ROOT / folder).is_dir()]
    return sorted(str(path.relative_to(ROOT)) for folder in folders for path in (ROOT / folder).glob("*.c"))


class Plan:
    """The faults that have not run yet: the first of each file, then the second of each file, and so on."""

    def __init__(self, options: argparse.Namespace, done: dict[str, dict[str, Any]]) -> None:
        self.left: list[list[seeding.Fault]] = []
        self.wanted: list[int] = []
        for path in files(options.rooms.split(",")):
            drawn = seeding.draw(path, (ROOT / path).read_text(encoding="utf-8"), options.seed)
            self.left.append(drawn)
            self.wanted.append(options.each + sum(fault.kind == "sync" for fault in drawn))
        self.done, self.lock = done, threading.Lock()
        self.order = iter(sorted(self._places(), key=lambda place: (place[0], seeding.digest(options.seed, place[1]))))

    def _places(self) -> Iterator[tuple[int, str, int]]:
        for index, wanted in enumerate(self.wanted):
            for turn in range(wanted):
                yield turn, self.left[index][0].file if self.left[index] else "", index

    def next(self) -> tuple[int, seeding.Fault] | None:
        """The next place and its fault; None at the end."""
        with self.lock:
            for _, _, index in self.order:
                fault = self._draw(index)
                if fault:
                    return index, fault
        return None

    def files(self) -> list[str]:
        """The files that may get faults."""
        return [drawn[0].file for drawn in self.left if drawn]

    def another(self, index: int) -> seeding.Fault | None:
        """Another fault instead of one that does not compile."""
        with self.lock:
            return self._draw(index)

    def _draw(self, index: int) -> seeding.Fault | None:
        """The next fault of a file that has not run; a fault that does not compile does not count."""
        while self.left[index]:
            fault = self.left[index].pop(0)
            result = self.done.get(fault.key, {}).get("result")
            if result is None:
                return fault
            if result != "does not build":
                return None
        return None


class Fixed:
    """A plan of named faults."""

    def __init__(self, faults: list[seeding.Fault]) -> None:
        self.left, self.lock = faults, threading.Lock()

    def next(self) -> tuple[int, seeding.Fault] | None:
        """The next fault; None at the end."""
        with self.lock:
            return (0, self.left.pop(0)) if self.left else None

    def files(self) -> list[str]:
        """The files of these faults."""
        return [fault.file for fault in self.left]

    def another(self, index: int) -> None:
        """Returns nothing, because a named fault has no replacement."""


def read_results(path: Path) -> dict[str, dict[str, Any]]:
    """The last result of each key."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {row["key"]: row for row in map(json.loads, lines)}


def named(which: str, done: dict[str, dict[str, Any]]) -> list[seeding.Fault]:
    """The faults of `--again`, located in the present tree."""
    keys = (
        {key for key, row in done.items() if row["result"] == "survived"}
        if which == "survived"
        else set(which.split(","))
    )
    found = []
    for path in files([folder.split("/")[1] for folder in rooms.ROOMS]):
        text = (ROOT / path).read_text(encoding="utf-8")
        found += [fault for fault in seeding.candidates(path, text) if fault.key in keys]
    for key in sorted(keys - {fault.key for fault in found}):
        print(f"{key}: its line is not there any more", flush=True)
    return found


class Runner:
    """Runs the faults of a plan and writes the results."""

    def __init__(self, plan: Plan | Fixed, results: Path, until: float, stages: int) -> None:
        self.plan, self.results, self.until, self.stages = plan, results, until, stages
        self.lock = threading.Lock()

    def work(self, shop: Workshop) -> None:
        """The work of one copy, until no fault is left or the time has passed."""
        while not shop.is_ended and time.monotonic() < self.until and (place := self.plan.next()):
            index, fault = place
            while fault:
                row = self.tried(shop, fault)
                self.note(row)
                fault = self.plan.another(index) if row["result"] == "does not build" else None

    def tried(self, shop: Workshop, fault: seeding.Fault) -> dict[str, Any]:
        """The result line of a fault."""
        begun = time.monotonic()
        with shop.changed(fault):
            result, by, said = shop.judge(rooms.stages(rooms.room_of(fault.file))[: self.stages])
        row = fault._asdict() | {
            "result": result,
            "by": by,
            "said": said,
            "seconds": round(time.monotonic() - begun, 1),
        }
        del row["offset"]
        return row

    def note(self, row: dict[str, Any]) -> None:
        """Write and print a result, unless the fault was interrupted."""
        if row["result"] == "interrupted":
            return
        with self.lock, open(self.results, "a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
        told = f"{row['result']:14} {row['seconds']:6.1f} s  {row['file']}:{row['line']} {row['kind']}  {row['by']}"
        print(told, flush=True)


def write_atomically(path: Path, text: str) -> None:
    """Replace a file."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as out:
        out.write(text)
    os.replace(out.name, path)


def at_once(shops: list[Workshop], work: Callable[[Workshop], None]) -> None:
    """Run `work` on all copies in parallel; an interrupt ends their processes."""
    threads = [threading.Thread(target=work, args=(shop,), daemon=True) for shop in shops]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        for shop in shops:
            shop.end()
        for thread in threads:
            thread.join()


def summary(done: dict[str, dict[str, Any]]) -> None:
    """Print a line for each room."""
    rows = [row for row in done.values() if row["result"] != "does not build"]
    for room in [*sorted({room_of(row["file"]) for row in rows}), ""]:
        here = [row for row in rows if room in ("", room_of(row["file"]))]
        killed = sum(row["result"] != "survived" for row in here)
        print(f"{room or 'together':18} {len(here):4} seeded {killed:4} killed {len(here) - killed:3} survived")
    known = json.loads((HERE / "survivors.json").read_text(encoding="utf-8"))
    for row in rows:
        if row["result"] == "survived" and row["key"] not in known:
            change = f"{' '.join(row['before'].split())!r} -> {' '.join(row['after'].split())!r}"
            print(f"new: {row['key']} {row['file']}:{row['line']} {row['function']} {row['kind']}: {change}")


def main() -> int:
    """Run the plan; the exit code is 0, even if faults survive."""
    options = arguments()
    options.work.mkdir(parents=True, exist_ok=True)
    results = options.work / "results.jsonl"
    done = read_results(results)
    plan = Fixed(named(options.again, done)) if options.again else Plan(options, done)
    if options.list:
        while place := plan.next():
            print(
                f"{place[1].key} {place[1].file}:{place[1].line} {place[1].kind}: {' '.join(place[1].before.split())}"
            )
        return 0
    if os.geteuid() != 0:
        sys.exit("run.py: root is needed")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    used = {rooms.room_of(path) for path in plan.files()}
    tests = sorted({test for room in used for _, names in rooms.stages(room)[: options.stages] for test in names})
    kept = options.work / "seconds.json"
    seconds = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
    shops = [Workshop(ROOT, options.work / str(number), seconds) for number in range(options.jobs)]
    for shop in shops:
        if shop.prepare(tests) and not options.trusted:
            seconds.clear()  # the times were measured on another tree
    left: queue.SimpleQueue[str] = queue.SimpleQueue()
    for test in tests:
        if test not in seconds:
            left.put(test)
    runner = Runner(plan, results, time.monotonic() + options.minutes * 60, options.stages)

    def work(shop: Workshop) -> None:
        shop.measure(left, lambda: write_atomically(kept, json.dumps(seconds, indent=1)))
        runner.work(shop)

    at_once(shops, work)
    summary(read_results(results))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        sys.exit(f"run.py: {error}")
