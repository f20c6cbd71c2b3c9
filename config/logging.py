"""How the site logs: structlog over the standard library's logging, one line an event on standard error."""

from collections.abc import Mapping
from typing import Any

import structlog

# In this order: what was bound to the request, then when and how grave.
ENRICH: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
]


def configure(*, level: str, machine_readable: bool) -> Mapping[str, Any]:
    """Set structlog up and return Django's LOGGING: JSON for collectors, or aligned text for people."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *ENRICH,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": _formatter(machine_readable=machine_readable)},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Django's own handlers would print everything a second time.
            "django": {"handlers": [], "propagate": True, "level": level},
            "django.server": {"handlers": [], "propagate": True, "level": level},
            # A waiting runner's 4xx is its own business, already logged with its code.
            "django.request": {"level": "ERROR"},
        },
    }


def _formatter(*, machine_readable: bool) -> Mapping[str, Any]:
    renderers: list[Any]
    if machine_readable:
        renderers = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:
        # Plain tracebacks: the renderer's own would print the locals too, bearer tokens among them.
        renderers = [structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)]
    return {
        "()": structlog.stdlib.ProcessorFormatter,
        "foreign_pre_chain": [*ENRICH, structlog.stdlib.ExtraAdder()],
        "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
    }
