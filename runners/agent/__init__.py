"""The reference runner: claims jobs from an Assize server, judges them in a box, reports verdicts.

It is a program of its own. It imports no Django and nothing of the server, so that a judging
machine needs Python, four packages and bubblewrap, and so that the wire protocol stays the only
thing the two share.
"""

PRODUCT = "assize-agent"
VERSION = "0.1.0"
