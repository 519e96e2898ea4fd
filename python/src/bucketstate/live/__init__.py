"""State looked up in a query's checkpoint while the query runs, as the newest batch left it."""

from bucketstate.live.answers import Answer, Answers
from bucketstate.live.live import Live

__all__ = ["Answer", "Answers", "Live"]
