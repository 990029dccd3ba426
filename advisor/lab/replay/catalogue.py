"""The model of every experiment; what it is held against stands in the file of its study."""

from collections.abc import Callable

from advisor.lab.replay.experiment import Outcome
from advisor.lab.replay.studies import (
    netioc_best_practices,
    netioc_reservations,
    netioc_traffic,
    netioc_web_server,
    sioc_nfs_day,
    sioc_nfs_idle_vm,
    sioc_nfs_mixed_sizes,
    sioc_nfs_shares,
    sioc_ssd_first_vm,
    sioc_ssd_forty_minutes,
    sioc_ssd_tiers,
    vdisk_limits,
    vmfs_hosts_per_lun,
)

MODELS: dict[str, Callable[[], Outcome]] = {
    "sioc-nfs-shares": sioc_nfs_shares.play,
    "sioc-nfs-mixed-sizes": sioc_nfs_mixed_sizes.play,
    "sioc-nfs-idle-vm": sioc_nfs_idle_vm.play,
    "sioc-nfs-day": sioc_nfs_day.play,
    "sioc-ssd-shares": sioc_ssd_first_vm.play_shares,
    "sioc-ssd-limit": sioc_ssd_first_vm.play_limit,
    "sioc-ssd-reservation": sioc_ssd_first_vm.play_reservation,
    "sioc-ssd-tiers": sioc_ssd_tiers.play_policies,
    "sioc-ssd-forty-minutes": sioc_ssd_forty_minutes.play,
    "sioc-ssd-uneven-hosts": sioc_ssd_tiers.play_uneven_hosts,
    "netioc-reservations": netioc_reservations.play,
    "netioc-traffic-classes": netioc_traffic.play_traffic,
    "netioc-web-server": netioc_web_server.play,
    "netioc-scheduler-cost": netioc_traffic.play_cost,
    "netioc-best-practices": netioc_best_practices.play,
    "vmfs-hosts-per-lun": vmfs_hosts_per_lun.play,
    "vdisk-limits-esx-5.0": vdisk_limits.play_old,
    "vdisk-limits-esx-5.5": vdisk_limits.play_new,
}
"""An experiment always gives the same answer."""
