# SPDX-License-Identifier: Apache-2.0
"""plugin.pytorch.experimental.proxy. DALI 1.35 has none, so the oracle is the pipeline itself."""

from __future__ import annotations

import gc
import inspect
import os
import pickle
import threading
from pathlib import Path

import numpy as np
import proxy_datasets as data
import pytest
import torch
from torch.utils.data import DataLoader as TorchLoader

import torchdali
from torchdali import fn, pipeline_def, types
from torchdali.errors import ArgumentError, ArgumentTypeError, FileError, PipelineError
from torchdali.plugin.pytorch.experimental import proxy

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("keep_random_state"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
]


@pipeline_def(batch_size=4, num_threads=2)
def resized():
    return fn.resize(fn.external_source(name="image", layout="HWC"), size=[4, 6])


@pipeline_def(batch_size=4, num_threads=2)
def two_of_two():
    a, b = fn.external_source(name="a"), fn.external_source(name="b")
    return fn.cast(a, dtype=types.FLOAT) + b, b * 2


@pipeline_def(batch_size=4, num_threads=2, seed=5)
def noisy():
    return fn.cast(fn.external_source(name="image"), dtype=types.FLOAT) * fn.random.uniform()


@pipeline_def(batch_size=4, num_threads=2)
def checked():
    return fn.python_function(fn.external_source(name="image"), function=refuse_seven)


@pipeline_def(batch_size=4, num_threads=2)
def unchanged():
    return fn.external_source(name="value")


def refuse_seven(array):
    if array.max() == 7:
        raise ValueError("no sevens")
    return array + 1


def expected(size=4):
    """Returns the batches that the pipeline makes by itself."""
    pipe = resized()
    batches = []
    for start in range(0, data.COUNT, size):
        numbers = range(start, min(start + size, data.COUNT))
        (made,) = pipe.run(image=[data.image(i) for i in numbers])
        batches.append((made.as_torch(), list(numbers)))
    return batches


def loader_of(kind, server, dataset, **options):
    """Returns a loader, and what makes data of its batches."""
    if kind == "proxy":
        return proxy.DataLoader(server, dataset, **options), lambda batch: batch
    cls = {"torch": TorchLoader, "ours": torchdali.DataLoader}[kind]
    return cls(dataset, **options), server.produce_data


WORKERS = {
    "none": {},
    "processes": {"num_workers": 2},
    "persistent": {"num_workers": 2, "persistent_workers": True},
    "spawn": {"num_workers": 1, "multiprocessing_context": "spawn"},
    "threads": {"num_workers": 2, "workers": "threads"},
}


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("kind", ["torch", "ours", "proxy"])
def test_every_loader_returns_the_batches_of_the_pipeline(kind, workers, deterministic):
    if kind == "torch" and workers == "threads":
        pytest.skip("ours alone")
    with proxy.DALIServer(resized(), deterministic) as server:
        dataset = data.Images(server.proxy)
        loader, produce = loader_of(kind, server, dataset, batch_size=4, **WORKERS[workers])
        for _ in range(2):
            found = [produce(batch) for batch in loader]
            for (images, labels), (same, numbers) in zip(found, expected(), strict=True):
                assert torch.equal(images, same)
                assert labels.tolist() == numbers


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize("num_workers", [0, 2])
def test_inputs_and_outputs_are_in_the_order_of_the_definition(by_name, num_workers):
    server = proxy.DALIServer(two_of_two())
    dataset = data.Pairs(server.proxy, by_name)
    runs = 0
    for batch in proxy.DataLoader(server, dataset, batch_size=4, num_workers=num_workers):
        index = batch["index"].float()
        assert torch.equal(batch["sum"][:, 0], 11 * index)
        assert torch.equal(batch["more"]["twice"][:, 0], 20 * index)
        runs += 1
    server.stop_thread()
    assert runs == 3


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_sample_may_have_several_calls(num_workers):
    with proxy.DALIServer(resized()) as server:
        dataset = data.Views(server.proxy)
        loader = proxy.DataLoader(server, dataset, batch_size=4, num_workers=num_workers)
        for number, (one, other) in enumerate(loader):
            first = torch.arange(len(one)) + 4 * number
            assert torch.equal(one[:, 0, 0, 0], first.byte())
            assert torch.equal(other[:, 0, 0, 0], (first + 100).byte())


