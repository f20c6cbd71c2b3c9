"""Whose work an operator's account may see: of one organization, where it belongs to one, else of all.

A superuser is limited by nothing. What all organizations share (machines, pools, the ledger, accounts, switches) is
closed to a limited account, since each of these tells of the others.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from contests.models import Operator


def organization_of(user: Any) -> UUID | None:
    """The only organization this account may see as an operator; None when it may see every one, or is no operator."""
    if not user.is_authenticated or user.is_superuser or not user.is_staff:
        return None
    return Operator.objects.filter(user=user.pk).values_list("organization", flat=True).first()
