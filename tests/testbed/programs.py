"""Where the testbed's programs are: those of `make testbed-programs`, and of Debian's packages."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

VIRTIOFSD = ("/usr/lib/qemu/virtiofsd", "/usr/libexec/virtiofsd")
GUESTS_OWN = ("/dev", "/mnt", "/proc", "/run", "/sys")
"""Folders that are a guest's own: those of the host it does not see."""


def bed_file(name: str) -> Path:
    """A file that `scripts/testbed` obtains, whether it is there or not."""
    return _cache() / "testbed" / name


def kernel_file(kernel: str, name: str) -> Path:
    """A file that `scripts/kernels` obtains, whether it is there or not."""
    return _cache() / "kernels" / kernel / name


def debian13() -> Path:
    """The files of the Debian that `scripts/debian13` obtains, whether they are there or not."""
    return _cache() / "debian13"


def find_virtiofsd() -> str | None:
    """The server of the host's files; its place differs by release."""
    return next((path for path in VIRTIOFSD if os.access(path, os.X_OK)), None)


def missing_for_guests() -> str | None:
    """Why no guest can be started here; None means that it can."""
    for place in (Path(__file__).resolve(), Path(tempfile.gettempdir()).resolve()):
        if own := next((own for own in GUESTS_OWN if place.is_relative_to(own)), None):
            return f"{place} lies below {own}, which is another folder in a guest"
    if os.geteuid() != 0:
        return "not root"
    if shutil.which("qemu-system-x86_64") is None or find_virtiofsd() is None:
        return "no QEMU with virtiofsd (packages qemu-system-x86, virtiofsd)"
    absent = [
        name for name in ("vmlinuz", "initramfs", "guest", "nfs") if not bed_file(name).exists()
    ]
    if not kernel_file("6.12", "vmlinuz").exists():
        absent.append("kernels")
    return f"no {', '.join(absent)}; make testbed-programs obtains it" if absent else None


def missing_for_vcenter() -> str | None:
    """Why govmomi's simulator cannot be started here."""
    absent = [name for name in ("vcenter", "govc") if not bed_file(name).exists()]
    return f"no {' and '.join(absent)}; make testbed-programs obtains it" if absent else None


def missing_for_libvirt() -> str | None:
    """Why no domain of libvirt can be started here."""
    if shutil.which("qemu-system-x86_64") is None or shutil.which("libvirtd") is None:
        return "no libvirtd (packages libvirt-daemon, libvirt-clients, qemu-system-x86)"
    return None


def _cache() -> Path:
    return Path(os.environ.get("SLUICE_CACHE_DIR") or Path.home() / ".cache" / "sluice")
