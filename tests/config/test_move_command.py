"""A wrong command that moves workloads is refused with the name of its setting."""

from __future__ import annotations

import pytest

from config.env import SettingError
from config.move_command import move_command


def test_words_of_the_setting_are_the_template() -> None:
    words = move_command('["virsh", "migrate", "{workload}", "qemu+ssh://{target}/system"]')

    assert words == ("virsh", "migrate", "{workload}", "qemu+ssh://{target}/system")
    assert move_command("") == ()


def test_wrong_setting_is_refused_by_name() -> None:
    with pytest.raises(SettingError, match="SLUICE_MOVE_COMMAND: it is no JSON list"):
        move_command("virsh migrate {workload} {target}")
