"""Whether a script's two watched runs, without and with a patch, prove that the patch mends what it shows.

`observe/` reports from the sandbox, where the patch runs too and may have lied: what can be decided here is decided
here. The script and the patch are parsed, never run.
"""

from __future__ import annotations

import ast
import hashlib
import hmac
import json
import operator
import re
import secrets
from pathlib import Path

from acr import patch_doubts
from acr.packing import pack, unpack
from acr.patched import DECIDING, Change
from acr.script import Script, Statement, tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from acr.script import Place

BEFORE, BEHIND = 0, 1
MAX_REASONS = 5
MAX_BODY = 3200  # bytes of a report, as in observe/watch.py; a longer one is not the runner's
MAX_REPORTS = 60_000
MAX_FAILURES = 1000  # different ones
_NAMES = {"nan": float("nan"), "inf": float("inf")}
_HOLDS: dict[str, Callable[[object, object], object]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "in": lambda a, b: a in b, "not in": lambda a, b: a not in b,
}  # fmt: skip
_ASSERTIONS = {
    "assertEqual": "==", "assertEquals": "==", "assertNotEqual": "!=", "assertIn": "in", "assertNotIn": "not in",
    "assertLess": "<", "assertLessEqual": "<=", "assertGreater": ">", "assertGreaterEqual": ">=",
    "assertListEqual": "==", "assertDictEqual": "==", "assertTupleEqual": "==", "assertSetEqual": "==",
    "assertSequenceEqual": "==", "assertMultiLineEqual": "==",
}  # fmt: skip
_BROAD = {"", "Exception", "BaseException"}
# Classes that may equal anything, and the words by which a script says that it uses them.
_AGREEABLE = re.compile(r"unittest\.mock\.(_ANY|\w*Mock)|_pytest\.python_api\.Approx|.*\.approx\.")
_USES_AGREEABLE = re.compile(r"\bANY\b|approx|(?i:mock)")
# What is shown of a patch and makes it unproved by itself: a mended function has no need of it.
_DECIDES = re.compile(
    r"of the standard library:|by os\._exit:|turns off all logging|__defaults__|sys\.argv\[0\]|by (unittest\.)?mock\b"
)
# The same where nothing watches what is run, as a command that validates a patch.
_DECIDES_UNWATCHED = re.compile(
    r"can end the process by|(starts or replaces processes|runs code later) by (os\.|atexit|signal|\w*\.?excepthook)"
)
_LEAVES = {"exit", "quit", "_exit", "main", "run_module", "run_path"}
# What a function may answer with its class's own code, though the patch changed that: it is what was asked.
_ASKED = {"in": {"__contains__"}, "not in": {"__contains__"}, "len": {"__len__"}}


_BOOT = """import os, sys
path = [''] + sys.path[1:]
sys.path[:] = [at for at in path if at.startswith(sys.base_prefix) and "packages" not in at]
def read(count):
    text = b""
    while len(text) < count:
        more = os.read(0, count - len(text))
        if not more:
            raise EOFError
        text += more
    return text
exec(read(LENGTH))
modules = [(name, text, type(sys)(name)) for name, text in given[0]]
sys.modules.update((name, module) for name, _, module in modules)
for name, text, module in modules:
    module.__path__ = []
    exec(compile(text, "<observer>", "exec"), module.__dict__)
for name, text, _ in modules:
    del sys.modules[name]
module.run(read, *given[1:], path[1:])
"""
_OBSERVER = ("operands", "rewrite", "watch", "touched", "runner")


class Lie(ValueError):
    """The reports are not what the runner writes."""


# ---- Reports ---------------------------------------------------------------------------------------------------------


def begin(script: bytes) -> bytes:
    """Packed (script, "twice" or "") -> packed (text for `python -c`, its standard input, tag, key): a run that is watched.

    The text reads the observer from standard input and imports it before anything can be imported from the project. Twice:
    the script runs once unheard before. What it runs in then has not seen the key, which is the end of the input.
    """
    tag, key = secrets.token_hex(4), secrets.token_hex(32)
    source, twice = (at.decode("utf-8") for at in unpack(script))
    folder = Path(__file__).parent / "observe"
    sources = [("acr", ""), ("acr.observe", "")]
    sources += [(f"acr.observe.{name}", (folder / f"{name}.py").read_text("utf-8")) for name in _OBSERVER]
    given = f"given = {(sources, tag, source, twice == 'twice')!a}"
    return pack(at.encode() for at in (_BOOT.replace("LENGTH", str(len(given))), given + key, tag, key))


