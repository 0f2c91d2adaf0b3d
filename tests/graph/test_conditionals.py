# SPDX-License-Identifier: Apache-2.0
"""enable_conditionals: what branches cost, and what is refused in which words."""

from __future__ import annotations

import functools
import json
import traceback

import numpy as np
import pytest
from helpers.cases import for_each

from torchdali import Pipeline, errors, fn, pipeline_def, types
from torchdali.data_node import DataNode
from torchdali.pipeline import do_not_convert

FLAGS = np.bool_([True, False, True, True])


def batches(samples, **options):
    return fn.external_source(source=lambda: list(samples), **options)


def flags(values=FLAGS):
    return batches(np.asarray(values))


def images():
    return batches(np.arange(4 * 2 * 3 * 1, dtype=np.uint8).reshape(4, 2, 3, 1), layout="HWC")


def built(define, **options):
    options = {"batch_size": 4, "num_threads": 2, "enable_conditionals": True, **options}
    return pipeline_def(define, **options)()


def run(define, **options):
    """Returns the first batch, each output as a list of samples."""
    return [
        [np.asarray(s).tolist() for s in out.as_torch_list()]
        for out in built(define, **options).run()
    ]


# -- what is not taken costs nothing

# Bytes that no decoder takes, for the samples with False.
BROKEN = [np.frombuffer(b"P5\n1 1\n255\n\x07" if flag else b"broken", np.uint8) for flag in FLAGS]


def black():
    return batches(np.zeros((4, 1, 1, 1), np.uint8), layout="HWC")


def decoded(encoded):
    return fn.decoders.image(encoded, output_type=types.GRAY)


def test_an_operator_of_a_branch_runs_for_the_samples_that_take_it_only():
    def define():
        p, encoded = flags(), batches(BROKEN)
        if p:
            out = decoded(encoded)
        else:
            out = black()
        return out

    assert run(define) == [[[[[7]]], [[[0]]], [[[7]]], [[[7]]]]]


@pytest.mark.parametrize("fusion", ["0", "1"])
def test_an_operator_before_the_condition_runs_where_its_result_is_needed(fusion, monkeypatch):
    monkeypatch.setenv("TORCHDALI_FUSION", fusion)

    def define():
        encoded = batches(BROKEN)
        image = decoded(encoded)
        image = fn.random_resized_crop(image, size=1)
        p = flags()
        chosen = image if p else black()
        return chosen

    assert run(define) == [[[[[7]]], [[[0]]], [[[7]]], [[[7]]]]]


def test_the_predicate_may_depend_on_what_a_branch_uses():
    def define():
        p = flags()
        q = fn.cast(p, dtype=types.INT32)
        if q:
            out = fn.cast(q, dtype=types.FLOAT)
        else:
            out = 5.0
        return out

    assert run(define) == [[1.0, 5.0, 1.0, 1.0]]


def test_what_all_samples_need_stays_outside():
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


def test_the_right_side_of_and_is_evaluated_where_the_left_is_true():
    def define():
        p, encoded = flags(), batches(BROKEN)
        return p and fn.cast(fn.peek_image_shape(encoded), dtype=types.BOOL)

    with pytest.raises(errors.ArgumentError, match="`and` takes one value a sample") as caught:
        run(define)
    assert "sample 0" in str(caught.value)


def test_equal_operators_of_two_branches_are_two():
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


def test_an_operator_with_side_effects_is_skipped_like_any_other():
    def define():
        p, encoded = flags(), batches(BROKEN)
        if p:
            fn.decoders.image(encoded, preserve=True)
        return p

    assert run(define) == [FLAGS.tolist()]


def test_a_source_in_a_branch_gives_whole_batches():
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


# -- Python stays Python


def test_conditions_that_are_no_data_nodes_are_as_in_python():
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


def test_globals_are_assigned_where_they_stand():
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


def test_a_function_may_call_itself():
    def define():
        return countdown(images(), 3) if flags() else images()

    whole = np.arange(24, dtype=np.uint8).reshape(4, 2, 3, 1)
    assert run(define) == [
        [(w[:, ::-1] if f else w).tolist() for w, f in zip(whole, FLAGS, strict=True)]
    ]


def test_a_variable_without_a_value_is_pythons_error():
    def define():
        if not FLAGS.all():
            pass
        else:
            x = 1
        return x

    with pytest.raises(UnboundLocalError):
        run(define)


def test_twenty_conditions_in_a_row_nest_as_deep_as_python_allows():
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


