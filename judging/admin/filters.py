"""Filters by a row of another table, where the name of what is chosen is shown to those alone who may see that row."""

from __future__ import annotations

from typing import Any

from unfold.contrib.filters.admin import AutocompleteSelectFilter
from unfold.contrib.filters.forms import AutocompleteDropdownForm


class SeenForm(AutocompleteDropdownForm):
    """Unfold's, whose list of rows is every row: an id in the address would be answered with its name."""

    def __init__(self, *, request: Any, name: str, field: Any, model_admin: Any, **more: Any) -> None:
        super().__init__(request=request, name=name, field=field, model_admin=model_admin, **more)
        page = model_admin.admin_site._registry.get(field.remote_field.model)
        if page is not None:
            chosen: Any = self.fields[name]
            chosen.queryset = page.get_queryset(request)


class SeenSelectFilter(AutocompleteSelectFilter):
    """One row, chosen by a search among those that this account may see."""

    form_class = SeenForm