@pytest.mark.parametrize("num_workers", [0, 2])
def test_collate_functions_may_call_the_proxy_or_keep_samples(num_workers):
    with proxy.DALIServer(resized()) as server:
        options = {"batch_size": 4, "num_workers": num_workers}
        collate = data.Collates(server.proxy)
        loader = proxy.DataLoader(server, data.Plain(None), collate_fn=collate, **options)
        for (images, labels), (same, numbers) in zip(loader, expected(), strict=True):
            assert torch.equal(images, same)
            assert labels.tolist() == numbers
        # More samples than the pipeline takes are run as several batches.
        options["batch_size"] = 6
        dataset = data.Images(server.proxy)
        loader = proxy.DataLoader(server, dataset, collate_fn=data.as_list, **options)
        samples = [sample for batch in loader for sample in batch]
        whole = torch.cat([images for images, _ in expected()])
        assert all(
            torch.equal(sample[0], same) for sample, same in zip(samples, whole, strict=True)
        )
        options["batch_size"] = None
        loader = proxy.DataLoader(server, dataset, **options)
        assert all(torch.equal(sample[0], same) for sample, same in zip(loader, whole, strict=True))


def test_streams_work():
    with proxy.DALIServer(resized()) as server:
        loader = proxy.DataLoader(server, data.Stream(server.proxy), batch_size=2, num_workers=2)
        found = sorted((int(i), im[0, 0, 0]) for ims, ids in loader for im, i in zip(ims, ids))  # noqa: B905
        assert [(i, int(value)) for i, value in found] == [(i, i) for i in range(data.COUNT)]


@pytest.mark.parametrize("num_workers", [0, 1])
def test_values_of_all_kinds_arrive(tmp_path, num_workers):
    (tmp_path / "file").write_bytes(b"abc")
    values = [
        (b"abc", torch.tensor([97, 98, 99], dtype=torch.uint8)),
        (tmp_path / "file", torch.tensor([97, 98, 99], dtype=torch.uint8)),
        (7, torch.tensor(7)),
        (2.5, None),
        (np.arange(6).reshape(2, 3)[:, ::-1], torch.tensor([[2, 1, 0], [5, 4, 3]])),
        (np.zeros((0, 3), np.float32), torch.zeros(0, 3)),
        (np.uint16([1, 65535]), torch.tensor([1, 65535], dtype=torch.uint16)),
        (torch.ones(2, 3).T, torch.ones(3, 2)),
        (torch.tensor([True, False]), torch.tensor([True, False])),
    ]
    for value, same in values:
        with proxy.DALIServer(unchanged()) as server:
            dataset = data.Values(server.proxy, value)
            loader = proxy.DataLoader(server, dataset, batch_size=4, num_workers=num_workers)
            (made,) = loader
        if same is None:
            assert made.tolist() == [value] * 4
        else:
            assert made.dtype == same.dtype
            assert torch.equal(made, torch.stack([same] * 4))


def test_wrong_inputs_are_errors_where_they_are_passed():
    server = proxy.DALIServer(two_of_two())
    call = pickle.loads(pickle.dumps(server.proxy))
    for args, named in (((1,), {}), ((), {"a": 1}), ((1,), {"b": 1}), ((1, 2, 3), {})):
        with pytest.raises(ArgumentTypeError, match=r"external sources of the pipeline.*'a', 'b'"):
            call(*args, **named)
    with pytest.raises(ArgumentTypeError, match="`b` is a str"):
        call(1, "text")
    with pytest.raises(FileError, match="cannot be read"):
        call(1, Path("/no/such/file"))


