"""Django's settings. Every knob is read from the environment here, once, beside its reason.

A *development* machine is one that says so (ASSIZE_DEBUG, ASSIZE_DEMO, a test run) or runs on the embedded database;
everything else is production, where nothing is guessed and everything is locked.
"""

import contextlib
import json
import os
import secrets
from dataclasses import fields
from datetime import timedelta
from typing import Any, cast

from django.core.exceptions import ImproperlyConfigured
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from config import launch, logging, look
from judging.rules import Limits

BASE_DIR = launch.PROJECT


def _flag(name: str, *, default: bool = False) -> bool:
    text = os.environ.get(name, "").strip().lower()
    if text in {"1", "true", "yes", "on"}:
        return True
    if text in {"0", "false", "no", "off"}:
        return False
    # A mistyped "on" of a lock must not leave it open.
    if text:
        raise ImproperlyConfigured(f"{name} must be 1, true, yes or on, or 0, false, no or off; not {text!r}.")
    return default


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, str(default))
    if not text.isdecimal():
        raise ImproperlyConfigured(f"{name} must be a whole number, not {text!r}.")
    return int(text)


def _words(name: str, default: str = "") -> list[str]:
    return [word.strip() for word in os.environ.get(name, default).split(",") if word.strip()]


# ASSIZE_DATA: database, files and the development secret; move it when the project's folder is read-only or on NFS.
DATA_DIR = launch.data_folder()

# ASSIZE_DEMO: the try-out with its published passwords and a banner on every page. ASSIZE_DEBUG: pages with tracebacks.
# ASSIZE_TESTING is set by tests/conftest.py alone.
DEMO = _flag("ASSIZE_DEMO")
TESTING = _flag("ASSIZE_TESTING")
DEBUG = (DEMO or _flag("ASSIZE_DEBUG")) and not TESTING

# DATABASE_URL: a real server, as libpq reads it. Without one manage.py runs the embedded server and says so here.
DATABASE_URL = os.environ.get("DATABASE_URL", "")
EMBEDDED = not DATABASE_URL or _flag("ASSIZE_EMBEDDED")
PRODUCTION = not (DEBUG or TESTING or EMBEDDED)


def _development_secret() -> str:
    """The key of this machine, made at its first start: sessions outlive restarts and no key is ever published."""
    file = DATA_DIR / "secret"
    try:
        return file.read_text()
    except FileNotFoundError:
        DATA_DIR.mkdir(parents=True, exist_ok=True)
    draft = DATA_DIR / f"secret-{os.getpid()}"
    draft.touch(mode=0o600)
    draft.write_text(secrets.token_urlsafe(50))
    with contextlib.suppress(FileExistsError):
        os.link(draft, file)  # unlike a rename it loses to whoever was first, so that all processes agree
    draft.unlink()
    return file.read_text()


# ASSIZE_SECRET_KEY signs sessions. Every web process needs the same one, so production must be given it.
SECRET_KEY = os.environ.get("ASSIZE_SECRET_KEY", "")
if not SECRET_KEY and PRODUCTION:
    raise ImproperlyConfigured("Set ASSIZE_SECRET_KEY to at least 50 random characters.")
SECRET_KEY = SECRET_KEY or _development_secret()

# ASSIZE_HOSTS: the names this site is reached by, comma-separated.
ALLOWED_HOSTS = _words("ASSIZE_HOSTS", "" if PRODUCTION else "*")
if not ALLOWED_HOSTS:
    raise ImproperlyConfigured("Set ASSIZE_HOSTS to the names this site is reached by, separated by commas.")

# The apps, from the admin's look (which must precede the admin) to ours.
INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",
    "unfold.contrib.filters",
    "unfold.contrib.forms",
    "config.operators.OperatorsConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
    "axes",
    "django_structlog",
    # The first to have a command gives it: contests' audit and prune know more than the queue's.
    "contests",
    "judging",
    "runners",
]

