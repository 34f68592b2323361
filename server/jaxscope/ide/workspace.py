"""The state that every editor feature reads: texts, the facts of each file, and what traces showed of it.

Nothing here blocks or runs user code. Evidence is set by whoever owns the workers; features only look.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from jaxscope.config import Config
from jaxscope.ide.functions import FunctionFacts, facts_of
from jaxscope.ide.remap import LineMap, Remap, statement_lines
from jaxscope.ide.signatures import SOURCES, doubt, ranked
from jaxscope.refactor.change import Refusal
from jaxscope.rules.base import Context, Judgement, judge
from jaxscope.rules.finding import Finding
from jaxscope.semantics.compiled.givers import bound_at
from jaxscope.semantics.model import FileModel, Function
from jaxscope.semantics.project import Project
from jaxscope.text.edit import SourceChange
from jaxscope.tracing.evidence import Evidence
from jaxscope.tracing.recorded_runs import Seen
from jaxscope.tracing.recordings import Recordings, recordings_for
from jaxscope.worker.jaxscope_worker.wire.messages import Constant, TracedFunction, TraceReply

_SURER = SOURCES[:3]
"""Those that a recorded run does not know better."""


@dataclass(slots=True)
class _Traced:
    evidence: Evidence
    texts: dict[str, str]
    jaxprs: dict[str, str]
    carried: _Carried | None = None


@dataclass(frozen=True, slots=True)
class _Carried:
    generation: int
    reply: TraceReply
    """Moved to the present texts."""
    remap: Remap
    changed: dict[str, tuple[int, ...]]
    """The lines changed since, by path."""


@dataclass(frozen=True, slots=True)
class LastTrace:
    """What was traced of a function before its lines were edited."""

    evidence: Evidence
    traced: tuple[TracedFunction, ...]
    """One a signature, the one to show first."""


@dataclass(slots=True)
class _Cache:
    generation: int = -1
    judgement: Judgement | None = None
    facts: tuple[FunctionFacts, ...] | None = None
    recorded: tuple[Evidence | None] | None = None
    """None: not worked out yet."""
    plans: dict[Finding, SourceChange | Refusal] = field(default_factory=dict)


@dataclass(slots=True)
class Workspace:
    """The files of one project folder. Not thread-safe: the server's own thread uses it."""

    root: str
    config: Config
    on_fault: Callable[[str, Exception], None] | None = None
    """Told of a mistake of a rule in a file, which is then as without findings; where there is none, it is raised."""
    project: Project = field(init=False)
    _generation: int = 0
    _open: dict[str, None] = field(default_factory=dict)
    _traced: dict[str, _Traced] = field(default_factory=dict)
    _cache: dict[str, _Cache] = field(default_factory=dict)
    _recordings: dict[str, Recordings | None] = field(default_factory=dict)
    """By path; an edit does not look at the disk."""

    def __post_init__(self) -> None:
        self.project = Project(self.root)

    def configure(self, config: Config) -> None:
        """Takes other settings."""
        self.config = config
        self.touch()

    def touch(self) -> None:
        """Says that something outside of the texts, such as a rule's level, has changed."""
        self._generation += 1

    def reload(self, path: str) -> None:
        """A file changed on disk; open documents count as their editor has them."""
        self.project.model(path)  # asking is what makes the project drop what it worked out from the old text
        self.touch()

    def set_text(self, path: str, text: str) -> None:
        """The text of a document that is open in the editor."""
        self.project.set_text(path, text)
        self._open[path] = None
        self.touch()

    def forget(self, path: str) -> None:
        """The document was closed: what is on disk counts again. Its evidence stays."""
        self.project.forget(path)
        self._open.pop(path, None)
        self.reload(path)

    def open_texts(self) -> dict[str, str]:
        """The texts of the documents that are open in the editor, by path."""
        return {path: text for path in self._open if (text := self.text(path)) is not None}

    def text(self, path: str) -> str | None:
        """The present text of a file, None when there is none."""
        module = self.project.module(path)
        return module.text if module else None

    def model(self, path: str) -> FileModel | None:
        """The static facts of a file."""
        return self.project.model(path)

    def texts(self, evidence_of: str, imported: tuple[str, ...] = ()) -> dict[str, str]:
        """The present texts of a file and of what it imports, to be given to `set_evidence` after a trace."""
        paths = dict.fromkeys((evidence_of, *imported))
        return {path: text for path in paths if (text := self.text(path)) is not None}

    def set_evidence(
        self,
        path: str,
        evidence: Evidence | None,
        texts: Mapping[str, str] | None = None,
        jaxprs: Mapping[str, str] | None = None,
    ) -> None:
        """What a trace of `path` showed; None forgets it.

        `texts` are the texts that were traced, where they may differ from the present ones. `jaxprs` holds the
        printed jaxprs by `TracedFunction.id`, as far as they were fetched.
        """
        self.touch()
        if evidence is None:
            self._traced.pop(path, None)
            return
        known = self.texts(path, evidence.reply.imported) | dict(texts or {})
        self._traced[path] = _Traced(evidence, known, dict(jaxprs or {}))

    def evidence(self, path: str) -> Evidence | None:
        """The last trace of a file as it was, whatever the text is now."""
        traced = self._traced.get(path)
        return traced.evidence if traced else None

    def evidence_of(self, path: str, function: str) -> Evidence | None:
        """The trace that showed a function of a file, be it of a file that imports it."""
        return self.evidence(self.witness(path, function))

    def jaxpr(self, path: str, shown: TracedFunction) -> str | None:
        """The printed jaxpr of a traced function of a file, as far as it was fetched."""
        traced = self._traced.get(self.witness(path, shown.function))
        return traced.jaxprs.get(shown.id) if traced else None

    def recorded(self, path: str) -> Evidence | None:
        """What recorded runs show of the present text of a file."""
        cache = self._cached(path)
        if cache.recorded is None:
            recordings = self._recordings_for(path)
            cache.recorded = (recordings.evidence(path, self.project) if recordings else None,)
        return cache.recorded[0]

    def recorded_run(self, shown: TracedFunction) -> Seen | None:
        """What the last run that traced a function under this signature counted."""
        recordings = self._recordings_for(shown.path)
        return recordings.seen(shown) if recordings else None

    def recorded_names(self, path: str) -> frozenset[str]:
        """Qualified names of the functions that a recorded run gives signatures to trace with."""
        recordings, model = self._recordings_for(path), self.model(path)
        return (
            frozenset(item.function for item in recordings.signatures(model)) if recordings and model else frozenset()
        )

    def _recordings_for(self, path: str) -> Recordings | None:
        if path not in self._recordings:
            self._recordings[path] = recordings_for(path)
        return self._recordings[path]

    def look_for_recordings(self) -> tuple[str, ...]:
        """Reads what was recorded meanwhile. The open documents that there may be something new of."""
        before, self._recordings = self._recordings, {}
        changed = tuple(path for path in self._open if self._recordings_for(path) is not before.get(path))
        if changed:
            self.touch()
        return changed

    def reply(self, path: str) -> TraceReply | None:
        """What is known of a file's functions: from traces, and of those not traced here from recorded runs.

        Arguments that a run really had also replace a trace under implied or guessed ones.
        """
        traced, recorded = self.traces(path), self.recorded(path)
        if traced is None or recorded is None:
            return traced or (recorded.reply if recorded else None)
        sure = {_key(item) for item in traced.functions if item.path == path and item.source in _SURER}
        more = tuple(item for item in recorded.reply.functions if _key(item) not in sure)
        better = {_key(item) for item in more}
        kept = tuple(item for item in traced.functions if item.path != path or _key(item) not in better)
        # Counts of both stay: each is of a run of its own.
        return replace(traced, functions=kept + more, retraced=traced.retraced + recorded.reply.retraced)

    def traces(self, path: str) -> TraceReply | None:
        """The last trace of a file, moved to the present text; also what traces of other files showed of it."""
        own = self._carried(path) if path in self._traced else None
        others = [
            function
            for other in self._traced
            if other != path
            for function in self._carried(other).functions
            if function.path == path
        ]
        if own is None and not others:
            return None
        if own is None:
            return TraceReply(tuple(others), (), (), None, 0.0, (path,))
        known = {(item.function, item.line) for item in own.functions if item.path == path}
        more = tuple(item for item in others if (item.function, item.line) not in known)
        return replace(own, functions=own.functions + more) if more else own

    def witness(self, path: str, function: str) -> str:
        """The file whose trace showed a function of `path` as it is really called, as far as any did: that file itself,
        or one that imports it."""
        shown = [
            (doubt(item), other != path, other)
            for other in self._traced
            for item in self._carried(other).functions
            if (item.path, item.function) == (path, function)
        ]
        return min(shown, default=(0, False, path))[2]

    def bound(self, path: str, constant: Constant) -> tuple[str, int] | None:
        """Where a captured array of a traced function of `path` was bound, by the trace or else by the source."""
        if constant.bound:
            return constant.bound.path, constant.bound.line
        model = self.model(path)
        owner = model.function(constant.owner) if model else None
        place = bound_at(model, owner, constant.name) if model and owner and constant.name else None
        return (place.path, place.range.start.line) if place else None

    def stale_lines(self, path: str) -> tuple[int, ...]:
        """Lines of a file that were changed since its last trace, or else since that of a file that imports it."""
        for witness in self._witnesses(path):
            changed = self._moved(witness).changed
            if path in changed:
                return changed[path]
        return ()

    def last_trace(self, path: str, facts: FunctionFacts) -> LastTrace | None:
        """What the last trace showed of a function whose lines were edited since; None where nothing was."""
        if facts.traced or facts.not_traced:
            return None
        for witness in self._witnesses(path):
            evidence = self._traced[witness].evidence
            same = [item for item in evidence.reply.functions if (item.path, item.function) == (path, facts.name)]
            if len({item.line for item in same}) == 1:  # else which of several lambdas it was cannot be told
                remap = self._moved(witness).remap
                return LastTrace(evidence, tuple(remap.edited(item, facts.line) for item in ranked(same)))
        return None

    def _witnesses(self, path: str) -> list[str]:
        """The traced files, `path` first."""
        return sorted(self._traced, key=lambda other: other != path)

    def judgement(self, path: str) -> Judgement:
        """The findings in a file, by its source and by what traces showed."""
        cache = self._cached(path)
        if cache.judgement is None:
            cache.judgement = self._judge(path)
        return cache.judgement

    def findings(self, path: str) -> tuple[Finding, ...]:
        """The findings that stand in a file: its own, and those of known files whose compiled functions read there."""
        found: dict[tuple[object, ...], Finding] = {}
        for judged in (path, *filter(lambda other: self._may_use(other, path), self._known())):
            for one in self.judgement(judged).findings:
                key = (one.rule, one.range, one.name, one.function)
                if one.path == path and (key not in found or found[key].evidence == "static"):
                    found[key] = one
        return tuple(sorted(found.values(), key=lambda one: (one.range, one.rule, one.name)))

    def _known(self) -> dict[str, None]:
        return dict.fromkeys((*self._open, *self._traced))

    def _may_use(self, user: str, path: str) -> bool:
        """Does one file mention the other's module?"""
        folder, name = os.path.split(path)
        module = os.path.basename(folder) if name == "__init__.py" else name.removesuffix(".py")
        return user != path and module in (self.text(user) or "")

    def _judge(self, path: str) -> Judgement:
        try:
            model = self.model(path)
            context = Context(self.config, self.project)
            return judge(model, context, self.reply(path)) if model else Judgement((), ())
        except Exception as error:
            if self.on_fault is None:
                raise
            # A mistake of a rule must not take the lenses, hovers and traces of the file with it.
            self.on_fault(path, error)
            return Judgement((), ())

    def plans(self, path: str) -> dict[Finding, SourceChange | Refusal]:
        """Fixes of findings in a file that were planned already; forgotten with the next change of anything."""
        return self._cached(path).plans

    def functions(self, path: str) -> tuple[FunctionFacts, ...]:
        """The traced functions of a file in order, those that only a trace knows included."""
        cache = self._cached(path)
        if cache.facts is None:
            cache.facts = facts_of(path, self.model(path), self.reply(path), self.judgement(path).findings)
        return cache.facts

    def function(self, path: str, name: str) -> FunctionFacts | None:
        """One traced function by its qualified name."""
        return next((item for item in self.functions(path) if item.name == name), None)

    def function_at(self, path: str, line: int) -> FunctionFacts | None:
        """The innermost traced function around a line."""
        around = [
            item
            for item in self.functions(path)
            if item.top <= line <= (item.function.range.end.line if item.function else item.line)
        ]
        return max(around, key=lambda item: item.top, default=None)

    def _cached(self, path: str) -> _Cache:
        cache = self._cache.get(path)
        if cache is None or cache.generation != self._generation:
            cache = self._cache[path] = _Cache(self._generation)
        return cache

    def _carried(self, path: str) -> TraceReply:
        return self._moved(path).reply

    def _moved(self, path: str) -> _Carried:
        traced = self._traced[path]
        if traced.carried is None or traced.carried.generation != self._generation:
            maps = {}
            for file, old in traced.texts.items():
                new = self.text(file)
                if new is not None:
                    maps[file] = LineMap(old, new)
            remap = Remap(maps, self._functions_of, self._made_at)
            changed = {file: () if lines.same else lines.changed for file, lines in maps.items()}
            traced.carried = _Carried(self._generation, remap.reply(traced.evidence.reply), remap, changed)
        return traced.carried

    def _made_at(self, path: str, constant: Constant) -> tuple[str, range] | None:
        bound = self.bound(path, constant)
        module = self.project.module(bound[0]) if bound else None
        return (module.path, statement_lines(module, bound[1])) if bound and module else None

    def _functions_of(self, path: str) -> tuple[Function, ...]:
        model = self.model(path)
        return model.functions if model else ()


def _key(item: TracedFunction) -> tuple[str, int]:
    return item.function, item.line
