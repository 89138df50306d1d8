"""What assertions are made of, and whether it is what it was. Goes before `witness.py`."""

import builtins
import sys
import types

from acr.observe.witness_channel import KINDS

ASSERTS = {
    "numpy.testing", "numpy.testing._private.utils", "pandas._testing", "pandas.testing", "doctest", "operator", "math",
    "ast", "os", "posixpath", "io", "re", "types", "linecache", "warnings", "logging", "contextlib", "inspect", "copy",
    "json", "functools", "itertools", "collections", "datetime", "decimal", "fractions", "traceback", "difflib",
}  # fmt: skip
STRICT = ("builtins.", "operator.", "math.", "re.")  # nothing but tests replaces these
OWN = ("unittest", "_pytest", "pytest", "pluggy")  # nothing but tests of themselves replaces these


class Assertions:
    """What assertions are made of, as it was before the project was imported."""

    def __init__(self, channel, places):
        self.channel, self.places = channel, places
        self.held, self.known, self.count = [], set(), 0  # (name, names, key, value)
        self.classes, self.originals = [], {}  # (name, names, keys); by key: values
        __import__("unittest.mock")
        self.hold("builtins", vars(builtins))
        self.learn()

    def hold(self, name, names):
        for key, at in list(names.items()):
            if isinstance(at, KINDS):
                self.held.append((name + "." + key, names, key, at))
                self.originals.setdefault(key, []).append(at)

    def forget(self, name):
        self.held = [at for at in self.held if at[0] != name]

    def learn(self):
        """Remembers those of modules that are there by now, unless they are the project's."""
        if len(sys.modules) == self.count:
            return
        self.count = len(sys.modules)
        for name, module in list(sys.modules.items()):
            is_one = name in ASSERTS or name.split(".")[0] in OWN
            if is_one and name not in self.known and isinstance(module, types.ModuleType):
                self.known.add(name)
                if self.places.inside(getattr(module, "__file__", None)) is None:
                    self.take(name, module)

    def take(self, name, module):
        self.hold(name, vars(module))
        for key, value in list(vars(module).items()):
            code = getattr(value, "__code__", None)
            is_made = getattr(code, "co_filename", "") == "<string>"
            if isinstance(value, KINDS) and (is_made or self.places.is_projects(value)):
                self.channel.tell_once("replaced", name + "." + key)
        for key, value in list(vars(module).items()):
            if isinstance(value, type) and value.__module__ == name:
                self.hold(name + "." + key, vars(value))
                if name.startswith(OWN):
                    self.classes.append((name + "." + key, vars(value), set(vars(value))))
        if name == "pytest" and hasattr(module, "mark"):
            self.classes.append(("pytest.mark", vars(module.mark), set(vars(module.mark))))

    def is_odd(self, name, now):
        """Whether that may not stand for what it stands for."""
        if name.startswith(OWN) or self.places.is_projects(now):
            return True
        if not name.startswith(STRICT) or type(now).__module__ == "unittest.mock":
            return False
        return not isinstance(now, types.FunctionType) or now.__code__.co_filename[:1] == "<"

    def look(self):
        """Tells which of them are another's now."""
        for name, names, key, was in self.held:
            now = names.get(key)
            if now is not was and self.is_odd(name, now):
                self.channel.tell_once("replaced", name)
        for name, names, keys in self.classes:
            for key in set(names) - keys if len(names) != len(keys) else ():
                if self.places.is_projects(names[key]) or key in ("__getattribute__", "__getattr__"):
                    self.channel.tell_once("replaced", name + "." + key)

    def called(self, name, value):
        """A test calls what is an assertion, or a built-in function, by its name."""
        value = value.__func__ if type(value) is types.MethodType else value
        if any(value is at for at in self.originals.get(name, ())):
            return
        code = value.__code__ if isinstance(value, types.FunctionType) else None
        if code is not None and self.places.is_changed(code.co_filename):
            digest = self.channel.digest(code.co_code + repr(code.co_names).encode(), digest_size=4).hexdigest()
            self.channel.tell_once("asserts", name, digest)
        elif name in self.originals and (code is None or value.__name__ != name or code.co_filename[:1] == "<"):
            self.channel.tell_once("replaced", name)
