"""From stock Telegraf's lines to what a real kernel shows, with nothing typed but the promise."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command

from accounts.models import Membership, Role
from advisor.history.policy_reports import REPORT_GRACE
from advisor.models import Allocation, Resource
from ingest.models import Host
from tests.testbed.conftest import Laboratory, wait_for
from tests.testbed.storage.guest import KERNELS, StorageGuest
from tests.web.conftest import client_of
from tests.web.html import page_of

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.root,
    pytest.mark.guests,
    pytest.mark.slow,
    pytest.mark.timeout(600),
]

HOST, DISK = "chain1", "nullb0"
NUMBER = "254:0"
PARENT = "/machine.slice"
DELIVERED_IOPS = 1000.0
PROMISE = "tier: high where name ~ *vm1\n"
LIMIT, RESERVATION = 100.0, 300.0
PROMISED = {"vm3": f"--limit {LIMIT:g}", "vm4": f"--tier low --reservation {RESERVATION:g}"}
GROUPS = ("vm1", "vm2", "vm3", "vm4")
# What is left beside limit and reservation goes 2:1 to the tiers of the others.
ENTITLED = {"vm1": 400.0, "vm2": 200.0, "vm3": LIMIT, "vm4": RESERVATION}
COUNTED_S = 12
REPORT_S = 3
SILENT = 2 * REPORT_GRACE
LINKS = ("approved", "published", "applied", "read back")
TRIAL = "tests.testbed.storage.chained"
STEP_S = 10
CALM, CONGESTED = 240, 60
"""Steps: forty minutes of calm, and ten in which all take what they can."""


@dataclass(frozen=True, kw_only=True)
class Phase:
    """So many steps of reads of 16 KiB: IOPS of each group, and the disk's latency."""

    steps: int
    iops: dict[str, int]
    latency_ms: int


PHASES = (
    Phase(steps=CALM, iops={"vm1": 200, "vm2": 100, "vm3": 50, "vm4": 150}, latency_ms=4),
    Phase(steps=CONGESTED, iops=dict.fromkeys(GROUPS, 250), latency_ms=64),
)


def telegraf_lines(until: datetime) -> Iterator[str]:
    """What `inputs.diskio` and `inputs.cgroup` send as they are configured by default."""
    steps = [phase for phase in PHASES for _ in range(phase.steps)]
    done = dict.fromkeys(PHASES[0].iops, 0)
    waited = dict.fromkeys(done, 0)
    waited_ms = 0
    for number, phase in enumerate(steps):
        at = until - timedelta(seconds=STEP_S * (len(steps) - 1 - number))
        for group, iops in phase.iops.items():
            done[group] += iops * STEP_S
            waited[group] += iops * STEP_S * min(phase.latency_ms, 50) * 100
        ios = sum(done.values())
        waited_ms += sum(phase.iops.values()) * STEP_S * phase.latency_ms
        stamp = int(at.timestamp()) * 10**9
        yield (
            f"diskio,host={HOST},name={DISK} reads={ios}i,writes=0i,read_bytes={ios * 16384}i,"
            f"write_bytes=0i,read_time={waited_ms}i,write_time=0i,"
            f"io_time={STEP_S * 1000 * (number + 1)}i,weighted_io_time={waited_ms}i,"
            f"iops_in_progress=0i,merged_reads=0i,merged_writes=0i,io_await=4,io_svctm=1,"
            f"io_util=99 {stamp}"
        )
        for group, own in done.items():
            stat = f"io.stat.{NUMBER}."
            yield (
                f"cgroup,host={HOST},path=/sys/fs/cgroup{PARENT}/{group} "
                f"{stat}rbytes={own * 16384}i,{stat}wbytes=0i,{stat}rios={own}i,{stat}wios=0i,"
                f"{stat}dbytes=0i,{stat}dios=0i,"
                f"io.pressure.some.avg10=0,io.pressure.some.avg60=0,io.pressure.some.avg300=0,"
                f"io.pressure.some.total={waited[group]}i,io.pressure.full.avg10=0,"
                f"io.pressure.full.avg60=0,io.pressure.full.avg300=0,"
                f"io.pressure.full.total={waited[group]}i {stamp}"
            )


def sluice(laboratory: Laboratory, words: str) -> str:
    out = StringIO()
    slug = laboratory.tenant.organisation.slug
    call_command(*words.split(), "--organisation", slug, stdout=out)
    return out.getvalue()


def post(laboratory: Laboratory, lines: Iterator[str]) -> int:
    """Send lines as Telegraf's output `influxdb_v2` does; the status of the answer."""
    conversation = http.client.HTTPConnection("127.0.0.1", laboratory.server.port, timeout=60)
    headers = {"Authorization": f"Token {laboratory.tenant.secret}"}
    place = "/api/v2/write?org=example&bucket=telegraf"
    conversation.request("POST", place, "\n".join(lines), headers)
    try:
        return conversation.getresponse().status
    finally:
        conversation.close()


