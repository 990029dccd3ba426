"""Make a simulated workload issue its I/O while it is active."""

from random import Random
from typing import assert_never

from advisor.lab.simulation.agenda import Agenda
from advisor.lab.simulation.datastore import DatastoreQueue, Io, Price, price_of
from advisor.lab.simulation.host import HostQueue, Lane
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
    load, lane = workload.load, host.lanes[workload.name]
    price = price_of(load.io_bytes, load.access, datastore.spec)
    match load:
        case SteadyIo():
            source: _Steady | _Clients = _Steady(load, price, host, lane)
        case Transactions():
            source = _Clients(load, price, host=host, lane=lane, agenda=agenda, random=random)
        case _:
            assert_never(load)
    streams = 1 if load.access.is_sequential_read else 0

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

    def __init__(self, load: SteadyIo, price: Price, host: HostQueue, lane: Lane) -> None:
        self._host = host
        self._lane = lane
        self._active = False
        self._parked = [Io(price=price, done=self._answered) for _ in range(load.outstanding_io)]

    def begin(self) -> None:
        self._active = True
        parked, self._parked = self._parked, []
        for io in parked:
            self._host.submit(io, self._lane)

    def end(self) -> None:
        self._active = False

    def _answered(self, io: Io) -> None:
        self._host.answered(io, self._lane)
        if self._active:
            self._host.submit(io, self._lane)
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
        load: Transactions,
        price: Price,
        *,
        host: HostQueue,
        lane: Lane,
        agenda: Agenda,
        random: Random,
    ) -> None:
        self._host = host
        self._lane = lane
        self._agenda = agenda
        self._random = random
        self._thoughts_per_s = 1 / load.think_s if load.think_s else None
        self._whole_ios = int(load.ios_per_transaction)
        self._more_ios = load.ios_per_transaction - self._whole_ios
        self._active = False
        self._parked = [_ClientIo(price=price, done=self._answered) for _ in range(load.clients)]

    def begin(self) -> None:
        self._active = True
        parked, self._parked = self._parked, []
        for client in parked:
            self._think(client)

    def end(self) -> None:
        self._active = False

    def _think(self, client: _ClientIo) -> None:
        rate = self._thoughts_per_s
        pause = self._random.expovariate(rate) if rate else 0.0
        self._agenda.at(self._agenda.now + pause, self._order, client)

    def _order(self, client: _ClientIo) -> None:
        if not self._active:
            self._parked.append(client)
            return
        client.ios_left = self._whole_ios + (self._random.random() < self._more_ios)
        client.began_at = self._agenda.now
        self._host.submit(client, self._lane)

    def _answered(self, client: _ClientIo) -> None:
        self._host.answered(client, self._lane)
        client.ios_left -= 1
        if client.ios_left:
            self._host.submit(client, self._lane)
            return
        self._lane.meter.end_transaction(self._agenda.now, client.began_at)
        self._think(client)
