"""The fleet as a run finds it: judged up to the present of the data set, congested."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from accounts.models import Organisation
from advisor.models import Resource
from bench.fleet import product
from bench.fleet.cost import Cost, cost_of, least, mean_of
from bench.fleet.inventory import hear_hosts
from bench.fleet.shape import END, WINDOW_S, FleetShape, History

WINDOW = timedelta(seconds=WINDOW_S)
LOOKS = 3
"""Of so many measurements the cheapest counts."""
MINUTE = 6
"""Windows of a minute: what is shown of open incidents is renewed with one of them."""
JUDGED = LOOKS * MINUTE * WINDOW
"""The end of the data set that is left to be judged window by window."""
HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The fleet in the database that is connected to; datastores and uplinks by group."""

    shape: FleetShape
    history: History
    organisation: Organisation
    stores: list[Resource]
    uplinks: list[Resource]
    say: Callable[[str], None]

    @property
    def resources(self) -> list[Resource]:
        """All of them."""
        return [*self.stores, *self.uplinks]

    def judge(self, resources: list[Resource], at: datetime) -> Cost:
        """What judging costs once all hosts have sent up to this time."""
        hear_hosts(self.organisation, at)
        return cost_of(lambda: product.judge(resources, at))

    def judge_windows(self, until: datetime) -> Cost:
        """What judging one new window of all costs: the mean of a minute, of the cheapest one."""
        minutes = [until - after * MINUTE * WINDOW for after in reversed(range(LOOKS))]
        return least(partial(self._judge_minute, end) for end in minutes)

    def _judge_minute(self, end: datetime) -> Cost:
        ends = [end - after * WINDOW for after in reversed(range(MINUTE))]
        return mean_of([self.judge(self.resources, at) for at in ends])


def find_stage(shape: FleetShape, history: History, say: Callable[[str], None]) -> Stage:
    """The rows that the generator made."""
    organisation = Organisation.objects.get()
    resources = Resource.objects.filter(organisation=organisation).order_by("name")
    return Stage(
        shape=shape,
        history=history,
        organisation=organisation,
        stores=list(resources.filter(kind="datastore")),
        uplinks=list(resources.filter(kind="uplink")),
        say=say,
    )


def judge_all(stage: Stage) -> Cost:
    """Judge the whole history of a fleet of which nothing was judged."""
    for resource in stage.resources:
        # The generator has stored the calm past.
        product.forget_windows(resource, since=stage.history.first_at)
    return stage.judge(stage.resources, END)


def catch_up(stage: Stage) -> None:
    """Judge the congested hours of the first group, and the last hour of all others.

    The windows of `JUDGED` are left. The first group's incidents begin when its congestion does.
    """
    first = [stage.stores[0], stage.uplinks[0]]
    until = END - JUDGED
    product.judge_from(stage.resources, until - HOUR)
    product.judge_from(first, stage.history.calm_until - HOUR)
    stage.judge(first, until)
    cost = stage.judge(stage.resources, until)
    stage.say(f"first look at {len(stage.resources)} resources: {cost.cpu_s:.1f} s of CPU")
