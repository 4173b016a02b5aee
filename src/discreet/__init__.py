"""Differential privacy in which every guarantee can be checked.

>>> import discreet as dp
>>> schema = dp.Schema(age=dp.Real(17, 90), sex=dp.Categorical("F", "M"))
>>> ledger = dp.Ledger(limit=dp.PureDP(1))
>>> data = dp.PrivateDataset({"age": [34.0, 51.0], "sex": ["F", "M"]}, schema, ledger=ledger)
>>> answer = data.release(dp.Mean("age"), dp.PureDP(0.5))
"""

from importlib import import_module

__version__ = "0.1.0"


def _read_surface() -> dict[str, str]:
    """The public names and the modules they are imported from, as ``__init__.pyi`` lists them."""
    with open(f"{__file__.removesuffix('.py')}.pyi", encoding="utf-8") as stub:
        lines = [line.split() for line in stub]
    return {line[3]: line[1] for line in lines if line[:1] == ["from"]}


_SURFACE = _read_surface()

__all__ = sorted(_SURFACE)


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that programs start quickly."""
    if name not in _SURFACE:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}{_hint(name)}")
    home = _SURFACE[name]
    value = import_module(f"discreet.{name}" if home == "discreet" else home)
    globals()[name] = value if home == "discreet" else getattr(value, name)
    return globals()[name]


def _hint(name: str) -> str:
    """What somebody who misspelt a public name probably meant."""
    from difflib import get_close_matches

    alike = get_close_matches(name, _SURFACE, n=1, cutoff=0.7)
    return f". Did you mean dp.{alike[0]}?" if alike else ""


def __dir__() -> list[str]:
    return sorted({*globals(), *_SURFACE})
