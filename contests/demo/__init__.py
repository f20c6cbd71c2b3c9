"""A contest to try everything out with: its problems, its people, and the play that `manage.py demo` gives of it.

seed        the contest as existing clients expect it, in the database
packages    the problems' packages, made from `problems/`
solutions   what is sent in, and the verdict each deserves
processes   the programs of the play: a server and runners
caller      the people of the play, through the API
play        what happens: sending in, pulling a plug, watching
board       how it looks
"""
