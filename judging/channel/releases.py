"""Which release of its program a machine is offered."""

from __future__ import annotations

from django.conf import settings

from judging.channel import frames

STABLE = "stable"


def offer(machine: frames.Machine | None) -> frames.Update | None:
    """The release this machine should run instead of its own, if one is configured (channel-protocol §6)."""
    if machine is None or machine.os != "linux" or (machine.channel or STABLE) != STABLE:
        return None
    release = settings.RUNNER_RELEASES.get(machine.arch)
    if release is None or release["version"] == machine.version:
        return None
    return frames.Update(**release)
