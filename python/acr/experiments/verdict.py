"""Decides which runs to make, in which order, and how each must end for a patch to be verified.

`judge` is a generator: it yields runs and is sent their outcomes. The runs depend only on its arguments and these
outcomes, so a recorded verdict can be repeated from its seed.
"""

from __future__ import annotations

import ast
import random
import re

from acr.experiments import equality, inputs, plain, printing, reached, script_variants, tree_variants, values
from acr.experiments.comparisons import ORDERS, is_literal, pairs, value_parts
from acr.experiments.expectations import word
from acr.experiments.outcome import Outcome
from acr.experiments.script_variants import Script
from acr.experiments.site import LOOPS, ancestors, find, stops, tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from acr.experiments.comparisons import Pair
    from acr.experiments.tree_variants import Files

    Steps = Generator["Run", Outcome, None]

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError, AttributeError, LookupError, TypeError)


class Refusal(Exception):
    """The reason why the patch is not verified, for people."""


class Run:
    """One run. `files`: the files that this run changes on its side; `file`: the script's name in tracebacks."""

    file, is_pipe = "<stdin>", True

    def __init__(
        self, name: str, is_patched: bool, script: str, files: Files, rng: random.Random, seed: int = 0
    ) -> None:
        self.name, self.is_patched, self.script, self.files = name, is_patched, script, files
        self.hash_seed = seed or rng.randrange(1, 2**32)
        self.user = word(rng, 7)


# What to do about a script that asserts too little; keys are names of experiments.
ADVICE = {
    "nothing": "also assert a result that is not empty, 0, False or None",
    "shifted": "assert the exact result",
    "other inputs": "assert a result that depends on these values",
}


class Case:
    """The case to judge: the script, its outcome without the patch, and the changed files on both sides."""

    def __init__(
        self, script: str, first: Outcome, tree: str, base: Files, patched: Files, packages: set[str], seed: str
    ) -> None:
        self.script, self.first, self.tree, self.packages = script, first, tree, packages
        self.base = base
        # Ignore changes to tests and examples of the project, because a patch may change them freely.
        apart = [p for p in patched if tree_variants.TESTS.search(p) or tree_variants.SHOWS.search(p)]
        self.patched = {p: base.get(p) if p in apart else text for p, text in patched.items()}
        self.rng = random.Random(seed)
        self.is_pipe = script_variants.by_pipe(script)
        self.file = "<stdin>" if self.is_pipe else word(self.rng) + ".py"
        self.rows: list[dict[str, object]] = []
        self.runs = 0

    def run(self, name: str, script: str, is_patched: bool = True, files: Files | None = None, seed: int = 0) -> Steps:
        self.runs += 1
        run = Run(name, is_patched, script, files or {}, self.rng, seed)
        run.file, run.is_pipe = self.file, self.is_pipe
        return (yield run)

    def note(self, name: str, changed: str, expected: str, got: Outcome | str, agrees: bool | None) -> bool | None:
        at = re.search(r"\((line \d+): `", changed)
        happened = got if isinstance(got, str) else got.describe(at[1] if at else "")
        row = {"experiment": name, "changed": changed, "expected": expected, "happened": happened, "agrees": agrees}
        self.rows.append(row)
        return agrees

    def skip(self, name: str, why: str) -> None:
        self.note(name, "", "", f"not made: {why}", None)

    def require(self, name: str, changed: str, expected: str, got: Outcome | str, agrees: bool) -> None:
        if not self.note(name, changed, expected, got, agrees):
            told = self.rows[-1]["happened"]
            said = f"the experiment '{name}' does not agree: {changed}; expected: {expected}; {told}"
            raise Refusal(f"{said}; {ADVICE[name]}" if name in ADVICE else said)


def judge(case: Case) -> Generator[Run, Outcome, str]:
    """Yields runs; returns why the patch is not verified, or "" if it is. `case.rows` is the table."""
    try:
        _check_plain(case)
        site = _Site(case)
        yield from site.find()
        yield from site.observe()
        experiments: list[Callable[[], Steps]] = [
            site.negated, site.perturbed, site.pinned, site.written_out, site.decoy, site.rewritten,
        ]  # fmt: skip
        case.rng.shuffle(experiments)
        # The others come last, so that the reason of "stated" is reported first.
        for experiment in [*experiments, site.nothing, site.shifted, site.other_inputs]:
            yield from experiment()
    except Refusal as refusal:
        return str(refusal)
    except UNREADABLE as error:
        return f"no experiments can be made with the script or the patched files: {type(error).__name__}: {error}"
    return ""


