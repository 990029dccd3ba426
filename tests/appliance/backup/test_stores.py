"""Where backups lie: the same promises of a directory and of a real S3 server."""

import errno
import os
import socket
import threading
from pathlib import Path

import pytest

from appliance.backup import s3_store
from appliance.backup.archive import Archive
from appliance.backup.directory_store import DirectoryStore
from appliance.backup.errors import Damaged, NoSpace, Refused, TargetAway
from appliance.backup.s3_store import S3Store, S3Target, open_s3
from appliance.backup.store import Store, open_store
from tests.appliance.backup.s3_server import SECRET, S3Server

# The server takes seconds to start on a busy machine.
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(params=["directory", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "directory":
        return DirectoryStore(tmp_path)
    server = request.getfixturevalue("server")
    return open_s3(S3Target(bucket="backups", folder=tmp_path.name), environ=server.environment)


def test_objects_are_kept_listed_and_taken_away(store: Store) -> None:
    big = os.urandom(6 << 20)  # More than obstore would send in one piece by itself.
    store.put("base/a/00000.part", big)
    store.put("base/b/00000.part", b"old")
    store.put("base/b/00000.part", b"new")
    store.put("wal/x", b"")

    assert store.get("base/a/00000.part") == big
    assert store.get("base/b/00000.part") == b"new"
    assert store.get("wal/x") == b""
    assert store.names("base") == ["base/a/00000.part", "base/b/00000.part"]
    store.delete("base/a/00000.part")
    assert store.names("base") == ["base/b/00000.part"]


def test_what_is_not_there_is_none(store: Store) -> None:
    assert store.get("base/none") is None
    assert store.names("nothing") == []
    store.delete("base/none")


def test_unfinished_backup_is_taken_away(store: Store) -> None:
    # What a backup leaves that was killed: parts, and no record that makes them whole.
    archive = Archive(store)
    archive.put_part("20261128T120000Z", "00000.part", b"half")

    removed = archive.prune(keep=7)

    assert removed.unfinished == ("20261128T120000Z",)
    assert store.names("base") == []


def test_target_is_of_the_first_data_directory_until_it_is_taken_over(
    store: Store, tmp_path: Path
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    archive = Archive(store)
    archive.own(one)
    archive.own(one)

    with pytest.raises(Refused, match="sluice backup --take-over"):
        archive.own(other)
    archive.own(other, take_over=True)
    with pytest.raises(Refused, match="those of another data directory"):
        archive.own(one)


def test_log_that_differs_from_what_is_there_is_not_overwritten(
    store: Store, tmp_path: Path
) -> None:
    file = tmp_path / "000000010000000000000001"
    archive = Archive(store)
    file.write_bytes(b"one")
    archive.put_wal(file)
    archive.put_wal(file)
    file.write_bytes(b"two")

    with pytest.raises(Damaged, match=r"000000010000000000000001 at .* differs"):
        archive.put_wal(file)
    assert archive.wal(file.name) == b"one"


def test_damaged_log_is_told_with_its_name(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "000000010000000000000001"
    file.write_bytes(bytes(range(256)) * 64)
    archive = Archive(store)
    archive.put_wal(file)
    packed = bytearray(store.get(f"wal/{file.name}.zst") or b"")
    packed[len(packed) // 2] ^= 1
    store.put(f"wal/{file.name}.zst", bytes(packed))

    with pytest.raises(Damaged, match="000000010000000000000001 of the write-ahead log"):
        archive.wal(file.name)


def test_directory_is_never_made(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "mount"))

    with pytest.raises(TargetAway, match="is its disk mounted"):
        store.put("a", b"")
    assert not (tmp_path / "mount").exists()


def test_full_disk_is_named_and_leaves_nothing(tmp_path: Path, monkeypatch) -> None:
    def no_room(_number: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", no_room)

    with pytest.raises(NoSpace, match=f"the disk of the target {tmp_path} is full"):
        DirectoryStore(tmp_path).put("a", b"x")
    assert list(tmp_path.iterdir()) == []


def test_files_of_a_backup_are_for_their_owner(tmp_path: Path) -> None:
    DirectoryStore(tmp_path).put("base/a", b"x")

    assert (tmp_path / "base/a").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "base").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("target", ["relative/path", "ftp://host/a", "s3://", "s3://A_b/c"])
def test_target_that_is_none_is_refused(target: str) -> None:
    with pytest.raises(Refused, match="the target"):
        open_store(target)


def test_s3_without_credentials_is_refused() -> None:
    with pytest.raises(Refused, match="AWS_ACCESS_KEY_ID"):
        open_s3(S3Target(bucket="backups", folder=""), environ={})


def test_wrong_secret_is_told_without_it(server: S3Server, caplog, capsys) -> None:
    environment = server.environment | {"AWS_SECRET_ACCESS_KEY": "wrong-and-secret"}
    store = open_s3(S3Target(bucket="backups", folder=""), environ=environment)

    with pytest.raises(TargetAway, match="the target s3://backups fails") as caught:
        store.put("a", b"x")

    told = str(caught.value) + caplog.text + "".join(capsys.readouterr())
    assert "wrong-and-secret" not in told
    assert SECRET not in told


def test_server_that_is_away_is_told(monkeypatch) -> None:
    monkeypatch.setattr(s3_store, "MOST_TRIES", 1)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        store = _store_at(taken.getsockname()[1])

        with pytest.raises(TargetAway, match="the target s3://backups fails"):
            store.get("a")


def test_answer_that_says_to_come_again_is_tried_again() -> None:
    # A server that fails twice and then takes the object.
    statuses = [b"503 Slow Down", b"500 Internal Server Error", b"200 OK"]
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        answering = threading.Thread(target=_answer, args=(listener, statuses, asked), daemon=True)
        answering.start()

        _store_at(listener.getsockname()[1]).put("a", b"content")

        answering.join(10)
    assert [one.split()[0] for one in asked] == [b"PUT"] * 3


def _store_at(port: int) -> S3Store:
    environment = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "k",
        "AWS_SECRET_ACCESS_KEY": "s",
    }
    return open_s3(S3Target(bucket="backups", folder=""), environ=environment)


def _answer(listener: socket.socket, statuses: list[bytes], asked: list[bytes]) -> None:
    for status in statuses:
        connection, _ = listener.accept()
        with connection:
            request = b""
            while not request.endswith(b"content"):
                request += connection.recv(65536)
            asked.append(request)
            connection.sendall(
                b"HTTP/1.1 " + status + b'\r\nETag: "e"\r\nContent-Length: 0\r\n'
                b"Connection: close\r\n\r\n"
            )
