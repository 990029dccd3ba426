"""A program that puts the BPF classifier in an HTB discipline: `load_classifier.py OBJECT`.

It reads one change a line and stops at the first that fails, which it names as tc does:

    replace dev 7 parent 51ce: pref 5 name NAME workloads,interface,12,51ce:10 ...
    try

`replace` exchanges what is there at once; `try` only asks the kernel to take the program. It is a
program of its own, so that it runs where `tc` runs, and libbpf is never in the agent's process.
"""

import ctypes
import os
import socket
import struct
import sys
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_network

LIBRARY = "libbpf.so.1"
OWNERS = ("workloads", "host")
MARK, CGROUP, INTERFACE, SOURCE = SORTS = ("mark", "cgroup", "interface", "source")
MOST_MASKS = 4
MOST_LEVELS = 8
# linux/rtnetlink.h, linux/netlink.h, linux/pkt_cls.h
_NEW_FILTER, _ERROR = 44, 2
_REQUEST, _ACK, _CREATE = 0x1, 0x4, 0x400
_KIND, _OPTIONS, _BPF_FD, _BPF_NAME = 1, 2, 6, 7
_EVERY_PROTOCOL = 0x0003
_FILTER_HANDLE = 1
_IPV4_IN_IPV6_BITS = 96

Entry = tuple[str, str, str, int]
"""Owner, sort, value, class."""


class LoadError(Exception):
    """What the kernel or the library refused, for people."""


class LoadedProgram:
    """The program and its maps, loaded, filled and frozen; gone with this process unless held."""

    def __init__(self, file: str, entries: Sequence[Entry]) -> None:
        self._lib = _library()
        self._object = self._made(self._lib.bpf_object__open_file(file.encode(), None), file)
        signs = [(sign_key(entry), entry[3]) for entry in entries if entry[1] != SOURCE]
        sources = [(address_key(entry[2]), entry[3]) for entry in entries if entry[1] == SOURCE]
        rodata = tunables(entries)
        error = self._lib.bpf_map__set_initial_value(
            self._map(".rodata.tunables"), rodata, len(rodata)
        )
        self._check(error, "the program has other tunables than this agent")
        for name, filled in (("signs", signs), ("addresses", sources)):
            self._lib.bpf_map__set_max_entries(self._map(name), max(1, len(filled)))
        self._check(self._lib.bpf_object__load(self._object), "bpf() refused the program")
        self._fill("signs", signs)
        self._fill("addresses", sources)
        program = self._lib.bpf_object__find_program_by_name(self._object, b"classify")
        self.descriptor = int(self._lib.bpf_program__fd(self._made(program, "classify")))

    def _map(self, name: str) -> int:
        return self._made(
            self._lib.bpf_object__find_map_by_name(self._object, name.encode()), name
        )

    def _fill(self, name: str, entries: Iterable[tuple[bytes, int]]) -> None:
        descriptor = self._lib.bpf_map__fd(self._map(name))
        for key, classid in entries:
            value = struct.pack("=I", classid)
            error = self._lib.bpf_map_update_elem(descriptor, key, value, ctypes.c_uint64(0))
            self._check(error, f"map {name} took no entry")
        # From now on it is what the name of the filter says.
        self._check(self._lib.bpf_map_freeze(descriptor), f"map {name} was not frozen")

    def _made(self, pointer: int | None, what: str) -> int:
        if not pointer:
            raise LoadError(f"{what}: {os.strerror(ctypes.get_errno())}")
        return pointer

    def _check(self, error: int, what: str) -> None:
        if error < 0:
            raise LoadError(f"{what}: {os.strerror(-error)}")


def main() -> int:
    """Make the changes of the standard input."""
    for number, line in enumerate(sys.stdin, start=1):
        try:
            _make(sys.argv[1], line.split())
        except (LoadError, OSError, ValueError) as error:
            print(f"{error}\nCommand failed -:{number}", file=sys.stderr)
            return 1
    return 0


def _make(file: str, words: Sequence[str]) -> None:
    if words == ["try"]:
        LoadedProgram(file, ())
        return
    verb, *rest = words
    options = dict(zip(rest[:8:2], rest[1:8:2], strict=True))
    if verb != "replace" or set(options) != {"dev", "parent", "pref", "name"}:
        raise ValueError(f"not a change: {' '.join(words[:9])}")
    loaded = LoadedProgram(file, [read_entry(word) for word in rest[8:]])
    _replace_filter(options, loaded.descriptor)


def read_entry(word: str) -> Entry:
    """`workloads,interface,12,51ce:10`. Raises ValueError."""
    owner, sort, value, classid = word.split(",")
    if owner not in OWNERS or sort not in SORTS:
        raise ValueError(f"not an entry: {word}")
    return owner, sort, value, _handle(classid)