@dataclass(frozen=True, kw_only=True)
class Chain:
    """What came of the lines, what a kernel made of them, and what was told of it.

    `counted` is what the readers themselves saw completed while the service read reports, by
    group, and `mended` the same after somebody switched iocost off. `off` is what was told of
    that, and `killed` what was told once the agent was dead.
    """

    datastores: list[set[tuple[str, str]]]
    workloads: set[tuple[str, str]]
    advised: dict[str, Any]
    capacity_stated: float | None
    kernel: dict[str, Any]
    counted: dict[str, float]
    mended: dict[str, float]
    told: Told
    off: Told
    killed: Told


@dataclass(frozen=True, kw_only=True)
class Told:
    """What `sluice policy` and `sluice compliance` say, and the pages of datastore and host."""

    policy: dict[str, Any]
    compliance: dict[str, dict[str, Any]]
    datastore_page: str
    host_page: str


@pytest.fixture(scope="module")
def chain(laboratory: Laboratory) -> Chain:
    """The whole way; commands and the web server are the product's, the agent is in a guest."""
    organisation, folder = laboratory.tenant.organisation, laboratory.folder
    user = get_user_model().objects.create_user("owner")
    Membership.objects.create(organisation=organisation, user=user, role=Role.ADMIN)
    assert post(laboratory, telegraf_lines(datetime.now(UTC))) == 204
    state_promises(laboratory)
    sluice(laboratory, "detect")
    sluice(laboratory, "recommend")
    (advised,) = json.loads(sluice(laboratory, "recommendations --json"))
    enroll(laboratory)
    sluice(laboratory, f"approve {advised['id']} --user owner")
    wait = partial(wait_for, or_show=folder / "storage.console", deadline_s=240)
    with StorageGuest(KERNELS[0], folder) as guest:
        kernel = guest.run(
            TRIAL,
            step="begin",
            configuration=f"{folder}/agent/agent.toml",
            service_port=laboratory.server.port,
            capacity_iops=DELIVERED_IOPS,
            parent=PARENT,
            groups=len(GROUPS),
            seconds=COUNTED_S / 3,
        )
        wait(lambda: policy_told(laboratory)["state"] == "measured", what="measured to hold")
        counted = guest.run(TRIAL, step="count", seconds=COUNTED_S)
        told = everything_told(laboratory)
        guest.run(TRIAL, step="switch_iocost_off")
        wait(
            lambda: "drifted" in sluice(laboratory, "compliance"), what="told that iocost was off"
        )
        off = everything_told(laboratory)
        mended = guest.run(TRIAL, step="count", seconds=COUNTED_S)
        guest.run(TRIAL, step="kill_agent")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("django.utils.timezone.now", lambda: datetime.now(UTC) + SILENT)
            killed = everything_told(laboratory)
    return Chain(
        datastores=laboratory.datastores(),
        workloads=set(
            Allocation.objects.filter(resource__organisation=organisation).values_list(
                "workload__name", "workload__tier"
            )
        ),
        advised=advised,
        capacity_stated=Resource.objects.get(organisation=organisation).capacity,
        kernel=kernel,
        counted=by_name(counted),
        mended=by_name(mended),
        told=told,
        off=off,
        killed=killed,
    )


def by_name(rates: dict[str, float]) -> dict[str, float]:
    """By what the groups are called below their parent."""
    return {group.rpartition("/")[2]: rate for group, rate in rates.items()}


def state_promises(laboratory: Laboratory) -> None:
    """A rule for tiers, a limit and a reservation; of whom is found in the lines."""
    rules = laboratory.folder / "promise"
    rules.write_text(PROMISE)
    sluice(laboratory, f"rules set {rules}")
    laboratory.find()
    for group, words in PROMISED.items():
        found = Allocation.objects.get(workload__name=f"{HOST}/{group}")
        whose = f"{found.resource.name} {HOST}/{group} --cgroup {found.adapter}"
        sluice(laboratory, f"allocation set {whose} {words}")


def enroll(laboratory: Laboratory) -> None:
    """The folder for the host's agent, which is told whom it may touch and no number."""
    folder = laboratory.folder
    words = (
        f"enroll {HOST} --out {folder}/agent --url {laboratory.server.url} "
        f"--cgroup-subtrees {PARENT} --allow cgroup_io.capacity_is_measured={DISK} "
        f"--state-dir /run/state --poll 1 --report {REPORT_S}"
    )
    sluice(laboratory, words)


