"""The only merge there is: the job's configuration over the package's own (runner-agent §2, seed 000)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

IGNORED = "type"
"""Says which format the document is in; an overlay cannot change that."""


def overlay(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` laid on `base`: objects merge, arrays of objects with a `group` merge by it, all else replaces."""
    return _merge_objects(base, {name: value for name, value in over.items() if name != IGNORED})


def _merge(base: Any, over: Any) -> Any:
    if isinstance(base, Mapping) and isinstance(over, Mapping):
        return _merge_objects(base, over)
    if _is_grouped(base) and _is_grouped(over):
        return _merge_groups(base, over)
    return over


def _merge_objects(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    return {**base, **{name: _merge(base[name], value) if name in base else value for name, value in over.items()}}


def _is_grouped(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) and "group" in item for item in value)


def _merge_groups(base: list[Any], over: list[Any]) -> list[Any]:
    """Known groups keep their place; new ones follow, for validation to refuse if they have no tests."""
    merged = {str(item["group"]): item for item in base}
    for item in over:
        known = merged.get(str(item["group"]))
        merged[str(item["group"])] = _merge_objects(known, item) if known is not None else item
    return list(merged.values())
