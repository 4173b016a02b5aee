"""The attacks on the claims of this toolkit and of its sources, one module for each area.

To register one, decorate a function that yields cases with ``@attack("name-of-the-claim")`` in a module of
this package: it is found by itself, `discreet audit` runs it, and the tests compare what it finds with
the status of the claim (*proved*: consistent; *refuted*: violated). Refuted claims are the bug zoo.
"""
