"""PURE: a problem's package as an OCI image of one layer (channel-protocol §5). The same package makes the same digest."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar"
ARTIFACT_TYPE = "application/vnd.assize.package.v1+zip"
CONFIG = b"{}"


@dataclass(frozen=True, slots=True)
class Package:
    """The content of a package by its hash; size in bytes."""

    sha256: str
    size_bytes: int


def digest_of(content: bytes) -> str:
    """What content is called by."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def manifest(package: Package | None) -> bytes:
    """The image manifest; a problem without a package has one without layers."""
    config = {"mediaType": CONFIG_TYPE, "digest": digest_of(CONFIG), "size": len(CONFIG)}
    document = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "artifactType": ARTIFACT_TYPE,
        "config": config,
        "layers": [_layer(package)] if package else [],
    }
    return json.dumps(document, separators=(",", ":")).encode()


def _layer(package: Package) -> dict[str, object]:
    return {
        "mediaType": LAYER_TYPE,
        "digest": f"sha256:{package.sha256}",
        "size": package.size_bytes,
        "annotations": {"org.opencontainers.image.title": "package.zip"},
    }
