"""Make a simulated workload issue its I/O while it is active."""

from random import Random
from typing import assert_never

from advisor.lab.simulation.agenda import Agenda
from advisor.lab.simulation.datastore import DatastoreQueue, Io
from advisor.lab.simulation.host import HostQueue
from advisor.lab.simulation.load import SimulatedWorkload, SteadyIo, Transactions


def drive(
    workload: SimulatedWorkload,
    *,
    host: HostQueue,
    datastore: DatastoreQueue,
    agenda: Agenda,
    random: Random,
) -> None:
    """Plan the workload's spans of activity."""
    match workload.load:
        case SteadyIo():
            source: _Steady | _Clients = _Steady(workload, workload.load, host, agenda)
        case Transactions():
            source = _Clients(workload, workload.load, host, agenda, random)
        case _:
            assert_never(workload.load)
    streams = 1 if workload.load.access.is_sequential_read else 0

    def begin(_: object) -> None:
        datastore.sequential_streams += streams
        source.begin()

    def end(_: object) -> None:
        datastore.sequential_streams -= streams
        source.end()

    for begins_at, ends_at in workload.active:
        agenda.at(begins_at, begin)
        if ends_at < float("inf"):
            agenda.at(ends_at, end)


class _Steady:
    """Every answered I/O is followed by the next one, while the workload is active."""

    def __init__(
        self, workload: SimulatedWorkload, load: SteadyIo, host: HostQueue, agenda: Agenda
    ) -> None:
        self._name = workload.name
        self._host = host
        self._agenda = agenda
        self._active = False
        self._parked = [
            Io(io_bytes=load.io_bytes, access=load.access, done=self._answered)
            for _ in range(load.outstanding_io)
        ]

    def begin(self) -> None:
        self._active = True
        parked, self._parked = self._parked, []
        for io in parked:
            self._host.submit(io, self._name)

    def end(self) -> None:
        self._active = False

    def _answered(self, io: Io) -> None:
        self._host.answered(io, self._name)
        if self._active:
            self._host.submit(io, self._name)
        else:
            self._parked.append(io)


class _ClientIo(Io):
    """A client's I/O, and where the client is in its transaction."""

    __slots__ = ("began_at", "ios_left")

    began_at: float
    ios_left: int


class _Clients:
    """Each client thinks, then does the I/Os of a transaction one after the other."""

    def __init__(
        self,
        workload: SimulatedWorkload,
        load: Transactions,
        host: HostQueue,
        agenda: Agenda,
        random: Random,
    ) -> None:
        self._name = workload.name
        self._load = load
        self._host = host
        self._agenda = agenda
        self._random = random
        self._active = False
        self._parked = [
            _ClientIo(io_bytes=load.io_bytes, access=load.access, done=self._answered)
            for _ in range(load.clients)
        ]

    def begin(self) -> None:
        self._active = True
        parked, self._parked = self._parked, []
        for client in parked:
            self._think(client)

    def end(self) -> None:
        self._active = False

    def _think(self, client: _ClientIo) -> None:
        rate = 1 / self._load.think_s if self._load.think_s else None
        pause = self._random.expovariate(rate) if rate else 0.0
        self._agenda.at(self._agenda.now + pause, self._order, client)

    def _order(self, client: _ClientIo) -> None:
        if not self._active:
            self._parked.append(client)
            return
        whole = int(self._load.ios_per_transaction)
        more = self._random.random() < self._load.ios_per_transaction - whole
        client.ios_left = whole + more
        client.began_at = self._agenda.now
        self._host.submit(client, self._name)

    def _answered(self, client: _ClientIo) -> None:
        self._host.answered(client, self._name)
        client.ios_left -= 1
        if client.ios_left:
            self._host.submit(client, self._name)
            return
        meter = self._host.meters[self._name]
        meter.end_transaction(self._agenda.now, began_at=client.began_at)
        self._think(client)
