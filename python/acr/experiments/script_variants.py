"""Makes changed copies of the script. Each function returns the text of a variant, or None if it cannot be made."""

from __future__ import annotations

import ast
import copy

from acr.experiments.comparisons import NEAR, ORDERS, is_given, is_literal, others, pairs
from acr.experiments.decoy import is_text
from acr.experiments.equality import REPEAT, relied
from acr.experiments.expectations import SHIFT, Edit, change_site, word
from acr.experiments.printing import carried_on
from acr.experiments.site import FUNCTIONS, LOOPS, UNITTEST, Site, ancestors, find, is_stop, tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    import random
    from typing import Any

    from acr.experiments.comparisons import Slot

MAX_COUNT = 100_000  # evaluations of the site that variants distinguish
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
        _reach(script, site, at)
        return True
    if site.kind == "test" and site.test:
        node, field, _ = site.test
        test, gate = getattr(node, field), script.gate(site)
        turned = ast.UnaryOp(ast.Not(), test)
        setattr(node, field, ast.IfExp(ast.Name(gate, ast.Load()), turned, copy.deepcopy(test)) if gate else turned)
        _speak(script, site)
        if any(isinstance(up, ast.ExceptHandler) for up in ancestors(site.holder)):
            _reach(script, site, site.holder, site.holder)  # without an error, the script does not reach the assertion
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


def _reach(script: Script, site: Site, place: ast.AST, *then: ast.stmt) -> None:
    """Replaces a statement, and makes the script fail if it leaves the block around this statement without reaching it."""
    reached, counter, top = word(script.rng), word(script.rng), place
    while not isinstance(top.up, (*FUNCTIONS, *LOOPS, ast.Module)) or top in getattr(top.up, "orelse", []):  # type: ignore
        top = top.up  # type: ignore[attr-defined]
    block = next(b for _, b in ast.iter_fields(top.up) if isinstance(b, list) and top in b)  # type: ignore[attr-defined]
    first = next(i for i, x in enumerate(block) if not is_text(x) and getattr(x, "module", "") != "__future__")
    after = block[block.index(top) + 1 :]
    site.swap(place, *ast.parse(f"{reached}.append(1)").body, *then)
    tried = block[first : len(block) - len(after)]
    missed = ast.If(ast.parse(f"not {reached} and {counter}()", mode="eval").body, [script.fail()], [])
    block[first:] = [*ast.parse(f"{reached}.clear()").body, ast.Try(tried, [], [], [missed]), *after]
    site.insert(f"{reached} = []\n" + _COUNTER.format(name=counter, count=script.count))


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


def unmasked(source: str) -> str | None:
    """The script with handlers that let an AssertionError through; None if it has no such handler."""
    tree, found = ast.parse(source), False
    for at in ast.walk(tree):
        names = {getattr(x, "id", "") for x in ast.walk(at.type)} if getattr(at, "type", None) else {"AssertionError"}
        if isinstance(at, ast.ExceptHandler) and names & {"AssertionError", "Exception", "BaseException"}:
            at.body, found = [ast.Raise()], True
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n" if found else None


def by_pipe(source: str) -> bool:
    """Whether Python may read the script from a pipe; a script that uses its own file must be a file."""
    return not any(word in source for word in ("__file__", "argv", "multiprocessing", "getsource", "ProcessPool"))
