"""A password is in no error, nor in what a debugger shows of one: the locals of its frames."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from types import TracebackType

import psycopg
import pytest
from sqlalchemy import URL, make_url

import discreet as dp
from discreet.ledger import Ledger
from discreet.measures import PureDP

WORD = "s3cret"
#: In a URL also with signs that must be, and with signs that are often not, escaped.
PASSWORDS = (WORD, f"{WORD}%40x", f"{WORD}/x", f"{WORD}#x", f"{WORD}@x", f"{WORD}?x", f"%2F{WORD}")

FORMS = (
    "postgresql://ann:{}@127.0.0.1:1/db",
    "postgresql://ann:{}@127.0.0.1:port/db",
    "postgresql://ann:{}@127.0.0.1:1",
    "postgresql://ann:{}@127.0.0.1:1/db?ledger=Bad",
    "postgresql://ann:{}@127.0.0.1:1/db?colour=red",
    "postgresql://ann@127.0.0.1:1/db?password={}",
    "postgresql://127.0.0.1:1/db?user=ann&password={}",
    "postgresql://ann@127.0.0.1:1/db?PASSWORD={}",
    "postgresql://ann@127.0.0.1:1/db?pwd={}",
    "postgresql://ann@127.0.0.1:1/db?sslpassword={}",
    "postgresql://ann@127.0.0.1:1/db?password={}&password={}",
    "postgresql://ann@127.0.0.1:1/db?connect_timeout=soon&password={}",
    "postgresql://ann@127.0.0.1:1/db?ledger={}-",
    "postgresql://ann@127.0.0.1:{}/db",
    "postgresql://ann%3A{}@127.0.0.1:1/db",
    "postgresql://ann%3A{}%40127.0.0.1:1/db",
    "postgresql://ann:{}%40127.0.0.1:1/db",
    "postgresql://ann:{}",
    "postgresql://ann:{}/db",
    "postgresql:ann:{}/db",
    "postgresql:/ann:{}/db",
    "postgresql//ann:{}/db",
    "postgres://ann:{}/db",
    "postgresql+psycopg2://ann:{}/db",
    "postgresql://127.0.0.1:1/ann:{}@db",
    "postgresql://127.0.0.1:1/db;password={}",
    "postgresql://127.0.0.1:1/db&password={}",
    "postgresql://127.0.0.1:1/db#password={}",
    "postgresql://ann@127.0.0.1:1/db?host=ann:{}@127.0.0.1",
    "host=127.0.0.1 port=1 user=ann password={} dbname=db",
    "password={}",
    "ann:{}@127.0.0.1/db",
    "ann:{}%40127.0.0.1/db",
    "mysql://ann:{}@host/db",
    "sqlite://ann:{}@/",
    "sqlite:///x.db?password={}",
    "{}",
)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        found = waiting.pop()
        if found is not None and id(found) not in seen:
            seen.add(id(found))
            yield found
            waiting += [found.__cause__, found.__context__]


def _frames(tb: TracebackType | None) -> Iterator[tuple[str, dict[str, object]]]:
    while tb is not None:
        code = tb.tb_frame.f_code
        if code.co_filename != __file__:
            yield f"{code.co_filename}:{tb.tb_lineno}", dict(tb.tb_frame.f_locals)
        tb = tb.tb_next


def _shown(error: BaseException) -> Iterator[tuple[str, str]]:
    """All that a person, a log or a debugger sees of an error."""
    yield "traceback", "".join(traceback.format_exception(error)).replace(__file__, "")
    for part in _chain(error):
        yield "text", f"{part} {part!r} {part.args!r} {getattr(part, '__notes__', '')}"
        yield "attributes", repr(vars(part))
        for place, names in _frames(part.__traceback__):
            for name, value in names.items():
                yield f"{name} in {place}", f"{value!r} {value!s}"
                if hasattr(value, "__dict__") and type(value).__module__.startswith("discreet"):
                    yield f"attributes of {name} in {place}", repr(vars(value))


def _check(act: Callable[[], object], *, expect: type[BaseException] = Exception) -> None:
    with pytest.raises(expect) as caught:
        act()
    for place, text in _shown(caught.value):
        assert WORD not in text, place


@pytest.fixture(autouse=True)
def _impatient(monkeypatch) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)


@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_a_ledgers_url_shows_its_password(form: str) -> None:
    for password in PASSWORDS:
        url = form.replace("{}", password)
        _check(lambda url=url: Ledger(url, limit=PureDP(1), read_only=form == "{}"))


@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_a_tables_address_shows_its_password(form: str) -> None:
    schema = dp.Schema(x=dp.Real(0, 1))
    for password in PASSWORDS:
        url = form.replace("{}", password)
        url += ("&" if "?" in url else "?") + "table=patients" if "://" in url else ""
        if form == "{}":  # a name of a file, and nothing says otherwise
            continue
        _check(lambda url=url: dp.PrivateDataset(url, schema, unit=dp.PUBLIC))


def test_parsed_urls_show_no_password_either() -> None:
    for url in (
        make_url(f"postgresql://ann:{WORD}@127.0.0.1:1/db"),
        make_url(f"postgresql://ann@127.0.0.1:1/db?password={WORD}"),
        make_url(f"mysql://ann:{WORD}@127.0.0.1:1/db"),
        URL.create("postgresql", "ann", f"{WORD}\udcff", "127.0.0.1", 1, "db"),
        URL.create("postgresql", "ann", f"{WORD}\0", "127.0.0.1", 1, "db"),
    ):
        _check(lambda url=url: Ledger(url, limit=PureDP(1)))


@pytest.mark.parametrize("raised", [KeyboardInterrupt, MemoryError, RuntimeError, psycopg.Error])
def test_whatever_stops_the_driver_shows_no_password(monkeypatch, raised) -> None:
    def connect(*arguments: object, **options: object) -> None:
        held = {**options, "arguments": arguments}
        assert WORD in str(held)
        raise raised(f"while connecting with {held}") from ValueError(WORD)

    monkeypatch.setattr(psycopg, "connect", connect)
    monkeypatch.setattr(psycopg.Connection, "connect", connect)
    kind = KeyboardInterrupt if raised is KeyboardInterrupt else Exception
    schema = dp.Schema(x=dp.Real(0, 1))
    for password in (f"ann:{WORD}@127.0.0.1:1/db?x", f"ann@127.0.0.1:1/db?password={WORD}&x"):
        url = f"postgresql://{password}"
        if raised is not KeyboardInterrupt:  # whose own text stays, here made of the password
            _check(lambda url=url: Ledger(url, limit=PureDP(1)), expect=kind)
            _check(
                lambda url=url: dp.PrivateDataset(f"{url}=1&table=t", schema, unit=dp.PUBLIC),
                expect=kind,
            )


def test_an_interrupt_while_connecting_shows_no_password(monkeypatch) -> None:
    def connect(*arguments: object, **options: object) -> None:
        held = {**options, "arguments": arguments}
        assert WORD in str(held)
        try:
            raise ValueError(held)
        except ValueError:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(psycopg, "connect", connect)
    monkeypatch.setattr(psycopg.Connection, "connect", connect)
    schema = dp.Schema(x=dp.Real(0, 1))
    for url in (
        f"postgresql://ann:{WORD}@127.0.0.1:1/db",
        f"postgresql://ann@127.0.0.1:1/db?password={WORD}",
    ):
        table = f"{url}{'&' if '?' in url else '?'}table=t"
        _check(lambda url=url: Ledger(url, limit=PureDP(1)), expect=KeyboardInterrupt)
        _check(
            lambda table=table: dp.PrivateDataset(table, schema, unit=dp.PUBLIC),
            expect=KeyboardInterrupt,
        )


def test_names_and_public_options_are_shown() -> None:
    """The control: the check looks where names are shown."""
    with pytest.raises(Exception, match="no server answers") as caught:
        Ledger(f"postgresql://{WORD}@127.0.0.1:1/db?application_name=x", limit=PureDP(1))
    assert any(WORD in text for _, text in _shown(caught.value))
    assert "application_name=x" in str(caught.value)
