# SPDX-License-Identifier: Apache-2.0
"""torchdali.index: indexes that equal those of DALI's tools, where they go, interruption."""

import os
import random
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest
from helpers.tars import FORMATS, entry, header, write_tar

from torchdali import index
from torchdali.errors import DataError

FILES = {
    f"{folder}{name}": data
    for folder in ("", "train/", "./v1.0/")
    for name, data in {
        "a.jpg": b"1" * 700,
        "a.cls": b"",
        "b c.seg.png": b"2" * 1024,
        "back\\slash.x": b"3",
        "tab\tand\nline.x": b"4",
        ".hidden": b"5",
        "readme": b"6",
    }.items()
}
LINK = entry("train/link.jpg", tarfile.SYMTYPE, linkname="a.jpg")


def texts(paths, kind="webdataset"):
    return [path.read_bytes() for path in index.make_indexes(kind, paths)]


@pytest.mark.dali
@pytest.mark.parametrize("kind", FORMATS)
def test_the_text_is_that_of_wds2idx(kind, tmp_path):
    path = write_tar(
        tmp_path / "a.tar", [entry("train", tarfile.DIRTYPE), *FILES.items(), LINK], kind
    )
    tool = "import wds2idx, sys; wds2idx.main()"
    theirs = tmp_path / "theirs"
    command = [os.environ["TORCHDALI_DALI_PYTHON"], "-c", tool, path, str(theirs)]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "LC_ALL": "C"})
    assert texts([path]) == [theirs.read_bytes()]


@pytest.mark.parametrize("kind", FORMATS)
def test_places_are_those_of_tarfile(kind, tmp_path):
    rng = random.Random(1)
    names = [
        f"{'d' * rng.choice([5, 90, 99])}/{i:0{rng.choice([3, 50, 96])}}.x" for i in range(300)
    ]
    sizes = [rng.choice([0, 1, 511, 512, 513, 5000, 40_000]) for _ in names]
    path = tmp_path / "a.tar"
    write_tar(path, [(n, rng.randbytes(s)) for n, s in zip(names, sizes, strict=True)], kind)
    with tarfile.open(path) as archive:
        expected = [f"x {m.offset_data} {m.size} {m.name}" for m in archive]
    (text,) = texts([str(path)])
    assert text.decode().split("\n") == [f"v1.2 {len(names)}", *expected, ""]


@pytest.mark.parametrize("kind", ["gnu", "pax"])
def test_archives_larger_than_8_gib(kind, tmp_path):
    path, size = tmp_path / "a.tar", 9 << 30
    with path.open("wb") as file:  # sparse
        file.write(header("large.x", size, kind))
        place = file.tell()
        file.seek(size, os.SEEK_CUR)
        file.write(header("next.x", 1, kind))
        file.truncate(place + size + 1536)
    lines = ["v1.2 2", f"x {place} {size} large.x", f"x {place + size + 512} 1 next.x", ""]
    assert texts([str(path)]) == ["\n".join(lines).encode()]


def test_indexes_lie_next_to_the_containers_or_where_output_says(tmp_path):
    first, second = (write_tar(tmp_path / f"{n}.v1.tar", {"a.x": b"1"}) for n in (1, 2))
    plain = write_tar(tmp_path / "plain", {"a.x": b"1"})
    assert index.make_indexes("webdataset", [first, f"file://{second}", plain]) == [
        tmp_path / name for name in ("1.idx", "2.idx", "plain.idx")
    ]
    made = index.make_indexes("webdataset", [first, second], str(tmp_path / "new" / "folder"))
    assert made == [tmp_path / "new" / "folder" / name for name in ("1.idx", "2.idx")]
    assert index.make_indexes("webdataset", [first], f"{tmp_path}") == [tmp_path / "1.idx"]
    assert index.make_indexes("webdataset", [first], f"{tmp_path}/f") == [tmp_path / "f"]
    assert len({path.read_bytes() for path in tmp_path.rglob("*.idx")}) == 1
    assert not list(tmp_path.rglob("*.part"))
    same = write_tar(tmp_path / "1.v2.tar", {})
    with pytest.raises(ValueError, match=r"1\.v1\.tar and .*1\.v2\.tar would both have the index"):
        index.make_indexes("webdataset", [first, same])
    with pytest.raises(ValueError, match="s3://a/b.tar is remote: say with --output"):
        index.make_indexes("webdataset", ["s3://a/b.tar"])


def test_nothing_is_written_if_an_archive_is_damaged(tmp_path):
    good = write_tar(tmp_path / "good.tar", {"a.x": b"1"})
    (tmp_path / "bad.tar").write_bytes(b"x" * 1024)
    with pytest.raises(DataError, match=r"bad\.tar"):
        index.make_indexes("webdataset", [good, str(tmp_path / "bad.tar")])
    assert not list(tmp_path.glob("*.idx"))


def run(*arguments):
    command = [sys.executable, "-m", "torchdali.index", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command_prints_paths_and_errors(tmp_path, capsys):
    path = write_tar(tmp_path / "a.tar", {"a.x": b"1"})
    assert index.main(["webdataset", path]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'a.idx'}\n"
    assert index.main(["webdataset", path, str(tmp_path / "b.tar")]) == 1
    assert "cannot open" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        index.main(["zip", path])
    helped = run("--help")
    assert helped.returncode == 0
    assert "wds2idx" in helped.stdout


INTERRUPTED = {
    "command": "from torchdali.index import make_indexes; make_indexes('webdataset', paths)",
    "reader": """
from torchdali import Pipeline, fn
with Pipeline(1, 1, None) as pipe:
    pipe.set_outputs(fn.readers.webdataset(paths=paths, ext='x'))
pipe.build()
""",
}


@pytest.mark.parametrize("case", INTERRUPTED)
def test_ctrl_c_ends_it(case, tmp_path):
    path = tmp_path / "a.tar"
    with path.open("wb") as file:  # a second or more
        for i in range(2000):
            file.write(header(f"{i}.x", 0))
    program = f"""
import os, sys
import torchdali.index, torchdali.fn
paths = [{str(path)!r}] * 20000
print("ready", flush=True)
try:
    exec({INTERRUPTED[case]!r})
except KeyboardInterrupt:
    print("interrupted", flush=True)
    os._exit(0)
"""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=60)[0] == "interrupted\n"
    assert child.returncode == 0
    assert not list(tmp_path.glob("*.idx"))


def test_readers_keep_what_they_made_until_the_archive_changes(tmp_path, monkeypatch):
    from helpers.tars import epoch

    cache = tmp_path / "cache"
    monkeypatch.setenv("TORCHDALI_CACHE_DIR", str(cache))
    path = write_tar(tmp_path / "a.tar", {"a.x": b"1", "b.x": b"2"})
    assert epoch(path, "x") == [(b"1",), (b"2",)]
    (kept,) = (cache / "index" / "webdataset").iterdir()
    content = kept.read_bytes()
    kept.write_bytes(content[:-1])
    assert epoch(path, "x") == [(b"1",), (b"2",)]
    assert kept.read_bytes() == content
    write_tar(Path(path), {"a.x": b"1", "b.y": b"2", "c.x": b"3"})
    assert epoch(path, "x") == [(b"1",), (b"",), (b"3",)]
