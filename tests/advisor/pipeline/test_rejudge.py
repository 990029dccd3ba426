"""Samples that come late end in the states and incidents of samples that came in time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from advisor.models import DetectorCheckpoint
from advisor.pipeline.amend import alike
from advisor.pipeline.detect import detect
from advisor.pipeline.rejudge import thin_checkpoints
from tests.advisor.deliveries import HOSTS, START, STEP, Delivery, Lun, in_one_go, live

LOW_MS, HIGH_MS = 5.0, 60.0

# Runs of calm and of congestion, of a few windows each: 10 to 24 minutes.
latencies = st.lists(
    st.tuples(st.sampled_from([LOW_MS, HIGH_MS]), st.integers(2, 9)), min_size=3, max_size=6
).map(lambda runs: [ms for ms, windows in runs for _ in range(windows)])


@st.composite
def late_deliveries(draw: st.DrawFn, steps: int) -> list[Delivery]:
    """Each host sends live but for outages, after which all that it kept comes at once."""
    found = []
    for host in HOSTS:
        step = 0
        while step < steps:
            kept = draw(st.sampled_from([1, 1, 1, 1, 5, 20]))
            own = tuple(range(step, min(step + kept, steps)))
            found.append(Delivery(after=own[-1] + draw(st.integers(0, 3)), host=host, steps=own))
            step += kept
    return found


@st.composite
def shuffled_deliveries(draw: st.DrawFn, steps: int) -> list[Delivery]:
    """Pieces of both hosts in any order."""
    size = draw(st.integers(3, 15))
    pieces = [
        (host, tuple(range(begin, min(begin + size, steps))))
        for host in HOSTS
        for begin in range(0, steps, size)
    ]
    order = draw(st.permutations(pieces))
    return [
        Delivery(after=max(own[-1], place * size // 2), host=host, steps=own)
        for place, (host, own) in enumerate(order)
    ]


def assert_ends_like_an_import(
    levels: list[float], deliveries: list[Delivery], *, look_each: int
) -> Lun:
    """The states and incidents of the deliveries are those of an import."""
    expected = Lun(levels)
    expected.play(in_one_go(expected.steps), look_each=10_000)

    found = Lun(levels).play(deliveries, look_each=look_each)

    assert found.states() == expected.states()
    assert alike(found.incidents(), expected.incidents())
    return found


TWICE = [LOW_MS] * 6 + [HIGH_MS] * 8 + [LOW_MS] * 30 + [HIGH_MS] * 5 + [LOW_MS] * 5


@pytest.mark.django_db
@pytest.mark.parametrize(
    "deliveries",
    [
        pytest.param(live(len(TWICE) + 1), id="live"),
        pytest.param(
            [one for one in live(len(TWICE) + 1) if not (one.host == "h1" and 4 < one.after < 40)]
            + [Delivery(after=40, host="h1", steps=tuple(range(5, 40)))],
            id="an outage of one host over the first incident",
        ),
        pytest.param(
            [one for one in live(len(TWICE) + 1) if one.host == "h2"]
            + [Delivery(after=50, host="h1", steps=tuple(range(len(TWICE) + 1)))],
            id="one host after the other",
        ),
    ],
)
def test_named_deliveries_end_like_an_import(deliveries: list[Delivery]) -> None:
    found = assert_ends_like_an_import(TWICE, deliveries, look_each=1).incidents()

    assert [one["peak_value"] for one in found] == pytest.approx([HIGH_MS, HIGH_MS])
    victims = [{victim["workload"] for victim in one["victims"]} for one in found]
    assert victims == [{"db", "web"}, {"db", "web"}]


@pytest.mark.django_db
def test_windows_are_judged_on_at_once_after_the_clock_was_an_hour_ahead() -> None:
    expected = Lun(TWICE)
    expected.play(in_one_go(expected.steps), look_each=10_000)
    found = Lun(TWICE)

    for step in range(found.steps):
        now = START + step * STEP + timedelta(seconds=1)
        # In the first incident.
        clock = now + timedelta(hours=1) if 10 <= step < 13 else now
        for host in HOSTS:
            found.send(Delivery(after=step, host=host, steps=(step,)), now=clock)
        status = detect(resource=found.resource, now=clock)

    assert status.last_window_at == START + (found.steps - 1) * STEP
    assert not status.is_rejudging
    found.settle(now + timedelta(minutes=1))
    assert found.states() == expected.states()
    assert alike(found.incidents(), expected.incidents())


@pytest.mark.django_db
@pytest.mark.parametrize("with_rows", [True, False], ids=["rows are there", "rows are gone"])
def test_host_that_sends_after_the_hour_was_sealed_ends_like_an_import(*, with_rows: bool) -> None:
    expected = Lun(TWICE)
    expected.play(in_one_go(expected.steps), look_each=10_000)
    found = Lun(TWICE)
    found.play([one for one in live(found.steps) if one.host == "h2"], look_each=5)
    alone = found.incidents()
    # The hour ends ten minutes after the start, and rows stay as long as the next one is open.
    sealed_at = START + timedelta(minutes=100)
    expected.seal(now=sealed_at, with_rows=True)
    found.seal(now=sealed_at, with_rows=with_rows)

    late = Delivery(after=0, host="h1", steps=tuple(range(found.steps)))
    found.send(late, now=sealed_at)
    found.settle(sealed_at)

    assert not alike(alone, expected.incidents())
    assert found.states() == expected.states()
    assert alike(found.incidents(), expected.incidents())


@pytest.mark.django_db
@pytest.mark.timeout(600)
@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    # Each example takes seconds.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(data=st.data())
def test_same_samples_end_in_the_same_states_and_incidents(data: st.DataObject) -> None:
    levels = data.draw(latencies)
    steps = len(levels) + 1
    deliveries = data.draw(st.one_of(late_deliveries(steps), shuffled_deliveries(steps)))
    look_each = data.draw(st.sampled_from([3, 7]))

    with transaction.atomic():
        assert_ends_like_an_import(levels, deliveries, look_each=look_each)
        transaction.set_rollback(True)


@pytest.mark.django_db
def test_checkpoints_thin_out_with_age() -> None:
    lun = Lun([LOW_MS]).resource
    now = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
    minutes = range(0, 4 * 24 * 60, 5)
    DetectorCheckpoint.objects.bulk_create(
        DetectorCheckpoint(resource=lun, at=now - timedelta(minutes=one), detector="{}")
        for one in minutes
    )

    thin_checkpoints(now=now)

    rows = DetectorCheckpoint.objects.order_by("-at").values_list("at", flat=True)
    ages = [round((now - at).total_seconds() / 60) for at in rows]
    # All of the last hour, the first of each hour for two days, the first of each day before.
    assert [age for age in ages if age <= 60] == list(range(0, 61, 5))
    assert [age for age in ages if 60 < age <= 2880] == list(range(120, 2881, 60))
    assert [age for age in ages if age > 2880] == [3600, 5040, 5755]
