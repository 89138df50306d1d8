"""Measures how time and memory grow, with generated repositories of growing size, and three of unusual shape."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import generate
import memory
import peers
from corpus import Corpus, load
from rows import code_call
from table import Row, markdown, render
from timing import Comparison, Times, alternate, answer_times, run

SIZES = (1_000, 10_000)
LARGE = 100_000
LINES, METHODS, FUNCTIONS = 1_000_000, 20_000, 100_000
MAX_SYMBOL_MS, MAX_TEXT, MAX_STEEPER = 300.0, 1.5, 1.25
ROUNDS = 3
HEAD = ("repository", "MB", "cold s", "cold MB", "warm MB", "one-shot symbol", "symbol call, most", "text in process")


@dataclass(frozen=True)
class Shape:
    """A generated repository; a class and a method in it, and their file."""

    name: str
    files: Iterator[tuple[str, bytes]]
    class_name: str
    method: str
    path: str
    grows: bool = False


@dataclass(frozen=True)
class Measured:
    """The measurements of one shape. `warm`: a symbol call as a process; `slowest`: the slowest call within a process,
    and its seconds; `text`: a text search within a process, compared with git grep."""

    shape: Shape
    mb: float
    cold: float
    cold_mb: float
    warm_mb: float
    warm: float
    slowest: tuple[float, str]
    text: Comparison


def _growing(count: int) -> Shape:
    """A repository with this many files, and the first class in its first file."""
    first = generate.file_of(0).decode()
    class_name = first.split("\nclass ")[1].split(":")[0].split("(")[0]
    method = first.split("    def ")[1].split("(")[0]
    files = generate.many_files(count)
    path = generate.path_of(0)
    return Shape(f"{count:,} files", files, class_name, method, path, True)


def shapes(large: bool) -> list[Shape]:
    """All repositories, the growing ones sorted by size."""
    sizes = (*SIZES, LARGE) if large else SIZES
    lines, wide = generate.long_file(LINES), generate.wide_class(METHODS)
    same = generate.one_name(FUNCTIONS)
    return [
        *map(_growing, sizes),
        Shape(f"{LINES:,} lines", lines, "Longest", "step_77", "long.py"),
        Shape(f"{METHODS:,} methods", wide, "Wide", "method_77", "wide.py"),
        Shape(f"{FUNCTIONS:,} of one name", same, "Owner", "same", "same/part_0.py"),
    ]


def symbol_calls(shape: Shape) -> list[str]:
    """Each call except text searches, with hits and without."""
    c, m, f = shape.class_name, shape.method, shape.path
    return [
        f"search_class({c!r})",
        f"search_class_in_file({c!r}, {f!r})",
        f"search_method({m!r})",
        f"search_method_in_file({m!r}, {f!r})",
        f"search_method_in_class({m!r}, {c!r})",
        f"get_code_around_line({f!r}, 100, 10)",
        "search_class('NoSuchClassHere')",
        "search_method('no_such_method_here')",
        f"search_method_in_class('no_such_method_here', {c!r})",
    ]


def _repository(shape: Shape, work: Path) -> Path:
    """The shape as a repository, made once."""
    name = shape.name.replace(",", "").replace(" ", "-")
    work.mkdir(parents=True, exist_ok=True)
    return generate.write(work / f"v{generate.VERSION}-{name}.git", shape.files)


def _text(session_of: peers.Ours, corpus: Corpus, text: str) -> Comparison:
    """A text search within a process, compared with git grep."""
    calls = [code_call(text)] * (2 * ROUNDS + 1)
    mean = answer_times(session_of.session(corpus), calls).mean
    grep = peers.git_grep(corpus, text)
    return Comparison(Times((mean,)), alternate(ROUNDS, lambda: run(grep))[0])


def _slowest(ours: peers.Ours, corpus: Corpus, shape: Shape) -> tuple[float, str]:
    """The longest time of a symbol call, including first calls of a kind, and that call."""
    calls = [call for call in symbol_calls(shape) for _ in range(ROUNDS)]
    times = answer_times(ours.session(corpus), [calls[0], *calls])
    return max(zip(times.seconds, calls))


def measure_shape(binary: Path, shape: Shape, work: Path) -> Measured:
    """Measure one repository. Errors: BenchError."""
    corpus = load(_repository(shape, work), "main")
    peers.check_same_files(corpus)
    text = "raise ValueError('no value in" if shape.grows else "value + 777"
    with tempfile.TemporaryDirectory(dir=work) as folder:
        ours = peers.Ours(binary, Path(folder) / "timed")
        sampled = peers.Ours(binary, Path(folder) / "sampled")
        cold = run(ours.index(corpus)).wall
        symbol = ours.symbol(corpus, shape.class_name)
        return Measured(
            shape,
            corpus.size / 1e6,
            cold,
            memory.peak_kib(sampled.index(corpus)) / 1024,
            memory.peak_kib(symbol) / 1024,
            alternate(ROUNDS, lambda: run(symbol))[0].median,
            _slowest(ours, corpus, shape),
            _text(ours, corpus, text),
        )


def _line(found: Measured) -> list[str]:
    """The table's line for a repository."""
    sizes = [f"{found.mb:.1f}", f"{found.cold:.2f}", f"{found.cold_mb:.0f}", f"{found.warm_mb:.0f}"]
    calls = [f"{found.warm * 1e3:.0f} ms", f"{found.slowest[0] * 1e3:.1f} ms", f"{found.text.ratio:.2f} x"]
    return [found.shape.name, *sizes, *calls]


def steepness(points: Sequence[tuple[float, float]]) -> float:
    """The cost per size at the last point, divided by that at the first point.

    1 means linear; a fixed cost makes the value smaller. `points` are at least two (size, cost), sorted by size.
    """
    size, cost = points[0]
    before_size, before_cost = points[-2]
    last_size, last_cost = points[-1]
    step = (last_cost - before_cost) / (last_size - before_size)
    return step / (cost / size)


def _sloped(what: str, points: Sequence[tuple[float, float]]) -> Row:
    """A row for a cost that should grow linearly."""
    name = f"{what}: cost of the last step by the first's"
    return Row("growth", name, steepness(points), "x", MAX_STEEPER)


def verdicts(found: Sequence[Measured]) -> list[Row]:
    """The targets on growth."""
    grown = [one for one in found if one.shape.grows]
    slowest = max(found, key=lambda one: one.slowest)
    seconds, call = slowest.slowest
    name = f"slowest symbol call in process: {call}, {slowest.shape.name}"
    return [
        _sloped("cold index", [(one.mb, one.cold) for one in grown]),
        _sloped("cold memory", [(one.mb, one.cold_mb) for one in grown]),
        _sloped("warm process", [(one.mb, one.warm) for one in grown]),
        _sloped("warm memory", [(one.mb, one.warm_mb) for one in grown]),
        Row("growth", name, seconds * 1e3, "ms", MAX_SYMBOL_MS),
        *map(_text_row, found),
    ]


def _text_row(one: Measured) -> Row:
    """The target on text search."""
    what = f"text search in process, {one.shape.name}"
    return Row("growth", what, one.text.ratio, "x", MAX_TEXT, "", "git grep -F")


def measure(binary: Path, work: Path, large: bool) -> list[Row]:
    """Measure all repositories and print their table; returns the rows with targets. Errors: BenchError."""
    found = [measure_shape(binary, shape, work) for shape in shapes(large)]
    print(markdown(HEAD, [_line(one) for one in found]), flush=True)
    rows = verdicts(found)
    print(render(rows), flush=True)
    return rows