def end(argument: bytes) -> bytes:
    """Packed (tag, key, standard error of the run) -> the bodies of its reports, as a JSON list."""
    tag, key, text = unpack(argument)
    frame = re.compile(rb"\x1e" + re.escape(tag) + rb"([0-9a-f]{32})([^\x1e]*)\x1e")
    bodies: list[str] = []
    for mac, body in frame.findall(text):
        digest = hashlib.blake2b(body, key=bytes.fromhex(key.decode()), digest_size=16).hexdigest()
        if len(body) <= MAX_BODY and hmac.compare_digest(digest.encode(), mac):
            bodies.append(body.decode("ascii", "replace"))
    return json.dumps(bodies).encode()


def value_of(text: str) -> object:
    """A plain object from its text, without running anything."""
    return _value(ast.parse(text, mode="eval").body)


def _value(node: ast.expr) -> object:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Tuple):
        return tuple(_value(at) for at in node.elts)
    if isinstance(node, ast.List):
        return [_value(at) for at in node.elts]
    if isinstance(node, ast.Set):
        return {_value(at) for at in node.elts}
    if isinstance(node, ast.Dict):
        return {_value(key): _value(at) for key, at in zip(node.keys, node.values) if key}
    if isinstance(node, ast.Name) and node.id in _NAMES:
        return _NAMES[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)  # type: ignore[operator]
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        left, right = _value(node.left), _value(node.right)
        return left + right if isinstance(node.op, ast.Add) else left - right  # type: ignore[operator]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("set", "frozenset"):
        return {"set": set, "frozenset": frozenset}[node.func.id](*[_value(at) for at in node.args])  # type: ignore[call-overload]
    raise Lie("an operand that is not plain")


class Run:
    """The reports of one watched run, in their order."""

    def __init__(self, bodies: list[str]) -> None:
        self.reports: dict[str, list[tuple]] = {}
        self.counts: dict[tuple[int, int, int], int] = {}
        self.how = ""
        if len(bodies) > MAX_REPORTS:
            raise Lie("there are too many")
        for number, body in enumerate(bodies, 1):
            report = value_of(body)
            if not isinstance(report, tuple) or report[0] != number or not isinstance(report[1], str):
                raise Lie("reports are missing")
            self.reports.setdefault(report[1], []).append(report[2:])
            if report[1] == "counts":
                self.counts.update(report[2])
            elif report[1] == "end":
                self.how = report[2]

    def of(self, kind: str) -> list[tuple]:
        return self.reports.get(kind, [])

    def count(self, place: Place, side: int) -> int:
        return self.counts.get((*place, side), 0)

    def at(self, place: Place, *kinds: str) -> list[tuple]:
        return [report for kind in kinds for report in self.of(kind) if report[:2] == place]


