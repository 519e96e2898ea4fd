"""The stores of a checkpoint: which files hold a version, and the records in them."""
