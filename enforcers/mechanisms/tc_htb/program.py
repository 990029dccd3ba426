"""The BPF program of this installation, and whether this host can load it."""

import hashlib
import sys
from pathlib import Path

from enforcers.errors import CommandError
from enforcers.mechanisms.tc_htb.kernel_probe import why_no_bpf_filters
from enforcers.mechanisms.tc_htb.signs import Classifier
from enforcers.runner import Runner

OBJECT = Path(__file__).with_name("classify.bpf.o")
"""Built by scripts/bpf; the packages bring it along."""
LOADER = (sys.executable, "-I", "-S", str(OBJECT.with_name("load_classifier.py")), str(OBJECT))
"""Without the folders and files that Python looks at beside its own, which take half the time."""
LOADER_NAME = "load_classifier"
_DIGITS = 16
_REMEDIES = {
    "there is no libbpf": "install libbpf1",
    "not permitted": "it takes CAP_BPF and CAP_NET_ADMIN",
    "was not frozen": "it takes Linux 5.2 or later",
}


def find_classifier(runner: Runner, *, is_privileged: bool) -> Classifier:
    """Try the program out; what it would be loaded for is not touched."""
    try:
        digest = hashlib.sha256(OBJECT.read_bytes()).hexdigest()[:_DIGITS]
    except OSError:
        why = f"{OBJECT.name} was not built; scripts/bpf builds it, and it needs clang"
        return Classifier(program=None, why_not=why)
    why_not = why_no_bpf_filters(runner, is_privileged=is_privileged) or _why_not_loaded(runner)
    return Classifier(program=None if why_not else digest, why_not=why_not or "")


def _why_not_loaded(runner: Runner) -> str | None:
    try:
        runner.run(LOADER, stdin="try\n")
    except CommandError as error:
        answer = error.answer.partition(" Command failed")[0]
        remedies = [remedy for words, remedy in _REMEDIES.items() if words in answer]
        return "; ".join([answer, *remedies])
    return None
