"""The capabilities that ask the web, against doubles of their services on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest

from sigil.deploy.golden_tests import GoldenTestServices as GoldenServices
from sigil.errors import SigilError
from sigil.manifest.package import Package, read_folder
from sigil.network.http_transport import GuardedTransport
from sigil.protocol import Caller, Json
from sigil.run.executor import Executor
from sigil.run.host_calls.context import Runnable
from tests.capabilities.conftest import FOLDER, Library, program_of
from tests.fakes.server import Answer, Recorded, RecordingServer, json_answer

RATES = {"EUR": 1.0, "USD": 1.05, "CNY": 7.6}
BERN = {
    "name": "Bern",
    "latitude": 46.95,
    "longitude": 7.45,
    "country": "Switzerland",
    "country_code": "CH",
    "admin1": "Bern",
}
Ask = Callable[..., Json]


class Services(RecordingServer):
    """Both services: Frankfurter's rates by date, Open-Meteo's places and weather."""

    down = False
    odd: Answer | None = None

    def answer(self, request: Recorded) -> Answer:
        parts = urlsplit(request.path)
        if self.odd is not None:
            return self.odd
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if self.down:
            return Answer(503, b"down for maintenance")
        if parts.path == "/v1/search":
            return json_answer(
                {"results": [BERN]} if asked["name"] == "Bern" else {"generationtime_ms": 0.1}
            )
        if parts.path == "/v1/forecast":
            return _weather(asked)
        return _rates(parts.path.rpartition("/")[2], asked)


def _weather(asked: dict[str, str]) -> Answer:
    if float(asked["latitude"]) == 90:
        return json_answer({"error": True, "reason": "no weather at the pole"}, 400)
    days = int(asked.get("forecast_days", 0))
    daily = {name: list(range(days)) for name in asked.get("daily", "").split(",") if name}
    current: dict[str, Json] = {
        "time": "2024-11-22T10:15",
        **dict.fromkeys(asked["current"].split(","), 3),
    }
    return json_answer(
        {
            "timezone": "GMT",
            "current": current,
            "daily": {"time": [f"2024-11-{22 + i}" for i in range(days)], **daily},
        }
    )


def _rates(day: str, asked: dict[str, str]) -> Answer:
    wanted = [
        code
        for code in asked.get("symbols", ",".join(RATES)).split(",")
        if code in RATES and code != asked["base"]
    ]
    if asked["base"] not in RATES or not wanted:
        return json_answer({"message": "not found"}, 404)
    rates = {code: round(RATES[code] / RATES[asked["base"]], 5) for code in wanted}
    return json_answer(
        {
            "amount": 1.0,
            "base": asked["base"],
            "date": "2024-11-22" if day == "latest" else day,
            "rates": rates,
        }
    )


@pytest.fixture(scope="module")
def services() -> Iterator[Services]:
    with Services() as made:
        yield made


@pytest.fixture(scope="module")
def ask(library: Library, services: Services) -> Iterator[Ask]:
    """Calls a capability whose hosts are all the double."""
    line = GuardedTransport(loopback=True)

    def called(name: str, **arguments: Json) -> Json:
        package = read_folder(FOLDER / name)
        source, rules = package.code.decode(), []
        for rule in package.manifest.permissions.http:
            host = rule.split(" ")[1].partition("/")[0]
            source = source.replace(f"https://{host}/", f"{services.url}/")
            rules.append(rule.replace(host, urlsplit(services.url).netloc))
        permissions = package.manifest.permissions.model_copy(update={"http": tuple(rules)})
        manifest = package.manifest.model_copy(update={"permissions": permissions})
        program = program_of(Package(manifest, source.encode()), library.sandbox)
        run = Executor(library.sandbox, GoldenServices(line)).run(
            Runnable("tests", manifest, "", program), arguments, Caller("tests")
        )  # type: ignore[arg-type]
        return orjson.loads(run.output)

    yield called
    line.close()


def test_money_is_changed_at_the_rate_of_the_day(ask: Ask, services: Services) -> None:
    told = ask(
        "currency-rates", **{"from": "usd", "to": "cny,usd", "amount": 10, "date": "2024-03-28"}
    )
    assert told == {
        "from": "USD",
        "amount": 10,
        "date": "2024-03-28",
        "to": {"USD": {"rate": 1, "value": 10}, "CNY": {"rate": 7.2381, "value": 72.381}},
    }
    assert services.requests[-1].path == "/v1/2024-03-28?base=USD&symbols=CNY"
    assert set(ask("currency-rates", **{"from": "EUR"})["to"]) == {"USD", "CNY"}
    before = len(services.requests)
    assert ask("currency-rates", **{"from": "EUR", "to": "EUR"})["to"] == {
        "EUR": {"rate": 1, "value": 1}
    }
    assert len(services.requests) == before


def test_the_weather_of_a_place_comes_with_as_many_days_as_were_asked_for(
    ask: Ask, services: Services
) -> None:
    told = ask("weather-now", place="Bern, CH", days=2, units="imperial")
    assert (told["place"], told["weather"], told["units"]["temperature"]) == (
        "Bern, Bern, Switzerland",
        "overcast",
        "°F",
    )
    assert [day["date"] for day in told["forecast"]] == ["2024-11-22", "2024-11-23"]
    assert "temperature_unit=fahrenheit" in services.requests[-1].path
    assert "forecast" not in ask("weather-now", place="46.95, 7.45")
    assert "search" not in services.requests[-1].path


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("currency-rates", {"from": "EUR", "to": "XYZ"}, "ENOENT"),
        ("currency-rates", {"from": "EUR", "to": "../"}, "EINVAL"),
        ("currency-rates", {"from": "EUR", "date": "2024-13-01"}, "EINVAL"),
        ("weather-now", {"place": "Nowhere"}, "ENOENT"),
        ("weather-now", {"place": "Bern, Texas"}, "ENOENT"),
        ("weather-now", {"place": "90, 0"}, "EINVAL"),
    ],
)
def test_what_is_not_there_is_said(
    ask: Ask, name: str, arguments: dict[str, Json], code: str
) -> None:
    with pytest.raises(SigilError) as caught:
        ask(name, **arguments)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("currency-rates", {"from": "EUR", "to": "USD"}), ("weather-now", {"place": "Bern"})],
)
def test_a_service_that_is_down_is_told_from_an_answer(
    ask: Ask,
    services: Services,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    arguments: dict[str, Json],
) -> None:
    monkeypatch.setattr(services, "down", True)
    with pytest.raises(SigilError, match="try again later") as caught:
        ask(name, **arguments)
    assert caught.value.code == "ENET"


ODD = {
    "an error page": Answer(200, b"<html>busy</html>"),
    "nothing": Answer(200, b""),
    "null": json_answer(None),
    "a list": json_answer([1, 2]),
    "a text": json_answer("rates"),
    "other members": json_answer({"amount": 1}),
    "members of other kinds": json_answer({"date": 5, "rates": [1], "results": "x", "current": 7}),
    "a limit": json_answer({"error": True, "reason": "Minutely API request limit exceeded"}, 429),
    "a crash": json_answer({"message": "internal"}, 500),
    "a gateway": Answer(502, b"bad gateway"),
    "a redirect elsewhere": Answer(302, b"", {"location": "http://198.51.100.7/v1/"}),
    "a cut line": Answer(cut=True),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("currency-rates", {"from": "EUR", "to": "USD"}),
        ("currency-rates", {"from": "EUR"}),
        ("weather-now", {"place": "Bern"}),
        ("weather-now", {"place": "46.95, 7.45", "days": 3}),
    ],
)
def test_whatever_a_service_answers_the_failure_has_a_code_and_a_next_step(
    ask: Ask,
    services: Services,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    arguments: dict[str, Json],
    odd: str,
) -> None:
    monkeypatch.setattr(services, "odd", ODD[odd])
    with pytest.raises(SigilError) as caught:
        ask(name, **arguments)
    expected = (
        {"EPERM"}
        if "redirect" in odd
        else {"ENET", "ENOENT"}
        if arguments.get("place") == "Bern"
        else {"ENET"}
    )
    assert caught.value.code in expected, caught.value.message
    assert odd != "a limit" or "asked too often" in caught.value.message


def test_rates_that_are_none_are_left_out_or_missed(
    ask: Ask, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = {"USD": "1.05", "CNY": -1, "JPY": 160.5, "__proto__": 3, "usd": 2, "GBP": None}
    monkeypatch.setattr(services, "odd", json_answer({"date": "2024-11-22", "rates": rates}))
    assert ask("currency-rates", **{"from": "EUR"})["to"] == {
        "JPY": {"rate": 160.5, "value": 160.5}
    }
    with pytest.raises(SigilError, match="there is no rate for USD, CNY") as caught:
        ask("currency-rates", **{"from": "EUR", "to": "USD,CNY,JPY"})
    assert caught.value.code == "ENOENT"


def test_a_name_is_asked_for_in_its_own_language_and_the_largest_place_is_taken(
    ask: Ask, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    village = {
        "name": "北京",
        "latitude": 30.7,
        "longitude": 108.7,
        "country": "中国",
        "admin1": "重庆市",
    }
    capital = {
        "name": "北京市",
        "latitude": 39.9,
        "longitude": 116.4,
        "country": "中国",
        "admin1": "北京市",
        "population": 18_960_744,
    }
    near = {
        "name": "北京路",
        "latitude": 23.1,
        "longitude": 113.3,
        "country": "中国",
        "population": 90_000_000,
    }
    asked: list[dict[str, list[str]]] = []

    def answer(request: Recorded) -> Answer:
        parts = urlsplit(request.path)
        asked.append(parse_qs(parts.query))
        known = {name: values[0] for name, values in asked[-1].items()}
        return (
            json_answer({"results": [near, village, capital]})
            if parts.path == "/v1/search"
            else _weather(known)
        )

    monkeypatch.setattr(services, "answer", answer)
    assert ask("weather-now", place="北京")["place"] == "北京市, 北京市, 中国"
    assert asked[0]["language"] == ["zh"]
    assert ask("weather-now", place="北京, 重庆市")["latitude"] == 30.7
    for place, language in {
        "Москва": "ru",
        "東京タワー": "ja",
        "서울": "ko",
        "Zürich": "en",
    }.items():
        asked.clear()
        ask("weather-now", place=place)
        assert asked[0]["language"] == [language]
    asked.clear()
    ask("weather-now", place="Warszawa", language="pl")
    assert asked[0]["language"] == ["pl"]
