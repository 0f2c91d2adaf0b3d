# SPDX-License-Identifier: Apache-2.0
"""fn.readers.parquet and fn.readers.arrow: Arrow tables, Parquet files, Hugging Face datasets."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from torchdali import fn, pipeline_def, types
from torchdali.errors import ArgumentError, DataError, FileError, UnsupportedError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 11


def table():
    """Returns a table with a column of each kind that can be read."""
    numbers = list(range(ROWS))
    return pa.table(
        {
            "data": pa.array([b"x" * i for i in numbers], pa.binary()),
            "large": pa.array([b"y" * i for i in numbers], pa.large_binary()),
            "text": pa.array([f"né{i}" for i in numbers], pa.string()),
            "fixed": pa.array([bytes([i, i]) for i in numbers], pa.binary(2)),
            "label": pa.array(numbers, pa.int32()),
            "score": pa.array([i / 2 for i in numbers], pa.float64()),
            "even": pa.array([i % 2 == 0 for i in numbers], pa.bool_()),
            "names": pa.array([f"n{i % 3}" for i in numbers]).dictionary_encode(),
            "when": pa.array([i * 1000 for i in numbers], pa.timestamp("ms")),
            "list": pa.array([[i] * (i % 3) for i in numbers], pa.list_(pa.int16())),
            "flags": pa.array([[True, i % 2 == 0, False] for i in numbers], pa.list_(pa.bool_())),
            "matrix": pa.array(
                [[[i, 1.0, 2.0], [3.0, 4.0, 5.0]] for i in numbers],
                pa.list_(pa.list_(pa.float32(), 3)),
            ),
            "image": pa.array(
                [{"bytes": b"z" * i, "path": None, "other": i} for i in numbers],
                pa.struct([("path", pa.string()), ("other", pa.int8()), ("bytes", pa.binary())]),
            ),
        }
    )


def text(value):
    return np.frombuffer(value, np.uint8)


EXPECTED = {
    "data": lambda i: text(b"x" * i),
    "large": lambda i: text(b"y" * i),
    "text": lambda i: text(f"né{i}".encode()),
    "fixed": lambda i: text(bytes([i, i])),
    "label": np.int32,
    "score": lambda i: np.float64(i / 2),
    "even": lambda i: np.bool_(i % 2 == 0),
    "names": lambda i: text(f"n{i % 3}".encode()),
    "when": lambda i: np.int64(i * 1000),
    "list": lambda i: np.full(i % 3, i, np.int16),
    "flags": lambda i: np.array([True, i % 2 == 0, False]),
    "matrix": lambda i: np.array([[i, 1, 2], [3, 4, 5]], np.float32),
    "image": lambda i: text(b"z" * i),
    "image.other": np.int8,
}


def write(folder, files=2, **options):
    """Writes the table into files with row groups of two rows."""
    rows = table()
    half = ROWS // files + 1
    for i in range(files):
        pq.write_table(rows.slice(i * half, half), folder / f"{i}.parquet", 2, **options)
    return str(folder)


OPERATORS = ["readers.arrow", "readers.parquet"]

SOURCES = {
    "readers.parquet": lambda folder: {
        "paths": write(folder),
        "columns": ["label"],
        "random_shuffle": True,
    },
    "readers.arrow": lambda folder: {"table": table(), "columns": ["label"]},
}


def build(reader, batch_size=1, **args):
    @pipeline_def(batch_size=batch_size, num_threads=2, device_id=None, seed=7)
    def define():
        outputs = reader(name="rows", **args)
        return tuple(outputs) if isinstance(outputs, list) else outputs

    pipe = define()
    pipe.build()
    return pipe


def labels(pipe, count=ROWS):
    return [int(pipe.run()[0].at(0)) for _ in range(count)]


@pytest.mark.parametrize("column", EXPECTED)
@pytest.mark.parametrize("source", ["arrow", "sliced", "parquet", "row cache"])
def test_a_column_has_its_values(column, source, tmp_path):
    expected = [EXPECTED[column](i) for i in range(ROWS)]
    if source == "arrow":
        pipe = build(fn.readers.arrow, table=table(), columns=column)
    elif source == "sliced":  # offsets in all buffers, and several chunks
        parts = [table().slice(3, 3), table().slice(6)]
        pipe = build(fn.readers.arrow, table=pa.concat_tables(parts), columns=[column])
        expected = expected[3:]
    else:
        cache = {"row_cache": str(tmp_path / "cache")} if source == "row cache" else {}
        pipe = build(fn.readers.parquet, paths=write(tmp_path), columns=[column], **cache)
    assert pipe.reader_meta("rows")["epoch_size"] == len(expected)
    for value in expected:
        got = pipe.run()[0].at(0)
        assert (got.shape, got.dtype) == (value.shape, value.dtype)
        np.testing.assert_array_equal(got, value)


@pytest.mark.parametrize("options", [{}, {"memory_bytes": 0}, {"row_cache": "cache"}])
@pytest.mark.filterwarnings("ignore:readers.parquet")
def test_shuffling_permutes_all_rows(options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    args = {"paths": write(tmp_path), "columns": "label", "random_shuffle": True, **options}
    first = labels(build(fn.readers.parquet, **args))
    assert sorted(first) == list(range(ROWS)) != first
    pipe = build(fn.readers.parquet, **args)
    assert labels(pipe) == first
    assert labels(pipe) != first  # the next epoch
    assert labels(build(fn.readers.arrow, table=table(), columns="label", random_shuffle=True)) == (
        first
    )


def test_a_shuffle_larger_than_the_memory_warns(tmp_path):
    args = {"paths": write(tmp_path), "columns": "label", "memory_bytes": 10}
    with pytest.warns(UserWarning, match="`row_cache` a folder"):
        build(fn.readers.parquet, **args, random_shuffle=True)
    build(fn.readers.parquet, **args)  # in order: no warning, which would be an error


def test_shards_divide_the_rows(tmp_path):
    args = {"paths": write(tmp_path), "columns": "label", "num_shards": 2, "stick_to_shard": True}
    found = [
        labels(build(fn.readers.parquet, **args, shard_id=shard), size)
        for shard, size in ((0, 5), (1, 6))
    ]
    assert found == [list(range(5)), list(range(5, ROWS))]


def test_the_row_cache_is_made_once_and_again_if_damaged(tmp_path):
    cache = tmp_path / "cache"
    args = {"paths": write(tmp_path), "columns": "label", "row_cache": str(cache)}

    def run():
        assert labels(build(fn.readers.parquet, **args)) == list(range(ROWS))
        return {p: (p.stat().st_mtime_ns, hashlib.md5(p.read_bytes())) for p in cache.iterdir()}

    made = run()
    assert len(made) == 6
    assert {p: t for p, (t, _) in run().items()} == {p: t for p, (t, _) in made.items()}
    broken = sorted(made)[0]
    broken.write_bytes(broken.read_bytes()[:-20])
    assert run()[broken][1].digest() == made[broken][1].digest()


def test_columns_are_outputs_in_the_order_given():
    pipe = build(fn.readers.arrow, table=table(), columns=["score", "label"], batch_size=3)
    scores, numbers = pipe.run()
    assert scores.as_array().tolist() == [0, 0.5, 1]
    assert numbers.as_array().tolist() == [0, 1, 2]


def test_a_null_names_row_and_column(tmp_path):
    rows = pa.table({"label": pa.array([0, 1, 2, None, 4], pa.int64())})
    pq.write_table(rows, tmp_path / "a.parquet", 2)
    pipe = build(fn.readers.parquet, paths=str(tmp_path), columns="label")
    assert labels(pipe, 3) == [0, 1, 2]
    with pytest.raises(
        DataError, match=r'column "label": it is null(.|\n)*a\.parquet, row group 1, row 1'
    ):
        pipe.run()
    skipping = build(fn.readers.arrow, table=rows, columns="label", on_error="skip", batch_size=5)
    assert skipping.run()[0].as_array().tolist() == [0, 1, 2, 4]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[[1], [2, 3]]], "its lists have 1 and 2 elements"),
        ([[[1], None]], "element 1 of its list is null"),
        ([[[1, None]]], "element 1 of its list is null"),
    ],
)
def test_ragged_lists_and_nulls_in_them_are_refused(values, message):
    pipe = build(fn.readers.arrow, table=pa.table({"x": values}), columns="x")
    with pytest.raises(DataError, match=message):
        pipe.run()


def test_a_file_is_read_if_the_bytes_are_null(tmp_path):
    (tmp_path / "a").write_bytes(b"content")
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    paths = [str(tmp_path / "a"), str(tmp_path / "none"), None]
    images = pa.array([{"bytes": None, "path": path} for path in paths], kind)
    pipe = build(fn.readers.arrow, table=pa.table({"image": images}), columns="image")
    assert bytes(pipe.run()[0].at(0)) == b"content"
    with pytest.raises(FileError, match="none"):
        pipe.run()
    with pytest.raises(DataError, match="it is null"):
        pipe.run()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["nothing"], "no column 'nothing'; it has 'data', 'large'"),
        (["image.nothing"], "no column 'image.nothing'"),
        (["label.x"], "no column 'label.x': 'label' is int32"),
        ([], "`columns` is an empty list"),
    ],
)
def test_wrong_columns_are_named(columns, message):
    with pytest.raises((DataError, ArgumentError), match=message):
        build(fn.readers.arrow, table=table(), columns=columns)


@pytest.mark.parametrize("kind", [pa.decimal128(5), pa.list_(pa.string()), pa.null()])
def test_types_that_are_not_read_are_named(kind):
    rows = pa.table({"x": pa.array([None], kind)})
    with pytest.raises(DataError, match=r"column 'x' has the type"):
        build(fn.readers.arrow, table=rows, columns="x")


def test_other_objects_are_refused():
    with pytest.raises(DataError, match=r"`table` is int, expected a pyarrow\.Table"):
        build(fn.readers.arrow, table=3, columns="x")


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no table PAR1")
    with pytest.raises(DataError, match=r"a\.parquet' is not a Parquet file"):
        build(fn.readers.parquet, paths=str(tmp_path), columns="x")
    with pytest.raises(FileError, match="absent"):
        build(fn.readers.parquet, paths=str(tmp_path / "absent"), columns="x")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"no files \*\.parquet"):
        build(fn.readers.parquet, paths=str(tmp_path / "empty"), columns="x")


def test_files_with_other_types_are_refused(tmp_path):
    pq.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [1.5]}), tmp_path / "b.parquet")
    with pytest.raises(DataError, match="differ in the types of their columns"):
        build(fn.readers.parquet, paths=str(tmp_path), columns="x")


def test_a_changed_row_group_fails_its_samples(tmp_path):
    pipe_args = {"paths": write(tmp_path, compression="none"), "columns": "label"}
    pipe = build(fn.readers.parquet, **pipe_args, prefetch_queue_depth=1)
    path = tmp_path / "1.parquet"
    path.write_bytes(b"0" * path.stat().st_size)
    with pytest.raises(DataError, match=r"1\.parquet', row group \d, cannot be read"):
        labels(pipe)


def test_a_row_group_with_lost_rows_is_refused(tmp_path, monkeypatch):
    # As pyarrow 26 reads pages of version 2.0 with booleans that are all null.
    read = pq.ParquetFile.read_row_group
    monkeypatch.setattr(
        pq.ParquetFile, "read_row_group", lambda *args, **options: read(*args, **options).slice(1)
    )
    pipe = build(fn.readers.parquet, paths=write(tmp_path), columns="label")
    with pytest.raises(DataError, match=r"0\.parquet', row group 0: pyarrow .* 1 rows, expected 2"):
        labels(pipe)


class TestHuggingFace:
    @pytest.fixture
    def dataset(self):
        datasets = pytest.importorskip("datasets")
        features = datasets.Features(
            {"image": datasets.Image(decode=False), "label": datasets.ClassLabel(num_classes=ROWS)}
        )
        rows = {
            "image": [{"bytes": b"z" * i, "path": None} for i in range(ROWS)],
            "label": list(range(ROWS)),
        }
        return datasets.Dataset.from_dict(rows, features=features)

    def test_rows_come_in_the_order_of_the_dataset(self, dataset):
        chosen = dataset.shuffle(seed=3).select([4, 1, 2])
        pipe = build(fn.readers.arrow, table=chosen, columns=["image", "label"], batch_size=3)
        images, numbers = pipe.run()
        assert numbers.as_array().tolist() == chosen["label"][:]
        assert [len(images.at(i)) for i in range(3)] == chosen["label"][:]

    def test_one_split_is_asked_for(self, dataset):
        datasets = pytest.importorskip("datasets")
        with pytest.raises(DataError, match="choose a split"):
            build(fn.readers.arrow, table=datasets.DatasetDict(train=dataset), columns="label")
        with pytest.raises(DataError, match="without streaming=True"):
            build(fn.readers.arrow, table=dataset.to_iterable_dataset(), columns="label")


def test_a_table_cannot_be_serialized(tmp_path):
    pipe = build(fn.readers.arrow, table=table(), columns="label")
    with pytest.raises(UnsupportedError, match="`table` cannot be serialized"):
        pipe.serialize()
    assert build(fn.readers.parquet, paths=write(tmp_path), columns="label").serialize()


def test_images_are_decoded():
    PIL = pytest.importorskip("PIL.Image")
    import io

    out = io.BytesIO()
    PIL.fromarray(np.full((4, 6, 3), 99, np.uint8)).save(out, "PNG")
    rows = pa.table({"image": [out.getvalue()] * 2})

    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def define():
        return fn.decoders.image(
            fn.readers.arrow(table=rows, columns="image"), output_type=types.RGB
        )

    pipe = define()
    pipe.build()
    assert (pipe.run()[0].as_array() == 99).all()
