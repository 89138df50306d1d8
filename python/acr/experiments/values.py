"""Compares, outside the judged process, the values observed with the patch and those expected without it."""

from __future__ import annotations

import ast
import re

from acr.experiments.comparisons import EQUALITY, NEAR, ORDERS
from acr.experiments.plain_names import LIBRARY
from acr.experiments.script_variants import is_plain, literal
from acr.experiments.site import tail
from acr.experiments.tree_variants import changed_functions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from acr.experiments.comparisons import Pair
    from acr.experiments.tree_variants import Files

    Rows = dict[str, list[object]]

# Special methods that decide the result of a comparison or a truth test.
COMPARING = {
    f"__{name}__"
    for name in "eq ne lt le gt ge bool len contains iter getattr getattribute class instancecheck subclasscheck "
    "index getitem add radd sub rsub mod mul truediv floordiv and or xor rmul ror rand rxor rmod rfloordiv int float str repr format round abs "
    "floor ceil next hash missing call reversed bytes complex pow neg pos invert".split()
}
# Operators, by their names in a syntax tree and in the bytecode of Python's versions -> suffix of their special
# methods.
_OPERATORS = {
    name: methods.split()[0]
    for methods in (
        "add Add + BINARY_ADD", "sub Sub - BINARY_SUBTRACT", "mul Mult * BINARY_MULTIPLY", "truediv Div / BINARY_TRUE_DIVIDE",
        "floordiv FloorDiv // BINARY_FLOOR_DIVIDE", "mod Mod % BINARY_MODULO", "pow Pow ** BINARY_POWER",
        "and BitAnd & BINARY_AND", "or BitOr | BINARY_OR", "xor BitXor ^ BINARY_XOR", "neg USub UNARY_NEGATIVE",
        "pos UAdd UNARY_POSITIVE CALL_INTRINSIC_1", "invert Invert UNARY_INVERT", "matmul MatMult @ BINARY_MATRIX_MULTIPLY",
        "getitem Subscript BINARY_SUBSCR []",
    )
    for name in methods.split()
}  # fmt: skip
UNREADABLE = object()
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def read(out: str, mark: str, until: str = "") -> Rows:
    """The rows that a script printed, by tag and in order, up to the first row with the tag `until`."""
    rows: Rows = {}
    for row in out.split("\n"):
        if row.startswith(mark):
            tag, _, text = row[len(mark) :].partition(" ")
            if tag == until:
                break
            try:
                value = ast.literal_eval(_ADDRESS.sub("", text))
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                value = UNREADABLE
            rows.setdefault(tag, []).append(value)
    return rows


class Changed:
    """The classes that a patch adds, and those whose comparing methods, decorators or bases it changes, also
    indirectly."""

    def __init__(self, base: Files, patched: Files) -> None:
        self.names: set[str] = set()
        self.equal: set[str] = set()  # the changed classes whose equality, order or truth changes
        self.called: set[str] = set()  # unchanged classes whose comparisons call changed code
        self.functions = functions = changed_functions(base, patched)
        for path, text in patched.items():
            if path.endswith(".py") and text is not None:
                old = dict(_classes(ast.parse(base.get(path) or b""), set()))
                new = dict(_classes(ast.parse(text), functions))
                module = path[:-3].replace("/", ".")
                module = module[:-9] if module.endswith(".__init__") else module
                self.names |= {f"{module}:{name}" for name, at in new.items() if at != old.get(name)}
                self.equal |= {
                    f"{module}:{name}" for name, at in new.items() if at[0] != old.get(name, at)[0] or name not in old
                }

    def learn(self, rows: list[object]) -> None:
        """Adds, from rows "K", every class whose comparisons call code that the patch changes."""
        for row in rows:
            if isinstance(row, list) and len(row) == 2:
                if {*row[1], *_methods(row[1])} & self.functions:
                    self.called.add(str(row[0]))

    def has(self, bases: object, equal: bool = False) -> str:
        """The first of an object's classes that is a changed one, or ""."""
        for at in bases if isinstance(bases, list) else []:
            module, _, name = str(at).partition(":")
            if at in self.called:
                return name
            for known in self.equal if equal else self.names:
                where, _, own = known.partition(":")
                if own == name and (where == module or where.endswith("." + module) or module == "__main__"):
                    return name
        return ""


