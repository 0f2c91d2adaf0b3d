# SPDX-License-Identifier: Apache-2.0
"""PipelineLoader: arguments and pipelines that do not go together are errors."""

from __future__ import annotations

import pytest

from tests.loader.pipeline.numbered_files import counted, numbers, write_numbers
from torchdali import PipelineLoader, fn, pipeline_def
from torchdali.errors import ArgumentError, ArgumentTypeError

SIZE = 12


@pytest.fixture(scope="module")
def roots(tmp_path_factory):
    """Two data sets; the second is smaller."""
    folder = tmp_path_factory.mktemp("data")
    return [write_numbers(folder / str(size), size) for size in (SIZE, SIZE - 4)]


@pipeline_def(batch_size=4, num_threads=1)
def two_readers(roots):
    lists = [str(root / "list.txt") for root in roots]
    return tuple(fn.readers.file(file_list=path)[1] for path in lists)


def sharded(root, shard_id):
    return numbers(root, {"shard_id": shard_id, "num_shards": 2})


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"on_error": "ignore"}, ArgumentError, "`on_error` is 'ignore', expected one of"),
        ({"max_errors": -1}, ArgumentError, "`max_errors` is -1, expected 0 or more"),
        ({"max_errors": "3"}, ArgumentTypeError, "`max_errors` is '3', expected an integer"),
        ({"size": 0}, ArgumentError, "`size` is 0, expected 1 or more"),
        ({"batch_size": True}, ArgumentTypeError, "`batch_size` is True, expected an integer"),
        ({"pipeline_args": {"a": 1}}, ArgumentError, "`pipeline_args` are for functions, not for"),
    ],
)
def test_a_wrong_argument_is_an_error_of_the_constructor(options, error, text):
    with pytest.raises(error, match=text):
        PipelineLoader(counted(SIZE), **options)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"shuffle": True}, "(?s)`shuffle` is True, but .* no reader.*in the external source"),
        ({"drop_last": True}, "(?s)`drop_last` has no effect: .*pass `size`"),
        ({"pad_last": True}, "`pad_last` has no effect"),
        ({"shards": "exact"}, "`shards` has no effect"),
    ],
)
def test_an_argument_without_effect_is_an_error_of_the_first_epoch(options, text):
    loader = PipelineLoader(counted(SIZE), **options)
    with pytest.raises(ArgumentError, match=text):
        iter(loader)


@pytest.mark.parametrize(
    ("make", "options", "text"),
    [
        (
            lambda roots: [numbers(roots[0]), numbers(roots[0], batch_size=3)],
            {},
            r"differ in batch size: \[4, 3\]",
        ),
        (lambda roots: [numbers(root) for root in roots], {}, "do not read the same data set"),
        (lambda roots: [numbers(roots[0]), counted(SIZE)], {}, "do not read the same data set"),
        (
            lambda roots: two_readers(roots),
            {},
            "(?s)readers of the pipeline differ in size: .*`reader`",
        ),
        (lambda roots: [sharded(roots[0], 1), sharded(roots[0], 1)], {}, "read the same shard"),
        (
            lambda roots: sharded(roots[0], 1),
            {"rank": 0, "world_size": 2},
            "(?s)`shard_id` 1 and `num_shards` 2, but this is shard 0 of 2.*leave out both",
        ),
    ],
)
def test_pipelines_that_contradict_each_other_are_an_error(roots, make, options, text):
    loader = PipelineLoader(make(roots), **options)
    with pytest.raises(ArgumentError, match=text):
        iter(loader)


def test_the_reader_of_the_epoch_can_be_named(roots):
    names = list(two_readers(roots).reader_meta())
    sizes = [len(PipelineLoader(two_readers(roots), reader=name)) for name in names]
    assert sizes == [3, 2]
