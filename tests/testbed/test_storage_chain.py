"""From stock Telegraf's lines to what a real kernel shows, with nothing typed but the promise."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command

from accounts.models import Membership, Role
from advisor.models import Allocation, Resource
from tests.testbed.conftest import Laboratory, wait_for
from tests.testbed.storage.guest import KERNELS, StorageGuest

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
DELIVERED_IOPS = 500.0
PROMISE = "tier: high where name ~ *vm1\n"
STEP_S = 10
CALM, CONGESTED = 240, 60
"""Steps: forty minutes of calm, and ten in which vm2 takes what it can."""


@dataclass(frozen=True, kw_only=True)
class Phase:
    """So many steps of reads of 16 KiB: IOPS of each group, and the disk's latency."""

    steps: int
    iops: dict[str, int]
    latency_ms: int


PHASES = (
    Phase(steps=CALM, iops={"vm1": 200, "vm2": 100}, latency_ms=4),
    Phase(steps=CONGESTED, iops={"vm1": 150, "vm2": 350}, latency_ms=64),
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
    """What came of the lines, and what a kernel had in the end.

    `advised` and `told` are what `sluice recommendations` and `sluice policy` said.
    """

    datastores: list[set[tuple[str, str]]]
    workloads: set[tuple[str, str]]
    advised: dict[str, Any]
    capacity_stated: float | None
    kernel: dict[str, Any]
    told: dict[str, Any]


@pytest.fixture(scope="module")
def chain(laboratory: Laboratory) -> Chain:
    """The whole way; commands and the web server are the product's, the agent is in a guest."""
    organisation, folder = laboratory.tenant.organisation, laboratory.folder
    user = get_user_model().objects.create_user("owner")
    Membership.objects.create(organisation=organisation, user=user, role=Role.ADMIN)
    assert post(laboratory, telegraf_lines(datetime.now(UTC))) == 204
    (folder / "promise").write_text(PROMISE)
    sluice(laboratory, f"rules set {folder}/promise")
    laboratory.find()
    sluice(laboratory, "detect")
    sluice(laboratory, "recommend")
    (advised,) = json.loads(sluice(laboratory, "recommendations --json"))
    enroll(laboratory)
    sluice(laboratory, f"approve {advised['id']} --user owner")
    # Programs wait for each other, so time is the machine's.
    with StorageGuest(KERNELS[0], folder, clock=()) as guest:
        kernel = guest.run(
            "tests.testbed.storage.chained",
            configuration=f"{folder}/agent/agent.toml",
            service_port=laboratory.server.port,
            capacity_iops=DELIVERED_IOPS,
            parent=PARENT,
            groups=2,
        )
        wait_for(
            lambda: policy_told(laboratory)["state"] == "read back",
            what="a report of what the kernel shows",
            or_show=folder / "storage.console",
        )
        told = policy_told(laboratory)
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
        told=told,
    )


def enroll(laboratory: Laboratory) -> None:
    """The folder for the host's agent, which is told whom it may touch and no number."""
    folder = laboratory.folder
    words = (
        f"enroll {HOST} --out {folder}/agent --url {laboratory.server.url} "
        f"--cgroup-subtrees {PARENT} --allow cgroup_io.capacity_is_measured={DISK} "
        "--state-dir /run/state --poll 1 --report 1"
    )
    sluice(laboratory, words)


def policy_told(laboratory: Laboratory) -> dict[str, Any]:
    """The one policy, as `sluice policy` tells it."""
    (told,) = json.loads(sluice(laboratory, "policy --json"))
    found: dict[str, Any] = told
    return found


def test_disk_and_groups_of_the_lines_are_a_datastore_and_workloads(chain: Chain) -> None:
    assert chain.datastores == [{(HOST, DISK)}]
    assert chain.workloads == {(f"{HOST}/vm1", "high"), (f"{HOST}/vm2", "medium")}


def test_contention_is_answered_by_the_shares_of_the_tiers(chain: Chain) -> None:
    assert chain.advised["kind"] == "shares"
    assert f"by shares 2000:1000: {HOST}/vm1 gets" in chain.advised["summary"]


def test_capacity_is_what_the_disk_delivered_while_congested(chain: Chain) -> None:
    assert chain.capacity_stated is None
    assert chain.told["capacity"] == pytest.approx(DELIVERED_IOPS, rel=0.01)


def test_kernel_has_the_shares_and_the_capacity_as_its_model(chain: Chain) -> None:
    assert chain.kernel["weights"] == {f"{PARENT}/vm1": 2000, f"{PARENT}/vm2": 1000}
    assert chain.kernel["model"].startswith("ctrl=user model=linear ")
    figures = dict(part.split("=") for part in chain.kernel["model"].split())
    for name in ("rseqiops", "rrandiops"):
        # The kernel takes whole I/Os.
        assert int(figures[name]) == pytest.approx(chain.told["capacity"], abs=1)


def test_service_knows_that_the_kernel_shows_what_was_approved(chain: Chain) -> None:
    assert chain.told["in_force"] is True
    assert set(chain.told["links"]) == {"approved", "published", "applied", "read back"}
    # What follows is the measurement, for which the samples end too early here.
    assert chain.told["gap"].endswith("3 are needed (no rate was measured)")
