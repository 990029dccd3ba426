"""All experiments that can be replayed, in the order of the seeds."""

from advisor.lab.replay.experiment import Experiment
from advisor.lab.replay.studies import (
    netioc_best_practices,
    netioc_reservations,
    netioc_traffic,
    netioc_web_server,
    sioc_nfs_day,
    sioc_nfs_idle_vm,
    sioc_nfs_mixed_sizes,
    sioc_nfs_shares,
    sioc_ssd_forty_minutes,
    sioc_ssd_one_control,
    sioc_ssd_policies,
    sioc_ssd_unequal_hosts,
    vdisk_limits,
    vmfs_hosts_per_lun,
)

EXPERIMENTS: tuple[Experiment, ...] = (
    sioc_nfs_shares.EXPERIMENT,
    sioc_nfs_mixed_sizes.EXPERIMENT,
    sioc_nfs_idle_vm.EXPERIMENT,
    sioc_nfs_day.EXPERIMENT,
    *sioc_ssd_one_control.EXPERIMENTS,
    sioc_ssd_policies.EXPERIMENT,
    sioc_ssd_forty_minutes.EXPERIMENT,
    sioc_ssd_unequal_hosts.EXPERIMENT,
    netioc_reservations.EXPERIMENT,
    netioc_traffic.TRAFFIC_EXPERIMENT,
    netioc_web_server.EXPERIMENT,
    netioc_traffic.COST_EXPERIMENT,
    netioc_best_practices.EXPERIMENT,
    vmfs_hosts_per_lun.EXPERIMENT,
    *vdisk_limits.EXPERIMENTS,
)


def find_experiment(name: str) -> Experiment | None:
    """The experiment of this name, or None."""
    return next((each for each in EXPERIMENTS if each.name == name), None)
