# SPDX-License-Identifier: Apache-2.0
"""fn.readers.webdataset: components, order, formats of tar, indexes, parity with DALI."""

import itertools
import os
import random
import tarfile

import numpy as np
import pytest
import torch
from helpers.cases import for_each
from helpers.dali_oracle import run_graph
from helpers.tars import FORMATS, entry, epoch, webdataset, write_tar

from torchdali import types
from torchdali.index import make_indexes

OPERATORS = ["readers.webdataset"]
LONG = "d" * 90 + "/" + "e" * 60


def write_shards(folder, shards=3, samples=4):
    """Sample i of all is the bytes i of i.x, and the text of i in i.cls."""
    numbers = itertools.count()
    return [
        write_tar(
            folder / f"{shard}.tar",
            [
                file
                for i in itertools.islice(numbers, samples)
                for file in ((f"{i}.x", bytes([i] * (i + 1))), (f"{i}.cls", b"%d" % i))
            ],
        )
        for shard in range(shards)
    ]


# For test_contract.py.
SOURCES = {
    "readers.webdataset": lambda folder: {
        "paths": write_shards(folder),
        "ext": ["x", "cls"],
        "random_shuffle": True,
    }
}


def numbers(pipe, count):
    return [int(pipe.run()[1].at(0).tobytes()) for _ in range(count)]


def test_outputs_are_the_components_of_each_sample(tmp_path):
    shards = write_shards(tmp_path)
    data, label = webdataset(shards, ["x", "cls"], batch_size=3).run()
    assert [data.at(i).tolist() for i in range(3)] == [[0], [1, 1], [2, 2, 2]]
    assert [label.at(i).tobytes() for i in range(3)] == [b"0", b"1", b"2"]
    assert data.at(0).dtype == label.at(0).dtype == "uint8"
    assert epoch(shards, "cls") == [(b"%d" % i,) for i in range(12)]


def test_shuffling_permutes_the_samples_of_all_shards(tmp_path):
    shards = write_shards(tmp_path)
    pipe = webdataset(shards, ["x", "cls"], random_shuffle=True)
    epochs = [numbers(pipe, 12) for _ in range(20)]
    assert all(sorted(one) == list(range(12)) for one in epochs)
    assert {one[0] for one in epochs} & set(range(4, 12))  # DALI's buffer begins with shard 0
    parts = [
        numbers(
            webdataset(shards, ["x", "cls"], num_shards=5, shard_id=k),
            12 * (k + 1) // 5 - 12 * k // 5,
        )
        for k in range(5)
    ]
    assert list(itertools.chain(*parts)) == list(range(12))


def test_reading_ahead_and_late_changes_nothing(tmp_path):
    shards = write_shards(tmp_path)
    plain = epoch(shards, ["x", "cls", "none"])
    for args in ({"read_ahead": True, "prefetch_queue_depth": 5}, {"lazy_init": True}):
        assert epoch(shards, ["x", "cls", "none"], **args) == plain
    indexes = [str(path) for path in make_indexes("webdataset", shards)]
    for ahead in (False, True):
        args = {"index_paths": indexes, "read_ahead": ahead}
        assert epoch(shards, ["x", "cls", "none"], **args) == plain


MIXED = [
    entry("dir/", tarfile.DIRTYPE),
    ("dir/a.jpg", b"A" * 700),
    ("dir/a.cls", b"1234"),
    ("b.seg.png", b"B" * 8),
    ("b.JPG", b"12345678"),
    entry("b.cls", tarfile.SYMTYPE, linkname="dir/a.cls"),
    entry("hard.jpg", tarfile.LNKTYPE, linkname="dir/a.jpg"),
    entry("pipe.jpg", tarfile.FIFOTYPE),
    ("c.jpg", b""),
    ("c.cls", b"12"),
    ("./v1.0/d.jpg", b"dd"),
    ("./v1.0/e.jpg", b"ee"),
    ("b.cls", b"late"),
    ("f.jpg", b"1111"),
    ("f.jpg", b"2222"),
    ("f.Cls;x", b"semi"),
]
MIXED_EXTENSIONS = [
    ["jpg", "cls"],
    ["seg.png;jpg", "cls;txt"],
    ["JPG"],
    ["cls", "cls", "absent"],
    [";jpg;;"],
    ["Cls;x"],
    ["nothing"],
]


@pytest.mark.dali
@pytest.mark.parametrize("indexed", [False, True])
@for_each("extensions", MIXED_EXTENSIONS)
def test_components_are_those_of_dali(extensions, indexed, tmp_path):
    args = {"paths": [write_tar(tmp_path / "mixed.tar", MIXED)], "ext": extensions}
    if indexed:
        args["index_paths"] = [str(make_indexes("webdataset", args["paths"])[0])]
    for behavior, case in itertools.product(("", "Skip", "empty"), (True, False)):
        both = args | {"missing_component_behavior": behavior, "case_sensitive_extensions": case}
        names = [f"out{i}" for i in range(len(extensions))]
        try:
            pipe = webdataset(**both)
        except ValueError:
            assert behavior == "Skip"  # no sample is left; DALI says so too
            with pytest.raises(RuntimeError, match="number of input samples: 0"):
                run_graph(
                    [{"op": OPERATORS[0], "args": both, "outputs": names}], names, batch_size=1
                )
            continue
        size = pipe.reader_meta("tars")["epoch_size"]
        node = {"op": OPERATORS[0], "args": both, "outputs": names}
        theirs = run_graph(
            [node], names, batch_size=1, iterations=size + 1
        )  # goes on from the start
        for outputs in theirs:
            ours = pipe.run()
            for mine, other in zip(ours, outputs, strict=True):
                assert torch.equal(torch.from_numpy(np.array(mine.at(0))), other.samples[0])
            info = {other.source_info[0] for other in outputs} - {""}
            assert not info or ours[0][0].source_info() in info


