"""Celery's way to a master behind sentinels, by which a worker goes on when a master falls silent.

A worker asks for messages while it has a free slot, and a slot is free once its message is
acknowledged. Where that fails, kombu counts the slot as taken for good.
"""

from __future__ import annotations

from kombu.transport import TRANSPORT_ALIASES, redis, virtual
from redis import RedisError


class FreeingQoS(redis.QoS):
    """Frees a slot although nobody took the acknowledgement: the message then comes again."""

    def ack(self, delivery_tag: str) -> None:
        try:
            super().ack(delivery_tag)
        except (RedisError, OSError):
            virtual.QoS.ack(self, delivery_tag)
            raise


class FreeingChannel(redis.SentinelChannel):
    QoS = FreeingQoS


class FreeingTransport(redis.SentinelTransport):
    Channel = FreeingChannel


def use_freeing_transport() -> None:
    """Take it wherever an address begins with sentinel://, at the first one and at the next."""
    TRANSPORT_ALIASES["sentinel"] = f"{__name__}:{FreeingTransport.__name__}"
