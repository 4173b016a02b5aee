"""Federated and local learning: data stays where it is, and a ledger is charged before anybody is asked."""
