# SPDX-License-Identifier: Apache-2.0
"""Memory statistics: sizes of outputs of operators, and memory reserved for them."""

import numpy as np
import pytest
import torch
from helpers import dali_oracle, image_files
from helpers.ops import find

from torchdali import Pipeline, fn, types

KEYS = {
    "real_memory_size",
    "max_real_memory_size",
    "reserved_memory_size",
    "max_reserved_memory_size",
}
NOTHING = {key: [0] for key in KEYS}


def pipeline(define, batch_size=4, **options):
    options = {"num_threads": 2, "device_id": None, "enable_memory_stats": True, **options}
    pipe = Pipeline(batch_size=batch_size, **options)
    with pipe:
        made = define()
        pipe.set_outputs(*(made if isinstance(made, tuple) else (made,)))
    return pipe


def test_memory_statistics_are_off_by_default():
    pipe = pipeline(lambda: fn.random.uniform(), enable_memory_stats=False)
    assert not pipe.enable_memory_stats
    pipe.run()
    assert pipe.executor_statistics() == {}


def test_each_operator_has_four_lists_with_a_number_per_output():
    pipe = pipeline(lambda: fn.cast(fn.random.uniform(shape=[5], name="u"), dtype=types.UINT8))
    assert pipe.enable_memory_stats
    before = pipe.executor_statistics()
    assert set(before) == {"CPU_u", "CPU___Cast_0"}
    assert all(of == NOTHING for of in before.values())
    pipe.run()
    after = pipe.executor_statistics()
    assert after["CPU_u"]["real_memory_size"] == [4 * 5 * 4]
    assert after["CPU_u"]["max_real_memory_size"] == [5 * 4]
    # One block per worker that processed a sample, for any batch size.
    block = after["CPU_u"]["max_reserved_memory_size"][0]
    assert block >= 20
    assert after["CPU_u"]["reserved_memory_size"][0] in (block, 2 * block)
    assert after["CPU___Cast_0"] == {
        "real_memory_size": [20],
        "max_real_memory_size": [5],
        "reserved_memory_size": [20],
        "max_reserved_memory_size": [5],
    }


def test_statistics_have_the_largest_batch_and_sample():
    pipe = pipeline(lambda: fn.copy(fn.external_source(name="x")), prefetch_queue_depth=1)
    for shapes in ([(3,), (5,)], [(2,)] * 4, [(7,)], [(1,)] * 3):
        pipe.feed_input("x", [torch.zeros(shape, dtype=torch.uint8) for shape in shapes])
        pipe.run()
    stats = pipe.executor_statistics()
    assert stats["CPU___Copy_0"]["real_memory_size"] == [8]
    assert stats["CPU___Copy_0"]["max_real_memory_size"] == [7]
    assert stats["CPU___Copy_0"]["reserved_memory_size"][0] >= 8


def test_only_taken_iterations_count():
    pipe = pipeline(lambda: fn.copy(fn.external_source(name="x")), prefetch_queue_depth=3)
    for size in (1, 2, 9):
        pipe.feed_input("x", torch.zeros(1, size, dtype=torch.uint8))
    pipe.run()
    assert pipe.executor_statistics()["CPU___Copy_0"]["real_memory_size"] == [1]
    pipe.run()
    pipe.run()
    assert pipe.executor_statistics()["CPU___Copy_0"]["real_memory_size"] == [9]


def test_views_reserve_no_memory():
    pipe = pipeline(lambda: fn.cast(fn.external_source(name="x"), dtype=types.FLOAT))
    pipe.feed_input("x", torch.zeros(4, 3, dtype=torch.uint8))
    pipe.run()
    assert pipe.executor_statistics()["CPU_x"] == {
        "real_memory_size": [12],
        "max_real_memory_size": [3],
        "reserved_memory_size": [0],
        "max_reserved_memory_size": [0],
    }


