"""What a device did while iocost held somebody back and all went well. Pure."""

from dataclasses import dataclass

from enforcers.mechanisms.cgroup_io.device_look import Look


@dataclass(frozen=True, slots=True, kw_only=True)
class CalmTime:
    """How long, and how much was `done` in it, in the capacity's unit.

    `queued_s` is the time in the device of all requests together.
    """

    elapsed_s: float = 0.0
    done: float = 0.0
    queued_s: float = 0.0

    def and_then(self, seen: Look) -> "CalmTime":
        """One period longer."""
        return CalmTime(
            elapsed_s=self.elapsed_s + seen.elapsed_s,
            done=self.done + seen.total * seen.elapsed_s,
            queued_s=self.queued_s + seen.queue * seen.elapsed_s,
        )

    @property
    def total(self) -> float:
        """All I/O per second; of no time at all none."""
        return self.done / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def latency_s(self) -> float | None:
        """Time in the device for each I/O, or byte; None if there were none."""
        return self.queued_s / self.done if self.done > 0 else None
