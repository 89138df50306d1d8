"""Makes changed copies of the script. Each function returns the text of a variant, or None if it cannot be made."""

from __future__ import annotations

import ast
import copy

from acr.experiments.comparisons import NEAR, ORDERS, is_given, is_literal, others, pairs
from acr.experiments.equality import REPEAT, relied
from acr.experiments.expectations import SHIFT, Edit, change_site, word
from acr.experiments.printing import carried_on
from acr.experiments.site import FUNCTIONS, GROWS, LOOPS, UNITTEST, Site, find, is_stop, leaves, stops, tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    import random
    from typing import Any

    from acr.experiments.comparisons import Slot

MAX_COUNT = 100_000  # evaluations of the site that variants distinguish
_BROAD = {"Exception", "BaseException"}
# Distinguishes the evaluations of a site: true from number {count} on.
_COUNTER = """def {name}(n=[0]):
    n[0] += 1
    return n[0] >= {count}
"""


class Script:
    """The script and its site; `count`: the evaluation of the site, from 1, that failed without the patch."""

    def __init__(self, source: str, lines: list[int], rng: random.Random) -> None:
        self.source, self.lines, self.rng = source, lines, rng
        self.nonce = word(rng, 16)
        self.count = 1

    def site(self) -> Site | None:
        return find(self.source, self.lines)

    def quote(self) -> str:
        """The line of the site, for a reader."""
        site = self.site()
        line = site.holder.lineno if site else self.lines[-1]
        rows = self.source.split("\n")
        return f"line {line}: `{rows[line - 1].strip()[:80]}`" if line <= len(rows) else f"line {line}"

    def secret(self) -> ast.expr:
        """An expression that computes the nonce without containing it, so that no traceback quotes it from the source."""
        half = len(self.nonce) // 2
        return ast.BinOp(ast.Constant(self.nonce[:half]), ast.Add(), ast.Constant(self.nonce[half:]))

    def fail(self) -> ast.stmt:
        return ast.Raise(ast.Call(ast.Name("AssertionError", ast.Load()), [self.secret()], []), None)

    def gate(self, site: Site) -> str:
        """Makes the script count evaluations of the site; returns a name that is true once it reaches the one that
        failed."""
        if self.count <= 1 or site.kind not in ("test", "call"):
            return ""
        counter, name = word(self.rng), word(self.rng)
        site.insert(_COUNTER.format(name=counter, count=self.count))
        site.swap(site.holder, ast.parse(f"{name} = {counter}()").body[0], site.holder)
        return name


def negated(script: Script) -> str | None:
    """The script with the site inverted: it must fail with the nonce if the patch makes the site hold."""
    site = script.site()
    if site is None or not _negate(script, site):
        return None
    return site.text()


def _negate(script: Script, site: Site) -> bool:
    at = site.at
    if site.is_stop:
        _WaysOut(script, site).swap()
        return True
    if site.kind == "test" and site.test:
        node, field, _ = site.test
        test, gate = getattr(node, field), script.gate(site)
        turned = ast.UnaryOp(ast.Not(), test)
        setattr(node, field, ast.IfExp(ast.Name(gate, ast.Load()), turned, copy.deepcopy(test)) if gate else turned)
        _speak(script, site)
        _WaysOut(script, site).swap_handlers()
        return True
    if site.kind == "call" and tail(at.value) in UNITTEST and not script.gate(site):
        at.value.args = at.value.args[: 1 if tail(at.value).endswith(("True", "False", "None")) else 2]
        at.value.func.attr = UNITTEST[tail(at.value)]
        at.value.keywords = [k for k in at.value.keywords if k.arg != "msg"] + [ast.keyword("msg", script.secret())]
        return True
    if site.kind in ("call", "with", "statement"):
        raises = site.kind == "with" and tail(at.items[0].context_expr) == "raises"
        caught = "BaseException" if raises else "AssertionError"
        ok = ast.ExceptHandler(ast.Name(caught, ast.Load()), None, [ast.Pass()])
        site.swap(at, ast.Try(body=[at], handlers=[ok], orelse=[script.fail()], finalbody=[]))
        return True
    return False