@pytest.mark.dali
def test_types_are_those_of_dali(tmp_path):
    files = {"a.x": bytes(range(16)), "a.y": b"", "b.x": bytes(range(8))}
    kinds = [types.INT32, types.FLOAT16, types.UINT64, types.INT8, types.FLOAT64]
    args = {"paths": [write_tar(tmp_path / "a.tar", files)], "dtypes": kinds}
    args["ext"] = ["x", "y", "x", "x", "y"]
    names = [f"out{i}" for i in range(5)]
    node = {"op": OPERATORS[0], "args": args, "outputs": names}
    pipe = webdataset(**args)
    for outputs in run_graph([node], names, batch_size=1, iterations=2):
        for mine, other in zip(pipe.run(), outputs, strict=True):
            assert mine.at(0).dtype == other.samples[0].numpy().dtype
            assert mine.at(0).tobytes() == other.samples[0].numpy().tobytes()
    data = webdataset(args["paths"], "x", dtypes=torch.int16).run()[0].at(0)
    assert data.tolist() == np.frombuffer(files["a.x"], "int16").tolist()


@for_each("kind", FORMATS)
def test_samples_have_the_bytes_of_tarfile(kind, tmp_path):
    names = ["a.jpg", "ü/b.jpg", "c d.jpg", "e\n.jpg"]
    names += [f"{LONG}.jpg"] if kind == "ustar" else [f"{LONG * 9}.jpg", "after.jpg"]
    files = {name: os.urandom(1000 * i) for i, name in enumerate(names)}
    path = write_tar(tmp_path / "a.tar", files, kind)
    with tarfile.open(path) as archive:
        expected = [(archive.extractfile(member).read(),) for member in archive]
    assert epoch(path, "jpg") == expected == [(data,) for data in files.values()]
    index = make_indexes("webdataset", [path])[0]
    assert epoch(path, "jpg", index_paths=str(index)) == expected


def test_samples_of_the_webdataset_package(tmp_path):
    wds = pytest.importorskip("webdataset")
    state = random.getstate()  # of which the package makes use
    path = str(tmp_path / "a.tar")
    with wds.TarWriter(path) as sink:
        for i in range(20):
            sink.write(
                {"__key__": f"part/{i:04}", "cls": i, "npy": np.arange(i), "txt": f"text {i}"}
            )
    expected = [
        (sample["txt"], sample["cls"])
        for sample in wds.WebDataset(path, shardshuffle=False, empty_check=False)
    ]
    random.setstate(state)
    assert len(expected) == 20
    assert epoch(path, ["txt", "cls"]) == expected


def test_indexes_without_names_and_with_spaces_in_them(tmp_path):
    files = {"a b/c d.my ext": b"1", "a b/c d.x 5 6": b"22", "p.x/q.x r/s.x": b"333"}
    path = write_tar(tmp_path / "a.tar", files)
    plain = epoch(path, ["my ext", "x 5 6", "x"])
    assert plain == [(b"1", b"22", b""), (b"", b"", b"333")]
    index = make_indexes("webdataset", [path])[0]
    assert epoch(path, ["my ext", "x 5 6", "x"], index_paths=str(index)) == plain
    index.write_text("v1.1 2\nmy ext 512 1 x 5 1536 2\nx 2560 3\n")
    pipe = webdataset(path, ["my ext", "x"], index_paths=str(index))
    assert [out.at(0).tobytes() for out in pipe.run()] == [b"1", b""]
    assert pipe.run()[1][0].source_info() == f"{path}:2560:"


def test_a_component_may_be_of_several_outputs(tmp_path):
    # DALI returns it for both, too, but "skip" and "error" then take the sample for incomplete.
    path = write_tar(tmp_path / "a.tar", {"a.x": b"1", "a.y": b"2", "b.x": b"3"})
    expected = [(b"1", b"1"), (b"3", b"3")]
    assert epoch(path, ["x", "y;x"]) == expected
    assert epoch(path, ["x", "y;x"], missing_component_behavior="skip") == expected


def test_hidden_files_are_left_out_and_names_without_a_dot_are_no_component(tmp_path):
    files = {"a.x": b"1", ".x": b"2", "d/.x": b"3", "readme": b"4", "b.x": b"5"}
    path = write_tar(tmp_path / "a.tar", files)
    assert epoch(path, "x") == [(b"1",), (b"",), (b"5",)]
    assert epoch(path, "x", missing_component_behavior="skip") == [(b"1",), (b"5",)]


def test_archives_without_the_end_marker_and_empty_ones_are_read(tmp_path):
    path = write_tar(tmp_path / "a.tar", {"a.x": b"1"})
    short = tmp_path / "short.tar"
    short.write_bytes((tmp_path / "a.tar").read_bytes()[:513])
    empty = write_tar(tmp_path / "empty.tar", {})
    assert epoch([path, empty, str(short)], "x") == [(b"1",), (b"1",)]
