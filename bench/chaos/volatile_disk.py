"""A disk with a cache that is lost with the power: a block device of this machine (root).

The machine's loop device lies on one file of FUSE (fuse(4), and `linux/fuse.h` for the messages),
which a process of its own serves. What is written stays in the memory of that process until a
flush; then it is in the image. When the power is cut, any part of what was not flushed is in the
image, as a disk writes its cache in whatever order. Each flush can be made to take a while.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import select
import socket
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

BLOCK = 4096
MOST_BYTES = 1 << 20
"""In one message; the kernel's own bound, with `_MAX_PAGES`."""
_HEADER, _ANSWER = struct.Struct("<IIQQIIIHH"), struct.Struct("<IiQ")
_GETATTR, _SETATTR, _OPENED, _READ, _WRITE, _STATFS, _RELEASE, _FSYNC, _FLUSH, _INIT = (
    3, 4, 14, 15, 16, 17, 18, 20, 25, 26,
)  # fmt: skip
_FORGET, _INTERRUPT, _BATCH_FORGET = 2, 36, 42
_UNANSWERED = {_FORGET, _INTERRUPT, _BATCH_FORGET}
_ASYNC_READ, _BIG_WRITES, _MAX_PAGES = 1 << 0, 1 << 5, 1 << 22
_IO = struct.Struct("<QQIIQII")
_LONG_S = 3600