def policy_told(laboratory: Laboratory) -> dict[str, Any]:
    """The one policy, as `sluice policy` tells it."""
    (told,) = json.loads(sluice(laboratory, "policy --json"))
    found: dict[str, Any] = told
    return found


def everything_told(laboratory: Laboratory) -> Told:
    """What people read at present."""
    owner = client_of(get_user_model().objects.get(username="owner"))
    datastore = Resource.objects.get(organisation=laboratory.tenant.organisation)
    host = Host.objects.get(organisation=laboratory.tenant.organisation, name=HOST)
    pages = [
        " ".join(page_of(owner.get(address)).all_text().split())
        for address in (f"/resources/{datastore.pk}/", f"/hosts/{host.pk}/")
    ]
    rows = json.loads(sluice(laboratory, "compliance --json"))
    return Told(
        policy=policy_told(laboratory),
        compliance={row["workload"].rpartition("/")[2]: row for row in rows},
        datastore_page=pages[0],
        host_page=pages[1],
    )


def test_disk_and_groups_of_the_lines_are_a_datastore_and_workloads(chain: Chain) -> None:
    tiers = {"vm1": "high", "vm2": "medium", "vm3": "medium", "vm4": "low"}
    assert chain.datastores == [{(HOST, DISK)}]
    assert chain.workloads == {(f"{HOST}/{name}", tier) for name, tier in tiers.items()}


def test_contention_is_answered_by_the_reservation_that_it_breaks(chain: Chain) -> None:
    assert chain.advised["kind"] == "reservation"
    entitled = {
        item["workload"].rpartition("/")[2]: item["entitlement"]
        for item in chain.told.policy["allocations"]
    }
    assert entitled == pytest.approx(ENTITLED, rel=0.02)


def test_capacity_is_what_the_disk_delivered_while_congested(chain: Chain) -> None:
    assert chain.capacity_stated is None
    assert chain.told.policy["capacity"] == pytest.approx(DELIVERED_IOPS, rel=0.01)


def test_kernel_has_the_limit_and_the_capacity_as_its_model(chain: Chain) -> None:
    assert chain.kernel["limits"] == {f"{PARENT}/vm3": "rbps=max wbps=max riops=100 wiops=100"}
    assert chain.kernel["model"].startswith("ctrl=user model=linear ")
    figures = dict(part.split("=") for part in chain.kernel["model"].split())
    for name in ("rseqiops", "rrandiops"):
        # The kernel takes whole I/Os.
        assert int(figures[name]) == pytest.approx(chain.told.policy["capacity"], abs=1)


def test_each_got_about_the_same_before_there_was_a_policy(chain: Chain) -> None:
    """Nothing divides the disk then but who comes first, so seconds differ."""
    before = by_name(chain.kernel["before"])

    assert before == pytest.approx(dict.fromkeys(GROUPS, DELIVERED_IOPS / 4), rel=0.2)
    assert sum(before.values()) == pytest.approx(DELIVERED_IOPS, rel=0.05)


@pytest.mark.parametrize("when", ["counted", "mended"])
def test_readers_count_what_was_promised(chain: Chain, when: str) -> None:
    rates: dict[str, float] = getattr(chain, when)

    assert rates["vm3"] == pytest.approx(LIMIT, rel=0.02)
    assert rates["vm4"] >= 0.97 * RESERVATION
    assert rates["vm1"] / rates["vm2"] == pytest.approx(2, rel=0.05)
    assert sum(rates.values()) >= 0.95 * DELIVERED_IOPS


def test_agent_measures_what_the_readers_count(chain: Chain) -> None:
    measured = {name: row["measured"] for name, row in chain.told.compliance.items()}

    assert measured == pytest.approx(chain.counted, rel=0.05)


def test_people_are_told_that_it_was_measured_to_hold(chain: Chain) -> None:
    assert set(chain.told.policy["links"]) == {*LINKS, "measured"}
    assert chain.told.policy["gap"] == ""
    assert f"in force: applied, read back and measured on {HOST}" in chain.told.datastore_page
    assert {row["verdict"] for row in chain.told.compliance.values()} == {"met"}


def test_people_are_told_that_somebody_switched_iocost_off(chain: Chain) -> None:
    said = "somebody else changed it, put right: io.cost.qos"
    assert {row["outcome"] for row in chain.off.compliance.values()} == {"drifted"}
    for row in chain.off.compliance.values():
        assert row["reason"].startswith(said)
    assert said in chain.off.host_page
    assert said not in chain.told.host_page


def test_people_are_told_that_the_agent_is_silent(chain: Chain) -> None:
    assert chain.killed.policy["state"] == "published"
    assert chain.killed.policy["gap"].startswith(f"the agent of {HOST} is silent since ")
    assert f"published, not applied: the agent of {HOST} is silent" in chain.killed.datastore_page
