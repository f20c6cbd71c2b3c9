"""The one clock, in the ORM's words."""

from __future__ import annotations

from django.db.models import DateTimeField, Func


class Clock(Func):
    """The database's clock at this statement: the one the tests can move."""

    function = "judge_now"
    template = "judge_now()"
    output_field = DateTimeField()
