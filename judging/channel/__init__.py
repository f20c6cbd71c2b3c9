"""The runner channel: one WebSocket instead of polling, over the same queue (seed 001, channel-protocol).

frames      PURE what is said both ways
adapters    PURE how a run's output becomes a verdict
packages    PURE a problem's package as an OCI image
line        the modes of one connection
ear         what it waits for
desk        what a connection asks of the database, in pool threads
door        who may connect, and the ASGI application
documents   what a job is told with
outputs     what runs left behind, in the file storage
tokens      who may pull a package
oci, jobs   the addresses under /v2/ and /v0/projects/
"""
