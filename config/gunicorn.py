"""gunicorn's configuration: `gunicorn -c config/gunicorn.py`. A server of one's own, unlike the demo, needs DATABASE_URL."""

import os

from config import launch

if not os.environ.get("DATABASE_URL"):
    raise SystemExit("A server needs DATABASE_URL. To try Assize out: python3 manage.py demo")

chdir = str(launch.PROJECT)
wsgi_app = "config.asgi:application"
# gunicorn's own asgi worker reports false disconnects and accepts slowly (architecture §3).
worker_class = "uvicorn_worker.UvicornWorker"
# ASSIZE_BIND: address and port, or unix:PATH.
bind = os.environ.get("ASSIZE_BIND", "127.0.0.1:8000")
# ASSIZE_WORKERS: processes. One parks thousands of runners; a second is for surviving the first.
workers = int(os.environ.get("ASSIZE_WORKERS", "2"))
# A whole hall of runners comes back at once after a restart.
backlog = 4096
# Parked waits are answered at once on TERM; the rest of the time belongs to uploads under way.
graceful_timeout = 10
timeout = 60
keepalive = 75
# A control socket is one more door to guard.
control_socket_disable = True
# Every request would be a line: runners ask thousands of times a minute. What matters is logged by the site itself.
accesslog = None
errorlog = "-"
