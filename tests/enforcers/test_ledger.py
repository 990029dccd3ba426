"""What was found, on disk twice: kept, released, void after a reboot."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from enforcers.atomic_file import write_atomically
from enforcers.errors import StateError
from enforcers.ledger import Ledger, LedgerEntry, copy_of


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
        lambda _: b"[1]",
        lambda data: data.replace(b"noqueue", b"noqueux"),
        lambda data: data.replace(b'"number":1', b'"number":7'),
    ],
    ids=["truncated", "empty", "no keys", "no object", "another text", "another number"],
)
@pytest.mark.parametrize("name", ["ledger.json", "ledger.copy.json"])
def test_one_damaged_copy_is_mended_from_the_other(
    tmp_path: Path, damage: Callable[[bytes], bytes], name: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "ledger.json"
    Ledger(path, boot_id="b").record((entry("up0"),))
    good = path.read_bytes()
    damaged = damage(good)
    (tmp_path / name).write_bytes(damaged)

    ledger = Ledger(path, boot_id="b")
    entries, lost = ledger.entries(), ledger.lost
    ledger.mend()

    assert (entries, lost) == ((entry("up0"),), None)
    assert "one copy of the ledger is of no use" in caplog.text
    assert (tmp_path / f"{name}.damaged").read_bytes() == damaged
    assert Ledger(copy_of(path), boot_id="b").entries() == (entry("up0"),)
    assert Ledger(path, boot_id="b").entries() == (entry("up0"),)


@pytest.mark.parametrize("name", ["ledger.json", "ledger.copy.json"])
def test_one_copy_is_enough(tmp_path: Path, name: str) -> None:
    path = tmp_path / "ledger.json"
    Ledger(path, boot_id="b").record((entry("up0"),))
    (tmp_path / name).unlink()

    ledger = Ledger(path, boot_id="b")

    assert (ledger.entries(), ledger.lost, ledger.is_missing) == ((entry("up0"),), None, False)


def test_newer_copy_counts(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    ledger = Ledger(path, boot_id="b")
    ledger.record((entry("up0"),))
    former = path.read_bytes()
    ledger.record((entry("up1"),))
    path.write_bytes(former)

    assert Ledger(path, boot_id="b").entries() == (entry("up0"), entry("up1"))


def test_ledger_with_two_damaged_copies_is_lost_until_it_is_found_again(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    Ledger(path, boot_id="b").record((entry("up0"),))
    path.write_bytes(b"")
    copy_of(path).write_bytes(b"")

    ledger = Ledger(path, boot_id="b")
    ledger.mend()
    again = Ledger(path, boot_id="b")
    why = again.lost
    again.find_again()

    assert ledger.entries() == ()
    assert why is not None
    assert "ledger.json is damaged" in why
    assert "ledger.copy.json is damaged" in why
    assert Ledger(path, boot_id="b").lost is None


def test_ledger_of_the_former_format_is_read(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    known = {"mechanism": "tc_htb", "device": "up0", "thing": "root qdisc", "found": "noqueue"}
    path.write_text(json.dumps({"schema_version": 1, "boot_id": "b", "entries": [known]}))

    ledger = Ledger(path, boot_id="b")
    ledger.mend()

    assert ledger.entries() == (entry("up0"),)
    assert Ledger(copy_of(path), boot_id="b").entries() == (entry("up0"),)


def test_ledger_of_a_newer_agent_is_refused(tmp_path: Path) -> None:
    page = {"schema_version": 3, "boot_id": "b", "entries": []}
    (tmp_path / "ledger.json").write_text(json.dumps(page))

    with pytest.raises(StateError, match="written by a newer agent"):
        Ledger(tmp_path / "ledger.json", boot_id="b")


def test_thing_that_took_the_name_of_another_takes_its_place(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.json", boot_id="b")
    first = replace(entry("up0", "first"), identity="7")
    second = replace(entry("up0", "second"), identity="9")
    ledger.record((first,))

    ledger.record((second,))

    assert ledger.entries() == (second,)


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
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["ledger.copy.json", "ledger.json"]


def test_disk_that_failed_halfway_tells_all_again_before_the_next_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.json"
    ledger = Ledger(path, boot_id="b")
    ledger.record((entry("up0"),))

    def fails_at_the_copy(file: Path, data: bytes) -> None:
        if file == copy_of(path):
            raise StateError("no")
        write_atomically(file, data)

    with monkeypatch.context() as patch:
        patch.setattr("enforcers.doubled_file.write_atomically", fails_at_the_copy)
        with pytest.raises(StateError):
            ledger.release((entry("up0"),))
    tells_less = Ledger(path, boot_id="b").entries()
    ledger.record((entry("up0"),))

    assert tells_less == ()
    assert Ledger(path, boot_id="b").entries() == (entry("up0"),)
