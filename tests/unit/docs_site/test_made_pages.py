"""The pages of the site that are made at build have everything that they are made from."""

from __future__ import annotations

import argparse
import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.commands import main
from hil.link.messages import description
from hil.record import schema
from hil.rig_toml import BenchBoard, PowerEntry
from hil.session.options import add_options
from hil.training.methods.settings import COMMON, described, loops_of, setting_tables
from tools.docs_site import api_page, command_line, messages_page, record_page, rig_toml_page, settings_page
from tools.docs_site.markdown import cell, code
from tools.docs_site.schema_tables import meaning

ROOT = Path(__file__).parents[3]
OPTIONS = re.compile(r"<code>(--[\w-]+)")


@cache
def all_parsers() -> list[tuple[str, argparse.ArgumentParser]]:
    return list(command_line.parsers())


def section(text: str, title: str) -> str:
    """Return the part of a page from a heading of the second level to the next."""
    return text.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def rows(text: str) -> dict[str, str]:
    """Return the last cell of each row of the tables of a text by the name in its first cell."""
    return dict(re.findall(r"^\| <code>([^<]+)</code> \|.* \|([^|]*) \|$", text, re.M))


@pytest.fixture(scope="module")
def commands() -> str:
    return command_line.text()


@pytest.mark.parametrize("command", main.commands())
def test_a_command_has_a_section_with_its_options(command: str, commands: str) -> None:
    parsers = [parser for name, parser in all_parsers() if name.split()[0] == command]
    expected = {
        action.option_strings[-1]
        for parser in parsers
        for action in parser._actions
        if action.option_strings and not isinstance(action, argparse._HelpAction)
    }
    assert set(OPTIONS.findall(section(commands, f"hil {command}"))) == expected


def test_every_option_of_the_plugin_is_there(commands: str) -> None:
    class Group:
        def __init__(self) -> None:
            self.names: set[str] = set()

        def addoption(self, name: str, **_: object) -> None:
            self.names.add(name)

        def getgroup(self, *_: str) -> Group:
            return self

        def addini(self, *_: object, **__: object) -> None:
            pass

    group = Group()
    add_options(group)  # type: ignore[arg-type]
    assert set(OPTIONS.findall(section(commands, "pytest"))) == group.names
    assert "board_testpaths" in section(commands, "pytest")


def test_no_argument_is_without_a_meaning(commands: str) -> None:
    assert [name for name, said in rows(commands).items() if not said.strip()] == []


def test_a_command_that_does_not_parse_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_line, "main", lambda argv: 0)
    with pytest.raises(LookupError, match="hil boards"):
        command_line.parser_of("boards")


@pytest.mark.parametrize("table", setting_tables())
def test_the_settings_of_a_table_are_there(table: str) -> None:
    text = section(settings_page.text(), table)
    assert rows(text).keys() == described(table).keys()
    assert all(f"<code>{loop}</code>" in text for loop in loops_of(table))


def test_the_settings_of_every_method_are_there() -> None:
    assert rows(section(settings_page.text(), "Every method")).keys() == described(COMMON).keys()


@pytest.mark.parametrize("name", ["results", "trial"])
def test_every_part_of_the_record_and_every_field_is_there(name: str) -> None:
    text = record_page.text()
    for part, node in schema(name)["$defs"].items():
        assert rows(section(text, part)).keys() == node["properties"].keys(), part


@pytest.mark.parametrize("part", ["RunFacts", "AskedTest", "TrialRecord", "Energy"])
def test_every_field_of_a_run_a_test_and_a_trial_has_a_meaning(part: str) -> None:
    definitions = schema("results")["$defs"]
    fields = definitions[part]["properties"]
    assert [name for name, node in fields.items() if not meaning(node, definitions)] == []


@pytest.mark.parametrize("model", [BenchBoard, PowerEntry])
def test_every_key_of_rig_toml_has_a_meaning_and_is_on_a_page_that_explains_it(
    model: type[BenchBoard] | type[PowerEntry],
) -> None:
    found = rows(rig_toml_page.text())
    explained = (ROOT / "docs/bench.md").read_text("utf-8") + (ROOT / "docs/recovery.md").read_text("utf-8")
    for key in model.model_fields:
        assert found[key].strip() and re.search(rf"\b{key}\b", explained), key


def test_every_message_and_every_error_is_there() -> None:
    text, found = messages_page.text(), description()
    assert re.findall(r"^### (\w+)$", text, re.M) == list(found.requests)
    for one in found.requests.values():
        part = text.split(f"\n### {one.name}\n")[1].split("\n## ")[0].split("\n### ")[0]
        fields = re.findall(r"<code>([^<]+)</code> \w", "".join(re.findall(r"^\| (?:request|reply) .*$", part, re.M)))
        assert fields == [name for name, _ in (*one.request, *one.reply)]
    errors = section(text, "Errors")
    assert re.findall(r"^\| \d+ \| <code>([^<]+)</code>", errors, re.M) == list(found.errors.values())


def test_comments_of_messages_are_those_above_and_behind() -> None:
    toml = "# far\n\n# above\n# more\n[type.one]  # behind\nid = 1\nbad = 2 # a: b\n"
    assert dict(messages_page.commented(toml)) == {"type.one": "above more; behind", "id": "", "bad": "a: b"}


def test_every_stated_name_is_in_the_reference_of_python() -> None:
    stated = (ROOT / "docs/public-api.md").read_text(encoding="utf-8")
    text = api_page.text(stated)
    for name, _ in api_page.named(api_page.section(stated, "Python")):
        owner, _, last = name.rpartition(".")
        method = re.search(rf"^::: {re.escape(owner)}\n    options:\n      members: &stated \[(.*)\]$", text, re.M)
        assert f"\n::: {name}\n" in text or f"| `{last}` |" in text or (method and last in method[1].split(", ")), name
    assert all(fixture in text for fixture in ("hil_board", "hil_trial", "hil_rig", "run_record"))


@given(st.text(alphabet="ab|<*[_\\` ", max_size=12))
def test_a_cell_has_no_separator_of_its_own_and_code_no_markup(text: str) -> None:
    for made in (cell(text), code(text)):
        assert re.search(r"(?<!\\)(?:\\\\)*\|", made) is None
    assert not set("|<*[`") & set(code(text).removeprefix("<code>").removesuffix("</code>"))


def test_a_cell_keeps_code_and_links_pages() -> None:
    assert cell("see `a|b` in\ndocs/link.md, INT8*") == "see <code>a&#124;b</code> in [link.md](../link.md), INT8\\*"
