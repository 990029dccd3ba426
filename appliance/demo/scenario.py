"""The whole cycle once, step by step, through the product's public interfaces.

Every number in its result comes from the product.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from appliance.demo.errors import StepFailed
from appliance.demo.experiment import BITS_PER_MBIT, Experiment, Outcome, Row, judge
from appliance.demo.host import DemoHost
from appliance.demo.progress import Progress
from appliance.demo.service import Service

RESOURCE = "demo-uplink"
# Short windows and leases of minutes make sense for a demo, not for a fleet.
WINDOW_S = 1.0
AGENT_POLL_S = 1.0
# Also the window over which the agent, and the service beside it, average a rate.
REPORT_S = 15.0
DETECT_DEADLINE_S = 90.0
RECOMMEND_DEADLINE_S = 120.0
APPLY_DEADLINE_S = 60.0
# Queues fill and TCP finds its new rate within seconds.
SETTLE_S = 10.0
REPORT_DEADLINE_S = 60.0
# A machine that is busy with other work slows TCP for a report or two.
MEASUREMENTS = 3
RESTORE_DEADLINE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One run of the experiment on one host."""

    service: Service
    host: DemoHost
    host_name: str
    experiment: Experiment
    progress: Progress

    def play(self, *, ran_on: str) -> Outcome:
        """Run all steps. Raises StepFailed or another DemoError."""
        found = self.host.uplink_settings()
        self._describe()
        self._begin_traffic()
        self._wait_for_congestion()
        recommendation = self._wait_for_recommendation()
        self._approve(recommendation)
        applied_at = self._wait_until_applied()
        rows = self._measure(recommendation, applied_at)
        restored = self._roll_back(found)
        return Outcome(
            ran_on=ran_on,
            rows=rows,
            restored=restored,
            seconds=round(self.progress.seconds, 1),
        )

    @property
    def workloads(self) -> list[str]:
        return [f"vm-{number}" for number in range(1, len(self.experiment.reservations_mbps) + 1)]

    def _describe(self) -> None:
        """Add the uplink and its allocations, and write the secrets of the host."""
        self.progress.begin("adding the uplink, the workloads and the reservation")
        sluice, experiment = self.service.sluice, self.experiment
        sluice(
            "resource", "add", RESOURCE, "--kind", "uplink",
            "--at", f"{self.host_name}:{self.host.uplink}",
            "--line-rate", f"{experiment.line_rate_mbps:g}Mbit",
            "--capacity", f"{experiment.capacity_mbps:g}Mbit",
            "--mode", "additive", "--window", f"{WINDOW_S:g}",
        )  # fmt: skip
        for number, (workload, reservation) in enumerate(
            zip(self.workloads, experiment.reservations_mbps, strict=True), start=1
        ):
            sluice(
                "allocation", "set", RESOURCE, workload, "--vnic", self.host.vnic(number),
                "--reservation", f"{reservation:g}Mbit",
            )  # fmt: skip

    def _begin_traffic(self) -> None:
        self.progress.begin("starting the traffic, the collector and the agent")
        self.host.start_traffic()
        token = self.service.sluice("token", "create", "--scope", "ingest", "demo collector")
        self.host.start_collector(token["token"])
        folder = self.service.data.root / "agent"
        self.service.sluice(
            "enroll", self.host_name, "--out", str(folder), "--url", self.host.service_url,
            "--interfaces", self.host.uplink, "--state-dir", "state",
            "--poll", f"{AGENT_POLL_S:g}", "--report", f"{REPORT_S:g}",
        )  # fmt: skip
        self.host.start_agent(folder / "agent.toml")

    def _wait_for_congestion(self) -> None:
        self.progress.begin("waiting until the service detects congestion")

        def congested() -> dict[str, Any] | str:
            status = self._status()
            return (
                status
                if status["state"] == "congested"
                else f"{status['state']}: {status['reason']}"
            )

        status = self.progress.wait(congested, deadline_s=DETECT_DEADLINE_S)
        self.progress.tell(f"{status['resource']} is congested: {status['reason']}")

    def _wait_for_recommendation(self) -> dict[str, Any]:
        self.progress.begin("waiting until the service recommends")

        def recommended() -> dict[str, Any] | str:
            rows = self.service.sluice("recommendations", "--state", "proposed")
            if not rows:
                return str(self._status()["advice_gap"] or "no recommendation yet")
            explained: dict[str, Any] = self.service.sluice("recommendations", str(rows[0]["id"]))
            return explained

        found = self.progress.wait(recommended, deadline_s=RECOMMEND_DEADLINE_S)
        for victim in found["answer"]["evidence"]["victims"]:
            self.progress.tell(f"unmet: {victim}")
        self.progress.tell(f"recommendation {found['id']}: {found['summary']}")
        return found

    def _approve(self, recommendation: dict[str, Any]) -> None:
        self.progress.begin(f"approving as {self.service.user}")
        policy = self.service.sluice(
            "approve", str(recommendation["id"]), "--user", self.service.user
        )
        self.progress.tell(f"version {policy['version']} of the policy is approved")

    def _wait_until_applied(self) -> datetime:
        self.progress.begin("waiting until the agent has applied it")

        def applied() -> Sequence[dict[str, Any]] | str:
            records = self._records()
            if len(records) < len(self.workloads):
                return "no compliance report yet"
            failed = [
                f"{record['workload']}: {record['outcome']}, {record['reason']}"
                for record in records.values()
                if record["outcome"] not in {"applied", "unchanged"}
            ]
            return "; ".join(failed) or list(records.values())

        records = self.progress.wait(applied, deadline_s=APPLY_DEADLINE_S)
        for record in records:
            self.progress.tell(f"{record['workload']}: {record['read_back']['native']}")
        return max(_time(record) for record in records)

    def _measure(self, recommendation: dict[str, Any], applied_at: datetime) -> tuple[Row, ...]:
        """Give the rates of the first settled report whose verdicts are met, or of the last."""
        self.progress.begin("measuring the new split")
        settled_at = applied_at + timedelta(seconds=SETTLE_S + REPORT_S)
        for left in reversed(range(MEASUREMENTS)):
            records = self._wait_for_records(settled_at)
            rows = self._rows(recommendation, records)
            unmet = [row for row in rows if row.verdict != "met"]
            if not unmet or left == 0:
                break
            for row in unmet:
                self.progress.tell(f"{_shown(row)}: measuring again")
            settled_at = max(_time(record) for record in records.values()) + timedelta(
                seconds=REPORT_S
            )
        return rows

    def _wait_for_records(self, since: datetime) -> dict[str, dict[str, Any]]:
        """Wait until every workload has a report from `since` or later."""

        def reported() -> dict[str, dict[str, Any]] | str:
            records = self._records()
            if all(_time(record) >= since for record in records.values()):
                return records
            return "no report since the traffic settled"

        return self.progress.wait(reported, deadline_s=SETTLE_S + REPORT_S + REPORT_DEADLINE_S)

    def _roll_back(self, found: str) -> bool:
        """Roll the policy back; True if the kernel is as it was before the demo."""
        self.progress.begin("rolling back")
        self.service.sluice("rollback", RESOURCE, "--user", self.service.user)

        def restored() -> bool | str:
            return self.host.uplink_settings() == found or "traffic control is still there"

        try:
            self.progress.wait(restored, deadline_s=RESTORE_DEADLINE_S)
        except StepFailed as failure:
            # The measurements before are still shown.
            self.progress.tell(str(failure))
            return False
        self.progress.tell(f"{self.host.uplink} is as it was found: {found.strip()}")
        return True

    def _rows(
        self, recommendation: dict[str, Any], records: dict[str, dict[str, Any]]
    ) -> tuple[Row, ...]:
        allocations = {item["workload"]: item for item in recommendation["answer"]["allocations"]}
        return tuple(
            self._row(allocations[workload], records[workload], expected_mbps)
            for workload, expected_mbps in zip(
                self.workloads, self.experiment.expected_mbps, strict=True
            )
        )

    def _row(
        self, allocation: dict[str, Any], record: dict[str, Any], expected_mbps: float
    ) -> Row:
        measured_mbps = _mbps(record["observed"])
        tolerance_mbps = self.experiment.tolerance_mbps
        return Row(
            workload=allocation["workload"],
            reservation_mbps=allocation["reservation"] / BITS_PER_MBIT,
            before_mbps=_mbps(allocation["measured"]),
            entitled_mbps=allocation["entitlement"] / BITS_PER_MBIT,
            expected_mbps=expected_mbps,
            tolerance_mbps=tolerance_mbps,
            measured_mbps=measured_mbps,
            compliance=record["verdict"],
            verdict=judge(
                measured_mbps=measured_mbps,
                expected_mbps=expected_mbps,
                tolerance_mbps=tolerance_mbps,
                compliance=record["verdict"],
            ),
        )

    def _status(self) -> dict[str, Any]:
        """Give the row of the demo's uplink."""
        rows: list[dict[str, Any]] = self.service.sluice("status")["resources"]
        return next(row for row in rows if row["resource"] == RESOURCE)

    def _records(self) -> dict[str, dict[str, Any]]:
        return {record["workload"]: record for record in self.service.sluice("compliance")}


def _shown(row: Row) -> str:
    """Say what was measured of a workload and what was expected."""
    measured = "nothing" if row.measured_mbps is None else f"{row.measured_mbps:.1f} Mbit/s"
    expected = f"{row.expected_mbps:.1f} ± {row.tolerance_mbps:.1f} Mbit/s"
    return f"{row.workload}: {row.verdict}, {measured} of {expected}"


def _time(record: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(record["reported_at"])


def _mbps(rate_bits_per_s: float | None) -> float | None:
    return None if rate_bits_per_s is None else rate_bits_per_s / BITS_PER_MBIT