class Cache:
    """The image and what was written to it since the last flush, block by block."""

    def __init__(self, image: int) -> None:
        self._image = image
        self._waiting: dict[int, bytes] = {}

    def read(self, at: int, size: int) -> bytes:
        """What a reader sees, written a moment ago or long ago."""
        blocks = range(at // BLOCK, -(-(at + size) // BLOCK))
        if not any(block in self._waiting for block in blocks):
            return self._kept(at, size)
        whole = b"".join(
            self._waiting.get(block) or self._kept(block * BLOCK, BLOCK) for block in blocks
        )
        begin = at - blocks.start * BLOCK
        return whole[begin : begin + size]

    def write(self, at: int, data: bytes) -> None:
        """Keep it until the next flush."""
        first, last = at // BLOCK, (at + len(data) - 1) // BLOCK
        before = self.read(first * BLOCK, at - first * BLOCK)
        end = at + len(data)
        after = self.read(end, (last + 1) * BLOCK - end)
        whole = before + data + after
        for number, block in enumerate(range(first, last + 1)):
            self._waiting[block] = whole[number * BLOCK : (number + 1) * BLOCK]

    def flush(self) -> None:
        """From now on all of it survives."""
        self._put(self._waiting)
        self._waiting = {}

    def lose(self, random: Random) -> tuple[int, int]:
        """The power is cut: some of what waits is kept; gives how many blocks waited and were."""
        kept = {block: data for block, data in self._waiting.items() if random.random() < 0.5}
        counts = len(self._waiting), len(kept)
        self._put(kept)
        self._waiting = {}
        return counts

    def _put(self, blocks: dict[int, bytes]) -> None:
        for block, data in blocks.items():
            os.pwrite(self._image, data, block * BLOCK)

    def _kept(self, at: int, size: int) -> bytes:
        # Beyond the end of a file with holes there is nothing to read.
        return os.pread(self._image, size, at).ljust(size, b"\0")


class Server:
    """Answers the kernel's messages on the one file, and the few words of the harness."""

    def __init__(self, device: int, words: socket.socket, image: Path) -> None:
        self._device, self._words = device, words
        self._size = image.stat().st_size
        self._cache = Cache(os.open(image, os.O_RDWR))
        self._flush_s = 0.0
        self._is_off = False
        self._answers: dict[int, Callable[[bytes], bytes]] = {
            _INIT: self._init, _GETATTR: self._attributes, _SETATTR: self._attributes,
            _OPENED: lambda _: struct.pack("<QII", 1, 0, 0), _READ: self._read,
            _WRITE: self._write, _STATFS: lambda _: bytes(80), _RELEASE: lambda _: b"",
            _FSYNC: self._fsync, _FLUSH: lambda _: b"",
        }  # fmt: skip

    def serve(self) -> None:
        """Until the file is unmounted."""
        while True:
            ready, _, _ = select.select([self._device, self._words.fileno()], [], [])
            if self._words.fileno() in ready:
                self._hear()
            if self._device in ready:
                try:
                    message = os.read(self._device, MOST_BYTES + BLOCK)
                except OSError as error:
                    if error.errno == errno.ENODEV:
                        return
                    if error.errno in {errno.EINTR, errno.EAGAIN, errno.ENOENT}:
                        continue
                    raise
                self._answer(message)

    def _answer(self, message: bytes) -> None:
        _, code, number, *_ = _HEADER.unpack_from(message)
        if code in _UNANSWERED:
            return
        body, failure = b"", 0
        try:
            ask = self._answers.get(code)
            if ask is None:
                failure = errno.ENOSYS
            elif self._is_off and code in {_READ, _WRITE, _FSYNC}:
                failure = errno.EIO
            else:
                body = ask(message[_HEADER.size :])
        except OSError as error:
            failure = error.errno or errno.EIO
        head = _ANSWER.pack(_ANSWER.size + len(body), -failure, number)
        # Who asked may be gone.
        with suppress(FileNotFoundError):
            os.writev(self._device, [head, body])

    def _hear(self) -> None:
        said = json.loads(self._words.recv(4096) or b'{"word": "gone"}')
        answer: object = None
        match said["word"]:
            case "slow":
                self._flush_s = said["flush_s"]
            case "off":
                self._is_off = True
                answer = self._cache.lose(Random(said["seed"]))
            case _:
                raise SystemExit(0)
        self._words.send(json.dumps(answer).encode())

    def _init(self, body: bytes) -> bytes:
        flags = struct.unpack_from("<IIII", body)[3] & (_ASYNC_READ | _BIG_WRITES | _MAX_PAGES)
        return struct.pack(
            "<IIIIHHIIHHI28x", 7, 31, MOST_BYTES, flags, 16, 12, MOST_BYTES, 1,
            MOST_BYTES // BLOCK, 0, 0,
        )  # fmt: skip

    def _attributes(self, _: bytes) -> bytes:
        seconds = int(time.time())
        attributes = struct.pack(
            "<QQQQQQIIIIIIIIII", 1, self._size, self._size // 512, seconds, seconds, seconds,
            0, 0, 0, stat.S_IFREG | 0o600, 1, 0, 0, 0, BLOCK, 0,
        )  # fmt: skip
        return struct.pack("<QII", _LONG_S, 0, 0) + attributes

    def _read(self, body: bytes) -> bytes:
        _, at, size, *_ = _IO.unpack_from(body)
        return self._cache.read(at, max(0, min(size, self._size - at)))

    def _write(self, body: bytes) -> bytes:
        _, at, size, *_ = _IO.unpack_from(body)
        self._cache.write(at, body[_IO.size : _IO.size + size])
        return struct.pack("<II", size, 0)

    def _fsync(self, _: bytes) -> bytes:
        time.sleep(self._flush_s)
        self._cache.flush()
        return b""


class VolatileDisk:
    """The disk as the harness has it: made, mounted, slow, without power, and on again.

    The caller has a mount namespace of its own.
    """

    def __init__(self, folder: Path, *, size_bytes: int) -> None:
        self._image = folder / "image"
        self._file, self.mount_point = folder / "disk", folder / "d"
        self._server: subprocess.Popen[bytes] | None = None
        self._words: socket.socket | None = None
        self._file.touch()
        self.mount_point.mkdir()
        with self._image.open("wb") as image:
            image.truncate(size_bytes)
        _run("mkfs.ext4", "-q", "-F", "-m", "0", "-b", str(BLOCK), "-E",
             "lazy_itable_init=1,lazy_journal_init=1,nodiscard", str(self._image))  # fmt: skip

    def switch_on(self) -> None:
        """Attach and mount it; the filesystem mends itself from its journal."""
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={device},rootmode={stat.S_IFREG | 0o600:o},user_id=0,group_id=0"
        _mount("sluice-chaos", self._file, "fuse", options)
        self._server = subprocess.Popen(
            [sys.executable, "-m", "bench.chaos.volatile_disk", str(device), str(there.fileno()),
             str(self._image)],
            pass_fds=(device, there.fileno()), cwd=Path(__file__).parents[2],
        )  # fmt: skip
        os.close(device)
        there.close()
        self._words = here
        loop = _run("losetup", "--find", "--show", str(self._file)).strip()
        _run("mount", "-t", "ext4", "-o", "noinit_itable", loop, str(self.mount_point))
        # It is gone once it is unmounted.
        _run("losetup", "--detach", loop)

    def make_slow(self, flush_s: float) -> None:
        """Each flush takes so long."""
        self._say({"word": "slow", "flush_s": flush_s})

    def cut_power(self, seed: int) -> tuple[int, int]:
        """Nothing is read or written any more; gives how many blocks waited and were kept."""
        waited, kept = self._say({"word": "off", "seed": seed})
        return waited, kept

    def take_away(self) -> None:
        """Unmount it; nobody uses it any more."""
        for place in (self.mount_point, self._file):
            with suppress(subprocess.CalledProcessError):
                _run("umount", "-l", str(place))
        if self._server is not None:
            try:
                self._server.wait(10)
            except subprocess.TimeoutExpired:
                self._server.kill()
                self._server.wait()
        if self._words is not None:
            self._words.close()
        self._server = self._words = None

    def _say(self, said: dict[str, object]) -> list[int]:
        assert self._words is not None
        self._words.send(json.dumps(said).encode())
        answer: list[int] = json.loads(self._words.recv(4096))
        return answer


def _mount(source: str, target: Path, kind: str, options: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    words = (source.encode(), bytes(target), kind.encode(), 0, options.encode())
    if libc.mount(*words) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"mount {target}: {os.strerror(number)}")


def _run(*argv: str) -> str:
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> None:
    """Serve: `python -m bench.chaos.volatile_disk DEVICE WORDS IMAGE`, two numbers and a file."""
    device, words, image = sys.argv[1:]
    Server(int(device), socket.socket(fileno=int(words)), Path(image)).serve()


if __name__ == "__main__":
    main()
