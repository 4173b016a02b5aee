"""SQL that is run as it stands on PostgreSQL: Ibis writes the codes of rows, and we the sums of them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import narwhals as nw

from discreet.engines.natives import quote


def fetch(frame: nw.LazyFrame[Any]) -> dict[str, list[Any]]:
    """The columns of a frame."""
    return _run(*_compile(frame))


def sum_products(
    frame: nw.LazyFrame[Any], keys: list[str], products: dict[str, list[str]]
) -> dict[str, list[Any]]:
    """The number of rows ``s`` and the sums of products of columns, for each combination of keys."""
    wanted = [quote(key) for key in keys]
    backend, inner = _compile(frame)
    text = f"SELECT {', '.join([*wanted, *_sums(products)])} FROM ({inner}) AS q"
    return _run(backend, f"{text} GROUP BY {', '.join(wanted)}" if wanted else text)


def sum_products_of_each(
    frame: nw.LazyFrame[Any], keys: list[str], products: dict[str, list[str]]
) -> dict[str, list[Any]]:
    """As `sum_products` by each key alone, in one reading: ``query`` names the key, ``group`` its value."""
    backend, inner = _compile(frame)
    pairs = ", ".join(f"('{key}', CAST(q.{quote(key)} AS BIGINT))" for key in keys)
    text = f'SELECT "query", "group", {", ".join(_sums(products))} FROM ({inner}) AS q'
    text += f' CROSS JOIN LATERAL (VALUES {pairs}) AS l("query", "group")'
    return _run(backend, f'{text} GROUP BY "query", "group"')


def _sums(products: dict[str, list[str]]) -> list[str]:
    """The number of rows and the sums of products, as SQL writes them."""
    shown = ['count(*) AS "s"']
    for name, columns in products.items():
        product = " * ".join(f"CAST({quote(column)} AS BIGINT)" for column in columns)
        shown.append(f"sum({product}) AS {quote(name)}")
    return shown


def _compile(frame: nw.LazyFrame[Any]) -> tuple[Any, str]:
    table = nw.to_native(frame)
    backend = table.get_backend()
    return backend, str(backend.compile(table))


def _run(backend: Any, text: str) -> dict[str, list[Any]]:
    cursor = backend.con.execute(text)
    names = [column.name for column in cursor.description]
    found = [[_plain(value) for value in row] for row in cursor.fetchall()]
    columns = zip(*found, strict=True) if found else [[] for _ in names]
    return {name: list(column) for name, column in zip(names, columns, strict=True)}


def _plain(value: Any) -> Any:
    """Sums of 64-bit integers are numerics."""
    return int(value) if isinstance(value, Decimal) else value
