"""The figures of the fleet, and of tasks, in the words of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from advisor.pipeline.work_figures import TaskTotal
from advisor.queries.fleet_figures import FleetFigures, ResourceLevel


def of_fleet(found: FleetFigures) -> Iterator[Metric]:
    """What contends, what is promised and enforced, and what was refused."""
    yield from _resources(found.resources)
    about = "Open incidents by how grave they are"
    yield gauges("incidents_open", about, ["severity"], _rows(found.incidents))
    about = "Enrolled agents by what they do with their policy; expired: its lease is over"
    yield gauges("agents", about, ["state"], _rows(found.agents))
    about = "Allocations by what the newest report of the last 10 minutes says of their setting"
    yield gauges("allocations_by_outcome", about, ["outcome"], _rows(found.outcomes))
    about = "Allocations by whether the newest report of the last 10 minutes keeps the promise"
    yield gauges("allocations_by_verdict", about, ["verdict"], _rows(found.verdicts))
    about = "Lines of samples that were refused in the last 10 minutes"
    yield gauge("refused_lines", about, found.refused_lines)
    about = "Messages to people that were given up in the last day"
    yield gauge("messages_given_up", about, found.given_up_messages)
    if found.tasks is not None:
        yield from _tasks(found.tasks)


def gauge(name: str, about: str, value: float) -> Metric:
    """A family of one number."""
    return GaugeMetricFamily(f"sluice_{name}", about, value=float(value))


def gauges(
    name: str, about: str, labels: list[str], rows: Iterable[tuple[list[str], float | None]]
) -> Metric:
    """A family of a number for each row; None is not shown."""
    family = GaugeMetricFamily(f"sluice_{name}", about, labels=labels)
    for values, value in rows:
        if value is not None:
            family.add_metric(values, value)
    return family


def _rows(counts: Mapping[str, int]) -> list[tuple[list[str], float | None]]:
    return [([name], float(count)) for name, count in sorted(counts.items())]


def _resources(found: Iterable[ResourceLevel]) -> Iterator[Metric]:
    rows = list(found)
    labels = ["resource", "kind"]

    def of(name: str) -> list[tuple[list[str], float | None]]:
        return [([one.resource, one.kind], getattr(one, name)) for one in rows]

    about = "What is compared with the threshold: ms of a datastore, a ratio of an uplink"
    yield gauges("resource_level", about, labels, of("level"))
    yield gauges("resource_threshold", "Its threshold", labels, of("threshold"))
    states = [([one.resource, one.kind, one.state], 1.0) for one in rows]
    yield gauges("resource_state", "1 for its state", [*labels, "state"], states)


def _tasks(found: Iterable[TaskTotal]) -> Iterator[Metric]:
    rows = list(found)
    for name, about, of in (
        ("task_runs", "Runs of tasks that ended", "runs"),
        ("task_seconds", "Seconds that these took", "seconds"),
        ("task_failures", "Runs that failed", "failures"),
    ):
        family = CounterMetricFamily(f"sluice_{name}", about, labels=["task"])
        for one in rows:
            family.add_metric([one.task], float(getattr(one, of)))
        yield family
