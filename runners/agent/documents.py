"""YAML from strangers: bounded, without surprises."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from runners.agent.errors import Invalid

MAX_BYTES = 1 << 20
UNREADABLE = (yaml.YAMLError, RecursionError, ValueError, LookupError, ArithmeticError, TypeError, AttributeError)
"""What PyYAML raises for a document; for a tag whose text it does not fit (`!!bool x`, `!!int ''`), whatever its own code falls over."""


class _PlainLoader(yaml.SafeLoader):
    """YAML without aliases, whose expansion has no bound, and without silently lost duplicate keys."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.YAMLError("aliases are not allowed")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT001, FBT002 - the library's own signature
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        met = Counter(key.value for key, _ in pairs if isinstance(key, yaml.ScalarNode))
        if (twice := next((key for key, times in met.items() if times > 1), None)) is not None:
            raise yaml.YAMLError(f"the key {twice!r} occurs twice")
        return super().construct_mapping(node, deep=deep)


def parse_yaml(raw: bytes, name: str) -> Any:
    """The document in the file called `name`. Raises Invalid when it is not YAML."""
    if len(raw) > MAX_BYTES:
        raise Invalid("package", [f"{name}: larger than {MAX_BYTES} bytes"])
    try:
        return yaml.load(raw.decode("utf-8-sig"), Loader=_PlainLoader)
    except UNREADABLE as error:
        raise Invalid("package", [f"{name}: not readable YAML: {' '.join(str(error).split())[:500]}"]) from error


def at_line(name: str, path: Path, key: object) -> str:
    """The file's name with the line on which a top-level key of it stands, where that can be told."""
    try:
        top: Any = yaml.compose(path.read_bytes().decode("utf-8-sig"), Loader=_PlainLoader)
        lines = [node.start_mark.line + 1 for node, _ in top.value if node.value == str(key)]
    except (*UNREADABLE, OSError):
        return name
    return f"{name}:{lines[0]}" if lines else name
