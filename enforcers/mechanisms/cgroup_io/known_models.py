"""What others measured of disks by their model names, for a person to judge. Pure.

The `base_model` (the model of io.cost, as `resctl-bench` measured the disk by fio) of results that
people submitted to github.com/iocost-benchmark/iocost-benchmarks (Apache-2.0, commit b2fc8dd6),
folder `database`: of version 2.1 of the benchmark, but for INTEL_SSDPEKKA256G7,
KINGSTON_SA2000M8250G and SKhynix_Phoenix, which are of 2.2. Each is one copy of a disk, and
another may differ by firmware, size and age. Other results for the same names there are within
23 % of these, but for the 2.1 of SKhynix_Phoenix, which writes at a sixth.

A disk by SCSI or SATA shows only the first 16 characters of its name, which stand for many sizes
and makes, so there is none here.
"""

from enforcers.host_fs import HostFs
from enforcers.mechanisms.cgroup_io.iocost import COEFFICIENTS, Model

SOURCE = "iocost-benchmarks"

# Model, then rbps rseqiops rrandiops wbps wseqiops wrandiops.
_TABLE = """
HFS256GD9TNG-62A0A 1060861522 54105 63053 198813646 12308 16085
INTEL_SSDPEKKA256G7 1339073326 74206 44932 115458797 14566 16743
KINGSTON_SA2000M8250G 1145196340 105210 112003 285744845 67203 67156
KXG6AZNV512G_TOSHIBA 2419411544 256089 229994 833689535 12618 22672
MTFDHBA256TCK-1AS15ABYY 327392352 85056 87373 581850454 7477 6752
MTFDHBA512TCK 326465335 87572 87633 586937175 8181 7007
MTFDKBA512TFH 2167752017 243828 126744 2992472013 118080 80436
MZUL2256HCHQ-00AFB 1899833755 81210 80432 413702163 9825 9678
MZUL2512HCJQ-00AFB 2439626981 157904 154404 819673902 9806 9686
SAMSUNG_MZVLW256HEHP-00000 1235803696 130658 134555 345351950 63368 23437
SKhynix_Phoenix 1301184436 72046 116693 195808171 12944 14937
Skhynix_PC711_NVMe_512GB 2342618237 220857 179931 1163478144 13869 35881
WDC_CL_SN720_SDAQNTW-256G-1020 2319819327 85438 91580 377802583 18821 13765
WDC_CL_SN720_SDAQNTW-512G-2000 2282156926 134421 174939 656154630 22175 17457
WDC_CL_SN730_SDBQNTY-256G-2020 2318575949 133833 124446 447984567 20139 15017
WDC_CL_SN730_SDBQNTY-512G-2020 2267547947 204164 235901 685695191 23378 18638
"""


def known_model(host_fs: HostFs, number: str) -> Model | None:
    """The model of the device's kind, by the name that the disk itself gives; None if unknown."""
    said = host_fs.read_or_none(f"/sys/dev/block/{number}/device/model") or ""
    name = "_".join(said.split())
    for line in _TABLE.split("\n"):
        known, *rates = line.split() or [""]
        if name and known == name and len(rates) == len(COEFFICIENTS):
            return Model(rates=tuple(int(rate) for rate in rates))
    return None
