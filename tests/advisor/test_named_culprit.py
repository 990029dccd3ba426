"""From unchanged collectors to the name of who takes a datastore, with nothing typed.

Two hosts mount one NFS export. Telegraf's stock inputs `nfsclient` and `libvirt` send them and
their virtual machines. After a quarter of an hour of calm a backup begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from accounts.models import Organisation
from advisor.decisions.found import keep
from advisor.decisions.found.keep import keep_inventory
from advisor.models import Incident, Resource, Workload
from advisor.pipeline.attribute import study_incident
from advisor.pipeline.detect import detect
from ingest import facts as stored_facts
from tests.advisor.samples import send
from tests.advisor.scenario import NOW

pytestmark = pytest.mark.django_db

EXPORT = "nas:/nfs-08"
STEP_S = 10
CALM_S, CONTENDED_S = 900, 180
# IOPS of each machine in calm and in contention, by host; the backup then has 83 % of them.
RATES = {"kvm1": {"db-orders": (300, 60), "web": (100, 40)}, "kvm2": {"backup": (20, 500)}}
LATENCY_MS = (3, 60)


@pytest.fixture
def acme(monkeypatch: pytest.MonkeyPatch) -> Organisation:
    monkeypatch.setattr(keep, "MOST_OF_TIME", 1e9)
    stored_facts.MEMORY.forget()
    return Organisation.objects.create(slug="acme", name="Acme")


def lines(at_s: int) -> Iterator[str]:
    """What both hosts send at this second after the begin."""
    calm_s, contended_s = min(at_s, CALM_S), max(at_s - CALM_S, 0)
    for host, machines in RATES.items():
        sums = [0.0, 0.0]
        for name, rates in machines.items():
            done = calm_s * rates[0] + contended_s * rates[1]
            took_ms = calm_s * rates[0] * LATENCY_MS[0] + contended_s * rates[1] * LATENCY_MS[1]
            sums = [sums[0] + done, sums[1] + took_ms]
            yield (
                f"libvirt_block,host={host},domain_name={name},block_id=0"
                f' name="vda",path="/mnt/nfs-08/{name}.qcow2",'
                f"rd_reqs={done / 2:.0f}i,wr_reqs={done / 2:.0f}i,rd_bytes={done * 4096:.0f}i,"
                f"wr_bytes={done * 4096:.0f}i,rd_times={took_ms / 2 * 1e6:.0f}i,"
                f"wr_times={took_ms / 2 * 1e6:.0f}i"
            )
        for operation in ("READ", "WRITE"):
            yield (
                f"nfsstat,host={host},mountpoint=/mnt/nfs-08,operation={operation},"
                f"serverexport={EXPORT} ops={sums[0] / 2:.0f}i,bytes={sums[0] * 4096:.0f}i,"
                f"exe={sums[1] / 2:.0f}i,rtt={sums[1] / 2:.0f}i,retrans=0i"
            )


def run(organisation: Organisation) -> datetime:
    """Send, look at what is there each minute, and judge as a worker does."""
    at = NOW
    for at_s in range(0, CALM_S + CONTENDED_S + 1, STEP_S):
        at = NOW + timedelta(seconds=at_s)
        stamp = int(at.timestamp()) * 1_000_000_000
        send(organisation, "\n".join(f"{line} {stamp}" for line in lines(at_s)), now=at)
        if at_s % 60 == 0:
            keep_inventory(organisation, now=at)
            for resource in Resource.objects.filter(organisation=organisation):
                detect(resource=resource, now=at)
    return at


def test_culprit_of_a_contended_export_is_named_after_three_minutes(acme: Organisation) -> None:
    run(acme)

    incident = Incident.objects.get(resource__name=EXPORT)
    (backup,) = incident.aggressors
    assert backup["workload"] == "backup"
    # 500 of 600 IOPS, all of one size.
    assert backup["part_ratio"] == pytest.approx(5 / 6)
    assert {one["workload"] for one in incident.victims} <= {"db-orders", "web"}
    assert set(Workload.objects.values_list("name", flat=True)) == {"backup", "db-orders", "web"}


def test_culprit_that_is_gone_is_still_named(acme: Organisation) -> None:
    """Its machine ends after the contention; twenty minutes later it is not known any more."""
    end = run(acme)
    at = end + timedelta(minutes=20)
    stamp = int(at.timestamp()) * 1_000_000_000
    rest = [one for one in lines(CALM_S + CONTENDED_S) if "domain_name=backup" not in one]
    send(acme, "\n".join(f"{line} {stamp}" for line in rest), now=at)

    keep_inventory(acme, now=at)

    assert Workload.objects.get(name="backup").vanished_at == at
    incident = Incident.objects.get(resource__name=EXPORT)
    assert [one["workload"] for one in incident.aggressors] == ["backup"]
    study = study_incident(incident=incident, now=at)
    assert study.attribution is not None
    assert study.attribution.aggressors == ("backup",)