class _WaysOut:
    """Inverts a statement that only fails: it does nothing, and every path that avoids it fails."""

    def __init__(self, script: Script, site: Site) -> None:
        self.script, self.site = script, site
        gate = script.gate(site)
        self.gated = {id(x) for x in ast.walk(site.holder)} if gate else set()
        self.name = gate

    def _fail(self, near: ast.AST) -> ast.stmt:
        fail = self.script.fail()
        return ast.If(ast.Name(self.name, ast.Load()), [fail], []) if id(near) in self.gated else fail

    def swap(self) -> None:
        at = self.site.at
        while not isinstance(at, (*FUNCTIONS, *LOOPS, ast.Module)):
            up = at.up
            block = next((b for _, b in ast.iter_fields(up) if isinstance(b, list) and at in b), [])
            for before in block[: block.index(at)] if block else []:
                if not isinstance(before, (*FUNCTIONS, *LOOPS)):
                    self._bar(before)
            if isinstance(up, LOOPS) and at in up.orelse:
                self._bar(up)
            self._turn(up, at)
            at = up
        self.site.swap(self.site.at, ast.Pass())

    def swap_handlers(self) -> None:
        """Inverts each handler around the site, because an assertion in a handler is not reached if no error occurs."""
        at = self.site.at
        while not isinstance(at, (*FUNCTIONS, *LOOPS, ast.Module)):
            if isinstance(at, ast.ExceptHandler):
                self._turn(at.up, at)
            at = at.up

    def _bar(self, before: ast.AST) -> None:
        """Makes each statement fail that leaves the block before the site is reached."""
        for x in ast.walk(before):
            if leaves(x) and hasattr(x, "up"):
                first = [ast.Expr(x.value)] if isinstance(x, ast.Return) and x.value else []
                self.site.swap(x, *first, self._fail(x))

    def _turn(self, up: ast.AST, at: ast.AST) -> None:
        if isinstance(up, getattr(ast, "Match", ())):
            for case in up.cases:
                if case is not at:
                    self._insert(case.body, up)
            known = [case.pattern for case in up.cases if not case.guard]
            if not any(isinstance(x, ast.MatchAs) and x.pattern is None for x in known):
                up.cases.append(ast.match_case(ast.MatchAs(), None, [self._fail(up)]))
        elif isinstance(up, ast.If):
            self._insert(up.orelse if at in up.body else up.body, up)
        elif isinstance(up, ast.Try):
            for handler in [*up.handlers]:
                if handler is not at and not any(isinstance(x, ast.Raise) for x in handler.body):
                    self._insert(handler.body, up)
            if at in up.handlers:
                self._insert(up.orelse, up)
                for before in up.body:
                    self._bar(before)
                caught = ast.Name("AssertionError", ast.Load())
                up.handlers.insert(0, ast.ExceptHandler(caught, None, [ast.Raise()]))

    def _insert(self, block: list[ast.stmt], near: ast.AST) -> None:
        if not any(stops(x) for x in block):
            block.insert(0, self._fail(near))
            return
        for x in block:
            if isinstance(x, ast.If):
                self._insert(x.body, near)
                self._insert(x.orelse, near)


def _speak(script: Script, site: Site) -> None:
    """Makes the failure of the site carry the nonce."""
    if isinstance(site.at, ast.Assert):
        site.at.msg = script.secret()
    elif isinstance(site.at, ast.Raise) or is_stop(site.at):
        site.swap(site.at, script.fail())
    elif isinstance(site.at, ast.Expr) and isinstance(site.at.value, ast.Call):
        if tail(site.at.value).startswith("assert") and isinstance(site.at.value.func, ast.Attribute):
            keep = [k for k in site.at.value.keywords if k.arg not in ("msg", "err_msg")]
            name = "msg" if tail(site.at.value)[6:7].isupper() else "err_msg"
            site.at.value.args = site.at.value.args[: 1 if site.test else 2]
            site.at.value.keywords = [*keep, ast.keyword(name, script.secret())]
        elif site.kind == "test":
            site.swap(site.at, script.fail())


