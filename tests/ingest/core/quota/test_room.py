"""Which new series fit, and what is left of a batch without the others."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from ingest.core.batch import Batch, Rules, read_batch
from ingest.core.catalogue import DISKIO
from ingest.core.line_protocol import Precision
from ingest.core.mapping import SeriesKey
from ingest.core.quota.left_out import without_series
from ingest.core.quota.limits import Quota
from ingest.core.quota.room import refused_series
from ingest.sources.registry import find_head
from tests.ingest.scenario import disk_line, nanoseconds, now


def series_of(host: str, *disks: str) -> list[SeriesKey]:
    return [
        SeriesKey(table=DISKIO, host=host, subject=disk, tags=(("host", host), ("name", disk)))
        for disk in disks
    ]


keys = st.lists(
    st.builds(
        lambda host, disk: series_of(host, disk)[0], st.sampled_from("abcd"), st.text("xyz")
    ),
    unique=True,
    max_size=12,
)
left = st.integers(-3, 12)


@given(keys, st.sets(st.sampled_from("abcd")), left, left)
def test_what_is_taken_fits_and_a_new_host_is_whole(
    new: list[SeriesKey], known: set[str], series: int, hosts: int
) -> None:
    room = {Quota.SERIES: series, Quota.HOSTS: hosts}

    refused = refused_series(new, known_hosts=known, room=room)

    taken = [key for key in new if key not in refused]
    assert len(taken) <= max(series, 0)
    assert len({key.host for key in taken} - known) <= max(hosts, 0)
    for host in {key.host for key in new} - known:
        assert len({key in refused for key in new if key.host == host}) == 1


@given(keys, st.sets(st.sampled_from("abcd")))
def test_nothing_is_refused_without_a_quota_or_where_all_fits(
    new: list[SeriesKey], known: set[str]
) -> None:
    enough = {Quota.SERIES: len(new), Quota.HOSTS: 4}

    assert refused_series(new, known_hosts=known, room={}) == {}
    assert refused_series(new, known_hosts=known, room=enough) == {}


@given(keys, st.sets(st.sampled_from("abcd")), left)
def test_known_hosts_come_before_new_ones(
    new: list[SeriesKey], known: set[str], series: int
) -> None:
    refused = refused_series(new, known_hosts=known, room={Quota.SERIES: series})

    of_known = [key for key in new if key.host in known]
    # As many as fit, whatever new hosts the body has.
    assert sum(key in refused for key in of_known) == max(0, len(of_known) - max(series, 0))


def test_new_host_is_refused_with_the_quota_that_lacks() -> None:
    known, new = series_of("known", "sda"), series_of("new", "sda", "sdb")

    for room, expected in (
        ({Quota.HOSTS: 0}, Quota.HOSTS),
        ({Quota.HOSTS: 1, Quota.SERIES: 2}, Quota.SERIES),
    ):
        found = refused_series([*new, *known], known_hosts={"known"}, room=room)

        assert found == dict.fromkeys(new, expected)


def batch_of(*lines: str) -> Batch:
    at_ns = nanoseconds(now())
    hour_ns = timedelta(hours=1) // timedelta(microseconds=1) * 1000
    rules = Rules(
        precision=Precision.NS,
        now_ns=at_ns,
        earliest_ns=at_ns - hour_ns,
        latest_ns=at_ns + hour_ns,
        too_early="",
        too_late="",
    )
    return read_batch("\n".join(lines).encode(), rules, find_head)


REASONS = {Quota.SERIES: "no more series", Quota.HOSTS: "no more hosts"}


def test_batch_keeps_the_other_series_with_their_rows_and_names_what_it_lost() -> None:
    batch = batch_of(
        disk_line(now(), host="h1", name="sda", count=1),
        disk_line(now(), host="h2", name="sda", count=2),
        disk_line(now() - timedelta(seconds=9), host="h2", name="sda", count=3),
        disk_line(now(), host="h1", name="sdb", count=4),
        "bad",
    )
    refused = {key: Quota.HOSTS for key in batch.series if key.host == "h2"}

    kept = without_series(batch, refused, hosts={"h2"}, reasons=REASONS)

    assert [(key.host, key.subject) for key in kept.series] == [("h1", "sda"), ("h1", "sdb")]
    rows = {place: values[0] for (place, _), values in kept.rows[DISKIO].items()}
    assert rows == {0: 1, 1: 4}
    assert (kept.accepted_lines, kept.rejected_lines) == (2, 3)
    told = kept.rejections[-1]
    assert (told.line, told.reason, told.line_count) == (
        "diskio,host=h2,name=sda",
        "no more hosts",
        2,
    )


def test_facts_of_a_refused_host_are_left_out_and_those_of_others_kept() -> None:
    at = nanoseconds(now())
    batch = batch_of(
        disk_line(now(), host="h1"),
        disk_line(now(), host="h2"),
        f'sluice_device,host=h1,name=sda wwn="1" {at}',
        f'sluice_device,host=h2,name=sda wwn="2" {at}',
    )
    refused = {key: Quota.HOSTS for key in batch.series if key.host == "h2"}

    kept = without_series(batch, refused, hosts={"h2"}, reasons=REASONS)

    assert {fact.host for fact in batch.facts} == {"h1", "h2"}
    assert {fact.host for fact in kept.facts} == {"h1"}


def test_batch_of_which_nothing_is_kept_has_no_accepted_line() -> None:
    batch = batch_of(disk_line(now()), disk_line(now(), name="sdb"))

    kept = without_series(
        batch, dict.fromkeys(batch.series, Quota.SERIES), hosts=(), reasons=REASONS
    )

    assert (kept.accepted_lines, kept.rejected_lines, kept.series, kept.rows) == (0, 2, [], {})


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy")), max_size=8), st.data())
def test_lines_are_neither_lost_nor_invented(
    lines: list[tuple[str, str]], data: st.DataObject
) -> None:
    batch = batch_of(*(disk_line(now(), host=host, name=disk) for host, disk in lines))
    some = data.draw(st.sets(st.sampled_from(batch.series)) if batch.series else st.just(set()))

    kept = without_series(batch, dict.fromkeys(some, Quota.SERIES), hosts=(), reasons=REASONS)

    before = batch.accepted_lines + batch.ignored_lines + batch.rejected_lines
    assert kept.accepted_lines + kept.ignored_lines + kept.rejected_lines == before
    assert kept.accepted_lines >= 0
    assert Counter(kept.series) == Counter(key for key in batch.series if key not in some)
