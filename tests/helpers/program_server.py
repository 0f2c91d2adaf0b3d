# SPDX-License-Identifier: Apache-2.0
"""The process that helpers/programs.py forks programs from: it has torch and torchdali imported."""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import random
import select
import signal
import socket
import sys
import types
import warnings
from typing import Any

MAX_REQUEST = 1 << 20


def serve(channel: socket.socket) -> dict[str, Any] | None:
    """Forks a process per request and reports its end.

    Returns:
        The request, in the forked process; None in this process, when its parent has gone.
    """
    running: dict[int, int] = {}  # descriptor of a process -> its id
    while True:
        for ready in select.select([channel, *running], [], [])[0]:
            if ready is channel:
                data, descriptors, _, _ = socket.recv_fds(channel, MAX_REQUEST, 2)
                if not data:
                    return None
                request: dict[str, Any] = pickle.loads(data)
                for name in request["preload"]:
                    importlib.import_module(name)
                pid = os.fork()
                if pid == 0:
                    channel.close()
                    for descriptor in running:
                        os.close(descriptor)
                    for number, descriptor in enumerate(descriptors, 1):
                        os.dup2(descriptor, number)
                        os.close(descriptor)
                    return request
                for descriptor in descriptors:
                    os.close(descriptor)
                running[os.pidfd_open(pid)] = pid
                channel.send(pickle.dumps(("started", pid)))
            else:
                pid = running.pop(ready)
                os.close(ready)
                _, status = os.waitpid(pid, 0)
                channel.send(pickle.dumps((pid, os.waitstatus_to_exitcode(status))))


def become(request: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Makes this process the one that was asked for; returns its code and the globals for it."""
    if request["new_session"]:
        os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.path.remove(os.path.dirname(os.path.abspath(__file__)))  # not a folder of the program's
    sys.path[:0] = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    kind, *arguments = request["arguments"]
    module = types.ModuleType("__main__")
    if kind == "-c":
        text, name, sys.argv = arguments[0], "<string>", ["-c", *arguments[1:]]
        sys.path.insert(0, "")
    else:
        name, sys.argv = kind, [kind, *arguments]
        sys.path.insert(0, os.path.dirname(os.path.abspath(name)))
        module.__file__ = name
        with open(name) as file:
            text = file.read()
    sys.modules["__main__"] = module
    if request["warnings"]:
        warnings.simplefilter(request["warnings"])
    random.seed()
    numpy.random.seed()  # noqa: NPY002
    return compile(text, name, "exec"), vars(module)


if __name__ == "__main__":
    import numpy
    import torch  # noqa: F401

    import torchdali
    import torchdali.plugin.pytorch  # noqa: F401

    gc.collect()
    gc.freeze()
    made = serve(socket.socket(fileno=int(sys.argv[1])))
    if made is not None:
        # Runs at the top level, so that the interpreter ends as it does after any program.
        code, namespace = become(made)
        exec(code, namespace)
