"""Figures of the host as a whole: TCP segments, load, CPUs and uptime."""

from enforcers.reader.host_tree import HostTree
from enforcers.reader.line import head, integers, whole

SNMP = "/proc/net/snmp"
_TCP = ("OutSegs", "RetransSegs")


def tcp_line(host: str, tree: HostTree) -> str | None:
    """Segments sent and sent again, as Telegraf's input `nstat` names them."""
    rows = [line.split() for line in tree.lines(SNMP) if line.startswith("Tcp:")]
    if len(rows) != 2:
        return None
    named = dict(zip(*rows, strict=False))
    values = {f"Tcp{name}": whole(named.get(name, "")) for name in _TCP}
    fields = integers({name: value for name, value in values.items() if value is not None})
    return f"{head('nstat', host, name='snmp')} {fields}" if fields else None


def system_line(host: str, tree: HostTree) -> str | None:
    """Load, CPUs and uptime, as Telegraf's input `system` names them."""
    fields: list[str] = []
    loads = tree.text("/proc/loadavg").split()[:3]
    if len(loads) == 3 and all(map(_is_number, loads)):
        named = zip(("load1", "load5", "load15"), loads, strict=True)
        fields += [f"{name}={value}" for name, value in named]
    cpus = _cpu_count(tree.word("/sys/devices/system/cpu/online") or "")
    if cpus is not None:
        fields.append(f"n_cpus={cpus}i")
    uptime = whole((tree.word("/proc/uptime") or "").partition(".")[0])
    if uptime is not None:
        fields.append(f"uptime={uptime}i")
    return f"{head('system', host)} {','.join(fields)}" if fields else None


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit() and text.isascii()


def _cpu_count(ranges: str) -> int | None:
    """How many CPUs a text like `0-3,5` names."""
    count = 0
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        low, high = whole(first), whole(last or first)
        if low is None or high is None or high < low:
            return None
        count += high - low + 1
    return count
