"""Sends the simulated kernel's counters as Telegraf's `net` input would, to the real endpoint.

    simulated_collector.py SOCKET URL HOST INTERVAL_S

The token is read from SLUICE_TOKEN, so that a list of processes does not show it. Samples that
could not be delivered are sent again with the next.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from appliance.demo.simulated_programs import ask

TIMEOUT_S = 15.0


def lines(counters: dict[str, dict[str, int]], *, host: str, at_ns: int) -> list[str]:
    """Line protocol for every interface."""
    return [
        f"net,host={host},interface={name} "
        + ",".join(f"{field}={value}i" for field, value in fields.items())
        + f" {at_ns}"
        for name, fields in counters.items()
    ]


def deliver(url: str, token: str, batch: list[str]) -> bool:
    """Post a batch; False means that the service was not there and it is worth another try."""
    request = urllib.request.Request(  # noqa: S310  the address is the demo's own
        f"{url}/api/v2/write?bucket=sluice",
        data="\n".join(batch).encode(),
        headers={"Authorization": f"Token {token}"},
    )
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S):  # noqa: S310
            return True
    except (urllib.error.URLError, TimeoutError) as error:
        print(f"not delivered: {error}", file=sys.stderr)
        return False


def main(socket: str, url: str, host: str, interval_s: str) -> None:
    waiting: list[str] = []
    while True:
        # On the clock's marks, as Telegraf rounds its intervals.
        time.sleep(float(interval_s) - time.time() % float(interval_s))
        _, printed, _ = ask(Path(socket), ["counters"])
        waiting += lines(json.loads(printed), host=host, at_ns=time.time_ns())
        if deliver(url, os.environ["SLUICE_TOKEN"], waiting):
            waiting.clear()


if __name__ == "__main__":
    main(*sys.argv[1:])
