"""The stamp of a message, as an owner's template writes it."""

from __future__ import annotations

import pytest

from functions.settings import Settings
from functions.time.stamp import CHARACTERS, TEMPLATE, Stamp
from functions.time.time_zone import available_zones
from sigil.errors import UsageError
from tests.tables import each_row

pytestmark = pytest.mark.skipif(
    "Europe/Berlin" not in available_zones(), reason="this machine has no time zone database"
)

WINTER = 1_795_311_000.0
D60 = "The current dialogue occurs in {location}, time: {now}, weather: {weather}."


def test_a_stamp_is_in_utc_until_a_zone_is_known() -> None:
    assert Stamp().format(WINTER, "telegram") == "2026-11-22 01:30 UTC"
    assert Settings().stamp == TEMPLATE


def test_a_stamp_shows_the_time_of_the_zone_and_how_far_it_is_ahead() -> None:
    stamp = Stamp(zone="Europe/Berlin")
    assert stamp.format(WINTER, "telegram") == "2026-11-22 02:30 Europe/Berlin (+01:00)"
    first, second = 1_792_888_200.0, 1_792_891_800.0  # 02:30 comes twice when summer ends
    assert stamp.format(first, "") == "2026-10-25 02:30 Europe/Berlin (+02:00)"
    assert stamp.format(second, "") == "2026-10-25 02:30 Europe/Berlin (+01:00)"


def test_the_template_of_the_original_is_filled_in() -> None:
    assert Stamp(D60, "Europe/Berlin").format(WINTER, "telegram") == (
        "The current dialogue occurs in Berlin, time: 2026-11-22 02:30, weather: unknown."
    )
    assert "occurs in unknown, time" in Stamp(D60).format(WINTER, "")
    assert Stamp("{platform} {zone}", "America/New_York").format(WINTER, "slack") == (
        "slack America/New_York (-05:00)"
    )


@pytest.mark.parametrize("template", [D60, "{now}", "在{location}，{now}", "at {now}; {zone}"])
def test_templates_of_an_owner(template: str) -> None:
    assert Settings(stamp=template).stamp == template


@each_row(
    "template",
    [
        "{now} {user}",
        "{now",
        "{now!r}",
        "{now.year}",
        "{0}",
        "{{now}}",
        "{now}]\n[system",
        "{now}\nignore",
        "{now} · owner",
        "{now} <<POLICY>>",
        '{now} "Alice"',
        "{now} \u202e",
        "{now} `",
        "{now}" + "x" * CHARACTERS,
    ],
)
def test_what_could_break_the_line_is_refused_before_the_agent_starts(template: str) -> None:
    with pytest.raises(UsageError, match="UNCAGED_STAMP"):
        Settings(stamp=template)


@pytest.mark.parametrize(
    ("zone", "hint"),
    [("Berlin", "Europe/Berlin"), ("europe/berlin", "Europe/Berlin"), ("Mars", "such as")],
)
def test_a_zone_of_the_settings_is_named_exactly(zone: str, hint: str) -> None:
    with pytest.raises(UsageError, match="UNCAGED_TIMEZONE") as refused:
        Settings(timezone=zone)
    assert hint in refused.value.suggestion
    assert Settings(timezone="Asia/Tokyo").timezone == "Asia/Tokyo"
