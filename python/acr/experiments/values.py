"""Compares, outside the judged process, the values observed with the patch and those expected without it."""

from __future__ import annotations

import ast
import re

from acr.experiments.comparisons import NEAR, ORDERS, value_of
from acr.experiments.plain_names import LIBRARY
from acr.experiments.script_variants import is_plain, literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from acr.experiments.comparisons import Pair

    Rows = dict[str, list[object]]

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


class Judged:
    """The values printed without and with the patch, and the reasons that they give against the patch."""

    def __init__(self, script: str, pairs: list[Pair], changed: set[str]) -> None:
        self.script, self.pairs, self.changed = script, pairs, changed

    def contradiction(self, first: Rows, base: Rows, patched: Rows) -> str:
        """The reason why the printed values do not support the verdict, or "".

        first: what the base printed until it failed; base: what it printed when it continued after failed assertions.
        """
        for pair in self.pairs:
            why = "" if pair.tags[0][:1] == "B" else self._of_pair(pair, first, patched)
            if why:
                return why
        return (
            _library(base, patched)
            or _deeds(base, patched)
            or self._stands_in(base, patched)
            or self._is_not_compared(patched)
            or self._is_not_a_number(base, patched)
            or _is_moved(base, patched)
            or self._loses(base, patched)
            or _lacks(base, patched, self.script)
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

    def helpers(self, patched: Rows) -> list[int]:
        """The numbers of the pairs of which a function of the project judges plain data."""
        rows = [patched.get(pair.tags[0], []) if pair.is_judged else [] for pair in self.pairs]
        return [number for number, row in enumerate(rows) if row and all(literal(x) is not None for x in row)]

    def _of_pair(self, pair: Pair, first: Rows, patched: Rows) -> str:
        """The reason against the patch that one pair gives, or ""."""
        sides = pair.tags if pair.is_right else pair.tags[::-1]
        observed = patched.get(sides[0], [])
        if "nan" in observed and pair.how in (*ORDERS, *NEAR, "difference"):
            return "the value is not a number (nan)"
        for want, got, was in zip(first.get(sides[1], []), observed, first.get(sides[0], [])):
            why = self._data_differ(pair, want, got, was)
            if why:
                return why
        rows = zip(*(side.get(tag, []) for tag in sides for side in (first, patched)))
        is_moved = any(want != wants and was in (now, wants) for was, now, want, wants in rows)
        is_one = (pair.how, pair.holds) in (("Is", True), ("IsNot", False))
        if is_moved and (pair.equal or is_one) and not pair.is_relation:
            return "the patch changes the value that the script expects, but not the observed value"
        return ""

    def _data_differ(self, pair: Pair, want: object, got: object, was: object) -> str:
        """The reason if what is observed is not, as data, what the base expects. was: what the base observed."""
        if UNREADABLE in (want, got) or pair.is_relation:
            return ""
        near, found = pair.is_near, pair.how == "In" and pair.holds is True
        if not (pair.equal or near and pair.holds is True or found):
            return ""
        if _new_classes(was, want, got):
            return "with the patch, a value is an object instead of plain data"
        spreads = any(is_object(at) and "numpy:ndarray" in at[1] for at in (want, got))  # type: ignore[index]
        was, want, got = _held(was), _held(want), _held(got)
        if found or _has_object(want) or _has_object(got) or near and not (_numbers(want) and _numbers(got)):
            return _strays(was, want, got) if pair.equal else ""
        return "" if _alike(want, got, 0.01 if near else 1e-6, spreads) else "the printed values differ"

    def _stands_in(self, base: Rows, patched: Rows) -> str:
        """The reason if an object of a changed class, which the script does not name, replaces plain data."""
        for tag, now in patched.items():
            for was, value in zip(base.get(tag, []) if tag[:1] in "ILRXY" else [], now):
                liar = _liar(value, self.changed)
                named = liar and re.search(rf"\b{re.escape(liar.split('.')[-1])}\b", self.script)
                if liar and not named and not _liar(was, self.changed) and "object" not in str(was):
                    return f"with the patch, a value is an object of {liar}, a class that the patch changes, instead of plain data"
        return ""

    def _is_not_a_number(self, base: Rows, patched: Rows) -> str:
        """The reason if nan, which `max` may pass over, comes only with the patch, unless the script mentions it."""
        was, now = ({tag for tag in at if tag[:1] == "I" and "'nan'" in str(at[tag])} for at in (base, patched))
        return "the value is not a number (nan)" if now - was and "nan" not in self.script.lower() else ""

    def _is_not_compared(self, patched: Rows) -> str:
        """The reason if the script lists an expected value and compares it with nothing."""
        rows: dict[tuple[str, ...], list[object]] = {}
        for pair in self.pairs:
            for tag, (text, wants) in zip(pair.tags, pair.listed):
                rows.setdefault((text, *map(ast.unparse, wants)), []).extend(patched.get(tag, []))
        for (text, *wants), there in rows.items():
            left = [value_of(literal(at) or "", UNREADABLE) for at in there]
            for want in wants if len(there) < 40 else []:
                value = value_of(want, UNREADABLE)
                if value in left:
                    left.remove(value)
                elif len(there) < len(wants) or UNREADABLE not in (value, *left):
                    return f"with the patch, the script compares nothing with {want}, which it lists for `{text}`"
        return ""

    def _loses(self, base: Rows, patched: Rows) -> str:
        """The reason if the script, only with the patch, converts a value that loses something, or reads a dictionary
        that makes the entries that it lacks."""
        for tag, rows in patched.items():
            kind = tag.lstrip("C0123456789") if tag[:1] == "C" else "entry" if tag[:1] == "I" else ""
            if kind and (kind != "split" or base.get(tag)) and not any(_is_lossy(kind, at) for at in base.get(tag, [])):
                found = any(_is_lossy(kind, at) for at in rows) and "defaultdict" not in self.script
                if found:
                    return f"only with the patch, {_LOSES[kind]}"
        return ""

    def unheld(self, text: str, base: Rows, patched: Rows) -> str:
        """The reason if the script passes with the patch although an assertion is not reached, or does not hold."""
        held = ["M" + tag[1:] for tag in base if tag[:1] == "P"]  # assertions that hold without the patch
        for tag in [*re.findall(r"'(M\d+_\d+s)'", text), *held]:
            number, reached, ended = int(tag[1:].partition("_")[0]), *(patched.get(at + tag[1:], []) for at in "MP")
            ends = len(reached) == len(ended) or f"'P{tag[1:]}'" not in text or "AssertionError" in self.script
            if not reached or not ends:
                quote = f"line {number}: `{self.script.splitlines()[number - 1].strip()[:80]}`"
                return f"with the patch, the script {'does not finish' if reached else 'never reaches'} an assertion ({quote})"
        return ""


def _is_moved(base: Rows, patched: Rows) -> str:
    """The reason if data from which an expectation is computed changes, only with the patch, after the script made it."""
    used = [tag for tag in patched if tag[:1] == "U"]
    was, now = [{tag for tag in used if at.get(tag, [])[:1] == at.get("A" + tag[1:])} for at in (base, patched)]
    return "the expected value changes after the script has made it" if was - now else ""


def _lacks(base: Rows, patched: Rows, script: str) -> str:
    """The reason if a dictionary lacks, only with the patch, the key and value of an entry that the script does not name."""
    for tag in (at for at in base if at[:1] == "D" and patched.get(at)):
        sides = [at[tag][-1] for at in (base, patched)]
        if all(isinstance(at, list) and at[:1] == ["dict"] for at in sides):
            here = [x for at in sides[1][1:] for x in at]  # type: ignore[index]
            for key in (k for k, x in sides[0][1:] if k not in here and x not in here and str(k) not in script):  # type: ignore
                return f"with the patch, `{tag[1:]}` no longer has {key!r}, for which the script does not ask"
    return ""


_LOSES = {
    "set": "`set()` removes duplicates of a result",
    "frozenset": "`frozenset()` removes duplicates of a result",
    "dict": "`dict()` removes duplicates of a result, or entries that it would make",
    "int": "`int()` removes a fraction of a result",
    "split": "`split()` hides that a result has lost its line ends",
    "entry": "a dictionary makes the entries that the script reads",
}


def _is_lossy(kind: str, value: object) -> bool:
    """Whether a conversion of a printed value loses a part of it; "entry": whether the value makes missing entries."""
    if kind in ("dict", "entry") and is_object(value):
        return str(value[1]).startswith("['collections:defaultdict")  # type: ignore[index]
    value = _held(value)
    if kind == "split":
        return isinstance(value, str) and "\n" not in value.strip()
    if kind == "int":
        return isinstance(value, (float, complex)) and value != int(value.real)
    rows = value[1:] if isinstance(value, list) and value[:1] in (["list"], ["tuple"]) and kind != "entry" else []
    keys = [repr(at[1:2] if kind == "dict" and isinstance(at, list) else at) for at in rows]
    return len({*keys}) < len(keys)


def _held(value: object) -> object:
    """For an object of a subclass of a built-in class that compares like it, the built-in data; otherwise the value."""
    if not isinstance(value, list):
        return value
    rows = value[2] if is_object(value) and len(value) > 2 else []
    held = dict(at for at in rows[1:] if at[0] in ("", "=")) if isinstance(rows, list) else {}
    if "=" in held:
        return _held(held["="])
    return held[""] if is_plain(held.get("", [])) else [_held(at) for at in value]


def _library(base: Rows, patched: Rows) -> str:
    """The reason if the patch, while it runs, changes state that the library or another package shares with the script."""
    rows = [at for at in zip(base.get("T", []), patched.get("T", [])) if UNREADABLE not in at]
    changed = [name for was, now in rows for name in sorted({*was} & {*now}) if was[name] != now[name]]  # type: ignore
    return f"the patch changes the library's module {changed[0].strip()} while it runs" if changed else ""


def _deeds(base: Rows, patched: Rows) -> str:
    """The reason if the process, only with the patch, does something for which plain code has no reason."""
    new = [str(at) for at in patched.get("V", []) if at not in base.get("V", [])]
    return f"only with the patch, the process does something that plain code does not need: {new[0]}" if new else ""


def _liar(value: object, changed: set[str]) -> str:
    """A changed class among the printed classes of a value, or ""; the parts of other packages' objects do not count."""
    if is_object(value):
        names = [str(at).partition(":")[::2] for at in value[1]]  # type: ignore[index]
        own = [name for module, name in names if module.split(".")[0] not in LIBRARY]
        found = [name for name in own if name.split(".")[-1] in changed]
        if found or names and names[0][0].split(".")[0] not in LIBRARY | {"numpy"}:
            return found[0] if found else ""
    return next(filter(None, (_liar(at, changed) for at in value)), "") if isinstance(value, list) else ""


def is_object(value: object) -> bool:
    return isinstance(value, list) and value[:1] == ["object"]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, complex))