MIDDLEWARE = [
    # Runners go past all the rest, which is for people.
    "judging.protocol.direct.Direct",
    # What the others say of an error under /api/v1 is a problem document too.
    "judging.protocol.problem_details.ProblemDetails",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django_structlog.middlewares.RequestMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_otp.middleware.OTPMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "config.operators.MessagesForPages",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "config.operators.ContentSecurity",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# A slash more or less must never redirect: the runner protocol forbids redirects.
APPEND_SLASH = False

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"


def _pool() -> dict[str, Any] | bool:
    """ASSIZE_DB_POOL_MIN and ASSIZE_DB_POOL_MAX, connections a process; a MAX of 0 turns the pool off.

    All processes together must stay below the server's max_connections. Tests have none: each of their threads owns
    its connection, and the test database could not be dropped under a pool.
    """
    most = _number("ASSIZE_DB_POOL_MAX", 0 if TESTING else 16)
    if most == 0:
        return False
    least = min(_number("ASSIZE_DB_POOL_MIN", 2), most)
    # ASSIZE_DB_POOL_WAIT: seconds a request may wait for a connection before it fails.
    wait = _number("ASSIZE_DB_POOL_WAIT", 10)
    # Each failed connection doubles the pool's pause before the next: after a long outage it would be away for as long
    # again. One that gave up begins anew with the next request.
    return {"min_size": least, "max_size": most, "num_workers": 1, "timeout": wait, "reconnect_timeout": 2}


def _bounds() -> str:
    """How long a call may wait before it answers 503 rather than hang (queue.md §3), in milliseconds.

    ASSIZE_DB_LOCK_MS for a row's lock, ASSIZE_DB_STATEMENT_MS for a statement (0: no bound, as a long migration may
    need), ASSIZE_DB_IDLE_MS for a transaction that a stalled process left open. A pooler in transaction mode takes no
    session options: there they belong on the role (ALTER ROLE … SET).

    The level of isolation is no bound, but what every verb takes for granted: what is read after a lock is no older than it.
    A database that was given another default would refuse whoever waited for a lock.
    """
    if _flag("ASSIZE_DB_POOLER"):
        return ""
    bounds = {
        "lock_timeout": _number("ASSIZE_DB_LOCK_MS", 5_000),
        "statement_timeout": _number("ASSIZE_DB_STATEMENT_MS", 30_000),
        "idle_in_transaction_session_timeout": _number("ASSIZE_DB_IDLE_MS", 30_000),
    }
    level = r"-c default_transaction_isolation=read\ committed"
    return " ".join([*(f"-c {name}={value}" for name, value in bounds.items()), level])


def _database(url: str) -> dict[str, Any]:
    """Django's description of a libpq URL; members Django does not know go to libpq as they are. Raises ImproperlyConfigured."""
    try:
        given = {name: value for name, value in conninfo_to_dict(url).items() if value is not None}
    except ProgrammingError as error:
        raise ImproperlyConfigured(f"DATABASE_URL is no address of a PostgreSQL database: {str(error).strip()}.") from None
    return {
        "ENGINE": "config.postgresql",
        "NAME": given.pop("dbname", "assize"),
        "USER": given.pop("user", ""),
        "PASSWORD": given.pop("password", ""),
        "HOST": given.pop("host", ""),
        "PORT": str(given.pop("port", "")),
        # The pool keeps connections; a second life in Django's threads would hold them back from it.
        "CONN_MAX_AGE": 0,
        # The engine tests a connection before it is lent, and without a round trip: PostgreSQL may have restarted.
        "CONN_HEALTH_CHECKS": False,
        # ASSIZE_DB_POOLER: a pooler in transaction mode stands between, where a server-side cursor loses its session.
        "DISABLE_SERVER_SIDE_CURSORS": _flag("ASSIZE_DB_POOLER"),
        "OPTIONS": {
            "pool": _pool(),
            "application_name": "assize",
            # What every call of a runner asks is parsed once a connection (runners.prepared); any number allows it, 5 is
            # psycopg's own. A pooler in transaction mode lends another server connection each time, which knows nothing of it.
            "prepare_threshold": None if _flag("ASSIZE_DB_POOLER") else 5,
            "options": " ".join([_bounds(), str(given.pop("options", ""))]).strip(),
            **given,
        },
        # ASSIZE_TEST_DATABASE is chosen by tests/conftest.py, so that runs side by side do not share one.
        "TEST": {"NAME": os.environ.get("ASSIZE_TEST_DATABASE")},
    }


# Without an address (a command that needs no database) the name of the missing variable is what an error will show.
DATABASES = {"default": _database(DATABASE_URL or "host=/DATABASE_URL-is-not-set dbname=assize")}

# DATABASE_LISTEN_URL: the server itself, for LISTEN, when DATABASE_URL leads to a pooler in transaction mode.
DATABASE_LISTEN_URL = os.environ.get("DATABASE_LISTEN_URL", "")

AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
# Hashing for real makes every test with a login slow and proves nothing about ours.
if TESTING:
    PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# ASSIZE_OPERATOR_2FA: operators must show a second factor. Off where the password is published anyway.
OPERATOR_2FA = _flag("ASSIZE_OPERATOR_2FA", default=PRODUCTION)
OTP_TOTP_ISSUER = "Assize"
# ASSIZE_OPERATOR_SESSION_HOURS: how long an operator stays logged in. A shift, not a fortnight.
OPERATOR_SESSION = timedelta(hours=_number("ASSIZE_OPERATOR_SESSION_HOURS", 12))

# ASSIZE_PUBLISH_PROVED: final results are published only when an audit that was equal has seen the last judgement.
PUBLISH_PROVED = _flag("ASSIZE_PUBLISH_PROVED", default=True)

# ASSIZE_PROXIES: how many reverse proxies stand in front. Their X-Forwarded-* headers are believed; with 0, nobody's.
PROXIES = _number("ASSIZE_PROXIES", 0)
if PROXIES:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# Login lockout. Tests log in without a request, which axes refuses.
AXES_ENABLED = not TESTING
AXES_VERBOSE = False
# By name and address together: a whole contest sits behind one address, and one rival must not lock out another.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_ON_SUCCESS = True
# A row a login would be written by every participant at the start of a contest.
AXES_DISABLE_ACCESS_LOG = True
AXES_IPWARE_PROXY_COUNT = PROXIES or None
AXES_IPWARE_META_PRECEDENCE_ORDER = ("HTTP_X_FORWARDED_FOR", "REMOTE_ADDR") if PROXIES else ("REMOTE_ADDR",)

SESSION_COOKIE_SECURE = PRODUCTION
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SECURE = PRODUCTION
CSRF_COOKIE_SAMESITE = "Lax"
# ASSIZE_ORIGINS: where forms may come from when a proxy hides the real scheme or port, such as https://judge.example.
CSRF_TRUSTED_ORIGINS = _words("ASSIZE_ORIGINS")
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
# ASSIZE_SSL_REDIRECT: pages go to https; programs are never redirected (runner-protocol §1), a proxy refuses them http.
SECURE_SSL_REDIRECT = _flag("ASSIZE_SSL_REDIRECT", default=PRODUCTION)
SECURE_REDIRECT_EXEMPT = [r"^api/", r"^v0/", r"^v2/"]
# ASSIZE_HSTS_SECONDS: how long a browser insists on https. 0 while trying out, since it cannot be taken back.
SECURE_HSTS_SECONDS = _number("ASSIZE_HSTS_SECONDS", 31_536_000 if PRODUCTION else 0)
# Whether the domain's other hosts speak https too is their owner's to say, not this site's.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]

STATIC_URL = "static/"
# Names by content need a collectstatic, which only an installation does; elsewhere files are served from where they lie.
STATIC_ROOT = BASE_DIR / "staticfiles" if PRODUCTION else None
_static = "whitenoise.storage.CompressedManifestStaticFilesStorage" if PRODUCTION else ""
STORAGES: dict[str, Any] = {
    "default": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": DATA_DIR / "files"},
    },
    "staticfiles": {"BACKEND": _static or "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = not PRODUCTION
WHITENOISE_AUTOREFRESH = not PRODUCTION

_handshakes = None if TESTING else f"{_number('ASSIZE_HANDSHAKES_A_MINUTE', 600)}/min"
# Closed unless a view opens itself; the runner surface and the human one each name their own authentication.
REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "judging.protocol.problem_details.answer",
    # ASSIZE_HANDSHAKES_A_MINUTE: calls of each kind from one address. A hall of runners that come back together after
    # a power cut may share one; what this stops is a loop.
    "DEFAULT_THROTTLE_RATES": dict.fromkeys(("register", "challenge", "token"), _handshakes),
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
    # Throttles count by the client's address: as many hops back as there are proxies, else the connection's own.
    "NUM_PROXIES": PROXIES,
}
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "Assize",
    "VERSION": "1",
    "DESCRIPTION": "What runners and other programs say to Assize. Every error is a problem document (RFC 9457) with a stable `code`.",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    # From the sidecar, not from a CDN: contest halls have no internet.
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
}

