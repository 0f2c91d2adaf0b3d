# SPDX-License-Identifier: Apache-2.0
"""stats(): times, samples and bytes of operators, of workers, of sources and of the consumer."""

import io
import json
import time

import numpy as np
import pytest
import torch
from PIL import Image

import torchdali
from torchdali import DataLoader, Pipeline, PipelineLoader, errors, fn, pipeline_def, types
from torchdali.pipeline._counters import difference
from torchdali.plugin.pytorch import DALIGenericIterator
from torchdali.stats import LoaderStats, PipelineStats

pytestmark = pytest.mark.usefixtures("keep_random_state")  # loaders draw seeds

MS = 10**6


def pipeline(define, batch_size=4, **options):
    pipe = Pipeline(batch_size, **{"num_threads": 2, "device_id": None, **options})
    with pipe:
        made = define()
        pipe.set_outputs(*(made if isinstance(made, tuple) else (made,)))
    return pipe


def slow(ms=4):
    """Returns a pipeline that spends a given time per sample in a Python function."""

    def nap(x):
        time.sleep(ms / 1000)
        return x

    return pipeline(lambda: fn.python_function(fn.random.uniform(), function=nap), batch_size=2)


def operator(stats, name):
    return next(o for o in stats.operators if o.operator == name)


def settled(pipe):
    """Returns the statistics when all threads are idle and prefetched batches are finished."""
    before = None
    while True:
        stats = pipe.stats()
        busy = [w.busy_ns for w in stats.workers]
        if busy == before:
            return stats
        before = busy
        time.sleep(0.02)


def test_statistics_before_the_first_run_are_empty():
    pipe = pipeline(lambda: fn.random.uniform())
    stats = pipe.stats()
    assert stats.bottleneck == "nothing was run"
    assert stats.wall_ns == stats.queue.batches == 0
    assert [o.samples for o in stats.operators] == [0]
    assert "nothing was run" in str(stats)


@pytest.mark.parametrize("threads", [1, 3])
def test_samples_and_bytes_are_counted_exactly(threads):
    pipe = pipeline(
        lambda: fn.cast(fn.random.uniform(shape=[5], name="u"), dtype=types.UINT8, name="c"),
        batch_size=7,
        num_threads=threads,
        prefetch_queue_depth=3,
    )
    for _ in range(40):
        pipe.run()
    stats = settled(pipe)
    assert stats.queue.batches == 40
    assert sum(stats.queue.ready) == 40
    # 40 batches were taken, 2 more are in the queue.
    for name, size in (("random.uniform", 20), ("cast", 5)):
        found = operator(stats, name)
        assert found.samples == 7 * 42
        assert 1 <= found.timed <= found.samples
        assert found.output_bytes == found.samples * size
        assert 0 < found.max_ns <= found.total_ns
        assert found.mean_ns == found.total_ns / found.samples
        assert found.batches == 0
        assert found.device == "cpu"
        assert found.location.startswith("tests/pipeline/test_stats.py:")
    assert [o.name for o in stats.operators] == ["u", "c"]


def test_the_times_of_a_worker_add_up_to_wall_time():
    pipe = slow()
    for _ in range(10):
        pipe.run()
    time.sleep(0.05)
    stats = settled(pipe)
    assert [w.name for w in stats.workers] == ["torchdali-0", "torchdali-1"]
    for worker in stats.workers:
        parts = worker.busy_ns, worker.idle_ns, worker.waiting_ns, worker.overhead_ns
        assert sum(parts) == worker.wall_ns
        assert all(part >= 0 for part in parts)
        # The rest is the work of the scheduler, on any machine.
        assert worker.overhead_ns < worker.wall_ns / 5
    # The function runs on one worker at a time. The other one waits, or both are idle.
    busy = sum(w.busy_ns for w in stats.workers)
    total = sum(o.total_ns for o in stats.operators)
    assert 10 * 2 * 4 * MS <= total <= 1.1 * busy
    assert sum(w.waiting_ns for w in stats.workers) > busy / 4
    assert sum(w.idle_ns for w in stats.workers) > 2 * 30 * MS


def test_a_slow_pipeline_is_the_bottleneck():
    pipe = slow(20)
    for _ in range(6):
        pipe.run()
    stats = pipe.stats()
    # Each time, unless the machine is so busy that a batch is finished before the request.
    waits = stats.queue.waits
    assert 3 <= waits <= 6
    assert stats.queue.ready[0] == waits
    assert sum(stats.queue.ready) == 6
    assert 3 * 40 * MS / 2 < stats.queue.wait_ns <= stats.wall_ns
    assert stats.queue.wait_ns / waits <= stats.queue.max_wait_ns <= stats.queue.wait_ns
    assert stats.wait_share > 0.5
    assert stats.slowest().operator == "python_function"
    assert stats.bottleneck.startswith("the training loop waits for the pipeline: ")
    assert "most of it in python_function (tests/pipeline/test_stats.py:" in stats.bottleneck
    assert stats.bottleneck in str(stats)


