"""Between two passes: weights follow who waits, and stay what they are while nobody does."""

from functools import partial
from pathlib import Path

import pytest

from enforcers.contract import Outcome, Unit
from enforcers.mechanisms.cgroup_io import io_text
from tests.enforcers.fake_cgroups import MOUNT
from tests.enforcers.mechanisms.balanced_host import FIRST, NAMES, PARENT, POLICY, Host, idle_host
from tests.enforcers.policies import datastore, document, group


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return idle_host(tmp_path)


def test_reservation_holds_from_the_first_second_on(host: Host) -> None:
    # Before anybody was seen: 800 and three times 400.
    assert host.parts(*NAMES) == pytest.approx([0.4, 0.2, 0.2, 0.2], abs=0.005)


def test_weights_follow_who_is_at_work(host: Host) -> None:
    at_work = NAMES[:2]

    for _ in range(2):
        host.second(dict.fromkeys(at_work, 1000), waits=tuple(at_work))

    # Of two equals each is entitled to 1000: the reservation of 800 binds no more.
    assert host.parts(*at_work) == pytest.approx([0.5, 0.5], abs=0.005)


def test_reservation_that_pauses_is_there_when_it_comes_back(host: Host) -> None:
    for _ in range(3):
        host.second(dict.fromkeys(NAMES[1:], 666), waits=tuple(NAMES[1:]))

    assert host.parts(*NAMES)[0] == pytest.approx(0.4, abs=0.01)


@pytest.mark.parametrize(
    ("shows_waiting", "parts"),
    [(True, [0.5, 0.5]), (False, [2 / 3, 1 / 3])],
    ids=["shown", "not shown"],
)
def test_weights_stay_those_of_all_where_the_kernel_does_not_show_who_waits(
    tmp_path: Path, shows_waiting: bool, parts: list[float]
) -> None:
    host = Host(tmp_path, shows_waiting=shows_waiting)
    host.run_pass()

    for _ in range(4):
        host.second(dict.fromkeys(NAMES[:2], 1000), waits=tuple(NAMES[:2]))

    # 800 and 400 of four that want all; two alone are equals, whom the reservation binds no more.
    assert host.parts(*NAMES[:2]) == pytest.approx(parts, abs=0.005)


def test_nothing_is_written_while_nobody_waits(host: Host) -> None:
    before = len(host.cgroups.writes)

    for _ in range(5):
        host.second({FIRST: 100, NAMES[1]: 300})

    assert len(host.cgroups.writes) == before


def test_nothing_is_written_while_nothing_changes(host: Host) -> None:
    for _ in range(3):
        host.second(dict.fromkeys(NAMES, 500), waits=tuple(NAMES))
    before = len(host.cgroups.writes)

    for _ in range(5):
        host.second(dict.fromkeys(NAMES, 500), waits=tuple(NAMES))

    assert len(host.cgroups.writes) == before


def test_pass_takes_followed_weights_for_its_own(host: Host) -> None:
    for _ in range(2):
        host.second(dict.fromkeys(NAMES[:2], 1000), waits=tuple(NAMES[:2]))
    followed = host.weights()

    outcomes = host.run_pass()

    assert set(outcomes.values()) == {Outcome.UNCHANGED}
    assert host.weights() == followed


def test_pass_tells_a_weight_that_somebody_else_changed(host: Host) -> None:
    for _ in range(2):
        host.second(dict.fromkeys(NAMES[:2], 1000), waits=tuple(NAMES[:2]))
    followed = host.weights()
    host.cgroups.write(f"{MOUNT}{FIRST}/io.weight", "8:0 7")

    outcomes = host.run_pass()

    assert outcomes[FIRST] is Outcome.DRIFTED
    assert host.weights() == followed


def test_following_leaves_no_trace_on_disk_but_what_was_found_first(host: Host) -> None:
    ledger, audit = host.rig.ledger.entries(), host.rig.audit()

    for _ in range(2):
        host.second(dict.fromkeys(NAMES[:2], 1000), waits=tuple(NAMES[:2]))

    assert host.rig.ledger.entries() == ledger
    assert host.rig.audit() == audit
    host.rig.enforcement.run(None, previous=None, now_s=host.now_s)
    assert {host.cgroups.text(name, "io.weight") for name in NAMES} == {"default 100\n"}


