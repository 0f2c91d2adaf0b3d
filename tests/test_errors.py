# SPDX-License-Identifier: Apache-2.0
"""errors: the classes, and the form of their text."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from helpers.cases import for_each

from torchdali import Pipeline, errors, fn
from torchdali.errors import _from_engine, _make, _with_context

KINDS = {
    "runtime": (errors.PipelineError, RuntimeError),
    "value": (errors.ArgumentError, ValueError),
    "type": (errors.ArgumentTypeError, TypeError),
    "index": (errors.OutOfRangeError, IndexError),
    "layout": (errors.LayoutError, ValueError),
    "file": (errors.FileError, OSError),
    "data": (errors.DataError, ValueError),
    "unsupported": (errors.UnsupportedError, NotImplementedError),
    "internal": (errors.InternalError, RuntimeError),
}


@for_each("kind", KINDS)
def test_every_class_is_a_runtime_error_and_a_python_error(kind):
    cls, builtin = KINDS[kind]
    error = _from_engine(kind, "failed", {})
    assert type(error) is cls
    assert isinstance(error, (RuntimeError, builtin))
    assert isinstance(error, builtin)
    assert isinstance(error, errors.TorchdaliError)
    assert str(error) == "failed"


def test_the_text_has_operator_sample_source_location_and_fix():
    error = _from_engine(
        "data",
        "not a JPEG",
        {
            "operator": "decoders.image",
            "sample": 3,
            "batch_size": 32,
            "source": "/data/cat.jpg",
            "location": "train.py:42, in make:\n      images = fn.decoders.image(x)",
            "fix": "remove the file",
        },
    )
    assert str(error).splitlines() == [
        "fn.decoders.image: not a JPEG",
        "  sample 3 of 32",
        '  source "/data/cat.jpg"',
        "  defined at train.py:42, in make:",
        "      images = fn.decoders.image(x)",
        "  To fix it: remove the file",
    ]
    assert (error.operator, error.sample, error.batch_size) == ("fn.decoders.image", 3, 32)
    assert (error.source, error.fix) == ("/data/cat.jpg", "remove the file")


def test_an_error_of_the_engine_has_its_fix():
    with Pipeline(batch_size=1, num_threads=1, device_id=None) as pipe:
        data = fn.external_source(source=[np.zeros((1, 2, 2, 3), np.float32)], layout="HWC")
        pipe.set_outputs(fn.color_space_conversion(data, image_type=0, output_type=2))
    with pipe, pytest.raises(errors.ArgumentTypeError) as caught:
        pipe.run()
    assert caught.value.fix == "use fn.cast"
    assert str(caught.value).endswith("\n  To fix it: use fn.cast")
    assert str(caught.value).count("To fix it") == 1


def test_context_is_added_to_an_error_with_a_fix():
    error = _with_context(
        _make(errors.DataError, "damaged", fix="remove it"), sample=2, batch_size=4
    )
    assert type(error) is errors.DataError
    assert str(error) == "damaged\n  sample 2 of 4\n  To fix it: remove it"
    error = _with_context(error, operator="fn.flip", location="train.py:1")
    assert str(error).splitlines() == [
        "fn.flip: damaged",
        "  sample 2 of 4",
        "  defined at train.py:1",
        "  To fix it: remove it",
    ]


def test_absent_details_have_no_lines():
    error = _from_engine("value", "wrong", {"operator": "", "sample": -1, "location": ""})
    assert str(error) == "wrong"
    assert error.sample is None


def test_an_unknown_kind_is_an_internal_error():
    assert type(_from_engine("nonsense", "x", {})) is errors.InternalError


def test_errors_survive_pickling():
    error = _from_engine("file", "gone", {"operator": "readers.file", "source": "a.jpg"})
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is errors.FileError
    assert str(copy) == str(error)
    assert copy.source == "a.jpg"
