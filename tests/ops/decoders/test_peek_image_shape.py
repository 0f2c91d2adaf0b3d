# SPDX-License-Identifier: Apache-2.0
"""fn.peek_image_shape: the shape of an image, from its header."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.dali_oracle import run_graph
from helpers.encoded_images import IMAGE_TYPES, as_tensor, decode, jpeg, ramp, sample_files
from helpers.ops import OpCase

from torchdali import types

FILES = sample_files()
NAMES = ["jpeg_420", "png_rgba16", "bmp_8", "pnm_5", "png_palette4"]
CASES = [
    OpCase(
        "peek_image_shape",
        make=lambda i: as_tensor(FILES[NAMES[i % len(NAMES)]]),
        args=args,
        batch=len(NAMES),
        no_parity="compared with the newer operator",
    )
    for args in ({}, {"image_type": types.ANY_DATA, "dtype": types.INT32})
]


@pytest.mark.parametrize("image_type", IMAGE_TYPES)
def test_shape_equals_that_of_the_decoded_image(image_type):
    kind = IMAGE_TYPES[image_type]
    files = [*FILES.values(), *(jpeg(ramp(21, 34, 3), orientation=o) for o in range(1, 9))]
    for adjust in (True, False):
        shapes = decode("peek_image_shape", files, image_type=kind, adjust_orientation=adjust)
        images = decode("decoders.image", files, output_type=kind, adjust_orientation=adjust)
        assert [tuple(s) for s in shapes] == [i.shape for i in images]


@pytest.mark.dali
@pytest.mark.parametrize("image_type", IMAGE_TYPES)
def test_shape_equals_that_of_dali(image_type):
    args = {"image_type": IMAGE_TYPES[image_type]}
    node = {
        "op": "experimental.peek_image_shape",
        "inputs": ["files"],
        "args": args,
        "outputs": ["shapes"],
    }
    batch = [np.frombuffer(f, np.uint8) for f in FILES.values()]
    result = run_graph([node], ["shapes"], {"files": {"batches": [batch]}}, batch_size=len(batch))
    actual = decode("peek_image_shape", list(FILES.values()), **args)
    for name, ours, theirs in zip(FILES, actual, result[0][0].samples, strict=True):
        assert np.array_equal(ours, theirs), name


@for_each(
    ("dtype", "expected"),
    [
        (types.INT64, np.int64),
        (types.INT32, np.int32),
        (types.UINT32, np.uint32),
        (types.UINT64, np.uint64),
        (types.FLOAT, np.float32),
        (types.FLOAT64, np.float64),
    ],
)
def test_dtype_selects_the_type_of_the_output(dtype, expected):
    (shape,) = decode("peek_image_shape", [FILES["png_rgb8"]], dtype=dtype)
    assert shape.dtype == expected
    assert shape.tolist() == [37, 51, 3]


def test_dtypes_too_small_for_an_extent_are_errors():
    with pytest.raises(TypeError, match="`dtype` is uint8, expected int32"):
        decode("peek_image_shape", [FILES["png_rgb8"]], dtype=types.UINT8)


def test_a_header_without_pixels_is_enough():
    data = FILES["jpeg_444"]
    start_of_scan = data.index(b"\xff\xda")
    (shape,) = decode("peek_image_shape", [data[:start_of_scan]])
    assert shape.tolist() == [37, 51, 3]


def test_unknown_bytes_are_an_error():
    with pytest.raises(RuntimeError, match=r"fn\.peek_image_shape: (?s:.*)not an image"):
        decode("peek_image_shape", [b"nothing of the kind"])


def test_the_old_name_of_dtype_works_with_a_warning():
    with pytest.warns(DeprecationWarning, match="`type` is the old name of `dtype`"):
        (shape,) = decode("peek_image_shape", [FILES["pnm_5"]], type=types.INT32)
    assert shape.dtype == np.int32
