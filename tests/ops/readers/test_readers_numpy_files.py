# SPDX-License-Identifier: Apache-2.0
"""fn.readers.numpy: which files it reads, in which order"""

from __future__ import annotations

import os

import numpy as np
import pytest
from helpers.array_readers import build, read, read_in_dali
from helpers.cases import check_each, for_each

from torchdali.errors import FileError

OPERATORS = ["readers.numpy"]
OP = "readers.numpy"


def make_tree(folder):
    names = "b.npy a.npy sub/c.npy sub/deep/d.npy .hidden.npy .h/e.npy x.txt Z.NPY A.npy -d/f.npy"
    names += " sub-1/g.npy"
    for i, name in enumerate(names.split()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with (folder / name).open("wb") as file:
            np.save(file, np.array([i]))
    os.symlink("b.npy", folder / "link.npy")
    os.symlink("sub", folder / "sub_link")
    (folder / "list.txt").write_text(f"sub/c.npy\na.npy\n{folder}/b.npy\n")
    return str(folder)


def labels(samples):
    return [int(sample[0]) for sample in samples]


FILTERS = ["*.npy", "a*.npy", "[ab].npy", "[!a]*.npy", ".*.npy", "?.npy"]


@pytest.mark.dali
@pytest.mark.parametrize("shards", [1, 2])
def test_files_are_found_in_the_order_of_dali(shards, tmp_path):
    root = make_tree(tmp_path)
    cases = [{"file_root": root, "file_filter": f} for f in FILTERS]
    cases += [{"file_root": root + "/"}, {"file_list": f"{root}/list.txt"}]
    cases += [{"file_root": root, "files": ["a.npy", "sub/c.npy", f"{root}/b.npy"]}]
    cases += [{"file_root": f"{root}/sub", "files": ["c.npy"], "file_filter": "b*"}]

    def check(args):
        if shards == 2 and args.get("file_filter"):
            return  # some filters leave one file only
        args = {**args, "batches": 12, "num_shards": shards, "shard_id": shards - 1}
        samples, _ = read_in_dali(OP, **args)
        assert labels(read(OP, **args)[0]) == labels(samples[0])

    check_each(cases, check)


def test_source_info_is_the_path_below_the_root(tmp_path):
    make_tree(tmp_path)
    out = build(OP, batch_size=9, file_root=str(tmp_path)).run()[0]
    found = [out[i].source_info() for i in range(9)]
    expected = ["-d/f.npy", "A.npy", "a.npy", "b.npy", "link.npy", ".h/e.npy"]
    assert found == [*expected, "sub-1/g.npy", "sub/c.npy", "sub_link/c.npy"]


@for_each(
    ("args", "kind", "message"),
    [
        ({}, ValueError, "no files are given"),
        ({"files": []}, ValueError, "`files` is an empty list"),
        ({"files": ["a"], "file_list": "b"}, ValueError, "`files` and `file_list` exclude"),
        ({"file_root": "/nonexistent"}, FileError, 'cannot list the folder "/nonexistent"'),
        ({"file_root": "{}", "file_filter": "q"}, FileError, 'no files found in .*"q"'),
        ({"file_list": "{}/empty"}, FileError, "the list file .*empty.* is empty"),
        ({"file_list": "{}/none"}, FileError, "cannot open .*none"),
        ({"files": ["{}/none.npy"]}, FileError, "cannot open .*none.npy"),
    ],
)
def test_missing_files_are_refused(args, kind, message, tmp_path):
    (tmp_path / "empty").write_text("\n")

    def fill(value):
        return value.format(tmp_path) if isinstance(value, str) else [fill(v) for v in value]

    with pytest.raises(kind, match=message):
        read(OP, **{name: fill(value) for name, value in args.items()})
