# SPDX-License-Identifier: Apache-2.0
"""num_threads="auto" and prefetch_queue_depth="auto": results, states, statistics, errors."""

import itertools
import random
import threading

import numpy as np
import pytest
import torch

from torchdali import DataLoader, Pipeline, PipelineLoader, errors, fn, pipeline_def, types
from torchdali._common import cpus
from torchdali.pipeline import _tuning
from torchdali.pipeline._autotune import Choice, Controller
from torchdali.plugin.pytorch import DALIGenericIterator

pytestmark = pytest.mark.usefixtures("keep_random_state")  # loaders draw seeds

AUTO = {"num_threads": "auto", "prefetch_queue_depth": "auto"}
FIXED = {"num_threads": 1, "prefetch_queue_depth": 1}


@pytest.fixture
def restless(monkeypatch):
    """Has the controller choose anything after each batch, on a machine of 3 CPUs."""
    draw, made = random.Random(5), []

    def step(self, window):
        assert window.batches == 1
        assert min(vars(window).values()) >= 0
        most = self.bounds
        self.choice = Choice(
            draw.randint(1, most.threads) if most.tunes_threads else most.threads,
            draw.randint(1, 5) if most.tunes_depth else most.depth,
            draw.randint(1, 4),
        )
        made.append(self.choice)
        return self.choice

    monkeypatch.setattr(cpus, "_limit", [3])
    monkeypatch.setattr(cpus.Granted, "count", 3)
    monkeypatch.setattr(Controller, "step", step)
    for name, value in {"_BATCHES": 1, "_FEW": 1, "_NS": 0}.items():
        monkeypatch.setattr(_tuning, name, value)
    return made


@pytest.fixture
def files(tmp_path):
    for i in range(23):
        (tmp_path / f"{i:02}.bin").write_bytes(bytes([i]) * (10 + 3 * i))
    return str(tmp_path)


@pipeline_def(batch_size=4, device_id=None, seed=11, enable_checkpointing=True)
def bytes_and_noise(root):
    data, _ = fn.readers.file(file_root=root, files=[f"{i:02}.bin" for i in range(23)], name="r")
    data = fn.pad(data, axes=[0], shape=[80])
    return data + fn.cast(fn.random.uniform(data, range=[0, 100]), dtype=types.UINT8)


def numbers(batches):
    return [np.stack([np.asarray(sample) for sample in batch]) for batch, *_ in batches]


def equal(found, expected):
    return len(found) == len(expected) and all(map(np.array_equal, found, expected))


def test_run_returns_the_same_whatever_is_chosen(files, restless):
    expected = bytes_and_noise(files, **FIXED)
    pipe = bytes_and_noise(files, **AUTO)
    assert equal(numbers(pipe.run() for _ in range(40)), numbers(expected.run() for _ in range(40)))
    assert len(set(restless)) > 20


def test_scheduled_runs_return_the_same(files, restless):
    def scheduled(pipe):
        for _ in range(40):
            pipe.schedule_run()
            yield pipe.share_outputs()
            pipe.release_outputs()

    expected = numbers(scheduled(bytes_and_noise(files, **FIXED)))
    assert equal(numbers(scheduled(bytes_and_noise(files, **AUTO))), expected)
    assert len({choice.prefetch_queue_depth for choice in restless}) == 5


def test_a_checkpoint_does_not_depend_on_the_choice(files, restless):
    fixed, auto = (bytes_and_noise(files, **options) for options in (FIXED, AUTO))
    for _ in range(9):
        fixed.run(), auto.run()
    assert auto.checkpoint() == fixed.checkpoint()
    resumed = bytes_and_noise(files, **AUTO, checkpoint=auto.checkpoint())
    assert equal(numbers(resumed.run() for _ in range(20)), numbers(fixed.run() for _ in range(20)))
    assert restless


def test_a_source_in_python_is_asked_in_order_and_its_position_is_kept(restless):
    class Source:
        def __init__(self):
            self.next = 0

        def __next__(self):
            self.next += 1
            return [np.array([self.next, i]) for i in range(3)]

        def __iter__(self):
            return self

        def state_dict(self):
            return {"next": self.next}

        def load_state_dict(self, state):
            self.next = state["next"]

    @pipeline_def(batch_size=3, device_id=None, seed=1, enable_checkpointing=True)
    def define():
        return fn.external_source(Source()) + 0

    fixed, auto = define(**FIXED), define(**AUTO)
    for _ in range(12):
        fixed.run(), auto.run()
    resumed = define(**AUTO, checkpoint=auto.checkpoint())
    assert equal(numbers(resumed.run() for _ in range(9)), numbers(fixed.run() for _ in range(9)))
    assert restless


