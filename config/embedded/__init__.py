"""A private PostgreSQL for trying out, developing and testing: never for production.

Whoever needs it calls `ensure`; the server runs while at least one process holds it and stops with the last one,
however that one ends. It listens on a socket in a private directory and on no network port.
"""

from config.embedded.account import Impossible
from config.embedded.holding import destroy, ensure, export, release, running

__all__ = ["Impossible", "destroy", "ensure", "export", "release", "running"]
