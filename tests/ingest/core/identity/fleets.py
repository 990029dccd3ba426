"""Fleets whose truth is known, as collectors would show them; it shares no code with the rules.

A fleet is a list of moments. At each, `facts` are rows (host, kind, subject, name, value), `seen`
the places (host, kind, subject) that send samples, and the truth says which thing each place is.
Numbers are cloned, names are used again and collectors know little, as in real fleets.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field

Row = tuple[str, str, str, str, str]
At = tuple[str, str, str]

MODELS = ("Samsung SSD 870 EVO", "ST4000NM0023", "INTEL SSDSC2KB96", "WDC WD40EFRX-68N")
ARRAYS = (
    ("NETAPP", "LUN C-Mode"),
    ("DGC", "VRAID"),
    ("LIO-ORG", "block1"),
    ("PURE", "FlashArray"),
)


@dataclass
class Moment:
    """What is seen at one time, and what it truly is.

    `storage` and `workloads` have the thing at each place; a place that is a layer, or none, is in
    `counted_below`, because other places count its I/O. The collectors of hosts in `telling` say
    all they can.
    """

    facts: set[Row] = field(default_factory=set)
    seen: set[At] = field(default_factory=set)
    storage: dict[At, str] = field(default_factory=dict)
    counted_below: set[At] = field(default_factory=set)
    workloads: dict[At, str] = field(default_factory=dict)
    telling: set[str] = field(default_factory=set)


@dataclass
class Disk:
    """A disk or LUN as it truly is."""

    number: str
    size: int
    model: str
    vendor: str
    wwn: str = ""
    serial: str = ""
    bus: str = ""
    nguid: str = ""
    rbd: str = ""
    fsid: str = ""
    vmfs: str = ""
    iscsi: str = ""


@dataclass
class Host:
    """A host with the disks that it sees and how much its collector says of them."""

    name: str
    alias: str
    site: int
    style: str
    boot: str
    local: list[Disk] = field(default_factory=list)
    luns: list[tuple[Disk, int]] = field(default_factory=list)
    mounts: list[tuple[str, str, str, str, str]] = field(default_factory=list)
    order: list[int] = field(default_factory=list)
    up: bool = True


@dataclass
class Guest:
    """A VM, container or unit as it truly is, and where it runs."""

    number: str
    sort: str
    name: str
    host: Host
    key: str
    uuid: str = ""
    pid: int = 0
    gone: bool = False
    stays: bool = False


class Fleet:
    """A fleet made from a seed: `moments()` gives what is seen, as time goes on."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.hosts: list[Host] = []
        self.guests: list[Guest] = []
        self.clusters: dict[int, str] = {}
        self.numbers = 0
        self._make_hosts()
        self._make_local_disks()
        self._make_luns()
        self._make_exports()
        self._make_guests()

    def moments(self, count: int = 4) -> list[Moment]:
        """The fleet at several times; between two, disks and guests change."""
        found = [self._show()]
        for _ in range(count - 1):
            self._go_on()
            found.append(self._show())
        return found

    # What there is.

    def _new(self, kind: str) -> str:
        self.numbers += 1
        return f"{kind}-{self.numbers}"

    def _hex(self, digits: int) -> str:
        return "".join(self.random.choice("0123456789abcdef") for _ in range(digits))

    def _make_hosts(self) -> None:
        sites = self.random.randint(1, 3)
        product = {
            site: self.random.choice(["proxmox", "libvirt", "esxi"]) for site in range(sites)
        }
        for site in range(sites):
            same = self.random.random() < 0.2
            self.clusters[site] = "cluster1" if same else f"cluster-{site}-{self._hex(3)}"
            for number in range(self.random.randint(2, 6)):
                short = f"{product[site][:3]}{site}-{number}"
                name = f"{short}.site{site}.example" if self.random.random() < 0.5 else short
                style = self.random.choices(["full", "partial", "stock"], [6, 2, 2])[0]
                if product[site] == "esxi":
                    style = "full"
                self.hosts.append(
                    Host(name=name, alias="", site=site, style=style, boot=self._hex(32))
                )
        self.product = product
        for host in self.hosts:
            if self.random.random() < 0.1:
                host.alias = f"lxc-in-{host.name}"

    def _make_local_disks(self) -> None:
        for host in self.hosts:
            for _ in range(self.random.randint(1, 3)):
                bus = self.random.choice(["sata", "sata", "nvme", "sas", "usb"])
                host.local.append(
                    Disk(
                        number=self._new("disk"),
                        size=self.random.randint(1, 9) * 10**11 + self.random.randint(0, 999),
                        model=self.random.choice(MODELS),
                        vendor="ATA" if bus == "sata" else "",
                        wwn="" if bus == "nvme" else f"5{self._hex(15)}",
                        serial=f"S{self._hex(9).upper()}",
                        bus=bus,
                        nguid=self._hex(32) if bus == "nvme" else "",
                    )
                )
            host.order = list(range(12))
        for _ in range(self.random.randint(0, 4)):
            self._clone_local()
        for host in self.hosts:
            if self.random.random() < 0.2:
                for disk in host.local:
                    disk.serial, disk.model = "drive-scsi0", "QEMU HARDDISK"

    def _clone_local(self) -> None:
        """Give two disks of two hosts the same numbers, as cheap makers and images do."""
        one, other = self.random.sample(self.hosts, 2)
        first, second = self.random.choice(one.local), self.random.choice(other.local)
        first.bus = second.bus if second.bus != "sas" else "sata"
        second.bus = first.bus
        first.vendor = second.vendor = "ATA" if first.bus == "sata" else ""
        first.model = second.model
        second.serial, second.wwn, second.nguid = first.serial, first.wwn, first.nguid
        if first.bus != "usb" and self.random.random() < 0.5:
            second.size = first.size
        elif first.size == second.size:
            second.size += 512

    def _make_luns(self) -> None:
        for site in self.clusters:
            reach = [host for host in self.hosts if host.site == site]
            for _ in range(self.random.randint(0, 4)):
                self._attach(self._lun(site), reach)
            if self.random.random() < 0.4:
                self._clone_lun(reach)
        # One array copies its numbers to the other site, with volumes of another size.
        if len(self.clusters) > 1 and self.random.random() < 0.5:
            shown = [host for host in self.hosts if host.style == "full"]
            copied = next((disk for host in shown for disk, _ in host.luns if disk.wwn), None)
            if copied is not None:
                other = [host for host in self.hosts if host.site != 0]
                copy = Disk(**{**copied.__dict__, "number": self._new("lun")})
                copy.size += 4096
                at_site = [
                    host
                    for host in other
                    if host.style != "stock" and copied not in [d for d, _ in host.luns]
                ]
                self._attach(copy, at_site)

    def _lun(self, site: int) -> Disk:
        vendor, model = self.random.choice(ARRAYS)
        kind = self.random.choice(["fc", "fc", "iscsi", "rbd", "nvme-of", "vmfs", "sas", "serial"])
        disk = Disk(
            number=self._new("lun"),
            size=self.random.randint(1, 99) * 10**12,
            model=model,
            vendor=vendor,
            wwn=f"6{self._hex(31)}",
            serial=self._hex(12),
            bus=kind,
        )
        if self.product[site] == "esxi":
            disk.bus = kind = "vmfs"
        if kind == "rbd":
            pool = self.random.choice(["rbd", "vms"])
            disk = Disk(number=disk.number, size=disk.size, model="", vendor="", bus="rbd")
            disk.rbd, disk.fsid = f"{pool}/vm-10{self.random.randint(0, 2)}-disk-0", f"ceph-{site}"
            taken = {d.rbd for h in self.hosts for d, _ in h.luns if d.fsid == disk.fsid}
            if disk.rbd in taken:
                disk.rbd += self._hex(4)
        elif kind == "nvme-of":
            disk.nguid, disk.wwn, disk.bus = self._hex(32), "", "tcp"
        elif kind == "vmfs":
            disk.vmfs, disk.bus = f"{self._hex(8)}-{self._hex(8)}-{self._hex(4)}", "fc"
        elif kind == "iscsi":
            disk.iscsi = f"iqn.2024-01.example.site{site}:store/{self.random.randint(0, 1)}"
            if self.random.random() < 0.3:
                disk.wwn = ""
                disk.iscsi += self._hex(3)
        elif kind == "serial":
            disk.bus, disk.wwn = "fc", ""
        return disk

    def _attach(self, disk: Disk, hosts: list[Host]) -> None:
        for host in hosts:
            if self.random.random() < 0.8:
                several = disk.bus in ("fc", "iscsi") and bool(disk.wwn)
                host.luns.append((disk, self.random.choice([1, 2, 4]) if several else 1))

    def _clone_lun(self, reach: list[Host]) -> None:
        """A copy with the same WWN as another LUN, on a host that sees both or on another.

        Its size differs, and the hosts say so: nothing else could tell.
        """
        reach = [host for host in reach if host.style != "stock"]
        seen = [(h, d) for h in reach for d, _ in h.luns if d.wwn and h.style == "full"]
        if not seen:
            return
        host, disk = self.random.choice(seen)
        copy = Disk(**{**disk.__dict__, "number": self._new("lun"), "vmfs": disk.vmfs})
        copy.size += 1_048_576
        if self.random.random() < 0.5:
            host.luns.append((copy, 1))
        else:
            others = [one for one in reach if disk not in [seen for seen, _ in one.luns]]
            for other in others:
                other.luns.append((copy, 1))

    def _make_exports(self) -> None:
        for site in self.clusters:
            reach = [host for host in self.hosts if host.site == site]
            for number in range(self.random.randint(0, 3)):
                short = self.random.choice(["nas", f"nfs{site}{number}"])
                server = self._new("server")
                addresses = [f"10.{site}.{number}.{self.random.randint(2, 250)}" for _ in range(2)]
                full = f"{short}-{server}.site{site}.example" if short == "nas" else ""
                full = full or f"{short}.site{site}.example"
                for path in self.random.sample(["/vm", "/vol/backup", "/export/home"], 2):
                    for host in reach:
                        if self.random.random() < 0.7:
                            address = addresses[0] if self.random.random() < 0.8 else addresses[1]
                            name = self.random.choice([short, full, address])
                            known = "" if self.random.random() < 0.1 and "." in name else address
                            number_of = f"{server}{path}"
                            slashed = path + self.random.choice(["", "/"])
                            host.mounts.append((name, slashed, known, number_of, path))
        for host in self.hosts:
            if self.random.random() < 0.2:
                own = f"own-{host.name}"
                host.mounts.append(("localhost", "/srv", "127.0.0.1", own, "/srv"))

    def _make_guests(self) -> None:
        for host in self.hosts:
            kind = self.product[host.site]
            for _ in range(self.random.randint(0, 5)):
                getattr(self, f"_make_{kind}")(host)
            if kind == "libvirt" and self.random.random() < 0.1:
                # Two names of which the cgroup keeps the same part.
                for name in ("web_1", "web1"):
                    self._make_libvirt(host, f"{name}")
            for unit in ("nginx.service", "postgresql@14-main.service"):
                if self.random.random() < 0.4:
                    self._guest("unit", unit, host, unit)
            if self.random.random() < 0.3:
                self._guest("docker", "shop", host, self._hex(64))
                self._guest("pod", "orders", host, self._uuid())
        self._clone_guests()

    def _uuid(self) -> str:
        text = self._hex(32)
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def _guest(self, sort: str, name: str, host: Host, key: str, uuid: str = "") -> Guest:
        made = Guest(
            number=self._new(sort), sort=sort, name=name, host=host, key=key, uuid=uuid,
            pid=self.random.randint(1000, 4_000_000),
        )  # fmt: skip
        self.guests.append(made)
        return made

    def _named(self) -> str:
        return f"{self.random.choice(['db', 'web', 'backup'])}-{self._hex(3)}"

    def _make_proxmox(self, host: Host) -> None:
        taken = {g.key for g in self.guests if g.host.site == host.site}
        number = next(n for n in range(100, 999) if f"qemu/{n}" not in taken)
        self._guest("proxmox", self._named(), host, f"qemu/{number}")

    def _make_libvirt(self, host: Host, name: str = "") -> None:
        self._guest("libvirt", name or self._named(), host, "", self._uuid())

    def _make_esxi(self, host: Host) -> None:
        taken = {g.key for g in self.guests if g.host.site == host.site}
        number = next(n for n in range(10, 999) if f"vm/vm-{n}" not in taken)
        self._guest("esxi", self._named(), host, f"vm/vm-{number}", self._uuid())

    def _clone_guests(self) -> None:
        """A VM that was copied with its UUID, under another name."""
        owners = [one for one in self.guests if one.uuid and one.sort == "libvirt"]
        hosts = [host for host in self.hosts if self.product[host.site] == "libvirt"]
        if owners and len(hosts) > 1 and self.random.random() < 0.5:
            one = self.random.choice(owners)
            other = self.random.choice([host for host in hosts if host is not one.host])
            copy = self._guest("libvirt", f"{one.name}-copy", other, "", one.uuid)
            # Where both were on one host in turn, not even people could tell them apart.
            one.stays = copy.stays = True

    # What happens.

    def _go_on(self) -> None:
        self._restart_hosts()
        self._change_guests()

    def _restart_hosts(self) -> None:
        for host in self.hosts:
            if host.style == "full" and self.random.random() < 0.5:
                self.random.shuffle(host.order)
            elif self.random.random() < 0.05:
                host.up = not host.up
        for host in self.hosts:
            if host.style == "full" and self.random.random() < 0.1:
                old = host.local[0]
                host.local[0] = Disk(
                    number=self._new("disk"), size=old.size, model=old.model, vendor=old.vendor,
                    wwn=f"5{self._hex(15)}" if old.wwn else "", serial=f"S{self._hex(9)}",
                    bus=old.bus, nguid=self._hex(32) if old.nguid else "",
                )  # fmt: skip

    def _change_guests(self) -> None:
        for guest in list(self.guests):
            chance = self.random.random()
            if chance < 0.2 and not guest.stays and guest.sort in ("proxmox", "libvirt", "esxi"):
                self._migrate(guest)
            elif chance < 0.3 and guest.sort == "proxmox":
                # Its number goes to another guest, within the minute.
                guest.gone = True
                self._guest("proxmox", self._named() + "-new", guest.host, guest.key)
            elif chance < 0.35 and guest.sort == "proxmox":
                guest.name += "-renamed"
            elif chance < 0.45 and guest.sort in ("docker", "pod"):
                guest.gone = True
                key = self._hex(64) if guest.sort == "docker" else self._uuid()
                self._guest(guest.sort, guest.name, guest.host, key)
        self.guests = [guest for guest in self.guests if not guest.gone]

    def _migrate(self, guest: Guest) -> None:
        others = [
            one for one in self.hosts if one.site == guest.host.site and one is not guest.host
        ]
        names = {(one.host.name, one.name) for one in self.guests}
        target = self.random.choice(others)
        if (target.name, guest.name) not in names and guest.name not in ("web1", "web_1"):
            guest.host, guest.pid = target, self.random.randint(1000, 4_000_000)

    # What collectors show.

    def _show(self) -> Moment:
        moment = Moment()
        for host in self.hosts:
            if host.up:
                names = [host.name, *([host.alias] if host.alias and host.style == "full" else [])]
                for name in names:
                    self._show_host(moment, host, name)
        for guest in self.guests:
            if guest.host.up:
                getattr(self, f"_show_{guest.sort}")(moment, guest)
        return moment

    def _show_host(self, moment: Moment, host: Host, name: str) -> None:
        say = _Say(moment, name)
        if host.style == "full":
            say("host", "", boot_id=host.boot)
            moment.telling.add(name)
        if self.product[host.site] != "libvirt":
            say("host", "", cluster=self.clusters[host.site])
        self._show_disks(say, host)
        for at, (server, export, address, number, path) in enumerate(host.mounts):
            mount = f"/mnt/{at}{path}"
            say("mount", mount, server=server, export=export, address=address, fstype="nfs4")
            moment.seen.add((name, "mount", mount))
            moment.storage[name, "mount", mount] = number

    def _show_disks(self, say: _Say, host: Host) -> None:
        letters = iter("abcdefghijklmnopqrstuvwxyz")
        numbers = defaultdict(int)
        shown: list[tuple[Disk, int]] = [(disk, 1) for disk in host.local] + host.luns
        place = {at: spot for spot, at in enumerate(host.order)}
        order = sorted(range(len(shown)), key=lambda at: place.get(at, at))
        maps = 0
        for at in order:
            disk, paths = shown[at]
            if disk.bus in ("nvme", "tcp"):
                device = f"nvme{numbers['nvme']}n1"
                numbers["nvme"] += 1
            elif disk.rbd:
                device = f"rbd{numbers['rbd']}"
                numbers["rbd"] += 1
            elif disk.vmfs:
                device = f"naa.{disk.wwn}-{disk.size}"
            else:
                device = ""
            devices = [device] if device else [f"sd{next(letters)}" for _ in range(paths)]
            for one in devices:
                self._show_disk(say, host, disk, one)
                say.storage(one, disk.number)
            if len(devices) > 1 and host.style != "stock":
                self._show_multipath(say, host, disk, devices, maps)
                maps += 1
            elif len(devices) == 1 and not disk.vmfs:
                maps = self._show_layers(say, host, devices[0], maps)
        for none in ("loop0", "ram0", "zram0", "sr0", "nbd0"):
            if self.random.random() < 0.3:
                say.counted_below(none)

    def _show_disk(self, say: _Say, host: Host, disk: Disk, device: str) -> None:
        spell = self.random.choice(["0x{}", "naa.{}", "wwn-0x{}", "{}"])
        wwn = spell.format(disk.wwn.upper() if self.random.random() < 0.3 else disk.wwn)
        if host.style == "stock":
            # udev's serial number of a SCSI disk is its WWN after a 3; of others with the model.
            plain = f"{disk.model}_{disk.serial}".replace(" ", "_")
            local = disk.bus in ("sata", "usb", "nvme")
            serial = plain if local or not disk.wwn else f"3{disk.wwn}"
            if self.random.random() < 0.5 and not disk.rbd:
                say("device", device, serial=serial)
            if disk.bus == "nvme":
                say("device", device, wwn=f"eui.{disk.nguid}")
            return
        say(
            "device", device, wwn=wwn if disk.wwn else "", serial=disk.serial, model=disk.model,
            vendor=disk.vendor, size_bytes=str(disk.size), nguid=disk.nguid, rbd=disk.rbd,
            ceph_fsid=disk.fsid, vmfs=disk.vmfs, iscsi=disk.iscsi,
        )  # fmt: skip
        if host.style == "full" or disk.bus == "nvme":
            say("device", device, transport="" if disk.rbd else disk.bus)

    def _show_multipath(
        self, say: _Say, host: Host, disk: Disk, devices: list[str], maps: int
    ) -> None:
        device = f"dm-{maps}"
        say("device", device, uuid=f"mpath-3{disk.wwn}", layer="multipath")
        if host.style == "full":
            for one in devices:
                say("device", device, parent=one)
        say.storage(device, disk.number)
        for one in devices:
            say.counted_below(one)

    def _show_layers(self, say: _Say, host: Host, device: str, maps: int) -> int:
        """Partitions, a volume in one of them, encryption above; always for the same disk."""
        if hash_of(host.name, device) % 3 or device.startswith("rbd"):
            return maps
        partition = f"{device}{'p' if device[-1].isdigit() else ''}1"
        say.counted_below(partition)
        if hash_of(host.name, device) % 2 == 0:
            return maps
        volume, secret = f"dm-{maps + 20}", f"dm-{maps + 40}"
        say.counted_below(volume)
        say.counted_below(secret)
        if host.style != "stock":
            say("device", volume, layer="lvm", parent=partition)
            say("device", secret, layer="luks", parent=volume)
        return maps + 1

    def _show_proxmox(self, moment: Moment, guest: Guest) -> None:
        say = _Say(moment, guest.host.name)
        say("workload", guest.key, name=guest.name, kind="vm", host_pid=str(guest.pid))
        say.workload("workload", guest.key, guest.number)
        say.workload("cgroup", f"/qemu.slice/{guest.key[5:]}.scope", guest.number)

    def _show_libvirt(self, moment: Moment, guest: Guest) -> None:
        say = _Say(moment, guest.host.name)
        stock = guest.host.style == "stock"
        say("workload", f"libvirt/{guest.name}", name=guest.name)
        if not stock:
            say("workload", f"libvirt/{guest.name}", uuid=guest.uuid, host_pid=str(guest.pid))
        say.workload("workload", f"libvirt/{guest.name}", guest.number)
        kept = guest.name.replace("_", "").replace("-", "\\x2d")
        scope = f"/machine.slice/machine-qemu\\x2d{guest.pid % 97}\\x2d{kept}.scope"
        say.workload("cgroup", scope, guest.number)
        say.counted_below(f"{scope}/libvirt/emulator", kind="cgroup")

    def _show_esxi(self, moment: Moment, guest: Guest) -> None:
        say = _Say(moment, guest.host.name)
        say("workload", guest.key, name=guest.name, uuid=guest.uuid)
        say.workload("workload", guest.key, guest.number)

    def _show_unit(self, moment: Moment, guest: Guest) -> None:
        say = _Say(moment, guest.host.name)
        say.workload("cgroup", f"/system.slice/{guest.name}", guest.number)

    def _show_docker(self, moment: Moment, guest: Guest) -> None:
        say = _Say(moment, guest.host.name)
        say.workload("cgroup", f"/system.slice/docker-{guest.key}.scope", guest.number)
        if guest.host.style == "full":
            say("workload", f"container/{guest.key}", name=guest.name)
            say.workload("workload", f"container/{guest.key}", guest.number)

    def _show_pod(self, moment: Moment, guest: Guest) -> None:
        say = _Say(moment, guest.host.name)
        inner = guest.key.replace("-", "_")
        pod = f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{inner}.slice"
        for at in range(2):
            own = f"{guest.key.replace('-', '')}{at}".ljust(64, "0")
            say.workload("cgroup", f"{pod}/cri-containerd-{own}.scope", guest.number)
        say.workload("workload", f"pod/{guest.key}", guest.number)
        say("workload", f"pod/{guest.key}", name=guest.name, namespace="shop")


def hash_of(*parts: str) -> int:
    """A number that is the same in every run."""
    return sum(ord(letter) * (at + 1) for at, letter in enumerate("/".join(parts)))


class _Say:
    """What one collector says of one host."""

    def __init__(self, moment: Moment, host: str) -> None:
        self.moment = moment
        self.host = host

    def __call__(self, about: str, subject: str, /, **values: str) -> None:
        for name, value in values.items():
            if value:
                self.moment.facts.add((self.host, about, subject, name, value))

    def storage(self, device: str, number: str) -> None:
        place = (self.host, "device", device)
        self.moment.seen.add(place)
        self.moment.storage[place] = number

    def counted_below(self, subject: str, kind: str = "device") -> None:
        place = (self.host, kind, subject)
        self.moment.seen.add(place)
        self.moment.counted_below.add(place)
        self.moment.storage.pop(place, None)

    def workload(self, kind: str, subject: str, number: str) -> None:
        place = (self.host, kind, subject)
        self.moment.workloads[place] = number
        self.moment.seen.add(place)
