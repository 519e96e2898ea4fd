"""Values of all types, as Spark, Python and files have them."""
