# SPDX-License-Identifier: Apache-2.0
"""TorchDaliMapper, called as its actors are."""

from __future__ import annotations

import gc
import json
import weakref

import numpy as np
import pytest

pytest.importorskip("ray.data", reason='needs pip install "ray[data]"')

import pyarrow as pa

from tests.ray.local_ray import decode, encoded, table_of_numbers
from torchdali import fn
from torchdali.errors import ArgumentError, ArgumentTypeError, DataError
from torchdali.ray import TorchDaliMapper


def pixels(table, name="image"):
    """Returns the first element of each row."""
    arrays = [np.asarray(row) for chunk in table.column(name).chunks for row in _rows(chunk)]
    return [int(array.reshape(-1)[0]) for array in arrays]


def _rows(chunk):
    return list(chunk.to_numpy(zero_copy_only=False))


def test_batches_of_any_size_keep_their_rows():
    mapper = TorchDaliMapper(decode)
    first = 0
    for size in (3, 8, 1, 5):
        table = mapper(table_of_numbers(range(first, first + size)))
        assert table.column_names == ["image", "number"]
        assert pixels(table) == table["number"].to_pylist() == list(range(first, first + size))
        first += size
    assert mapper(table_of_numbers([])).num_rows == 0


def test_sliced_and_chunked_tables_are_read_from_their_offsets():
    whole = pa.concat_tables([table_of_numbers(range(5)), table_of_numbers(range(5, 12))])
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        table = whole.set_column(0, "image", whole["image"].cast(kind)).slice(3, 6)
        assert pixels(TorchDaliMapper(decode)(table)) == list(range(3, 9))


def test_bytes_and_dense_outputs_are_not_copied():
    from torchdali.ray._tables import samples_of

    table = table_of_numbers(range(4))
    (data,) = (chunk.buffers()[2] for chunk in table["image"].chunks)
    for sample in samples_of(table, ["image"]):
        address = sample["image"].__array_interface__["data"][0]
        assert data.address <= address < data.address + data.size
    from torchdali.ray._tables import output_column

    array = np.arange(24).reshape(2, 3, 4)
    (memory,) = (b for b in output_column(array).storage.buffers() if b and b.size >= array.nbytes)
    assert memory.address == array.ctypes.data


def test_outputs_are_not_overwritten_by_later_batches():
    mapper = TorchDaliMapper(decode)
    tables = [mapper(table_of_numbers([n] * 4)) for n in range(12)]
    assert [pixels(table) for table in tables] == [[n] * 4 for n in range(12)]


def test_images_of_different_sizes_become_ragged_columns():
    images = [b"P6 %d 2 255\n" % w + bytes([w] * 6 * w) for w in (1, 3, 2)]
    table = TorchDaliMapper(lambda image: {"image": fn.decoders.image(image)})(
        pa.table({"image": images})
    )
    (chunk,) = table["image"].chunks
    assert [row.shape for row in _rows(chunk)] == [(2, 1, 3), (2, 3, 3), (2, 2, 3)]
    assert pixels(table) == [1, 3, 2]


def test_rows_that_fail_take_all_their_columns_with_them(tmp_path):
    table = table_of_numbers(range(6), broken=[0, 3])

    def function(image, number, path):
        return {"image": fn.decoders.image(image), "twice": number * 2, "path": path}

    log = tmp_path / "bad.jsonl"
    mapper = TorchDaliMapper(function, on_error="skip", errors_file=log)
    out = mapper(table)
    good = [1, 2, 4, 5]
    assert pixels(out) == good
    assert out["path"].to_pylist() == [f"images/{n}.ppm" for n in good]
    assert pixels(out, "twice") == [2 * n for n in good]
    assert [error.source for error in mapper.errors] == ["images/0.ppm", "images/3.ppm"]
    assert [json.loads(line)["source"] for line in log.read_text().splitlines()] == [
        "images/0.ppm", "images/3.ppm",
    ]  # fmt: skip
    out = TorchDaliMapper(function, on_error="replace")(table)
    assert pixels(out) == [1, 1, 2, 2, 4, 5]
    assert out["path"].to_pylist() == [f"images/{n}.ppm" for n in pixels(out)]
    assert TorchDaliMapper(function, on_error="skip")(table.slice(3, 1)).num_rows == 0


def test_an_error_names_the_row_and_the_actor_goes_on():
    mapper = TorchDaliMapper(decode)
    with pytest.raises(DataError, match=r"images/3\.ppm"):
        mapper(table_of_numbers(range(6), broken=[3]))
    assert pixels(mapper(table_of_numbers(range(6)))) == list(range(6))
    plain = table_of_numbers(range(6), broken=[3]).drop_columns("path")
    with pytest.raises(DataError, match="row 3 of the batch"):
        TorchDaliMapper(decode)(plain)
    numbered = TorchDaliMapper(decode, name_column="number")
    with pytest.raises(DataError, match='source "3"'):
        numbered(plain)


