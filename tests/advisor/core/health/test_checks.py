"""What the health of Sluice is called, and when it needs attention."""

from __future__ import annotations

from dataclasses import replace

import pytest

from advisor.core.health.checks import Check, Condition, checks
from advisor.core.health.figures import (
    Backups,
    CheckIn,
    Evaluation,
    Figures,
    HostLag,
    Ingest,
    Process,
    Queue,
    QueueMemory,
    QuotaUse,
    SlowTask,
    Spread,
    Storage,
    Work,
)

GIB = 1 << 30


def quota(name: str, *, limit: int | None, hit_s: float | None = None) -> QuotaUse:
    return QuotaUse(
        quota=name,
        name=name,
        limit=limit,
        used=1200.4,
        hit_s=hit_s,
        refused_bodies=0,
        lost_points=0,
    )


SPREAD = Spread(p50_s=2.0, p99_s=9.44, worst_s=61.0, worst="nfs-07")
WELL = Figures(
    evaluation=Evaluation(resources=40, stale=0, age=SPREAD, recent=SPREAD),
    work=Work(
        queues=(Queue(name="evaluate", waiting=3, oldest_s=4.0, expires_s=60),),
        processes=(
            Process(name="evaluate@a", kind="worker", queues=("evaluate",), silent_s=1.0),
            Process(name="scheduler@a", kind="scheduler", queues=(), silent_s=4.0),
        ),
        slowest=SlowTask(task="detect_resource", subject="nfs-07", seconds=12.0, is_running=False),
    ),
    ingest=Ingest(
        hosts=12,
        silent=0,
        lags=tuple(HostLag(host=f"h{age:.0f}", lag_s=age) for age in (11.0, 9.0, 8.0, 7.0)),
    ),
    quotas=(quota("series", limit=None), quota("hosts", limit=None)),
    storage=Storage(
        directory="/data",
        free_bytes=50 * 10**9,
        total_bytes=100 * 10**9,
        database_bytes=3_140_000_000,
    ),
    backups=Backups(
        period_s=86400.0,
        age_s=7200.0,
        expected_s=10 * 86400.0,
        log_waiting_s=None,
        silent_s=1.0,
        has_failed=False,
    ),
    check_in=CheckIn(good_s=61.0, faults=0, answer="it answers 200"),
    failing=0,
    failing_installation=0,
    failures=(),
)


def found(figures: Figures) -> dict[str, Check]:
    return {check.name: check for check in checks(figures)}


def worker(silent_s: float) -> Process:
    return Process(name=f"w{silent_s}", kind="worker", queues=("evaluate",), silent_s=silent_s)


def with_work(**changed: object) -> Figures:
    assert WELL.work is not None
    return replace(WELL, work=replace(WELL.work, **changed))


def with_backups(**changed: object) -> Figures:
    assert WELL.backups is not None
    return replace(WELL, backups=replace(WELL.backups, **changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"age_s": 2 * 86400.0},
        {"age_s": None, "expected_s": 2 * 86400.0},
        {"age_s": None, "period_s": None},
        {"log_waiting_s": 600.0},
        {"silent_s": 120.0},
    ],
    ids=["twice its period", "soon expected", "made by hand", "log in time", "looked lately"],
)
def test_backup_is_clear_up_to_its_bound(changed: dict[str, object]) -> None:
    assert found(with_backups(**changed))["Backup"].condition is Condition.CLEAR


def test_backup_that_sluice_does_not_make_is_unknown() -> None:
    check = found(replace(WELL, backups=None))["Backup"]

    assert check.condition is Condition.UNKNOWN
    assert "no target is set" in check.text


def test_backup_says_what_waits_and_what_failed() -> None:
    check = found(with_backups(age_s=None, log_waiting_s=90.0, has_failed=True))["Backup"]

    assert check.text == "none yet; the log waits for the target since 90 s; the last try failed"


