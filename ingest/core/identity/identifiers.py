"""Identifiers of disks in one spelling, and those that many disks have."""

from __future__ import annotations

import re

_HEX = re.compile(r"[0-9a-f]+")
_WWN_PREFIXES = ("wwn-0x", "naa.", "eui.", "0x", "nvme-eui.", "scsi-", "t10.", "mpath-")
_NAA_FORMATS = {16: "25", 32: "6"}
"""Hexadecimal digits of an NAA identifier, and the first digits that identify a device."""

COPIED_WWNS = {
    "60000000000000000e": "the iSCSI target tgt gives it to the first disk of every target",
    "6000c29": "VMware gives it to each copy of a virtual disk's file",
}
"""Beginnings of WWNs that several disks may have, and why."""

_FAKE_SERIALS = frozenset(
    {
        "", "none", "null", "unknown", "default", "serial", "serialnumber", "sn", "na", "notset",
        "tobefilledbyoem", "defaultstring", "systemserialnumber", "0123456789abcdef",
        "0123456789abcde", "123456789", "1234567890", "123456789012", "deadbeef", "beaf11",
        "qm00001", "qm00002", "qm00003", "qm00005", "152d00539000", "20080411",
    }
)  # fmt: skip
_FAKE_SERIAL = re.compile(r"(0qemuqemuharddisk)?drive(scsi|virtio|sata|ide|efidisk)\d+")
_FEWEST_DIFFERENT = 3
"""A number that is written with fewer different characters was made up."""


def same_spelling(text: str) -> str:
    """Letters and digits alone, in lower case."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


def read_wwn(text: str) -> str | None:
    """The hexadecimal digits of a WWN or EUI-64 in any usual spelling; None if it is none.

    `0x5000c500a1b2c3d4`, `naa.5000C500A1B2C3D4`, `wwn-0x5000…` and udev's `35000…` are the same.
    """
    found = text.strip().lower()
    for prefix in _WWN_PREFIXES:
        found = found.removeprefix(prefix)
    found = found.replace(":", "").replace("-", "")
    if not _HEX.fullmatch(found):
        return None
    if len(found) in (17, 33) and found[0] == "3" and is_naa(found[1:]):
        return found[1:]
    return found if len(found) in (16, 32) else None


def is_naa(digits: str) -> bool:
    """Whether these hexadecimal digits are an identifier of the NAA registry."""
    return digits[:1] in _NAA_FORMATS.get(len(digits), "") and bool(digits)


def why_no_wwn(digits: str) -> str | None:
    """Why several disks may have this WWN; None if it belongs to one."""
    for beginning, why in COPIED_WWNS.items():
        if digits.startswith(beginning):
            return why
    if _made_up(digits[4:]):
        return "it is not a number that a maker gives to one disk"
    return None


def why_no_serial(serial: str) -> str | None:
    """Why several disks may have this serial number; None if it belongs to one of its model."""
    plain = same_spelling(serial)
    if plain in _FAKE_SERIALS or _FAKE_SERIAL.fullmatch(plain) or _made_up(plain):
        return "many disks have it"
    if len(plain) < 6:
        return "it is too short to belong to one disk"
    return None


def _made_up(plain: str) -> bool:
    return len(set(plain)) < _FEWEST_DIFFERENT


def read_uuid(text: str) -> str | None:
    """The 32 digits of a UUID in any spelling; None if it is none or one that many have."""
    found = re.sub(r"[^0-9a-f]", "", text.strip().lower().removeprefix("urn:uuid:"))
    if len(found) != 32 or _made_up(found) or found == "03000200040005000006000700080009":
        return None
    return found
