"""The runner channel: one WebSocket instead of polling, over the same queue (seed 001, channel-protocol).

frames      PURE what is said both ways
adapters    PURE how a run's output becomes a verdict
packages    PURE a problem's package as an OCI image
line        the modes of one connection
ear, mouth  what it waits for, and what is said on it
desk        what a connection asks of the database, in pool threads
resuming    a run that goes on over another connection
releases    the program a machine is offered instead of its own
door        who may connect, and the ASGI application
documents   what a job is told with
outputs     what runs left behind, in the file storage
tokens      who may pull a package
oci, jobs   the addresses under /v2/ and /v0/projects/
"""