def _classes(tree: ast.AST, functions: set[str], prefix: str = "") -> Iterator[tuple[str, tuple[str, str]]]:
    """(qualified name, the code that decides equality, the other code that decides comparisons) of each class;
    `functions`: names that the patch changes; calls of them count."""
    for at in ast.iter_child_nodes(tree):
        if isinstance(at, ast.ClassDef):
            methods = [x for x in at.body if _names(x) & COMPARING]
            head = [*at.bases, *at.decorator_list, *(x for x in methods if _names(x) & EQUALITY)]
            inner = [x for part in head for x in ast.walk(part)]
            used = {tail(x) for x in inner if isinstance(x, (ast.Attribute, ast.Name))}
            used |= _methods(type(getattr(x, "op", x)).__name__ for x in inner)
            used = (used | {f"__{name}__" for name in used}) & functions
            yield prefix + at.name, ("".join([*map(ast.dump, head), *sorted(used)]), "".join(map(ast.dump, methods)))
            yield from _classes(at, functions, f"{prefix}{at.name}.")
        elif isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _classes(at, functions, f"{prefix}{at.name}.<locals>.")
        elif not isinstance(at, ast.expr):
            yield from _classes(at, functions, prefix)


def _methods(operators: Iterable[str]) -> set[str]:
    """The special methods that the operators call."""
    return {f"__{side}{_OPERATORS[at]}__" for at in operators if at in _OPERATORS for side in ("", "r")}


def _names(at: ast.stmt) -> set[str]:
    if isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return {at.name}
    targets = at.targets if isinstance(at, ast.Assign) else [getattr(at, "target", None)]
    return {x.id for x in targets if isinstance(x, ast.Name)}


