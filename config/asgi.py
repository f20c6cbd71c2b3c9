"""The site as an ASGI application: the front that parks waits, around Django's WSGI handler and beside the channel."""

from config.front import Front, refuse
from config.wsgi import application as site
from judging.channel.door import Channel

application = Front(site, websocket=Channel(refuse))
