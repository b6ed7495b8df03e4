"""``ROBOTS_POLITENESS``: settings together, each of which a user may still set."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from scrapy.settings import Settings

from scrapy_robots_plus import RobotsSettingsError
from scrapy_robots_plus.settings.all_settings import DECLARED, Politeness
from scrapy_robots_plus.settings.robots_settings import PRESETS, RobotsSettings

FIELDS = {declared.name: field for field, declared in DECLARED.items()}


def settings_of(**values: Any) -> RobotsSettings:
    return RobotsSettings.from_settings(Settings(values))


def field_of(settings: RobotsSettings, name: str) -> object:
    return getattr(settings, FIELDS[name])


@pytest.mark.parametrize(("preset", "delay"), [("gentle", 1), ("Archive", 5), ("default", 0)])
def test_the_delay_of_hosts_that_name_none(preset: str, delay: float) -> None:
    assert settings_of(ROBOTS_POLITENESS=preset).default_delay == delay


@pytest.mark.parametrize("preset", get_args(Politeness))
def test_each_setting_is_as_the_preset_says_and_the_others_as_ever(preset: str) -> None:
    chosen, default = settings_of(ROBOTS_POLITENESS=preset), settings_of()
    for name, field in FIELDS.items():
        if name in PRESETS[preset]:
            declared = DECLARED[field]
            assert field_of(chosen, name) == declared.check.read(PRESETS[preset][name])
            assert field_of(chosen, name) != field_of(default, name)
        elif name != "ROBOTS_POLITENESS":
            assert field_of(chosen, name) == field_of(default, name)


@pytest.mark.parametrize("preset", get_args(Politeness))
def test_what_a_user_sets_goes_before_all_that_a_preset_says(preset: str) -> None:
    default = settings_of()
    own = {name: DECLARED[FIELDS[name]].default for name in PRESETS[preset]}
    chosen = settings_of(ROBOTS_POLITENESS=preset, **own)
    for name in own:
        assert field_of(chosen, name) == field_of(default, name)


@pytest.mark.parametrize("value", ["rude", 1, ["gentle"], b"gentle"])
def test_another_name_is_an_error_that_lists_them(value: object) -> None:
    with pytest.raises(RobotsSettingsError, match="'default', 'gentle' or 'archive'") as caught:
        settings_of(ROBOTS_POLITENESS=value)
    assert str(caught.value).startswith("ROBOTS_POLITENESS = ")
