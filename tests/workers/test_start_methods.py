# SPDX-License-Identifier: Apache-2.0
"""Start methods of worker processes: where sources may be defined, what workers inherit."""

from __future__ import annotations

import collections
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.parts import worker_pids
from helpers.processes import kill

from torchdali import fn, pickling, pipeline_def
from torchdali._workers import server
from torchdali.errors import ArgumentTypeError, PipelineError

pytestmark = pytest.mark.slow

FRESH = ("forkserver", "spawn")
ROOT = Path(__file__).resolve().parents[2]

# Workers cannot import definitions of __main__.
MAIN = """
import abc, collections, dataclasses, enum, functools, sys, threading, typing
import numpy as np
import torch
from torchdali import fn, pipeline_def

class Kind(enum.IntEnum):
    A = 3
    B = 4

    def twice(self):
        return self * 2

class Color(enum.Enum):
    RED = "red"
    SCARLET = "red"

    @property
    def size(self):
        return len(self.value)

class Side(enum.Flag):
    LEFT = enum.auto()
    RIGHT = enum.auto()

@dataclasses.dataclass
class Config:
    size: int = 2
    names: list = dataclasses.field(default_factory=lambda: ["a"])

class Point(typing.NamedTuple):
    x: int
    y: int = 5

Pair = collections.namedtuple("Pair", "a b")

class Base(abc.ABC):
    @abc.abstractmethod
    def get(self, index): ...

class Impl(Base):
    def __init__(self):
        super().__init__()
        self.config = Config()

    def get(self, index):
        return np.full(self.config.size, index + Kind.A.twice() + Point(1).y + Pair(1, 2).b)

@functools.lru_cache(maxsize=8)
def cached(index):
    return index

implementation = Impl()

def source(info):
    assert "torch" not in sys.modules
    assert threading.active_count() == 1
    assert Color("red") is Color.RED is Color.SCARLET and Color.RED.size == 3
    assert Kind(4) is Kind.B and (Side.LEFT | Side.RIGHT).value == 3
    assert dataclasses.asdict(Config()) == {"size": 2, "names": ["a"]}
    return implementation.get(cached(info.idx_in_epoch))

@pipeline_def(batch_size=4, num_threads=1, py_num_workers=2)
def define():
    return fn.external_source(source, parallel=True, batch=False)

pipe = define()
print(pipe.py_start_method, pipe.run()[0].as_array()[:, 0].tolist(), flush=True)
"""
EXPECTED = "forkserver [13, 14, 15, 16]"


