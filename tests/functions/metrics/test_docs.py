"""docs/observe.md and the dashboard name the metrics that there are, and no others."""

from __future__ import annotations

import json
import re
import tomllib

from functions.metrics.emf import make_fields
from functions.metrics.instruments import ALL
from functions.metrics.turn_numbers import read_numbers
from tests.functions.metrics.test_traces import FIRST
from tests.project.tree import ROOT

PAGE = (ROOT / "docs" / "observe.md").read_text(encoding="utf-8")
DASHBOARD = (ROOT / "docs" / "grafana.json").read_text(encoding="utf-8")


def metrics_table() -> str:
    """The table of docs/observe.md, as the metrics themselves tell it."""
    rows = ["| metric | kind | labels | meaning |", "|---|---|---|---|"]
    for each in ALL:
        labels = ", ".join(f"`{label}`" for label in each.labels)
        rows.append(f"| `{each.name}` | {each.kind} | {labels} | {each.help} |")
    return "\n".join(rows)


def test_the_table_of_metrics_is_what_the_metrics_say() -> None:
    assert metrics_table() in PAGE, f"put this into docs/observe.md:\n\n{metrics_table()}\n"


def test_the_dashboard_shows_every_metric_and_no_other() -> None:
    panels = json.loads(DASHBOARD)["panels"]
    asked = [target["expr"] for panel in panels for target in panel["targets"]]
    found = {name for expr in asked for name in re.findall(r"\buncaged_\w+", expr)}
    samples = {
        f"{each.name}{suffix}": each.name
        for each in ALL
        for suffix in (("_bucket", "_sum", "_count") if each.kind == "histogram" else ("",))
    }
    assert not found - samples.keys()
    assert {samples[name] for name in found} == {each.name for each in ALL}
    labels = {"le", *(label for each in ALL for label in each.labels)}
    for expr in asked:
        by = re.findall(r"by \((\w+)\)", expr)
        assert {*by, *re.findall(r"(\w+)=~", expr)} <= labels
    places = [tuple(panel["gridPos"].values()) for panel in panels]
    assert len({place[:2] for place in places}) == len(places)


def test_the_table_of_cloudwatch_is_what_the_log_has() -> None:
    fields: dict[str, dict[str, list[dict[str, list[dict[str, str]]]]]] = make_fields(  # type: ignore[assignment]
        read_numbers(FIRST), 0.0
    )
    for directive in fields["_aws"]["CloudWatchMetrics"]:
        names = ", ".join(f"`{each['Name']}`" for each in directive["Metrics"])
        assert f" | {names} |" in PAGE


def test_the_versions_that_the_page_names_are_those_of_the_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    exporter, sdk, conventions = extras["otel"]
    assert f"'{exporter}'" in PAGE
    assert f"{sdk.partition('==')[2]}/{conventions.partition('==')[2]}" in PAGE
