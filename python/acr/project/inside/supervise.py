"""Runs a project's tests in the sandbox, by the project's own Python (3.6 or later), and reports how each test ended.

Standard input: a request, JSON: "files" {name: content of the files beside this one, {"base64"} where they are bytes},
"plan" (see acr.project.commands), "seconds" that the tests may take, "select" (ids that are run; null: all), "wide" (whether pytest then collects all files), "order"
(files of tests, those that are run first), "good" (ids; the run ends soon after one of them fails; null: it goes on), "trace" (whether the lines that each test runs are wanted), "imports" (also
what runs while a module is imported); or "probe".
Standard output: the answer, JSON.
"""

import sys

if sys.hexversion < 0x03060000:  # older Pythons can compile this file, and run it up to this line
    sys.exit("Python 3.6 or later is needed, and this is " + sys.version.split()[0])
if "" in sys.path:  # removes the project's root, whose json.py must not be imported
    sys.path.remove("")

# A verdict starts this program ten times, and the modules subprocess, tempfile and shutil take as long to load as Python.
import binascii
import json
import os
import signal
import time

LOG_BYTES = 16 << 20
SHOWN_BYTES = 16 << 10
MESSAGE_CHARACTERS = 6000
MAX_MESSAGES = 2000
LINES_BYTES = 40 << 20
MAX_SECONDS = 1e9
WORST = ["passed", "skipped", "xfailed", "xpassed", "failed", "error"]
LOOK_SECONDS = 0.3  # interval between reads of the report, for tests that should not fail
MORE_SECONDS = 1  # minimum time for the other tests after such a failure; otherwise a quarter of the time until then
MAX_NEAR = 20  # number of test files that run separately, before all tests
MANY_FILES = 100  # with more test files, pytest runs the nearest ones separately
KNOWN = ("pytest", "nose", "nose2", "zope.testrunner", "twisted", "django", "hypothesis", "xdist", "coverage")


def probe():
    """Finds the available runners, and makes a digest of the installed packages."""
    import glob
    import hashlib
    import site
    from importlib.util import find_spec

    if sys.flags.no_site:  # so that other requests do not wait for the installed packages
        site.main()
    sys.path.insert(0, "")  # the project may be pytest itself
    installed = [sys.version, sys.executable, sys.prefix]
    for folder in sys.path:
        for pattern in ("*.dist-info", "*.egg-info", "*.egg-link", "*.pth", "__editable__*"):
            installed += sorted(glob.glob(os.path.join(glob.escape(folder), pattern))) if folder else []
    found = []
    for name in KNOWN:
        try:
            found += [name] if find_spec(name) else []
        except (ImportError, ValueError):
            continue
    digest = hashlib.sha256("\n".join(installed).encode("utf-8", "surrogateescape")).hexdigest()
    return {"modules": found, "digest": digest, "version": sys.version.split()[0]}


def make_argv(plan, folder):
    """The command line of a plan; the request's files are in `folder`."""
    runner, args = plan["runner"], plan["args"]
    if runner == "command":
        return ["/bin/sh", "-c", plan["command"]]
    main = {
        "pytest": "pytest_main.py",
        "unittest": "unittest_main.py",
        "hooked": "hooked_main.py",
        "sympy": "sympy_main.py",
    }.get(runner)
    if main:
        return [sys.executable, os.path.join(folder, main)] + args
    return [sys.executable] + args


def selected(plan, select):
    """The arguments that make a runner run only these tests, as far as possible."""
    args, how = list(plan["args"]), plan.get("select")
    if select is None or how is None:
        return args
    if how == "labels":  # each test is an argument
        return args[: plan["labels_at"]] + list(select)
    names = [test.partition(":") for test in select]  # sympy's: file.py:test_name
    return args + sorted({name[0] for name in names}) + ["-k"] + sorted({name[2] for name in names})


def nearest(plan, request):
    """The arguments that run the first files of the order separately; None if the runner sorts its tests, or has no order.

    A runner that takes modules as arguments sets up less for a few of them than for all.
    """
    is_whole = plan.get("select") == "labels" and len(plan["args"]) == plan["labels_at"]
    if not is_whole or request.get("select") is not None:
        return None
    folder = (plan.get("cwd") or ".").rstrip("/") + "/"
    folder = "" if folder == "./" else folder
    files = [file[len(folder) : -len(".py")] for file in request.get("order") or () if file.startswith(folder)]
    return plan["args"] + [file.replace("/", ".") for file in files[:MAX_NEAR]] if files else None


def near_files(plan, request):
    """The files that pytest runs separately first, because collecting all tests of a large project takes long; or None."""
    order = request.get("order") or ()
    is_whole = (
        plan["runner"] == "pytest" and request.get("select") is None and not plan.get("cwd") and not plan.get("trace")
    )
    if not is_whole or len(order) <= MANY_FILES:
        return None
    roots = [arg.rstrip("/") for arg in plan["args"] if not arg.startswith("-") and os.path.exists(arg)]
    within = [file for file in order if not roots or any((file + "/").startswith(root + "/") for root in roots)]
    return [file for file in within[:MAX_NEAR] if os.path.isfile(file)] or None


