"""The only writer: order, equality, audit, dry run, and what is on disk before the first write."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers.audit import LARGEST_FILE_BYTES, AuditLog
from enforcers.change import Change, Command, Effect, FileWrite, in_safe_order
from enforcers.errors import CommandError, StateError
from enforcers.executor import LONGEST_BATCH, Executor
from enforcers.host_fs import HostFs
from enforcers.ledger import Ledger, LedgerEntry
from enforcers.qmp import SocketMonitors
from tests.enforcers.policies import NOON
from tests.enforcers.recorded_runner import RecordedRunner

FOUND = LedgerEntry(mechanism="tc_htb", device="up0", thing="root qdisc", found="noqueue")


def change(name: str, effect: Effect = Effect.GROW, depth: int = 1, **more: str | None) -> Change:
    """A change made by the command `set NAME`."""
    return Change(
        target=name,
        before=more.get("before", "old"),
        after=more.get("after", "new"),
        write=Command(argv=("set", name)),
        effect=effect,
        depth=depth,
        allocation=None,
    )


def executor(directory: Path, runner: RecordedRunner, *, dry_run: bool = False) -> Executor:
    """An executor whose files are in the directory."""
    return Executor(
        runner=runner,
        host_fs=HostFs(directory),
        monitors=SocketMonitors(),
        ledger=Ledger(directory / "ledger.json", boot_id="b"),
        audit=AuditLog(directory / "audit.jsonl", lambda: NOON),
        dry_run=dry_run,
    )


changes = st.lists(
    st.builds(
        change,
        st.text("abc", min_size=1, max_size=3),
        st.sampled_from(list(Effect)),
        st.integers(0, 4),
    ),
    max_size=10,
).map(tuple)


@given(changes)
def test_order_keeps_all_changes_and_never_lets_children_outgrow_parents(
    given_changes: tuple[Change, ...],
) -> None:
    ordered = in_safe_order(given_changes)

    shrinking = [c.depth for c in ordered if c.effect is Effect.SHRINK]
    growing = [c.depth for c in ordered if c.effect is Effect.GROW]
    assert sorted(map(repr, ordered)) == sorted(map(repr, given_changes))
    assert [c.depth for c in ordered] == shrinking + growing
    assert shrinking == sorted(shrinking, reverse=True)
    assert growing == sorted(growing)


def test_equal_values_are_not_written(tmp_path: Path) -> None:
    runner = RecordedRunner()

    execution = executor(tmp_path, runner).run((change("a", before="x", after="x"),), ())

    assert execution.made == ()
    assert runner.commands == []


def test_every_write_leaves_one_audit_line(tmp_path: Path) -> None:
    first, second = change("a"), change("b", before=None)

    executor(tmp_path, RecordedRunner()).run((first, second), ())

    assert (tmp_path / "audit.jsonl").read_text() == (
        '{"at": "2026-11-20T12:00:00+00:00", "target": "a", "before": "old", "after": "new", '
        '"write": "set a", "allocation": null, "error": null}\n'
        '{"at": "2026-11-20T12:00:00+00:00", "target": "b", "before": null, "after": "new", '
        '"write": "set b", "allocation": null, "error": null}\n'
    )


def test_dry_run_writes_neither_kernel_nor_disk(tmp_path: Path) -> None:
    runner = RecordedRunner()

    executor(tmp_path, runner, dry_run=True).run((change("a"),), (FOUND,))

    assert runner.commands == []
    assert list(tmp_path.iterdir()) == []


def test_failure_stops_the_run_and_is_audited(tmp_path: Path) -> None:
    runner = RecordedRunner(answers={"set b": CommandError(("set", "b"), "no such thing")})

    execution = executor(tmp_path, runner).run((change("a"), change("b"), change("c")), ())

    assert [item.target for item in execution.made] == ["a"]
    assert execution.error == "`set b`: no such thing"
    assert runner.commands == ["set a", "set b"]
    assert '"error": "`set b`: no such thing"' in (tmp_path / "audit.jsonl").read_text()


def in_batch(name: str, depth: int = 1) -> Change:
    """A change that `set -batch` makes, one line of many."""
    write = Command(argv=("set", *name.split()), batch=("set", "-batch"))
    return replace(change(name, depth=depth), write=write)


def test_changes_of_one_batch_are_made_by_one_run_in_their_order(tmp_path: Path) -> None:
    runner = RecordedRunner()
    given_changes = (in_batch("leaf 2", depth=3), in_batch("root 1", depth=1), change("file"))

    execution = executor(tmp_path, runner).run(given_changes, ())

    # What is alone stays in its place of the order: depth 1 comes before depth 3.
    assert runner.commands == ["set -batch", "set file", "set -batch"]
    assert runner.inputs == ["root 1\n", "", "leaf 2\n"]
    assert [item.target for item in execution.made] == ["root 1", "file", "leaf 2"]
    audit = (tmp_path / "audit.jsonl").read_text().splitlines()
    assert [json.loads(line)["write"] for line in audit] == [
        "set root 1",
        "set file",
        "set leaf 2",
    ]


def test_batch_that_would_outlast_its_time_is_made_in_parts(tmp_path: Path) -> None:
    runner = RecordedRunner()
    names = [f"line {number}" for number in range(LONGEST_BATCH + 1)]

    execution = executor(tmp_path, runner).run(tuple(map(in_batch, names)), ())

    lines = [text.splitlines() for text in runner.inputs]
    assert [len(one) for one in lines] == [LONGEST_BATCH, 1]
    assert [line for one in lines for line in one] == names
    assert len(execution.made) == len(names)


def test_batch_that_fails_in_the_middle_tells_what_was_made_before(tmp_path: Path) -> None:
    answer = "RTNETLINK answers: No such file or directory Command failed -:3"
    runner = RecordedRunner(answers={"set -batch": CommandError(("set", "-batch"), answer)})
    names = ("a 1", "b 2", "c 3", "d 4")

    execution = executor(tmp_path, runner).run(tuple(map(in_batch, names)), ())

    assert [item.target for item in execution.made] == ["a 1", "b 2"]
    assert execution.error == "`set c 3`: RTNETLINK answers: No such file or directory"
    audit = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert [(line["target"], line["error"] is None) for line in audit] == [
        ("a 1", True),
        ("b 2", True),
        ("c 3", False),
    ]


def test_batch_that_was_cut_short_counts_as_made_and_as_failed(tmp_path: Path) -> None:
    """Whoever goes back must take back what may be in the kernel."""
    error = CommandError(("set", "-batch"), "no answer within 15 s")
    runner = RecordedRunner(answers={"set -batch": error})

    execution = executor(tmp_path, runner).run((in_batch("a 1"), in_batch("b 2")), ())

    assert [item.target for item in execution.made] == ["a 1", "b 2"]
    assert execution.error == "`set -batch`: no answer within 15 s"
    audit = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert [line["error"] for line in audit] == [execution.error] * 2


@pytest.mark.parametrize("word", ["a#b", "a'b", 'a"b', "a\\b", "a b", ""])
def test_word_that_a_batch_would_read_in_another_way_is_given_by_itself(
    tmp_path: Path, word: str
) -> None:
    runner = RecordedRunner()
    odd = replace(in_batch("x"), write=Command(argv=("set", word), batch=("set", "-batch")))

    executor(tmp_path, runner).run((in_batch("a 1"), odd), ())

    assert runner.commands == ["set -batch", f"set {word}"]


def test_failed_file_write_is_an_error_with_the_file(tmp_path: Path) -> None:
    missing = Change(
        target="x",
        before=None,
        after="1",
        write=FileWrite(path="/no/io.max", text="1"),
        effect=Effect.GROW,
        depth=0,
        allocation=None,
    )

    execution = executor(tmp_path, RecordedRunner()).run((missing,), ())

    assert execution.error == "write '1' to /no/io.max: No such file or directory"


def test_what_was_found_is_on_disk_before_the_first_write(tmp_path: Path) -> None:
    seen: list[tuple[LedgerEntry, ...]] = []
    runner = RecordedRunner(
        on_run=lambda: seen.append(Ledger(tmp_path / "ledger.json", boot_id="b").entries())
    )

    executor(tmp_path, runner).run((change("a"),), (FOUND,))

    assert seen == [(FOUND,)]


def test_kernel_is_left_alone_when_the_ledger_cannot_be_written(tmp_path: Path) -> None:
    runner = RecordedRunner()
    subject = executor(tmp_path / "gone", runner)

    with pytest.raises(StateError, match=r"ledger\.json cannot be written"):
        subject.run((change("a"),), (FOUND,))

    assert runner.commands == []


def test_audit_that_cannot_be_written_does_not_stop_the_change(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "audit.jsonl").mkdir()
    runner = RecordedRunner()

    execution = executor(tmp_path, runner).run((change("a"),), ())

    assert execution.error is None
    assert "audit line not written" in caplog.text


def test_audit_file_that_is_full_is_set_aside(tmp_path: Path) -> None:
    (tmp_path / "audit.jsonl").write_bytes(b"x" * (8 * 1024 * 1024 + 1))

    executor(tmp_path, RecordedRunner()).run((change("a"),), ())

    assert (tmp_path / "audit.jsonl").stat().st_size < 1000
    assert (tmp_path / "audit.1.jsonl").stat().st_size > 8 * 1024 * 1024


@pytest.mark.parametrize(("more", "kept"), [(0, False), (1, True)])
def test_audit_log_begins_a_new_file_above_8_mib(tmp_path: Path, more: int, kept: bool) -> None:
    path = tmp_path / "audit.jsonl"
    with path.open("wb") as file:
        file.truncate(8 * 1024 * 1024 + more)
    assert LARGEST_FILE_BYTES == 8 * 1024 * 1024

    AuditLog(path, lambda: NOON).record([change("one")], error=None)

    assert (tmp_path / "audit.1.jsonl").exists() is kept
    assert (path.stat().st_size < 1000) is kept
