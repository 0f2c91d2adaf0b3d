# SPDX-License-Identifier: Apache-2.0
"""Definitions with Numba functions, the same for torchdali and real DALI.

`fn`, `types` and `numba_function` are set by who runs them. The inputs of a program are its
parameters, by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

fn: Any = None
types: Any = None
numba_function: Any = None

_rng = np.random.default_rng(5)
INPUTS: dict[str, list[np.ndarray]] = {
    "images": [
        _rng.integers(0, 256, (h, w, 3), np.uint8) for h, w in ((4, 6), (4, 6), (5, 3), (1, 2))
    ],
    "same": list(_rng.integers(0, 256, (4, 3, 5, 2), np.uint8)),
    "floats": [_rng.normal(size=(n,)).astype(np.float32) for n in (3, 7, 1, 4)],
    "ints": [_rng.integers(-9, 9, (n, 2), np.int32) for n in (2, 5, 3, 3)],
    "flags": [np.array(i % 2 == 0) for i in range(4)],
    "volumes": [_rng.normal(size=(2, 3, n, 2, 2)) for n in (2, 1, 3, 2)],
    "plain": list(_rng.integers(0, 99, (4, 5), np.int32)),
    "empty": [np.zeros((n, 3), np.int16) for n in (0, 2, 0, 1)],
    **{
        f"of_{name}": [_rng.integers(0, 100, (2, 3)).astype(name) for _ in range(4)]
        for name in ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")
    },
    **{
        f"of_{name}": [_rng.normal(size=(2, 3)).astype(name) for _ in range(4)]
        for name in ("float32", "float64")
    },
}
LAYOUTS = {"images": "HWC", "same": "HWC", "volumes": "FDHWC"}


def scale(out0: Any, in0: Any) -> None:
    """Takes every value twice."""
    out0[:] = in0 * 2


def transpose(out0: Any, in0: Any) -> None:
    """Exchanges the first two axes, element by element, as in DALI's documentation."""
    for i in range(in0.shape[0]):
        for j in range(in0.shape[1]):
            out0[j, i] = in0[i, j]


def transposed_shape(outs: Any, ins: Any) -> None:
    """Exchanges the first two extents of each sample, as in DALI's documentation."""
    out0 = outs[0]
    in0 = ins[0]
    perm = [1, 0, 2]
    for sample_idx in range(len(out0)):
        for d in range(len(perm)):
            out0[sample_idx][d] = in0[sample_idx][perm[d]]


def transpose_batch(out0_samples: Any, in0_samples: Any) -> None:
    """The same over lists of arrays, as in DALI's documentation."""
    for out0, in0 in zip(out0_samples, in0_samples):  # noqa: B905  # Numba has no strict
        for i in range(in0.shape[0]):
            for j in range(in0.shape[1]):
                out0[j, i] = in0[i, j]


def statistics(mean: Any, extremes: Any, in0: Any) -> None:
    """Mean of each channel, and the smallest and the greatest value."""
    for c in range(in0.shape[2]):
        mean[c] = in0[:, :, c].mean()
    extremes[0] = in0.min()
    extremes[1] = in0.max()


def statistics_shape(outs: Any, ins: Any) -> None:
    """Channels; two."""
    for i in range(len(ins[0])):
        outs[0][i][0] = ins[0][i][2]
        outs[1][i][0] = 2


def six(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, u: Any, v: Any, w: Any, x: Any, y: Any,
        z: Any) -> None:  # fmt: skip
    """Six inputs, six outputs."""
    a[:] = u
    b[:] = v + 1
    c[:] = w + 2
    d[:] = x + 3
    e[:] = y + 4
    f[:] = z + u[0, 0]


def largest_shape(outs: Any, ins: Any) -> None:
    """All samples as large as the largest: needs the whole batch."""
    for i in range(len(outs[0])):
        for d in range(len(outs[0][i])):
            for j in range(len(ins[0])):
                outs[0][i][d] = max(outs[0][i][d], ins[0][j][d])


def pad(out0: Any, in0: Any) -> None:
    """Copies the input into zeros."""
    out0[:] = 0
    out0[: in0.shape[0]] = in0


def rotate(outs: Any, ins: Any) -> None:
    """Each sample of the batch gets what the one before it had: across samples."""
    for i in range(len(outs)):
        outs[i][:] = ins[i - 1]


def blend(out: Any, a: Any, b: Any) -> None:
    """Two inputs of different types."""
    out[:] = a * 0.5 + b[:1].sum()


def first_shape(outs: Any, ins: Any) -> None:
    """The first input's shape."""
    for i in range(len(outs[0])):
        for d in range(len(outs[0][i])):
            outs[0][i][d] = ins[0][i][d]


def same_shape_and_type(images):
    return numba_function(
        images,
        run_fn=scale,
        in_types=[types.UINT8],
        out_types=[types.UINT8],
        ins_ndim=[3],
        outs_ndim=[3],
    )


def permuted_shape(images):
    return numba_function(
        images,
        run_fn=transpose,
        setup_fn=transposed_shape,
        in_types=[types.UINT8],
        out_types=[types.UINT8],
        ins_ndim=[3],
        outs_ndim=[3],
    )


def permuted_batch(images):
    return numba_function(
        images,
        run_fn=transpose_batch,
        setup_fn=transposed_shape,
        batch_processing=True,
        in_types=[types.UINT8],
        out_types=[types.UINT8],
        ins_ndim=[3],
        outs_ndim=[3],
    )


