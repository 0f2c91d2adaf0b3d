# SPDX-License-Identifier: Apache-2.0
"""fn.readers.file: finding files, labels, order, shards, reading, errors."""

import itertools
import json
import os
import subprocess

import pytest
from helpers.cases import for_each
from helpers.permissions import as_ordinary_user

from torchdali import fn, pipeline_def


def reader(batch_size=4, num_threads=2, depth=2, seed=7, **args):
    @pipeline_def(
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=None,
        seed=seed,
        prefetch_queue_depth=depth,
    )
    def pipeline():
        return fn.readers.file(name="files", **args)

    pipe = pipeline()
    pipe.build()
    return pipe


def one_epoch(**args):
    """Returns (content, label) of every file, in the reader's order."""
    pipe = reader(batch_size=1, **args)
    pairs = []
    for _ in range(pipe.reader_meta("files")["epoch_size"]):
        data, label = pipe.run()
        pairs.append((bytes(data.at(0)).decode(), int(label.at(0)[0])))
    return pairs


def labels(pipe, batches):
    return [[int(label[0]) for label in pipe.run()[1].as_array()] for _ in range(batches)]


@pytest.fixture
def write(tmp_path):
    """Writes files that hold their own names, relative to tmp_path."""

    def write(*names):
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)

    return write


@pytest.fixture
def ten(tmp_path):
    paths = [tmp_path / f"{i}.bin" for i in range(10)]
    for i, path in enumerate(paths):
        path.write_bytes(bytes([i]) * (i + 1))
    return [str(path) for path in paths]


# Folders

TREE = [
    *("b/1.jpg", "b/0.JPG", "b/.jpg", "a/x.png", "a/y.Jpeg", "a/.hidden.jpg", "a/z.txt"),
    *("a/sub/deep.jpg", "a/1.jpg", "a/10.jpg", "a/2.jpg", "a/A.jpg", "a/we[i]rd.jpg", "a/noext"),
    *(".hidden/q.jpg", "c/none.txt", "top.jpg", "B/u.jpg", "10/t.jpg", "9/t.jpg", "é/t.jpg"),
]


def test_folders_are_labels_and_both_are_sorted_by_bytes(write, tmp_path):
    write(*TREE)
    assert one_epoch(file_root=str(tmp_path)) == [
        (".hidden/q.jpg", 0),
        ("10/t.jpg", 1),
        ("9/t.jpg", 2),
        ("B/u.jpg", 3),
        *((f"a/{name}", 4) for name in (".hidden.jpg", "1.jpg", "10.jpg", "2.jpg", "A.jpg")),
        *((f"a/{name}", 4) for name in ("we[i]rd.jpg", "x.png", "y.Jpeg")),
        *((f"b/{name}", 5) for name in (".jpg", "0.JPG", "1.jpg")),
        ("é/t.jpg", 7),  # c has no matching file, yet a label
    ]


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ("?.jpg", ["a/1.jpg", "a/2.jpg", "a/A.jpg", "b/0.JPG", "b/1.jpg"]),
        ("[ab0-1].jpg", ["a/1.jpg", "a/A.jpg", "b/0.JPG", "b/1.jpg"]),
        ("[!1].jpg", ["a/2.jpg", "a/A.jpg", "b/0.JPG"]),
        (["1*", "*.TXT"], ["a/1.jpg", "a/10.jpg", "a/z.txt", "b/1.jpg"]),
        ("we\\[i\\]rd*", ["a/we[i]rd.jpg"]),
        (".*", ["a/.hidden.jpg", "b/.jpg"]),
        ("*.[jp]*g", None),
        ("NOEXT", ["a/noext"]),
    ],
    ids=str,
)
def test_filters_are_globs_without_regard_to_case(write, tmp_path, filters, names):
    write(*(name for name in TREE if name[:2] in ("a/", "b/")))
    found = [name for name, _ in one_epoch(file_root=str(tmp_path), file_filters=filters)]
    if names is None:
        names = [n for n in sorted(TREE) if n[:2] in ("a/", "b/") and n.count("/") == 1]
        names = [n for n in names if n.lower().endswith(("jpg", "jpeg", "png"))]
    assert found == names


