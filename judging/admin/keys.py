"""What operators say of a runner's key: it may judge, in these pools, over the channel, never again."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from unfold.enums import ActionVariant

from judging import queue
from judging.admin.actions import Said, Secret, act, actor
from judging.admin.fleet import Approval, ChannelKeying, ChannelNewcomer, Forgetting, Retagging, Revocation
from judging.admin.pages import Watched
from judging.admin.ticked import bulk_act
from judging.text import many
from runners.models import Runner, RunnerState


def is_pending(row: Runner) -> bool:
    """Whether nobody has said anything of it yet."""
    return row.state == RunnerState.PENDING


def _approved(row: Runner) -> bool:
    return row.state == RunnerState.APPROVED


def _live(row: Runner) -> bool:
    return row.state != RunnerState.REVOKED


def _revoked(row: Runner) -> bool:
    return row.state == RunnerState.REVOKED


class Keys(Watched):
    """The part of the runners' pages that acts."""

    actions: Any = ["approve_many", "retag_many"]
    actions_list: Any = ["add_for_channel"]
    actions_detail: Any = ["approve", "retag", "channel_key", "revoke", "forget"]

    @act(
        "Approve",
        permission="runners.approve_runner",
        text="From now on this key may be given submissions to judge. Compare its fingerprint with the one the machine shows.",
        submit="Approve this key",
        form=Approval,
        icon="check",
        variant=ActionVariant.PRIMARY,
        fits=is_pending,
    )
    def approve(self, request: HttpRequest, row: Runner, said: Said) -> str:
        """Let a pending key judge."""
        queue.approve(row.id)
        return f"{row.name} may judge now."

    @bulk_act(
        "Approve the selected runners",
        permission="runners.approve_runner",
        text="From now on these keys may be given submissions to judge. Compare each fingerprint with the one its machine shows.",
        submit="Approve these keys",
        form=Approval,
        variant=ActionVariant.PRIMARY,
    )
    def approve_many(self, request: HttpRequest, row: Runner, said: Said) -> str:
        """Let each chosen key judge that is pending."""
        queue.approve(row.id)
        return "may judge now."

    @act(
        "Change pools",
        permission="runners.retag_runner",
        text="The runner serves these pools from its next look at the queue on. What it holds goes on.",
        submit="Change its pools",
        form=Retagging,
        icon="sell",
        fits=_live,
    )
    def retag(self, request: HttpRequest, row: Runner, said: Said) -> str:
        """Give a runner other pools."""
        kept = queue.retag(row.id, tags=said["tags"])
        return f"{row.name} serves {', '.join(kept) or 'default'} now."

    @bulk_act(
        "Change pools of the selected runners",
        permission="runners.retag_runner",
        text="They all serve exactly these pools from their next look at the queue on. What they hold goes on.",
        submit="Change their pools",
        form=Retagging,
    )
    def retag_many(self, request: HttpRequest, row: Runner, said: Said) -> str:
        """Give each chosen runner other pools."""
        kept = queue.retag(row.id, tags=said["tags"])
        return f"serves {', '.join(kept) or 'default'} now."

    @act(
        "Channel key",
        permission="runners.key_runner",
        text="A key for the runner channel, one WebSocket instead of polling. It is shown once; put it into the machine's settings.",
        submit="Make a key",
        form=ChannelKeying,
        icon="vpn_key",
        fits=_approved,
    )
    def channel_key(self, request: HttpRequest, row: Runner, said: Said) -> Secret:
        """Give a runner a key for the channel."""
        return Secret("A new channel key was made.", queue.replace_channel_key(row.id, by=actor(request)))

    @act(
        "Add a runner for the channel",
        permission="runners.key_runner",
        text="For clients that know only the channel and never register. It may judge at once; its key is shown this once.",
        submit="Add it and make its key",
        form=ChannelNewcomer,
        icon="add_link",
        then="changelist",
    )
    def add_for_channel(self, request: HttpRequest, row: None, said: Said) -> Secret:
        """Make an approved runner with a key for the channel."""
        runner, key = queue.add_channel_runner(said["name"], problem_types=said["problem_types"], tags=said["tags"])
        self.log_addition(request, Runner.objects.get(id=runner), f"Added for the channel. {said['reason']}")
        return Secret(f"{said['name']} may judge over the channel now.", key)

    @act(
        "Revoke",
        permission="runners.revoke_runner",
        text="The key never judges again: this cannot be taken back. Its machine can only come back with a new key.",
        submit="Revoke this key",
        form=Revocation,
        icon="key_off",
        variant=ActionVariant.DANGER,
        fits=_live,
    )
    def revoke(self, request: HttpRequest, row: Runner, said: Said) -> str:
        """End a key for ever."""
        back = queue.revoke(row.id, by=actor(request), reason=said["reason"])
        return f"{row.name} was revoked; {many(len(back), 'job')} went back to the queue."

    @act(
        "Forget",
        permission="runners.delete_runner",
        text="The revoked key's row is removed. What it judged keeps its id; if the key comes again it starts as pending.",
        submit="Forget it",
        form=Forgetting,
        icon="delete",
        variant=ActionVariant.DANGER,
        fits=_revoked,
        then="changelist",
    )
    def forget(self, request: HttpRequest, row: Runner, said: Said) -> str:
        """Remove a revoked key's row."""
        queue.forget(row.id)
        return f"{row.name} was forgotten."
