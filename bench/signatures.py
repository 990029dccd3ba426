"""How long the agent takes to check a document's signature, and to sign a report.

Run: python -m bench.signatures
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

from enforcers import ed25519

TIMES = 200
DOCUMENT_BYTES = 100_000
POLL_S = 10.0


def main() -> None:
    secret = bytes(range(32))
    public = ed25519.public_key(secret)
    message = bytes(DOCUMENT_BYTES)
    signature = ed25519.sign(message, secret)
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    check_ms = cpu_ms(lambda: ed25519.is_signed(message, signature, public))
    sign_ms = cpu_ms(lambda: ed25519.sign(message, secret))
    more_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb
    print(f"check a document of {DOCUMENT_BYTES} bytes: {check_ms:.2f} ms of one core,")
    print(f"  {check_ms / 10 / POLL_S:.3f} % of it at a poll each {POLL_S:.0f} s")
    print(f"sign a report of as many bytes: {sign_ms:.2f} ms")
    print(f"more memory after {TIMES} of each: {more_kb} kB")


def cpu_ms(work: Callable[[], object]) -> float:
    """The mean CPU time of one run."""
    begun_s = time.process_time()
    for _ in range(TIMES):
        work()
    return (time.process_time() - begun_s) * 1000 / TIMES


if __name__ == "__main__":
    main()
