"""Claims about the source of noise."""

from discreet.guarantees.base import ANY_UNIT, NOISED, Claim

CODE = (
    "discreet.noise.*",
    "!discreet.noise.bingham",
)
RESTS_ON = (*NOISED, "ledger")


CLAIMS = (
    Claim(
        name="noise-never-comes-twice",
        statement="Every draw is fresh: in each call, in each thread, and in a forked process; the stream "
        "can't be copied or pickled.",
        unit=ANY_UNIT,
        measure="independence of draws",
        status="proved",
        source="this project",
        proof="noise.md",
        functions=(
            "discreet.noise.entropy.Stream",
            "discreet.noise.entropy.current",
        ),
    ),
)
