"""How fast Assize is, measured beside its floor in one run: times are the machine's, ratios are ours.

scenarios  what there is to measure, and in which size
measure    figures, spreads, taking turns
tables     figures for people and for programs
scratch    a database of one's own
load       work by the thousand, with its ledger
server     a server process;  site, raw  what it serves;  wire  who calls it
"""
