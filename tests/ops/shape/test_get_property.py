# SPDX-License-Identifier: Apache-2.0
"""fn.get_property: properties of a sample, such as its layout and source."""

from __future__ import annotations

import pytest
from helpers.expressions import check_against_dali, evaluate
from helpers.inputs import ramp
from helpers.ops import OpCase, run_case, run_op

from torchdali import Pipeline, errors, fn

CASES = [
    OpCase("get_property", "HWC", (2, 3, 1), {"key": "layout"}),
    OpCase("get_property", "", (2, 3), {"key": "layout"}),
    OpCase("get_property", "HWC", (2, 3, 1), {"key": "source_info"}),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_properties_are_returned_as_bytes(case):
    expected = case.layout if case.args["key"] == "layout" else ""
    for sample in run_case(case).samples()[0]:
        assert bytes(sample.numpy()).decode() == expected


def test_unknown_keys_are_errors():
    with pytest.raises(ValueError, match='fn.get_property: `key` is "name", expected "source_inf'):
        run_op("get_property", ramp((2,)), key="name")


@pytest.fixture
def tree(tmp_path):
    for name in ("a/x.jpg", "b/y.jpg"):
        path = tmp_path / name
        path.parent.mkdir()
        path.write_bytes(name.encode())
    (tmp_path / "list.txt").write_text("a/x.jpg 0\nb/y.jpg 1\n")
    return tmp_path


@pytest.mark.dali
@pytest.mark.parametrize(
    "source",
    [
        "file_root='{0}'",
        "file_list='{0}/list.txt'",
        "file_root='{0}', file_list='{0}/list.txt'",
        "files=['{0}/a/x.jpg', '{0}/b/y.jpg']",
        "file_root='{0}/', files=['a/x.jpg', 'b/y.jpg']",
    ],
)
def test_source_info_equals_dali(tree, source):
    data = f"fn.readers.file({source.format(tree)})[0]"
    check_against_dali(
        f"fn.get_property({data}, key='source_info'), "
        f"fn.get_property(fn.cast({data}, dtype=types.FLOAT)[1:3], key='source_info')"
    )


def test_source_info_passes_through_operators(tree):
    reader = f"fn.readers.file(file_root='{tree}')[0]"
    result = evaluate(f"{reader}[:1].source_info(), {reader}.property('source_info')")
    for output in result[0]:
        assert [bytes(s.numpy()) for s in output.samples] == [b"a/x.jpg", b"b/y.jpg"]


@pytest.mark.dali
@pytest.mark.parametrize(
    "made",
    [
        "fn.permute_batch({0}, indices=[1, 0])",
        "fn.permute_batch({0}, indices=[1, 1])",
        "fn.multi_paste({0}, in_ids=[1], output_size=[1, 9])",
        "fn.multi_paste({0}, in_ids=[1, 0, 1], output_size=[1, 9])",
    ],
)
def test_samples_made_from_others_have_their_source_info(tree, made):
    data = f"fn.reshape(fn.readers.file(file_root='{tree}')[0], shape=[1, -1, 1], layout='HWC')"
    check_against_dali(f"fn.get_property({made.format(data)}, key='source_info'),")


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_an_error_names_the_source_of_a_permuted_sample(tree, device, monkeypatch):
    monkeypatch.setenv("TORCHDALI_EMULATE_GPU", "1")
    pipe = Pipeline(2, 2, device_id=None)
    with pipe:
        data, labels = fn.readers.file(file_root=tree)
        order = fn.permute_batch(fn.stack(data, data), indices=[1, 1], device=device)
        pipe.set_outputs(fn.permute_batch(labels, indices=[1, 0]), fn.squeeze(order, axes=0))
    with pytest.raises(errors.ArgumentError, match="cannot be removed") as caught:
        pipe.run()
    assert caught.value.source.endswith("b/y.jpg")
