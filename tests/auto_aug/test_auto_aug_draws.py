# SPDX-License-Identifier: Apache-2.0
"""Random choices of automatic augmentations: frequencies, independence, reproducibility."""

from __future__ import annotations

import auto_aug_programs as programs
import numpy as np
import pytest
from helpers.cases import for_each
from helpers.distributions import fits

from torchdali import fn, pipeline_def, types
from torchdali.auto_aug import trivial_augment
from torchdali.auto_aug.core import augmentation, signed_bin

BATCHES = 60  # of 64 samples
COUNT, BINS, BIN = 5, 7, 4  # of programs.draws()


def draws(family, batches=BATCHES, **options):
    return programs.draws("torchdali", family, batches, options)


def taken_apart(codes):
    """Returns number, bin and sign (1 if negative) of each step, [sample, step]."""
    steps = []
    while codes.any():
        digits = codes % 1000
        number = np.where(digits > 0, digits // 100, -1)
        level = np.where(digits > 0, digits % 100 - 50, 1)
        steps.append(np.stack([number, abs(level) - 1, level < 0], axis=-1))
        codes = codes // 1000
    return np.stack(steps[::-1], axis=1)


def table(*columns):
    """Returns how often each combination of values occurs."""
    sizes = [int(column.max()) + 1 for column in columns]
    places = np.ravel_multi_index([column.astype(int) for column in columns], sizes)
    return np.bincount(places, minlength=int(np.prod(sizes))).reshape(sizes)


@pytest.mark.parametrize("seed", [None, 3, 4])
def test_rand_augment_draws_each_step_and_sign_evenly_and_independently(seed):
    steps = taken_apart(draws("rand", n=3, seed=seed))
    assert steps.shape == (BATCHES * 64, 3, 3)
    number, level, sign = np.moveaxis(steps, -1, 0)
    assert (level == BIN).all()
    assert fits(table(*number.T), np.ones(COUNT**3))
    odd = number % 2 == 1
    assert not sign[odd].any()  # they have none
    for step in range(3):
        free = ~odd[:, step]
        assert fits(table(sign[free, step], number[free, step] // 2), np.ones((2, 3)))
    all_even = ~odd.any(axis=1)
    assert fits(table(*sign[all_even].T), np.ones((2, 2, 2)))


@pytest.mark.parametrize("seed", [None, 3, 4])
def test_trivial_augment_draws_operation_bin_and_sign_independently(seed):
    steps = taken_apart(draws("trivial", seed=seed))
    assert steps.shape == (BATCHES * 64, 1, 3)
    number, level, sign = steps[:, 0].T
    assert fits(table(number, level), np.ones((COUNT, BINS)))
    even = number % 2 == 0
    assert not sign[~even].any()
    assert fits(table(number[even] // 2, level[even], sign[even]), np.ones((3, BINS, 2)))


@pytest.mark.parametrize("seed", [None, 3, 4])
def test_auto_augment_draws_sub_policies_evenly_and_their_steps_with_their_probability(seed):
    codes = draws("auto", seed=seed)
    # Each sequence of (number, bin) that programs.sub_policies() can give, with its probability.
    shares = {}
    for steps in programs.sub_policies(list(range(COUNT))):
        for taken in np.ndindex(*(2,) * len(steps)):
            chosen = tuple((s[0], s[2]) for s, t in zip(steps, taken, strict=True) if t)
            share = np.prod([s[1] if t else 1 - s[1] for s, t in zip(steps, taken, strict=True)])
            shares[chosen] = shares.get(chosen, 0) + share / 3
    found = dict.fromkeys(shares, 0)
    signs = []
    for code in codes:
        steps = taken_apart(np.array([code]))[0] if code else []
        found[tuple((int(number), int(level)) for number, level, _ in steps)] += 1
        signs += [int(sign) for number, _, sign in steps if number % 2 == 0]
    assert fits(list(found.values()), list(shares.values()))
    assert fits(np.bincount(signs), [1, 1])


def test_magnitudes_of_the_suites_are_drawn_evenly():
    """Shears a step edge; its new position shows bin and sign."""
    image = np.zeros((1, 64, 1), np.uint8)
    image[:, 32:] = 255
    shift = augmentation(
        lambda data, offset: fn.warp_affine(
            data,
            matrix=fn.transforms.translation(offset=offset),
            interp_type=types.INTERP_NN,
            inverse_map=False,
        ),
        mag_range=(0, 30),
        randomly_negate=True,
        mag_to_param=lambda m: np.float32([m, 0]),
        name="shift",
    )

    @pipeline_def(batch_size=64, num_threads=2, seed=5)
    def define():
        data = fn.external_source(source=lambda: [image] * 64, layout="HWC")
        return trivial_augment.apply_trivial_augment([shift], data, num_magnitude_bins=31)

    pipe = define()
    edges = [int((np.asarray(x) == 0).sum()) for _ in range(40) for x in pipe.run()[0]]
    counts = np.bincount(np.array(edges) - 2, minlength=61)
    shares = np.ones(61)
    shares[30] = 2  # the sign of bin 0 has no effect
    assert fits(counts, shares)


def test_different_seeds_draw_different_steps():
    of = {seed: draws("rand", 2, seed=seed).tolist() for seed in (0, 1, 2, -1, 2**62)}
    assert len({tuple(codes) for codes in of.values()}) == len(of)
    assert draws("rand", 2, seed=1).tolist() == of[1]
    assert draws("rand", 2, **{"seed": 1}).tolist() == of[1]


@pytest.mark.parametrize("family", ["rand", "trivial", "auto"])
def test_two_uses_draw_independently_unless_they_share_a_seed(family):
    notes = programs.coded("torchdali", COUNT, BINS)

    def twice(seed):
        @pipeline_def(batch_size=64, num_threads=1, seed=3)
        def define():
            data = fn.external_source(source=lambda: [np.int64(0)] * 64)
            return tuple(
                programs.applied("torchdali", family, notes, data, BINS, seed=seed)
                for _ in range(2)
            )

        return ([int(np.asarray(x)) for x in out] for out in define().run())

    one, two = twice(8)
    assert one == two
    one, two = twice(None)
    assert one != two


# -- the same again


@for_each("family", ["rand", "trivial", "auto"])
@for_each(
    "options",
    [
        {"num_threads": 4},
        {"batch_size": 16},
        {"batch_size": 7},
        {"prefetch_queue_depth": 4},
        {"exec_async": False, "exec_pipelined": False},
        {"enable_conditionals": False},
        {"device_id": 0},
    ],
)
def test_draws_depend_on_the_seed_alone(family, options):
    first = draws(family, 3).tolist()
    count = options.get("batch_size", 64)
    again = draws(family, -(-3 * 64 // count), **options).tolist()
    assert again[: 3 * 64] == first


@pytest.mark.parametrize("family", ["rand", "trivial", "auto"])
def test_a_resumed_pipeline_draws_the_same_values(family):
    notes = programs.coded("torchdali", COUNT, BINS)

    def define(checkpoint=None):
        @pipeline_def(batch_size=16, num_threads=2, seed=9, enable_checkpointing=True)
        def made():
            data = fn.external_source(source=lambda _: np.int64(0), batch=False)
            return programs.applied("torchdali", family, notes, data, BINS)

        return made(checkpoint=checkpoint)

    def codes(pipe, batches):
        return [int(np.asarray(x)) for _ in range(batches) for x in pipe.run()[0]]

    whole = codes(define(), 5)
    pipe = define()
    assert codes(pipe, 2) == whole[:32]
    assert codes(define(pipe.checkpoint()), 3) == whole[32:]


GOLDEN = {
    "rand": [455355, 55055, 455255, 45445, 455455, 155245, 355355, 245245],
    "trivial": [456, 251, 457, 249, 457, 252, 355, 446],
    "auto": [253055, 0, 152247, 46, 253055, 54157, 249, 249],
}


@pytest.mark.parametrize("family", ["rand", "trivial", "auto"])
def test_draws_of_a_seed_equal_the_golden_values(family):
    assert draws(family, 1, batch_size=8, seed=1234).tolist() == GOLDEN[family]


def test_the_sign_of_a_bin_is_drawn_evenly():
    @pipeline_def(batch_size=64, num_threads=1, seed=6)
    def define():
        return signed_bin(3).random_sign, signed_bin(3, shape=[2]).random_sign

    pipe = define()
    runs = [pipe.run() for _ in range(30)]
    single = [int(np.asarray(x)) for one, _ in runs for x in one]
    pairs = np.stack([np.asarray(x) for _, two in runs for x in two])
    assert fits(np.bincount(single), [1, 1])
    assert fits(table(*pairs.T), np.ones((2, 2)))
