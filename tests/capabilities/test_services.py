"""The capabilities that ask the web, against doubles of their services on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest

from sigil.errors import SigilError
from sigil.execution import Execution
from sigil.package import Package, read_folder
from sigil.protocol import Caller, Json
from sigil.rehearsal import Rehearsal
from sigil.services.line import Line
from sigil.services.part import Part
from tests.capabilities.conftest import FOLDER, Library, program_of
from tests.fakes.server import Answer, Recorded, RecordingServer, json_answer

RATES = {"EUR": 1.0, "USD": 1.05, "CNY": 7.6}
BERN = {"name": "Bern", "latitude": 46.95, "longitude": 7.45, "country": "Switzerland", "country_code": "CH", "admin1": "Bern"}
Ask = Callable[..., Json]


class Services(RecordingServer):
    """Both services: Frankfurter's rates by date, Open-Meteo's places and weather."""

    down = False

    def answer(self, request: Recorded) -> Answer:
        parts = urlsplit(request.path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if self.down:
            return Answer(503, b"down for maintenance")
        if parts.path == "/v1/search":
            return json_answer({"results": [BERN]} if asked["name"] == "Bern" else {"generationtime_ms": 0.1})
        if parts.path == "/v1/forecast":
            return _weather(asked)
        return _rates(parts.path.rpartition("/")[2], asked)


def _weather(asked: dict[str, str]) -> Answer:
    if float(asked["latitude"]) == 90:
        return json_answer({"error": True, "reason": "no weather at the pole"}, 400)
    days = int(asked.get("forecast_days", 0))
    daily = {name: list(range(days)) for name in asked.get("daily", "").split(",") if name}
    current: dict[str, Json] = {"time": "2024-11-22T10:15", **dict.fromkeys(asked["current"].split(","), 3)}
    return json_answer({"timezone": "GMT", "current": current, "daily": {"time": [f"2024-11-{22 + i}" for i in range(days)], **daily}})


def _rates(day: str, asked: dict[str, str]) -> Answer:
    wanted = [code for code in asked.get("symbols", ",".join(RATES)).split(",") if code in RATES and code != asked["base"]]
    if asked["base"] not in RATES or not wanted:
        return json_answer({"message": "not found"}, 404)
    rates = {code: round(RATES[code] / RATES[asked["base"]], 5) for code in wanted}
    return json_answer({"amount": 1.0, "base": asked["base"], "date": "2024-11-22" if day == "latest" else day, "rates": rates})


@pytest.fixture(scope="module")
def services() -> Iterator[Services]:
    with Services() as made:
        yield made


@pytest.fixture(scope="module")
def ask(library: Library, services: Services) -> Iterator[Ask]:
    """Calls a capability whose hosts are all the double."""
    line = Line(loopback=True)

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
        run = Execution(library.sandbox, Rehearsal(line)).run(Part("tests", manifest, "", program), arguments, Caller("tests"))  # type: ignore[arg-type]
        return orjson.loads(run.output)

    yield called
    line.close()


def test_money_is_changed_at_the_rate_of_the_day(ask: Ask, services: Services) -> None:
    told = ask("currency-rates", **{"from": "usd", "to": "cny,usd", "amount": 10, "date": "2024-03-28"})
    assert told == {
        "from": "USD",
        "amount": 10,
        "date": "2024-03-28",
        "to": {"USD": {"rate": 1, "value": 10}, "CNY": {"rate": 7.2381, "value": 72.381}},
    }
    assert services.requests[-1].path == "/v1/2024-03-28?base=USD&symbols=CNY"
    assert set(ask("currency-rates", **{"from": "EUR"})["to"]) == {"USD", "CNY"}
    before = len(services.requests)
    assert ask("currency-rates", **{"from": "EUR", "to": "EUR"})["to"] == {"EUR": {"rate": 1, "value": 1}}
    assert len(services.requests) == before


def test_the_weather_of_a_place_comes_with_as_many_days_as_were_asked_for(ask: Ask, services: Services) -> None:
    told = ask("weather-now", place="Bern, CH", days=2, units="imperial")
    assert (told["place"], told["weather"], told["units"]["temperature"]) == ("Bern, Bern, Switzerland", "overcast", "°F")
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
def test_what_is_not_there_is_said(ask: Ask, name: str, arguments: dict[str, Json], code: str) -> None:
    with pytest.raises(SigilError) as caught:
        ask(name, **arguments)
    assert caught.value.code == code


@pytest.mark.parametrize(("name", "arguments"), [("currency-rates", {"from": "EUR", "to": "USD"}), ("weather-now", {"place": "Bern"})])
def test_a_service_that_is_down_is_told_from_an_answer(
    ask: Ask, services: Services, monkeypatch: pytest.MonkeyPatch, name: str, arguments: dict[str, Json]
) -> None:
    monkeypatch.setattr(services, "down", True)
    with pytest.raises(SigilError, match="try again later") as caught:
        ask(name, **arguments)
    assert caught.value.code == "ENET"
