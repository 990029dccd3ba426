"""The files below paths, also those within archives, in memory bounded by a part of one of them.

Archives come from anywhere: what they unpack to is bounded, one that is cut off gives what is
there, and one within another is named and left closed (but for single files packed by gzip).
"""

from __future__ import annotations

import io
import lzma
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import SpooledTemporaryFile, gettempdir
from typing import IO

from ingest.core.decoders.rejections import Rejections

MOST_RATIO = 250
"""Samples as text pack to a twentieth; whatever packs better than this was made to."""
ALWAYS_ALLOWED_BYTES = 64 * 1024 * 1024
MOST_UNPACKED_BYTES = 256 * 1024**3
MOST_MEMBERS = 100_000
CUT_OFF = "the archive is cut off or damaged here; what was before it is taken"
_CHUNK_BYTES = 1024 * 1024
_LONGEST_NAME = 1000
_TAR_CHUNK_BYTES = 16 * 1024
"""Of an archive that is cut off so much is lost at most."""
_IN_MEMORY_BYTES = 16 * 1024 * 1024
_LEFT_FREE_BYTES = 1024**3
"""Of the disk with temporary files, on which a database may lie, too."""
_LONGEST_HEADER_BYTES = 1024 * 1024
"""Of a member's name and attributes in a tar, which are read at once."""
_LONGEST_DIRECTORY_BYTES = 32 * 1024 * 1024
"""Of the list of members in a zip, which is read at once and takes ten times as much memory."""
_GZIP, _ZIP, _TAR = b"\x1f\x8b", b"PK\x03\x04", b"ustar"
_TAR_AT = 257
_IS_GZIP = 16 + zlib.MAX_WBITS
_DAMAGE = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, ValueError,
    NotImplementedError, RecursionError,
)  # fmt: skip
"""What readers of archives raise for those that are damaged, or made so."""

_READ_AT_ONCE = (
    tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)  # fmt: skip

Open = Callable[[Rejections], Iterator[bytes]]
"""Begins to read a file anew; what is wrong with its archive goes to the rejections."""


class ArchiveError(ValueError):
    """An archive cannot be read any further; the text is the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A file, alone or in an archive; it can be read until the next one is asked for."""

    name: str
    chunks: Open


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """What cannot be read, and why."""

    name: str
    reason: str


Found = Member | Unreadable


@dataclass(slots=True, kw_only=True)
class _Allowance:
    """How much an archive may unpack to, over all its members, each counted once."""

    packed_bytes: int
    _members: int = 0
    _unpacked_bytes: int = 0

    def count_member(self) -> None:
        """One member more, of whatever sort; raises `ArchiveError` if there are too many."""
        self._members += 1
        if self._members > MOST_MEMBERS:
            raise ArchiveError(f"the archive has more than {MOST_MEMBERS} files")

    def count(self, unpacked_bytes: int) -> None:
        """So much more was unpacked; raises `ArchiveError` if it is too much."""
        self._unpacked_bytes += unpacked_bytes
        most = min(max(MOST_RATIO * self.packed_bytes, ALWAYS_ALLOWED_BYTES), MOST_UNPACKED_BYTES)
        if self._unpacked_bytes > most:
            raise ArchiveError(
                f"the archive unpacks to more than {most} bytes, which no file of samples does"
            )


@dataclass(slots=True)
class _Part:
    """What was unpacked of one member, which may be read several times."""

    whole: _Allowance
    counted_bytes: int = 0

    def take(self, so_far: int) -> None:
        """So much of it was unpacked since it was opened."""
        if so_far > self.counted_bytes:
            more, self.counted_bytes = so_far - self.counted_bytes, so_far
            self.whole.count(more)


def files_of(paths: list[Path], *, below: Path | None = None) -> Iterator[Found]:
    """Every file of the paths, in order of their names; links within folders are left out.

    Names are told from `below` on, if it is stated. They can be stored: a file's own may not.
    """
    for found in _files_of(paths):
        name = found.name if below is None else found.name.removeprefix(f"{below}/")
        yield replace(found, name=_storable(name))


def _storable(name: str) -> str:
    plain = name.encode("utf-8", "replace").decode().replace("\0", "?")
    return plain if len(plain) <= _LONGEST_NAME else f"...{plain[3 - _LONGEST_NAME :]}"