def across_samples(same):
    return numba_function(
        same,
        run_fn=rotate,
        batch_processing=True,
        in_types=[types.UINT8],
        out_types=[types.UINT8],
        ins_ndim=[3],
        outs_ndim=[3],
    )


def two_outputs(images):
    mean, extremes = numba_function(
        images,
        run_fn=statistics,
        setup_fn=statistics_shape,
        in_types=[types.UINT8],
        out_types=[types.FLOAT64, types.UINT8],
        ins_ndim=[3],
        outs_ndim=[1, 1],
    )
    return mean, extremes, images


def six_of_each(ints):
    return tuple(
        numba_function(
            ints,
            ints,
            ints,
            ints,
            ints,
            ints,
            run_fn=six,
            in_types=[types.INT32] * 6,
            out_types=[types.INT32] * 6,
            ins_ndim=[2] * 6,
            outs_ndim=[2] * 6,
        )
    )


def padded_to_the_largest(floats):
    return numba_function(
        floats,
        run_fn=pad,
        setup_fn=largest_shape,
        in_types=[types.FLOAT],
        out_types=[types.FLOAT],
        ins_ndim=[1],
        outs_ndim=[1],
    )


def two_inputs(images, floats):
    return numba_function(
        images,
        floats,
        run_fn=blend,
        setup_fn=first_shape,
        in_types=[types.UINT8, types.FLOAT],
        out_types=[types.FLOAT],
        ins_ndim=[3, 1],
        outs_ndim=[3],
    )


def volumes_of_frames(volumes):
    return numba_function(
        volumes,
        run_fn=scale,
        in_types=[types.FLOAT64],
        out_types=[types.FLOAT64],
        ins_ndim=[5],
        outs_ndim=[5],
    )


def no_elements(empty):
    return numba_function(
        empty,
        run_fn=scale,
        in_types=[types.INT16],
        out_types=[types.INT16],
        ins_ndim=[2],
        outs_ndim=[2],
    )


def behind_and_before_operators(images):
    small = fn.crop(images, crop_h=1, crop_w=2)
    made = numba_function(
        fn.copy(small),
        run_fn=transpose,
        setup_fn=transposed_shape,
        in_types=[types.UINT8],
        out_types=[types.UINT8],
        ins_ndim=[3],
        outs_ndim=[3],
    )
    return fn.cast(made, dtype=types.FLOAT) / 2, small, made


def in_a_branch(ints, flags):
    if flags:
        result = numba_function(
            ints,
            run_fn=scale,
            in_types=[types.INT32],
            out_types=[types.INT32],
            ins_ndim=[2],
            outs_ndim=[2],
        )
    else:
        result = ints + 1
    return result + 0


def batch_in_a_branch(plain, flags):
    if flags:
        result = numba_function(
            plain,
            run_fn=rotate,
            setup_fn=first_shape,
            batch_processing=True,
            in_types=[types.INT32],
            out_types=[types.INT32],
            ins_ndim=[1],
            outs_ndim=[1],
        )
    else:
        result = plain + 1
    return result + 0


def _of_type(name: str) -> Callable[..., Any]:
    def program(data: Any) -> Any:
        own = getattr(types, {"float32": "FLOAT"}.get(name, name.upper()))
        return numba_function(
            data, run_fn=scale, in_types=[own], out_types=[own], ins_ndim=[2], outs_ndim=[2]
        )

    program.inputs = [f"of_{name}"]  # type: ignore[attr-defined]
    return program


of_uint8, of_uint16, of_uint32 = _of_type("uint8"), _of_type("uint16"), _of_type("uint32")
of_uint64, of_int8, of_int16 = _of_type("uint64"), _of_type("int8"), _of_type("int16")
of_int32, of_int64 = _of_type("int32"), _of_type("int64")
of_float32, of_float64 = _of_type("float32"), _of_type("float64")

PROGRAMS: list[str] = [
    name
    for name, value in list(globals().items())
    if (getattr(value, "__code__", None) is not None and not name.startswith("_"))
    and (
        hasattr(value, "inputs")
        or set(value.__code__.co_varnames[: value.__code__.co_argcount]) <= INPUTS.keys()
    )
]


def inputs_of(name: str) -> list[str]:
    """Returns the names of the inputs of a program."""
    program = globals()[name]
    code = program.__code__
    return getattr(program, "inputs", None) or list(code.co_varnames[: code.co_argcount])


# -- definitions that fail when they run


def negative(outs: Any, ins: Any) -> None:
    """A shape that cannot be."""
    for i in range(len(outs[0])):
        outs[0][i][0] = -len(ins)


def wrong_type(ints):
    return numba_function(
        ints,
        run_fn=scale,
        in_types=[types.UINT8],
        out_types=[types.UINT8],
        ins_ndim=[2],
        outs_ndim=[2],
    )


def wrong_ndim(ints):
    return numba_function(
        ints,
        run_fn=scale,
        in_types=[types.INT32],
        out_types=[types.INT32],
        ins_ndim=[3],
        outs_ndim=[3],
    )


def negative_shape(ints):
    return numba_function(
        ints,
        run_fn=scale,
        setup_fn=negative,
        in_types=[types.INT32],
        out_types=[types.INT32],
        ins_ndim=[2],
        outs_ndim=[2],
    )
