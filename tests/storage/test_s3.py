# SPDX-License-Identifier: Apache-2.0
"""An S3 server: listing, keys, credentials. The server is moto's, on this machine."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import numpy as np
import pytest
from helpers.file_readers import one_epoch
from PIL import Image

from torchdali import fn, pipeline_def, storage
from torchdali.errors import FileError

moto_server = pytest.importorskip("moto.server")
boto3 = pytest.importorskip("boto3")
pytest.importorskip("obstore")

CREDENTIALS = {"access_key_id": "key", "secret_access_key": "secret", "region": "us-east-1"}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = moto_server.ThreadedMotoServer("127.0.0.1", port, verbose=False)
    server.start()
    yield f"http://127.0.0.1:{port}"
    server.stop()


@pytest.fixture
def bucket(endpoint):
    client = boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="key",
        aws_secret_access_key="secret",
    )
    client.create_bucket(Bucket="data")
    storage.configure(
        backend="obstore", retries=1, options={"s3://data": {"endpoint": endpoint, **CREDENTIALS}}
    )
    yield lambda key, body: client.put_object(Bucket="data", Key=key, Body=body)
    for item in client.list_objects_v2(Bucket="data").get("Contents", []):
        client.delete_object(Bucket="data", Key=item["Key"])
    client.delete_bucket(Bucket="data")


def test_a_bucket_is_a_file_root(bucket, tmp_path):
    names = [
        "train/b/2.jpg",
        "train/a-b/1.jpg",  # before "a/" as bytes, after "a" as a folder
        "train/a/10.jpg",
        "train/a/9.jpg",
        "train/a/deeper/3.jpg",  # not right inside of a folder
        "train/other/notes.txt",  # a label without files
        "train/loose.jpg",
        "training/x/4.jpg",  # another folder
        "train/späß/7 8.jpg",
    ]
    for name in names:
        bucket(name, name.encode())
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    local = one_epoch(file_root=str(tmp_path / "train"))
    assert one_epoch(file_root="s3://data/train") == local
    assert one_epoch(file_root="s3://data/train/") == local
    assert len(local) == 5
    filters = {"dir_filters": ["a*"], "file_filters": ["*0.jpg", "1*"]}
    assert one_epoch(file_root="s3://data/train", **filters) == one_epoch(
        file_root=str(tmp_path / "train"), **filters
    )
    assert storage.list("s3://data/training") == ["s3://data/training/x/4.jpg"]


def test_arrays_and_frames_of_a_bucket_are_found(bucket, tmp_path):
    for name in (
        "c.npy",
        "b/2.npy",
        "b/1.npy",
        "a/.hidden.npy",
        "a/3.npy",
        "a/deeper/4.npy",
        "a/x",
    ):
        path = tmp_path / "arrays" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            np.save(file, np.full(3, len(name)))
        bucket(f"arrays/{name}", path.read_bytes())
    for name in ("v/1.png", "v/0.png", "w/0.png", "w/notes.txt"):
        path = tmp_path / "frames" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((2, 3, 3), ord(name[0]) + ord(name[2]), np.uint8)).save(
            path, format="png"
        )
        bucket(f"frames/{name}", path.read_bytes())

    def epoch(root):
        @pipeline_def(batch_size=1, num_threads=1, device_id=None)
        def define():
            return (
                fn.readers.numpy(file_root=f"{root}/arrays", name="arrays"),
                fn.readers.sequence(file_root=f"{root}/frames", sequence_length=1),
            )

        pipe = define()
        pipe.build()
        batches = [pipe.run() for _ in range(pipe.reader_meta("arrays")["epoch_size"])]
        return [[(out[0].source_info(), out.at(0).tolist()) for out in batch] for batch in batches]

    local = epoch(tmp_path)
    assert [sample[0][0] for sample in local] == ["c.npy", "a/3.npy", "b/1.npy", "b/2.npy"]
    assert epoch("s3://data") == local


def test_objects_of_any_size(bucket):
    for size in (0, 1, 70_000):
        bucket("x", bytes(size))
        assert storage.read("s3://data/x") == bytes(size)
        assert storage.size("s3://data/x") == size


def test_errors_name_the_object(bucket, endpoint):
    with pytest.raises(FileError, match=r'"s3://data/absent".*404'):
        storage.read("s3://data/absent")
    with pytest.raises(FileError, match="no files found in the folders"):
        one_epoch(file_root="s3://data/absent")
    storage.configure(options={"s3://data": {"endpoint": endpoint, "regoin": "x", **CREDENTIALS}})
    with pytest.raises(FileError, match=r"obstore refuses the options of s3://data: .*regoin"):
        storage.read("s3://data/x")
