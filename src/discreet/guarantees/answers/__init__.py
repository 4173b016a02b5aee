"""Several answers from one budget."""