@pytest.mark.parametrize(
    ("filters", "names"),
    [(["*.JPG"], ["b/0.JPG"]), (["[A-Z].jpg"], ["a/A.jpg"]), (["*.Jpeg"], ["a/y.Jpeg"])],
    ids=str,
)
def test_filters_can_regard_case(write, tmp_path, filters, names):
    write(*TREE)
    found = one_epoch(file_root=str(tmp_path), file_filters=filters, case_sensitive_filter=True)
    assert [name for name, _ in found] == names


def test_folders_that_are_filtered_out_take_no_label(write, tmp_path):
    write(*TREE)
    assert one_epoch(file_root=str(tmp_path), dir_filters=["[bB]", "é"], file_filters="*.jpg") == [
        ("B/u.jpg", 0),
        ("b/.jpg", 1),
        ("b/0.JPG", 1),
        ("b/1.jpg", 1),
        ("é/t.jpg", 2),
    ]


def test_links_are_followed_and_what_is_no_file_is_left_out(write, tmp_path):
    write("a/1.jpg", "elsewhere.jpg")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "2.jpg").symlink_to(tmp_path / "elsewhere.jpg")
    (tmp_path / "a" / "folder.jpg").mkdir()
    os.mkfifo(tmp_path / "a" / "pipe.jpg")
    pairs = one_epoch(file_root=f"{tmp_path}/")
    assert pairs == [("a/1.jpg", 0), ("elsewhere.jpg", 0), ("a/1.jpg", 1), ("elsewhere.jpg", 1)]


def test_names_that_are_not_utf8_can_be_read(tmp_path):
    folder = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(folder)
    with open(folder + b"/\xfe.jpg", "wb") as file:
        file.write(b"x")
    assert one_epoch(file_root=str(tmp_path)) == [("x", 0)]


# List files


def write_list(tmp_path, content):
    path = tmp_path / "list.txt"
    path.write_bytes(content)
    return str(path)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a 1\nb 2\n", [("a", 1), ("b", 2)]),
        (b"b 1\na 0\nb 1", [("b", 1), ("a", 0), ("b", 1)]),
        (b"a 1\r\nb 2\r\n", [("a", 1), ("b", 2)]),
        (b"\n a\t 1 \n  \n\xef\xbb\xbfb 2", None),
        (b"\xef\xbb\xbfa 1", [("a", 1)]),
        (b"a\t1\nb \t 2\t \n", [("a", 1), ("b", 2)]),
        (b"sp ace 3\n lead 4\na 5 7\n", [("sp ace", 3), (" lead", 4), ("a 5", 7)]),
        (b"#x 1\nc#d 02\n", [("#x", 1), ("c#d", 2)]),
        ("é 0".encode(), [("é", 0)]),
        (b"sub/q 2147483647", [("sub/q", 2147483647)]),
    ],
    ids=str,
)
def test_list_files(write, tmp_path, content, expected):
    write("a", "b", "sp ace", " lead", "a 5", "#x", "c#d", "é", "sub/q")
    path = write_list(tmp_path, content)
    if expected is None:  # a name that starts with a space, and one with a mark in the middle
        with pytest.raises(RuntimeError, match=r'cannot open ".*/ a"'):
            one_epoch(file_list=path)
    else:
        assert one_epoch(file_list=path) == expected


