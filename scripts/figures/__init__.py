"""What `make bench` found, kept as numbers, and the tables of the pages that are made of them."""