def test_what_stands_for_data_says_so():
    server = proxy.DALIServer(resized(), deterministic=True)
    loader = TorchLoader(data.Images(server.proxy), batch_size=4)
    images, _ = next(iter(loader))
    for use in (np.asarray, len, iter, lambda v: v[0]):
        with pytest.raises(ArgumentTypeError, match="produce_data"):
            use(images)
    assert images.to(torch.float32).dtype == torch.float32
    assert server.produce_data(torch.ones(2)).tolist() == [1, 1]
    server.stop_thread()


@pytest.mark.parametrize("kind", ["torch", "proxy"])
@pytest.mark.parametrize("num_workers", [0, 2])
def test_an_error_of_the_pipeline_is_that_of_its_batch(kind, num_workers):
    with proxy.DALIServer(checked()) as server:
        dataset = data.Images(server.proxy)
        options = {"batch_size": 2, "num_workers": num_workers}
        loader, produce = loader_of(kind, server, dataset, **options)
        iterator, seen = iter(loader), []
        for number in range(6):
            if number == 3:
                with pytest.raises(PipelineError, match=r"(?s)no sevens.*sample 1 of 2"):
                    produce(next(iterator))
                continue
            seen += [int(image.max()) for image in produce(next(iterator))[0]]
        assert next(iterator, None) is None
        assert seen == [i + 1 for i in range(data.COUNT) if i not in (6, 7)]


def test_a_batch_that_is_too_large_is_an_error():
    with proxy.DALIServer(resized()) as server:
        loader = proxy.DataLoader(server, data.Images(server.proxy), batch_size=5)
        with pytest.raises(ArgumentError, match=r"5 samples.*is 4"):
            next(iter(loader))


@pytest.mark.parametrize("kind", ["torch", "proxy"])
def test_a_worker_that_dies_is_an_error_and_the_server_goes_on(kind):
    with proxy.DALIServer(resized()) as server:
        options = {"batch_size": 2, "num_workers": 2}
        loader, produce = loader_of(kind, server, data.Dies(server.proxy), **options)
        with pytest.raises(RuntimeError, match="DataLoader worker"):
            [produce(batch) for batch in loader]
        loader, produce = loader_of(kind, server, data.Images(server.proxy), **options)
        assert sum(len(produce(batch)[0]) for batch in loader) == data.COUNT


@pytest.mark.parametrize("kind", ["torch", "ours", "proxy"])
@pytest.mark.parametrize("persistent", [False, True])
def test_loops_may_be_left(kind, persistent):
    with proxy.DALIServer(resized()) as server:
        dataset = data.Images(server.proxy)
        options = {"batch_size": 2, "num_workers": 2, "persistent_workers": persistent}
        loader, produce = loader_of(kind, server, dataset, **options)
        for _ in range(3):
            for batch in loader:
                produce(batch)
                break
        found = [produce(batch) for batch in loader]
        assert torch.equal(
            torch.cat([images for images, _ in found]), torch.cat([im for im, _ in expected()])
        )


def test_the_thread_ends_and_is_started_again():
    def running():
        return [t for t in threading.enumerate() if t.name == "torchdali proxy"]

    server = proxy.DALIServer(resized())
    loader = proxy.DataLoader(server, data.Images(server.proxy), batch_size=4)
    assert not running()
    iterator = iter(loader)
    next(iterator)
    assert running()
    for _ in range(3):
        server.stop_thread()
        assert not running()
        server.start_thread()
    server.stop_thread()
    assert len(list(iterator)) == 2  # what was asked for before is asked for again
    server.stop_thread()
    assert not running()