def _is_bool(value: object) -> bool:
    """Whether a value is a boolean, a collection of booleans, or an iterator, whose values are unknown."""
    if is_object(value):
        return any(at in str(value[1]).lower() for at in ("bool", ":map", ":filter", ":generator"))  # type: ignore[index]
    return isinstance(value, bool) or isinstance(value, list) and len(value) > 1 and all(map(_is_bool, value[1:]))


def _new_classes(was: object, want: object, got: object) -> set[str]:
    """The classes of objects that replace, only with the patch, expected plain data. Allowed are an object in place of
    another object that is compared with True or False, and an object that contains the expected data in place of None."""
    found = [_classes_of(_held(at)) for at in (was, want, got)]
    holds = found[0] and isinstance(want, bool) or was is None and repr(want) in repr(got)
    return set() if found[1] or holds or str(want)[:8] == "['class'" else found[2] - found[0]


def _classes_of(value: object) -> set[str]:
    """The classes of the objects in a value, without those of Python's own containers and iterators."""
    own = {str(at) for at in value[1][:1]} if is_object(value) else set()  # type: ignore[index]
    own = {at for at in own if not at.startswith(("builtins:", "collections:"))}
    return own.union(*map(_classes_of, value)) if isinstance(value, list) else own


def _has_object(value: object) -> bool:
    return is_object(value) or isinstance(value, list) and any(map(_has_object, value))


