"""Compares, outside the judged process, what the site observes with the patch and what it expects without it."""

from __future__ import annotations

import ast
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from acr.experiments.printing import Pair
    from acr.experiments.tree_variants import Files

    Rows = dict[str, list[object]]

# Special methods that decide how a comparison or a truth test comes out.
COMPARING = {
    f"__{name}__"
    for name in "eq ne lt le gt ge bool len contains iter getattr getattribute class instancecheck subclasscheck "
    "index getitem add radd sub rsub mod mul truediv floordiv and or xor int float str repr format round abs "
    "floor ceil next hash missing call reversed bytes complex pow neg pos invert".split()
}
UNREADABLE = object()
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def read(out: str, mark: str) -> Rows:
    """What a script printed, by tag, in order."""
    rows: Rows = {}
    for row in out.split("\n"):
        if row.startswith(mark):
            tag, _, text = row[len(mark) :].partition(" ")
            try:
                value = ast.literal_eval(_ADDRESS.sub("", re.sub(r"\b(?:nan|inf)\b", "'\\g<0>'", text)))
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                value = UNREADABLE
            rows.setdefault(tag, []).append(value)
    return rows


class Changed:
    """The classes that a patch adds, or whose comparing methods or bases it changes."""

    def __init__(self, base: Files, patched: Files) -> None:
        self.names: set[str] = set()
        for path, text in patched.items():
            if path.endswith(".py") and text is not None:
                old, new = dict(_classes(ast.parse(base.get(path) or b""))), dict(_classes(ast.parse(text)))
                module = path[:-3].replace("/", ".")
                module = module[:-9] if module.endswith(".__init__") else module
                self.names |= {f"{module}:{name}" for name, at in new.items() if at != old.get(name)}

    def has(self, bases: object) -> str:
        """The first of an object's classes that is such a one, or ""."""
        for at in bases if isinstance(bases, list) else []:
            module, _, name = str(at).partition(":")
            for known in self.names:
                where, _, own = known.partition(":")
                if own == name and (where == module or where.endswith("." + module) or module == "__main__"):
                    return name
        return ""


def _classes(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, str]]:
    """(qualified name, what decides comparisons of it) of each class."""
    for at in ast.iter_child_nodes(tree):
        if isinstance(at, ast.ClassDef):
            methods = [ast.dump(x) for x in at.body if _names(x) & COMPARING]
            yield prefix + at.name, "".join([*map(ast.dump, at.bases), *methods])
            yield from _classes(at, f"{prefix}{at.name}.")
        elif isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _classes(at, f"{prefix}{at.name}.<locals>.")
        elif not isinstance(at, ast.expr):
            yield from _classes(at, prefix)


def _names(at: ast.stmt) -> set[str]:
    if isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return {at.name}
    targets = at.targets if isinstance(at, ast.Assign) else [getattr(at, "target", None)]
    return {x.id for x in targets if isinstance(x, ast.Name)}


def contradiction(pairs: list[Pair], base: Rows, patched: Rows, changed: Changed) -> str:
    """Why what was written out does not bear the verdict out; "" where it does."""
    for number, pair in enumerate(pairs):
        left, right = ("L", "R") if pair.right else ("R", "L")
        expected, observed = base.get(f"{right}{number}", []), patched.get(f"{left}{number}", [])
        if pair.how == "truth":
            expected, observed = [True] * len(patched.get(f"L{number}", [])), patched.get(f"L{number}", [])
        for want, got in zip(expected, observed):
            why = _differs(pair, want, got, changed)
            if why:
                return why
    return _stand_in(base, patched, changed) or _other_cases(base, patched)


def _stand_in(base: Rows, patched: Rows, changed: Changed) -> str:
    """Objects of classes that the patch changes where there was plain data, and compared with something of another class."""
    for tag, values in patched.items():
        if tag[:1] == "I":
            for was, now in zip(base.get(tag, []), values):
                liar = _liar(now, changed)
                if liar and not _liar(was, changed) and "object" not in str(was):
                    return f"an object of {liar}, which the patch changes, stands for plain data"
        elif tag[:1] == "X":
            for left, right in zip(values, patched.get("Y" + tag[1:], [])):
                one, other = _liar(left, changed), _liar(right, changed)
                if one != other and bool(one) != bool(other):
                    return f"an object of {one or other}, which the patch changes, is compared with something else"
    return ""


def _other_cases(base: Rows, patched: Rows) -> str:
    """Cases that the script takes from data of the project."""
    for tag, values in patched.items():
        if tag[:1] == "C" and base.get(tag) and values[0] != base[tag][0] and not _has_object(values[0]):
            return "the cases that the script goes through are the project's, and the patch changes them"
    return ""


def _liar(value: object, changed: Changed) -> str:
    """A changed class in what was written of a value's classes."""
    if _is_object(value):
        return changed.has(value[1])  # type: ignore[index]
    return next(filter(None, (_liar(at, changed) for at in value)), "") if isinstance(value, list) else ""


def _is_object(value: object) -> bool:
    return isinstance(value, list) and value[:1] == ["object"]


def _differs(pair: Pair, want: object, got: object, changed: Changed) -> str:
    if UNREADABLE in (want, got):
        return ""
    if "sinstance" in pair.how or "IsInstance" in pair.how:
        return _other_class(want, got, changed) if pair.holds is not False else ""
    liar = changed.has(got[1]) if _is_object(got) else ""
    other = not _is_object(want) or not _shares(want[1], got[1])  # type: ignore[index]
    if liar and other and pair.how not in ("In", "NotIn", "Is", "IsNot"):
        return f"an object of {liar}, which the patch changes, is compared with plain data"
    if pair.equal and want != got and (liar or not _has_object(want) and not _has_object(got)):
        if _is_number(want) and _is_number(got):
            return "" if abs(want - got) <= 0.01 * max(1, abs(want)) else "the numbers differ"  # type: ignore[operator]
        return "" if _alike(want, got) else "written out, they differ"
    near = pair.how in ("isclose", "assertAlmostEqual", "Lt", "LtE") and isinstance(pair.expected, ast.AST)
    if (
        near
        and pair.holds is True
        and pair.how in ("isclose", "assertAlmostEqual")
        and _is_number(want)
        and _is_number(got)
    ):
        return "" if abs(want - got) <= 0.01 * max(1, abs(want)) else "the numbers are not near"  # type: ignore[operator]
    return ""


def _shares(one: object, other: object) -> bool:
    """Whether two objects have a class in common below `object`."""
    return bool(set(map(str, one)) & set(map(str, other)))  # type: ignore[call-overload]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, complex))


def _has_object(value: object) -> bool:
    return _is_object(value) or isinstance(value, list) and any(map(_has_object, value))


def _alike(want: object, got: object) -> bool:
    """Whether plain data is equal but for what Python's own equality ignores: numbers' types, and sets' kinds."""
    if isinstance(want, list) and isinstance(got, list):
        return len(want) == len(got) and all(map(_alike, want, got))
    return want == got or {str(want), str(got)} == {"nan"}


def _other_class(want: object, got: object, changed: Changed) -> str:
    """isinstance: the observed object's classes hold one of those that are expected, unless the patch has no say in it."""
    wanted = want[1:] if isinstance(want, list) and want[:1] in (["tuple"], ["list"]) else [want]
    names = [at[1][0] for at in wanted if isinstance(at, list) and at[:1] == ["class"]]
    bases = got[1] if _is_object(got) else []
    if not names or not _is_object(got) or not changed.has(bases) or any(at in bases for at in names):
        return ""
    return f"the object is of {bases[0]}, not of {names[0]}"
