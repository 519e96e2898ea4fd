"""What runs come to: a report in JSON, figures, a page and a picture."""
