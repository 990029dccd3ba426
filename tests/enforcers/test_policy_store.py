"""The last good policy on disk."""

from datetime import timedelta
from pathlib import Path

import pytest

from enforcers.errors import StateError
from enforcers.policy_store import HeldPolicy, PolicyStore
from tests.enforcers.policies import KEY, NOON, document, vnic

HELD = HeldPolicy(document=document(vnic(1)), lease_ends_at=NOON + timedelta(minutes=9))
NEXT = HeldPolicy(document=document(vnic(2), revision=2), lease_ends_at=HELD.lease_ends_at)


def test_policies_survive_a_restart(tmp_path: Path) -> None:
    store = PolicyStore(tmp_path / "policy.json", key=KEY)
    store.keep_latest(HELD)
    store.keep_enforced(HELD)
    store.keep_latest(NEXT)

    again = PolicyStore(tmp_path / "policy.json", key=KEY)

    assert (again.latest, again.enforced) == (NEXT, HELD)


def test_forgotten_policies_stay_forgotten(tmp_path: Path) -> None:
    store = PolicyStore(tmp_path / "policy.json", key=KEY)
    store.keep_latest(HELD)

    store.forget()

    assert PolicyStore(tmp_path / "policy.json", key=KEY).latest is None


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
    PolicyStore(path, key=KEY).keep_latest(HELD)
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]

    store = PolicyStore(path, key=KEY)

    assert store.latest is None
    assert "held policy not usable" in caplog.text


def test_policy_of_a_former_key_counts_as_none(tmp_path: Path) -> None:
    PolicyStore(tmp_path / "policy.json", key=KEY).keep_latest(HELD)

    assert PolicyStore(tmp_path / "policy.json", key=b"another key").latest is None


def test_policy_is_held_even_if_the_disk_does_not_take_it(tmp_path: Path) -> None:
    store = PolicyStore(tmp_path / "gone" / "policy.json", key=KEY)

    with pytest.raises(StateError, match=r"policy\.json cannot be written"):
        store.keep_latest(HELD)

    assert store.latest == HELD
