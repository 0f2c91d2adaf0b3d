# SPDX-License-Identifier: Apache-2.0
"""Conditions in definitions, operators that call Python, arithmetic, debug mode."""

import sys

import numpy as np
import nvidia.dali.fn as fn
import nvidia.dali.math as dmath
import nvidia.dali.types as types
from nvidia import dali
from nvidia.dali import pipeline_def
from nvidia.dali.pipeline import do_not_convert
from nvidia.dali.pipeline.experimental import pipeline_def as debug_pipeline_def


def edit(image):
    return np.flip(image, 1).copy()


@do_not_convert
def source(info):
    return np.full((2, 3, 1), info.idx_in_epoch, np.uint8)


@pipeline_def(enable_conditionals=True, batch_size=4, num_threads=2, device_id=None)
def conditional():
    image = fn.external_source(source, batch=False, layout="HWC")
    number = fn.reductions.max(image)
    if number > 1 and not (number == 3 or number < 0):
        image = fn.brightness(image, brightness=2.0)
    elif number == 0:
        image = image + types.Constant(9, dtype=types.UINT8)
    else:
        image = fn.copy(image)
    return image, dmath.clamp(number * 10, 5, 25)


@pipeline_def(batch_size=2, num_threads=2, device_id=None, exec_async=False, exec_pipelined=False)
def functions():
    image = fn.external_source(source, batch=False, layout="HWC")
    flipped = fn.python_function(image + image, function=edit, num_outputs=1)
    doubled = fn.python_function(image, function=lambda x: (x * 2, np.max(x, 0)), num_outputs=2)
    return flipped, *doubled


@debug_pipeline_def(batch_size=2, num_threads=1, device_id=None, debug=True)
def debugged():
    value = fn.random.coin_flip(probability=1.0) * 3
    assert [int(np.asarray(sample)) for sample in value.get()] == [3, 3]
    return value


def main():
    debug = [debugged()] if sys.argv[1:] == ["--debug"] else []  # DALI needs a GPU for it
    for pipe in conditional(), functions(), *debug:
        pipe.build()
        outputs = pipe.run()
        print([[int(np.sum(np.asarray(sample))) for sample in out] for out in outputs])
    print(dali.__version__, dali.math is dmath)


main()