def perturbed(script: Script, inner: bool) -> tuple[str, str] | None:
    """The script with another expected value, and what is changed; inner: this value is computed from other constants."""
    site, shift = script.site(), word(script.rng)
    edit = Edit(shift, inner, script.gate(site) if site and site.tests() == [site.test] else "")
    if site is None or not change_site(site, edit):
        return None
    _speak(script, site)
    site.insert(SHIFT.format(name=shift, word=word(script.rng), number=script.rng.randrange(1000, 9999)))
    return site.text(), edit.words


def pinned(script: Script, rows: dict[str, list[object]]) -> tuple[str, object] | None:
    """The script with its computed expected values written out, as they are without the patch; and the last value."""
    site, last = script.site(), None
    for number, pair in enumerate(pairs(site) if site else []):
        written = rows.get(f"{'L' if pair.how == 'given' or not pair.is_right else 'R'}{number}", [])
        looks = pair.equal or pair.how in (*ORDERS, *NEAR, "difference", "given") or is_given(pair)
        looks = looks and not (pair.is_noted or pair.is_relation or is_literal(pair.expected.get()))
        known = [literal(at) for at in written] if looks else []
        if 0 < len(known) <= MAX_COUNT and None not in known:
            pin(script, site, pair.expected, known)
            last = written[-1:]
    return (site.text(), last[0]) if site and last else None


def is_plain(value: object) -> bool:
    return isinstance(value, (int, float, complex, str, bytes, bool, type(None)))


def literal(row: object) -> str | None:
    """The expression of a value that is written out: plain data, containers of such, and classes; None for others."""
    if not isinstance(row, list):
        return repr(row) if is_plain(row) and row not in ("...", "nan", "inf", "-inf") else None
    kind, held = row[:1], row[1:]
    if kind == ["class"]:
        module, _, name = held[0][0].partition(":")
        if module == "__main__" or "<" in name:
            return None
        return f"__import__('operator').attrgetter({name!r})(__import__('importlib').import_module({module!r}))"
    if kind not in (["list"], ["tuple"], ["set"], ["dict"]):
        return None
    items = [[literal(at) for at in (item if kind == ["dict"] else [item])] for item in held]
    if any(at is None for item in items for at in item):
        return None
    inner = "".join(":".join(map(str, item)) + "," for item in items)
    return {"list": "[%s]", "tuple": "(%s)", "set": "set([%s])", "dict": "{%s}"}[kind[0]] % inner


def pin(script: Script, site: Site, slot: Slot, known: list[str | None]) -> None:
    """Makes an expression return the values of these expressions, one after the other."""
    name, texts = word(script.rng), ", ".join(map(str, known))
    slot.put(ast.Call(ast.Name(name, ast.Load()), [slot.get()], []))
    site.insert(
        f"def {name}(x, n=[0], known=[]):\n    if not known: known += [{texts}]\n"
        "    n[0] += 1\n    return known[n[0] - 1] if n[0] <= len(known) else x\n"
    )


def replayed(script: Script, rows: dict[str, list[Any]], chosen: list[int]) -> tuple[str, bool] | None:
    """A script for the base in which the base's helpers judge the arguments that they get with the patch; and whether
    it first repeats comparisons of objects. If one has another result, the script fails with the nonce; otherwise it
    prints the nonce backwards. `chosen`: numbers of the helpers' pairs; other failures of the script are ignored."""
    site, repeat, (objects, compared) = script.site(), word(script.rng), relied(rows)
    if site is None or not (chosen or compared):
        return None
    holder = site.holder
    if chosen:
        _pin_helpers(script, site, rows, chosen)
    if compared:
        told = ast.unparse(script.secret())
        site.swap(holder, *ast.parse(f"{repeat}({told}, {objects!r}, {compared!r})").body, holder)
        site.insert(REPEAT.format(repeat=repeat))
    return site.text(), bool(compared)