def _files_of(paths: list[Path]) -> Iterator[Found]:
    for path in paths:
        if path.is_dir():
            found = sorted(one for one in path.rglob("*") if one.is_file())
            for one in found:
                if not one.is_symlink():
                    yield from _files_of_one(one)
        elif path.is_file():
            yield from _files_of_one(path)
        else:
            yield Unreadable(name=str(path), reason="there is no such file or folder")


def _files_of_one(path: Path) -> Iterator[Found]:
    try:
        with path.open("rb") as file:
            start = file.read(_TAR_AT + len(_TAR))
        if not start:
            yield Unreadable(name=str(path), reason="the file is empty")
        elif start.startswith(_ZIP):
            yield from _of_zip(path)
        elif _is_tar(start) or (start.startswith(_GZIP) and _is_tar(_unpacked_start(path))):
            yield from _of_tar(path)
        else:
            allowance = _Allowance(packed_bytes=path.stat().st_size)
            yield Member(
                name=str(path), chunks=_maybe_gzip(str(path), _file(path), _Part(allowance))
            )
    except (OSError, ArchiveError) as error:
        yield Unreadable(name=str(path), reason=str(error))


def _is_tar(start: bytes) -> bool:
    return start[_TAR_AT:].startswith(_TAR)


def _unpacked_start(path: Path) -> bytes:
    with path.open("rb") as file:
        try:
            return zlib.decompressobj(_IS_GZIP).decompress(file.read(64 * 1024), 4096)
        except zlib.error:
            return b""


def _file(path: Path) -> Open:
    def chunks(_rejections: Rejections) -> Iterator[bytes]:
        with path.open("rb") as file:
            yield from _chunks_of(file)

    return chunks


def _chunks_of(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK_BYTES):
        yield chunk


def _maybe_gzip(name: str, packed: Open, part: _Part) -> Open:
    """The file, unpacked if it is packed by gzip."""

    def chunks(rejections: Rejections) -> Iterator[bytes]:
        source = packed(rejections)
        first = next(source, b"")
        whole = _chain(first, source)
        if not first.startswith(_GZIP):
            yield from whole
            return
        so_far = 0
        for chunk in _gunzipped(name, whole, rejections):
            so_far += len(chunk)
            part.take(so_far)
            yield chunk

    return chunks


