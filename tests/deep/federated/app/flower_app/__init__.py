"""A federation of three nodes, for the tests."""
