"""What the sample's machines do at a time: days, bursts, and a trouble of each kind.

Times are seconds since 1970; troubles come at fixed times after the sample was made, so that a
noisy neighbour and a full uplink are there when somebody looks for the first time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from appliance.sample.fleet import (
    HOSTS,
    STORES,
    UPLINK,
    UPLINK_BITS_PER_S,
    machine,
    machines,
)
from enforcers.contract import ReservationMode
from enforcers.entitlement import Claim, entitlements

Floats = npt.NDArray[np.float64]
MINUTE_S, HOUR_S, DAY_S = 60.0, 3600.0, 86400.0
NEIGHBOUR, NEIGHBOUR_IOPS, NEIGHBOUR_IN_FLIGHT = "etl-13", 5300.0, 320
SENDER, BESIDE_SENDER = "mail-02", "queue"
"""Who fills the uplink of its host, with the machine of this role there."""
FULL_LINE_RATIO = 0.99
DIVIDED_STORE_RATIO, DIVIDED_LINE_RATIO = 0.85, 0.93
"""So much is used where a policy divides: little waits there, and nothing is dropped."""
OUTSIDE_STORE, OUTSIDE_MS = "silver-03", 41.0
STALLED_STORE, STALLED_IN_FLIGHT = "archive-01", 14
_TABLE = np.random.default_rng(12).uniform(-1.6, 1.6, 4096)
_PERIODS_S = (1800.0, 420.0, 95.0, 23.0)
_RAMP_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """It comes back each `period_s`; it began `since_s` before the sample was made."""

    period_s: float
    since_s: float
    length_s: float

    def strength(self, after_s: float) -> float:
        """From 0 to 1, so long after the sample was made."""
        into_s = (after_s + self.since_s) % self.period_s
        ramp_s = min(_RAMP_S, self.length_s / 4)
        rest_s = min(into_s, self.length_s - into_s)
        return float(np.clip(rest_s / ramp_s, 0.0, 1.0))


TROUBLES: Mapping[str, Trouble] = {
    "neighbour": Trouble(period_s=3 * HOUR_S, since_s=25 * MINUTE_S, length_s=44 * MINUTE_S),
    "uplink": Trouble(period_s=2 * HOUR_S, since_s=10 * MINUTE_S, length_s=30 * MINUTE_S),
    "outside": Trouble(period_s=4 * HOUR_S, since_s=90 * MINUTE_S, length_s=20 * MINUTE_S),
    "stall": Trouble(period_s=6 * HOUR_S, since_s=3 * HOUR_S, length_s=50.0),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moment:
    """Rates at one time: of each machine, of each store and of each host's uplink, in order.

    `stalled` are I/Os in flight in each store of which none completes; 0 where they do.
    `lost` is the part of what an uplink is to send that it drops.
    """

    iops: Floats
    sent_bits_per_s: Floats
    latency_ms: Floats
    in_flight: Floats
    stalled: Floats
    lost: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """How a host divides a device: what each machine may claim, by its name."""

    mode: ReservationMode
    claims: Mapping[str, Claim]


Divisions = Mapping[tuple[str, str], Division]
"""Those in force, by host and device."""
_UNNAMED = Claim(shares=1000.0)
"""Of a machine that no policy names."""


class Story:
    """The machines of one sample, made at `made_at_s`."""

    def __init__(self, made_at_s: float) -> None:
        every = machines()
        self._made_at_s = made_at_s
        self._machines = every
        names = [store.name for store in STORES]
        self._store = np.array([names.index(one.store) for one in every])
        self._host = np.array([HOSTS.index(one.host) for one in every])
        self._usual_iops = np.array([one.role.iops * one.weight for one in every])
        self._usual_bits = np.array([one.role.sent_bits_per_s * one.weight for one in every])
        self._night = np.array([one.role.night for one in every])
        self._seeds = np.arange(len(every)) * 37
        self._capacity = np.array([store.capacity_iops for store in STORES])
        self._calm_ms = np.array([store.calm_ms for store in STORES])
        self._neighbour = machine(NEIGHBOUR).number - 1
        self._neighbour_host = machine(NEIGHBOUR).host
        self._full_host = HOSTS.index(machine(SENDER).host)
        self._senders = [
            one.number - 1
            for one in every
            if one.host == machine(SENDER).host
            and (one.name == SENDER or one.role.name == BESIDE_SENDER)
        ]
        self._outside = names.index(OUTSIDE_STORE)
        self._stalled = names.index(STALLED_STORE)

    def at(self, at_s: float, *, divided: Divisions | None = None) -> Moment:
        """The rates of a window that ends so, under the policies of hosts."""
        divided = divided or {}
        strength = {
            name: trouble.strength(at_s - self._made_at_s) for name, trouble in TROUBLES.items()
        }
        busy = self._busy(at_s)
        iops = self._usual_iops * busy
        latency_ms = self._latency_ms(iops, at_s)
        store = self._store[self._neighbour]
        if (self._neighbour_host, STORES[store].device) in divided:
            wanted = strength["neighbour"] * NEIGHBOUR_IOPS
            iops[self._neighbour] = max(iops[self._neighbour], wanted)
            self._divide(iops, store, divided)
            latency_ms[store] = self._latency_ms(iops, at_s)[store]
        else:
            self._crowd(iops, latency_ms, strength["neighbour"])
        outside = strength["outside"]
        latency_ms[self._outside] += outside * OUTSIDE_MS
        iops[self._store == self._outside] *= 1 - 0.2 * outside
        stalled = np.zeros(len(STORES))
        if strength["stall"] > 0:
            iops[self._store == self._stalled] = 0.0
            stalled[self._stalled] = STALLED_IN_FLIGHT
        sent, lost = self._sent(self._usual_bits * busy, strength["uplink"], divided)
        return Moment(
            iops=iops,
            sent_bits_per_s=sent,
            latency_ms=latency_ms,
            in_flight=np.bincount(self._store, iops, len(STORES)) * latency_ms / 1000,
            stalled=stalled,
            lost=lost,
        )

    def _busy(self, at_s: float) -> Floats:
        """Each machine's load beside its usual one; about 1 in the mean."""
        hour = at_s / HOUR_S % 24
        light = (1 - np.cos((hour - 2) / 24 * 2 * np.pi)) / 2
        day = (1 - self._night) * (0.6 + 0.8 * light) + self._night * 2 * (1 - light)
        noise = np.zeros(len(self._seeds))
        for octave, period_s in enumerate(_PERIODS_S, start=1):
            cell, part = divmod(at_s / period_s, 1)
            soft = part * part * (3 - 2 * part)
            first = _TABLE[(int(cell) * 31 + octave + self._seeds) % len(_TABLE)]
            then = _TABLE[((int(cell) + 1) * 31 + octave + self._seeds) % len(_TABLE)]
            noise += (first * (1 - soft) + then * soft) / len(_PERIODS_S)
        found: Floats = np.maximum(day * (1 + 0.6 * noise), 0.02)
        return found

    def _latency_ms(self, iops: Floats, at_s: float) -> Floats:
        load = np.bincount(self._store, iops, len(STORES)) / self._capacity
        cells = (int(at_s / 10) * 31 + np.arange(len(STORES)) * 101) % len(_TABLE)
        found: Floats = self._calm_ms * (1 + 0.1 * _TABLE[cells]) / (1 - 0.7 * np.minimum(load, 1))
        return found

    def _crowd(self, iops: Floats, latency_ms: Floats, strength: float) -> None:
        """One machine with many I/Os in flight takes what the others of its store did."""
        if strength == 0:
            return
        store = self._store[self._neighbour]
        others = (self._store == store) & (np.arange(len(iops)) != self._neighbour)
        iops[others] *= 1 - 0.43 * strength
        room = self._capacity[store] * 0.97 - iops[others].sum()
        wanted = strength * NEIGHBOUR_IOPS
        iops[self._neighbour] = max(iops[self._neighbour], min(room, wanted))
        full_ms = 1000 * NEIGHBOUR_IN_FLIGHT / self._capacity[store]
        latency_ms[store] += strength * full_ms

    def _divide(self, iops: Floats, store: int, divided: Divisions) -> None:
        """Machines of a store get what its policy entitles them to of what they want."""
        device = STORES[store].device
        places = np.flatnonzero(self._store == store).tolist()
        own = divided[self._neighbour_host, device]
        claims = [self._claim(place, device, divided, iops[place]) for place in places]
        room = self._capacity[store] * DIVIDED_STORE_RATIO
        iops[places] = entitlements(float(room), claims, own.mode)

    def _claim(self, place: int, device: str, divided: Divisions, wanted: float) -> Claim:
        one = self._machines[place]
        division = divided.get((one.host, device))
        claim = _UNNAMED if division is None else division.claims.get(one.name, _UNNAMED)
        return replace(claim, demand=float(wanted))

    def _sent(self, bits: Floats, strength: float, divided: Divisions) -> tuple[Floats, Floats]:
        """What machines send, and the part that uplinks drop."""
        lost = np.zeros(len(HOSTS))
        host = self._full_host
        own = divided.get((HOSTS[host], UPLINK))
        if own is not None:
            bits[self._senders] += strength * UPLINK_BITS_PER_S
            places = np.flatnonzero(self._host == host).tolist()
            claims = [self._claim(place, UPLINK, divided, bits[place]) for place in places]
            bits[places] = entitlements(DIVIDED_LINE_RATIO * UPLINK_BITS_PER_S, claims, own.mode)
        elif strength > 0:
            beside = (self._host == host) & ~np.isin(np.arange(len(bits)), self._senders)
            bits[beside] *= 1 - 0.35 * strength
            spare = FULL_LINE_RATIO * UPLINK_BITS_PER_S - bits[self._host == host].sum()
            bits[self._senders] += strength * spare / len(self._senders)
            lost[host] = 0.01 * strength
        return bits, lost