def test_weight_that_was_right_already_is_noted_before_it_changes(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.cgroups.put(f"{MOUNT}/io.cost.model", "8:0 ctrl=auto\n")
    host.cgroups.put(f"{MOUNT}{FIRST}/io.weight", "default 100\n8:0 160\n")
    host.run_pass()
    assert host.weights()[FIRST] == 160  # 0.4 of four shares of 100

    for _ in range(3):
        host.second(dict.fromkeys(NAMES[:2], 1000), waits=tuple(NAMES[:2]))
    host.rig.enforcement.run(None, previous=None, now_s=host.now_s)

    assert host.cgroups.text(FIRST, "io.weight") == "default 100\n8:0 160\n"


def test_group_that_goes_away_does_not_keep_the_others(host: Host) -> None:
    (host.cgroups.root / f"{MOUNT}{NAMES[3]}/io.stat".lstrip("/")).unlink()
    host.cgroups.refuse = NAMES[3]

    for _ in range(2):
        host.now_s += 1.0
        for name in [*NAMES[:2], PARENT]:
            waited_us = round(host.now_s * 1e6)
            line = f"8:0 rbytes=0 wbytes=0 rios={waited_us} wios=0 cost.wait={waited_us}\n"
            host.cgroups.put(f"{MOUNT}{name}/io.stat", line)
        host.rig.enforcement.follow(clock_s=lambda: host.now_s)

    assert host.parts(*NAMES[:2]) == pytest.approx([0.5, 0.5], abs=0.005)


def test_workload_that_starts_later_is_followed_from_the_next_pass_on(tmp_path: Path) -> None:
    host = Host(tmp_path)
    late = host.cgroups.path(f"{MOUNT}{NAMES[3]}")
    late.rename(tmp_path / "later")
    assert host.run_pass()[NAMES[3]] is Outcome.FAILED
    for _ in range(2):
        host.second(dict.fromkeys(NAMES[:3], 600), waits=tuple(NAMES[:3]))
    host.cgroups.add_group(NAMES[3])
    host.run_pass()

    for _ in range(3):
        host.second(dict.fromkeys(NAMES, 500), waits=tuple(NAMES))

    assert host.parts(*NAMES) == pytest.approx([0.4, 0.2, 0.2, 0.2], abs=0.005)


def test_policy_that_is_over_is_followed_no_more(host: Host) -> None:
    host.rig.enforcement.run(None, previous=None, now_s=host.now_s)
    before = len(host.cgroups.writes)

    host.second(dict.fromkeys(NAMES[:2], 1000), waits=tuple(NAMES[:2]))

    assert len(host.cgroups.writes) == before


def test_limit_that_was_right_already_is_noted_before_it_changes(tmp_path: Path) -> None:
    host = Host(tmp_path)
    found = "8:0 rbps=max wbps=max riops=500 wiops=500\n"
    host.cgroups.put(f"{MOUNT}{FIRST}/io.max", found)
    policy = document(group(FIRST, limit=500.0))
    host.rig.enforcement.run(policy, previous=None, now_s=0.0)

    for second in range(1, 4):
        line = f"8:0 rios={350 * second} wios={150 * second}\n"
        host.cgroups.put(f"{MOUNT}{FIRST}/io.stat", line)
        host.rig.enforcement.follow(clock_s=partial(float, second))
    assert "riops=370" in host.cgroups.text(FIRST, "io.max")
    host.rig.enforcement.run(None, previous=None, now_s=4.0)

    assert host.cgroups.text(FIRST, "io.max") == found


def test_first_waiting_after_a_long_rest_is_not_taken_for_io_of_others(host: Host) -> None:
    host.now_s += 100.0
    for _ in range(2):
        ms = round(host.now_s * 1000) + 1000
        stat = f"{ms * 2} 0 0 0 0 0 0 0 8 {ms} {ms * 8} 0 0 0 0 0 0\n"
        host.cgroups.put("/sys/dev/block/8:0/stat", stat)
        host.second({})

    host.now_s += 1.0
    ms = round(host.now_s * 1000)
    host.cgroups.put("/sys/dev/block/8:0/stat", f"{ms * 2} 0 0 0 0 0 0 0 8 {ms} {ms * 8} 0 0\n")
    host.now_s -= 1.0
    host.second(dict.fromkeys(NAMES, 500), waits=tuple(NAMES))

    # 800 of all 2000, although the mean of the groups over the rest was far below.
    assert host.parts(*NAMES)[0] == pytest.approx(0.4, abs=0.01)


def test_limit_follows_the_mix_of_reads_and_writes(tmp_path: Path) -> None:
    host = Host(tmp_path)
    policy = document(group(FIRST, limit=500.0), *(group(name) for name in NAMES[1:]))
    host.rig.enforcement.run(policy, previous=None, now_s=0.0)

    for second in range(1, 4):
        line = f"8:0 rios={350 * second} wios={150 * second}\n"
        host.cgroups.put(f"{MOUNT}{FIRST}/io.stat", line)
        host.rig.enforcement.follow(clock_s=partial(float, second))
    (first, *_) = host.rig.enforcement.run(policy, previous=None, now_s=4.0).enforced

    # 70 % and 30 % of 500, and room for chance: twice the root of 0.7 x 0.3 x 500 is 20.
    assert host.cgroups.text(FIRST, "io.max") == "8:0 rbps=max wbps=max riops=370 wiops=170\n"
    assert first.outcome is Outcome.UNCHANGED
    assert first.seen.setting is not None
    assert first.seen.setting.limit == 500.0
    host.rig.enforcement.run(None, previous=None, now_s=5.0)
    assert host.cgroups.text(FIRST, "io.max") == ""


def test_reading_that_takes_long_after_a_pass_changes_no_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host(tmp_path)
    policy = document(group(FIRST, limit=500.0), *(group(name) for name in NAMES[1:]))
    read = host.cgroups.read_or_none

    def read_slowly(path: str) -> str | None:
        if path == f"{MOUNT}{FIRST}/io.stat":
            return f"8:0 rios={round(500 * host.now_s)} wios=0\n"
        if path == f"{MOUNT}{FIRST}/io.max":
            host.now_s += 0.15
        return read(path)

    limits = []
    for period in range(1, 12):
        if period % 2:
            host.rig.enforcement.run(policy, previous=None, now_s=host.now_s)
        host.now_s = period / 2
        with monkeypatch.context() as slow:
            slow.setattr(host.cgroups, "read_or_none", read_slowly)
            host.rig.enforcement.follow(clock_s=lambda: host.now_s)
        limits.append(io_text.parse_io_max(host.cgroups.text(FIRST, "io.max"), "8:0")["riops"])

    assert set(limits) == {"500"}


@pytest.mark.parametrize(
    ("unit", "key", "limit"), [("iops", "ios", 7.0), ("bytes_per_s", "bytes", 9e6)]
)
def test_direction_that_is_not_used_stays_open(
    tmp_path: Path, unit: str, key: str, limit: float
) -> None:
    host = Host(tmp_path)
    spec = datastore(unit=Unit(unit), capacity=100 * limit)
    policy = document(group(FIRST, limit=limit), resources=(spec,))
    host.rig.enforcement.run(policy, previous=None, now_s=0.0)

    for second in range(1, 5):
        line = f"8:0 r{key}={round(limit * second)} w{key}=0\n"
        host.cgroups.put(f"{MOUNT}{FIRST}/io.stat", line)
        host.rig.enforcement.follow(clock_s=partial(float, second))

    parts = io_text.parse_io_max(host.cgroups.text(FIRST, "io.max"), "8:0")
    writes = parts["wiops" if unit == "iops" else "wbps"]
    # So many I/Os, or bytes, that a write of 64 KiB does not wait for a second.
    assert int(writes) >= (2 if unit == "iops" else 65536)
    assert int(writes) < limit / 2


def test_group_that_is_made_anew_between_two_passes_is_put_back_too(host: Host) -> None:
    policy = document(group(FIRST, limit=500.0), *(group(name) for name in NAMES[1:]))
    host.rig.enforcement.run(policy, previous=None, now_s=host.now_s)
    host.second({})
    host.cgroups.remove_group(FIRST)
    host.cgroups.add_group(FIRST)

    for _ in range(3):
        host.second({FIRST: 450})
    untouched = host.cgroups.text(FIRST, "io.max")
    for document_or_none in (policy, None):
        host.rig.enforcement.run(document_or_none, previous=None, now_s=host.now_s)

    assert untouched == ""  # until a pass has noted what was found on it
    assert host.cgroups.text(FIRST, "io.max") == ""


def test_weight_of_a_group_that_is_made_anew_is_put_back_too(host: Host) -> None:
    host.cgroups.remove_group(FIRST)
    host.cgroups.add_group(FIRST)

    for _ in range(3):
        host.second(dict.fromkeys(NAMES[:2], 1000), waits=tuple(NAMES[:2]))
    for document_or_none in (POLICY, None):
        host.rig.enforcement.run(document_or_none, previous=None, now_s=host.now_s)

    assert host.cgroups.text(FIRST, "io.weight") == "default 100\n"


def test_part_of_a_limit_that_could_not_be_written_is_written_later(tmp_path: Path) -> None:
    host = Host(tmp_path)
    policy = document(group(FIRST, limit=500.0))
    host.rig.enforcement.run(policy, previous=None, now_s=0.0)

    for second in range(1, 6):
        host.cgroups.refuse = "io.max" if second < 4 else None
        line = f"8:0 rios={350 * second} wios={150 * second}\n"
        host.cgroups.put(f"{MOUNT}{FIRST}/io.stat", line)
        host.rig.enforcement.follow(clock_s=partial(float, second))

    assert "riops=370 wiops=170" in host.cgroups.text(FIRST, "io.max")


def test_group_that_cannot_be_written_keeps_no_other_from_being_followed(tmp_path: Path) -> None:
    host = Host(tmp_path)
    policy = document(*(group(name, limit=500.0) for name in NAMES))
    host.rig.enforcement.run(policy, previous=None, now_s=0.0)
    host.cgroups.refuse = f"{FIRST}/io.max"

    for second in range(1, 4):
        line = f"8:0 rios={350 * second} wios={150 * second}\n"
        for name in NAMES:
            host.cgroups.put(f"{MOUNT}{name}/io.stat", line)
        is_followed = host.rig.enforcement.follow(clock_s=partial(float, second))

    assert not is_followed
    for name in NAMES[1:]:
        assert "riops=370 wiops=170" in host.cgroups.text(name, "io.max")


@pytest.mark.parametrize("limit", [900.0, 400.0], ids=["at once", "midway"])
def test_former_policy_is_followed_where_the_next_one_failed(tmp_path: Path, limit: float) -> None:
    host = Host(tmp_path)
    former = document(group(FIRST, limit=500.0))
    host.rig.enforcement.run(former, previous=None, now_s=0.0)
    following = document(group(FIRST, limit=limit), group(NAMES[1], limit=900.0), revision=2)
    host.cgroups.refuse = f"{NAMES[1]}/io.max"

    for second in range(1, 4):
        failed = host.rig.enforcement.run(following, previous=former, now_s=float(second))
        line = f"8:0 rios={350 * second} wios={150 * second}\n"
        host.cgroups.put(f"{MOUNT}{FIRST}/io.stat", line)
        host.rig.enforcement.follow(clock_s=partial(float, second))

    assert failed.has_failed
    assert "riops=370 wiops=170" in host.cgroups.text(FIRST, "io.max")


def test_reservation_holds_beside_io_that_is_in_no_policy(host: Host) -> None:
    for _ in range(4):
        # The disk does 2000 a second, and the four together 1000 of them.
        ms = round(host.now_s * 1000) + 1000
        stat = f"{ms * 2} 0 0 0 0 0 0 0 8 {ms} {ms * 8} 0 0 0 0 0 0\n"
        host.cgroups.put("/sys/dev/block/8:0/stat", stat)
        host.second(dict.fromkeys(NAMES, 250), waits=tuple(NAMES))

    # 800 of the 1000 that are left.
    assert host.parts(*NAMES)[0] == pytest.approx(0.8, abs=0.01)