def _check_plain(case: Case) -> None:
    found = plain.find(case.base, case.patched, case.packages, case.is_pipe)
    if found:
        told = "; ".join(f"{kind}: {detail}" for kind, detail in found[:3])
        case.note("plain code", "nothing is run", "only ordinary constructs are added", told, False)
        why = f"the patch is not plain code ({told}), so no experiment shows what it does"
        if any(kind == "file" for kind, _ in found):
            why += "; if a file is not a part of the fix, move it or let git ignore it"
        raise Refusal(why + "; read it, or check it with --validate")


class _Site:
    """The experiments with the assertion that failed without the patch."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.script = Script(case.script, [], case.rng)
        self.first = case.first
        self.mark = word(case.rng, 12)
        self.pairs: list[Pair] = []
        self.base_rows: values.Rows = {}  # rows of the site up to its failure
        self.base_all: values.Rows = {}
        self.seed = case.rng.randrange(1, 2**32)

    def find(self) -> Steps:
        """Finds the site, by a run in which the script does not catch its own AssertionErrors."""
        case, caught = self.case, self.first.assertion()
        if not caught or not find(case.script, caught.lines(self.first.file)):
            text = script_variants.unmasked(case.script)
            if text:
                got = yield from case.run("site", text, is_patched=False)
                # The line numbers are those of the text that `ast` writes.
                case.script = self.script.source = text if got.assertion() else case.script
                caught = got.assertion() or caught
                self.first = got if got.assertion() else self.first
        if not caught:
            raise Refusal("no traceback shows which assertion of the script fails without the patch")
        self.script.lines = caught.lines(self.first.file)
        if self.script.site() is None:
            raise Refusal(f"line {self.script.lines[-1]} of the script fails, but has no assertion that can be changed")
        self._check_oracle()

    def _check_oracle(self) -> None:
        """Refuses an assertion of the project that the patch changes: it cannot judge the patch."""
        asked = {tail(x) for x in ast.walk(self.script.site().at) if isinstance(x, ast.Call)}
        changed = tree_variants.changed_functions(self.case.base, self.case.patched)
        own = sorted(at for at in asked & changed if "assert" in at.lower())
        if own:
            raise Refusal(f"the script's assertion uses `{own[0]}`, which the patch changes")

    def observe(self) -> Steps:
        """Runs the base once and prints all compared values: which evaluation of the site failed, and what it expected."""
        made = printing.shown(self.script, self.mark, True)
        if made is None:
            return
        text, self.pairs = made
        got = yield from self.case.run("observed", text, is_patched=False, seed=self.seed)
        self.base_rows, self.base_all = values.read(got.out, self.mark, "F"), values.read(got.out, self.mark)
        self.script.count = min(len(self.base_rows.get("N", [0])), script_variants.MAX_COUNT)

    def negated(self) -> Steps:
        case, text = self.case, script_variants.negated(self.script)
        if text is None:
            raise Refusal(f"the assertion that failed cannot be negated ({self.script.quote()})")
        got = yield from case.run("negated", text)
        told = got.says(self.script.nonce)
        changed = f"the assertion is negated ({self.script.quote()})"
        case.require("negated", changed, "the script fails at this assertion", got, told)

    # ---- Other expectations ----

    def perturbed(self) -> Steps:
        case, failed = self.case, False
        for text, words in filter(None, [script_variants.perturbed(self.script, inner) for inner in (False, True)]):
            got = yield from case.run("perturbed", text)
            if got.failed and not got.says(self.script.nonce):
                case.skip("perturbed", f"{words}: {got.describe()}")
                continue
            case.require("perturbed", f"{words} ({self.script.quote()})", "the script fails", got, got.failed)
            failed = True
        if not failed:
            case.skip("perturbed", f"no value that {self.script.quote()} expects can be changed")

    def pinned(self) -> Steps:
        made = script_variants.pinned(self.script, self.base_rows)
        if made is None:
            return
        got = yield from self.case.run("pinned", made[0])
        changed = f"the expected value is replaced by {str(made[1])[:60]!r}, its value without the patch ({self.script.quote()})"
        self.case.require("pinned", changed, "the script passes", got, got.passed)

    def written_out(self) -> Steps:
        case, made = self.case, printing.shown(self.script, self.mark, False)
        if made is None:
            case.skip("written out", f"the values of {self.script.quote()} cannot be printed")
            return
        got = yield from case.run("written out", made[0], seed=self.seed)
        patched = values.read(got.out, self.mark)
        judged = values.Judged(case.script, self.pairs, tree_variants.changed_classes(case.base, case.patched))
        found = judged.contradiction(self.base_rows, self.base_all, patched)
        found = found or judged.unheld(made[0], self.base_all, patched)
        if "too many" in patched.get("E", []):
            found = found or "the script compares more objects than can be compared again"
        words = f"both sides are printed as plain data ({self.script.quote()})"
        expected = "the printed values agree with what the script expects without the patch"
        case.require("written out", words, expected, found or "they agree", not found)
        site = self.script.site()
        bare = site.awaits_no_error()  # then any value that the script states counts
        if judged.states_nothing({} if bare else self.base_all, patched, bare or site.awaits_anything()):
            case.note("stated", "nothing", "the script states an expected value", "it states no value", False)
            why = f"{self.script.quote()} states no expected value, so almost any change satisfies it"
            raise Refusal(why + "; assert the expected value, as in `assert f(1) == 2`")
        chosen, nonce = judged.helpers(patched), self.script.nonce
        made = script_variants.replayed(self.script, patched, chosen)
        if made is not None:
            got = yield from case.run("replayed", made[0], is_patched=False)
            words = f"comparisons run without the patch, on values of the patched code ({self.script.quote()})"
            agrees = not got.says(nonce) and not (chosen and got.assertion())
            agrees = agrees and (nonce[::-1] in got.err or not made[1])
            told = equality.told(got.err, nonce) or got
            same = "each comparison has the same result"
            case.require("replayed", words, same, same if agrees else told, agrees)

    # ---- The project ----

    def decoy(self) -> Steps:
        case, nonce = self.case, self.script.nonce
        changed = "the patch keeps its names, but has the bodies, values and data from before"
        for keeps in (False, True):
            files = tree_variants.without_behaviour(case.base, case.patched, nonce, keeps)
            got = yield from case.run("decoy", case.script, files=files)
            if got.passed or self._as_before(got) or nonce in got.err:
                break
        case.require("decoy", changed, "the script fails as without the patch", got, not got.passed and got.ended)

    def nothing(self) -> Steps:
        """Refuses a script that passes with functions that return nothing, unless it only tests that no error occurs."""
        case = self.case
        site = self.script.site()
        # an empty result satisfies any relation, and a loop over it reaches no assertion
        relates = any(pair.is_relation and pair.tags[0][:1] == "L" for pair in self.pairs)
        fills = relates or any(isinstance(at, LOOPS) for at in ancestors(site.at))
        files = None if site.waits_for_error() else tree_variants.emptied(case.base, case.patched, self.mark, fills)
        if files is None:
            return
        got = yield from case.run("nothing", case.script, files=files)
        changed = "the functions that the patch changes return empty values"
        case.require("nothing", changed, "the script fails", got, not got.passed)

    def shifted(self) -> Steps:
        """Refuses a script that passes with any result of the same form. Other experiments judge whether the script expects
        an error, an order, a relation, or any value but one; no result of these functions is a warning or a class."""
        site, mark = self.script.site(), word(self.case.rng, 12)
        own = pairs(site)
        names = {tail(x) for at in own for _, part in value_parts(at.left.get()) for x in ast.walk(part)}
        changed = tree_variants.changed_functions(self.case.base, self.case.patched)
        apart = "warn" in self.case.script or "type" in names or changed.isdisjoint(names)
        computed = any(at.equal and (apart or not is_literal(at.expected.get())) for at in own)
        relates = computed or any(at.how in (*ORDERS, "IsNot") for at in own)
        if relates or site.kind not in ("test", "call") or site.waits_for_error():
            return
        for turns in (False, True)[: 1 + any(at.equal for at in own)]:
            files = tree_variants.shifted(self.case.base, self.case.patched, self.mark, mark, turns)
            got = (yield from self.case.run("shifted", self.case.script, files=files)) if files else None
            if got is None or mark not in got.err:
                return
            if not got.passed:
                break
        words = "the functions that the patch changes return other data of the same form"
        self.case.require("shifted", words, "the script fails", got, not got.passed)

    def other_inputs(self) -> Steps:
        """Refuses a script that passes whatever it gives to the project, unless it waits for an error."""
        site, mark = self.script.site(), word(self.case.rng, 12)
        calls = [x for _, part in value_parts(site.at) for x in ast.walk(part) if isinstance(x, ast.Call)]
        unread = tree_variants.ignored(calls, self.case.base, self.case.patched)
        if unread:
            expected = "the patched functions read what the script gives them"
            self.case.note("other inputs", "nothing", expected, f"{unread} is never read", False)
            raise Refusal(f"the script passes {unread}, which the patched function never reads; read it, or remove it")
        own = [pair for pair in self.pairs if pair.tags[0][:1] == "L"]
        relates = own and all(pair.is_relation or pair.how in ORDERS for pair in own)
        keeps = any(isinstance(at, ast.ExceptHandler) and at.name and not stops(at) for at in ast.walk(site.tree))
        asks = site.kind in ("test", "call") and not (
            site.waits_for_error() or relates or keeps or "warn" in self.case.script
        )
        texts = inputs.replaced(self.script, mark) if asks else []
        changed = f"other values in place of those that the script gives to the project ({self.script.quote()})"
        passed: Outcome | None = None
        for text in texts:
            got = yield from self.case.run("other inputs", text)
            if got.assertion() and mark not in got.err:
                text, was = inputs.without(text, got.assertion().lines(got.file)[-1]), text
                got = (yield from self.case.run("other inputs", text)) if text != was else got
            agrees = yield from self._depends(text, got, mark)
            if agrees:
                self.case.note("other inputs", changed, "the script fails", got, True)
                return
            passed = passed if agrees is None else got
        if passed:
            self.case.require("other inputs", changed, "the script fails", passed, False)
        elif texts:
            self.case.skip("other inputs", "the script ends early with other values, with or without the patch")

    def _depends(self, text: str, got: Outcome, mark: str) -> Generator[Run, Outcome, bool | None]:
        """Whether the script with other inputs fails because of what the patched code makes of them. None if it passes without
        the assertion, or ends with the same error without the patch: then these values show nothing."""
        error = got.tracebacks[-1:]
        if got.passed:
            return False if mark in got.err else None
        if got.assertion() or any(at.lines(path) for at in error for path in self.case.patched):
            return True
        was = yield from self.case.run("other inputs", text, is_patched=False)
        same = [(at.error, at.lines(was.file)) for at in was.tracebacks[-1:]]
        return None if same == [(at.error, at.lines(got.file)) for at in error] else True

    def _as_before(self, got: Outcome) -> bool:
        caught, first = got.assertion(), self.case.first.assertion()
        if caught is None:
            return got.failed and first is None
        return first is None or caught.lines(got.file)[-1] == first.lines(self.case.first.file)[-1]

    def rewritten(self) -> Steps:
        case, seed, mark = self.case, word(self.case.rng, 20), word(self.case.rng, 12)
        base = {p: case.base.get(p) for p in case.patched}
        words = "the changed files are rewritten: without comments, with other line numbers, with sets in another order"
        words += ", and without attributes of mocks that the script does not name"
        said = {*re.findall(r"\w+", case.script)}
        files = tree_variants.rewritten(case.patched, base, seed, mark, said)
        now = yield from case.run("rewritten", case.script, files=files)
        case.require("rewritten", words, "the script passes", now, now.passed)
        files = tree_variants.rewritten(base, case.patched, seed, mark, said)
        was = yield from case.run("rewritten", case.script, is_patched=False, files=files)
        agrees = was.failed and bool(self._as_before(was))
        case.require("rewritten", words + ", without the patch", "the script fails", was, agrees)
        changes = re.compile(rf"{mark} (\w+) (\d+) (\w+)").findall
        for name, number, argument in sorted({*changes(now.err)} - {*changes(was.err)}):
            words, expected = f"the script calls `{name}`", "it changes no argument that the script does not look at"
            if reached.is_forgotten(self.script.site().tree, name, int(number), argument):
                case.require("rewritten", words, expected, f"it changes `{argument}`", False)
