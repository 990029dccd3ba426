"""Finds control groups as packets are known by them: by number, and depth below the root."""

from collections.abc import Collection

from enforcers.host_fs import HostFs
from enforcers.mechanisms.tc_htb.signs import CgroupPlace
from enforcers.reader.cgroups import find_mount
from enforcers.reader.host_tree import HostTree


def cgroup_places(host_fs: HostFs, paths: Collection[str]) -> dict[str, CgroupPlace]:
    """Those of these paths below the mount of cgroup v2 that are there."""
    mount = find_mount(HostTree(str(host_fs.path("/"))))
    if mount is None:
        return {}
    places = {}
    for path in sorted(paths):
        names = [name for name in path.split("/") if name]
        if not names or not path.startswith("/") or ".." in names:
            continue
        number = host_fs.identity(f"{mount}/{'/'.join(names)}")
        if number is not None:
            places[path] = CgroupPlace(number=int(number), depth=len(names))
    return places
