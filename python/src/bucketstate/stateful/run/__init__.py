"""A stateful function in a query: what Spark hands in, and what goes back."""
