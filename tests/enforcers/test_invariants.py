"""What the agent keeps and acts on is checked before it is written and after it is read."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from enforcers import contract
from enforcers.audit import AuditLog
from enforcers.change import Change, Command, Effect
from enforcers.clocks import Moment
from enforcers.contract import ContractError, PolicyDocument
from enforcers.doubled_file import write_both
from enforcers.executor import Executor
from enforcers.host_fs import HostFs
from enforcers.lease import begin
from enforcers.ledger import Ledger, LedgerEntry, copy_of
from enforcers.policy_store import HeldPolicy, PolicyStore
from enforcers.qmp import SocketMonitors
from tests.enforcers.policies import KEY, NOON, document, uplink, vnic
from tests.enforcers.recorded_runner import RecordedRunner

MOMENT = timedelta(microseconds=1)
START = Moment(now=NOON, boot_id="b", boot_s=1.0)


def entry(device: str) -> LedgerEntry:
    return LedgerEntry(mechanism="tc_htb", device=device, thing="root qdisc", found="noqueue")


def whole_numbers() -> PolicyDocument:
    """A document that was made with integers, as JSON and forms give them."""
    allocation = vnic(1, reservation=5, limit=20, entitlement=10)
    plain = document(vnic(1))
    return replace(plain, resources=(uplink(capacity=100),), allocations=(allocation,))


def test_signed_document_is_the_one_that_its_reader_verifies() -> None:
    signed = contract.sign(whole_numbers(), KEY)

    read = contract.decode_document(contract.encode_document(signed))

    assert read == signed
    contract.verify(read, KEY)


def test_document_that_its_reader_would_refuse_is_not_signed() -> None:
    broken = replace(document(vnic(1)), dry_run="no")

    with pytest.raises(ContractError, match=r"\$\.dry_run: expected bool"):
        contract.sign(broken, KEY)


def test_lease_that_outlives_its_document_is_not_kept() -> None:
    held = document(vnic(1))

    HeldPolicy(document=held, lease=begin(held.expires_at, START))
    with pytest.raises(ContractError, match="must not be after the document's expires_at"):
        HeldPolicy(document=held, lease=begin(held.expires_at + MOMENT, START))


def test_lease_that_was_stretched_on_disk_counts_as_none(tmp_path: Path) -> None:
    path = tmp_path / "policy.json"
    held = document(vnic(1))
    store = PolicyStore(path, key=KEY, moment=START)
    store.keep_latest(HeldPolicy(document=held, lease=begin(NOON, START)))
    plain = json.loads(path.read_text())
    plain["latest"]["lease"]["ends_at"] = "2036-11-20T12:00:00.000000Z"
    path.write_text(json.dumps(plain))

    assert PolicyStore(path, key=KEY, moment=START).latest is None


def test_thing_that_is_found_twice_is_not_recorded(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.json", boot_id="b")

    with pytest.raises(ContractError, match="a thing appears twice"):
        ledger.record((entry("up0"), entry("up0")))

    assert not (tmp_path / "ledger.json").exists()


@pytest.mark.parametrize("change", ["again", "reversed"])
def test_ledger_with_repeated_or_unordered_entries_is_damaged(tmp_path: Path, change: str) -> None:
    path = tmp_path / "ledger.json"
    Ledger(path, boot_id="b").record((entry("up0"), entry("up1")))
    page = json.loads(path.read_text())["content"]
    entries = page["entries"]
    page["entries"] = [entries[0], *entries] if change == "again" else entries[::-1]
    write_both((path, copy_of(path)), page, number=2)

    lost = Ledger(path, boot_id="b").lost

    assert lost is not None
    assert "a thing appears twice, or they are out of order" in lost


class ForgetfulLedger(Ledger):
    """A ledger that loses what it is given: the fault that the executor must notice."""

    def record(self, found: tuple[LedgerEntry, ...]) -> None:
        """Keep nothing."""


def test_kernel_is_not_touched_before_the_ledger_holds_what_was_found(tmp_path: Path) -> None:
    runner = RecordedRunner()
    executor = Executor(
        runner=runner,
        host_fs=HostFs(tmp_path),
        monitors=SocketMonitors(),
        ledger=ForgetfulLedger(tmp_path / "ledger.json", boot_id="b"),
        audit=AuditLog(tmp_path / "audit.jsonl", lambda: NOON),
        dry_run=False,
    )
    change = Change(
        target="up0 root qdisc",
        before="noqueue",
        after="htb",
        write=Command(argv=("tc",)),
        effect=Effect.GROW,
        depth=0,
        allocation=None,
    )

    with pytest.raises(AssertionError, match="invariant ledger-before-kernel"):
        executor.run((change,), (entry("up0"),))

    assert runner.commands == []