def test_paths_of_a_list_file_start_from_its_folder_or_file_root(write, tmp_path, monkeypatch):
    write("a", "sub/a", "sub/b")
    path = write_list(tmp_path, f"a 1\n{tmp_path}/sub/b 2\n".encode())
    assert one_epoch(file_list=path) == [("a", 1), ("sub/b", 2)]
    assert one_epoch(file_list=path, file_root=f"{tmp_path}/sub") == [("sub/a", 1), ("sub/b", 2)]
    with monkeypatch.context() as patch:
        patch.chdir(tmp_path)
        assert one_epoch(file_list="list.txt") == [("a", 1), ("sub/b", 2)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\nb 1\n", 'line 1 of the list file ".*list.txt" is "a", expected a path'),
        (b"a 1\n\nb\n", 'line 3 of the list file ".*list.txt" is "b"'),
        (b"a -1\n", 'line 1 .* is "a -1"'),
        (b"a 1.5\n", 'line 1 .* is "a 1.5"'),
        (b"a 1x\n", 'line 1 .* is "a 1x"'),
        (b"a,1\n", 'line 1 .* is "a,1"'),
        (b"5\n", 'line 1 .* is "5"'),
        (b"# a comment\n", 'line 1 .* is "# a comment"'),
        (b"a\0 1\n", "line 1 "),
        (b"a 2147483648\n", "line 1 .* has the label 2147483648, expected at most 2147483647"),
        (b"", 'the list file ".*list.txt" is empty'),
        (b" \n\n", 'the list file ".*list.txt" is empty'),
    ],
    ids=str,
)
def test_a_wrong_line_is_named(tmp_path, content, message):
    with pytest.raises(OSError, match=message):
        reader(file_list=write_list(tmp_path, content))


# Given files


def test_files_get_their_labels_or_their_positions(write, tmp_path):
    write("a", "b")
    paths = [str(tmp_path / "b"), "a", "b"]
    assert one_epoch(files=paths, file_root=str(tmp_path)) == [("b", 0), ("a", 1), ("b", 2)]
    assert one_epoch(files=paths[:1], labels=[-7]) == [("b", -7)]
    assert one_epoch(files=paths[0], labels=3) == [("b", 3)]


# Order


def test_the_outputs_are_bytes_and_a_label(ten):
    data, label = reader(files=ten).run()
    assert [d.shape for d in map(data.at, range(4))] == [(1,), (2,), (3,), (4,)]
    assert data.at(3).dtype == "uint8"
    assert data.at(3).tolist() == [3, 3, 3, 3]
    assert label.as_array().dtype == "int32"
    assert label.as_array().tolist() == [[0], [1], [2], [3]]


def test_batches_go_on_over_the_end_of_an_epoch_unless_padded(ten):
    assert labels(reader(files=ten), 4) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 0, 1], [2, 3, 4, 5]]
    padded = labels(reader(files=ten, pad_last_batch=True), 4)
    assert padded == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 9, 9], [0, 1, 2, 3]]


def test_readers_say_how_large_they_are(ten):
    args = {"files": ten, "num_shards": 3, "shard_id": 1}
    assert reader(**args).reader_meta("files") == {
        "epoch_size": 10,
        "epoch_size_padded": 10,
        "number_of_shards": 3,
        "shard_id": 1,
        "pad_last_batch": False,
        "stick_to_shard": False,
    }
    meta = reader(**args, pad_last_batch=True, stick_to_shard=True).reader_meta("files")
    assert (meta["epoch_size"], meta["epoch_size_padded"]) == (10, 12)
    assert meta["pad_last_batch"]
    assert meta["stick_to_shard"]


# Samples of the three shards of 10 files under random_shuffle, from DALI 1.35.0.
DALI_SHARDS = [{5, 9, 1}, {6, 7, 2}, {0, 8, 3, 4}]


@pytest.mark.parametrize("stick", [False, True])
@pytest.mark.parametrize("pad", [False, True])
def test_shuffled_epochs_hold_the_samples_of_dali_s_shards_once(ten, stick, pad):
    for rank in range(3):
        pipe = reader(
            batch_size=1,
            files=ten,
            num_shards=3,
            shard_id=rank,
            random_shuffle=True,
            stick_to_shard=stick,
            pad_last_batch=pad,
            seed=rank,
        )
        stream = [batch[0] for batch in labels(pipe, 60)]
        for epoch in range(12):
            shard = DALI_SHARDS[rank if stick else (rank + epoch) % 3]
            length = 4 if pad else len(shard)
            samples, stream = stream[:length], stream[length:]
            assert set(samples) == shard
            assert samples[len(shard) :] == [samples[len(shard) - 1]] * (length - len(shard))


