"""A year of real flights out of New York, streamed through two stateful queries on bucketstate.

Reading order: `data` makes the input, `hourly` and `rotations` are the queries of the first demo,
`aircraft` and `airports` those of the second (each with the same figures as one batch query),
`stream` runs them, `check` compares, `report` and `picture` show, `demos` says what goes together.
"""