def test_each_check_says_its_figures() -> None:
    assert {name: check.text for name, check in found(WELL).items()} == {
        "Ingest lag": "0 of 12 hosts without a sample for two minutes; age of the newest "
        "sample, oldest first: h11 11 s, h9 9.0 s, h8 8.0 s +1 more",
        "Evaluation lag": "last 10 min: p50 2.0 s, p99 9.4 s, worst 61 s (nfs-07); time since "
        "the newest evaluation: p50 2.0 s, p99 9.4 s, worst 61 s (nfs-07)",
        "Queue evaluate": "3 waiting, the oldest for 4.0 s",
        "Worker of evaluate": "last sign of life 1.0 s ago",
        "Scheduler": "last sign of life 4.0 s ago",
        "Slowest task": "detect_resource of nfs-07: 12 s",
        "Free disk": "50 GB (50%) free in /data; the database has 3.14 GB",
        "Backup": "the last full one 2 h ago; the log is at the target",
        "Check-in outside": "last said that all is well 61 s ago; the receiver: it answers 200",
        "Failed work": "none",
    }


def test_nothing_needs_attention_when_all_is_well() -> None:
    assert {check.condition for check in checks(WELL)} == {Condition.CLEAR}
    assert not any(check.needs_attention for check in checks(WELL))


