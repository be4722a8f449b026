"""`sigil query`: it finds what is relevant, or explores."""

from __future__ import annotations

from tests.sigil.cli.conftest import Sigil


def test_a_query_shows_what_is_relevant_and_nothing_else(shout: Sigil) -> None:
    head, row = shout("query", "shout a text").out.splitlines()
    assert head.split() == ["capability", "version", "kind", "score", "description"]
    assert row.startswith("shout ")
    nothing = shout("query", "quantum chromodynamics")
    assert (nothing.code, nothing.out, nothing.err) == (0, "", "nothing found\n")
    assert shout("query", "quantum chromodynamics", "--json").document == {"items": [], "total": 0}
    item = shout("query", "shout", "--json").document["items"][0]
    assert (item["capability"], item["tool"]) == ("shout", "cap_shout")
    assert {"schema", "tags", "examples", "score"} <= item.keys()


def test_who_looks_around_sees_what_there_is(shout: Sigil) -> None:
    for words in (("query",), ("query", "--explore"), ("query", "shout", "--explore")):
        head, *rows = shout(*words).out.splitlines()
        assert head.split() == ["capability", "score", "description"]
        assert any(row.startswith("shout ") for row in rows)
    item = next(
        row
        for row in shout("query", "--explore", "--json").document["items"]
        if row["capability"] == "shout"
    )
    assert item.keys() == {"capability", "tool", "description", "score"}
    assert len(shout("query", "--explore", "-n", "1", "--json").document["items"]) == 1
    assert shout("query", "quantum chromodynamics", "--explore").err == "nothing found\n"


def test_what_fits_too_little_is_named(run_sigil: Sigil) -> None:
    for crop in ("carrot", "radish"):
        words = ["--name", f"plant-{crop}", "--description", f"Plant a {crop}."]
        for letter in "abcde":
            words += ["--alias", f"{crop} {letter}"]
        assert run_sigil("deploy", *words, "--execute", "return 1;").code == 0
    request = ("query", "how do I cook a radish with cream and vinegar")

    assert run_sigil(*request).err == "nothing found; nearest: plant-radish\n"
    assert run_sigil(*request, "--json").document == {
        "items": [],
        "total": 0,
        "weak": [{"capability": "plant-radish", "description": "Plant a radish.", "kind": "wasm"}],
    }
