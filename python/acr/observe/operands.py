"""What is compared: plain data, and what decides about everything else."""

import _blake2
import os
import sys
import types

MAX_WALK = 2000000  # parts of one operand
MAX_CODES = 60
SCALARS = (type(None), bool, int, float, complex, str, bytes)
MAX_SHOWN = 1400  # characters of an operand


def is_plain(value):
    """Whether it is made of objects of exact built-in types alone."""
    left, stack = MAX_WALK, [value]
    while stack:
        at = stack.pop()
        left -= 1
        kind = type(at)
        if left < 0:
            return False
        if kind is list or kind is tuple or kind is set or kind is frozenset:
            stack.extend(at)
        elif kind is dict:
            stack.extend(at)
            stack.extend(at.values())
        elif kind not in SCALARS:
            return False
    return True


def operand(value, most=MAX_SHOWN):
    """As it is reported: ("plain", text), ("digest", type, digest of the text) or ("own",)."""
    try:
        if is_plain(value):
            text = ascii(value)
            if len(text) <= most and len(ascii(text)) <= most:
                return ("plain", text)
            return ("digest", type(value).__name__, _blake2.blake2b(text.encode("ascii"), digest_size=16).hexdigest())
    except (RecursionError, ValueError):  # too deep, or an integer of too many digits
        pass
    return ("own",)


def parts(value):
    """What an object holds, as far as equality may go by it."""
    found = []
    if isinstance(value, (list, tuple, set, frozenset)):
        kind = list if isinstance(value, list) else tuple if isinstance(value, tuple) else set
        kind = frozenset if isinstance(value, frozenset) else kind
        found.extend(kind.__iter__(value))
    elif isinstance(value, dict):
        found.extend(dict.values(value))
        found.extend(dict.keys(value))
    elif type(value).__name__ == "deque":
        found.extend(value)
    try:
        own = object.__getattribute__(value, "__dict__")
    except (AttributeError, TypeError):
        return found
    if type(own) is dict and not isinstance(value, (type, types.ModuleType)):
        found.extend(own.values())
    return found


def classes_of(values, depth=5, most=3000):
    """The classes of the values and of what they hold."""
    found, seen, level = {}, set(), list(values)
    for _ in range(depth):
        inner = []
        for at in level:
            if id(at) in seen or len(seen) >= most:
                continue
            seen.add(id(at))
            found[type(at)] = None
            if type(at) not in SCALARS:
                inner.extend(parts(at))
        level = inner
    return list(found)


class Places:
    """Where code lies: in the project's tree, in the script, in Python's own folders, or elsewhere."""

    def __init__(self, tree, script):
        self.tree = os.path.realpath(tree) + os.sep
        self.script = script
        roots = {os.path.dirname(os.__file__), sys.prefix, sys.base_prefix, sys.exec_prefix}
        self.python = tuple(os.path.realpath(at) + os.sep for at in roots)
        self.known = {}

    def of(self, name):
        """As in a report: the path in the tree, "=" of the script, "" of Python's own and installed files, or "?NAME"."""
        found = self.known.get(name)
        if found is None:
            found = self.known[name] = self.find(name)
        return found

    def find(self, name):
        if name == self.script:
            return "="
        if name.startswith("<frozen ") or name == "<observer>":
            return ""
        if name.startswith("<"):
            return "?" + name
        real = os.path.realpath(name)
        inside = real.startswith(self.tree)
        if inside and "site-packages" not in real:
            return real[len(self.tree) :] if os.path.isfile(real) else "?" + name
        if real.startswith(self.python) or "site-packages" in real or "dist-packages" in real:
            return ""
        return "?" + name


def _equal(left, right):
    return left == right


class Own:
    """What decides when objects other than plain data are compared: code of their classes.

    `codes` are (file, first line, name, names that it uses) of functions outside Python's own folders that ran or stand
    in a slot; `classes` (file, qualified name) likewise, or ("", module.name) of others; `odd` what is in a slot
    instead of a function.
    """

    def __init__(self, places):
        self.places = places
        self.codes, self.classes, self.odd, self.generated = {}, {}, {}, set()

    def slots(self, values, names):
        for kind in classes_of(values):
            if kind.__flags__ & (1 << 9) == 0 and "__dict__" not in kind.__dict__ and kind.__module__ == "builtins":
                continue  # built in
            self.note_class(kind)
            for name in names:
                for base in kind.__mro__:
                    if name in base.__dict__:
                        self.note_slot(base, name, base.__dict__[name])
                        break

    def note_class(self, kind):
        for base in kind.__mro__:
            module = sys.modules.get(base.__module__)
            file = getattr(module, "__file__", None)
            where = self.places.of(file) if type(file) is str else ""
            if where != "=":
                self.classes[where, base.__qualname__ if where else base.__module__ + "." + base.__qualname__] = None

    def note_slot(self, base, name, value):
        if isinstance(value, types.FunctionType):
            code = value.__code__
            generates = "__dataclass_fields__" in base.__dict__ or "__attrs_attrs__" in base.__dict__
            if generates and code.co_filename.startswith("<"):
                self.generated.add(code)
            else:
                self.note_code(code)
        elif isinstance(getattr(value, "__objclass__", None), type):
            if not issubclass(base, value.__objclass__):
                self.odd[base.__qualname__ + "." + name] = None
        elif value is not None and self.in_tree(base):
            self.odd[base.__qualname__ + "." + name] = None

    def in_tree(self, kind):
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        return type(file) is str and self.places.of(file) not in ("", "=")

    def note_code(self, code):
        where = self.places.of(code.co_filename)
        if where not in ("", "=") and code not in self.generated:
            self.codes[where, code.co_firstlineno, code.co_name, code.co_names[:40]] = None

    def run(self, function, *arguments):
        """Calls it while the functions that run are noted."""
        seen, before = {}, sys.getprofile()

        def note(frame, event, argument):
            if event == "call" and len(seen) < 5000:
                seen[frame.f_code] = None

        if before is not None:
            return function(*arguments)
        sys.setprofile(note)
        try:
            return function(*arguments)
        finally:
            sys.setprofile(None)
            for code in seen:
                self.note_code(code)

    def try_equal(self, left, right):
        try:
            self.run(_equal, left, right)
        except Exception:  # the assertion will meet it, too
            pass

    def report(self):
        return list(self.codes)[:MAX_CODES], list(self.classes)[:MAX_CODES], list(self.odd)[:MAX_CODES]
