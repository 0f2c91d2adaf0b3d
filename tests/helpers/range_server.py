# SPDX-License-Identifier: Apache-2.0
"""A web server that serves ranges of objects, as object stores do, and fails as it is told to.

Tests run it in a thread of their own. As a program, it serves the files of a folder, for
benchmarks/pipelines/remote.py.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import hashlib
import re
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from urllib.parse import unquote

_REASONS = {200: "OK", 206: "Partial Content", 403: "Forbidden", 404: "Not Found"}


def _etag(content: bytes) -> str:
    return f'"{hashlib.md5(content).hexdigest()}"'


@functools.lru_cache(maxsize=1000)
def _read(path: Path, changed: int) -> tuple[bytes, str]:  # part of the key
    content = path.read_bytes()
    return content, _etag(content)


@dataclass
class Fault:
    """What is wrong with one answer.

    Attributes:
        status: the answer has this status and no data.
        wait: seconds before the answer.
        keep: only so many bytes of the body are sent; then the connection is closed.
        reset: the connection is closed by RST, instead of an answer or after the bytes of `keep`.
        shift: Content-Range, and the bytes, begin so much later than asked.
        pause: seconds between two pieces of the body.
    """

    status: int = 0
    wait: float = 0
    keep: int = -1
    reset: bool = False
    shift: int = 0
    pause: float = 0


class RangeServer:
    """Serves ``objects`` (name -> bytes), and else the files of ``folder``.

    Attributes:
        faults: for the next answers to GET, one each; None means that nothing is wrong.
        requests: (method, name, range or None) of each request that came.
        most: the most requests that were answered at a time.
    """

    def __init__(self, folder: Path | None = None, latency: float = 0, port: int = 0) -> None:
        self.folder, self.latency, self.port = folder, latency, port
        self.objects: dict[str, bytes] = {}
        self.etags: dict[str, str | None] = {}
        self.faults: deque[Fault | None] = deque()
        self.every: Callable[[int], Fault | None] | None = None
        self.requests: list[tuple[str, str, str | None]] = []
        self.ranges = True
        self.most = 0
        self._now = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self.run, daemon=True)

    @property
    def url(self) -> str:
        """The URL of the server, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> RangeServer:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def gets(self) -> list[tuple[str, str | None]]:
        """Returns (name, range) of the requests for data."""
        return [(name, part) for method, name, part in self.requests if method == "GET"]

    def run(self) -> None:
        """Serves until the loop is stopped."""
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._serve, "127.0.0.1", self.port)
        )
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0.01))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (line := await reader.readline()) not in (b"", b"\r\n"):
                method, target, _ = line.decode("latin-1").split(" ", 2)
                headers = {}
                while (line := await reader.readline()) not in (b"", b"\r\n"):
                    name, _, value = line.decode("latin-1").partition(":")
                    headers[name.lower()] = value.strip()
                self._now += 1
                self.most = max(self.most, self._now)
                try:
                    if not await self._answer(writer, method, unquote(target[1:]), headers):
                        return
                finally:
                    self._now -= 1
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the server is ended while a connection is open
        finally:
            writer.close()

    def _content(self, name: str) -> tuple[bytes | None, str]:
        """Returns the bytes of an object, and its etag."""
        if name in self.objects:
            content = self.objects[name]
            return content, _etag(content)
        path = self.folder / name if self.folder and ".." not in name else None
        if path is None or not path.is_file():
            return None, ""
        return _read(path, path.stat().st_mtime_ns)

    async def _answer(
        self, writer: asyncio.StreamWriter, method: str, name: str, headers: dict[str, str]
    ) -> bool:
        """Answers a request; returns whether the connection goes on."""
        self.requests.append((method, name, headers.get("range")))
        fault = None
        if method == "GET":
            fault = self.faults.popleft() if self.faults else None
            if fault is None and self.every is not None:
                fault = self.every(len(self.requests))
        fault = fault or Fault()
        if self.latency + fault.wait:
            await asyncio.sleep(self.latency + fault.wait)
        if fault.reset and fault.keep < 0:
            return _reset(writer)
        content, etag_of_content = self._content(name)
        status = fault.status or (200 if content is not None else 404)
        if status != 200 or content is None:
            reason = _REASONS.get(status, "Fault")
            writer.write(f"HTTP/1.1 {status} {reason}\r\nContent-Length: 0\r\n\r\n".encode())
            await writer.drain()
            return True
        begin, end = 0, len(content)
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", headers.get("range", ""))
        lines = []
        if match and self.ranges:
            begin = int(match[1])
            end = min(int(match[2]) + 1 if match[2] else end, end)
            if begin >= len(content):
                writer.write(
                    f"HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */{len(content)}"
                    "\r\nContent-Length: 0\r\n\r\n".encode()
                )
                await writer.drain()
                return True
            begin, end = begin + fault.shift, end + fault.shift
            status = 206
            lines.append(f"Content-Range: bytes {begin}-{end - 1}/{len(content)}")
        etag = self.etags.get(name, etag_of_content)
        if etag is not None:
            lines.append(f"ETag: {etag}")
            lines.append(f"Last-Modified: {formatdate(1_700_000_000, usegmt=True)}")
        lines += [f"Content-Length: {end - begin}", "Accept-Ranges: bytes"]
        head = f"HTTP/1.1 {status} {_REASONS[status]}\r\n" + "\r\n".join(lines) + "\r\n\r\n"
        writer.write(head.encode())
        if method == "HEAD":
            await writer.drain()
            return True
        return await self._send(writer, memoryview(content)[begin:end], fault)

    async def _send(self, writer: asyncio.StreamWriter, body: memoryview, fault: Fault) -> bool:
        if fault.pause:
            for i in range(0, len(body), 1 << 10):
                writer.write(body[i : i + (1 << 10)])
                await writer.drain()
                await asyncio.sleep(fault.pause)
            return True
        if fault.keep >= 0:
            writer.write(body[: fault.keep])
            await writer.drain()
            return _reset(writer) if fault.reset else False
        writer.write(body)
        await writer.drain()
        return True


def _reset(writer: asyncio.StreamWriter) -> bool:
    plug: socket.socket = writer.get_extra_info("socket")
    plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
    return False


def main() -> None:
    """Serves the files of a folder until it is ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--latency", type=float, default=0, help="seconds before each answer")
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    RangeServer(options.folder, options.latency, options.port).run()


if __name__ == "__main__":
    main()