def make_environment(plan, folder, report):
    """The environment of the tests."""
    env = dict(os.environ, ACR_TESTS=folder, ACR_TESTS_REPORT=report)
    env["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), env.get("PATH", "/usr/bin:/bin")])
    env.update(plan.get("env", {}))
    first = [os.path.abspath(at) for at in plan.get("path", [])]
    if plan["runner"] == "command":  # the command starts the project's Python, which reports the outcomes
        env["PATH"] = os.pathsep.join([os.path.join(folder, "bin"), env["PATH"]])
        first.insert(0, os.path.join(folder, "everywhere"))
        env["PYTEST_ADDOPTS"] = (env.get("PYTEST_ADDOPTS", "") + " -p acr_pytest_report").strip()
    first += [env["PYTHONPATH"]] if env.get("PYTHONPATH") else []
    if first:
        env["PYTHONPATH"] = os.pathsep.join(first)
    if plan.get("trace"):
        env.update(ACR_TESTS_TRACE=os.path.join(folder, "line_tracer.py"), ACR_TESTS_ROOT=os.getcwd())
    if plan.get("imports"):
        env["ACR_TESTS_IMPORTS"] = "1"
    env.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    env.setdefault("PYTHONHASHSEED", "0")
    return env


def write_files(request, folder):
    """Writes the files that the tests' process needs."""
    everywhere = os.path.join(folder, "everywhere")
    os.mkdir(everywhere)
    files = dict(request["files"])
    for name in ("acr_test_events.py", "acr_pytest_report.py", "unittest_report.py"):
        files["everywhere/" + name] = files[name]
    files["everywhere/sitecustomize.py"] = files["hooked_main.py"]
    for name, text in files.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(text.encode() if isinstance(text, str) else binascii.a2b_base64(text["base64"]))
    os.mkdir(os.path.join(folder, "bin"))
    for name in ("python", "python3"):
        with open(os.path.join(folder, "bin", name), "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nexec "' + sys.executable + '" "$@"\n')
        os.chmod(file.name, 0o755)
    write_request(folder, "order", request.get("order"))
    write_request(folder, "wide", request.get("wide"))


def write_request(folder, name, value):
    """Writes a part of the request that the tests' process reads."""
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(value, file)


class Watch:
    """Reads a report while tests run, until one of the `good` tests has failed."""

    def __init__(self, report, good):
        self.report, self.good, self.read, self.start, self.end = report, frozenset(good), 0, time.time(), None

    def is_over(self):
        """Whether to end the run: the other tests got a quarter of the time until the first failure."""
        if self.end is None and os.path.isfile(self.report):
            with open(self.report, "rb") as file:
                file.seek(self.read)
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    self.read += len(line)
                    if self.end is None and self.is_failure(line):
                        self.end = time.time() + max((time.time() - self.start) / 4, MORE_SECONDS)
        return self.end is not None and time.time() > self.end

    def is_failure(self, line):
        """Whether the event in this line is the failure of a good test."""
        try:
            event = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return False
        return is_event(event) and event.get("outcome") in ("failed", "error") and event["test"] in self.good


def start(argv, cwd, env, log):
    """Starts a command in a new session; returns the process's id."""
    ready, at_start = os.pipe()
    child = os.fork()
    if child:
        os.close(at_start)
        os.read(ready, 1)  # returns when the command starts, in its session
        os.close(ready)
        return child
    try:
        os.setsid()
        for target, source in enumerate((os.open(os.devnull, os.O_RDONLY), log.fileno(), log.fileno())):
            os.dup2(source, target)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores both
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        os.chdir(cwd)
        os.execve(argv[0], argv, env)
    except OSError as error:
        os.write(2, (argv[0] + ": " + error.strerror).encode())
    finally:
        os._exit(127)


def run_command(argv, cwd, env, log, seconds, watch=None):
    """Runs the command for at most `seconds`; returns its exit code, or None if it was ended then or by `watch`."""
    child, begun, look, pause = start(argv, cwd, env, log), time.time(), LOOK_SECONDS, 0.001
    try:
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
            passed = time.time() - begun
            if passed >= seconds or (watch and passed >= look and watch.is_over()):
                return None
            look += LOOK_SECONDS if passed >= look else 0
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
    finally:
        try:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
        except OSError:  # all have ended
            pass


def are_texts(values):
    """Whether all are strings."""
    return all(isinstance(value, str) for value in values)


def is_event(event):
    """Whether a line of the report has the members of an event; tests can write to the report, too."""
    if not isinstance(event, dict):
        return False
    if "collected" in event:
        return isinstance(event["collected"], list) and are_texts(event["collected"])
    if "lines" in event:
        lines = event["lines"]
        return isinstance(lines, dict) and are_texts([event.get("of")] + list(lines.values()))
    if "start" in event:
        return are_texts([event["start"]])
    texts, seconds = [event.get("test"), event.get("message") or ""], event.get("seconds", 0)
    is_number = isinstance(seconds, (int, float)) and abs(seconds) < MAX_SECONDS  # and it is not NaN
    return are_texts(texts) and event.get("outcome") in WORST and is_number


def read_events(path):
    """(event, length) of each complete line."""
    if not os.path.isfile(path):
        return
    with open(path, "rb") as file:
        for line in file:
            try:
                event = json.loads(line.decode("utf-8", "replace"))
            except (ValueError, RecursionError):  # cut off
                continue
            if is_event(event):
                yield event, len(line)


def read_report(path):
    """Makes the members of the answer from the events."""
    tests, messages, collected, started, told = {}, {}, [], None, ({}, {})
    left = [LINES_BYTES, LINES_BYTES]
    for event, size in read_events(path):
        if "collected" in event:
            collected = event["collected"]
        elif "lines" in event:
            has_passed = tests.get(event["of"], ["passed"])[0] not in ("failed", "error")
            left[has_passed] -= size
            if left[has_passed] > 0:
                told[has_passed][event["of"]] = event["lines"], size
        elif "start" in event:
            started = event["start"]
        else:
            take_outcome(event, tests, messages)
            started = None if started == event["test"] and event.get("last") else started
    lines, is_cut = choose_lines(told)
    return tests, messages, collected, started, lines, is_cut or min(left) <= 0


def choose_lines(told):
    """Keeps the lines of failing tests, and of others while there is room; returns whether some did not fit."""
    left, lines = LINES_BYTES, {}
    for part in told:
        for test, (of_test, size) in part.items():
            left -= size
            if left > 0:
                lines.setdefault(test, of_test)
    return lines, left <= 0


def take_outcome(event, tests, messages):
    """Records an outcome; if a test has several (of its set-up, of subtests), the worst counts."""
    test, outcome = event["test"], event["outcome"]
    before = tests.get(test, ["passed", 0])
    tests[test] = [max(before[0], outcome, key=WORST.index), round(before[1] + event.get("seconds", 0), 3)]
    if event.get("message") and outcome in ("failed", "error") and len(messages) < MAX_MESSAGES:
        messages.setdefault(test, event["message"][-MESSAGE_CHARACTERS:])


def read_log(path, limit):
    """The end of the log as text."""
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - limit))
        return file.read().decode("utf-8", "replace")