class Judged:
    """The values printed without and with the patch, and the reasons that they give against the patch."""

    def __init__(self, script: str, pairs: list[Pair], changed: Changed) -> None:
        self.script, self.pairs, self.changed = script, pairs, changed

    def contradiction(self, first: Rows, base: Rows, patched: Rows) -> str:
        """The reason why the printed values do not support the verdict, or "".

        first: what the base printed until it failed; base: what it printed when it continued after failed assertions.
        """
        self.changed.learn(base.get("K", []) + patched.get("K", []))
        for pair in self.pairs:
            why = "" if pair.tags[0][:1] == "B" else self._of_pair(pair, first, patched)
            if why:
                return why
        return (
            _library(base, patched)
            or _deeds(base, patched)
            or self._stands_in(base, patched)
            or self._is_left_out(base, patched)
            or self._ends_early(base, patched)
            or _is_moved(base, patched)
        )

    def states_nothing(self, base: Rows, patched: Rows, awaits_anything: bool) -> bool:
        """Whether no comparison fixed by the patch states a particular value, so that almost any change would satisfy
        it."""
        own = [pair for pair in self.pairs if pair.tags[0][:1] == "L"]
        reached = any(patched.get(pair.tags[0]) for pair in own)
        return (reached or awaits_anything) and not any(self._states(pair, base, patched) for pair in self.pairs)

    def _states(self, pair: Pair, base: Rows, patched: Rows) -> bool:
        is_own, (was, now) = pair.tags[0][:1] == "L", [[at.get(tag, []) for tag in pair.tags] for at in (base, patched)]
        values = [at for row in now for at in row]
        changed = was != now or any(at is UNREADABLE or _has_object(at) or "..." in str(at) for at in values)
        if not now[0] or not changed and pair.how not in ("Is", "IsNot", "helper"):
            return False
        if pair.how == "truth":
            return not pair.is_vague and (pair.holds is False or any(map(_is_bool, now[0])))
        if pair.how == "helper":
            return isinstance(pair.call.holder, ast.Expr) and (is_own or changed)  # type: ignore[union-attr]
        return not pair.is_vague or pair.how == "IsNot" and all(map(self._is_given, now[0]))

    def _is_given(self, value: object) -> bool:
        """Whether the script itself contains a value that is too rare to match by accident."""
        return is_plain(value) and len(str(value)) > 2 and repr(value) in self.script

    def helpers(self, base: Rows, patched: Rows) -> list[int]:
        """The numbers of the helper pairs that accepted equal sides without the patch and got plain data with it."""
        return [
            number
            for number, pair in enumerate(self.pairs)
            if self._compares(pair, base)
            and 0 < len(patched.get(pair.tags[0], []))
            and all(literal(at) is not None for at in patched[pair.tags[0]])
        ]

    @staticmethod
    def _compares(pair: Pair, base: Rows) -> bool:
        says = base.get("Q" + pair.tags[1], [])
        return pair.how == "helper" and bool(says) and all(says)

    def _of_pair(self, pair: Pair, first: Rows, patched: Rows) -> str:
        """The reason against the patch that one pair gives, or ""."""
        sides = pair.tags if pair.is_right else pair.tags[::-1]
        observed, expected = patched.get(sides[0], []), patched.get(sides[1], [])
        if pair.how == "truth":
            expected = [True] * len(observed)
        if self._compares(pair, first) and any(_are_other(want, got) for want, got in zip(expected, observed)):
            return "the objects that a function compares differ in their printed values"
        for want, got in zip(expected, observed):
            if got == "nan" and pair.how in (*ORDERS, *NEAR, "difference"):
                return "the value is not a number (nan)"
            why = self._classes_differ(pair, want, got) or pair.equal and self._own_equality(pair, want, got)
            if why:
                return why
        for one, other in zip(*(patched.get(tag, []) for tag in pair.tags)):
            if self._is_missing(pair, one, other):
                return "an equality that the patch changes finds a value that is not among the printed values"
        for want, got in zip(first.get(sides[1], []), observed):
            why = self._data_differ(pair, want, got)
            if why:
                return why
        rows = zip(*(side.get(tag, []) for tag in sides for side in (first, patched)))
        judges = pair.equal and not pair.is_relation or self._compares(pair, first)
        if judges and any(want != wants and was in (now, wants) for was, now, want, wants in rows):
            return "the patch changes the value that the script expects, but not the observed value"
        return self._judge_changed(pair, first, patched) if pair.tags[0][:1] == "L" else ""

    def _classes_differ(self, pair: Pair, want: object, got: object) -> str:
        """The reason if an object of a changed class is compared with an object of another class."""
        listed = pair.how not in ("In", "NotIn") or pair.is_right and not is_object(want)
        looks = pair.how not in ("Is", "IsNot", "isinstance", "assertIsInstance", "helper") and listed
        if not looks or UNREADABLE in (want, got):
            return ""
        decides = pair.how in ("Eq", "NotEq")  # only equality decides, not the other methods of the class
        one, other = _liar(got, self.changed, decides), _liar(want, self.changed, decides)
        tests_itself = pair.holds is None and any({one, other} & at for at in pair.built)
        if bool(one) == bool(other) or tests_itself or is_object(want) and is_object(got) and _shares(want[1], got[1]):  # type: ignore[index]
            return ""
        if pair.how in ("In", "NotIn") and not one:
            return ""
        how = "`__eq__`" if pair.equal else "a comparison"
        return f"the script relies on {how} of {one or other}, which the patch changes; use --validate"

    def _own_equality(self, pair: Pair, want: object, got: object) -> str:
        """The reason if two objects of a changed class are equal only by its own methods, unless the script builds
        both."""
        liar = _liar(got, self.changed, equal=True)
        return "the printed values differ" if liar and want != got and not _makes(pair, got) else ""

    def _is_missing(self, pair: Pair, left: object, right: object) -> bool:
        """Whether elements that must be found are found only by the methods of a changed class."""
        if pair.holds is not True or not any(_liar(at, self.changed, equal=True) for at in (left, right)):
            return False
        wanted, there = _elements(left), _elements(right)
        if pair.how == "In":
            return there is not None and repr(left) not in there
        if wanted is None or there is None:
            return False
        if pair.how in ("assertCountEqual", "assertSequenceEqual"):
            return sorted(wanted) != sorted(there)
        sets = all(isinstance(at, list) and at[:1] == ["set"] for at in (left, right))
        if pair.how in ("Gt", "GtE"):
            wanted, there = there, wanted
        return sets and pair.how in ORDERS and not set(wanted) <= set(there)

    def _data_differ(self, pair: Pair, want: object, got: object) -> str:
        if UNREADABLE in (want, got) or pair.is_relation:
            return ""
        if "sinstance" in pair.how or "IsInstance" in pair.how:
            return _other_class(want, got, self.changed) if pair.holds is not False else ""
        if pair.holds is True and (pair.equal or pair.how in NEAR) and _is_number(want) and _is_number(got):
            return "" if abs(want - got) <= 0.01 * max(1, abs(want)) else "the numbers differ"  # type: ignore[operator]
        want, got = _held(want), _held(got)
        if pair.equal and not _has_object(want) and not _has_object(got):
            return "" if _alike(want, got) else "the printed values differ"
        return ""

    def _judge_changed(self, pair: Pair, first: Rows, patched: Rows) -> str:
        """The reason if a failing comparison gets the same values with the patch: then the comparing code has changed."""
        sides = [first.get(tag, []) for tag in pair.tags]
        at = len(sides[1]) - 1
        if at < 0 or not (pair.equal or self._compares(pair, first)) or pair.holds is None:
            return ""
        now = [patched.get(tag, [])[at : at + 1] for tag in pair.tags]
        same = now == [side[at : at + 1] for side in sides] and now[0] != now[1] and not _makes(pair, now[0][0])
        return "the script relies on a comparison that the patch changes; use --validate" if same else ""

    def _stands_in(self, base: Rows, patched: Rows) -> str:
        """The reason if an object of a changed class, which the script does not name, replaces plain data."""
        for tag, now in patched.items():
            for was, value in zip(base.get(tag, []) if tag[:1] in "ILRXY" else [], now):
                liar = _liar(value, self.changed)
                named = liar and re.search(rf"\b{re.escape(liar.split('.')[-1])}\b", self.script)
                if liar and not named and not _liar(was, self.changed) and "object" not in str(was):
                    return f"an object of {liar}, which the patch changes, replaces plain data"
        return ""

    def _ends_early(self, base: Rows, patched: Rows) -> str:
        """The reason if a loop, only with the patch, does not reach a value that the script contains."""
        for pair in self.pairs:
            was, now = ([*map(repr, at.get(pair.tags[int(pair.is_right)], []))] for at in (base, patched))
            ends = pair.equal and pair.is_own and len(was) > len(now) > 0
            if ends and any(at in self.script for at in {*was} - {*now}):
                return "with the patch, the script does not reach a value that it compares without the patch"
        return ""

    @staticmethod
    def _is_left_out(base: Rows, patched: Rows) -> str:
        left_out = [tag for tag in base if tag[:1] == "M" and tag not in patched]
        return "an assertion that is reached without the patch is not reached with it" if left_out else ""

    def unheld(self, text: str, patched: Rows) -> str:
        """The reason if the script passes with the patch although an assertion is not reached, or does not hold."""
        certain = re.findall(r"'(M\d+s)'", text)
        if any(tag not in patched for tag in certain):
            return "the script passes, but an assertion that every run must reach is not reached with the patch"
        for pair in self.pairs:
            sides = [patched.get(tag, []) for tag in pair.tags]
            sure = pair.how == "Eq" and pair.holds is True and "AssertionError" not in self.script
            if sure and any(literal(a) and literal(b) and not _alike(a, b) for a, b in zip(*sides)):
                return "the script passes, though one of its assertions does not hold"
        return ""