@pytest.mark.parametrize("where", ["file", "-c", "stdin", "interactive", "cell"])
def test_a_source_may_be_defined_anywhere(where, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(MAIN)
    command, given = [sys.executable], None
    if where == "file":
        command.append(str(script))
    elif where == "-c":
        command += ["-c", MAIN]
    elif where == "stdin":
        command, given = [*command, "-"], MAIN
    elif where == "interactive":
        given = f"exec(compile(open({str(script)!r}).read(), '<stdin>', 'exec'))\n"
        command.append("-i")
    else:  # as a notebook runs it
        command += [
            "-c",
            f"exec(compile(open({str(script)!r}).read(), '<ipython-input-1>', 'exec'), globals())",
        ]
    done = subprocess.run(
        command,
        input=given,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert EXPECTED in done.stdout, done.stderr


def build(source, method="forkserver", **options):
    @pipeline_def(batch_size=2, num_threads=1, py_num_workers=2, py_start_method=method, **options)
    def define():
        return fn.external_source(source, parallel=True, batch=False)

    return define()


class Holder:
    def __init__(self, held):
        self.held = held

    def __call__(self, info):
        return np.zeros(1)


def closure(held):
    return lambda info: np.zeros(1) if held else None


def default(held):
    def source(info=held):
        return np.zeros(1)

    return source


@pytest.mark.parametrize("method", FRESH)
@pytest.mark.parametrize(
    ("make", "text"),
    [
        (Holder, r"attribute `held` of `Holder` \(lock\)"),
        (closure, r"variable `held` in `closure.<locals>.<lambda>` \(lock\)"),
        (default, r"a default of `default.<locals>.source` \(lock\)"),
        (lambda held: Holder({"a": [held]}), r"\['a'\], in the attribute `held` of `Holder`"),
        (lambda held: Holder(closure(held)).__call__, "variable `held`.*attribute `held`"),
    ],
    ids=["attribute", "closure", "default", "container", "method"],
)
def test_sources_that_cannot_be_pickled_are_errors_that_name_the_culprit(method, make, text):
    pipe = build(make(threading.Lock()), method)
    with pytest.raises(ArgumentTypeError, match=text) as caught:
        pipe.build()
    assert 'py_start_method="fork"' in str(caught.value)
    pipe = build(make(threading.Lock()), "fork")
    assert len(pipe.run()[0]) == 2


def test_the_culprit_may_be_a_global():
    namespace = {"lock": threading.Lock(), "np": np}
    exec("def source(info): return np.zeros(1) if lock else 0", namespace)
    assert pickling.find_culprit([namespace["source"]]) == ("the global `lock` in `source` (lock)")
    assert pickling.find_culprit([build, 1, {"a": np.zeros(2)}]) == ""
    ring = [threading.Lock()]
    ring.insert(0, ring)
    assert pickling.find_culprit(ring) == ""


@pytest.mark.parametrize("method", FRESH)
def test_workers_inherit_nothing_from_the_process(method, tmp_path, monkeypatch):
    """No thread, no descriptor, no module state, no torch, and so nothing of CUDA."""
    (tmp_path / "a_module_of_theirs.py").write_text("MARK = False\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("TORCHDALI_TEST", "now")
    import a_module_of_theirs

    a_module_of_theirs.MARK = True
    device = os.open("/dev/zero", os.O_RDONLY)  # instead of one of a GPU
    os.set_inheritable(device, True)
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    forks = []
    os.register_at_fork(before=lambda: forks.append(method))

    @pickling.pickle_by_value
    def source(info):
        import sys
        import threading

        import a_module_of_theirs

        links = []
        for fd in os.listdir("/proc/self/fd"):
            try:
                links.append(os.readlink(f"/proc/self/fd/{fd}"))
            except FileNotFoundError:
                continue
        return np.array(
            [
                a_module_of_theirs.MARK,
                "torch" in sys.modules,
                "/dev/zero" in links,
                any("libtorch" in line for line in open("/proc/self/maps")),
                threading.active_count() != 1,
                os.environ.get("TORCHDALI_TEST") != "now",
            ]
        )

    try:
        pipe = build(source, method)
        assert pipe.run()[0].as_array().tolist() == [[False] * 6] * 2
        assert not forks, "the process itself was forked"
        pipe.close()
    finally:
        stop.set()
        thread.join()
        os.close(device)


def test_fork_after_cuda_is_an_error_and_other_methods_work(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    with pytest.raises(PipelineError, match="uses CUDA") as caught:
        build(lambda info: np.zeros(1), "fork").build()
    assert 'py_start_method="forkserver"' in str(caught.value)
    for method in FRESH:
        assert len(build(lambda info: np.zeros(1), method).run()[0]) == 2


def test_workers_forked_before_cuda_are_not_replaced_after_it(monkeypatch):
    pipe = build(lambda info: np.zeros(1), "fork")
    pipe.run()
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    kill(*worker_pids(pipe))
    texts = []
    for _ in range(8):
        try:
            pipe.run()
        except PipelineError as error:
            texts.append(str(error))
    assert "ended by SIGKILL" in texts[0]
    assert all("uses CUDA" in text for text in texts[1:])
    monkeypatch.undo()
    assert len(pipe.run()[0]) == 2


def fail(pipe):
    """Runs until the pipeline notices the loss of a worker."""
    with pytest.raises(PipelineError, match="worker process"):
        collections.deque((pipe.run() for _ in range(10_000)), maxlen=0)


def test_the_fork_server_is_reused_and_replaced_if_it_dies():
    pipe = build(lambda info: np.zeros(1))
    pipe.run()
    first = server.start_server()
    other = build(lambda info: np.ones(1))
    other.run()
    assert server.start_server() is first
    kill(first.pid)
    fail(pipe)  # workers go with it
    assert pipe.run()[0].as_array().sum() == 0
    assert server.start_server() is not first
    fail(other)
    assert other.run()[0].as_array().sum() == 2


def test_a_forked_child_has_its_own_server():
    build(lambda info: np.zeros(1)).run()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            pipe = build(lambda info: np.full(1, 7))
            code = 0 if pipe.run()[0].as_array().sum() == 14 else 2
            pipe.close()
            server.end()
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    assert len(build(lambda info: np.zeros(1)).run()[0]) == 2


def test_the_output_of_a_worker_goes_to_that_of_the_process(capfd):
    @pickling.pickle_by_value
    def source(info):
        print("said by a worker", flush=True)
        return np.zeros(1)

    pipe = build(source)
    pipe.run()
    pipe.close()
    assert "said by a worker" in capfd.readouterr().out
