"""The functions that the rewritten script calls, and the channel on which they report."""

import _blake2
import _thread
import os
import sys
import types

from acr.observe.operands import OTHER, Own, is_plain, operand
from acr.observe.rewrite import LIBRARY

MAX_BODY = 3200
MAX_EACH = 60
MAX_FAILED = 600  # errors that leave one function
SLOTS = {
    "==": ("__eq__",), "!=": ("__ne__", "__eq__"), "<": ("__lt__", "__gt__"), "<=": ("__le__", "__ge__"),
    ">": ("__gt__", "__lt__"), ">=": ("__ge__", "__le__"), "in": ("__contains__", "__iter__", "__eq__"),
    "truth": ("__bool__", "__len__"), "len": ("__len__",), "is": (), "isclose": ("__float__",), "class": ("__class__",),
}  # fmt: skip
COMPARE = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b, ">=": lambda a, b: a >= b, "in": lambda a, b: a in b, "not in": lambda a, b: a not in b,
    "is": lambda a, b: a is b, "is not": lambda a, b: a is not b,
}  # fmt: skip
# Functions whose answer about an object is its class's own, and by which slots.
NUMBERS = (int, float, complex)
BY_KEY = ("get", "pop", "setdefault")  # of a dict, whose values do not matter
LOOK_UPS = BY_KEY + ("index", "count", "remove", "discard", "eq", "ne", "map", "__eq__", "__ne__", "__contains__")
ASKED = {
    "isclose": "isclose",
    "max": "<",
    "min": "<",
    "isinstance": "class",
    "issubclass": "class",
    "bool": "truth",
    "len": "len",
}


class Channel:
    """Numbered and signed reports on a copy of standard error, from the process that began alone."""

    def __init__(self, tag, key):
        self.tag, self.key, self.number = tag.encode("ascii"), key, 0
        self.pid, self.lock = os.getpid(), _thread.RLock()
        self.getpid, self.write = os.getpid, os.write
        self.fd = 60 + key[0] + key[1]
        os.dup2(2, self.fd, inheritable=False)

    def send(self, *report):
        """Sends a report; of one that is too long, only that it was."""
        if self.getpid() != self.pid:
            return
        with self.lock:
            body = ascii((self.number + 1,) + report).encode("ascii")
            if len(body) > MAX_BODY:
                body = ascii((self.number + 1, "lost") + report[1:3]).encode("ascii")
            self.number += 1
            mac = _blake2.blake2b(body, key=self.key, digest_size=16).hexdigest().encode("ascii")
            self.write(self.fd, b"\x1e" + self.tag + mac + body + b"\x1e")