def test_generators_go_on_inside_conditions_of_python():
    def parts(image, turn):
        if turn:
            yield fn.flip(image)
            return
        yield image

    def define():
        return (*parts(images(), True), *parts(images(), False))

    a, b = run(define)
    assert a != b


def test_errors_show_the_lines_and_names_of_the_user():
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


def test_a_caught_exception_leaves_the_branch():
    def define():
        p, out = flags(), images()
        try:
            if p:
                raise KeyError
        except KeyError:
            out = fn.flip(out)
        return out

    assert run(define) == [np.arange(24).reshape(4, 2, 3, 1)[:, :, ::-1].tolist()]


# -- which functions are rewritten


def test_do_not_convert_keeps_a_function_as_it_is():
    @do_not_convert
    def plain(p):
        return 1 if p else 2

    @do_not_convert()
    def also(p):
        return p

    def define():
        assert also(3) == 3
        return plain(flags())

    with pytest.raises(TypeError, match="under do_not_convert"):
        run(define)


def test_a_definition_cannot_be_under_do_not_convert():
    def define():
        return flags()

    with pytest.raises(ValueError, match="cannot be under do_not_convert"):
        pipeline_def(do_not_convert(define), enable_conditionals=True)
    with pytest.raises(ValueError, match="cannot be under do_not_convert"):
        do_not_convert(pipeline_def(enable_conditionals=True)(lambda: None))


def test_lambdas_partials_and_objects_are_rewritten():
    class Callable:
        def __call__(self, p):
            return 1 if p else 2

    inside = lambda p: 3 if p else 4  # noqa: E731
    one, other = (lambda p: 5 if p else 6), (lambda p: 7 if p else 8)

    def define():
        p = flags()
        return Callable()(p), inside(p), functools.partial(inside, p)(), one(p), other(p)

    assert [out[:2] for out in run(define)] == [[1, 2], [3, 4], [3, 4], [5, 6], [7, 8]]


def test_a_function_without_source_says_so():
    space = {}
    exec("def made(p):\n    return 1 if p else 2\n", space)

    def define():
        return space["made"](flags())

    with pytest.raises(TypeError, match=r"its source \(<string>\) is not there"):
        run(define)


def test_python_itself_is_called_as_it_is():
    def define():
        return functools.reduce(lambda a, b: a and b, [flags(), flags([True] * 4)])

    assert run(define) == [FLAGS.tolist()]  # the lambda is part of the definition

    def one_more():
        return json.dumps(1, skipkeys=flags())

    with pytest.raises(TypeError, match="`dumps` is called as it is: .* Python's library"):
        run(one_more)


def test_switched_on_by_the_call_and_for_definitions_only():
    @pipeline_def(batch_size=4, num_threads=1)
    def define():
        return 1 if flags() else 2

    with pytest.raises(TypeError, match="enable_conditionals=True"):
        define()
    assert len(define(enable_conditionals=True).run()[0]) == 4

    class Sub(Pipeline):
        def define_graph(self):
            return 1 if flags() else 2

    with pytest.raises(TypeError, match="enable_conditionals=True"):
        Sub(batch_size=4, num_threads=1).build()


def test_a_definition_keeps_defaults_closures_and_globals():
    offset = 2

    @pipeline_def(batch_size=4, num_threads=1, enable_conditionals=True)
    def define(scale=3, *rest, low=1):
        nonlocal offset
        offset += 1
        numbers = np.int32([scale, low, offset, *rest, len(FLAGS)])
        return numbers if flags() else 0 * numbers

    pipe = define(4, 5, low=6)
    (out,) = pipe.run()
    assert np.asarray(out.as_torch_list()[0]).tolist() == [4, 6, 3, 5, 4]
    assert define.__name__ == "define"


# -- errors of the definition


def one_sided():
    if flags():
        x = 1
    return x


def one_sided_else():
    if flags():
        pass
    else:
        x = 1
    return x


def deleted():
    x = 1
    if flags():
        del x
    return x


def another_structure():
    if flags():
        x = [1, 2]
    else:
        x = (1, 2)
    return x[0]


def another_length():
    if flags():
        x = [1, 2]
    else:
        x = [1]
    return x[0]


def other_keys():
    if flags():
        x = {"a": 1}
    else:
        x = {"b": 1}
    return x["a"]


def no_data():
    if flags():
        x = "left"
    else:
        x = "right"
    return fn.copy(flags(), name=x)


def no_data_in_an_expression():
    return fn.copy(flags(), name="a" if flags() else "b")


def leaked():
    kept = []
    if flags():
        kept.append(fn.flip(images()))
    return fn.copy(kept[0])


