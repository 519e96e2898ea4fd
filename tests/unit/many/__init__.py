"""Functions over many keys at once, without a JVM."""
