# SPDX-License-Identifier: Apache-2.0
"""DataLoader: on_error skips or replaces samples that fail."""

from __future__ import annotations

import linecache
import warnings

import pytest
from helpers import datasets
from helpers.both_loaders import flat, labels

from torchdali import DataLoader
from torchdali.errors import DataError


@pytest.mark.filterwarnings("ignore:a sample of")
@pytest.mark.parametrize("persistent", [False, True])
def test_skipped_samples_are_missing(parallel, persistent):
    if persistent and not parallel:
        pytest.skip("there are no workers")
    loader = DataLoader(
        datasets.Fails(12, at=(1, 4, 5, 6, 7)), batch_size=4, on_error="skip",
        persistent_workers=persistent, **parallel,
    )  # fmt: skip
    for _ in range(2):
        assert labels(loader) == [[0, 2, 3], [8, 9, 10, 11]]
        assert loader.error_count == 5


@pytest.mark.filterwarnings("ignore:a sample of")
def test_replaced_samples_come_twice(parallel):
    data = datasets.Fails(12, at=(0, 1, 6, 8, 9, 10, 11))
    loader = DataLoader(data, batch_size=4, on_error="replace", **parallel)
    assert labels(loader) == [[2, 2, 2, 3], [4, 5, 5, 7]]
    assert loader.error_count == 7
    single = DataLoader(data, batch_size=None, on_error="replace", **parallel)
    assert [b[1] for b in single] == [2, 3, 4, 5, 7]


def test_the_first_error_is_a_warning(parallel):
    loader = DataLoader(datasets.Fails(12, at=(3, 7)), batch_size=4, on_error="skip", **parallel)
    with pytest.warns(
        UserWarning, match="could not be read.*index 3: Traceback(.|\n)*no such"
    ) as w:
        list(loader)
    assert (
        sum(issubclass(one.category, UserWarning) for one in w) == 1
    )  # Python 3.12 warns about fork()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert len(list(DataLoader(datasets.Squares(4), on_error="skip", **parallel))) == 4


@pytest.mark.parametrize("pipeline", [None, lambda image, label: (image + 0, label)])
def test_the_warning_points_at_the_loop(parallel, pipeline):
    data = datasets.Fails(12, at=(3,))
    loader = DataLoader(data, batch_size=4, on_error="skip", pipeline=pipeline, **parallel)
    with pytest.warns(UserWarning, match="could not be read") as caught:
        for _ in loader:
            pass
    warning = next(one for one in caught if "could not be read" in str(one.message))
    assert warning.filename == __file__
    assert linecache.getline(__file__, warning.lineno).strip() == "for _ in loader:"


@pytest.mark.filterwarnings("ignore:a sample of")
def test_more_errors_than_allowed_are_an_error(parallel):
    data = datasets.Fails(12, at=(1, 2, 6, 7))
    loader = DataLoader(data, batch_size=4, on_error="skip", max_errors=3, **parallel)
    iterator = iter(loader)
    assert next(iterator)[1].tolist() == [0, 3]
    with pytest.raises(DataError, match="4 samples of this epoch have failed.*max_errors=3"):
        next(iterator)
    assert len(list(DataLoader(data, batch_size=4, on_error="skip", max_errors=4, **parallel))) == 3


@pytest.mark.filterwarnings("ignore:a sample of")
@pytest.mark.parametrize("on_error", ["skip", "replace"])
def test_an_iterable_dataset_continues_after_an_error(parallel, on_error):
    class Sometimes(datasets.CountIterator):
        def __next__(self):
            number = super().__next__()
            if number % 3 == 1:
                raise OSError("damaged")
            return number

    class Data(datasets.Counts):
        def __iter__(self):
            return Sometimes(super().__iter__())

    loader = DataLoader(Data(12), batch_size=3, on_error=on_error, **parallel)
    assert sorted(flat(b.tolist() for b in loader)) == [0, 2, 3, 5, 6, 8, 9, 11]
    assert loader.error_count == 4


@pytest.mark.filterwarnings("ignore:a sample of")
def test_an_iterator_that_always_fails_is_abandoned(parallel):
    class Broken(datasets.Counts):
        def __iter__(self):
            return self

        def __next__(self):
            raise OSError("broken")

    with pytest.raises((OSError, DataError), match="broken"):
        list(DataLoader(Broken(), batch_size=2, on_error="skip", max_errors=5, **parallel))


@pytest.mark.filterwarnings("ignore:a sample of")
def test_getitems_that_fails_is_followed_by_single_samples(parallel):
    class Whole(datasets.Fails):
        def __getitems__(self, indices):
            return [self[i] for i in indices]

    loader = DataLoader(Whole(8, at=(2,)), batch_size=4, on_error="skip", **parallel)
    assert labels(loader) == [[0, 1, 3], [4, 5, 6, 7]]