class Judge:
    def __init__(self, script: Script, before: Run, after: Run, changes: dict[str, Change]) -> None:
        self.script, self.before, self.after, self.changes = script, before, after, changes

    def reasons(self) -> Iterator[str]:
        """Why the runs prove nothing; none where they prove it."""
        if self.after.how not in ("end", "exit"):
            yield "with the patch the script did not come to its own end"
            return
        if not self.before.how:
            yield "without the patch the script's reports have no end"
            return
        if self.after.how == "exit" and not self._leaves():
            yield "with the patch the script is left by an exit that is not its own"
        yield from self._failures()
        yield from self._operands()
        yield from self._own()
        yield from self._caught()
        yield from self._raised_any()
        yield from self._touched()
        for file, change in self.changes.items():
            yield from (f"the patch makes {at} of {file}, plain data with answers of its own" for at in change.liars)
            if re.search(r"\bimport\s*\*", self.script.source):
                yield from (f"the patch makes {at} of {file} another than Python's" for at in change.covered)
            for line, name in self.script.measures(change.data):
                yield f"line {line} of the script goes by {name}, which the patch changes in {file}"
            for name in change.constant:
                if re.search(rf"\b{re.escape(name)}\b", self.script.source) or name in DECIDING:
                    yield f"the patch makes {name} of {file} answer always the same"

    def _leaves(self) -> bool:
        """Whether the statement that the last exit came from is one by which scripts leave."""
        exits = [at for at in self.after.of("failed") if at[1]]
        found = self.script.at_line(exits[-1][1][-1]) if exits else None
        if found is None:
            return False
        calls = [at.func for at in ast.walk(found.node) if isinstance(at, ast.Call)]
        return isinstance(found.node, ast.Raise) or any(tail(at) in _LEAVES for at in calls)

    def _failures(self) -> Iterator[str]:
        failed = [report for report in self._assertions(self.before) if report[1]]
        if not failed:
            yield "without the patch no assertion of the script was seen to fail"
        for _, lines, where, name, line in failed:
            if where in self.changes and self.changes[where].changed(name, line):
                yield f"the assertion that failed is the project's own, in {where}, and the patch changes it"
            yield from self._passed(lines)
        for _, lines, where, *_ in self._assertions(self.after):
            if lines and where in ("", "="):
                yield f"with the patch an assertion of the script fails in line {lines[-1]}"
                break

    @staticmethod
    def _assertions(run: Run) -> list[tuple]:
        """(type, lines, file, function, line) of the AssertionErrors that left a function of the script or were caught,
        each as far as it went."""
        reports = [*run.of("failed"), *(at[2:] for at in run.of("caught"))]
        found = list(dict.fromkeys((at[0], tuple(at[1]), *at[2:]) for at in reports if at[0] == "AssertionError"))
        if len(found) > MAX_FAILURES:
            raise Lie("too many assertions failed")
        return [at for at in found if not any(_goes_on(at, other) for other in found)]

    def _passed(self, lines: list[int]) -> Iterator[str]:
        """Whether the statement that failed was passed; one that only fails: whether it was decided not to go there."""
        for line in reversed(lines):
            at = self.script.at_line(line)
            if at is None:
                continue
            if at.simple and at.parent and self._left_well(at):
                at = at.parent  # up to 3.9 what ends a `with` has the line of its last statement
            if not self.script.is_stop(at):
                if self.after.count(at.place, BEHIND) <= self.before.count(at.place, BEHIND):
                    yield f"with the patch the assertion in line {line} was not passed"
                elif self._left_out(at):
                    yield f"with the patch some rounds pass over the assertion in line {line}"
                elif isinstance(at.node, ast.Assert) and not self._seen(at):
                    yield f"with the patch nothing was compared by the assertion in line {line}"
                elif isinstance(at.node, ast.Assert) and self.script.only_looks(at.node.test) and not self._more():
                    yield f"the assertion in line {line} looks at what is written, and no other is reached by the patch"
                return
            decided = self._decided(at)
            if decided is not None:
                if not decided:
                    yield f"with the patch it was not asked what decides about line {line}"
                elif at.parent and isinstance(at.parent.node, ast.If) and self._left_out(at.parent):
                    yield f"with the patch some rounds pass over what decides about line {line}"
                return
        yield "what failed without the patch has no line of the script"

    def _left_out(self, at: Statement) -> bool:
        """Whether a statement that each round of a loop, or call of a function, reached before is passed over by some."""
        around = at.parent
        while around and not isinstance(around.node, (ast.For, ast.While, ast.FunctionDef, ast.AsyncFunctionDef)):
            around = around.parent
        if around is None or not around.blocks.get("body"):
            return False
        first = around.blocks["body"][0]
        rounds, reached = ([run.count(one.place, BEFORE) for run in (self.before, self.after)] for one in (first, at))
        return reached[0] == rounds[0] > 0 and reached[1] < rounds[1]

    def _left_well(self, at: Statement) -> bool:
        was = self.before
        return isinstance(at.parent.node, ast.With) and was.count(at.place, BEHIND) >= was.count(at.place, BEFORE)

    def _seen(self, at: Statement) -> bool:
        assert isinstance(at.node, ast.Assert)
        if not any(isinstance(node, ast.Compare) for node in ast.walk(at.node.test)):
            return bool(self.after.at(at.place, "truth", "own", "called"))
        pairs = self.after.at(at.place, "held", "own")
        return any(report[2] in _HOLDS or report[2] in ("is", "is not") for report in pairs)

    def _more(self) -> bool:
        """Whether the patch leads to assertions that were not reached before."""
        places = [at.place for at in self.script.all if isinstance(at.node, ast.Assert)]
        return any(self.after.count(at, BEHIND) and not self.before.count(at, BEFORE) for at in places)

    def _reached(self, at: Statement) -> bool:
        return self.after.count(at.place, BEFORE) > 0

    def _decided(self, at: Statement) -> bool | None:
        """Whether what leads to a statement was reached and led elsewhere; None: a function's call leads to it."""
        if at.previous:
            expected = at.parent is not None and isinstance(at.parent.node, (ast.Try, ast.With)) and at.field == "body"
            behind = self.after.count(at.previous.place, BEHIND) > 0
            return self._reached(at.previous) and (behind or expected or not at.previous.simple)
        parent = at.parent
        if parent is None:
            return False
        if isinstance(parent.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return None
        if at.field == "handler":
            return self._completed(parent)
        if isinstance(parent.node, (ast.For, ast.While)) and at.field == "orelse":
            inside = [inner for inner in ast.walk(parent.node) if isinstance(inner, (ast.Break, ast.Return))]
            return any(self.after.count((inner.lineno, inner.col_offset), BEFORE) for inner in inside)
        if self._reached(parent):
            return True
        outer = parent.parent  # in a handler, or the next branch of a condition
        if isinstance(parent.node, ast.If) and outer and parent.field in ("handler", "orelse"):
            return self._decided(parent)
        return False

    def _completed(self, at: Statement) -> bool:
        body = at.blocks["body"]
        left = [inner for inner in ast.walk(at.node) if isinstance(inner, ast.Return)]
        places = [body[-1].place, *((inner.lineno, inner.col_offset) for inner in left)]
        return any(self.after.count(place, BEHIND) for place in places)

    def _operands(self) -> Iterator[str]:
        """Compares again what the reports say was compared."""
        for line, _, name, left, right, outcome in self.after.of("held"):
            if name in _HOLDS and not _agrees(name, left, right, outcome):
                yield f"with the patch the comparison in line {line} is not as it was reported"
        for line, _, name, shown in self.after.of("called"):
            if name in _ASSERTIONS and len(shown) > 1 and not _agrees(_ASSERTIONS[name], shown[0], shown[1], True):
                yield f"with the patch {name} in line {line} accepts what it should not"
        for line, column, name, left, right, _ in self.after.of("held"):
            wanted = self.script.literals((line, column))
            for is_, should in zip((left, right), wanted if name in _HOLDS else ()):
                if should is not None and is_[0] == "plain" and not _same(is_[1], should):
                    yield f"with the patch line {line} does not compare with its own constant"

    def _own(self) -> Iterator[str]:
        """Comparisons by classes' own code, which the patch must have left alone."""
        known_codes = {tuple(code[:3]) for report in self.before.of("own") for code in report[4]}
        known_classes = {kind for report in self.before.of("own") for kind in report[5]}
        known_odd = {odd for report in self.before.of("own") for odd in report[6]}
        for line, _, name, outcome, codes, classes, odd in self.after.of("own"):
            where = f"in line {line} an object is compared or asked by its own code"
            if outcome in ("int", "list", "str", "tuple", "dict", "object", "float", "NoneType"):
                yield f"{where}, which answers neither True nor False"
            for file, first, function, used in codes:
                change = self.changes.get(file)
                if file.startswith("?") and (file, first, function) not in known_codes:
                    yield f"{where} of '{file[1:]}', which is not a file of the project"
                elif change and change.changed(function, first) and function not in _ASKED.get(name, ()):
                    yield f"{where}, {function}, which the patch changes"
                else:
                    names = set().union(change.names if change else (), *(at.values for at in self.changes.values()))
                    for used_name in sorted(names & set(used))[:1]:
                        yield f"{where}, {function}, and the patch changes {used_name}, which that uses"
            for file, kind in classes:
                if file == "?" and (file, kind) not in known_classes:
                    yield f"{where}, of {kind}, which is not what it says it is"
                elif (
                    file in self.changes and name not in ("isinstance", "issubclass") and self.changes[file].made(kind)
                ):
                    yield f"{where}, of the class {kind}, which the patch makes or makes otherwise"
                elif not file and _AGREEABLE.match(kind) and not _USES_AGREEABLE.search(self.script.source):
                    yield f"{where}, of {kind}, which equals what it is compared with"
            yield from (f"{where}, {at}" for at in odd if at not in known_odd)

    def _caught(self) -> Iterator[str]:
        """Exceptions that only the patch raises, where the script takes any, or a value of its own instead."""
        before = {report[:2] for report in self.before.of("caught")}
        assigned = self._assigned()
        for line, column, kind, *_ in self.after.of("caught"):
            found = self.script.handlers.get((line, column))
            if (line, column) in before or not found:
                continue
            handler, statement = found
            kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
            widened = [tail(at) for at in kinds if at and tail(at) in assigned]
            if widened:
                yield f"with the patch {kind} is raised, and {widened[0]}, which line {line} expects, is another class"
            if any((tail(at) if at else "") in _BROAD for at in kinds) and not self._looks_at(handler):
                yield f"with the patch {kind} is raised, and line {line} of the script takes any error"
            elif self.script.skips(handler, statement):
                yield f"with the patch {kind} is raised, and line {line} of the script passes over it"
            elif _stored(handler.body) & _stored(statement.node.body):  # type: ignore[attr-defined]
                yield f"with the patch {kind} is raised, and the script takes a value of its own (line {line})"

    def _assigned(self) -> set[str]:
        """The names that the patch assigns outside functions."""
        return {name for change in self.changes.values() for name in change.values}

    def _raised_any(self) -> Iterator[str]:
        """Exceptions that only the patch raises, where the script expects one of any kind."""
        before = {tuple(at[1]) for at in self.before.of("failed")}
        new = [(at[0], at[1]) for at in self.after.of("failed") if at[1] and tuple(at[1]) not in before]
        for node in ast.walk(self.script.tree):
            if not isinstance(node, ast.With) or node.items[0].optional_vars is not None:
                continue
            call = node.items[0].context_expr
            if not isinstance(call, ast.Call) or tail(call.func) not in ("assertRaises", "raises") or call.keywords:
                continue
            if len(call.args) == 1 and tail(call.args[0]) in _BROAD | self._assigned():
                inside = range(node.lineno, (node.end_lineno or 0) + 1)
                for kind in [kind for kind, lines in new if lines[-1] in inside][:1]:
                    yield f"with the patch {kind} is raised, and line {node.lineno} of the script takes any error"

    def _looks_at(self, handler: ast.ExceptHandler) -> bool:
        """Whether the script compares, or asks the class of, what the handler caught."""
        if not handler.name:
            return False
        names = {handler.name}
        for at in handler.body:
            if isinstance(at, ast.Assign) and isinstance(at.value, ast.Name) and at.value.id in names:
                names |= _stored([at])
        for at in ast.walk(self.script.tree):
            asks = tail(at.func) in ("isinstance", "type") if isinstance(at, ast.Call) else isinstance(at, ast.Compare)
            if asks and names & {inner.id for inner in ast.walk(at) if isinstance(inner, ast.Name)}:
                return True
        return False

    def _touched(self) -> Iterator[str]:
        if self.after.of("lost"):
            yield "with the patch a report was too long to be sent"
        before = {report[:3] for report in self.before.of("reach")}
        for what, *places in self.after.of("reach"):
            for file, line in (places[:2], places[2:]):
                new = (what, *places[:2]) not in before and (file[:1] == "?" or file in self.changes)
                if new and (file[:1] == "?" or self.changes[file].touches(line, line)):
                    yield f"the patch reaches for what runs it: {what} ({file.lstrip('?')}:{line})"
        for what, path in self.after.of("read"):
            yield f"the script looks at the project's files instead of running it: {what} of {path}"
        before = set(self.before.of("replaced"))
        yield from (f"the patch replaces {at[0]}" for at in self.after.of("replaced") if at not in before)


def _goes_on(at: tuple, other: tuple) -> bool:
    """Whether the other is the same error, farther."""
    return at[2:] == other[2:] and len(other[1]) > len(at[1]) and other[1][len(other[1]) - len(at[1]) :] == at[1]


def _same(text: str, node: ast.expr) -> bool:
    is_, should = value_of(text), _value(node)
    return type(is_) is type(should) and (is_ == should or is_ != is_)


def _stored(body: list[ast.stmt]) -> set[str]:
    nodes = [at for statement in body for at in ast.walk(statement)]
    imported = {(at.asname or at.name).split(".")[0] for at in nodes if isinstance(at, ast.alias)}
    return imported | {at.id for at in nodes if isinstance(at, ast.Name) and isinstance(at.ctx, ast.Store)}


def _agrees(name: str, left: tuple, right: tuple, outcome: object) -> bool:
    """Whether a comparison of plain data gives what was reported; one that cannot be made again is believed."""
    if left[0] == right[0] == "plain":
        try:
            return bool(_HOLDS[name](value_of(left[1]), value_of(right[1]))) == bool(outcome)
        except (TypeError, ValueError, SyntaxError, RecursionError, MemoryError):
            return False
    if left[0] == right[0] == "digest" and name in ("==", "!="):
        same = left[1:] == right[1:]
        return same == (bool(outcome) == (name == "==")) or left[1] in ("dict", "set", "frozenset") or not same
    return True


def _asked_for(source: str, added: list[str]) -> Iterator[str]:
    """Files that the patch adds, where the script asks whether they are there."""
    calls = [at for at in ast.walk(ast.parse(source)) if isinstance(at, ast.Call)]
    asks = any(tail(at.func) in ("exists", "isfile", "is_file", "lexists", "stat", "getsize") for at in calls)
    for path in added if asks else ():
        if re.search(rf"\b{re.escape(path.split('/')[-1])}\b", source):
            yield f"the script asks for a file that the patch adds: {path}"


def judge(argument: bytes) -> bytes:
    """Packed (script, reports without the patch, with it, files) -> packed reasons why these prove nothing.

    Reports are as `end` gives them; `files` as of `patch_doubts.find`. No reason: they prove that the patch mends what
    the script shows.
    """
    script, *reports, files = unpack(argument)
    doubts = json.loads(unpack(patch_doubts.find(files))[0])
    try:
        before, after = (Run(json.loads(at)) for at in reports)
        fields = [at.decode("utf-8", "replace") for at in unpack(files)]
        sides = {path: (was[1:], now[1:]) for path, was, now in zip(fields[::3], fields[1::3], fields[2::3])}
        changes = {path: Change(*sides[path], ranges) for path, ranges in doubts["changed"].items()}
        reasons = [
            *decisive(doubts),
            *Judge(Script(script.decode("utf-8")), before, after, changes).reasons(),
            *(at for at in doubts["told"] if b"pytest" in script and at.startswith("the patch sets how tests are run")),
            *_asked_for(script.decode("utf-8"), [path for path, two in sides.items() if not any(two[:1])]),
        ]
    except (Lie, SyntaxError, ValueError, TypeError, LookupError, AttributeError, RecursionError, MemoryError) as error:
        reasons = [f"the reports of the watched runs cannot be read: {type(error).__name__}: {error}"]
    return pack(at.encode("utf-8", "replace") for at in list(dict.fromkeys(reasons))[:MAX_REASONS])


def told(files: bytes) -> bytes:
    """What a person should look at in a patch, packed; `files` as of `patch_doubts.find`."""
    doubts = json.loads(unpack(patch_doubts.find(files))[0])
    return pack(at.encode("utf-8", "replace") for at in [*doubts["barred"], *doubts["told"]])


def barred(files: bytes) -> bytes:
    """What in a patch makes that a command which ends well with it proves nothing; likewise."""
    doubts = json.loads(unpack(patch_doubts.find(files))[0])
    found = [*decisive(doubts), *(at for at in doubts["told"] if _DECIDES_UNWATCHED.search(at))]
    return pack(at.encode("utf-8", "replace") for at in found)


def decisive(doubts: dict[str, list[str]]) -> list[str]:
    """What makes that a patch proves nothing, of what `patch_doubts.find` gives."""
    return [*doubts["barred"], *(at for at in doubts["told"] if _DECIDES.search(at))]
