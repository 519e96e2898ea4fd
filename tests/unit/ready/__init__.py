"""Ready-made functions, without a JVM."""