def _chain(first: bytes, following: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from following


def _gunzipped(name: str, packed: Iterator[bytes], rejections: Rejections) -> Iterator[bytes]:
    """All parts of the file; what is wrong with it is named, and what was before is kept."""
    unpacker = zlib.decompressobj(_IS_GZIP)
    for chunk in packed:
        left = chunk
        while left:
            if unpacker.eof:
                unpacker = zlib.decompressobj(_IS_GZIP)
                # Some writers fill up their last block.
                left = left.lstrip(b"\0")
                if not left:
                    break
            try:
                data = unpacker.decompress(left, _CHUNK_BYTES)
            except zlib.error:
                rejections.add(name, CUT_OFF)
                return
            if data:
                yield data
            left = unpacker.unconsumed_tail or unpacker.unused_data
            if not data and not unpacker.eof and not unpacker.unconsumed_tail:
                break
    if not unpacker.eof:
        rejections.add(name, CUT_OFF)


class _ShortReads(io.BufferedReader):
    """A zip, of whose list of members no more is read than fits into memory."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > _LONGEST_DIRECTORY_BYTES:
            raise ArchiveError(f"the archive has more than {MOST_MEMBERS} files")
        return super().read(size)


def _of_zip(path: Path) -> Iterator[Found]:
    with _ShortReads(io.FileIO(path)) as file:
        try:
            archive = zipfile.ZipFile(file)
        except ArchiveError:
            raise
        except _DAMAGE as error:
            reason = f"the archive is cut off or damaged: {error}"
            yield Unreadable(name=str(path), reason=reason)
            return
        with archive:
            yield from _zip_members(path, archive)


def _zip_members(path: Path, archive: zipfile.ZipFile) -> Iterator[Found]:
    allowance = _Allowance(packed_bytes=path.stat().st_size)
    for info in sorted(archive.infolist(), key=lambda one: one.filename):
        name = f"{path}:{info.filename}"
        allowance.count_member()
        if info.is_dir():
            continue
        if info.flag_bits & 1:
            yield Unreadable(name=name, reason="it is encrypted")
            continue
        bounded = _bounded(_of_zip_member(archive, info, name), _Part(allowance))
        yield _opened(name, _maybe_gzip(name, bounded, _Part(allowance)))


def _of_zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> Open:
    def chunks(rejections: Rejections) -> Iterator[bytes]:
        try:
            with archive.open(info) as file:
                yield from _chunks_of(file)
        except (*_DAMAGE, OSError):
            rejections.add(name, CUT_OFF)

    return chunks


def _bounded(source: Open, part: _Part) -> Open:
    def chunks(rejections: Rejections) -> Iterator[bytes]:
        so_far = 0
        for chunk in source(rejections):
            so_far += len(chunk)
            part.take(so_far)
            yield chunk

    return chunks


def _opened(name: str, source: Open) -> Found:
    """The member, unless it is an archive itself."""
    start = next(source(Rejections()), b"")
    if start.startswith(_ZIP) or _is_tar(start[: _TAR_AT + len(_TAR)]):
        return Unreadable(name=name, reason="it is an archive within an archive: unpack it first")
    return Member(name=name, chunks=source)


def _of_tar(path: Path) -> Iterator[Found]:
    """Members in the order of the archive, each copied once: its stream does not go back."""
    allowance = _Allowance(packed_bytes=path.stat().st_size)
    stream_allowance = _Allowance(packed_bytes=path.stat().st_size)
    packed = _maybe_gzip(str(path), _file(path), _Part(stream_allowance))
    damage = Rejections()
    stream = _Stream(packed(damage))
    try:
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=_TarInfo) as archive:  # type: ignore[call-overload]  # it only reads
            while (info := archive.next()) is not None:
                # It would remember all of them.
                archive.members = []
                allowance.count_member()
                name = f"{path}:{info.name}"
                inside = archive.extractfile(info) if info.isreg() else None
                if inside is None:
                    continue
                with SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES) as copy:
                    whole = _copied(inside, copy, _Part(allowance))
                    spooled = _spooled(name, copy, whole)
                    yield _opened(name, _maybe_gzip(name, spooled, _Part(allowance)))
                if not whole:
                    return
    except ArchiveError:
        raise
    except _DAMAGE:
        damage.add(str(path), CUT_OFF)
    for one in damage.all():
        yield Unreadable(name=str(path), reason=one.reason)


class _TarInfo(tarfile.TarInfo):
    """A member whose name and attributes are read only if they are not too long."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _READ_AT_ONCE and self.size > _LONGEST_HEADER_BYTES:
            raise ArchiveError("the archive has a member whose name is too long")
        return super()._proc_member(archive)  # type: ignore[misc,no-any-return]  # the hook that its comments name


def _copied(inside: IO[bytes], copy: IO[bytes], part: _Part) -> bool:
    """Whether all of the member was there."""
    so_far = 0
    try:
        while chunk := inside.read(_TAR_CHUNK_BYTES):
            # Looked at each time so much more is on the disk.
            if so_far // _IN_MEMORY_BYTES < (so_far + len(chunk)) // _IN_MEMORY_BYTES:
                _check_room()
            so_far += len(chunk)
            part.take(so_far)
            copy.write(chunk)
    except (tarfile.TarError, EOFError, zlib.error):
        return False
    return True


def _check_room() -> None:
    if shutil.disk_usage(gettempdir()).free < _LEFT_FREE_BYTES:
        raise ArchiveError(
            f"{gettempdir()} has less than {_LEFT_FREE_BYTES // 1024**2} MiB left for a copy of "
            "the next file: unpack the archive elsewhere, and import its files"
        )


def _spooled(name: str, copy: IO[bytes], whole: bool) -> Open:
    def chunks(rejections: Rejections) -> Iterator[bytes]:
        copy.seek(0)
        yield from _chunks_of(copy)
        if not whole:
            rejections.add(name, CUT_OFF)

    return chunks


class _Stream:
    """Chunks as a file that only goes on, as `tarfile` reads it."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._left = b""

    def read(self, size: int) -> bytes:
        parts, have = [self._left], len(self._left)
        while have < size:
            chunk = next(self._chunks, b"")
            if not chunk:
                break
            parts.append(chunk)
            have += len(chunk)
        whole = b"".join(parts)
        self._left = whole[size:]
        return whole[:size]
