"""The loop while the service is away: the lease of the last policy decides, reports wait."""

import pytest

from enforcers.contract import EnforcementState
from enforcers.errors import ServerError
from enforcers.signals import Call
from tests.enforcers.agent_bench import AWAY, Bench
from tests.enforcers.policies import NOON, vnic


def test_last_good_policy_stays_while_the_service_is_away(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    bench.service.fault = AWAY

    bench.tick(600.0)

    assert bench.is_enforced


def test_last_good_policy_survives_a_restart_without_the_service(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    bench.service.fault = AWAY
    bench.tc.run(["tc", "qdisc", "del", "dev", "up0", "root"])

    bench.start()
    bench.tick()

    assert bench.is_enforced


def test_lease_that_is_not_renewed_ends_in_a_restore(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    bench.service.fault = AWAY

    bench.tick(900.0)
    bench.service.fault = None
    bench.service.answer = b"garbage"
    bench.tick()

    assert bench.is_as_found
    assert bench.last.state is EnforcementState.EXPIRED
    assert bench.last.allocations == ()


def test_host_that_was_suspended_for_hours_puts_back_what_nobody_renewed(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    bench.service.fault = AWAY

    # The clock since boot goes on while the host sleeps, and the one of the rounds does not.
    bench.suspended_s += 6 * 3600
    bench.tick()

    assert bench.is_as_found
    bench.service.fault = None
    bench.publish(vnic(1, 75e6))
    bench.tick()
    assert bench.is_enforced


def test_host_that_was_suspended_and_finds_the_service_goes_on_without_a_gap(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    commands = len(bench.tc.commands)

    bench.suspended_s += 6 * 3600
    bench.publish(vnic(1, 75e6))
    bench.tick()

    assert bench.is_enforced
    assert bench.last.state is EnforcementState.ENFORCING
    assert len(bench.tc.commands) == commands


def test_renewed_lease_goes_on(bench: Bench) -> None:
    for _ in range(4):
        bench.publish(vnic(1, 75e6))
        bench.tick(600.0)

    assert bench.is_enforced
    assert len(bench.tc.commands) == 7


def test_expired_lease_that_comes_back_is_enforced_again(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    bench.service.fault = AWAY
    bench.tick(1000.0)
    bench.service.fault = None

    bench.publish(vnic(1, 75e6))
    bench.tick()

    assert bench.is_enforced
    assert bench.last.state is EnforcementState.ENFORCING


@pytest.mark.parametrize(
    "fault",
    [
        AWAY,
        ServerError("status 500: internal error"),
        ServerError("status 401: the token is not known"),
        ServerError("status 404: not found", is_final=True),
    ],
    ids=["away", "500", "401", "404"],
)
def test_service_that_fails_from_the_start_leaves_the_kernel_alone(
    bench: Bench, fault: ServerError
) -> None:
    bench.service.fault = fault

    bench.tick()
    bench.tick()

    assert bench.tc.commands == []
    assert bench.is_as_found


def test_reports_wait_for_the_service_and_the_lost_are_counted(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    bench.service.fault = AWAY
    for _ in range(4):
        bench.tick(30.0)
    bench.service.fault = None

    bench.publish(vnic(1, 75e6))
    bench.tick(30.0)

    times = [(report.reported_at - NOON).seconds for report in bench.service.reports]
    assert times == [10, 40, 70, 100, 130, 160]
    assert bench.last.reports_dropped == 0


def test_service_that_does_not_know_these_reports_yet_keeps_no_policy_from_the_kernel(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    said = "status 400: $.schema_version: version 2 is unknown; known is 1"
    bench.service.refusal = ServerError(said, is_final=True)
    bench.publish(vnic(1, 75e6))

    bench.tick()

    assert bench.tc.devices["up0"].classes["51ce:10"].options["rate"] == "75000000bit"
    dropped = [record for record in caplog.records if record.message == "report dropped"]
    assert [record.__dict__["error"] for record in dropped] == [said]


def test_dry_run_after_a_real_policy_lets_that_end_with_its_lease(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()

    bench.publish(vnic(1, 10e6), revision=2, dry_run=True)
    bench.tick()
    before = bench.is_enforced
    bench.publish(vnic(1, 10e6), revision=2, dry_run=True)
    bench.tick(900.0)

    assert before
    assert bench.is_as_found


DAY_S = 86_400.0


def test_clock_set_back_a_day_keeps_no_policy_beyond_its_lease(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    bench.service.fault = AWAY
    bench.clock_error_s = -DAY_S

    bench.tick(889.0)
    before = bench.is_enforced
    bench.tick(1.0)

    assert before
    assert bench.is_as_found


def test_clock_set_forward_a_day_ends_no_lease_early(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    bench.service.fault = AWAY
    bench.clock_error_s = DAY_S

    bench.tick(889.0)
    before = bench.is_enforced
    bench.tick(1.0)

    assert before
    assert bench.is_as_found


def test_clock_set_back_while_the_agent_is_away_keeps_no_policy_longer(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    bench.service.fault = AWAY
    bench.clock_error_s = -DAY_S

    bench.start()
    bench.tick(890.0)

    assert bench.is_as_found


def test_policy_goes_on_after_a_reboot_for_what_is_left_of_its_lease(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    bench.service.fault = AWAY

    bench.seconds += 300.0
    bench.reboot()
    bench.tick()
    before = bench.is_enforced
    bench.tick(580.0)

    assert before
    assert bench.is_as_found


def test_policy_does_not_go_on_after_a_reboot_with_a_clock_before_it(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    bench.service.fault = AWAY

    bench.clock_error_s = -DAY_S
    bench.reboot()
    bench.tick()

    assert bench.is_as_found
    assert bench.tc.commands == []


def test_stop_tries_at_once_what_could_not_be_put_back(bench: Bench) -> None:
    bench.publish(vnic(1, 75e6))
    bench.tick()
    bench.service.fault = AWAY
    bench.tc.refuse = "qdisc del"
    for _ in range(4):
        bench.tick(after_s=900.0)
    bench.tc.refuse = None

    bench.agent.run(lambda _: Call.STOP)

    assert bench.is_as_found