def _alike(want: object, got: object, near: float = 1e-6, spreads: bool = False) -> bool:
    """Whether two plain values are alike, ignoring only what Python's equality ignores: number types and kinds of sets.
    near: how far numbers may differ; spreads: a single value is compared with each number of an array."""
    if spreads:
        wants, gots = _numbers(want), _numbers(got)
        longest = max(len(wants), len(gots))
        wants, gots = [at * longest if len(at) == 1 else at for at in (wants, gots)]
        both = len(wants) == len(gots) and all(_alike(*at, near) for at in zip(wants, gots))
        return both or len(wants) != len(gots) and _is_bare(want) == _is_bare(got)
    if isinstance(want, list) and isinstance(got, list):
        return len(want) == len(got) and all(_alike(*at, near) for at in zip(want, got))
    if _is_number(want) and _is_number(got) and not (isinstance(want, int) and isinstance(got, int) and near < 0.01):
        return abs(want - got) <= near * max(1, abs(want))  # type: ignore[operator]
    return want == got or {str(want), str(got)} == {"nan"} or "..." in (want, got)


def _is_bare(value: object) -> bool:
    """Whether an array has no element, so that any comparison with it holds for all of its elements."""
    return isinstance(value, list) and all(map(_is_bare, value[1:]))


def _numbers(value: object) -> list[object]:
    """The elements of nested sequences, if all are plain data but no text; otherwise an empty list."""
    if not isinstance(value, list):
        return [value] if is_plain(value) and not isinstance(value, (str, bytes)) else []
    parts = [_numbers(at) for at in value[1:]] if value[:1] in (["list"], ["tuple"]) else []
    return [x for at in parts for x in at] if all(parts) else []


def _strays(was: object, want: object, got: object) -> str:
    """The reason if a part of an object was what the script expects, and is not with the patch."""
    if all(isinstance(at, list) for at in (was, want, got)) and len(was) == len(want) == len(got):  # type: ignore[arg-type]
        return next(filter(None, map(_strays, was, want, got)), "")  # type: ignore[call-overload]
    alike = type(was) is type(got) or _is_number(was) and _is_number(got)
    strays = was == want != got and alike and not isinstance(got, list) and "..." not in (was, got)
    return f"a part of the object is {got!r} with the patch, but the script expects {was!r}" if strays else ""
