"""What tests say themselves, what they compare, and the modules that hold them. Goes before `witness.py`."""

import _thread
import builtins
import os
import sys
import types

from acr.observe.witness_channel import HOLDERS, KINDS, PLAIN

MAX_ASKED = 300  # objects of a class that are compared with others
MAX_DATA = 4096  # characters of data of a module that is watched
# What an assertion that passed must have found, where its operands are plain.
HOLDS = {
    "assertEqual": lambda a, b: a == b, "assertEquals": lambda a, b: a == b, "assertNotEqual": lambda a, b: a != b,
    "assertIs": lambda a, b: a is b, "assertIsNot": lambda a, b: a is not b, "assertIn": lambda a, b: a in b,
    "assertNotIn": lambda a, b: a not in b, "assertListEqual": lambda a, b: a == b,
    "assertDictEqual": lambda a, b: a == b, "assertTupleEqual": lambda a, b: a == b,
    "assertSetEqual": lambda a, b: a == b, "assertMultiLineEqual": lambda a, b: a == b,
    "assertGreater": lambda a, b: a > b, "assertGreaterEqual": lambda a, b: a >= b, "assertLess": lambda a, b: a < b,
    "assertLessEqual": lambda a, b: a <= b, "assertTrue": lambda a: bool(a), "assertFalse": lambda a: not a,
    "assertIsNone": lambda a: a is None, "assertIsNotNone": lambda a: a is not None,
}  # fmt: skip


class Tests:
    """What the tests themselves say, and the files that hold them."""

    def __init__(self, channel, places, assertions):
        self.channel, self.places, self.assertions = channel, places, assertions
        self.objects = vars(builtins)
        self.asked, self.waiting, self.plain = {}, [], []
        self.marks, self.codes, self.running = (
            [],
            {},
            [],
        )  # (path, name, whether made) of each test; its code by its number
        self.paths, self.modules, self.whole = [], {}, {}  # by path: its names; those that it had in the end
        self.bound, self.data = {}, {}  # by path: names that it binds; data as text
        self.helpers, self.operands, self.wanted, self.errors = [], {}, {}, {}

    def around(self, number, frame):
        """A test begins, in that frame."""
        path, name, is_made = self.marks[number]
        code, names = self.codes.get(number), frame.f_globals.get("__builtins__", builtins)
        names = vars(names) if isinstance(names, types.ModuleType) else names
        if frame.f_code != code or frame.f_globals is not self.modules.get(path) or names is not self.objects:
            self.channel.tell_once("foreign", path, name)
        self.assertions.learn()
        self.assertions.look()
        self.look(path)
        self.running.append((number, frame))

    def ended(self, given, frame):
        number, kind = given
        path, name, is_made = self.marks[number]
        at = [index for index, running in enumerate(self.running) if running[0] == number and running[1] is frame]
        if not at:
            self.channel.tell_once("foreign", path, name)
            return
        del self.running[at[-1]]
        self.look(path)
        names = (path, name)
        if is_made:
            name = self.made_name(frame)
            if name is None:
                return
            names = (path, name, "made")
        if kind is None:
            self.channel.tell("ok", path, name, "", *names[2:])
        else:
            self.channel.tell("raised", path, name, f"{kind.__module__}.{kind.__name__}", *names[2:])

    def made_name(self, frame):
        """What the runner calls a test that a function made."""
        code = frame.f_code
        first = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
        name = getattr(first, "_testMethodName", None) if isinstance(first, self.case()) else None
        if name is None:
            at = os.environ.get("PYTEST_CURRENT_TEST", "").split(" (call)")
            name = at[0].split("::")[-1].split("[")[0] if len(at) == 2 else None
        return str(name) if name else None

    def case(self):
        return vars(sys.modules["unittest.case"])["TestCase"]

    def look(self, path):
        """Tells what names of the module, and of those that help it, stand for something else now, or are new."""
        for at in (path, *self.helpers):
            names = self.modules[at]
            for key, was in self.whole.get(at, {}).items():
                if names.get(key) is not was:
                    self.channel.tell_once("rebound", at, key)
            for key, text in self.data.get(at, {}).items():
                if key in names and data_of(names[key]) != text:
                    self.channel.tell_once("rebound", at, key)
            if at in self.whole:
                self.look_for_new(at, names, "_")

    def look_for_new(self, path, names, spared):
        bound = self.bound[path]
        for key in list(names) if bound is not None else ():
            if key in bound or key.startswith(("__", "@", spared)):
                continue
            value = names[key]
            if not (isinstance(value, types.ModuleType) and str(value.__name__).endswith("." + key)):
                self.channel.tell_once("rebound", path, key)

    def top(self, number, frame):
        """A module with tests begins."""
        path = self.paths[number][0]
        if path in self.modules and self.modules[path] is not frame.f_globals:
            self.channel.tell_once("twice", path)
        self.modules[path] = frame.f_globals

    def end(self, number, frame):
        """A module with tests is whole."""
        (path, bound, stars, kept, data, count), names = self.paths[number], frame.f_globals
        if self.modules.get(path) is not names:
            self.channel.tell_once("twice", path)
        for star in stars:
            module = sys.modules.get(star)
            bound = None if module is None or bound is None else bound | set(vars(module))
        self.bound[path] = bound
        self.whole[path] = {
            key: value for key, value in list(names.items()) if key not in kept and not key.startswith(("__", "@"))
        }
        texts = {key: data_of(names[key]) for key in data if key in names}
        self.data[path] = {key: text for key, text in texts.items() if text is not None}
        self.look_for_new(path, names, "@")
        if not count and path not in self.helpers:
            self.helpers.append(path)

    def expected(self, given, frame):
        """Errors that a block must be left by."""
        number, kinds = given
        self.wanted[number, id(frame)] = kinds if type(kinds) is tuple else (kinds,)

    def left(self, given, frame):
        number, kind = given
        self.errors[number, id(frame)] = kind

    def after(self, number, frame):
        """Whoever watched the block was content."""
        place = number, id(frame)
        kind, wanted = self.errors.pop(place, None), self.wanted.pop(place, ())
        is_plain = wanted and all(type(at) is type for at in wanted)
        if kind is None or (is_plain and not any(at is base for at in wanted for base in type.mro(kind))):
            self.channel.tell_once("passed", frame.f_code.co_name, "raises")

    def called(self, given, frame):
        self.assertions.called(*given)

    def operand(self, given, frame):
        """An argument of an assertion."""
        number, index, value = given
        held = self.operands.setdefault((number, _thread.get_ident()), [])
        del held[index:]
        held.append(value)
        self.seen(value, frame)

    def passed(self, given, frame):
        """An assertion came to its end."""
        number, name, result = given
        held = self.operands.pop((number, _thread.get_ident()), [])
        check = HOLDS.get(name)
        wanted = check.__code__.co_argcount if check else 0
        if check is None or len(held) < wanted or any(data_of(at) is None for at in held[:wanted]):
            return
        try:
            holds = check(*held[:wanted])
        except Exception:
            holds = True
        if not holds:
            self.channel.tell_once("passed", frame.f_code.co_name, name)

    def seen(self, value, frame, depth=0):
        """An operand of a comparison: an object must not equal anything."""
        kind = type(value)
        if kind in PLAIN:
            if value is not None and kind is not bool:
                self.plain = self.plain[-3:] + [value]
                for at in self.waiting:
                    self.ask(at, variants(value))
            return
        if depth == 0:
            self.waiting = []
        names, module = frame.f_code.co_names, str(kind.__module__)
        is_own = kind in HOLDERS or isinstance(value, KINDS + (types.ModuleType,))
        is_meant = (module == "unittest.mock" and "ANY" in names) or (
            module.startswith("_pytest.") and "approx" in names
        )
        if not is_own and not is_meant:
            self.waiting = self.waiting[-3:] + [value]
            self.ask(value, OTHERS)
            for plain in self.plain:
                self.ask(value, variants(plain))
        base = next((at for at in HOLDERS if issubclass(kind, at)), None)
        held = () if base is None or depth > 2 else dict.values(value) if base is dict else base.__iter__(value)
        for at in list(held)[:50]:
            if type(at) not in PLAIN:
                self.seen(at, frame, depth + 1)

    def is_tests(self, slot):
        """Whether a function is of a file with tests."""
        path = self.places.inside(self.places.origin(slot))
        return path is not None and self.places.is_test_file(path)

    def ask(self, value, others):
        kind = type(value)
        for slot in ("__eq__", "__ne__", "__contains__"):
            held = getattr(kind, slot, None)
            if held is None or held is object.__eq__ or held is object.__ne__ or self.is_tests(held):
                continue
            number = self.asked[kind, slot] = self.asked.get((kind, slot), 0) + 1
            if number <= MAX_ASKED and agrees(slot, value, others):
                self.channel.tell_once("agrees", f"{kind.__module__}.{kind.__name__}")


