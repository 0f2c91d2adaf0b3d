# SPDX-License-Identifier: Apache-2.0
"""Iterators for PyTorch: epochs, resets, ends of the data, errors."""

import warnings

import numpy as np
import pytest
import torch
from fake_pipeline import FakePipeline, reader_pipeline
from fixed_iterators import TEN, over_reader, pipeline
from helpers.cases import for_each
from iterator_cases import case

from torchdali.plugin.pytorch import (
    DALIClassificationIterator,
    DALIGenericIterator,
    LastBatchPolicy,
)


def labels(iterator):
    return [batch[0]["label"].flatten().tolist() for batch in iterator]


def test_an_epoch_ends_with_stopiteration_until_reset():
    iterator = over_reader()
    assert labels(iterator) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 0, 1]]
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(iterator)
    iterator.reset()
    assert labels(iterator) == [[2, 3, 4, 5], [6, 7, 8, 9]]


@pytest.mark.parametrize("auto_reset", ["yes", True, "True"])
def test_auto_reset_starts_the_next_epoch(auto_reset):
    iterator = over_reader(auto_reset=auto_reset)
    assert [len(labels(iterator)) for _ in range(4)] == [3, 2, 3, 2]
    rest = list(iterator)
    assert len(rest) == 3
    assert next(iterator)[0]["label"].flatten().tolist() == [2, 3, 4, 5]


@pytest.mark.parametrize("auto_reset", ["no", False, None, "False"])
def test_a_second_loop_is_a_second_epoch_without_auto_reset(auto_reset):
    iterator = over_reader(auto_reset=auto_reset)
    assert [len(labels(iterator)) for _ in range(3)] == [3, 2, 3]


@pytest.mark.parametrize("prepare", [False, True])
def test_ordinary_use_does_not_warn(prepare):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        iterator = over_reader(prepare_first_batch=prepare)
        iterator.reset()  # nothing was taken yet
        for _ in range(3):
            assert len(labels(iterator)) in {2, 3}
            iterator.reset()
            iterator.reset()


@pytest.mark.parametrize("again", [DALIGenericIterator.reset, iter])
def test_a_reset_within_an_epoch_warns_and_the_epoch_continues(again):
    iterator = over_reader()
    next(iterator)
    with pytest.warns(RuntimeWarning, match="the epoch is not over"):
        again(iterator)
    assert [b[0]["label"][0].item() for b in iter(lambda: next(iterator, None), None)] == [4, 8]


def test_prepare_first_batch_takes_the_first_batch_early():
    asked = []

    def make():
        asked.append(1)
        return [torch.zeros(2, 1)]

    DALIGenericIterator(FakePipeline(2, make), ["x"], size=4, prepare_first_batch=False)
    assert not asked
    DALIGenericIterator(FakePipeline(2, make), ["x"], size=4)
    assert asked


def test_outputs_are_released_when_they_are_taken():
    pipe = reader_pipeline(TEN, 0)
    for _ in DALIGenericIterator(pipe, ["label"], reader_name="files"):
        assert pipe.shared == 0


@pytest.mark.parametrize("auto_reset", [False, True])
def test_without_size_an_epoch_lasts_until_the_data_ends(auto_reset):
    iterator = DALIGenericIterator(
        pipeline(torch.zeros(2, 1), batches=3), ["x"], auto_reset=auto_reset
    )
    assert iterator.size == -1
    assert [len(list(iterator)) for _ in range(3)] == [3, 3, 3]


def test_stop_iteration_repeats_until_reset():
    iterator = DALIGenericIterator(pipeline(torch.zeros(2, 1), batches=2), ["x"])
    assert [next(iterator, None) is None for _ in range(5)] == [False, False, True, True, True]
    iterator.reset()
    assert [next(iterator, None) is None for _ in range(3)] == [False, False, True]


def test_data_that_ends_before_size_ends_the_epoch():
    iterator = DALIGenericIterator(pipeline(torch.zeros(2, 1), batches=3), ["x"], size=100)
    assert [len(list(iterator)) for _ in range(2)] == [3, 3]


def test_data_of_exactly_that_size_starts_again():
    iterator = DALIGenericIterator(
        pipeline(torch.zeros(2, 1), batches=3), ["x"], size=6, auto_reset=True
    )
    assert [len(list(iterator)) for _ in range(3)] == [3, 3, 3]


def test_an_iterator_of_unknown_length_has_none():
    iterator = DALIGenericIterator(pipeline(torch.zeros(2, 1), batches=3), ["x"])
    with pytest.raises(TypeError, match="the number of batches is not known"):
        len(iterator)


def test_next_is_also_a_method():
    assert over_reader().next()[0]["label"].flatten().tolist() == [0, 1, 2, 3]


def failing(batches_that_fail, batch_size=2):
    made = [0]

    def make():
        made[0] += 1
        if made[0] in batches_that_fail:
            raise RuntimeError(f"batch {made[0]} is broken")
        return [torch.full((batch_size, 1), made[0])]

    return FakePipeline(batch_size, make)


def test_an_error_replaces_its_batch_and_the_epoch_continues():
    iterator = DALIGenericIterator(failing({2}), ["x"], size=8)
    assert next(iterator)[0]["x"][0].item() == 1
    with pytest.raises(RuntimeError, match="batch 2 is broken"):
        next(iterator)
    with pytest.warns(RuntimeWarning):
        assert [b[0]["x"][0].item() for b in iterator] == [3, 4]
    iterator.reset()
    assert [b[0]["x"][0].item() for b in iterator] == [5, 6, 7, 8]


