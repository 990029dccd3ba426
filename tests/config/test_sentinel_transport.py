"""A worker's slot is free again although an acknowledgement got no answer."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest
from kombu import Connection
from kombu.transport import virtual
from redis.exceptions import TimeoutError as NoAnswer

from config.broker import broker
from config.sentinel_transport import FreeingQoS, FreeingTransport


class SilentChannel:
    """A channel whose server answers nothing."""

    do_restore = False

    def conn_or_acquire(self, *_: Any) -> NoReturn:
        raise NoAnswer("Timeout reading from socket")


def test_failed_acknowledgement_frees_its_slot_and_is_told() -> None:
    qos = FreeingQoS(SilentChannel(), prefetch_count=1)
    virtual.QoS.append(qos, object(), "tag")
    assert not qos.can_consume()

    with pytest.raises(NoAnswer):
        qos.ack("tag")

    assert qos.can_consume()


def test_it_is_taken_at_each_sentinel() -> None:
    found = broker("sentinel://s1,s2/0?master=queue")

    with Connection(found.url, transport_options=found.options) as connection:
        taken = []
        for url in connection.alt:
            connection.switch(url)
            taken.append(connection.get_transport_cls())

    assert taken == [FreeingTransport, FreeingTransport]
