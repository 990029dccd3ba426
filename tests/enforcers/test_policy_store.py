"""The last good policy on disk."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from enforcers import canonical_json
from enforcers.clocks import Moment
from enforcers.errors import StateError
from enforcers.lease import Lease, begin
from enforcers.policy_store import HeldPolicies, HeldPolicy, HeldText, PolicyStore
from tests.enforcers.policies import KEY, NOON, document, vnic

MOMENT = Moment(now=NOON, boot_id="b", boot_s=100.0)
LEASE = begin(NOON + timedelta(minutes=9), MOMENT)
HELD = HeldPolicy(document=document(vnic(1)), lease=LEASE)
NEXT = HeldPolicy(document=document(vnic(2), revision=2), lease=LEASE)


def open_store(folder: Path, *, key: bytes = KEY, moment: Moment = MOMENT) -> PolicyStore:
    return PolicyStore(folder / "policy.json", key=key, moment=moment)


def test_policies_survive_a_restart(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.keep_latest(HELD)
    store.keep_enforced(HELD)
    store.keep_latest(NEXT)

    again = open_store(tmp_path)

    assert (again.latest, again.enforced) == (NEXT, HELD)


def test_text_of_what_is_held_is_canonical_whatever_it_was_before() -> None:
    text = HeldText()
    renewed = replace(HELD, document=replace(HELD.document, dry_run=True))
    empty = replace(HELD, document=document(revision=3))

    for held in (
        HeldPolicies(),
        HeldPolicies(latest=HELD),
        HeldPolicies(latest=renewed, enforced=HELD),
        HeldPolicies(latest=NEXT, enforced=renewed),
        HeldPolicies(latest=empty, enforced=NEXT),
    ):
        assert text.of(held) == canonical_json.encode(held)


def test_policy_that_a_former_agent_kept_goes_on(tmp_path: Path) -> None:
    """So that an upgrade while the service is away does not end enforcement."""
    former = replace(HELD, document=document(vnic(1), schema_version=1))
    path = tmp_path / "policy.json"
    open_store(tmp_path).keep_latest(former)
    plain = json.loads(path.read_text())
    for item in plain["latest"]["document"]["allocations"]:
        del item["limit_scope"], item["io_count"]
    path.write_text(json.dumps(plain))

    assert open_store(tmp_path).latest == former


def test_policy_that_is_in_force_again_after_a_reboot_is_noted_as_of_that_boot(
    tmp_path: Path,
) -> None:
    """Else nobody would miss a ledger that is lost then."""
    store = open_store(tmp_path)
    store.keep_latest(HELD)
    store.keep_enforced(HELD)
    rebooted = Moment(now=NOON + timedelta(minutes=1), boot_id="c", boot_s=5.0)

    again = open_store(tmp_path, moment=rebooted)
    was_in_force = again.was_in_force
    again.keep_enforced(again.latest)

    assert not was_in_force
    assert open_store(tmp_path, moment=rebooted).was_in_force


def test_forgotten_policies_stay_forgotten(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.keep_latest(HELD)

    store.forget()

    assert open_store(tmp_path).latest is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-30],
        lambda _: b"",
        lambda data: data.replace(b'"revision":1', b'"revision":7'),
    ],
    ids=["truncated", "empty", "altered"],
)
def test_damaged_file_counts_as_none(
    tmp_path: Path, damage: object, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "policy.json"
    open_store(tmp_path).keep_latest(HELD)
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]

    store = open_store(tmp_path)

    assert store.latest is None
    assert "held policy not usable" in caplog.text


@pytest.mark.parametrize("data", [b"", b"{", b"[]"])
def test_damaged_file_may_have_told_of_a_policy_in_force(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "policy.json").write_bytes(data)

    store = open_store(tmp_path)

    assert store.may_have_been_in_force
    assert not store.was_in_force


def test_policy_of_a_former_key_counts_as_none(tmp_path: Path) -> None:
    open_store(tmp_path).keep_latest(HELD)

    store = open_store(tmp_path, key=b"another key")

    assert store.latest is None
    # It was received only.
    assert not store.may_have_been_in_force


def test_policy_of_a_former_key_was_in_force(tmp_path: Path) -> None:
    open_store(tmp_path).keep_enforced(HELD)

    store = open_store(tmp_path, key=b"another key")

    assert store.enforced is None
    assert store.was_in_force


def test_policy_is_held_even_if_the_disk_does_not_take_it(tmp_path: Path) -> None:
    store = open_store(tmp_path / "gone")

    with pytest.raises(StateError, match=r"policy\.json cannot be written"):
        store.keep_latest(HELD)

    assert store.latest == HELD


def test_policy_of_the_former_format_is_held_until_its_time_of_day(tmp_path: Path) -> None:
    open_store(tmp_path).keep_latest(HELD)
    path = tmp_path / "policy.json"
    plain = json.loads(path.read_text())
    ends_at = plain["latest"].pop("lease")["ends_at"]
    plain["latest"]["lease_ends_at"] = ends_at
    path.write_text(json.dumps(plain | {"schema_version": 1}))

    # Two minutes after noon, 50 s after another boot: 7 of the 9 minutes are left.
    later = Moment(now=NOON + timedelta(minutes=2), boot_id="c", boot_s=50.0)
    held = open_store(tmp_path, moment=later).latest

    assert held is not None
    assert held.document == HELD.document
    assert held.lease == Lease(ends_at=LEASE.ends_at, boot_id="c", ends_at_boot_s=50.0 + 7 * 60)


@pytest.mark.parametrize("lease_ends_at", [None, 5, "soon"], ids=str)
def test_policy_of_the_former_format_without_a_lease_counts_as_none(
    tmp_path: Path, lease_ends_at: object
) -> None:
    open_store(tmp_path).keep_latest(HELD)
    path = tmp_path / "policy.json"
    plain = json.loads(path.read_text())
    del plain["latest"]["lease"]
    plain["latest"]["lease_ends_at"] = lease_ends_at
    path.write_text(json.dumps(plain | {"schema_version": 1}))

    assert open_store(tmp_path).latest is None
