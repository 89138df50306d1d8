"""What the watching of tests is made of: its reports, and where files are. Goes before `witness.py`."""

import _blake2
import _thread
import os
import re
import sys
import types

MAX_REPORTS = 200_000
MAX_KINDS = 2000  # of those that are reported once
KINDS = (types.FunctionType, types.BuiltinFunctionType, type, classmethod, staticmethod, property)
HOLDERS = (list, tuple, set, frozenset, dict)
PLAIN = (int, float, complex, str, bytes, bool, type(None))


def bare(made):
    """The object as a namespace with its methods: nothing can change the class of that, nor its methods by a class."""
    space = types.SimpleNamespace(**vars(made))
    for name, at in vars(type(made)).items():
        if isinstance(at, types.FunctionType):
            setattr(space, name, types.MethodType(at, space))
    return space


class Channel:
    """Numbered and signed reports to a pipe, from the process that began alone."""

    def __init__(self, folder, key):
        self.key, self.number, self.pid, self.each = key, 0, os.getpid(), set()
        self.fd = os.open(os.path.join(folder, "reports"), os.O_WRONLY | os.O_APPEND)
        self.lock, self.write, self.getpid, self.digest = _thread.RLock(), os.write, os.getpid, _blake2.blake2b

    def is_here(self):
        return self.getpid() == self.pid

    def tell(self, *report):
        if not self.is_here() or self.number > MAX_REPORTS:
            return
        with self.lock:
            self.number += 1
            if self.number > MAX_REPORTS:
                report = ("lost",)
            body = ascii((self.number,) + report).encode("ascii")
            mac = self.digest(body, key=self.key, digest_size=16).hexdigest().encode("ascii")
            self.write(self.fd, b"\x1e" + mac + body + b"\x1e\n")

    def tell_once(self, *report):
        if report not in self.each and len(self.each) < MAX_KINDS:
            self.each.add(report)
            self.tell(*report)


class Places:
    """Where files are: in the tree, with tests, changed by the patch."""

    def __init__(self, given):
        self.tree, self.folder = os.path.realpath(os.getcwd()) + os.sep, given["folder"]
        self.is_test_file = re.compile(given["pattern"]).search
        self.changed = {self.tree + path for path in given["changed"]}
        self.realpath = os.path.realpath

    def inside(self, name):
        """The path in the tree of a file, or None."""
        path = self.realpath(name) if type(name) is str and name[:1] != "<" else ""
        return path[len(self.tree) :] if path.startswith(self.tree) else None

    def is_changed(self, name):
        return self.realpath(name) in self.changed

    def origin(self, value):
        """The file of a function or class, or None."""
        value = value.fget if type(value) is property else value
        value = value.__func__ if type(value) in (types.MethodType, classmethod, staticmethod) else value
        if isinstance(value, types.FunctionType):
            return value.__code__.co_filename
        return getattr(sys.modules.get(value.__module__), "__file__", None) if isinstance(value, type) else None

    def is_projects(self, value):
        """Whether a function or class is of a file in the tree that holds no tests."""
        path = self.inside(self.origin(value))
        return path is not None and not self.is_test_file(path)