def test_an_error_in_one_pipeline_keeps_the_others_in_step():
    iterator = DALIGenericIterator([failing({2}), failing(set())], ["x"], size=16)
    next(iterator)
    with pytest.raises(RuntimeError, match="batch 2 is broken"):
        next(iterator)
    assert [d["x"][0].item() for d in next(iterator)] == [3, 3]


def test_an_error_while_scheduling_comes_after_the_current_batch():
    class Failing(FakePipeline):
        scheduled = 0

        def schedule_run(self):
            self.scheduled += 1
            if self.scheduled == 2:
                raise RuntimeError("the source is broken")
            super().schedule_run()

    pipe = Failing(2, lambda: [torch.zeros(2, 1)], depth=1)
    iterator = DALIGenericIterator(pipe, ["x"], size=8, prepare_first_batch=False)
    next(iterator)
    with pytest.raises(RuntimeError, match="the source is broken"):
        next(iterator)


@for_each(
    ("options", "message"),
    [
        ({"size": 10, "reader_name": "files"}, "`size` and `reader_name` exclude"),
        ({"reader_name": "files", "last_batch_padded": True}, "`last_batch_padded` and"),
        ({"size": 0}, "`size` is 0"),
        ({"last_batch_policy": 1}, "`last_batch_policy` is 1, expected a LastBatchPolicy"),
        ({"last_batch_policy": "DROP"}, "`last_batch_policy` is 'DROP'"),
        ({"auto_reset": "maybe"}, '`auto_reset` is "maybe", expected "yes"'),
        ({"output_map": []}, "`output_map` is \\[\\]"),
        ({"output_map": ["a", "a"]}, "each of them once"),
        ({"output_map": "label"}, "expected a list of names"),
        ({"output_map": ["a", "b"]}, "has 2 names.*1 outputs"),
        ({"pipelines": []}, "`pipelines` is empty"),
        ({"pipelines": None}, "`pipelines` is empty"),
    ],
)
def test_contradicting_arguments_are_errors(options, message):
    options = {"pipelines": reader_pipeline(TEN, 0), "output_map": ["label"], **options}
    with pytest.raises(ValueError, match=message):
        DALIGenericIterator(**options)


@pytest.mark.parametrize("size", ["many", 9.5, float("nan"), float("inf"), True])
def test_size_must_be_a_whole_number(size):
    with pytest.raises(TypeError, match="`size` is .*, expected an integer"):
        DALIGenericIterator(reader_pipeline(TEN, 0), ["label"], size=size)


@pytest.mark.parametrize(("size", "expected"), [(np.int64(10), 10), (20 / 2, 10), (-2, -1)])
def test_size_may_be_any_whole_number(size, expected):
    iterator = DALIGenericIterator(reader_pipeline(TEN, 0), ["label"], size=size)
    assert (iterator.size, type(iterator.size)) == (expected, int)


def test_several_pipelines_need_a_size():
    with pytest.raises(ValueError, match="2 pipelines need to know"):
        DALIGenericIterator([reader_pipeline(TEN, 0) for _ in range(2)], ["label"])


def test_pipelines_of_different_batch_sizes_or_data_sets_are_errors():
    other = case(10, 1, [0], 3, policy="FILL")
    with pytest.raises(ValueError, match=r"differ in batch size: \[4, 3\]"):
        DALIGenericIterator(
            [reader_pipeline(TEN, 0), reader_pipeline(other, 0)], ["label"], size=10
        )
    for key, other in {
        "epoch_size": case(9, 1, [0], 4, policy="FILL"),
        "number_of_shards": case(10, 2, [0], 4, policy="FILL"),
        "pad_last_batch": case(10, 1, [0], 4, policy="FILL", pad=True),
        "stick_to_shard": case(10, 1, [0], 4, policy="FILL", stick=True),
    }.items():
        with pytest.raises(ValueError, match=f"differ in `{key}`"):
            DALIGenericIterator(
                [reader_pipeline(TEN, 0), reader_pipeline(other, 0)],
                ["label"],
                reader_name="files",
            )


def test_an_epoch_without_batches_is_an_error():
    small = case(3, 1, [0], 4, policy="DROP")
    with pytest.raises(RuntimeError, match="an epoch has 3 samples, the batch size is 4 and"):
        DALIGenericIterator(
            reader_pipeline(small, 0),
            ["label"],
            reader_name="files",
            last_batch_policy=LastBatchPolicy.DROP,
        )
    with pytest.raises(RuntimeError, match="no batch in the pipeline"):
        DALIGenericIterator(pipeline(torch.zeros(2, 1), batches=0), ["x"])


def test_the_warning_of_a_derived_iterator_points_at_the_user():
    pipe = pipeline(torch.zeros(2, 1), torch.zeros(2, 1))
    with pytest.warns(DeprecationWarning, match="give `last_batch_policy`") as caught:
        DALIClassificationIterator(pipe, fill_last_batch=True)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(("old", "sizes"), [(True, [4, 4, 4]), (False, [4, 4, 2])])
def test_fill_last_batch_is_a_deprecated_spelling(old, sizes):
    with pytest.warns(DeprecationWarning, match="give `last_batch_policy` instead") as caught:
        iterator = DALIGenericIterator(
            reader_pipeline(TEN, 0), ["label"], reader_name="files", fill_last_batch=old
        )
    assert caught[0].filename == __file__
    assert [len(ids) for ids in labels(iterator)] == sizes
