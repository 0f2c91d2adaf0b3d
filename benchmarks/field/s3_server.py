# SPDX-License-Identifier: Apache-2.0
"""An S3 server on this machine, in a process of its own: that of moto, which tests/storage uses."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["BUCKET", "ENVIRONMENT", "serving"]

BUCKET = "field"
# What boto3 and obstore read; the server accepts any.
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "us-east-1",
}


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serves the files below a folder in a bucket; yields the endpoint.

    Raises:
        ImportError: moto or boto3 is not installed.
        RuntimeError: the server does not start.
    """
    import boto3
    import moto  # noqa: F401 (that it is missing is said here, not by the process)

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    endpoint = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "moto.server", "--host=127.0.0.1", f"--port={port}"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with contextlib.suppress(ConnectionError):
                socket.create_connection(("127.0.0.1", port)).close()
                break
            time.sleep(0.1)
        else:
            raise RuntimeError("moto's server does not answer")
        client = boto3.client(
            "s3",
            endpoint_url=endpoint,
            region_name=ENVIRONMENT["AWS_DEFAULT_REGION"],
            aws_access_key_id=ENVIRONMENT["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=ENVIRONMENT["AWS_SECRET_ACCESS_KEY"],
        )
        client.create_bucket(Bucket=BUCKET)
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                key = path.relative_to(folder).as_posix()
                # The webdataset package reads without credentials.
                body = path.read_bytes()
                client.put_object(Bucket=BUCKET, Key=key, Body=body, ACL="public-read")
        yield endpoint
    finally:
        server.kill()
        server.wait()