@pytest.mark.parametrize("num_workers", [0, 2])
def test_the_pipeline_of_a_dataloader(restless, num_workers):
    class Samples(torch.utils.data.Dataset):
        def __len__(self):
            return 50

        def __getitem__(self, index):
            return {"x": np.arange(6, dtype=np.float32) + index, "index": index}

    def augment(x, index):
        return {"x": x * fn.random.uniform(range=[1, 2]), "index": index}

    def batches(options):
        loader = DataLoader(
            Samples(), batch_size=4, num_workers=num_workers, shuffle=True, pipeline=augment,
            generator=torch.Generator().manual_seed(2), pipeline_options={"seed": 3, **options},
        )  # fmt: skip
        return [b for _ in range(2) for b in loader], loader

    (found, loader), (expected, _) = batches(AUTO), batches(FIXED)
    for one, other in zip(found, expected, strict=True):
        assert all(torch.equal(one[name], other[name]) for name in ("x", "index"))
    assert len(restless) == 24  # all but the first window of each epoch
    assert loader.stats().pipeline.chosen.options == tuple(AUTO)


def test_a_pipeline_loader_resumes_with_other_options(files, restless):
    def loader(options):
        return PipelineLoader(
            bytes_and_noise, batch_size=4, pipeline_args={"root": files, **options}, seed=9
        )

    fixed, first = loader(FIXED), loader(AUTO)
    expected = [batch for _ in range(2) for batch in fixed]
    taken = list(itertools.islice(first, 3))
    second = loader(AUTO)
    second.load_state_dict(first.state_dict())
    taken += [batch for _ in range(2) for batch in second]
    assert len(taken) == len(expected)
    assert all(map(torch.equal, taken, expected))


def test_an_iterator_of_dali(files, restless):
    def epoch(options):
        pipe = bytes_and_noise(files, **options)
        return [b[0]["x"] for b in DALIGenericIterator(pipe, ["x"], reader_name="r")]

    assert all(map(torch.equal, epoch(AUTO), epoch(FIXED)))
    assert restless


def test_parked_workers_take_no_samples(monkeypatch):
    used = set()

    def note(x):
        used.add(threading.current_thread().ident)
        return x

    monkeypatch.setattr(cpus.Granted, "count", 4)
    pipe = Pipeline(32, device_id=None, **AUTO)
    with pipe:
        pipe.set_outputs(fn.python_function(fn.random.uniform(), function=note))
    monkeypatch.setattr(Controller, "step", lambda self, window: Choice(1, 2))
    for name, value in {"_BATCHES": 1, "_FEW": 1, "_NS": 0}.items():
        monkeypatch.setattr(_tuning, name, value)
    for _ in range(6):  # until what was scheduled before is done
        pipe.run()
    before = [worker.claims for worker in pipe.stats().workers]
    for _ in range(20):
        pipe.run()
    workers = pipe.stats().workers
    assert len(workers) == 4
    assert workers[0].claims > before[0]
    assert [w.claims for w in workers[1:]] == before[1:]
    assert all(w.parked_ns > 0 for w in workers[1:])
    assert workers[0].parked_ns == 0


def test_stats_say_what_was_chosen(files):
    pipe = bytes_and_noise(files, **AUTO)
    pipe.run()
    chosen = pipe.stats().chosen
    assert chosen.options == ("num_threads", "prefetch_queue_depth")
    assert chosen.most_threads == chosen.num_threads == cpus.granted_cpus() == pipe.num_threads
    assert chosen.prefetch_queue_depth == pipe.cpu_queue_size
    assert not chosen.settled
    assert str(chosen) in str(pipe.stats()).splitlines()
    assert pipe.stats().as_dict()["chosen"]["reason"] == "nothing was measured yet"
    assert bytes_and_noise(files, **FIXED).stats().chosen is None
    one = bytes_and_noise(files, num_threads=2, prefetch_queue_depth="auto")
    assert one.stats().chosen.options == ("prefetch_queue_depth",)
    assert one.stats().chosen.most_threads == 2


def test_auto_is_serialized_as_auto(files, monkeypatch):
    document = bytes_and_noise(files, **AUTO).serialize()
    monkeypatch.setattr(cpus.Granted, "count", 5)  # of another machine
    pipe = Pipeline.deserialize(document)
    assert pipe.num_threads == 5
    assert pipe.stats().chosen.most_threads == 5


@pytest.mark.parametrize("name", ["num_threads", "prefetch_queue_depth"])
@pytest.mark.parametrize("value", ["Auto", "", "4", b"auto"])
def test_other_strings_are_refused(name, value):
    with pytest.raises(errors.ArgumentTypeError, match=f"`{name}` takes an integer"):
        Pipeline(4, device_id=None, **{"num_threads": 1, name: value})


def test_debug_mode_takes_auto(files):
    pipe = bytes_and_noise(files, **AUTO, debug=True, enable_checkpointing=False)
    expected = bytes_and_noise(files, **FIXED)
    assert equal(numbers([pipe.run()]), numbers([expected.run()]))