UNFOLD: dict[str, Any] = look.UNFOLD

# ASSIZE_LOG_LEVEL: a level's name.
LOGGING_CONFIG = "logging.config.dictConfig"
LOGGING = logging.configure(
    level=os.environ.get("ASSIZE_LOG_LEVEL", "INFO" if PRODUCTION or DEMO else "WARNING"),
    machine_readable=PRODUCTION,
)
# A request that went well is no news: runners ask thousands of times a minute.
DJANGO_STRUCTLOG_STATUS_START_LOG_LEVEL = 10
DJANGO_STRUCTLOG_STATUS_2XX_LOG_LEVEL = 10
DJANGO_STRUCTLOG_STATUS_4XX_LOG_LEVEL = 20
# Reading the user for a log line would cost the session's query.
DJANGO_STRUCTLOG_USER_ID_FIELD = None


# ASSIZE_JSON_BODY_BYTES: the longest JSON body a program may send; a report carries a document of 256 KiB, often escaped.
JSON_BODY_BYTES = _number("ASSIZE_JSON_BODY_BYTES", 4 * 1024 * 1024)


# ASSIZE_TICKER_SECONDS: how often each server process sweeps for lapsed leases; 0 leaves it to cron alone.
TICKER_SECONDS = _number("ASSIZE_TICKER_SECONDS", 5)
# ASSIZE_THREADS_<NAME>: the threads of a server process, each holding at most one connection while it works. Their sum
# is what ASSIZE_DB_POOL_MAX must hold, but for files: those hold none while bytes come and go, and as many machines as
# they are may be slow at that before the others wait.
FRONT_THREADS = {
    name: _number(f"ASSIZE_THREADS_{name.upper()}", default)
    for name, default in {"calls": 7, "again": 3, "files": 10, "pages": 3, "ticks": 1}.items()
}

