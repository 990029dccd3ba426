"""Backups of a real database: restored to moments, verified, pruned, and refused."""

import dataclasses
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from appliance.backup import restore as restoring
from appliance.backup.archive import Archive
from appliance.backup.directory_store import DirectoryStore
from appliance.backup.errors import Damaged, NoSpace, NotReachable, Refused, WrongVersion
from appliance.backup.places import BackupPlaces, archive_command
from appliance.backup.restore import Restored, restore
from appliance.backup.s3_store import S3Target, open_s3
from appliance.backup.table_sums import sum_tables
from appliance.backup.verify import verify
from appliance.embedded import postgres_programs
from appliance.embedded.checksums import add_checksums, has_checksums
from appliance.embedded.child import Child
from appliance.embedded.errors import EmbeddedError
from appliance.embedded.postgres_cluster import PostgresCluster, find_cluster
from appliance.embedded.service_user import process_identity, service_user
from config.paths import DataDir
from tests.appliance.backup.clusters import Running, points_in, running_database
from tests.appliance.backup.s3_server import S3Server
from tests.appliance.embedded_run import short_directory

# `test_drill` restores at each commit, these at `make test-long`.
pytestmark = [
    pytest.mark.postgres, pytest.mark.any_database, pytest.mark.timeout(900), pytest.mark.long,
]  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A database with backups: 1 and 2 were stored, a backup made, 3 stored, then 4."""

    root: Path
    running: Running
    archive: Archive
    after: dict[int, datetime]


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with short_directory() as root, running_database(root / "d") as running:
        (root / "target").mkdir()
        archive = Archive(DirectoryStore(root / "target"))
        running.write(1, 2)
        running.back_up(archive)
        after = {number: running.write(number) for number in (3, 4)}
        running.ship(archive)
        yield Story(root=root, running=running, archive=archive, after=after)


@pytest.fixture
def into(story: Story, request: pytest.FixtureRequest) -> Iterator[DataDir]:
    data = DataDir(story.root / "r")
    yield data
    shutil.rmtree(data.root, ignore_errors=True)


@pytest.fixture
def copied(story: Story) -> Iterator[Archive]:
    """The backups again, to be damaged."""
    copy = story.root / "copy"
    shutil.copytree(story.root / "target", copy)
    yield Archive(DirectoryStore(copy))
    shutil.rmtree(copy)


def restored(
    archive: Archive, into: DataDir, *, until: datetime | None = None, force: bool = False
) -> Restored:
    return restore(
        archive, into, until=until, force=force, say=lambda _: None, progress=lambda *_: None
    )


def test_database_comes_back_as_it_was_at_a_moment(story: Story, into: DataDir) -> None:
    done = restored(story.archive, into, until=story.after[3])

    assert points_in(into) == [1, 2, 3]
    assert done.newest_at is not None
    assert done.newest_at <= story.after[3]


def test_database_comes_back_to_the_end_of_its_log(story: Story, into: DataDir) -> None:
    done = restored(story.archive, into)

    assert points_in(into) == [1, 2, 3, 4]
    assert done.newest_at is not None
    assert story.after[3] < done.newest_at
    assert not (into.root / restoring.LOG_FOLDER).exists()


def test_moment_comes_back_from_an_s3_server_and_its_backup_is_verified(
    story: Story, into: DataDir, server: S3Server
) -> None:
    place = S3Target(bucket="backups", folder="restore")
    archive = Archive(open_s3(place, environ=server.environment))
    story.running.back_up(archive)
    after_5 = story.running.write(5)
    story.running.write(6)
    story.running.ship(archive)

    restored(archive, into, until=after_5)
    checked = verify(
        archive, _folder(story.root / "v"), name=None,
        say=lambda _: None, progress=lambda *_: None,
    )  # fmt: skip

    assert points_in(into) == [1, 2, 3, 4, 5]
    assert checked.rows == 4  # The backup had 1 to 4.
    assert checked.newest_at is not None
    assert checked.newest_at > after_5


def test_moment_before_the_oldest_backup_is_told(story: Story, into: DataDir) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=1)

    with pytest.raises(NotReachable, match="the oldest moment that can be restored is"):
        restored(story.archive, into, until=long_ago)


def test_moment_after_the_log_is_told_with_its_end(story: Story, into: DataDir) -> None:
    later = datetime.now(UTC) + timedelta(days=1)

    with pytest.raises(
        NotReachable, match=r"the archived log ends before .* the last transaction"
    ):
        restored(story.archive, into, until=later)
    assert not into.postgres.exists()


def test_moment_that_the_log_did_not_reach_can_be_tried_again(story: Story, into: DataDir) -> None:
    with pytest.raises(NotReachable):
        restored(story.archive, into, until=datetime.now(UTC) + timedelta(days=1))

    assert list(into.root.iterdir()) == []
    restored(story.archive, into)
    assert points_in(into) == [1, 2, 3, 4]


def test_running_database_is_refused_even_by_force(story: Story) -> None:
    with pytest.raises(Refused, match=r"a database runs in .* stop it first"):
        restored(story.archive, story.running.cluster.data, force=True)


def test_directory_with_files_is_refused_and_its_database_moved_by_force(
    story: Story, into: DataDir
) -> None:
    into.postgres.mkdir(parents=True)
    (into.postgres / "precious").write_text("old")

    with pytest.raises(Refused, match="is not empty; choose a new directory"):
        restored(story.archive, into)
    done = restored(story.archive, into, force=True)

    assert done.moved_to is not None
    assert (done.moved_to / "precious").read_text() == "old"
    assert points_in(into) == [1, 2, 3, 4]


def test_restore_that_fails_puts_back_what_was_there(copied: Archive, into: DataDir) -> None:
    into.postgres.mkdir(parents=True)
    (into.postgres / "precious").write_text("old")
    _damage(copied, "base/*/00000.part")

    with pytest.raises(Damaged):
        restored(copied, into, force=True)

    assert (into.postgres / "precious").read_text() == "old"


def test_damaged_part_is_named(copied: Archive, into: DataDir) -> None:
    _damage(copied, "base/*/00000.part")

    with pytest.raises(Damaged, match=r"00000\.part of the backup .* its SHA-256 differs"):
        restored(copied, into)


def test_missing_part_is_named(copied: Archive, into: DataDir) -> None:
    _file(copied, "base/*/00000.part").unlink()

    with pytest.raises(Damaged, match=r"00000\.part of the backup .* is missing"):
        restored(copied, into)


def test_missing_piece_of_the_log_is_named(copied: Archive, into: DataDir) -> None:
    names = sorted(copied.wal_names())
    # Neither the first nor the last, so that others lie on both sides.
    _file(copied, f"wal/{names[-2]}.zst").unlink()

    with pytest.raises(Damaged, match=f"the segment {names[-2]} of the log is missing"):
        restored(copied, into)


def test_postgresql_of_another_version_is_named(
    copied: Archive, into: DataDir, monkeypatch
) -> None:
    monkeypatch.setattr(postgres_programs, "_candidates", lambda: iter(()))

    with pytest.raises(WrongVersion, match=r"is of PostgreSQL \d+.*not installed any more"):
        restored(copied, into)


def test_disk_without_room_is_named(story: Story, into: DataDir, monkeypatch) -> None:
    little = shutil._ntuple_diskusage(10**9, 10**9 - 1000, 1000)
    monkeypatch.setattr(restoring.shutil, "disk_usage", lambda _: little)

    with pytest.raises(NoSpace, match="GB free, and the restored database"):
        restored(story.archive, into)
    assert not into.postgres.exists()


def test_backup_is_verified(story: Story, into: DataDir) -> None:
    into.root.mkdir(mode=0o711)

    done = verify(
        story.archive, into.root, name=None, say=lambda _: None, progress=lambda *_: None
    )

    assert (done.tables, done.rows) == (1, 2)  # The table of points, with 1 and 2.
    assert done.pages_checked
    assert done.newest_at is not None
    assert done.newest_at > story.after[3]


def test_table_that_differs_fails_the_verification(copied: Archive, into: DataDir) -> None:
    record = _file(copied, "base/*/backup.json")
    plain = json.loads(record.read_text())
    plain["counted"]["tables"]["public.points"]["rows"] = 7
    record.write_text(json.dumps(plain))
    into.root.mkdir(mode=0o711)

    with pytest.raises(Damaged, match=r"public\.points \(7 rows, found 2\)"):
        verify(copied, into.root, name=None, say=lambda _: None, progress=lambda *_: None)


def test_contents_that_differ_change_the_sum(story: Story) -> None:
    with psycopg.connect(story.running.cluster.address("sluice")) as connection:
        before = sum_tables(connection)["public.points"]
        connection.execute("UPDATE points SET number = 40 WHERE number = 4")
        after = sum_tables(connection)["public.points"]
        connection.rollback()

    assert before.rows == after.rows
    assert before.content != after.content


def test_backups_go_on_after_a_restore_and_lead_to_both_times(story: Story) -> None:
    # The restored database leaves the timeline at 3; what was written before and after is there.
    with short_directory() as root:
        target = root / "target"
        shutil.copytree(story.root / "target", target)
        archive, data = Archive(DirectoryStore(target)), DataDir(root / "again")
        restored(archive, data, until=story.after[3])

        with _started(data) as again:
            with pytest.raises(Refused, match="--take-over"):
                again.back_up(archive)
            archive.own(again.places.folder, take_over=True)
            again.back_up(archive)
            again.write(5)
            again.ship(archive)
        restored(archive, DataDir(root / "third"))

        assert points_in(DataDir(root / "third")) == [1, 2, 3, 5]


def test_old_backups_and_their_log_go(story: Story) -> None:
    with short_directory() as root:
        target = root / "target"
        target.mkdir()
        archive = Archive(DirectoryStore(target))
        first = story.running.back_up(archive, keep=1).record
        story.running.execute("CREATE TABLE IF NOT EXISTS filler (a int)")
        story.running.ship(archive)
        # Names have seconds.
        second = story.running.back_up(archive, keep=1)

        assert second.removed.backups == (first.name,)
        assert second.removed.segments > 0
        assert [one.name for one in archive.records()] == [second.record.name]
        assert min(archive.wal_names()) == second.record.first_segment


def test_new_cluster_has_checksums_and_an_old_one_gets_them(story: Story, into: DataDir) -> None:
    assert has_checksums(story.running.cluster)
    with pytest.raises(EmbeddedError, match="is running; stop it first"):
        add_checksums(story.running.cluster)

    restored(story.archive, into)
    cluster = dataclasses.replace(story.running.cluster, data=into)
    _without_checksums(cluster)
    assert not has_checksums(cluster)
    add_checksums(cluster)

    assert has_checksums(cluster)
    assert points_in(into) == [1, 2, 3, 4]


def _without_checksums(cluster: PostgresCluster) -> None:
    subprocess.run(
        [cluster.programs.bin_dir / "pg_checksums", "--disable", cluster.data.postgres],
        check=True,
        cwd="/",
        capture_output=True,
        **process_identity(cluster.user),
    )


@contextmanager
def _started(data: DataDir) -> Iterator[Running]:
    """The restored database, which archives as its origin did."""
    user = service_user()
    cluster, places = find_cluster(data, user), BackupPlaces(data)
    places.make(user)
    server = Child(cluster.server(archive_command=archive_command(places)))
    try:
        server.wait_until_ready()
        yield Running(cluster=cluster, places=places)
    finally:
        server.stop()


def _folder(path: Path) -> Path:
    path.mkdir(mode=0o711)
    return path


def _file(archive: Archive, pattern: str) -> Path:
    (found,) = Path(archive.store.target).glob(pattern)
    return found


def _damage(archive: Archive, pattern: str) -> None:
    file = _file(archive, pattern)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0x10
    file.write_bytes(bytes(content))
