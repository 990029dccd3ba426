"""A simulated host: workloads queue behind a window of outstanding I/O, ordered by tags."""

from collections import deque
from dataclasses import dataclass, field
from zlib import crc32

from advisor.core.allocation import LARGEST, Node, ReservationMode
from advisor.lab.scheduling.model import TagScheduler
from advisor.lab.simulation.agenda import Agenda
from advisor.lab.simulation.datastore import DatastoreQueue, Io
from advisor.lab.simulation.load import SimulatedWorkload
from advisor.lab.simulation.totals import Meter
from enforcers.window import places


@dataclass(slots=True, kw_only=True)
class Lane:
    """What a workload has waiting in its host, and its counters; `path` is its leaf's."""

    path: str
    waiting: deque[Io] = field(default_factory=deque)
    meter: Meter = field(default_factory=Meter)


class HostQueue:
    """At most `window` I/Os of this host are at the datastore; the tag scheduler picks which.

    The scheduler does not know what the datastore can do, so reservations are not scaled here.
    """

    def __init__(
        self,
        name: str,
        workloads: list[SimulatedWorkload],
        *,
        window: float,
        agenda: Agenda,
        datastore: DatastoreQueue,
    ) -> None:
        self.name = name
        self.window = window
        self._turn = crc32(name.encode())
        self._places = places(window, self._turn)
        self.workloads = workloads
        self.lanes = {each.name: Lane(path=f"/{name}/{each.name}") for each in workloads}
        """By the workload's name."""
        self._agenda = agenda
        self._datastore = datastore
        self._in_flight = 0
        self._waiting_ios = 0
        self._wake_at = -1.0
        self._waiting = {lane.path: lane.waiting for lane in self.lanes.values()}
        self._scheduler = TagScheduler(
            Node(name=name, children=tuple(_node(each) for each in workloads)),
            capacity=LARGEST,
            mode=ReservationMode.FLOOR,
        )

    def submit(self, io: Io, lane: Lane) -> None:
        """Let an I/O wait in this lane for a place in the window."""
        io.asked_at = now = self._agenda.now
        lane.meter.begin_io(now)
        has_place = self._in_flight < self._places
        if has_place and self._scheduler.pass_through(lane.path, 1.0, now):
            self._in_flight += 1
            io.sent_at = now
            self._datastore.submit(io)
            return
        lane.waiting.append(io)
        self._waiting_ios += 1
        self._scheduler.enqueue(lane.path, 1.0, now)
        if has_place:
            self._send()

    def answered(self, io: Io, lane: Lane) -> None:
        """Count an answered I/O of this lane and give its place away."""
        lane.meter.end_io(self._agenda.now, io.asked_at, io.sent_at, io.price.io_bytes)
        self._in_flight -= 1
        if self._waiting_ios:
            self._send()

    def resize(self, window: float) -> None:
        """Set the window; what is under way beyond it is left to finish."""
        self.window = window
        self._turn += 1
        self._places = places(window, self._turn)
        self._send()

    def _send(self, _: object = None) -> None:
        now = self._agenda.now
        while self._waiting_ios and self._in_flight < self._places:
            chosen = self._scheduler.dequeue(now)
            if chosen is None:
                self._wake_when_allowed()
                return
            io = self._waiting[chosen.path].popleft()
            io.sent_at = now
            self._waiting_ios -= 1
            self._in_flight += 1
            self._datastore.submit(io)

    def _wake_when_allowed(self) -> None:
        """Limits hold everything back: look again when the first lets go."""
        at = self._scheduler.next_at()
        if at is not None and at > self._agenda.now and at != self._wake_at:
            self._wake_at = at
            self._agenda.at(at, self._send)


def _node(workload: SimulatedWorkload) -> Node:
    allocation = workload.allocation
    return Node(
        name=workload.name,
        reservation=allocation.reservation,
        limit=allocation.limit,
        shares=allocation.shares,
    )
