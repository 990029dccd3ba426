"""What the name of a block device alone tells of it."""

from __future__ import annotations

import re

PARTITION = re.compile(
    r"((?:sd|vd|xvd|hd|dasd|ubd)[a-z]+)\d+"
    r"|((?:nvme\d+n|mmcblk|md|loop|nbd|rbd|pmem|zd|drbd|bcache|nullb|cciss/c\d+d)\d+)p\d+"
    r"|(mmcblk\d+)(?:boot\d+|rpmb)"
)
NVME_PATH = re.compile(r"nvme(\d+)c\d+n(\d+)")
LVM_PART = re.compile(
    r"(.+)_(?:[rm]image|rmeta|mlog|[ct]data|[ct]meta|corig|vorigin|vdata|pmspare)(?:_\d+)?"
)
"""Parts of a logical volume (of a RAID, a pool, a cache) by the names that LVM keeps for them; no
volume of a person can have one. `iostat -N` and `$DM_NAME` of Telegraf show them."""
_LAYER_NAMES = re.compile(r"(dm-|md_?d?|drbd|bcache|zd)\d+|md[_/].+|mapper/.+")


def layer_by_name(name: str) -> str:
    """The kind of a layer whose name alone tells it; empty for others."""
    if LVM_PART.fullmatch(name):
        return "lvm"
    if _LAYER_NAMES.fullmatch(name):
        return "md" if name.startswith("md") else "dm"
    return ""
