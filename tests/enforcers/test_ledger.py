"""What was found, on disk: kept, released, void after a reboot, never guessed."""

from pathlib import Path

import pytest

from enforcers.errors import StateError
from enforcers.ledger import Ledger, LedgerEntry


def entry(device: str, found: str = "noqueue") -> LedgerEntry:
    """What was found on a device."""
    return LedgerEntry(mechanism="tc_htb", device=device, thing="root qdisc", found=found)


def test_entries_survive_a_restart(tmp_path: Path) -> None:
    Ledger(tmp_path / "ledger.json", boot_id="b").record((entry("up1"), entry("up0")))

    again = Ledger(tmp_path / "ledger.json", boot_id="b")

    assert again.entries() == (entry("up0"), entry("up1"))
    assert again.of("tc_htb", "up0") == (entry("up0"),)
    assert again.of("cgroup_io", "up0") == ()


def test_first_truth_is_kept(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.json", boot_id="b")
    ledger.record((entry("up0", "as found"),))

    ledger.record((entry("up0", "our own doing"),))

    assert ledger.entries() == (entry("up0", "as found"),)


def test_released_entries_are_gone_from_disk(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.json", boot_id="b")
    ledger.record((entry("up0"), entry("up1")))

    ledger.release((entry("up0"),))

    assert Ledger(tmp_path / "ledger.json", boot_id="b").entries() == (entry("up1"),)


def test_entries_of_an_earlier_boot_are_void(tmp_path: Path) -> None:
    Ledger(tmp_path / "ledger.json", boot_id="b").record((entry("up0"),))

    assert Ledger(tmp_path / "ledger.json", boot_id="c").entries() == ()


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda _: b"",
        lambda _: b"{}",
        lambda data: data.replace(b'"schema_version":1', b'"schema_version":2'),
    ],
    ids=["truncated", "empty", "no keys", "newer"],
)
def test_damaged_ledger_is_refused_with_the_way_out(tmp_path: Path, damage: object) -> None:
    path = tmp_path / "ledger.json"
    Ledger(path, boot_id="b").record((entry("up0"),))
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]

    with pytest.raises(StateError, match=r"ledger\.json is damaged .*undo by hand"):
        Ledger(path, boot_id="b")


def test_ledger_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ledger.json").mkdir()

    with pytest.raises(StateError, match="cannot be read"):
        Ledger(tmp_path / "ledger.json", boot_id="b")


def test_interrupted_write_leaves_the_old_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(tmp_path / "ledger.json", boot_id="b")
    ledger.record((entry("up0"),))

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", die)
    with pytest.raises(KeyboardInterrupt):
        ledger.record((entry("up1"),))

    assert Ledger(tmp_path / "ledger.json", boot_id="b").entries() == (entry("up0"),)
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.json"]
