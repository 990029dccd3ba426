"""Which facts to send: at the start, when they change, and every ten minutes."""

from enforcers.reader.device_facts import Facts
from enforcers.reader.line import escaped, head, quoted

REPEAT_S = 600.0
Subject = tuple[str, str]
"""Kind and name, such as `("device", "sda")`; the host itself has the name ``."""


class FactMemory:
    """Remembers what was sent when."""

    def __init__(self, *, repeat_s: float = REPEAT_S) -> None:
        self._repeat_s = repeat_s
        self._sent: dict[Subject, tuple[Facts, float]] = {}

    def due(self, facts: dict[Subject, Facts], *, now_s: float) -> dict[Subject, Facts]:
        """The subjects that are new, changed or due again; what is gone is forgotten."""
        due = {
            subject: found
            for subject, found in facts.items()
            if found and self._is_due(subject, found, now_s)
        }
        kept = {subject: one for subject, one in self._sent.items() if subject in facts}
        self._sent = kept | {subject: (found, now_s) for subject, found in due.items()}
        return due

    def _is_due(self, subject: Subject, found: Facts, now_s: float) -> bool:
        sent = self._sent.get(subject)
        return sent is None or sent[0] != found or now_s - sent[1] >= self._repeat_s


def fact_lines(host: str, subject: Subject, facts: Facts) -> list[str]:
    """Lines of one subject; a fact of several values takes a line for each further value."""
    kind, name = subject
    start = head(f"sluice_{kind}", host, name=name)
    rounds = max((len(values) for values in facts.values()), default=0)
    lines = []
    for turn in range(rounds):
        fields = [
            f"{escaped(key)}={quoted(values[turn])}"
            for key, values in sorted(facts.items())
            if len(values) > turn
        ]
        lines.append(f"{start} {','.join(fields)}")
    return lines
