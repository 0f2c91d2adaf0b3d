# SPDX-License-Identifier: Apache-2.0
"""Conditionals: each branch runs for its samples only, and Python conditions work as in Python."""

from __future__ import annotations

import traceback

import numpy as np
import pytest
from helpers.conditional_pipelines import FLAGS, batches, flags, images, run

from torchdali import errors, fn, types
from torchdali.data_node import DataNode

# Samples that are False in FLAGS are bytes that cannot be decoded.
BROKEN = [np.frombuffer(b"P5\n1 1\n255\n\x07" if flag else b"broken", np.uint8) for flag in FLAGS]


def black():
    return batches(np.zeros((4, 1, 1, 1), np.uint8), layout="HWC")


def decoded(encoded):
    return fn.decoders.image(encoded, output_type=types.GRAY)


def test_an_operator_in_a_branch_runs_for_the_samples_of_the_branch():
    def define():
        p, encoded = flags(), batches(BROKEN)
        if p:
            out = decoded(encoded)
        else:
            out = black()
        return out

    assert run(define) == [[[[[7]]], [[[0]]], [[[7]]], [[[7]]]]]


@pytest.mark.parametrize("fusion", ["0", "1"])
def test_an_operator_used_in_one_branch_only_moves_into_it(fusion, monkeypatch):
    monkeypatch.setenv("TORCHDALI_FUSION", fusion)

    def define():
        encoded = batches(BROKEN)
        image = decoded(encoded)
        image = fn.random_resized_crop(image, size=1)
        p = flags()
        chosen = image if p else black()
        return chosen

    assert run(define) == [[[[[7]]], [[[0]]], [[[7]]], [[[7]]]]]


def test_a_branch_may_use_the_input_of_its_condition():
    def define():
        p = flags()
        q = fn.cast(p, dtype=types.INT32)
        if q:
            out = fn.cast(q, dtype=types.FLOAT)
        else:
            out = 5.0
        return out

    assert run(define) == [[1.0, 5.0, 1.0, 1.0]]


def test_an_operator_that_all_samples_need_runs_for_all():
    def define():
        encoded, p = batches(BROKEN), flags()
        image = decoded(encoded)
        if p:
            out = image
        else:
            out = black()
        return out, image

    with pytest.raises(errors.DataError, match="sample 1 of 4"):
        run(define)


def test_the_right_side_of_and_runs_for_samples_with_a_true_left_side():
    def define():
        p, encoded = flags(), batches(BROKEN)
        return p and fn.cast(fn.peek_image_shape(encoded), dtype=types.BOOL)

    with pytest.raises(errors.ArgumentError, match="`and` takes one value per sample") as caught:
        run(define)
    assert "sample 0" in str(caught.value)


def test_equal_operators_of_two_branches_are_not_merged():
    def define():
        p, q, image = flags(), flags([True, True, False, False]), images()
        if p:
            out = fn.flip(image)
        else:
            out = fn.flip(image)
        if q:
            out = fn.flip(out)
        return out

    whole = np.arange(24, dtype=np.uint8).reshape(4, 2, 3, 1)
    expected = [whole[i] if i < 2 else whole[i, :, ::-1] for i in range(4)]
    assert run(define) == [[e.tolist() for e in expected]]


def test_an_operator_with_side_effects_is_skipped_too():
    def define():
        p, encoded = flags(), batches(BROKEN)
        if p:
            fn.decoders.image(encoded, preserve=True)
        return p

    assert run(define) == [FLAGS.tolist()]


def test_a_source_in_a_branch_returns_whole_batches():
    def define():
        if flags():
            out = batches(np.int32([1, 2, 3, 4]))
        else:
            out = batches(np.int32([5, 6, 7, 8]))
        return out

    assert run(define) == [[1, 6, 3, 4]]


def test_random_values_do_not_depend_on_the_branch():
    def define():
        if flags():
            out = fn.random.uniform(seed=4)
        else:
            out = fn.random.uniform(seed=4)
        return out, fn.random.uniform(seed=4)

    first, second = run(define)
    assert first == second


