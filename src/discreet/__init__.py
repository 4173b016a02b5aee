"""Differential privacy in which every guarantee can be checked.

>>> import discreet as dp
>>> schema = dp.Schema(age=dp.Real(17, 90), sex=dp.Categorical("F", "M"))
>>> ledger = dp.Ledger(limit=dp.PureDP(1))
>>> data = dp.PrivateDataset({"age": [34.0, 51.0], "sex": ["F", "M"]}, schema, ledger=ledger)
>>> answer = data.release(dp.Mean("age"), dp.PureDP(0.5))

What an answer would cost and how noisy it would be, before anything is charged:

>>> plan = data.plan(dp.Count(by="sex"), dp.PureDP(0.5))
>>> isinstance(plan, dp.Plan), plan.measure, plan.stderr.round(1)
(True, PureDP(epsilon=0.5), array([2.8, 2.8]))

What comes back is a value with all that may be said about it:

>>> isinstance(answer, dp.Release), answer.measure, 17 <= answer.value <= 90
(True, PureDP(epsilon=0.5), True)

Columns are declared, never looked up in private rows:

>>> dp.Schema(stay=dp.Integer(0, 365), cost=dp.Real(0, 5000), ward=dp.Categorical("A", "B"))["stay"]
Integer(0, 365)

Whom a guarantee protects: a person who is in the data or not, one whose rows are others, nobody:

>>> [str(dp.Unit(relation)) for relation in (dp.ADD_REMOVE, dp.REPLACE_ONE)]
['a person is in the data or not', "a person's data is replaced, the number of rows is public"]
>>> dp.Unit(dp.PUBLIC).is_public
True
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