def _handle(text: str) -> int:
    """`51ce:10` as the kernel writes it."""
    major, _, minor = text.partition(":")
    return int(major, 16) << 16 | int(minor or "0", 16)


def sign_key(entry: Entry) -> bytes:
    """As `struct sign_key` in classify.bpf.c."""
    owner, sort, text, _ = entry
    first, second = _numbers(sort, text)
    # The depth of a control group is no part of its key.
    value = second << 32 | first if sort == MARK else first
    return struct.pack("=IIQ", OWNERS.index(owner), SORTS.index(sort), value)


def address_key(text: str) -> bytes:
    """As `struct address_key` in classify.bpf.c."""
    network = ip_network(text)
    if network.version == 4:
        address = b"\0" * 10 + b"\xff\xff" + network.network_address.packed
        return struct.pack("=I16s", network.prefixlen + _IPV4_IN_IPV6_BITS, address)
    return struct.pack("=I16s", network.prefixlen, network.network_address.packed)


def tunables(entries: Iterable[Entry]) -> bytes:
    """As `tunables` in classify.bpf.c."""
    found: Mapping[tuple[str, str], set[int]] = {
        (owner, sort): set() for sort in SORTS for owner in OWNERS
    }
    for owner, sort, text, _ in entries:
        found[owner, sort].add(0 if sort == SOURCE else _numbers(sort, text)[1])
    masks = [_row(sorted(found[owner, MARK], key=_precise_first), MOST_MASKS) for owner in OWNERS]
    levels = [_row(sorted(found[owner, CGROUP], reverse=True), MOST_LEVELS) for owner in OWNERS]
    has = [bool(found[OWNERS[0], sort]) for sort in (INTERFACE, SOURCE)]
    return b"".join([*masks, *levels, struct.pack("=II", *has)])


def _row(values: Sequence[int], most: int) -> bytes:
    if len(values) > most:
        raise ValueError(f"more than {most} masks of marks, or depths of control groups")
    return struct.pack(f"={most}I", *values, *[0] * (most - len(values)))


def _precise_first(mask: int) -> tuple[int, int]:
    return -mask.bit_count(), -mask


def _numbers(sort: str, text: str) -> tuple[int, int]:
    """A mark and its mask, a control group and its depth, or an interface and nothing."""
    first, _, second = text.partition("/")
    default = "0xffffffff" if sort == MARK else "0"
    return int(first, 0), int(second or default, 0)


def _library() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(LIBRARY, use_errno=True)
    except OSError as error:
        raise LoadError(f"there is no {LIBRARY}") from error
    library.libbpf_set_print(None)
    for name in ("open_file", "find_map_by_name", "find_program_by_name"):
        function = getattr(library, f"bpf_object__{name}")
        function.restype, function.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]
    library.bpf_object__open_file.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    for name in ("bpf_object__load", "bpf_map__fd", "bpf_program__fd"):
        getattr(library, name).argtypes = [ctypes.c_void_p]
    library.bpf_map__set_max_entries.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
    library.bpf_map__set_initial_value.argtypes = [
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_size_t,
    ]
    return library


def _replace_filter(options: Mapping[str, str], descriptor: int) -> None:
    """A message of rtnetlink, for tc takes a program by its file only."""
    name = options["name"].encode() + b"\0"
    content = _attribute(_BPF_FD, struct.pack("=I", descriptor)) + _attribute(_BPF_NAME, name)
    protocol = socket.htons(_EVERY_PROTOCOL)
    body = struct.pack(
        "=BxxxiIII",
        socket.AF_UNSPEC,
        int(options["dev"]),
        _FILTER_HANDLE,
        _handle(options["parent"]),
        int(options["pref"]) << 16 | protocol,
    )
    body += _attribute(_KIND, b"bpf\0") + _attribute(_OPTIONS, content)
    head = struct.pack("=IHHII", 16 + len(body), _NEW_FILTER, _REQUEST | _ACK | _CREATE, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as link:
        link.bind((0, 0))
        link.send(head + body)
        answer = link.recv(1 << 16)
    _, kind, _, _, _, error = struct.unpack_from("=IHHIIi", answer)
    if kind != _ERROR or error:
        raise LoadError(f"RTNETLINK answers: {os.strerror(-error)}")


def _attribute(kind: int, content: bytes) -> bytes:
    length = 4 + len(content)
    return struct.pack("=HH", length, kind) + content + b"\0" * (-length % 4)


if __name__ == "__main__":
    sys.exit(main())
