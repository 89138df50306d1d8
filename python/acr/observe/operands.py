"""What is compared: plain data, and what decides about everything else."""

import _blake2
import gc
import itertools
import os
import sys
import types

MAX_WALK = 2000000  # parts of one operand
MAX_PARTS = 200000  # parts whose classes are noted
MAX_DEPTH = 5  # of objects in objects; lists, dicts and the like do not count
MAX_CODES = 60
MAX_LEAVES = 200  # values of an operand that are changed, one at a time
MAX_PIECE = 3000  # characters of a report
MAX_NAME = 300
HEAP_TYPE = 1 << 9
OTHER = "\0other"  # nothing equals it
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


PLAIN_CONTAINERS = (list, tuple, set, frozenset, dict)
NOT_PARTS = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType, types.MethodType)


def parts(value):
    """What an object holds, as far as equality may go by it."""
    if type(value) is dict:
        return list(value) + list(value.values())
    if type(value) in PLAIN_CONTAINERS:
        return list(value)
    if isinstance(value, NOT_PARTS):
        return []
    found = []
    for at in gc.get_referents(value):
        if type(at) is dict:  # its attributes, or a dict's own
            found.extend(parts(at))
        elif not isinstance(at, NOT_PARTS):
            found.append(at)
    return found


def classes_of(values):
    """The classes of the values and of what they hold, and whether that is all of them."""
    found, seen, level = {}, {}, list(values)
    for _ in range(MAX_DEPTH):
        inner = []
        while level:
            at = level.pop()
            if len(seen) >= MAX_PARTS:
                return list(found), False
            found[type(at)] = None
            if type(at) in SCALARS or id(at) in seen:
                continue
            seen[id(at)] = at  # kept, so that its id is no other's
            (level if type(at) in PLAIN_CONTAINERS else inner).extend(parts(at))
        level = inner
    return list(found), True


def other(leaf):
    """Another value of the same kind, far from it."""
    if type(leaf) in (str, bytes):
        return leaf + (b"\0" if type(leaf) is bytes else "\0")
    return leaf * 2 + 1000003 if type(leaf) in (int, float, complex) else OTHER


def variants(value):
    """Plain data as it is but for one value, for each of its values."""
    if type(value) in (list, tuple):
        for position, at in enumerate(value):
            for changed in variants(at):
                copy = list(value)
                copy[position] = changed
                yield copy if type(value) is list else tuple(copy)
    elif type(value) is dict:
        for key, at in value.items():
            for changed in variants(at):
                yield {**value, key: changed}
    elif type(value) in SCALARS:
        yield other(value)


class Places:
    """Where code lies: in the project's tree, in the script, in Python's own folders, or elsewhere.

    A file that came or changed since `began` lies elsewhere, wherever it is.
    """

    def __init__(self, tree, script, began):
        self.began = began
        self.tree = os.path.realpath(tree) + os.sep
        self.script = script
        roots = {os.path.dirname(os.__file__), sys.prefix, sys.base_prefix, sys.exec_prefix}
        self.python = tuple(os.path.realpath(at) + os.sep for at in roots)
        self.known = {}
        self.modules = {}  # id of a module's names: the file that they were made by
        self.genuine = set()  # classes that there were before the project was imported
        self.asked = self  # the function that the observer itself reads

    def remember_classes(self):
        level = [object]
        while level:
            new = [at for kind in level for at in type.__subclasses__(kind) if at not in self.genuine]
            self.genuine.update(new)
            level = new

    def of_class(self, kind):
        """Where the module of a class lies, whatever that says of itself."""
        module = sys.modules.get(kind.__module__) if type(kind.__module__) is str else None
        names = vars(module) if isinstance(module, types.ModuleType) else {}
        file = self.modules.get(id(names)) or names.get("__file__")
        return self.of(file) if type(file) is str else ""

    def of(self, name):
        """As in a report: the path in the tree, "=" of the script, "" of Python's own and installed files, or "?NAME"."""
        found = self.known.get(name)
        if found is None:
            found = self.known[name] = self.find(name)
        return found

    def is_new(self, path):
        """Whether a file came or changed since the run began."""
        try:
            return os.stat(path).st_ctime > self.began
        except (OSError, ValueError):
            return False

    def find(self, name):
        if name == self.script:
            return "="
        if name.startswith("<frozen ") or name == "<observer>":
            return ""
        if name.startswith("<"):
            return "?" + name
        real = os.path.realpath(name)
        if self.is_new(real):
            return "?" + name
        inside = real.startswith(self.tree)
        if inside and "site-packages" not in real:
            return real[len(self.tree) :] if os.path.isfile(real) else "?" + name
        if real.startswith(self.python) or "site-packages" in real or "dist-packages" in real:
            return ""
        return "?" + name


