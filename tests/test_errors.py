# SPDX-License-Identifier: Apache-2.0
"""errors: the classes, and the form of their text."""

from __future__ import annotations

import pickle

from helpers.cases import for_each

from torchdali import errors
from torchdali.errors import _from_engine

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
        "not a JPEG. To fix it: remove the file",
        {
            "operator": "decoders.image",
            "sample": 3,
            "batch_size": 32,
            "source": "/data/cat.jpg",
            "location": "train.py:42, in make:\n      images = fn.decoders.image(x)",
        },
    )
    assert str(error).splitlines() == [
        "fn.decoders.image: not a JPEG.",
        "  sample 3 of 32",
        '  source "/data/cat.jpg"',
        "  defined at train.py:42, in make:",
        "      images = fn.decoders.image(x)",
        "  To fix it: remove the file",
    ]
    assert (error.operator, error.sample, error.batch_size) == ("fn.decoders.image", 3, 32)
    assert error.source == "/data/cat.jpg"


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