@pytest.mark.parametrize(
    ("figures", "name", "condition"),
    [
        (with_backups(age_s=2 * 86400 + 1.0), "Backup", "behind"),
        (with_backups(age_s=None), "Backup", "behind"),
        (with_backups(log_waiting_s=601.0), "Backup", "behind"),
        (with_backups(silent_s=121.0), "Backup", "silent"),
        (with_backups(has_failed=True), "Backup", "failing"),
        (replace(WELL, failing=1), "Failed work", "failing"),
        (replace(WELL, failing_installation=1), "Failed work", "failing"),
        (replace(WELL, work=None), "Queues", "silent"),
        (
            replace(WELL, ingest=Ingest(hosts=2, silent=1, lags=())),
            "Ingest lag",
            "behind",
        ),
        (
            replace(WELL, evaluation=replace(WELL.evaluation, stale=1)),
            "Evaluation lag",
            "behind",
        ),
        (
            with_work(queues=(Queue(name="evaluate", waiting=1, oldest_s=61, expires_s=60),)),
            "Queue evaluate",
            "behind",
        ),
        (
            with_work(memory=QueueMemory(used_bytes=91, most_bytes=100)),
            "Memory of the queues",
            "low",
        ),
        (with_work(processes=()), "Worker of evaluate", "silent"),
        (with_work(processes=()), "Scheduler", "silent"),
        (with_work(processes=(worker(31.0),)), "Worker of evaluate", "silent"),
        # 4 % of 100 GB is more than a GiB, and yet little.
        (replace(WELL, storage=replace(WELL.storage, free_bytes=4 * 10**9)), "Free disk", "low"),
        (
            replace(WELL, storage=replace(WELL.storage, free_bytes=GIB - 1, total_bytes=GIB)),
            "Free disk",
            "low",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_condition_that_needs_attention(figures: Figures, name: str, condition: str) -> None:
    check = found(figures)[name]

    assert check.condition == condition
    assert check.needs_attention


@pytest.mark.parametrize(
    ("free", "total", "condition"),
    [
        # A twentieth of 100 GB, which is more than a GiB, and just less.
        (5 * 10**9, 100 * 10**9, Condition.CLEAR),
        (5 * 10**9 - 1, 100 * 10**9, Condition.LOW),
        (GIB, 2 * GIB, Condition.CLEAR),
        (GIB - 1, 2 * GIB, Condition.LOW),
    ],
)
def test_free_disk_is_low_below_a_twentieth_or_a_gib(
    free: int, total: int, condition: Condition
) -> None:
    storage = replace(WELL.storage, free_bytes=free, total_bytes=total)

    assert found(replace(WELL, storage=storage))["Free disk"].condition is condition


@pytest.mark.parametrize(
    ("figures", "name", "text"),
    [
        (with_work(slowest=None), "Slowest task", "none ran in the last 10 min"),
        (
            replace(WELL, ingest=Ingest(hosts=0, silent=0, lags=())),
            "Ingest lag",
            "no hosts yet",
        ),
        (
            replace(WELL, evaluation=Evaluation(resources=0, stale=0, age=None, recent=None)),
            "Evaluation lag",
            "no resources yet",
        ),
        (
            replace(WELL, storage=replace(WELL.storage, free_bytes=None)),
            "Free disk",
            "/data is not there",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_known_is_unknown_with_its_reason(
    figures: Figures, name: str, text: str
) -> None:
    check = found(figures)[name]

    assert check.condition == Condition.UNKNOWN
    assert text in check.text


@pytest.mark.parametrize(
    ("own", "of_installation", "text"),
    [
        (0, 0, "none"),
        (1, 0, "1 task fails"),
        (2, 1, "2 tasks fail and 1 task fails that belongs to no organisation"),
        (0, 3, "3 tasks fail that belong to no organisation"),
    ],
)
def test_failed_work_tells_its_own_from_that_of_the_installation(
    own: int, of_installation: int, text: str
) -> None:
    figures = replace(WELL, failing=own, failing_installation=of_installation)

    assert found(figures)["Failed work"].text == text


def test_one_living_worker_of_a_queue_is_enough_and_the_silent_are_counted() -> None:
    check = found(with_work(processes=(worker(2.0), worker(31.0), worker(40.0))))[
        "Worker of evaluate"
    ]

    assert check.condition == Condition.CLEAR
    assert check.text == "last sign of life 2.0 s ago; 2 more silent"


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (900, "0.9 kB"),
        (999_400_000, "999 MB"),
        (999_700_000, "1 GB"),
        (31_000_000_000, "31 GB"),
        (1_234 * 10**12, "1234 TB"),
    ],
)
def test_size_has_three_digits(size: int, text: str) -> None:
    storage = replace(WELL.storage, database_bytes=size)

    assert found(replace(WELL, storage=storage))["Free disk"].text.endswith(f"has {text}")


@pytest.mark.parametrize(
    ("hit_s", "condition", "said"),
    [
        (None, "clear", "1,200 of 5,000 series"),
        (660.0, "clear", "1,200 of 5,000 series, used up 11 min ago"),
        (599.0, "limited", "1,200 of 5,000 series, used up 9 min ago"),
    ],
    ids=["never", "long ago", "lately"],
)
def test_quota_needs_attention_while_it_is_used_up(
    hit_s: float | None, condition: str, said: str
) -> None:
    figures = replace(WELL, quotas=(quota("series", limit=5000, hit_s=hit_s),))

    check = found(figures)["Quotas"]

    assert (check.condition, check.text) == (condition, said)


def test_use_that_is_not_known_is_said() -> None:
    unknown = replace(quota("points a second", limit=10), used=None)

    check = found(replace(WELL, quotas=(unknown,)))["Quotas"]

    assert check.text == "use not known of 10 points a second"


@pytest.mark.parametrize(
    ("check_in", "condition", "text"),
    [
        (None, Condition.UNKNOWN, "nobody watches from outside: SLUICE_CHECK_IN_URL is not set"),
        (
            CheckIn(good_s=180.0, faults=2, answer="it answers 200"),
            Condition.CLEAR,
            (
                "last said that all is well 3 min ago; 2 faults told since; "
                "the receiver: it answers 200"
            ),
        ),
        (
            CheckIn(good_s=181.0, faults=1, answer=""),
            Condition.FAILING,
            "last said that all is well 3 min ago; 1 fault told since",
        ),
        (
            CheckIn(good_s=None, faults=0, answer="it answers 404"),
            Condition.SILENT,
            "last said that all is well never; the receiver: it answers 404",
        ),
    ],
)
def test_check_in_is_clear_while_the_receiver_heard_of_health_lately(
    check_in: CheckIn | None, condition: Condition, text: str
) -> None:
    check = found(replace(WELL, check_in=check_in))["Check-in outside"]

    assert (check.condition, check.text) == (condition, text)


def test_process_that_runs_as_root_is_told_and_no_alarm():
    checked = found(with_work(processes=(replace(worker(2.0), as_root=True),)))

    check = checked["Worker of evaluate"]
    assert check.text == "last sign of life 2.0 s ago; runs as root"
    assert check.condition is Condition.CLEAR
