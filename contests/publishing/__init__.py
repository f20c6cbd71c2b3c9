"""Final results: what an operator publishes of an activity, once nothing is open and an audit has seen the last judgement.

results    what counts of every submission, as a document
gone       what attempts ended as whose rows were removed with time
publish    whether it may be published, and the act itself
reading    what was published: who may read it, and whether it still is what counts
"""

from contests.publishing.publish import Readiness, publish, readiness
from contests.publishing.reading import newest, published_in, superseded

__all__ = ["Readiness", "newest", "publish", "published_in", "readiness", "superseded"]
