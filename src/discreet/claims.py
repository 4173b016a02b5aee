"""The former home of `discreet.guarantees`; its names work here for one more version."""

from discreet.deprecation import former_names

_NAMES = ("ANY_UNIT", "Claim", "Status", "all_claims", "claim")

__getattr__ = former_names(
    "discreet.claims", {name: f"discreet.guarantees.{name}" for name in _NAMES}
)