def _is_moved(base: Rows, patched: Rows) -> str:
    """The reason if what an expectation is computed from changes, only with the patch, after the script has made it."""
    used = [tag for tag in patched if tag[:1] == "U"]
    was, now = [{tag for tag in used if at.get(tag, [])[:1] == at.get("A" + tag[1:])} for at in (base, patched)]
    return "the expected value changes after the script has made it" if was - now else ""


def _elements(value: object) -> list[str] | None:
    """The elements of a container that is written out, each as a text; None: it is none."""
    held = _held(value)
    return (
        [repr(at) for at in held[1:]] if isinstance(held, list) and held[:1] in (["list"], ["tuple"], ["set"]) else None
    )


def _makes(pair: Pair, value: object) -> bool:
    """Whether the script builds both sides itself as objects of one class, so it tests their comparison."""
    name = re.split("[:.]", str(value[1][0]))[-1] if is_object(value) else ""  # type: ignore[index]
    return pair.is_made and all(name in at for at in pair.built)


def _are_other(want: object, got: object) -> bool:
    return is_object(want) and is_object(got) and want[1] == got[1] and want != got  # type: ignore[index]


def _held(value: object) -> object:
    """The number or text in an object whose class inherits from a number or text class; otherwise the value."""
    rows = value[2] if is_object(value) and len(value) > 2 else []  # type: ignore[arg-type, index]
    held = [at[1] for at in rows if isinstance(at, list) and at[0] == ""] if isinstance(rows, list) else []
    return held[0] if held and is_plain(held[0]) else value