def _pin_helpers(script: Script, site: Site, rows: dict[str, list[Any]], chosen: list[int]) -> None:
    own = pairs(site)
    found = [*own, *others(site, own)]
    judged = {id(found[number].call.get()) for number in chosen}  # type: ignore[union-attr]
    kept = {id(x) for at in (site.at, site.holder) if min(chosen) < len(own) for x in ast.walk(at)}
    for at in [x for x in ast.walk(site.tree) if isinstance(x, ast.stmt)]:
        test = at.test if isinstance(at, ast.If) else at if isinstance(at, (ast.Assert, ast.Expr)) else ast.Pass()
        if any(id(x) in judged for x in ast.walk(test)):
            kept |= {id(x) for x in ast.walk(at)}
        if id(at) not in kept:
            site.swap(at, carried_on(at))
    for number in chosen:
        given = rows[f"{'L' if number < len(own) else 'X'}{number}"]
        pin(script, site, found[number].left, [literal(at) for at in given])


def unmasked(source: str, asserting: bool = False, waiting: int = 0) -> str | None:
    """The script with handlers that let their errors through; `asserting`: only handlers that catch an AssertionError.

    waiting: the line of a `try` that expects an error; 0: none is known.
    """
    tree, found = ast.parse(source), False
    tests = [x.test for x in ast.walk(tree) if isinstance(x, (ast.Assert, ast.If, ast.IfExp))]
    asked = {y.id for x in tests for y in ast.walk(x) if isinstance(y, ast.Name)}
    blocks = [block for x in ast.walk(tree) for _, block in ast.iter_fields(x) if isinstance(block, list)]
    awaited = [id(one) for block in blocks for one, after in zip(block, block[1:]) if is_stop(after)]
    for at in ast.walk(tree):
        expects = at.lineno == waiting or id(at) in awaited if isinstance(at, ast.Try) else False
        expects = expects or isinstance(at, ast.Try) and any(_notes(x, asked) for x in [*at.body[1:], *at.orelse])
        for handler in getattr(at, "handlers", []):
            if _catches(handler, {"AssertionError", *_BROAD}) if asserting else not expects and _hides(handler, asked):
                handler.body, found = [ast.Raise()], True
        broad = isinstance(at, ast.Call) and tail(at) == "suppress" and any(tail(x) in _BROAD for x in at.args)
        if broad and not asserting:
            at.args, found = [], True
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n" if found else None


def _notes(at: ast.stmt, asked: set[str]) -> bool:
    """Whether a statement reacts to a missing error: it fails, leaves the block, or records that no error occurred."""
    calls = [x for x in ast.walk(at) if isinstance(x, ast.Call) and tail(x) in GROWS]
    flags = isinstance(at, ast.Assign) and isinstance(at.value, ast.Constant)
    counts = isinstance(at, ast.AugAssign) and isinstance(at.target, ast.Name) and at.target.id in asked
    return stops(at) or leaves(at) or bool(calls) or counts or flags


def _catches(handler: ast.ExceptHandler, names: set[str]) -> bool:
    inner = ast.walk(handler.type) if handler.type else []
    return handler.type is None or any(isinstance(x, ast.Name) and x.id in names for x in inner)


def _hides(handler: ast.ExceptHandler, asked: set[str]) -> bool:
    """Whether a handler continues as if no error had occurred: it does not fail, and neither uses nor records the
    error. `asked`: names that the script tests later."""
    for x in ast.walk(handler):
        if isinstance(x, (ast.Assert, ast.Raise)) or isinstance(x, ast.Name) and x.id == handler.name:
            return False
        if isinstance(x, ast.Call) and (tail(x).startswith(("assert", "fail", "exit")) or "exc" in tail(x)):
            return False
        if isinstance(x, (ast.Assign, ast.Return)) and isinstance(x.value, ast.Constant):
            if isinstance(x.value.value, bool) or x.value.value is None:
                return False  # the handler sets a flag that the script tests later
        if isinstance(x, ast.AugAssign) and isinstance(x.target, ast.Name) and x.target.id in asked:
            return False
        if isinstance(x, ast.Call) and tail(x) in GROWS:
            return False
    return True


def by_pipe(source: str) -> bool:
    """Whether Python may read the script from a pipe; a script that uses its own file must be a file."""
    return not any(word in source for word in ("__file__", "argv", "multiprocessing", "getsource", "ProcessPool"))