def test_order_depends_on_seed_and_epoch_and_on_nothing_else(ten):
    args = {"files": ten, "random_shuffle": True}
    order = labels(reader(**args), 10)
    for threads, depth in itertools.product((1, 4), (1, 5)):
        assert labels(reader(num_threads=threads, depth=depth, **args), 10) == order
    assert labels(reader(initial_fill=1, **args), 10) == order
    assert labels(reader(seed=8, **args), 10) != order
    flat = list(itertools.chain(*order))
    assert flat[:10] != flat[10:20]


def test_shuffling_reaches_over_the_whole_shard(tmp_path):
    # DALI's window of initial_fill samples could not bring the last file to the front.
    (tmp_path / "x").write_bytes(b"x")
    pipe = reader(
        batch_size=1000, files=[str(tmp_path / "x")] * 1000, random_shuffle=True, initial_fill=2
    )
    order = labels(pipe, 1)[0]
    assert sum(abs(i - label) for i, label in enumerate(order)) / 1000 > 250
    assert sum(order[:100]) / 100 == pytest.approx(500, abs=150)


def epochs_of_ranks(files, ranks, **args):
    pipes = [
        reader(batch_size=1, files=files, num_shards=ranks, shard_id=r, pad_last_batch=True, **args)
        for r in range(ranks)
    ]
    length = -(-len(files) // ranks)
    sizes = [(r + 1) * len(files) // ranks - r * len(files) // ranks for r in range(ranks)]
    for _ in range(5):
        parts = [[b[0] for b in labels(pipe, length)] for pipe in pipes]
        yield [part[:size] for part, size in zip(parts, sizes, strict=True)]


def test_shuffle_after_epoch_deals_all_samples_out_anew(ten):
    epochs = list(epochs_of_ranks(ten, 3, shuffle_after_epoch=True))
    for parts in epochs:
        assert sorted(itertools.chain(*parts)) == list(range(10))
    assert len({frozenset(parts[0]) for parts in epochs}) > 2
    assert epochs == list(epochs_of_ranks(ten, 3, shuffle_after_epoch=True, seed=99))
    other = list(epochs_of_ranks(ten, 3, shuffle_after_epoch=True, shuffle_after_epoch_seed=1))
    assert other != epochs
    assert all(sorted(itertools.chain(*parts)) == list(range(10)) for parts in other)


# Reading


def test_hints_change_nothing_of_what_is_read(ten):
    plain = one_epoch(files=ten)
    for hint in (
        {"read_ahead": True, "prefetch_queue_depth": 3},
        {"dont_use_mmap": True},
        {"skip_cached_images": True},
        {"tensor_init_bytes": 0},
        {"bytes_per_sample_hint": 100},
        {"lazy_init": True},
    ):
        assert one_epoch(files=ten, **hint) == plain


def test_large_and_empty_files_are_read_whole(tmp_path):
    large = os.urandom(5_000_000)
    (tmp_path / "large").write_bytes(large)
    (tmp_path / "empty").write_bytes(b"")
    pipe = reader(batch_size=2, files=[str(tmp_path / "large"), str(tmp_path / "empty")])
    data, _ = pipe.run()
    assert bytes(data.at(0)) == large
    assert data.at(1).shape == (0,)


def test_files_are_closed(ten):
    pipe = reader(files=ten, read_ahead=True)
    for _ in range(50):
        pipe.run()
    pipe.close()  # no file is being read any more
    links = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
    assert not {os.readlink(link) for link in links if os.path.islink(link)} & set(map(str, ten))


def test_lazy_init_lists_files_when_they_are_needed(write, tmp_path):
    pipe = reader(file_root=str(tmp_path), lazy_init=True)
    write("a/1.jpg", "a/2.jpg")
    assert pipe.reader_meta("files")["epoch_size"] == 2
    assert labels(pipe, 1) == [[0, 0, 0, 0]]
    missing = reader(file_root=str(tmp_path / "missing"), lazy_init=True)
    for _ in range(2):
        with pytest.raises(OSError, match="cannot list the folder"):
            missing.run()


# Errors


def test_an_unreadable_file_is_named_and_the_pipeline_goes_on(ten):
    os.remove(ten[5])
    pipe = reader(files=ten)
    assert labels(pipe, 1) == [[0, 1, 2, 3]]
    with pytest.raises(OSError, match="cannot open") as caught:
        pipe.run()
    text = str(caught.value)
    assert f'"{ten[5]}": No such file or directory' in text
    assert "fn.readers.file" in text
    assert "sample 1 of 4" in text
    assert "test_readers_file.py" in text
    assert labels(pipe, 1) == [[8, 9, 0, 1]]


def test_what_is_no_regular_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name, kind in (("pipe", "a pipe"), (".", "a directory")):
        with pytest.raises(OSError, match=f"it is {kind}, expected a regular file"):
            reader(files=[f"{tmp_path}/{name}"]).run()
    with pytest.raises(OSError, match="it is a device"):
        reader(files=["/dev/null"]).run()


def test_files_and_folders_without_permission_are_errors(ten, tmp_path):
    os.chmod(ten[0], 0)
    folder = tmp_path / "a"
    folder.mkdir(mode=0)
    with as_ordinary_user(tmp_path):
        with pytest.raises(OSError, match="Permission denied"):
            reader(files=ten).run()
        with pytest.raises(OSError, match=r"cannot list the folder .*/a\": Permission denied"):
            reader(file_root=str(tmp_path))


def test_a_file_that_vanished_after_the_listing_is_an_error(write, tmp_path):
    write("a/1.jpg", "a/2.jpg")
    (tmp_path / "a" / "3.jpg").symlink_to(tmp_path / "nowhere")
    pipe = reader(batch_size=1, file_root=str(tmp_path), depth=1)
    os.remove(tmp_path / "a" / "2.jpg")  # before anything is read ahead
    pipe.run()
    for name in ("2.jpg", "3.jpg"):
        with pytest.raises(OSError, match=f"{name}.: No such file"):
            pipe.run()
    assert labels(pipe, 1) == [[0]]


@pytest.mark.parametrize(
    ("root", "message"),
    [
        ("missing", r'cannot list the folder ".*missing": No such file'),
        ("empty", r'no files found in the folders in ".*empty".*"\*\.jpg"'),
        ("flat", r"no files found .*put the files right inside the folders"),
        ("flat/x.jpg", "cannot list the folder .*Not a directory"),
    ],
)
def test_folders_without_files_are_errors(write, tmp_path, root, message):
    write("flat/x.jpg")
    (tmp_path / "empty").mkdir()
    with pytest.raises(OSError, match=f"(?s){message}"):
        reader(file_root=str(tmp_path / root))


@for_each(
    ("args", "message"),
    [
        ({}, "no files are given"),
        ({"files": ["x"], "file_list": "y"}, "`files` and `file_list` exclude"),
        ({"files": []}, "`files`"),
        ({"files": [""]}, "is empty or holds a zero byte at position 0"),
        ({"files": ["x"], "labels": [1, 2]}, "`labels` has 2 values for the 1 of `files`"),
        ({"files": ["x"], "labels": [2**31]}, "2147483648"),
        ({"file_root": "x", "labels": [1]}, "`labels` belongs to `files`"),
        ({"file_root": "x", "file_filters": []}, "`file_filters`"),
        ({"files": ["x"] * 2, "num_shards": 3}, "has 2 samples, fewer than the 3"),
        ({"files": ["x"], "num_shards": 0}, "`num_shards` is 0"),
        ({"files": ["x"], "shard_id": 1}, "`shard_id` is 1, expected 0 to"),
        ({"files": ["x"], "shard_id": -1}, "`shard_id` is -1"),
        ({"files": ["x"], "initial_fill": 0}, "`initial_fill` is 0"),
        ({"files": ["x"], "prefetch_queue_depth": 0}, "`prefetch_queue_depth` is 0"),
        ({"files": ["x"], "tensor_init_bytes": -1}, "`tensor_init_bytes` is -1"),
        (
            {"files": ["x"], "shuffle_after_epoch": True, "random_shuffle": True},
            "`shuffle_after_epoch` and `random_shuffle` exclude",
        ),
        (
            {"files": ["x"], "shuffle_after_epoch": True, "stick_to_shard": True},
            "`shuffle_after_epoch` and `stick_to_shard` exclude",
        ),
    ],
)
def test_arguments_that_contradict_are_refused_at_build(args, message):
    with pytest.raises(ValueError, match=message) as caught:
        reader(**args)
    assert "fn.readers.file" in str(caught.value)


# Parity with real DALI

ORACLE = """
import json, sys
from nvidia.dali import fn, pipeline_def

results = []
for args, batches in json.load(sys.stdin):
    @pipeline_def(batch_size=1, num_threads=1, device_id=None, seed=1)
    def pipeline():
        return tuple(fn.readers.file(name="files", **args))
    pipe = pipeline()
    pipe.build()
    meta = {k: int(v) for k, v in pipe.reader_meta("files").items()}
    pairs = []
    for _ in range(batches or meta["epoch_size"]):
        data, label = pipe.run()
        pairs.append([bytes(data.at(0)).decode(), int(label.at(0)[0])])
    results.append([meta, pairs])
json.dump(results, sys.stdout)
"""


def dali(python, cases):
    done = subprocess.run(
        [python, "-c", ORACLE],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.dali
def test_files_labels_and_facts_are_those_of_real_dali(write, tmp_path, dali_python):
    write(*TREE)
    root = str(tmp_path)
    path = write_list(tmp_path, b"a/1.jpg 3\r\n\n b/1.jpg\t 1 \ntop.jpg 4".replace(b" b/", b"b/"))
    cases = [
        {"file_root": root, "file_filters": f} for f in ("*", "?.jpg", "[!1].*", "1*", "*.JP*")
    ]
    cases += [
        {"file_root": root},
        {"file_root": root, "case_sensitive_filter": True},
        {"file_list": path},
        {"files": ["b/1.jpg", "a/x.png"], "file_root": root},
        {"files": [f"{root}/top.jpg"], "labels": [5]},
    ]
    for args, (meta, pairs) in zip(cases, dali(dali_python, [(c, 0) for c in cases]), strict=True):
        assert [list(pair) for pair in one_epoch(**args)] == pairs, args
        assert reader(**args).reader_meta("files") == meta


@pytest.mark.dali
def test_shards_are_those_of_real_dali(tmp_path, dali_python):
    """Without shuffling sample by sample, with it as sets; sizes where files are dealt out anew."""
    (tmp_path / "x").write_text("x")
    cases = []
    for size, shards in ((11, 3), (16, 5), (1000, 7)):
        for stick, shuffle, after in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 0, 1)):
            cases.append(
                {
                    "files": [str(tmp_path / "x")] * size,
                    "num_shards": shards,
                    "shard_id": shards - 2,
                    "stick_to_shard": bool(stick),
                    "random_shuffle": bool(shuffle),
                    "shuffle_after_epoch": bool(after),
                }
            )
    for args, (_, pairs) in zip(cases, dali(dali_python, [(c, 2000) for c in cases]), strict=True):
        theirs = [label for _, label in pairs]
        ours = [batch[0] for batch in labels(reader(batch_size=1, **args), 2000)]
        if not args["random_shuffle"] and not args["shuffle_after_epoch"]:
            assert ours == theirs
        size, shards, shard = len(args["files"]), args["num_shards"], args["shard_id"]
        position = 0
        while position < 2000 and args["random_shuffle"]:
            end = position + (shard + 1) * size // shards - shard * size // shards
            if end <= 2000:
                assert set(ours[position:end]) == set(theirs[position:end])
                assert len(set(ours[position:end])) == end - position
            position = end
            shard = shard if args["stick_to_shard"] else (shard + 1) % shards
