"""The reference of the settings of the training methods, from hil/training/methods/methods.toml."""

from __future__ import annotations

from hil.training.methods.settings import COMMON, MethodSetting, described, loops_of, meaning, only, setting_tables
from tools.docs_site.markdown import cell, code, page, table

PAGE = "reference/settings.md"
INTRODUCTION = """\
# Settings of methods

What `settings` of a trial may have, by the table of `hil/training/methods/methods.toml` that a training loop uses.
`hil methods` lists the methods with their variants. A setting that is *scheduled* may be changed between two steps by
`schedule`. A trial that gives a setting where it has no effect is refused.
"""


def text() -> str:
    """Return the page."""
    parts = [INTRODUCTION, "## Every method", "The rig sets `slots`, `first_step` and `method` itself."]
    parts.append(_settings(described(COMMON)))
    for name in setting_tables():
        parts += [f"## {name}", f"Training loops: {', '.join(code(loop) for loop in loops_of(name))}."]
        parts.append(_settings(described(name)))
        parts += [_fixed(loop) for loop in loops_of(name)]
    return page(*parts)


def _settings(settings: dict[str, MethodSetting]) -> str:
    header = ("setting", "values", "default", "unit", "scheduled", "meaning", "acts where")
    return table(header, [_row(setting) for setting in settings.values()])


def _row(setting: MethodSetting) -> tuple[str, ...]:
    default = "" if setting.default is None else code(str(setting.default))
    unit, scheduled = cell(setting.unit), "yes" if setting.scheduled else ""
    needs = cell(" and ".join(meaning(need) for need in setting.acts_with))
    return code(setting.name), _values(setting), default, unit, scheduled, cell(setting.doc), needs


def _values(setting: MethodSetting) -> str:
    if setting.words:
        return ", ".join(map(code, setting.words))
    if setting.limits is not None:
        return f"{setting.limits[0]:,} to {setting.limits[1]:,}"
    return cell(setting.range)


def _fixed(loop: str) -> str:
    """Return the settings of which a loop takes one value."""
    return "\n".join(
        f"- {code(loop)} takes {code(name)} only as {code(str(value))}: {cell(reason)}."
        for name, (value, reason) in only(loop).items()
    )
