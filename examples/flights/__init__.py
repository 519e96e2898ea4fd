"""A year of real flights out of New York, streamed through two stateful queries on bucketstate.

Reading order: `data` makes the input, `hourly` and `rotations` are the queries of the first demo,
`aircraft` and `airports` those of the second (each with the same figures as one batch query),
`stream` runs them, `check` compares, `answers` shows what they found, `state_table` and `picture`
what the state store did (out of `runs`, which Spark reported), `ways` what a function takes with
many keys in a call, `demos` says what goes together.
"""