# ASSIZE_CHANNEL_KEY_PREFIX: what keys of the runner channel begin with. Existing clients insist on this one.
CHANNEL_KEY_PREFIX = os.environ.get("ASSIZE_CHANNEL_KEY_PREFIX", "bencher_runner_")
# ASSIZE_CHANNEL_MAX_BYTES: the longest message there, and so the most output a run can deliver.
CHANNEL_MAX_BYTES = launch.channel_max_bytes()
# ASSIZE_PUBLIC_URL: how runners reach this server, such as https://judge.example; else what their own request says.
PUBLIC_URL = os.environ.get("ASSIZE_PUBLIC_URL", "").rstrip("/")


def _releases() -> dict[str, dict[str, str]]:
    """ASSIZE_RUNNER_RELEASES: the runner program each architecture should run, as JSON; those who run another are offered it.

    {"x86_64": {"version": "1.2.3", "url": "https://…", "checksum": "SHA-256 in hex"}}
    """
    try:
        given = json.loads(os.environ.get("ASSIZE_RUNNER_RELEASES") or "{}")
        return {str(arch): {name: str(release[name]) for name in ("version", "url", "checksum")} for arch, release in given.items()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ImproperlyConfigured(f"ASSIZE_RUNNER_RELEASES cannot be read: {error!r}") from error


RUNNER_RELEASES = _releases()


def _limits() -> Limits:
    """The judging core's numbers (runner-protocol §11), each from ASSIZE_<NAME>, or ASSIZE_<NAME>_SECONDS for a length
    of time: ASSIZE_LEASE_MIN_SECONDS, ASSIZE_UPLOAD_BYTES. The defaults are the published ones; a contest needs none."""
    given: dict[str, Any] = {}
    for field in fields(Limits):
        if isinstance(field.default, timedelta):
            seconds = _number(f"ASSIZE_{field.name.upper()}_SECONDS", int(field.default.total_seconds()))
            given[field.name] = timedelta(seconds=seconds)
        else:
            given[field.name] = _number(f"ASSIZE_{field.name.upper()}", cast("int", field.default))
    return Limits(**given)


LIMITS = _limits()
if not timedelta(seconds=1) <= LIMITS.heartbeat <= timedelta(seconds=900):
    raise ImproperlyConfigured("ASSIZE_HEARTBEAT_SECONDS must be 1 to 900.")
