# SPDX-License-Identifier: Apache-2.0
"""Conditionals: what a definition cannot do, and errors of a run."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.conditional_pipelines import batches, built, flags, images

from torchdali import errors, fn


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
    yields: (errors.UnsupportedError, "`yield` and `await` cannot be used in a branch"),
}


@for_each("define", WRONG, ids=lambda f: f.__name__)
def test_wrong_definitions_raise_with_the_line_of_the_condition(define):
    cls, text = WRONG[define]
    with pytest.raises(cls, match=f"(?s){text}") as caught:
        built(define)
    start = define.__code__.co_firstlineno
    lines = [line for line in str(caught.value).splitlines() if "defined at" in line]
    assert len(lines) == 1
    number = int(lines[0].split(":")[1].split(",")[0])
    assert start < number < start + 12


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
    scalars_only: (ValueError, "`if` takes one value per sample .* shape \\[1\\]"),
    bool_only: (TypeError, "`and` takes bool on both sides, got int32"),
    other_types: (errors.PipelineError, "one type, got .*both branches of a condition"),
    other_dimensions: (errors.PipelineError, "number of dimensions, .*both branches"),
    other_layouts: (errors.LayoutError, "one layout, got .*both branches"),
}


@pytest.mark.parametrize("define", RUN_ERRORS, ids=lambda f: f.__name__)
def test_errors_of_a_run_name_the_condition(define):
    cls, text = RUN_ERRORS[define]
    pipe = built(define)
    with pytest.raises(cls, match=f"(?s){text}") as caught:
        pipe.run()
    assert f"in {define.__name__}" in str(caught.value)
    assert "fn.conditional" not in str(caught.value)
