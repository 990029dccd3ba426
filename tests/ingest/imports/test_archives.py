"""Files of archives: whole ones, those cut off, and those that are made to fill a disk."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import tracemalloc
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from ingest.core.decoders.rejections import Rejections
from ingest.imports import archives
from ingest.imports.archives import (
    CUT_OFF,
    ArchiveError,
    Member,
    Unreadable,
    files_of,
)

BODY = b"".join(b"%d some text of a line\n" % number for number in range(20_000))


def read(path: Path) -> tuple[dict[str, bytes], dict[str, str]]:
    """The content by name, and what is wrong by name."""
    content: dict[str, bytes] = {}
    wrong: dict[str, str] = {}
    for found in files_of([path]):
        name = found.name.removeprefix(str(path))
        if isinstance(found, Unreadable):
            wrong[name] = found.reason
            continue
        refused = Rejections()
        content[name] = b"".join(found.chunks(refused))
        # It can be read twice.
        assert b"".join(found.chunks(Rejections())) == content[name]
        for one in refused.all():
            wrong[name] = one.reason
    return content, wrong


def packed_tar(**members: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, body in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(body)
            archive.addfile(info, io.BytesIO(body))
    return out.getvalue()


def packed_zip(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in members.items():
            archive.writestr(name, body)
    return out.getvalue()


@pytest.mark.parametrize(
    ("packed", "names"),
    [
        pytest.param(BODY, [""], id="plain"),
        pytest.param(gzip.compress(BODY), [""], id="gzip"),
        pytest.param(gzip.compress(BODY[:99]) + gzip.compress(BODY[99:]), [""], id="two gzips"),
        pytest.param(packed_tar(a=BODY, b=BODY), [":a", ":b"], id="tar"),
        pytest.param(gzip.compress(packed_tar(a=BODY, b=BODY)), [":a", ":b"], id="tar.gz"),
        pytest.param(packed_tar(a=gzip.compress(BODY)), [":a"], id="gzip in tar"),
        pytest.param(packed_zip(a=BODY, b=gzip.compress(BODY)), [":a", ":b"], id="zip"),
    ],
)
def test_files_are_read_whole_from_archives(
    tmp_path: Path, packed: bytes, names: list[str]
) -> None:
    file = tmp_path / "file"
    file.write_bytes(packed)

    content, wrong = read(file)

    assert wrong == {}
    assert content == dict.fromkeys(names, BODY)


@pytest.mark.parametrize(
    "packed",
    [
        pytest.param(gzip.compress(BODY), id="gzip"),
        pytest.param(packed_tar(a=BODY), id="tar"),
        pytest.param(gzip.compress(packed_tar(a=BODY)), id="tar.gz"),
    ],
)
@pytest.mark.parametrize("part", [0.5, 0.9])
def test_what_was_before_the_cut_is_read(tmp_path: Path, packed: bytes, part: float) -> None:
    file = tmp_path / "file"
    file.write_bytes(packed[: int(part * len(packed))])

    content, wrong = read(file)

    (body,) = content.values()
    assert 0 < len(body) < len(BODY)
    assert BODY.startswith(body)
    assert CUT_OFF in wrong.values()


def test_zip_without_its_end_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(packed_zip(a=BODY)[:-30])

    content, wrong = read(file)

    assert content == {}
    assert "cut off or damaged" in wrong[""]


def test_copy_of_a_member_leaves_room_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "_IN_MEMORY_BYTES", len(BODY))
    room = SimpleNamespace(free=archives._LEFT_FREE_BYTES)
    monkeypatch.setattr("shutil.disk_usage", lambda _folder: room)
    file = tmp_path / "file"
    file.write_bytes(packed_tar(a=BODY + BODY))
    assert read(file) == ({":a": BODY + BODY}, {})

    room.free -= 1

    content, wrong = read(file)
    assert content == {}
    assert "unpack the archive elsewhere" in wrong[""]


@pytest.mark.parametrize("pack", [gzip.compress, lambda body: packed_zip(a=body)])
def test_archive_that_was_made_to_fill_a_disk_is_stopped(
    tmp_path: Path, pack: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "ALWAYS_ALLOWED_BYTES", 1024 * 1024)
    file = tmp_path / "file"
    # A thousand times smaller than what it unpacks to.
    file.write_bytes(pack(bytes(30_000_000)))  # type: ignore[operator]
    files = files_of([file])
    member = next(files)
    assert isinstance(member, Member)

    taken, chunks = 0, member.chunks(Rejections())
    with pytest.raises(ArchiveError, match="unpacks to more than"):  # noqa: PT012 (how far it got)
        for chunk in chunks:
            taken += len(chunk)

    assert taken <= archives.MOST_RATIO * file.stat().st_size


def test_archive_in_an_archive_and_missing_files_are_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(packed_tar(a=packed_zip(b=BODY), c=BODY))

    content, wrong = read(file)

    assert content == {":c": BODY}
    assert wrong == {":a": "it is an archive within an archive: unpack it first"}
    (gone,) = files_of([tmp_path / "gone"])
    assert gone == Unreadable(
        name=str(tmp_path / "gone"), reason="there is no such file or folder"
    )


def test_links_of_a_folder_and_of_a_tar_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(BODY)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "secret")
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo("link")
        info.type, info.linkname = tarfile.SYMTYPE, str(tmp_path / "secret")
        archive.addfile(info)
    (folder / "links.tar").write_bytes(out.getvalue())

    assert read(folder) == ({}, {})


def tar_of(*infos: tarfile.TarInfo) -> bytes:
    """A tar of these headers, each with as many zeros as it says."""
    headers = (one.tobuf(tarfile.GNU_FORMAT) + bytes(-(-one.size // 512) * 512) for one in infos)
    return b"".join(headers) + bytes(1024)


def test_header_of_a_tar_that_was_made_to_fill_the_memory_is_stopped(tmp_path: Path) -> None:
    name = tarfile.TarInfo("x")
    name.type, name.size = tarfile.GNUTYPE_LONGNAME, 60_000_000
    file = tmp_path / "file"
    file.write_bytes(gzip.compress(tar_of(name, tarfile.TarInfo("y"))))
    tracemalloc.start()

    content, wrong = read(file)

    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (content, wrong) == ({}, {"": "the archive has a member whose name is too long"})
    assert most < 30_000_000


@pytest.mark.parametrize("kind", [tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.REGTYPE])
def test_members_without_content_are_counted_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: bytes
) -> None:
    monkeypatch.setattr(archives, "MOST_MEMBERS", 10)
    infos = [tarfile.TarInfo(f"d{number}") for number in range(11)]
    for one in infos:
        one.type = kind
    (tmp_path / "11").write_bytes(tar_of(*infos))
    (tmp_path / "10").write_bytes(tar_of(*infos[:10]))

    assert read(tmp_path / "11")[1][""] == "the archive has more than 10 files"
    assert "" not in read(tmp_path / "10")[1]


def test_list_of_a_zip_that_was_made_to_fill_the_memory_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "_LONGEST_DIRECTORY_BYTES", 2000)
    file = tmp_path / "file"
    # 46 bytes and the name for each.
    file.write_bytes(packed_zip(**{f"member-{number:03}": b"x" for number in range(50)}))

    content, wrong = read(file)

    assert (content, wrong) == ({}, {"": "the archive has more than 100000 files"})


def test_members_of_one_name_are_each_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "ALWAYS_ALLOWED_BYTES", 100_000)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for _ in range(50):
            info = tarfile.TarInfo("a")
            info.size = 100_000
            archive.addfile(info, io.BytesIO(bytes(100_000)))
    monkeypatch.setattr(archives, "MOST_RATIO", 0.5)  # half of what the 50 hold
    file = tmp_path / "file"
    file.write_bytes(out.getvalue())

    assert "unpacks to more than" in read(file)[1][""]


@pytest.mark.parametrize(
    "method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2], ids=str
)
def test_damaged_member_of_a_zip_leaves_the_others(tmp_path: Path, method: int) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("a", BODY)
        archive.writestr("b", BODY)
        start = archive.getinfo("a").header_offset
    packed = bytearray(out.getvalue())
    packed[start + 60 : start + 160] = b"\xff" * 100
    file = tmp_path / "file"
    file.write_bytes(packed)

    content, wrong = read(file)

    assert content[":b"] == BODY
    assert wrong == {":a": CUT_OFF}


def test_zip_of_a_later_version_is_named(tmp_path: Path) -> None:
    packed = bytearray(packed_zip(a=BODY))
    at = packed.rindex(b"PK\x01\x02")
    packed[at + 6] = 99  # the version that is needed
    file = tmp_path / "file"
    file.write_bytes(packed)

    content, wrong = read(file)

    assert content == {}
    assert "zip file version 9.9" in wrong[""]


def test_names_can_be_stored(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_bytes(BODY)
    latin = tarfile.TarInfo(os.fsdecode(b"caf\xe9"))
    latin.size = 512
    long = tarfile.TarInfo("d/" * 3000 + "end")
    long.size = 512
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for one in (latin, long):
            archive.addfile(one, io.BytesIO(bytes(512)))
    (tmp_path / "files.tar").write_bytes(out.getvalue())

    plain, from_latin, from_long = [one.name for one in files_of([tmp_path], below=tmp_path)]

    assert (plain, from_latin) == ("caf?.txt", "files.tar:caf?")
    assert len(from_long) == 1000
    assert from_long.startswith(("...d/d/", ".../d/"))
    assert from_long.endswith("/end")