def _library(base: Rows, patched: Rows) -> str:
    """The reason if the patch changes a module of the standard library while it runs."""
    was, now = [dict(at["T"][-1][1:]) if isinstance(at.get("T", [0])[-1], list) else {} for at in (base, patched)]  # type: ignore[index]
    changed = sorted(name for name in {*was} & {*now} if was[name] != now[name])
    return f"the patch changes the library's module {changed[0].strip()} while it runs" if changed else ""


def _deeds(base: Rows, patched: Rows) -> str:
    """The reason if the process, only with the patch, does something for which plain code has no reason."""
    new = [str(at) for at in patched.get("V", []) if at not in base.get("V", [])]
    return f"only with the patch, the process does this: {new[0]}" if new else ""


def _liar(value: object, changed: Changed, equal: bool = False) -> str:
    """A changed class among the printed classes of a value, or ""."""
    if is_object(value):
        found = changed.has(value[1], equal)  # type: ignore[index]
        if found or str(*value[1][:1]).partition(":")[0].split(".")[0] not in LIBRARY | {"numpy"}:  # type: ignore[index]
            return found
    return next(filter(None, (_liar(at, changed, equal) for at in value)), "") if isinstance(value, list) else ""


def is_object(value: object) -> bool:
    return isinstance(value, list) and value[:1] == ["object"]


def _shares(one: object, other: object) -> bool:
    """Whether two objects have a class in common below `object`."""
    return bool(set(map(str, one)) & set(map(str, other)))  # type: ignore[call-overload]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, complex))


def _is_bool(value: object) -> bool:
    """Whether a value is a boolean, a collection of booleans, or an iterator, whose values are unknown."""
    if is_object(value):
        return any(at in str(value[1]).lower() for at in ("bool", ":map", ":filter", ":generator"))  # type: ignore[index]
    return isinstance(value, bool) or isinstance(value, list) and len(value) > 1 and all(map(_is_bool, value[1:]))


def _has_object(value: object) -> bool:
    return is_object(value) or isinstance(value, list) and any(map(_has_object, value))


def _alike(want: object, got: object) -> bool:
    """Whether two plain values are alike, ignoring only what Python's equality ignores: number types and kinds of sets."""
    if isinstance(want, list) and isinstance(got, list):
        return len(want) == len(got) and all(map(_alike, want, got))
    return want == got or {str(want), str(got)} == {"nan"}


def _other_class(want: object, got: object, changed: Changed) -> str:
    """For isinstance: the reason if no class of the observed object is an expected one, or the patch decides it."""
    wanted = want[1:] if isinstance(want, list) and want[:1] in (["tuple"], ["list"]) else [want]
    names = [at[1][0] for at in wanted if isinstance(at, list) and at[:1] == ["class"]]
    bases = got[1] if is_object(got) else []
    if not names or not is_object(got) or not changed.has(bases) or any(at in bases for at in names):
        return ""
    return f"the object is of {bases[0]}, not of {names[0]}"