def test_fused_values_have_no_memory(tmp_path):
    paths = []
    for i in range(2):
        paths.append(str(tmp_path / f"{i}.jpg"))
        pixels = image_files.photo_like(40, 50, seed=i)
        (tmp_path / f"{i}.jpg").write_bytes(image_files.encode(pixels))

    def define():
        encoded, _ = fn.readers.file(files=paths, name="files")
        image = fn.decoders.image(encoded, name="image")
        return fn.random_resized_crop(image, size=[8, 9], name="crop")

    pipe = pipeline(define, batch_size=2)
    pipe.run()
    stats = pipe.executor_statistics()
    assert stats["CPU_image"] == NOTHING
    assert stats["CPU_crop"]["real_memory_size"] == [2 * 8 * 9 * 3]
    assert [len(lists) for lists in stats["CPU_files"].values()] == [2] * 4
    assert stats["CPU_files"]["real_memory_size"][1] == 2 * 4


GRAPHS = {
    "chain": (
        [
            {"op": "cast", "inputs": ["x"], "args": {"dtype": types.FLOAT}, "outputs": ["a"]},
            {"op": "flip", "inputs": ["a"], "args": {"vertical": 1}, "outputs": ["b"]},
            {"op": "crop", "inputs": ["b"], "args": {"crop": [2.0, 3.0]}, "outputs": ["c"]},
        ],
        ["c", "a"],
    ),
    "several outputs of one": (
        [
            {"op": "resize", "inputs": ["x"], "args": {"size": [9.0, 5.0]}, "outputs": ["a"]},
            {"op": "cast", "inputs": ["a"], "args": {"dtype": types.INT64}, "outputs": ["b"]},
            {"op": "copy", "inputs": ["x"], "outputs": ["c"]},
        ],
        ["a", "b", "c"],
    ),
    "random": (
        [
            {"op": "random.uniform", "args": {"shape": [3, 5]}, "outputs": ["a"]},
            {"op": "random.coin_flip", "inputs": [], "outputs": ["b"]},
            {"op": "cast", "inputs": ["a"], "args": {"dtype": types.UINT8}, "outputs": ["c"]},
            {"op": "copy", "inputs": ["x"], "outputs": ["d"]},
        ],
        ["b", "c", "d"],
    ),
}


EQUAL_SAMPLES = {
    "chain": {"CPU_c"},
    "several outputs of one": {"CPU_a", "CPU_b"},
    "random": {"CPU_a", "CPU_b", "CPU_c"},
}


@pytest.mark.dali
@pytest.mark.parametrize("graph", GRAPHS)
def test_sizes_of_outputs_equal_dali(graph):
    nodes, outputs = GRAPHS[graph]
    nodes = [
        {**node, "args": {**node.get("args", {}), "name": node["outputs"][0]}} for node in nodes
    ]
    batches = [[np.zeros((4 + i + k, 6, 3), np.uint8) for i in range(3)] for k in (0, 2, 1)]
    theirs = dali_oracle.memory_statistics(
        nodes,
        outputs,
        {"x": {"batches": batches, "layout": "HWC"}},
        batch_size=3,
        iterations=3,
    )

    def define():
        made = {"x": fn.external_source(name="x", layout="HWC")}
        for node in nodes:
            inputs = [made[name] for name in node.get("inputs", [])]
            made[node["outputs"][0]] = find(node["op"])(*inputs, **node["args"])
        return tuple(made[name] for name in outputs)

    pipe = pipeline(define, batch_size=3)
    for batch in batches:
        pipe.feed_input("x", [torch.from_numpy(sample) for sample in batch])
        pipe.run()
    ours = pipe.executor_statistics()
    assert {"CPU_x"} | {f"CPU_{node['outputs'][0]}" for node in nodes} == set(ours)
    for name, of_operator in ours.items():
        assert set(of_operator) == set(theirs[name]) == KEYS
        assert of_operator["real_memory_size"] == theirs[name]["real_memory_size"], name
        # DALI has the mean of a contiguous batch, which is the same if samples are equal.
        largest, mean = of_operator["max_real_memory_size"], theirs[name]["max_real_memory_size"]
        assert largest == mean if name in EQUAL_SAMPLES[graph] else largest > mean, name