class Watch:
    """The functions that the rewritten script calls."""

    def __init__(self, channel, places, names_of_script):
        self.channel, self.places = channel, places
        self.script, self.kept = names_of_script, {}
        self.counts, self.each, self.last, self.depth = {}, {}, None, 0
        self.told = set()

    def names(self):
        own = (
            "count",
            "leave",
            "compare",
            "invert",
            "truth",
            "ask",
            "key",
            "subject",
            "difference",
            "caught",
            "failed",
            "keep",
        )
        return {"errors": BaseException, **{name: getattr(self, name) for name in own}}

    def send(self, line, column, kind, *rest):
        place = (line, column)
        number = self.each[place] = self.each.get(place, 0) + 1
        if number <= MAX_EACH:
            self.channel.send(kind, line, column, *rest)
        elif number == MAX_EACH + 1:
            self.channel.send("more", line, column)

    def count(self, place):
        self.counts[place] = self.counts.get(place, 0) + 1

    def keep(self, line, column, *names):
        """Remembers what names of the script stand for, which no later statement of it binds."""
        self.kept.update({name: self.script[name] for name in names if name in self.script})

    def look_at_names(self):
        for name, value in self.kept.items():
            if self.script.get(name) is not value and name not in self.told:
                self.told.add(name)
                self.channel.send("replaced", name + " of the script")

    def leave(self, place, value):
        self.count(place)
        return value

    def compare(self, line, column, operators, left, *others):
        outcome = True
        for operator, right in zip(operators, others):
            outcome = self.pair(line, column, operator, left, right)
            if len(others) > 1 and not outcome:
                break
            left = right
        return outcome

    def own(self, line, column, name, outcome, own):
        """Reports what decides about objects; each kind of it once in a statement."""
        report = own.report()
        kind = ascii((line, column, name, outcome, report))
        if kind not in self.told:
            self.told.add(kind)
            for at in own.pieces(report):
                self.channel.send("own", line, column, name, outcome, *at)

    def pair(self, line, column, operator, left, right):
        if self.each.get((line, column), 0) > MAX_EACH and is_plain(left) and is_plain(right):
            return COMPARE[operator](left, right)
        self.look_at_names()
        shown = operand(left), operand(right)
        if operator in ("is", "is not") or ("own",) not in shown:
            outcome = COMPARE[operator](left, right)
            self.send(line, column, "held", operator, shown[0], shown[1], outcome)
            return outcome
        own = Own(self.places)
        own.generated.update(at.gi_code for at in (left, right) if isinstance(at, types.GeneratorType))
        own.slots((left, right), SLOTS[operator.replace("not in", "in")])
        outcome = own.run(COMPARE[operator], left, right)
        if type(outcome) is not bool:  # as of arrays: its own methods go on deciding
            own.slots((outcome,), ("all", "any", "__bool__"))
        elif operator in ("==", "!=") and outcome is (operator == "=="):
            own.look_for_agreement(left, right)
        self.own(line, column, operator, type(outcome).__name__, own)
        return outcome

    def key(self, line, column, value):
        """What a table is asked for."""
        self.look_up(line, column, "key", (value,))
        return value

    def subject(self, line, column, value):
        """What a match statement compares."""
        self.look_up(line, column, "match", (value,))
        return value

    def difference(self, line, column, left, right):
        """A number less a number: an object that is taken for one must be."""
        value = left - right
        if type(value) in NUMBERS and (type(left) in NUMBERS) != (type(right) in NUMBERS):
            own = Own(self.places)
            own.slots((left, right), ("__sub__", "__rsub__"))
            self.own(line, column, "-", "", own)
        return value

    def look_up(self, line, column, name, values):
        if not all(type(at) is slice or is_plain(at) for at in values):
            own = Own(self.places)
            own.slots(values, ("__eq__", "__hash__"))
            for at in values:
                if "__eq__" in vars(type(at)) or type(at).__eq__ is not object.__eq__:
                    own.look_for_agreement(at, OTHER)
            self.own(line, column, name, "", own)

    def invert(self, line, column, value):
        return not value

    def truth(self, line, column, value):
        if type(value) is bool:
            self.send(line, column, "truth", value)
            return value
        if is_plain(value) or value is None:
            self.send(line, column, "truth", bool(value))
            return value
        own = Own(self.places)
        own.slots((value,), SLOTS["truth"])
        outcome = own.run(bool, value)
        self.own(line, column, "truth", "bool", own)
        return outcome

    def ask(self, line, column, name, function, *arguments, **named):
        """Calls an assertion, or a function whose answer about an object is its class's own."""
        if name in LOOK_UPS:
            holder = getattr(function, "__self__", None)
            if name.startswith("__") or isinstance(function, (types.BuiltinFunctionType, type)):
                held = () if isinstance(holder, types.ModuleType) or name in BY_KEY else (holder,)
                self.look_up(line, column, name, held + arguments)
            return function(*arguments, **named)
        if name in LIBRARY:
            if self.is_library(function):
                self.look_up(line, column, name, arguments)
            return function(*arguments, **named)
        self.look_at_names()
        shown = [operand(at, (MAX_BODY - 400) // max(len(arguments), 1)) for at in arguments]
        own = Own(self.places)
        if ("own",) in shown:
            own.slots(arguments, SLOTS["==" if name.startswith("assert") else ASKED.get(name, "in")])
            for at in arguments:
                if ASKED.get(name) == "class" and isinstance(at, type):
                    own.slots((at,), ("__instancecheck__", "__subclasscheck__"))
        if name.startswith("assert"):
            code = getattr(function, "__code__", None)  # of a method, too
            if code is not None:
                own.note_code(code)
            if ("own",) in shown and "Equal" in name and len(arguments) > 1:
                own.try_equal(arguments[0], arguments[1])
                if "Not" not in name:
                    own.look_for_agreement(arguments[0], arguments[1])
            self.send(line, column, "called", name, shown)
        if own.codes or own.classes or own.odd:
            self.own(line, column, name, "", own)
        return function(*arguments, **named)

    def is_library(self, function):
        """Whether it is Python's own."""
        code = getattr(function, "__code__", None)
        return (
            self.places.of(code.co_filename) == "" if code else isinstance(function, (types.BuiltinFunctionType, type))
        )

    def origin(self, error):
        """Its type, its lines in the script, and where it was raised: file, function, line."""
        found, trace, last = [], error.__traceback__, ("", "", 0)
        while trace is not None:
            code = trace.tb_frame.f_code
            last = self.places.of(code.co_filename), code.co_name, trace.tb_lineno
            if last[0] == "=":
                found.append(trace.tb_lineno)
            trace = trace.tb_next
        kind = "AssertionError" if isinstance(error, AssertionError) else type(error).__name__
        return (kind, found[-20:]) + last

    def caught(self, line, column):
        self.send(line, column, "caught", *self.origin(sys.exc_info()[1]))

    def failed(self, line, column):
        error = sys.exc_info()[1]
        if isinstance(error, (GeneratorExit, StopIteration, StopAsyncIteration)):
            return
        self.depth = self.depth + 1 if self.last == id(error) else 0
        self.last = id(error)
        number = self.each[line, column, "failed"] = self.each.get((line, column, "failed"), 0) + 1
        if (self.depth < MAX_EACH and number <= MAX_FAILED) or not line:
            self.channel.send("failed", *self.origin(error))

    def end(self, how):
        counts = sorted(self.counts.items())
        for first in range(0, len(counts), 100):
            self.channel.send("counts", dict(counts[first : first + 100]))
        self.channel.send("end", how)
