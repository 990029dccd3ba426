"""Which file systems lie on other machines; apart, for who asks nothing else of mounts."""

MOUNTINFO = "/proc/self/mountinfo"
NETWORK_KINDS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "fuse.glusterfs", "9p", "lustre"}
)
