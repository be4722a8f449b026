"""The pages of capabilities: the real ranker, a card that runs, and what an owner changes there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from functions.wiring import AgentRuntime
from sigil.protocol import Caller
from tests.functions.page.parsed import HOSTILE, Parsed
from tests.functions.page.test_runs import MEMBER, let_in, opened

OWNER = Caller("main", owner=True)
TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}


def deploy(runtime: AgentRuntime, name: str, execute: str, **fields: Any) -> None:
    registry: Any = runtime.app.registry
    spec = {"name": name, "description": f"Shout: {name}", "schema": TEXT, "execute": execute}
    registry.deploy({**spec, **fields}, OWNER)


def test_a_wish_is_ranked_and_what_fits_is_tried(runtime: Callable[..., AgentRuntime]) -> None:
    home = runtime(library="builtin")
    let_in(home)
    with opened(home) as sign_in:
        owner, member, reader = sign_in(), sign_in(MEMBER, "member"), sign_in(MEMBER, "reader")
        found: Any = owner.get_json("/capabilities?q=convert 5 miles to kilometers").json()
        page = Parsed(owner.get("/capabilities?q=convert 5 miles to kilometers").text)
        page.require_harmless()
        cells = [each.text.strip() for each in page.find_all("td")]
        assert found["items"][0]["capability"] == "unit-convert"
        assert cells[:2] == [f"{found['items'][0]['score']:.2f}".rstrip("0"), "unit-convert"]
        assert all(each["capability"] in page.text for each in found.get("weak", []))
        nothing = Parsed(owner.get("/capabilities?q=xqzzv'wwqj").text)
        assert "Nothing fits “xqzzv'wwqj”" in nothing.text

        card = "/capabilities/library/unit-convert"
        twin: Any = owner.get_json(card).json()
        shown = Parsed(owner.get(card).text)
        shown.require_harmless()
        fields = [
            each.attributes["name"] for each in shown.find_all("input") if "name" in each.attributes
        ]
        assert fields == [f"a-{name}" for name in twin["schema"]["properties"]]
        typed = {"a-value": "5", "a-from": "miles", "a-to": "kilometers"}
        for browser in (owner, member):
            ran = Parsed(browser.post(f"{card}/run", typed).text)
            assert "8.04672" in ran.text
            assert " ms" in ran.text
            kept = {each.attributes.get("value") for each in ran.find_all("input")}
            assert {"5", "miles", "kilometers"} <= kept
        wrong = owner.post(f"{card}/run", {**typed, "a-value": "five"})
        assert wrong.status_code == 400
        assert Parsed(wrong.text).find_all("p", "error")[0].text.startswith("Type a number")
        refused = owner.post(f"{card}/run", {**typed, "a-to": "bananas"})
        assert refused.status_code == 424
        assert Parsed(refused.text).find_all("div", "notice")
        drawn = owner.post("/capabilities/library/qr-svg/run", {"a-text": "hello"})
        [picture] = Parsed(drawn.text).find_all("img")
        assert picture.attributes["src"].startswith("data:image/svg+xml;base64,")
        Parsed(drawn.text).require_harmless()

        # members and readers have what is pure, and only members run it
        names = {each["capability"] for each in member.get_json("/capabilities").json()["items"]}
        assert "calculate" in names
        assert not {"web-search", "currency-rates", "board", "schedule"} & names
        for path in ("/capabilities/library/web-search", "/capabilities/-/web-search"):
            assert member.get(path).status_code == 404
            assert member.post(f"{path}/run", {"a-query": "x"}).status_code == 404
        assert "source" not in member.get_json(card).json()
        assert reader.post(f"{card}/run", typed).status_code == 403
        assert member.get(f"{card}/grant").status_code == 403
        schedule = Parsed(owner.get("/capabilities/library/schedule").text)
        assert "It is made of others" in schedule.text


def test_an_owner_compares_rolls_back_grants_and_sets_secrets(
    runtime: Callable[..., AgentRuntime],
) -> None:
    home = runtime()
    deploy(
        home,
        "shout",
        "return input.text.toUpperCase()",
        tests=[{"input": {"text": "a"}, "output": "A"}],
    )
    deploy(home, "shout", "return input.text.toUpperCase() + '!'", description=HOSTILE[0] * 3)
    permissions = {"http": ["GET api.example.com/v1/"], "secrets": ["KEY@api.example.com"]}
    deploy(home, "fetch", "return input.text", permissions=permissions)
    with opened(home) as sign_in:
        owner = sign_in()
        card = "/capabilities/main/shout"
        page = Parsed(owner.get(f"{card}?diff=2").text)
        page.require_harmless()
        plus = [each.text for each in page.find_all("span", "plus")]
        assert any("'!'" in line for line in plus)
        asked = owner.get(f"{card}/rollback?version=1")
        assert "version 1 of shout" in Parsed(asked.text).text
        assert owner.post(f"{card}/rollback?version=1").status_code == 200
        assert owner.get_json(card).json()["version"] == 2
        assert owner.post(f"{card}/rollback?version=1", {"sure": "yes"}).status_code == 303
        assert owner.get_json(card).json()["version"] == 1
        assert "rollback" in Parsed(owner.get(card).text).text

        card = "/capabilities/main/fetch"
        waiting = Parsed(owner.get(card).text)
        assert "It may send requests: GET api.example.com/v1/. waits for an owner" in waiting.text
        assert len(owner.get_json("/safety").json()["grants"]) == 1
        form = Parsed(owner.get(f"{card}/grant").text)
        [tag] = [
            each.attributes["value"]
            for each in form.find_all("input")
            if each.attributes["name"] == "tag"
        ]
        assert (
            owner.post(f"{card}/grant", {"sure": "yes", "tag": "sha256:" + "0" * 64}).status_code
            == 409
        )
        assert owner.post(f"{card}/grant", {"sure": "yes", "tag": tag}).status_code == 303
        assert owner.get_json(card).json()["pending"] == []
        assert (
            owner.post(f"{card}/secret", {"name": "KEY", "value": "s3cr3t-of-mine"}).status_code
            == 303
        )
        assert (
            owner.post(f"{card}/secret", {"name": "OTHER", "value": "s3cr3t-of-mine"}).status_code
            == 404
        )
        assert [row["secret"] for row in home.app.registry.secrets.rows(OWNER)] == ["KEY"]  # type: ignore[attr-defined]
        for path in (card, "/safety", "/capabilities"):
            assert "s3cr3t" not in owner.get(path).text
            assert "s3cr3t" not in owner.get_json(path).text
        assert owner.post(f"{card}/revoke", {"sure": "yes"}).status_code == 303
        assert len(owner.get_json(card).json()["pending"]) == 2
        assert owner.post(f"{card}/forget?secret=KEY", {"sure": "yes"}).status_code == 303
        assert list(home.app.registry.secrets.rows(OWNER)) == []  # type: ignore[attr-defined]