def test_the_thread_may_be_stopped_at_any_time():
    """Threads that ask for data get it, from one run of the pipeline at a time."""
    server = proxy.DALIServer(resized())
    loader = proxy.DataLoader(server, data.Images(server.proxy), batch_size=4)
    done = threading.Event()

    def stop():
        while not done.is_set():
            server.stop_thread()

    stopper = threading.Thread(target=stop)
    stopper.start()
    try:
        for _ in range(20):
            for (images, _labels), (same, _numbers) in zip(loader, expected(), strict=True):
                assert torch.equal(images, same)
    finally:
        done.set()
        stopper.join()
        server.stop_thread()


def test_deterministic_batches_do_not_depend_on_workers():
    def epochs(num_workers):
        with proxy.DALIServer(noisy(), deterministic=True) as server:
            dataset = data.Images(server.proxy)
            options = {"batch_size": 1, "num_workers": num_workers}
            return [
                [batch[0] for batch in proxy.DataLoader(server, dataset, **options)]
                for _ in range(2)
            ]

    first = epochs(0)
    assert not torch.equal(first[0][3], first[1][3])
    for one, other in zip(first, epochs(2), strict=True):
        assert all(map(torch.equal, one, other))


def test_a_loader_with_a_proxy_resumes_in_the_middle_of_an_epoch():
    with proxy.DALIServer(resized()) as server:

        def make():
            dataset = data.Images(server.proxy)
            return proxy.DataLoader(server, dataset, batch_size=2, num_workers=2)

        loader = make()
        iterator = iter(loader)
        next(iterator), next(iterator)
        other = make()
        other.load_state_dict(pickle.loads(pickle.dumps(loader.state_dict())))
        assert [labels.tolist() for _, labels in other] == [[4, 5], [6, 7], [8, 9], [10]]


def test_batches_of_a_server_that_is_gone_are_errors():
    server = proxy.DALIServer(resized(), deterministic=True)
    images, _ = next(iter(TorchLoader(data.Images(server.proxy), batch_size=2)))
    other = proxy.DALIServer(resized())
    server.stop_thread()
    del server
    gc.collect()
    with pytest.raises(ArgumentError, match="is gone"):
        other.produce_data(images)
    other.stop_thread()


def test_wrong_servers_are_errors():
    with pytest.raises(ArgumentTypeError, match="expected a Pipeline"):
        proxy.DALIServer(resized)

    @pipeline_def(batch_size=2, num_threads=1)
    def closed():
        return fn.random.uniform()

    with pytest.raises(ArgumentError, match="no external source"):
        proxy.DALIServer(closed())
    server = proxy.DALIServer(resized())
    with pytest.raises(ArgumentTypeError, match="expected a DALIServer"):
        proxy.DataLoader(data.Images(server.proxy), batch_size=2)
    with pytest.raises(ArgumentError, match="`pipeline`"):
        proxy.DataLoader(server, data.Images(server.proxy), pipeline=lambda image, index: image)


def test_names_and_signatures_are_those_of_dali():
    """From DALI's public manual."""
    signature = inspect.signature(proxy.DALIServer.__init__)
    assert list(signature.parameters) == ["self", "pipeline", "deterministic"]
    assert signature.parameters["deterministic"].default is False
    for name in ("produce_data", "start_thread", "stop_thread", "__enter__", "__exit__"):
        assert callable(getattr(proxy.DALIServer, name))
    assert isinstance(proxy.DALIServer.proxy, property)
    parameters = inspect.signature(proxy.DataLoader.__init__).parameters
    assert list(parameters) == ["self", "dali_server", "args", "kwargs"]
    assert issubclass(proxy.DataLoader, TorchLoader)
    assert callable(proxy.DataLoader.ensure_server_listening)


def test_a_forked_process_does_not_use_the_thread_of_its_parent():
    server = proxy.DALIServer(resized())
    server.start_thread()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            images, _ = next(iter(TorchLoader(data.Images(server.proxy), batch_size=2)))
            try:
                server.produce_data(images)
            except ArgumentError as error:
                os.write(writer, str(error)[:60].encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    assert b"not in this process" in os.read(reader, 100)
    os.close(reader)
    server.stop_thread()