def run_tests(request):
    """Runs the tests and returns the answer."""
    plan = dict(request["plan"], trace=request.get("trace"), imports=request.get("imports"))
    folder = os.path.join(os.environ.get("TMPDIR") or "/tmp", "acr-tests-" + binascii.hexlify(os.urandom(6)).decode())
    os.mkdir(folder, 0o700)
    report, log = os.path.join(folder, "report"), os.path.join(folder, "log")
    write_files(request, folder)
    cwd = os.path.abspath(plan.get("cwd") or ".")
    start, code = time.time(), 0
    watch = Watch(report, request["good"]) if request.get("good") else None
    try:
        with open(log, "wb") as out:
            near, select = near_files(plan, request), request.get("select")
            phases = [
                (plan["args"] if near else None, near),
                (nearest(plan, request), None),
                (selected(plan, select), select),
            ]
            for args, only in phases:
                if args is not None and code is not None:
                    write_request(folder, "select", only)
                    argv = make_argv(dict(plan, args=args), folder)
                    left = max(request["seconds"] - (time.time() - start), 0)
                    code = run_command(argv, cwd, make_environment(plan, folder, report), out, left, watch)
    except OSError as error:
        return {"exit": 127, "tests": [], "not_run": [], "log": argv[0] + ": " + str(error.strerror)}
    tests, messages, collected, started, lines, is_cut = read_report(report)
    whole = not tests and plan.get("parser")
    is_stopped = code is None and watch is not None and watch.end is not None and time.time() > watch.end
    answer = {
        "exit": code,
        "seconds": round(time.time() - start, 3),
        "tests": [[test] + tests[test] + [messages.get(test)] * (test in messages) for test in tests],
        "not_run": [test for test in collected if test not in tests],
        "running": started if (code is None or started not in tests) and not is_stopped else None,
        "stopped": is_stopped,
        "lines": lines,
        "lines_cut": is_cut,
        "log": read_log(log, LOG_BYTES if whole else SHOWN_BYTES),
    }
    os.spawnlp(os.P_WAIT, "rm", "rm", "-rf", folder)
    return answer


def main():
    """Reads the request and writes the answer."""
    request = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    answer = probe() if "probe" in request else run_tests(request)
    sys.stdout.write(json.dumps(answer))


main()
