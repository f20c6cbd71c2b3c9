"""The site as an ASGI application: the front that parks waits, around Django's WSGI handler."""

import os

from django.core.wsgi import get_wsgi_application

from config.front import Front

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = Front(get_wsgi_application())
