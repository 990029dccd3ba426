"""Run the demo on the real kernel if possible, otherwise on a simulated host."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from appliance.demo.errors import DemoError
from appliance.demo.experiment import BITS_PER_MBIT, SEED_002, Outcome
from appliance.demo.host import DemoHost
from appliance.demo.network import (
    NetworkPlan,
    missing_for_namespaces,
    remove_leavings_of_the_dead,
)
from appliance.demo.progress import Progress
from appliance.demo.real_host import real_host
from appliance.demo.scenario import Scenario
from appliance.demo.service import Service, running_service
from appliance.demo.simulated_host import simulated_host
from appliance.embedded.errors import EmbeddedError
from appliance.embedded.first_run import ADMIN_NAME
from appliance.embedded.scratch_directory import scratch_directory, tails
from config.paths import DataDir, DataDirError

HOST_NAME = "demo-host"
SAMPLE_INTERVAL_S = 0.5


def play(say: Callable[[str], None], *, simulated: bool) -> Outcome:
    """Play the demo on scratch data; `simulated` asks for the simulated host in any case.

    Raises DemoError that says which step failed and shows the ends of all logs.
    """
    progress = Progress(say)
    with scratch_directory() as scratch:
        try:
            return _play(progress, scratch, simulated=simulated)
        except (EmbeddedError, DataDirError) as error:
            raise DemoError(f"{progress.step}: {error}") from error


def _play(progress: Progress, scratch: Path, *, simulated: bool) -> Outcome:
    missing = "asked for" if simulated else missing_for_namespaces()
    if missing is None:
        ran_on = "the real kernel: namespaces, TCP, Telegraf and HTB"
    else:
        ran_on = f"a SIMULATED kernel with simulated traffic ({missing}); all else is real"
    progress.tell(f"this demo runs on {ran_on}")
    if missing is None:
        for name in remove_leavings_of_the_dead():
            progress.tell(f"removed {name}, which a killed demo left")
    progress.begin("starting the product on scratch data")
    data = DataDir(scratch / "data")
    with (
        running_service(data, user=ADMIN_NAME) as service,
        _host(service, scratch, is_real=missing is None) as host,
    ):
        progress.check = host.processes.check
        scenario = Scenario(
            service=service,
            host=host,
            host_name=HOST_NAME,
            experiment=SEED_002,
            progress=progress,
        )
        try:
            return scenario.play(ran_on=ran_on)
        except DemoError as error:
            # The logs end here with the error, not with the orderly stop that follows.
            raise DemoError(f"{progress.step}: {error}\n{tails(scratch)}") from error


@contextmanager
def _host(service: Service, scratch: Path, *, is_real: bool) -> Iterator[DemoHost]:
    plan = NetworkPlan(
        workloads=len(SEED_002.reservations_mbps),
        wire_bits_per_s=SEED_002.capacity_mbps * BITS_PER_MBIT,
    )
    make = real_host if is_real else simulated_host
    with make(
        HOST_NAME, service, plan=plan, scratch=scratch, interval_s=SAMPLE_INTERVAL_S
    ) as host:
        yield host
