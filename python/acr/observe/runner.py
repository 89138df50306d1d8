"""The run of a script under observation and another guise."""

import builtins
import os
import re
import sys
import tempfile
import types

from acr.observe.operands import Own, Places
from acr.observe.rewrite import rewrite
from acr.observe.touched import Audit, Library
from acr.observe.watch import Channel, Watch


def leaves_by_itself(trace, places):
    """Whether a SystemExit was raised by the script, or by the functions that scripts leave by."""
    while trace.tb_next is not None:
        trace = trace.tb_next
    name = trace.tb_frame.f_code.co_filename
    ours = os.path.join("unittest", "main.py"), "_sitebuiltins.py", "<frozen _sitebuiltins>"
    return name == places.script or (name.endswith(ours) and places.of(name) == "")


def disguise(tree, source, key):
    """The name that the script goes by; its user, and where it names no file of the tree its folder, are others, too."""
    word = "".join("abcdefghijklmnopqrstuvwxyz"[at % 26] for at in key[2:12])
    for name in ("USER", "LOGNAME", "USERNAME", "HOSTNAME"):
        os.environ[name] = word
    __import__("unittest")  # as if a test runner ran it
    suffix = ".py" if "process" in source.lower() or "concurrent" in source else ""
    return word, os.path.join(tree, word + suffix)


def move(tree, source):
    """Leaves the tree for a folder of its own, unless the script has the name of something in the tree in its text."""
    words = set(re.findall(r"[\w./-]+", source))
    if any(os.path.exists(os.path.join(tree, at)) and ("." in at or "/" in at) for at in words):
        return
    os.environ["PYTHONPATH"] = os.pathsep.join(at for at in (tree, os.environ.get("PYTHONPATH")) if at)
    os.chdir(tempfile.mkdtemp())


def join_threads():
    threading = sys.modules.get("threading")
    for thread in threading.enumerate() if threading else ():
        if thread is not threading.main_thread() and not thread.daemon and thread is not threading.current_thread():
            thread.join()


def run(tag, key, source, path):
    """Runs the script in the current folder, the project's tree. `key` is 16 bytes or more, `path` what sys.path is to be.

    Until the script begins, sys.path holds the folders of the standard library alone.
    """
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    tree = os.getcwd()
    word, script = disguise(tree, source, key)
    with open(script, "w", encoding="utf-8") as file:
        file.write(source)
    channel, places = Channel(tag, key), Places(tree, script)
    move(tree, source)
    watch, library = Watch(channel, places), Library(source, places, (Channel, Watch, Audit, Own))
    # Tracebacks and warnings show no line of the script, which says what it expects.
    sys.modules["linecache"].cache[script] = (0, None, ["\n"] * (source.count("\n") + 1), script)
    module = types.ModuleType(word)
    module.__file__, module.__builtins__ = script, builtins
    if not script.endswith(".py"):
        module.__spec__ = type(sys.__spec__)(word, None)
    sys.modules["__main__"] = sys.modules[word] = module
    sys.argv[:] = [script]
    sys.path[:] = [os.path.dirname(script)] + path
    how = "end"
    try:
        code = rewrite(source, script, watch.names())
        if hasattr(sys, "addaudithook"):
            sys.addaudithook(Audit(channel, places).hook)
        exec(code, module.__dict__)
        join_threads()
    except SystemExit as error:
        how = "exit" if leaves_by_itself(error.__traceback__, places) else "ended"
        watch.failed(0, 0)
        join_threads()
        raise
    except BaseException as error:
        how = "ended"
        watch.failed(0, 0)
        sys.excepthook(type(error), error, error.__traceback__.tb_next)
        sys.exit(1)
    finally:
        for name in library.replaced():
            channel.send("replaced", name)
        watch.end(how)