def test_a_slow_consumer_is_the_bottleneck():
    pipe = pipeline(lambda: fn.random.uniform())
    pipe.run()
    time.sleep(0.05)
    pipe.stats(reset=True)
    for _ in range(5):
        pipe.run()
        time.sleep(0.05)
    stats = pipe.stats()
    assert stats.queue.batches == 5
    assert sum(stats.queue.ready[1:]) >= 4  # one or more were ready
    assert stats.wait_share < 0.5
    assert stats.bottleneck.startswith("the pipeline waits for its consumer")
    assert sum(w.idle_ns for w in stats.workers) > 0.5 * sum(w.wall_ns for w in stats.workers)


def test_reset_clears_the_statistics():
    pipe = slow()
    for _ in range(3):
        pipe.run()
    time.sleep(0.5)  # these must not be in the statistics after the reset
    first = pipe.stats(reset=True)
    assert first.queue.batches == 3
    time.sleep(0.06)
    none = pipe.stats()
    assert none.queue.batches == none.queue.max_wait_ns == 0
    assert none.queue.ready == ()
    assert none.wall_ns >= 60 * MS
    pipe.run()
    again = pipe.stats()
    assert again.queue.batches == 1
    assert operator(again, "python_function").samples <= 4
    for worker in again.workers:
        assert abs(worker.wall_ns - again.wall_ns) < 400 * MS


def test_a_fused_operator_lists_its_parts():
    file = io.BytesIO()
    Image.fromarray(np.zeros((16, 16, 3), np.uint8)).save(file, "JPEG")
    jpeg = np.frombuffer(file.getvalue(), np.uint8)
    pipe = pipeline(
        lambda: fn.random_resized_crop(
            fn.decoders.image(fn.external_source(lambda: [jpeg] * 4), name="decoder"),
            size=[8, 8],
            name="crop",
        )
    )
    pipe.run()
    stats = pipe.stats()
    fused = operator(stats, "decoders.image + random_resized_crop")
    assert [(p.operator, p.name) for p in fused.parts] == [
        ("decoders.image", "decoder"),
        ("random_resized_crop", "crop"),
    ]
    assert all(p.location.startswith("tests/pipeline/test_stats.py:") for p in fused.parts)
    assert fused.samples >= 4


def test_callbacks_of_external_sources_are_timed():
    def source():
        time.sleep(0.005)
        return np.zeros((4, 3), np.float32)

    pipe = pipeline(lambda: fn.copy(fn.external_source(source, name="mine")))
    for _ in range(4):
        pipe.run()
    stats = pipe.stats()
    (found,) = stats.sources
    assert (found.kind, found.name) == ("callback", "mine")
    assert found.location.startswith("tests/pipeline/test_stats.py:")
    assert found.batches == 5
    assert 5 * 5 * MS <= found.total_ns <= stats.wall_ns + 10 * MS
    assert 5 * MS <= found.max_ns <= found.total_ns
    assert "in the callback of `mine`" in stats.bottleneck
    pipe.stats(reset=True)
    assert pipe.stats().sources[0].batches == 0


def test_readers_and_batch_work_are_timed(tmp_path):
    for i in range(3):
        (tmp_path / f"{i}.jpg").write_bytes(bytes(10))
    files = [str(p) for p in sorted(tmp_path.iterdir())]

    def define():
        data, _ = fn.readers.file(files=files, name="R")
        return fn.python_function(data, function=lambda x: x, name="F")

    pipe = pipeline(define)
    pipe.run()
    stats = settled(pipe)
    (reader,) = stats.sources
    assert (reader.kind, reader.name) == ("reader", "R")
    assert reader.batches == 2
    assert reader.total_ns > 0
    function = operator(stats, "python_function")
    assert function.batches == 2
    assert 0 < function.batch_ns <= function.total_ns
    assert function.max_batch_ns <= function.batch_ns
    assert operator(stats, "readers.file").output_bytes == 8 * (10 + 4)