def test_too_many_failures_are_an_error():
    mapper = TorchDaliMapper(decode, on_error="skip", max_errors=2)
    mapper(table_of_numbers(range(6), broken=[0, 1]))
    with pytest.raises(DataError, match="max_errors=2"):
        mapper(table_of_numbers(range(6), broken=[0]))


def test_a_null_fails_as_a_row():
    table = pa.table({"image": [encoded(0), None, encoded(2)], "number": [0, 1, 2]})
    with pytest.raises(DataError, match="row 1"):
        TorchDaliMapper(decode)(table)
    assert pixels(TorchDaliMapper(decode, on_error="skip")(table)) == [0, 2]


def test_a_dict_of_arrays_gives_one():
    batch = {
        "image": np.array([encoded(n) for n in range(3)] + [b"P6"], object),
        "number": np.arange(4),
    }
    out = TorchDaliMapper(decode, on_error="skip")(batch)
    assert out["image"].shape == (3, 4, 4, 3)
    assert out["number"].tolist() == [0, 1, 2]


def test_tensors_of_a_column_are_data_for_operators():
    def halve(image):
        return {"half": fn.resize(image, size=[2, 2])}

    images = TorchDaliMapper(decode)(table_of_numbers(range(3)))
    assert pixels(TorchDaliMapper(halve, fields={"image": "HWC"})(images), "half") == [0, 1, 2]
    with pytest.raises(ValueError, match="layout"):  # 4 x 4 x 3: either may be the channels
        TorchDaliMapper(halve)(images)


def test_a_seed_decides_on_random_values_whichever_actor_runs():
    def noise(image, number):
        return {"noise": fn.random.uniform(range=[0, 1], shape=[4]), "number": number}

    tables = [table_of_numbers(range(4)), table_of_numbers(range(4, 8))]
    options = {"pipeline_options": {"seed": 5}}

    def made(mapper, table):
        return mapper(table)["noise"].combine_chunks()

    first, second = TorchDaliMapper(noise, **options), TorchDaliMapper(noise, **options)
    values = [made(first, table) for table in tables]
    assert [made(second, table) for table in tables[::-1]] == values[::-1]
    assert values[0] != values[1]
    assert made(TorchDaliMapper(noise), tables[0]) != made(TorchDaliMapper(noise), tables[0])


def test_mistakes_are_explained():
    for arguments, kind, text in (
        ({"pipeline": 3}, ArgumentTypeError, "expected a function"),
        ({"on_error": "ignore"}, ArgumentError, "raise, skip, replace"),
        ({"max_errors": -1}, ArgumentError, "max_errors"),
        ({"pipeline_options": {"threads": 1}}, ArgumentTypeError, "threads"),
        ({"pipeline_options": {"batch_size": 1}}, ArgumentError, "TorchDaliMapper"),
    ):
        with pytest.raises(kind, match=text):
            TorchDaliMapper(**{"pipeline": decode, **arguments})
    table = table_of_numbers(range(2))
    with pytest.raises(ArgumentError, match=r"rename_columns"):
        TorchDaliMapper(lambda bytes: {"image": fn.decoders.image(bytes)})(table)
    with pytest.raises(ArgumentTypeError, match="expected a dict from columns"):
        TorchDaliMapper(lambda image: fn.decoders.image(image))(table)
    with pytest.raises(ArgumentTypeError, match='batch_format="pyarrow"'):
        TorchDaliMapper(decode)(table.to_pandas())
    with pytest.raises(ArgumentError, match="name_column"):
        TorchDaliMapper(decode, name_column="file")(table)
    with pytest.raises(ArgumentTypeError, match="TorchDaliMapper: field `path` is a str"):
        TorchDaliMapper(lambda path: {"path": fn.decoders.image(path)})(table)


def test_a_mapper_frees_what_it_has():
    mapper = TorchDaliMapper(decode)
    table = table_of_numbers(range(8))
    (buffer,) = (chunk.buffers()[2] for chunk in table["image"].chunks)
    gone = weakref.ref(buffer)
    del buffer
    out = mapper(table)
    del table
    mapper(table_of_numbers(range(8)))  # the engine may keep the batch before
    gc.collect()
    assert gone() is None
    allocated = pa.total_allocated_bytes()
    del out, mapper
    gc.collect()
    assert pa.total_allocated_bytes() <= allocated
