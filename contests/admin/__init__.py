"""The operators' pages about contests. Importing this registers them, and puts contests' words on judging's pages."""

from contests.admin import activities, assignments, organizations, people, pools, publications, rounds, work

__all__ = ["activities", "assignments", "organizations", "people", "pools", "publications", "rounds", "work"]
