"""What /metrics says of the policy, of each allocation and of the agent itself."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from enforcers.contract import CorrectedModel, Unit
from enforcers.metrics.exposition import render
from enforcers.metrics.families import families
from enforcers.signals import Call
from tests.enforcers.agent_bench import AWAY, Bench
from tests.enforcers.faults import Fault, Steps, faulty_disk
from tests.enforcers.policies import NOON, vnic
from tests.enforcers.test_metrics_text import parsed

P = "sluice_enforcer_"
VM1 = {"allocation": "net-1", "workload": "vm1", "resource": "uplink0", "device": "up0"}


class Shown:
    """The numbers of one reading."""

    def __init__(self, bench: Bench) -> None:
        moment = bench.agent._clocks.moment()
        self.numbers = parsed(render(families(bench.figures, "h1", moment)))

    def __call__(self, name: str, **labels: str) -> float | None:
        return self.numbers.get((f"{P}{name}", frozenset(labels.items())))

    def label(self, name: str, label: str, **labels: str) -> set[str]:
        """The values of one label where the others are these."""
        return {
            dict(found)[label]
            for family, found in self.numbers
            if family == f"{P}{name}" and labels.items() <= dict(found).items()
        }


@pytest.fixture
def enforcing(bench: Bench) -> Bench:
    """Two workloads are enforced: vm1 has all three controls, vm2 has no limit."""
    bench.publish(vnic(1, 10e6, limit=50e6, shares=300), vnic(2, shares=100), revision=7)
    bench.tick()
    return bench


def test_wanted_applied_and_read_back_have_the_unit_of_the_resource(enforcing: Bench) -> None:
    shown = Shown(enforcing)

    for name in ("wanted", "applied", "read_back"):
        assert shown(name, **VM1, control="limit", unit="bits_per_s") == 50e6
        assert shown(name, **VM1, control="reservation", unit="bits_per_s") == 10e6
    assert shown("wanted", **VM1, control="shares", unit="shares") == 300


def test_device_that_does_less_than_is_stated_is_shown(enforcing: Bench) -> None:
    sda = {"device": "sda", "unit": "iops"}
    before = Shown(enforcing)
    found = CorrectedModel(
        device="sda", unit=Unit.IOPS, stated=2600.0, real=1687.0, model=1552.0, after_s=2.5
    )
    assert enforcing.figures.last is not None
    enforcing.figures.last = replace(enforcing.figures.last, corrected=(found,))

    shown = Shown(enforcing)

    assert before("corrected_capacity_real", **sda) is None
    assert shown("corrected_capacity_stated", **sda) == 2600
    assert shown("corrected_capacity_real", **sda) == 1687
    assert shown("corrected_capacity_model", **sda) == 1552
    assert shown("corrected_after_seconds", device="sda") == 2.5


def test_limit_that_nobody_wants_is_not_shown_as_a_number(enforcing: Bench) -> None:
    shown = Shown(enforcing)

    assert shown.label("wanted", "control", allocation="net-2") == {"reservation", "shares"}


def test_each_control_has_one_outcome(enforcing: Bench) -> None:
    shown = Shown(enforcing)

    for control in ("reservation", "limit", "shares"):
        assert shown.label("control_outcome", "outcome", **VM1, control=control) == {"applied"}
        assert shown("control_falls_short", **VM1, control=control) == 0


def test_allocation_that_falls_short_says_so_and_is_not_in_force(enforcing: Bench) -> None:
    enforcing.publish(vnic(1), vnic(9), revision=8)  # There is no interface p9.
    enforcing.tick()

    shown = Shown(enforcing)

    assert shown("control_falls_short", **VM1, control="limit") == 0
    missing = {"allocation": "net-9", "workload": "vm9", "resource": "uplink0", "device": "up0"}
    assert shown("control_falls_short", **missing, control="limit") == 1
    assert shown.label("control_outcome", "outcome", **missing) == {"failed"}
    assert shown("enforced_since_timestamp_seconds", **missing) is None
    assert shown("applied", **missing, control="limit", unit="bits_per_s") is None


def test_measured_rate_is_shown_when_it_is_known(enforcing: Bench) -> None:
    assert Shown(enforcing)("measured", **VM1, unit="bits_per_s") is None

    enforcing.tick()
    enforcing.tc.devices["up0"].classes["51ce:10"].sent_bytes += 1_250_000
    enforcing.tick()

    # 10 Mbit in the last 10 s of 20 s.
    assert Shown(enforcing)("measured", **VM1, unit="bits_per_s") == 5e5


def test_enforced_since_stays_while_the_promise_does(enforcing: Bench) -> None:
    since = NOON.timestamp() + 10.0  # The first tick.
    enforcing.tick()
    assert Shown(enforcing)("enforced_since_timestamp_seconds", **VM1) == since

    # A neighbour and other entitlements break nothing.
    promised = vnic(1, 10e6, limit=50e6, shares=300, entitlement=7.0)
    enforcing.publish(promised, vnic(2, shares=100), vnic(3), revision=8)
    enforcing.tick()
    assert Shown(enforcing)("enforced_since_timestamp_seconds", **VM1) == since

    enforcing.publish(replace(promised, limit=60e6), revision=9)
    enforcing.tick()
    assert Shown(enforcing)("enforced_since_timestamp_seconds", **VM1) == since + 30.0


def test_enforced_since_begins_anew_after_somebody_interfered(enforcing: Bench) -> None:
    enforcing.tick()
    enforcing.tc.run(["tc", "qdisc", "del", "dev", "up0", "root"])
    enforcing.tick()

    shown = Shown(enforcing)

    assert shown.label("control_outcome", "outcome", **VM1) == {"drifted"}
    assert shown("enforced_since_timestamp_seconds", **VM1) == NOON.timestamp() + 30.0


def test_enforced_since_goes_on_over_a_start_that_finds_all_in_force(enforcing: Bench) -> None:
    enforcing.tick()
    enforcing.start()
    enforcing.tick()
    enforcing.start()
    enforcing.tick()

    assert Shown(enforcing)("enforced_since_timestamp_seconds", **VM1) == NOON.timestamp() + 10.0


def interfered(bench: Bench) -> None:
    bench.tc.run(["tc", "qdisc", "del", "dev", "up0", "root"])


def stopped(bench: Bench) -> None:
    bench.agent.stop()


def put_back(bench: Bench) -> None:
    # As by the timer that restores, and by hand.
    bench.agent._store.keep_enforced(None)


def damaged(bench: Bench) -> None:
    (bench.directory / "in_force.json").write_text("{")


def promised_more(bench: Bench) -> None:
    bench.publish(vnic(1, 10e6, limit=60e6, shares=300), vnic(2, shares=100), revision=8)


@pytest.mark.parametrize(
    "meanwhile",
    [interfered, stopped, put_back, damaged, promised_more, Bench.reboot],
)
def test_enforced_since_begins_anew_at_a_start_that_cannot_vouch_for_it(
    enforcing: Bench, meanwhile: Callable[[Bench], None]
) -> None:
    enforcing.tick()

    meanwhile(enforcing)
    enforcing.start()
    enforcing.tick()

    found = Shown(enforcing)("enforced_since_timestamp_seconds", **VM1)
    assert found == NOON.timestamp() + 30.0


def test_enforced_since_begins_anew_after_an_agent_that_showed_no_figures(
    enforcing: Bench,
) -> None:
    enforcing.tick()
    enforcing.start(is_watched=False)
    enforcing.start()
    enforcing.tick()

    found = Shown(enforcing)("enforced_since_timestamp_seconds", **VM1)
    assert found == NOON.timestamp() + 30.0


def test_enforced_since_that_cannot_be_kept_is_shown_all_the_same(
    enforcing: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    (enforcing.directory / "in_force.json").unlink()
    (enforcing.directory / "in_force.json").mkdir()
    enforcing.publish(vnic(1, 10e6, limit=60e6, shares=300), vnic(2, shares=100), revision=8)

    enforcing.tick()

    found = Shown(enforcing)("enforced_since_timestamp_seconds", **VM1)
    assert found == NOON.timestamp() + 20.0
    assert "enforced since not kept" in caplog.text


def test_enforced_since_that_could_not_be_kept_begins_anew_at_the_next_start(
    enforcing: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with faulty_disk(monkeypatch, Steps(Fault.FULL_DISK, 1)):
        interfered(enforcing)
        enforcing.tick()
    enforcing.start()
    enforcing.tick()

    # What was on disk told of the time before somebody interfered.
    found = Shown(enforcing)("enforced_since_timestamp_seconds", **VM1)
    assert found == NOON.timestamp() + 30.0


def test_enforced_since_is_not_moved_by_a_clock_that_is_set(enforcing: Bench) -> None:
    enforcing.tick()
    enforcing.clock_error_s = 3600.0

    found = Shown(enforcing)("enforced_since_timestamp_seconds", **VM1)

    # By the new clock it was an hour later, too: ten seconds before now.
    assert found == NOON.timestamp() + 10.0 + 3600.0


def test_policy_has_an_age_a_revision_and_a_lease_that_runs_out(enforcing: Bench) -> None:
    enforcing.service.fault = AWAY
    enforcing.tick(after_s=50.0)

    shown = Shown(enforcing)

    assert shown("policy_revision") == 7
    # Published at 0 s for 15 minutes; taken at 10 s, and it is 60 s by now.
    assert shown("policy_age_seconds") == pytest.approx(60.0)
    assert shown("lease_left_seconds") == pytest.approx(840.0)
    assert shown("policy_refused") == 1
    assert shown("errors_total", **{"in": "policy"}) == 1


def test_age_and_lease_are_those_of_the_boot_clock(enforcing: Bench) -> None:
    enforcing.service.fault = AWAY
    enforcing.clock_error_s = -86_400.0
    enforcing.tick()

    shown = Shown(enforcing)

    assert shown("policy_age_seconds") == pytest.approx(20.0)
    assert shown("lease_left_seconds") == pytest.approx(880.0)


def test_lease_that_is_over_has_nothing_left_and_nothing_is_in_force(enforcing: Bench) -> None:
    enforcing.service.fault = AWAY
    enforcing.tick(after_s=1000.0)

    shown = Shown(enforcing)

    assert shown("lease_left_seconds") == 0
    assert shown("state", state="expired") == 1
    assert shown("state", state="enforcing") == 0
    assert shown.label("wanted", "control") == set()


def test_dry_run_puts_nothing_in_force(tmp_path: Path) -> None:
    bench = Bench(tmp_path, dry_run=True)
    bench.publish(vnic(1, 10e6))
    bench.tick()

    shown = Shown(bench)

    assert shown("state", state="dry_run") == 1
    assert shown("enforced_since_timestamp_seconds", **VM1) is None
    assert shown("wanted", **VM1, control="reservation", unit="bits_per_s") == 10e6
    assert shown("kernel_writes_total", result="made") == 0


def test_writes_and_failures_are_counted(enforcing: Bench) -> None:
    made = len((enforcing.directory / "audit.jsonl").read_text().splitlines())
    assert Shown(enforcing)("kernel_writes_total", result="made") == made

    assert Shown(enforcing)("kernel_writes_total", result="failed") == 0

    enforcing.tc.refuse = "class change"
    enforcing.publish(vnic(1, 20e6, limit=50e6, shares=300), vnic(2, shares=100), revision=8)
    enforcing.tick()

    shown = Shown(enforcing)
    assert shown("kernel_writes_total", result="failed") == 1
    assert shown("errors_total", **{"in": "device"}) == 1


def test_rounds_passes_and_periods_have_their_time(enforcing: Bench) -> None:
    enforcing.agent._follow()
    enforcing.tick()

    shown = Shown(enforcing)

    assert shown("round_seconds_count") == shown("pass_seconds_count") == 2
    assert shown("period_seconds_count") == 1
    assert shown("round_seconds_sum") == 0  # The clock of this bench stands still in a round.


def test_time_since_the_last_round_grows_while_the_loop_hangs(enforcing: Bench) -> None:
    assert Shown(enforcing)("seconds_since_round") == 0

    enforcing.seconds += 42.0

    assert Shown(enforcing)("seconds_since_round") == 42


def test_round_that_fails_is_counted(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.agent, "tick", lambda: 1 / 0)
    waits = iter([None, None, Call.HAND_OVER])

    bench.agent.run(lambda _: next(waits))

    assert Shown(bench)("errors_total", **{"in": "round"}) == 2


def test_period_that_fails_is_counted(enforcing: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enforcing.agent._enforcement, "follow", lambda **_: False)
    enforcing.agent._follow()

    assert Shown(enforcing)("errors_total", **{"in": "period"}) == 1


def test_before_the_first_round_only_the_agent_itself_is_shown(bench: Bench) -> None:
    shown = Shown(bench)

    assert shown("round_seconds_count") == 0
    assert shown.label("state", "state") == set()
    assert shown.label("info", "host") == {"h1"}


def test_name_with_quotes_and_line_breaks_is_shown_as_it_is(bench: Bench) -> None:
    name = 'db "orders" \\ 1'
    bench.publish(vnic(1, workload=name))
    bench.tick()

    assert Shown(bench).label("wanted", "workload") == {name}


def test_reports_that_wait_are_counted(enforcing: Bench) -> None:
    enforcing.service.fault = AWAY
    enforcing.tick(after_s=40.0)

    assert Shown(enforcing)("reports_waiting") == 1
