"""Records of backups: as files, which one leads to a moment, and which stay."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.backup.errors import Damaged, NotReachable
from appliance.backup.record import (
    BackupRecord,
    Counted,
    Part,
    TableSum,
    choose,
    from_json,
    kept,
    to_json,
)
from appliance.backup.wal import Switch

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)


def record(hours: int = 0, *, timeline: int = 1, stop_lsn: str = "0/3000000") -> BackupRecord:
    """One that ended so many hours after noon."""
    at = NOON + timedelta(hours=hours)
    return BackupRecord(
        name=f"b{hours}",
        started_at=at - timedelta(minutes=5),
        finished_at=at,
        postgres_version="15.18",
        timescaledb=False,
        system_identifier="74",
        timeline=timeline,
        start_lsn="0/2000028",
        stop_lsn=stop_lsn,
        raw_bytes=100,
        parts=(Part(name="00000.part", size_bytes=10, sha256="ab"),),
        counted=Counted(
            restore_point="sluice-b",
            at=at,
            tables={
                "public.a": TableSum(rows=3, content="7"),
                "public.b": TableSum(rows=9, content=None),
            },
        ),
        kept_apart=("/d/secret-key",),
    )


def test_record_is_read_as_it_was_written():
    assert from_json(to_json(record()), name="b0") == record()


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"\xff", b'{"format": 1}', to_json(record())[:-40]]
)
def test_damaged_record_is_told_with_its_name(content):
    with pytest.raises(Damaged, match="the backup b0"):
        from_json(content, name="b0")


def test_record_of_a_later_version_is_not_read():
    with pytest.raises(Damaged, match="another version of Sluice"):
        from_json(to_json(record()).replace(b'"format": 1', b'"format": 2'), name="b0")


@given(st.lists(st.integers(0, 100), unique=True, min_size=1), st.integers(-10, 110))
def test_backup_is_the_newest_that_ended_by_the_moment(hours, wanted):
    records = [record(one) for one in hours]
    until = NOON + timedelta(hours=wanted)

    if wanted < min(hours):
        with pytest.raises(NotReachable, match=f"oldest moment .* b{min(hours)}"):
            choose(records, until=until, timeline=1, history=())
    else:
        found = choose(records, until=until, timeline=1, history=())
        assert found.name == f"b{max(one for one in hours if one <= wanted)}"


def test_backup_of_a_timeline_that_was_left_before_is_not_chosen():
    # A restore left timeline 1 at 0/4000000, before the later backup of timeline 1 ended.
    history = (Switch(timeline=1, at_bytes=0x4000000),)
    abandoned = record(2, stop_lsn="0/5000000")

    assert choose([record(1), abandoned], until=None, timeline=2, history=history) == record(1)


def test_no_backup_is_told_with_the_way_to_one():
    with pytest.raises(NotReachable, match="make one with: sluice backup"):
        choose([], until=None, timeline=1, history=())


@given(st.lists(st.integers(0, 100), unique=True), st.integers(-1, 8))
def test_newest_stay_and_never_none(hours, keep):
    stay = kept([record(one) for one in hours], keep=keep)

    expected = sorted(hours)[-max(1, keep) :]
    assert [one.name for one in stay] == [f"b{one}" for one in expected]
