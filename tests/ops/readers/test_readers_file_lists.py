# SPDX-License-Identifier: Apache-2.0
"""fn.readers.file: folders, filters and list files, labels, and files that cannot be read."""

import os

import pytest
from helpers.cases import for_each
from helpers.file_readers import dali, labels, one_epoch, reader
from helpers.permissions import as_ordinary_user

OPERATORS = ["readers.file"]


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


TREE = [
    *("b/1.jpg", "b/0.JPG", "b/.jpg", "a/x.png", "a/y.Jpeg", "a/.hidden.jpg", "a/z.txt"),
    *("a/sub/deep.jpg", "a/1.jpg", "a/10.jpg", "a/2.jpg", "a/A.jpg", "a/we[i]rd.jpg", "a/noext"),
    *(".hidden/q.jpg", "c/none.txt", "top.jpg", "B/u.jpg", "10/t.jpg", "9/t.jpg", "é/t.jpg"),
]


def test_folders_become_labels_in_byte_order(write, tmp_path):
    write(*TREE, "a-b/1.jpg")
    assert one_epoch(file_root=str(tmp_path)) == [
        (".hidden/q.jpg", 0),
        ("10/t.jpg", 1),
        ("9/t.jpg", 2),
        ("B/u.jpg", 3),
        ("a-b/1.jpg", 5),  # as a path it is before a/; as a name, after a
        *((f"a/{name}", 4) for name in (".hidden.jpg", "1.jpg", "10.jpg", "2.jpg", "A.jpg")),
        *((f"a/{name}", 4) for name in ("we[i]rd.jpg", "x.png", "y.Jpeg")),
        *((f"b/{name}", 6) for name in (".jpg", "0.JPG", "1.jpg")),
        ("é/t.jpg", 8),  # c has a label but no matching file
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
def test_filters_are_case_insensitive_globs(write, tmp_path, filters, names):
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
def test_filters_can_be_case_sensitive(write, tmp_path, filters, names):
    write(*TREE)
    found = one_epoch(file_root=str(tmp_path), file_filters=filters, case_sensitive_filter=True)
    assert [name for name, _ in found] == names


def test_filtered_folders_take_no_label(write, tmp_path):
    write(*TREE)
    assert one_epoch(file_root=str(tmp_path), dir_filters=["[bB]", "é"], file_filters="*.jpg") == [
        ("B/u.jpg", 0),
        ("b/.jpg", 1),
        ("b/0.JPG", 1),
        ("b/1.jpg", 1),
        ("é/t.jpg", 2),
    ]


def test_links_are_followed_and_other_entries_are_skipped(write, tmp_path):
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
def test_a_list_file_has_a_path_and_a_label_per_line(write, tmp_path, content, expected):
    write("a", "b", "sp ace", " lead", "a 5", "#x", "c#d", "é", "sub/q")
    path = write_list(tmp_path, content)
    if expected is None:  # a name starts with a space, another has a byte order mark in the middle
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
def test_a_wrong_line_is_an_error_with_its_number(tmp_path, content, message):
    with pytest.raises(OSError, match=message):
        reader(file_list=write_list(tmp_path, content))


def test_files_without_labels_get_their_positions(write, tmp_path):
    write("a", "b")
    paths = [str(tmp_path / "b"), "a", "b"]
    assert one_epoch(files=paths, file_root=str(tmp_path)) == [("b", 0), ("a", 1), ("b", 2)]
    assert one_epoch(files=paths[:1], labels=[-7]) == [("b", -7)]
    assert one_epoch(files=paths[0], labels=3) == [("b", 3)]


def test_lazy_init_lists_files_when_they_are_needed(write, tmp_path):
    pipe = reader(file_root=str(tmp_path), lazy_init=True)
    write("a/1.jpg", "a/2.jpg")
    assert pipe.reader_meta("files")["epoch_size"] == 2
    assert labels(pipe, 1) == [[0, 0, 0, 0]]
    missing = reader(file_root=str(tmp_path / "missing"), lazy_init=True)
    for _ in range(2):
        with pytest.raises(OSError, match="cannot list the folder"):
            missing.run()


def test_an_unreadable_file_is_an_error_and_the_pipeline_continues(ten):
    os.remove(ten[5])
    pipe = reader(files=ten)
    assert labels(pipe, 1) == [[0, 1, 2, 3]]
    with pytest.raises(OSError, match="cannot open") as caught:
        pipe.run()
    text = str(caught.value)
    assert f'"{ten[5]}": No such file or directory' in text
    assert "fn.readers.file" in text
    assert "sample 1 of 4" in text
    assert "file_readers.py" in text
    assert labels(pipe, 1) == [[8, 9, 0, 1]]


def test_other_kinds_of_files_are_errors(tmp_path):
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
    os.remove(tmp_path / "a" / "2.jpg")  # before the reader reads ahead
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
def test_contradicting_arguments_are_errors_of_the_build(args, message):
    with pytest.raises(ValueError, match=message) as caught:
        reader(**args)
    assert "fn.readers.file" in str(caught.value)


@pytest.mark.dali
def test_files_labels_and_sizes_are_those_of_dali(write, tmp_path, dali_python):
    write(*TREE, "a-b/1.jpg")
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