def data_of(value, depth=3):
    """Plain data as text; None: it is not, or too much."""
    kind = type(value)
    if kind in PLAIN:
        text = ascii(value)
        return text if len(text) <= MAX_DATA else None
    if kind not in HOLDERS or not depth or len(value) > 200:
        return None
    items = [each for at in value.items() for each in at] if kind is dict else list(value)
    texts = [data_of(at, depth - 1) for at in items]
    if None in texts or sum(map(len, texts)) > MAX_DATA:
        return None
    return kind.__name__ + "(" + ",".join(sorted(texts) if kind in (set, frozenset) else texts) + ")"


def variants(value):
    """What is like a value and differs from it: nothing equals two of these and the value."""
    if isinstance(value, (int, float)):
        return ((value + 1, value - 1, value + 2, value * 3 + 17, -value - 5, value + 0.5),)
    if isinstance(value, (str, bytes)):
        more = "~" if isinstance(value, str) else b"~"
        return ((value + more, more + value, value + value + more, value[::-1] + more * 2),)
    return ()


# Values that nothing equals two of, or holds all of.
OTHERS = (
    (object(), object()), (0, 1, 2, 3, 4, 5, 10, 100, 700_001), ("", "a", "b", "acr"), (b"", b"a", b"acr"), (0.5, 1.5, 2.5),
    ([], [1], ["a"]), ((), (1,), ("a",)), ({}, {1: 1}, {"a": 1}),
)  # fmt: skip


def agrees(slot, value, groups):
    """Whether an object equals things that differ, or holds one that it cannot know."""
    ask = {"__contains__": holds, "__eq__": equals, "__ne__": equals_by_difference}[slot]
    if slot == "__contains__":
        groups = groups[:1] if groups is OTHERS else ()
    for others in groups:
        count = 0
        for other in others:
            try:
                count += ask(value, other) is True
            except Exception:
                break
        if count >= 2 or (count and others is OTHERS[0]):
            return True
    return False


def holds(value, other):
    return other in value


def equals(value, other):
    return value == other


def equals_by_difference(value, other):
    return (value != other) is False