def is_where_it_says(kind):
    """Whether the module that a class names has it, under its name."""
    at = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        at = getattr(at, name, None)
    return at is kind


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
        classes, complete = classes_of(values)
        if not complete:
            self.odd["something with too many parts"] = None
        for kind in classes:
            if kind.__flags__ & HEAP_TYPE == 0 and "__dict__" not in kind.__dict__ and kind.__module__ == "builtins":
                continue  # built in
            if not issubclass(kind, type) or kind.__eq__ is not object.__eq__:  # classes are equal by being one
                self.note_class(kind)
            for name in names:
                for base in kind.__mro__:
                    if name in base.__dict__:
                        self.note_slot(base, name, base.__dict__[name])
                        break

    def note_class(self, kind):
        for base in kind.__mro__:
            where = self.places.of_class(base)
            if not where and base not in self.places.genuine and not is_where_it_says(base):
                where = "?"
            functions = [getattr(at, "__func__", at) for at in list(vars(base).values())]
            codes = [at.__code__ for at in functions if isinstance(at, types.FunctionType)]
            for file in {where, *(self.places.of(at.co_filename) for at in codes)}:
                if file == where or (file not in ("", "=") and file[0] != "?"):
                    name = base.__qualname__ if file not in ("", "?") else base.__module__ + "." + base.__qualname__
                    if file != "=":
                        self.classes[file, name[:MAX_NAME]] = None

    def note_slot(self, base, name, value):
        where = self.places.of_class(base)
        if isinstance(value, types.FunctionType):
            code = value.__code__
            generates = "__dataclass_fields__" in base.__dict__ or "__attrs_attrs__" in base.__dict__
            if generates and code.co_filename.startswith("<"):
                self.generated.add(code)
            else:
                self.note_code(code)
                if self.is_from_elsewhere(base, where, name, value):
                    self.odd[f"{base.__qualname__}.{name}, which is {value.__qualname__}"[:MAX_NAME]] = None
        elif isinstance(getattr(value, "__objclass__", None), type):
            if not issubclass(base, value.__objclass__) or value.__name__ != name:
                self.odd[base.__qualname__ + "." + name + ", which is not its own"] = None
        elif value is not None and where:
            self.odd[base.__qualname__ + "." + name + ", which is not a function"] = None

    def is_from_elsewhere(self, base, where, name, function):
        """Whether a method was not written in a class, or in one that its own inherits from."""
        file = self.places.of(function.__code__.co_filename)
        if not where or function.__code__.co_filename.startswith("<"):
            return False
        if not file:
            return os.path.basename(function.__code__.co_filename) != "functools.py"
        owner = function.__qualname__.rpartition(".")[0]
        return function.__code__.co_name != name or owner not in [at.__qualname__ for at in base.__mro__]

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
            self.odd["something that runs under a profiler"] = None
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

    def look_for_agreement(self, left, right):
        """Notes an operand that equals what it should not: a text of the observer's, or the other with one value changed."""
        for one, another in ((left, right), (right, left)):
            if is_plain(one) or self.places.of_class(type(one)) == "=" or type(one).__name__ == "_ANY":
                continue
            changed = itertools.islice(variants(another), MAX_LEAVES) if is_plain(another) else ()
            try:
                if any((one == at) is True for at in itertools.chain((OTHER,), changed)):
                    self.odd[type(one).__qualname__[:MAX_NAME] + ", which equals anything"] = None
            except Exception:  # it does not agree
                pass

    def pieces(self, report):
        """A report, or, where it may be too long for one, a report of each of its parts."""
        if len(ascii(report)) < MAX_PIECE:
            return [report]
        codes, classes, odd = report
        found = [([at], [], []) for at in codes] + [([], [at], []) for at in classes]
        return found + [([], [], [at]) for at in odd]

    def report(self):
        for found, name in ((self.codes, "codes"), (self.classes, "classes"), (self.odd, "others")):
            if len(found) > MAX_CODES:
                self.odd = dict.fromkeys([f"more {name} than are reported", *self.odd])
        return list(self.codes)[:MAX_CODES], list(self.classes)[:MAX_CODES], list(self.odd)[:MAX_CODES]
