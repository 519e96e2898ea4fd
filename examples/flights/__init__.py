"""A year of real flights out of New York, streamed through two stateful queries on bucketstate.

Reading order: `data` makes the input, `hourly` and `rotations` are the queries (each with the same
figures as one batch query), `stream` runs them, `check` compares, `report` and `picture` show.
"""
