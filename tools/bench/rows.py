"""The rows of the speed table for one repository: each function measures, and returns the lines to print."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import memory
import peers
from corpus import Corpus, write_halves
from table import Row, milliseconds, ratio_row
from timing import (
    BenchError,
    Command,
    Spent,
    Times,
    answer_times,
    compare,
    run,
    together,
)

COMMON = "return self"
ABSENT = "no_such_text_anywhere"
ANSWERS = 40  # searches for one text within a process
MAX_COLD, MAX_WARM, MAX_SHOT, MAX_TEXT_MS = 1.3, 1.5, 2.5, 5.0
MAX_COLD_MB, MAX_WARM_MB = 128.0, 64.0


@dataclass
class Bench:
    """Data for all rows. `ours` has a cache in which both commits are indexed."""

    ours: peers.Ours
    here: Corpus
    near: Corpus
    work: Path
    rounds: int
    symbol: str

    @property
    def symbol_call(self) -> str:
        """The symbol call that is timed."""
        return f'search_class("{self.symbol}")'

    def rare_text(self) -> str:
        """A name that occurs in only one file, and there rarely; each run on a corpus returns the same name."""
        seen: Counter[bytes] = Counter()
        for _, content in self.here.files:
            seen.update(set(re.findall(rb"\b[a-z]\w{11,}\b", content)))
        once = sorted(word for word, n in seen.items() if n == 1 and word.isascii())
        if not once:
            raise BenchError("no text stands in one file only")
        return random.Random(1).choice(once).decode()

    def texts(self) -> dict[str, str]:
        """The literal texts to search for."""
        return {"rare": self.rare_text(), "common": COMMON, "absent": ABSENT}


def code_call(text: str) -> str:
    """The call that searches for a text."""
    return f"search_code({json.dumps(text)})"


def printed(command: Command) -> dict[str, object]:
    """The JSON object that a command prints. Errors: BenchError."""
    done = subprocess.run(command.argv, env=command.env, capture_output=True, check=False)
    command.check(done.returncode, done.stderr)
    try:
        return dict(json.loads(done.stdout))
    except ValueError as error:
        raise BenchError(f"'{command.argv[1]}' prints no JSON: {error}") from None


def _cold_index(bench: Bench) -> Spent:
    """The time to index without a cache."""
    with tempfile.TemporaryDirectory(dir=bench.work) as folder:
        return run(peers.Ours(bench.ours.binary, Path(folder)).index(bench.here))


def cold(bench: Bench) -> list[Row]:
    """Cold index, compared with two processes that only parse."""
    halves = write_halves(bench.here, bench.work)
    commands = peers.parse_only(halves)
    found = compare(bench.rounds, lambda: _cold_index(bench), lambda: together(commands))
    what = "cold index, cache empty"
    return [ratio_row("cold", what, found, MAX_COLD, "ast.parse alone, 2 processes")]


def _parsed_row(bench: Bench, corpus: Corpus, where: str) -> Row:
    """The number of files that the index parses although the cache should have all files."""
    counts = printed(bench.ours.index(corpus))
    cached = f"{counts['cached']} from cache"
    return Row("warm", f"source files parsed, warm, {where}", float(str(counts["parsed"])), "files", 0.0, cached)


def _symbol_row(bench: Bench, corpus: Corpus, where: str) -> Row:
    """A symbol call as a whole process, compared with git grep."""
    search = bench.ours.symbol(corpus, bench.symbol)
    grep = peers.git_grep(corpus, bench.symbol)
    found = compare(bench.rounds, lambda: run(search), lambda: run(grep))
    what = f"symbol call, warm process, {where}"
    return ratio_row("warm", what, found, MAX_WARM, "git grep -F")


def warm(bench: Bench) -> list[Row]:
    """A symbol call on the same commit, and on a neighbouring commit that is in the cache."""
    rows = []
    for corpus, where in ((bench.here, "same commit"), (bench.near, "neighbour")):
        rows += [_symbol_row(bench, corpus, where), _parsed_row(bench, corpus, where)]
    return rows


def _literal_row(bench: Bench, kind: str, text: str) -> Row:
    """Search for one text many times in a process; repeat in several processes, and take the mean of each."""
    calls = [code_call(text)] * (ANSWERS + 1)
    session = bench.ours.session(bench.here)
    sessions = max(3, bench.rounds // 3)
    means = [answer_times(session, calls).mean for _ in range(sessions)]
    times = Times(tuple(means))
    what = f"literal search in process, {kind}"
    ours = f"means of {ANSWERS}: {milliseconds(times)}"
    return Row("literal", what, times.median * 1e3, "ms", MAX_TEXT_MS, ours, repr(text))


def literal(bench: Bench) -> list[Row]:
    """Literal searches within one running process."""
    return [_literal_row(bench, kind, text) for kind, text in bench.texts().items()]


def oneshot(bench: Bench) -> list[Row]:
    """A literal search as a whole process, compared with git grep."""
    return [_shot_row(bench, kind, text) for kind, text in bench.texts().items()]


def _shot_row(bench: Bench, kind: str, text: str) -> Row:
    """The ratio to `git grep` on the files that acr-host searches. If the source lacks the text, these include tests
    and other types of files, in which acr-host counts occurrences."""
    ours = bench.ours.search(bench.here, code_call(text))
    grep = peers.git_grep(bench.here, text, everywhere=kind == "absent")
    found = compare(bench.rounds, lambda: run(ours), lambda: run(grep))
    beside = f"git grep -F, {'all' if kind == 'absent' else 'source'} files"
    return ratio_row("oneshot", f"literal search, warm process, {kind}", found, MAX_SHOT, beside)


def _peak_row(what: str, command: Callable[[], Command], target: float) -> Row:
    """The highest of several peaks, because sampling can only miss a peak."""
    peaks = [memory.peak_kib(command()) / 1024 for _ in range(3)]
    shown = ", ".join(f"{peak:.0f}" for peak in peaks)
    return Row("memory", f"peak memory, {what}", max(peaks), "MB", target, f"peaks {shown}", "Pss_Anon")


def memory_rows(bench: Bench) -> list[Row]:
    """The anonymous memory of host and workers together, cold and warm."""

    def cold_index() -> Command:
        shutil.rmtree(bench.work / "cold-cache", ignore_errors=True)
        return peers.Ours(bench.ours.binary, bench.work / "cold-cache").index(bench.here)

    symbol = bench.ours.symbol(bench.here, bench.symbol)
    text = bench.ours.search(bench.here, code_call(COMMON))
    return [
        _peak_row("host and workers, cold index", cold_index, MAX_COLD_MB),
        _peak_row("warm symbol call", lambda: symbol, MAX_WARM_MB),
        _peak_row("warm literal search", lambda: text, MAX_WARM_MB),
    ]


# Name -> function that measures it, in the order of the table.
ROWS: dict[str, Callable[[Bench], list[Row]]] = {
    "cold": cold,
    "warm": warm,
    "literal": literal,
    "oneshot": oneshot,
    "memory": memory_rows,
}
