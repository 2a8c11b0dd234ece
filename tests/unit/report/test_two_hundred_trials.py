"""The overview of 200 trials: small, whole without a script, nothing injected, and quick to use in a real browser."""

import re
from contextlib import closing

import pytest

from hil.record.since_last_good import write_since

from .chromium import Chromium, find
from .conftest import make_steps, make_trial
from .many_trials import EVIL, TRIALS, many, since, write_overview

MOST_BYTES = 8_000_000


@pytest.fixture
def overview(record):
    run = many(record((make_trial(), make_steps(5))))
    write_since(run.folder, since(run))
    return write_overview(run)


def test_it_is_small_whole_without_a_script_and_its_names_are_inert(overview):
    page = overview.read_text(encoding="utf-8")
    assert len(page.encode()) < MOST_BYTES
    table = page[page.index('id="trials"') : page.index('id="budgets"')]
    links = re.findall(r'<a class="verdict \w+" href="([^"]*)/index.html"', table)
    assert len(links) == len(set(links)) == TRIALS == table.count("over 30 nights, ") // 2, "label and title of a curve"
    assert table.count("<tbody") == table.count("</tbody>") == TRIALS and " hidden" not in table
    assert re.search(r'<form class="choose"[^>]* hidden>', page), "what does nothing without a script is not shown"
    assert EVIL not in page and "&lt;img src=x onerror=alert(1)&gt;" in page


SHOWN = "[...document.querySelectorAll('#trials tbody')].filter(one => one.checkVisibility())"
LINKS = f"{SHOWN}.map(one => one.querySelector('a').getAttribute('href').split('/')[0])"
FOUND = "document.querySelector('.choose output').textContent"


def typed(page, words):
    page.evaluate(f"""(one => {{ one.value = {words!r}; one.dispatchEvent(new Event("input", {{ bubbles: true }})); }})
        (document.querySelector(".choose [name=words]"))""")


def chosen(page, name, value):
    page.evaluate(f"""(one => {{ one.value = {value!r}; one.dispatchEvent(new Event("input", {{ bubbles: true }})); }})
        (document.querySelector(".choose select[name={name}]"))""")


def clicked(page, table, heading):
    page.evaluate(
        f"[...document.querySelectorAll('{table} th button')].find(one => one.textContent.startsWith({heading!r})).click()"
    )


def numbers(addresses):
    return [int(address.rpartition("-")[2]) for address in addresses]


@pytest.mark.tier("nightly")
@pytest.mark.skipif(find() is None, reason="needs Chromium: apt-get install chromium")
@pytest.mark.parametrize("width", [390, 1280])
def test_in_a_browser_it_is_searched_filtered_and_sorted(overview, tmp_path, capsys, width):
    with Chromium(tmp_path / "profile") as browser, closing(browser.open(overview, width)) as page:
        took = page.evaluate("(one => one.loadEventEnd - one.startTime)(performance.getEntriesByType('navigation')[0])")
        with capsys.disabled():
            print(f"\nthe overview of {TRIALS} trials opens in {took / 1e3:.2f} s, {width} wide")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        written = page.evaluate(LINKS)
        assert len(written) == TRIALS and numbers(written)[:3] == [7, 90, 0], "fail, blocked, then pass"

        typed(page, "RP2040  v3")
        assert page.evaluate(LINKS) == ["rp2040-153", "rp2040-163", "rp2040-173", "rp2040-183", "rp2040-193"]
        assert page.evaluate(FOUND) == "5 of 200 lines"
        chosen(page, "network", EVIL)
        assert page.evaluate(LINKS) == ["rp2040-193"]
        typed(page, "no such trial")
        assert page.evaluate(LINKS) == [] and page.evaluate(FOUND) == "0 of 200 lines"
        page.evaluate("document.querySelector('.choose [type=reset]').click()")
        page.until(f"{FOUND} === '200 of 200 lines'")

        chosen(page, "verdict", "fail")
        assert page.evaluate(LINKS) == ["stm32h7b3-7"]
        reason = f"{SHOWN}[0].querySelector('.why').innerText"
        assert EVIL in page.evaluate(reason), "the reason stays with its line"
        chosen(page, "verdict", "")

        clicked(page, "#trials", "time a step")
        assert numbers(page.evaluate(LINKS)) == list(range(TRIALS))[::-1], "a larger number is faster"
        clicked(page, "#trials", "time a step")
        assert numbers(page.evaluate(LINKS)) == list(range(TRIALS))
        clicked(page, "#trials", "time a step")
        assert page.evaluate(LINKS) == written, "as it was written"
        for direction in ("ascending", "descending"):
            clicked(page, "#trials", "energy a step")
            assert (
                page.evaluate("document.querySelector('#trials th[aria-sort]').getAttribute('aria-sort')") == direction
            )
            last = numbers(page.evaluate(LINKS))[-67:]
            assert all(number % 3 == 0 for number in last), "without a value they are last in both directions"
        clicked(page, "#trials", "trial")
        names = page.evaluate(f"{SHOWN}.map(one => one.querySelector('strong').innerText)")
        assert names[0].startswith("<img") and names[-1] == "resnet-tiny v9"

        clicked(page, ".costs", "SRAM")
        values = "[...document.querySelectorAll('.costs tbody')].map(one => Number(one.rows[0].cells[5].dataset.value))"
        found = page.evaluate(values)
        assert found == sorted(found) and len(found) == TRIALS and found[0] < found[-1]

        assert page.evaluate("document.querySelectorAll('img').length") == 0, "no name became an element"
        page.evaluate(
            "document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.injected = 1' }))"
        )
        page.evaluate(
            "document.body.insertAdjacentHTML('beforeend', '<img src=\"data:,\" onerror=\"window.injected = 1\">')"
        )
        page.evaluate("new Promise(done => setTimeout(done, 200))")
        assert page.evaluate("window.injected") is None, "the policy lets no other script run"
        refused = [fault for fault in page.faults if "Content Security Policy" in str(fault)]
        assert len(refused) == len(page.faults) == 2, "and nothing else went wrong"
