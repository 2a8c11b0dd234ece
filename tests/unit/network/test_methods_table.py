"""methods.toml against what is made from it: the fields of the settings, and the requests of the link."""

from __future__ import annotations

from dataclasses import MISSING, fields

import pytest

from hil.link.messages import description
from hil.methods import METHODS, Method


@pytest.mark.parametrize("kind", METHODS.values(), ids=lambda kind: kind.name)
def test_the_settings_have_the_names_and_defaults_of_the_table(kind: type[Method]) -> None:
    found = {field.name: None if field.default is MISSING else field.default for field in fields(kind.kind)}
    assert found == {name: setting.default for name, setting in kind.kind.table.items()}
    assert all(setting.doc for setting in kind.kind.table.values())


@pytest.mark.parametrize("kind", METHODS.values(), ids=lambda kind: kind.name)
def test_the_request_has_every_setting_in_its_type(kind: type[Method]) -> None:
    wanted = {name: setting.type for name, setting in kind.kind.table.items() if not setting.flag}
    wanted |= {"flags": "u8"} if any(setting.flag for setting in kind.kind.table.values()) else {}
    request = dict(description().requests[kind.request].request)
    assert request == wanted | {"slots": "u16", "first_step": "u32"}


def test_words_have_the_numbers_of_the_link() -> None:
    table, enums = METHODS["elasticzo-int8"].kind.table, description().enums
    for setting in table.values():
        if setting.words:
            assert enums[setting.name] == {word: setting.number(word) for word in setting.words}
