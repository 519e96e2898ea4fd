"""Functions over many keys at once: one call of Python for a batch of Arrow, not for each key."""