def test_samples_that_are_skipped_or_fail_are_not_counted_later():
    @pipeline_def(batch_size=4, num_threads=1, device_id=None, enable_conditionals=True)
    def define():
        x = fn.external_source(lambda: np.array([0, 1, 0, 1], np.float32), name="x")
        return fn.copy(x + 1.0) if x > 0.5 else x * 2.0

    pipe = define(prefetch_queue_depth=1)
    pipe.run()
    assert operator(pipe.stats(), "copy").samples == 2

    def fail(x):
        if x == 2:
            raise ValueError("no")
        return x

    failing = pipeline(
        lambda: fn.copy(
            fn.python_function(
                fn.external_source(lambda: np.arange(4, dtype=np.float32)),
                function=fail,
                workers="threads",
            )
        ),
        num_threads=1,
        prefetch_queue_depth=1,
    )
    with pytest.raises(errors.TorchdaliError):
        failing.run()
    stats = failing.stats()
    assert operator(stats, "python_function").samples == 3
    assert operator(stats, "copy").samples == 2


def test_as_dict_is_plain_data():
    pipe = slow()
    pipe.run()
    stats = pipe.stats()
    plain = json.loads(json.dumps(stats.as_dict()))
    assert plain["queue"]["waits"] == stats.queue.waits
    assert plain["operators"][0]["operator"] == stats.operators[0].operator
    assert plain["workers"][1]["name"] == "torchdali-1"


def test_differences_keep_maxima():
    now = {"max_ns": 7, "now_ns": 9, "list": [{"n": 5, "self": ("a", "b", "c"), "gpu": True}]}
    before = {"max_ns": 9, "now_ns": 4, "list": [{"n": 3, "self": ("a", "b", "c"), "gpu": True}]}
    assert difference(now, before) == {
        "max_ns": 7,
        "now_ns": 9,
        "list": [{"n": 2, "self": ("a", "b", "c"), "gpu": True}],
    }


def test_closed_pipelines_and_debug_mode_have_no_statistics():
    pipe = pipeline(lambda: fn.random.uniform())
    pipe.run()
    pipe.close()
    with pytest.raises(errors.PipelineError, match="closed"):
        pipe.stats()

    @pipeline_def(batch_size=2, num_threads=1, device_id=None, debug=True)
    def debugged():
        return fn.random.uniform()

    with pytest.raises(errors.UnsupportedError, match="debug mode"):
        debugged().stats()


# -- loaders


@pipeline_def(num_threads=1, device_id=None)
def uniform():
    return fn.random.uniform(shape=[3])


def test_pipeline_loader_and_dali_iterator_return_the_statistics():
    loader = PipelineLoader(uniform, batch_size=4, size=12)
    assert loader.stats().queue.batches == 0
    list(loader)
    stats = loader.stats()
    assert isinstance(stats, PipelineStats)
    assert stats.queue.batches == 3
    several = PipelineLoader([uniform, uniform], batch_size=4, size=16)
    list(several)
    assert [s.queue.batches for s in several.stats(reset=True)] == [2, 2]
    assert [s.queue.batches for s in several.stats()] == [0, 0]
    iterator = DALIGenericIterator([uniform(batch_size=4)], ["x"], size=12)
    list(iterator)
    assert [s.queue.batches for s in iterator.stats()] == [3]


@pytest.mark.parametrize("workers", [0, 1])
def test_data_loader_measures_the_waits_of_its_loop(workers):
    class Slow(torch.utils.data.Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, index):
            time.sleep(0.01)
            return torch.zeros(3)

    generator = torch.Generator()
    loader = DataLoader(Slow(), 2, num_workers=workers, workers="threads", generator=generator)
    assert loader.stats().bottleneck == "nothing was loaded"
    assert len(list(loader)) == 3
    stats = loader.stats(reset=True)
    assert isinstance(stats, LoaderStats)
    assert stats.batches == 3
    assert 30 * MS < stats.wait_ns <= stats.wall_ns
    assert stats.workers == ("threads" if workers else "")
    assert stats.pipeline is None
    assert stats.bottleneck.startswith("the training loop waits for ")
    assert ("not known" in str(stats)) == bool(workers)
    assert loader.stats().batches == 0


def test_data_loader_with_a_pipeline_has_the_figures_of_both():
    data = [np.full(4, i, np.float32) for i in range(8)]
    loader = DataLoader(data, 2, pipeline=fn.copy, generator=torch.Generator())
    assert loader.stats().pipeline is None
    assert len(list(loader)) == 4
    stats = loader.stats()
    assert stats.batches == 4
    assert stats.pipeline.queue.batches == 4
    assert operator(stats.pipeline, "copy").samples == 8
    assert "the engine:" in str(stats)


def test_the_names_are_public():
    assert torchdali.stats.PipelineStats is PipelineStats
