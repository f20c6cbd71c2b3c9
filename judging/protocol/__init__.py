"""The runners' door: REST under /api/v1, as seed 000 and runner-protocol.md have it.

urls             every address, one line each
identity         register, challenge, token: how a machine becomes a runner
jobs             claim, lease, progress, release, report: the life of a delivery
batches          many leases or releases in one call
files            upload, download, attach
presence         heartbeat, health, and the trials there are not yet
surface          what all of them share: who calls, maintenance, the body
authentication   whose token this is
direct           their way in, past the middleware of people
reading          PURE what a JSON body says
ranges           PURE which part of a file is asked for
documents        what is answered
problem_details  how a refusal is told
serializers      the same documents once more, declared for the schema
schema           the OpenAPI description
"""
