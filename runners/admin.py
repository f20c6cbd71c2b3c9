"""Pools, as operators speak of them. The pages about runners call the queue, so they are judging's."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from runners.models import Pool


@admin.register(Pool)
class PoolPages(ModelAdmin):
    """Every pool that a runner, a round or an activity has named."""

    list_display: Any = ["name", "description"]
    search_fields = ("name", "description")
    actions: Any = None
    when_empty = "A pool is made when a runner, a round or an activity first names it."

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """The name is what work and runners carry: changing it here would change it nowhere else."""
        return ["name"] if obj else []