def leaked_to_the_output():
    kept = []
    if flags():
        kept.append(fn.copy(flags()))
    return kept[0]


def leaked_to_the_other_branch():
    kept = []
    if flags():
        kept.append(fn.flip(images()))
        out = images()
    else:
        out = kept[0]
    return out


def one_returns():
    if flags():
        return 1


def returns_in_a_loop():
    for p in [flags()]:
        if p:
            return 1
    return 2


def breaks():
    for p in [flags(), flags()]:
        if p:
            break
    return p


def continues_in_a_with():
    for p in [flags(), flags()]:
        with pytest.MonkeyPatch.context():
            if p:
                continue
        fn.copy(p)
    return p


def loops_while():
    while flags():
        pass
    return flags()


def asserts():
    p = flags()
    assert p
    return p


def in_a_comprehension():
    return [x for x in (1, 2) if flags()][0]


def and_of_a_number():
    return flags() and 1


def yields():
    def parts():
        if flags():
            yield 1
        yield 2

    return list(parts())[0]


WRONG = {
    one_sided: (errors.PipelineError, "`x` has a value after one branch .*only.*`else` branch"),
    one_sided_else: (errors.PipelineError, "`x` has a value after one branch .*only.*`if` branch"),
    deleted: (errors.PipelineError, "`x` has a value after one branch"),
    another_structure: (TypeError, "`x` is a list of 2 in one branch .* a tuple of 2"),
    another_length: (TypeError, "`x` is a list of 2 in one branch .* a list of 1"),
    other_keys: (TypeError, "`x` is a dict of 'a' in one branch .* a dict of 'b'"),
    no_data: (TypeError, r"`x` is str \('left'\) in one branch .* str \('right'\)"),
    no_data_in_an_expression: (TypeError, "the expression is str"),
    leaked: (errors.PipelineError, "fn.flip: .* used outside the branch"),
    leaked_to_the_output: (errors.PipelineError, "fn.copy: .* used outside the branch"),
    leaked_to_the_other_branch: (errors.PipelineError, "fn.flip: .* used outside the branch"),
    one_returns: (errors.PipelineError, "one branch .* returns and the other does not"),
    returns_in_a_loop: (errors.PipelineError, "one branch .* returns and the other does not"),
    breaks: (errors.UnsupportedError, "`break` depends on a DataNode"),
    continues_in_a_with: (errors.UnsupportedError, "`continue` depends on a DataNode"),
    loops_while: (TypeError, "`while`, `assert`.* do not"),
    asserts: (TypeError, "`while`, `assert`.* do not"),
    in_a_comprehension: (TypeError, "`while`, `assert`.* do not"),
    and_of_a_number: (TypeError, "`and` takes bool on both sides, got int"),
    yields: (errors.UnsupportedError, "`yield` and `await` cannot stand in a branch"),
}


@for_each("define", WRONG, ids=lambda f: f.__name__)
def test_what_cannot_be_says_so_with_the_line(define):
    cls, text = WRONG[define]
    with pytest.raises(cls, match=f"(?s){text}") as caught:
        built(define)
    start = define.__code__.co_firstlineno
    lines = [line for line in str(caught.value).splitlines() if "defined at" in line]
    assert len(lines) == 1
    number = int(lines[0].split(":")[1].split(",")[0])
    assert start < number < start + 12


# -- errors of a run


def scalars_only():
    return 1 if batches(np.bool_([[True]] * 4)) else 2


def bool_only():
    return flags() and batches(np.int32([1] * 4))


def other_types():
    return flags() if flags() else 1.5


def other_dimensions():
    return np.int32([1]) if flags() else np.int32(1)


def other_layouts():
    return images() if flags() else batches(np.zeros((4, 2, 3, 1), np.uint8))


RUN_ERRORS = {
    scalars_only: (ValueError, "`if` takes one value a sample .* shape \\[1\\]"),
    bool_only: (TypeError, "`and` takes bool on both sides, got int32"),
    other_types: (errors.PipelineError, "one type, got .*both branches of a condition"),
    other_dimensions: (errors.PipelineError, "number of dimensions, .*both branches"),
    other_layouts: (errors.LayoutError, "one layout, got .*both branches"),
}


@pytest.mark.parametrize("define", RUN_ERRORS, ids=lambda f: f.__name__)
def test_what_a_run_finds_names_the_condition(define):
    cls, text = RUN_ERRORS[define]
    pipe = built(define)
    with pytest.raises(cls, match=f"(?s){text}") as caught:
        pipe.run()
    assert f"in {define.__name__}" in str(caught.value)
    assert "fn.conditional" not in str(caught.value)
