"""What lens, hover, light bulb and panel say of each program, held in `expected/*.md`. `--bless` writes them anew."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from urllib.parse import quote

import pytest
from replay import Replay, traced, untraced

from jaxscope.config import Config
from jaxscope.ide import actions, hover, lens, panel
from jaxscope.ide.situation import Activity, Situation
from jaxscope.ide.workspace import Workspace
from jaxscope.worker.jaxscope_worker.wire.messages import Failure

EXPECTED = Path(__file__).parent / "expected"
STOPPED = Failure("crashed", "The worker was stopped at 4.0 GiB", traceback="last line of its log")


def plain_link(title: str, link: lens.Link) -> str:
    return f"[{title}](command:{link.command}?{quote(json.dumps(link.arguments))})"


PLAIN = hover.Style(plain_link, details=False)
FOLDING = hover.Style(lambda title, link: "", details=True)


def lens_lines(replay: Replay, situation: Situation) -> Iterator[str]:
    found = lens.lenses(replay.workspace, replay.path, situation)
    for line in dict.fromkeys(item.line for item in found):
        yield f"{line}: " + " | ".join(item.title for item in found if item.line == line)


def hovers(replay: Replay, situation: Situation, style: hover.Style) -> Iterator[str]:
    for facts in replay.workspace.functions(replay.path):
        assert facts.function is not None
        found = hover.hover(replay.workspace, replay.path, facts.function.name_range.start, situation, style)
        assert found is not None
        yield f"### hover on `{facts.name}`\n\n{found.markdown}\n"
    for finding in replay.workspace.judgement(replay.path).findings[:1]:
        found = hover.hover(replay.workspace, replay.path, finding.range.start, situation, style)
        assert found is not None
        yield f"### hover on `{finding.name}`\n\n{found.markdown}\n"


def action_lines(replay: Replay, situation: Situation) -> Iterator[str]:
    for finding in replay.workspace.judgement(replay.path).findings[:2]:
        yield f"{finding.range.start.line}:{finding.range.start.column} {finding.severity}: {finding.message}"
        for item in actions.actions(replay.workspace, replay.path, finding.range, situation):
            marks = ("preferred, " if item.preferred else "") + item.kind
            yield f"  {item.title} ({marks})" + (f": {item.disabled}" if item.disabled else "")


def page(title: str, replay: Replay, situation: Situation, style: hover.Style = PLAIN) -> str:
    parts = [f"# {title}\n", "## lenses\n", "```", *lens_lines(replay, situation), "```\n", "## hovers\n"]
    parts += [*hovers(replay, situation, style), "## light bulb\n", "```", *action_lines(replay, situation), "```\n"]
    for facts in replay.workspace.functions(replay.path):
        model = asdict(panel.panel(replay.workspace, replay.path, facts.name, None, situation))
        model["timings"] = model["timings"] and model["timings"]["device"]
        shown = json.dumps({key: value for key, value in model.items() if value}, indent=1, ensure_ascii=False)
        parts += [f"## panel on `{facts.name}`\n", "```json", shown, "```\n"]
    return "\n".join(parts)


def edited(replay: Replay, before: str, after: str) -> Replay:
    text = replay.text.replace(before, after)
    assert text != replay.text
    replay.workspace.set_text(replay.path, text)
    return replay


def pages() -> dict[str, str]:
    whitener, mixture, broken = traced("whitener"), traced("mixture"), traced("broken")
    running = Activity(whitener.path, "whiten", "compiling", 4.2)
    signature = "declared batch: f32[32,700]"
    measured = whitener.situation(timings={("whiten", signature): whitener.timed})
    return {
        "whitener": page("traced", whitener, whitener.situation()),
        "whitener-timed": page("traced and timed", whitener, measured, FOLDING),
        "whitener-stale": page("edited since", edited(traced("whitener"), "- batch.mean(", "+ batch.mean("), measured),
        "whitener-untraced": page("not traced yet", untraced("whitener"), whitener.situation()),
        "whitener-restricted": page("restricted", untraced("whitener"), Situation("restricted")),
        "whitener-off": page("never to be run", untraced("whitener"), Situation("off")),
        "whitener-consent": page("not asked yet", untraced("whitener"), Situation("consent")),
        "whitener-running": page("running", untraced("whitener"), whitener.situation(activity=running)),
        "whitener-stopped": page("stopped", untraced("whitener"), whitener.situation(stopped=STOPPED)),
        "whitener-no-jax": page(
            "no JAX",
            untraced("whitener"),
            whitener.situation(no_jax=Failure("no-jax", "No JAX in .venv/bin/python (3.11).")),
        ),
        "mixture": page("many constants", mixture, mixture.situation()),
        "broken": page("an import that fails", broken, broken.situation()),
        "trainer": page("a program", untraced("trainer"), whitener.situation()),
    }


PAGES = (
    "whitener", "whitener-timed", "whitener-stale", "whitener-untraced", "whitener-restricted", "whitener-off",
    "whitener-consent", "whitener-running", "whitener-stopped", "whitener-no-jax", "mixture", "broken", "trainer",
)  # fmt: skip


@pytest.fixture(scope="module")
def seen() -> dict[str, str]:
    return pages()


@pytest.mark.parametrize("name", PAGES)
def test_page(name: str, seen: dict[str, str], bless: bool) -> None:
    file = EXPECTED / f"{name}.md"
    if bless:
        EXPECTED.mkdir(exist_ok=True)
        file.write_text(seen[name])
    assert seen[name] == file.read_text()


def test_every_page_is_expected(seen: dict[str, str]) -> None:
    assert set(seen) == set(PAGES) == {file.stem for file in EXPECTED.glob("*.md")}


def test_what_two_rules_offer_for_one_read_is_offered_once() -> None:
    path = "/project/memo.py"
    text = (
        "import jax\n\nlimits = {'low': 0.0}\n\n\n@jax.jit\ndef clip(x):\n    return x - limits['low']\n\n\n"
        "def main():\n    clip(1.0)\n    limits['low'] = 2.0\n    print(clip(1.0))\n"
    )
    workspace = Workspace("/project", Config())
    workspace.set_text(path, text)
    here = workspace.findings(path)
    assert {item.rule for item in here} == {"mutable-capture", "stale-capture"}
    titles = [item.title for item in actions.actions(workspace, path, here[0].range, Situation("off"))]
    assert titles.count("Pass `limits` as an argument") == 1
    assert {title for title in titles if title.startswith("Ignore")} == {
        "Ignore `mutable-capture` on this line",
        "Ignore `stale-capture` on this line",
    }
