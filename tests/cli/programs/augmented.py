# SPDX-License-Identifier: Apache-2.0
"""Policies of automatic augmentation, the ready ones and one of the program's own."""

import sys

from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.auto_aug import augmentations, auto_augment, rand_augment, trivial_augment
from nvidia.dali.auto_aug.core import Policy, augmentation, signed_bin


@augmentation(mag_range=(0, 30), randomly_negate=True)
def tilt(data, angle, fill_value=128):
    return fn.rotate(data, angle=angle, fill_value=fill_value, keep_size=True)


def own_policy():
    shear_x = augmentations.shear_x.augmentation((0, 0.3), True)
    return Policy(
        name="SimplePolicy",
        num_magnitude_bins=11,
        sub_policies=[
            [(tilt, 0.9, 6), (shear_x, 0.6, 3)],
            [(augmentations.equalize, 0.7, None)],
        ],
    )


@pipeline_def(enable_conditionals=True, batch_size=4, num_threads=2, device_id=None, seed=5)
def augmented(root, kind):
    data, label = fn.readers.file(file_root=root)
    image = fn.resize(fn.decoders.image(data), size=[24, 24])
    shape = fn.shapes(image)
    if kind == "auto":
        image = auto_augment.auto_augment(image, shape=shape)
    elif kind == "rand":
        image = rand_augment.rand_augment(image, n=2, m=9, shape=shape, monotonic_mag=False)
    elif kind == "trivial":
        image = trivial_augment.trivial_augment_wide(image, shape=shape)
    else:
        image = auto_augment.apply_auto_augment(own_policy(), image)
    return fn.cast(image, dtype=types.INT32), label


def main():
    assert callable(signed_bin)
    for kind in "auto", "rand", "trivial", "own":
        pipe = augmented(sys.argv[1], kind)
        pipe.build()
        images, _ = pipe.run()
        print(kind, images.as_array().shape)


main()
