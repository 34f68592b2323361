"""What `show` and `time` share: running a file and finding the function that is meant in what was traced."""

from __future__ import annotations

import argparse
import ast
from dataclasses import dataclass

from jaxscope.cli.engine import Group, groups, said
from jaxscope.cli.problem import Problem
from jaxscope.cli.targets import Target, shown_path, split_target
from jaxscope.worker.jaxscope_worker.wire.messages import TracedFunction, TraceRequest
from jaxscope.workers.pool import Session


@dataclass
class Chosen:
    """A function with the signatures that it was traced under, and the worker that holds them."""

    group: Group
    request: TraceRequest
    device: bool
    session: Session
    path: str
    name: str
    traced: tuple[TracedFunction, ...]
    """The one to show first comes first; never empty."""

    def again(self) -> Session:
        """The same in another worker, in which what was traced has the same ids. Raises Problem."""
        return self.group.open(self.request, device=self.device)

    def close(self) -> None:
        """Ends the worker."""
        self.group.close()


def choose(options: argparse.Namespace, *, device: bool = False) -> Chosen:
    """Runs the file of `FILE::QUALNAME`. Raises Problem when the function was not traced."""
    path, name = split_target(options.target)
    group = groups([Target(path, True, True)], options)[0]
    try:
        request = group.request(path, name, options.args)
        session = group.open(request, device=device)
        traced = _find(group, path, name, options.args)
        if not traced:
            raise Problem(_why_not(session, group, path, name))
    except BaseException:
        group.close()
        raise
    return Chosen(group, request, device, session, path, traced[0].function, traced)


def _find(group: Group, path: str, name: str, args: str | None) -> tuple[TracedFunction, ...]:
    """Its signatures; only the one given by hand where there is one."""
    known = group.workspace.functions(path)
    facts = next((item for item in known if item.name == name), None)
    if facts is None:
        lines = _lambda_lines(group, path, name)
        ends = [item for item in known if item.name.rpartition(".")[2] == name or item.line in lines]
        facts = ends[0] if len(ends) == 1 else None
    if facts is None:
        return ()
    given = tuple(item for item in facts.traced if item.origin == "--args")
    return (given or facts.traced) if args is None or given else ()


def _lambda_lines(group: Group, path: str, name: str) -> set[int]:
    """Lines of the lambdas in what is assigned to `name`: `h = jax.jit(lambda x: x + 1)`."""
    model = group.workspace.model(path)
    tree = model.module.tree if model else None
    assigned = [each for each in tree.body if isinstance(each, ast.Assign)] if tree else []
    return {
        node.lineno
        for each in assigned
        if any(isinstance(target, ast.Name) and target.id == name for target in each.targets)
        for node in ast.walk(each.value)
        if isinstance(node, ast.Lambda)
    }


def _why_not(session: Session, group: Group, path: str, name: str) -> str:
    reply, ran = session.evidence.reply, session.evidence.hello
    for item in reply.not_traced:
        if item.path == path and item.function == name:
            return f"{name} was not traced: {said(item.failure, ran) if item.failure else item.reason}"
    if reply.failure:
        return f"{shown_path(path)} did not run to its end: {said(reply.failure, ran)}"
    model = group.workspace.model(path)
    if model is not None and model.function(name) is None:
        traced = ", ".join(item.name for item in group.workspace.functions(path) if item.traced)
        return f"{shown_path(path)} has no function {name}" + (f" (traced: {traced})" if traced else "")
    return f"no shapes are known for {name}: use --run, --args, or a comment `# jaxscope: f32[3,700]` above its def"
