"""Nexmark for PySpark Structured Streaming, on state stores side by side.

`events` makes the input, `queries` asks, `answers` says what is right, `runs` measures and
`results` tells it. `python -m bucketstate_nexmark` is all of them, one after the other.
"""
