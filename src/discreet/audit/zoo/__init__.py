"""The bug zoo: mechanisms that were published or are seen in practice, and that don't keep what they claim.

Each is written here in a small form, so that its attack can run it many thousand times. None of them can
be reached from the toolkit's own door; what each fails at is told in ``docs/proofs/refuted.md`` (those of
the five documents) and ``docs/proofs/bugs.md`` (the others).
"""
