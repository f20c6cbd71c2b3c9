"""Django's PostgreSQL, with a pool that asks the socket and not the server whether a connection still lives."""