def test_conditions_on_python_values_work_as_in_python():
    log = []

    def seen(value, name):
        log.append(name)
        return value

    def define(options=None):
        a = seen([], "a") or seen({}, "b") or seen("c", "c")
        b = seen(1, "d") and seen(0, "e") and seen(2, "f")
        c = seen(1, "g") < seen(3, "h") < seen(2, "i") < seen(9, "j")
        d = seen(1, "k") if not seen(0, "l") else seen(2, "m")
        if options or seen(0, "n"):
            raise AssertionError
        elif seen(3, "o"):
            e = 1
        elif seen(4, "p"):
            raise AssertionError
        for i in range(10):
            if i < 3:
                continue
            if i == 6:
                break
            if i == 5:
                e += i
        else:
            raise AssertionError
        x = [i for i in range(4) if i and i < 3]
        y = [i for i in (x or [1]) if not i == 1]
        with pytest.raises(ZeroDivisionError):
            1 / 0  # noqa: B018
        try:
            if (n := len(x)) > 1:
                raise KeyError(n)
        except KeyError as error:
            f = error.args[0]
        finally:
            e += 1
        while True:
            if e > 8:
                break
            e += 1
        match x:
            case [first, *rest] if first == 1 and rest:
                g = rest
        return np.int32(
            [a == "c", b == 0, c is False, d == 1, e, x == [1, 2], y == [2], f, g == [2], n]
        )

    assert run(define)[0][0] == [1, 1, 1, 1, 9, 1, 1, 2, 1, 2]
    assert "".join(log) == "abcdeghilkno"


def test_a_branch_may_assign_globals():
    def define():
        if flags():
            global _COUNT
            _COUNT = 1
        else:
            _COUNT = 2
        return _COUNT

    assert run(define) == [[1, 2, 1, 1]]
    assert isinstance(globals().pop("_COUNT"), DataNode)


def countdown(image, turns):
    if turns > 0:
        image = countdown(fn.flip(image), turns - 1)
    return image


def test_a_converted_function_may_call_itself():
    def define():
        return countdown(images(), 3) if flags() else images()

    whole = np.arange(24, dtype=np.uint8).reshape(4, 2, 3, 1)
    assert run(define) == [
        [(w[:, ::-1] if f else w).tolist() for w, f in zip(whole, FLAGS, strict=True)]
    ]


def test_an_unbound_variable_is_an_unbound_local_error():
    def define():
        if not FLAGS.all():
            pass
        else:
            x = 1
        return x

    with pytest.raises(UnboundLocalError):
        run(define)


def test_twenty_early_returns_in_a_row_are_converted():
    def chosen(x):
        if x == 0:
            return "a"
        y = x
        if y == 1:
            return "b"
        y += 1
        if y == 3:
            return "c"
        y += 1
        if x == 3:
            return "d"
        y += 1
        if x == 4:
            return "e"
        y += 1
        if x == 5:
            return "f"
        y += 1
        if x == 6:
            return "g"
        y += 1
        if x == 7:
            return "h"
        y += 1
        if x == 8:
            return "i"
        y += 1
        if x == 9:
            return "j"
        y += 1
        if x == 10:
            return "k"
        y += 1
        for _ in range(2):
            for _ in range(2):
                if x == 11:
                    for _ in range(2):
                        if y:
                            with pytest.raises(ZeroDivisionError):
                                if y:
                                    if x:
                                        if y:
                                            1 / 0  # noqa: B018
                    return "l"
        if x == 12:
            return "m"
        elif x == 13:
            return "n"
        return "o"

    def define():
        assert "".join(chosen(i) for i in range(15)) == "abcdefghijklmno"
        return flags()

    run(define)


def test_generators_with_python_conditions_work():
    def parts(image, turn):
        if turn:
            yield fn.flip(image)
            return
        yield image

    def define():
        return (*parts(images(), True), *parts(images(), False))

    a, b = run(define)
    assert a != b


def test_tracebacks_show_the_lines_of_the_user():
    def fails(p):
        if p:
            raise KeyError("inside")
        return p

    def define():
        return fails(flags())

    with pytest.raises(KeyError) as caught:
        run(define)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert last.filename == __file__
    assert last.name == "fails"
    assert last.line == 'raise KeyError("inside")'


def test_an_exception_leaves_the_branch():
    def define():
        p, out = flags(), images()
        try:
            if p:
                raise KeyError
        except KeyError:
            out = fn.flip(out)
        return out

    assert run(define) == [np.arange(24).reshape(4, 2, 3, 1)[:, :, ::-1].tolist()]


def test_after_an_exception_operators_run_for_all_samples():
    seen = []

    def define():
        p, image = flags(), images()
        try:
            if p:
                raise KeyError
        except KeyError:
            pass
        fn.python_function(image, p, function=lambda _, p: seen.append(p.item()), num_outputs=0)
        return p

    run(define, prefetch_queue_depth=1)
    assert seen == list(FLAGS)
