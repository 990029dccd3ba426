"""Asks the kernel whether it has HTB and u32, in a namespace of its own that is gone at once."""

from collections.abc import Sequence

from enforcers.errors import CommandError
from enforcers.host_fs import HostFs
from enforcers.runner import Runner

CAP_NET_ADMIN_BIT = 12
CAP_SYS_ADMIN_BIT = 21
_STEPS = (
    ("CONFIG_NET_SCH_HTB", "qdisc add dev lo root handle 1: htb default 2"),
    ("CONFIG_NET_SCH_HTB", "class add dev lo parent 1: classid 1:1 htb rate 8kbit quantum 1500"),
    ("CONFIG_NET_SCH_FIFO", "qdisc replace dev lo parent 1:1 bfifo limit 3000"),
    (
        "CONFIG_NET_CLS_U32",
        "filter add dev lo parent 1: protocol all pref 10 u32 match u32 0 0 indev lo classid 1:1",
    ),
)


def missing_in_kernel(runner: Runner, *, is_privileged: bool) -> str | None:
    """What keeps HTB from working here, None if nothing does.

    The steps are tried for real; the host's own interfaces are not touched.
    """
    namespace = own_namespace(is_privileged=is_privileged)
    for program in ("tc", "ip"):
        try:
            runner.run([program, "-V"])
        except CommandError as error:
            return f"{error}; install iproute2"
    try:
        runner.run([*namespace, "true"])
    except CommandError as error:
        return f"cannot try it out: {error}"
    for count, (option, _) in enumerate(_STEPS, start=1):
        batch = "\n".join(step for _, step in _STEPS[:count]) + "\n"
        try:
            runner.run([*namespace, "tc", "-batch", "-"], stdin=batch)
        except CommandError as error:
            return f"{option} is off in this kernel or its module is missing ({error.answer})"
    return None


def lacks_option(runner: Runner, *, is_privileged: bool) -> bool:
    """Whether it is the kernel that lacks something, and not this process or a program."""
    problem = missing_in_kernel(runner, is_privileged=is_privileged)
    return problem is not None and problem.startswith("CONFIG_")


def has_fq_codel(runner: Runner, *, is_privileged: bool) -> bool:
    """Whether this kernel has fq_codel; requires a kernel in which nothing is missing."""
    tried = [step for _, step in _STEPS[:2]] + ["qdisc replace dev lo parent 1:1 fq_codel"]
    try:
        runner.run(
            [*own_namespace(is_privileged=is_privileged), "tc", "-batch", "-"],
            stdin="\n".join(tried) + "\n",
        )
    except CommandError:
        return False
    return True


def why_no_bpf_filters(runner: Runner, *, is_privileged: bool) -> str | None:
    """Why HTB takes no BPF program as a filter here, None if it does."""
    # A program of the old kind, which needs no right to load: it returns that nothing matches.
    tried = [step for _, step in _STEPS[:2]]
    tried += ['filter add dev lo parent 1: protocol all pref 5 bpf bytecode "1,6 0 0 0,"']
    try:
        runner.run(
            [*own_namespace(is_privileged=is_privileged), "tc", "-batch", "-"],
            stdin="\n".join(tried) + "\n",
        )
    except CommandError as error:
        return (
            f"CONFIG_NET_CLS_BPF is off in this kernel or its module is missing ({error.answer})"
        )
    return None


_IFB_STEPS = (
    ("CONFIG_IFB", "ip link add name tried up type ifb"),
    ("CONFIG_NET_SCH_INGRESS", "tc qdisc add dev lo clsact"),
    (
        "CONFIG_NET_ACT_MIRRED",
        "tc filter add dev lo ingress u32 match u32 0 0 action mirred egress redirect dev tried",
    ),
)


def why_no_ifb(runner: Runner, *, is_privileged: bool) -> str | None:
    """What keeps what comes in from being led through an ifb device, None if nothing does."""
    namespace = own_namespace(is_privileged=is_privileged)
    steps = [step for _, step in _IFB_STEPS]
    # Mostly all is there, and one try tells.
    if _refusal(runner, namespace, steps) is None:
        return None
    for count, (option, _) in enumerate(_IFB_STEPS, start=1):
        answer = _refusal(runner, namespace, steps[:count])
        if answer is not None:
            return f"{option} is off in this kernel or its module is missing ({answer})"
    return None


def _refusal(runner: Runner, namespace: Sequence[str], steps: Sequence[str]) -> str | None:
    try:
        runner.run([*namespace, "sh", "-c", " && ".join(steps)])
    except CommandError as error:
        return error.answer
    return None


def own_namespace(*, is_privileged: bool) -> tuple[str, ...]:
    """What runs the program whose words follow in a network namespace that is gone after it."""
    return ("unshare", "--net") if is_privileged else ("unshare", "--user", "-r", "--net")


def may_change_network(host_fs: HostFs) -> bool:
    """Whether this process has CAP_NET_ADMIN."""
    return _has_capability(host_fs, CAP_NET_ADMIN_BIT)


def may_make_namespaces(host_fs: HostFs) -> bool:
    """Whether it can make a network namespace without a user namespace (CAP_SYS_ADMIN)."""
    return _has_capability(host_fs, CAP_SYS_ADMIN_BIT)


def _has_capability(host_fs: HostFs, bit: int) -> bool:
    status = host_fs.read_or_none("/proc/self/status") or ""
    for line in status.splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> bit & 1)
    return False
