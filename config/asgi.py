"""The site as an ASGI application: the front that parks waits, around Django's WSGI handler."""

from config.front import Front
from config.wsgi import application as site

application = Front(site)
