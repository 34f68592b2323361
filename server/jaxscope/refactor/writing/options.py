"""What an inserted parameter means for the options of a transform: positions shift, per-argument lists grow."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxscope.refactor.program.literals import Written
from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.program.transforms import Application
from jaxscope.refactor.writing.imports import imported
from jaxscope.refactor.writing.layout import Layout
from jaxscope.refactor.writing.syntax import add_keyword, insert_item
from jaxscope.semantics.vocabulary import CUSTOM_DERIVATIVES
from jaxscope.text.edit import Edit
from jaxscope.text.span import Span

_MAPPED = ("in_axes", "in_specs")
_FILL = {"in_axes": "None", "in_shardings": "None", "in_axis_resources": "None"}
_DIFFERENTIATED = ("argnums",)


class OptionShift:
    """A parameter inserted at `index` of the function that `application` transforms (None: given by keyword)."""

    def __init__(
        self,
        files: Files,
        file: File,
        application: Application,
        index: int | None,
        *,
        count: int | None,
        rules: bool = False,
    ) -> None:
        self.files = files
        self.file = file
        self.application = application
        self.index = index
        self.count = count
        """Positional arguments in the calls of the result, before the change; None where they differ."""
        self.rules = rules
        """Derivative rules of the function are taken care of."""
        self.layout: Layout = file.layout

    def edits(self) -> list[Edit]:
        """The edits of the options. Raises Refused where an option cannot be read, or no right value exists."""
        application, name = self.application, self.application.transform.name
        if name in CUSTOM_DERIVATIVES and not self.rules:
            raise self._refuse(f"`{_short(name)}` has derivative rules whose signature would have to change too.")
        if application.unclear is not None:
            raise self._refuse(f"An option of `{_short(name)}` is given in a way that cannot be read.")
        if self.index is None:
            self._check_keyword()
            return []
        edits = self._shifted(self.index) + self._abstracted(self.index)
        if edits and application.shared:
            raise self._refuse("The options are written for several functions.")
        return edits

    def _shifted(self, index: int) -> list[Edit]:
        application, name = self.application, self.application.transform.name
        edits: list[Edit] = []
        for option in application.transform.argnums:
            edits += self._positions(option, index)
        for option in application.transform.per_argument:
            edits += self._per_argument(option, index)
        if name in ("equinox.filter_grad", "equinox.filter_value_and_grad") and index == 0:
            raise self._refuse(f"`{_short(name)}` differentiates the first parameter.")
        return edits

    def _refuse(self, reason: str) -> Exception:
        return self.file.refuse(reason, self.application.result)

    def _check_keyword(self) -> None:
        if self.application.option("abstracted_axes") is not None and takes_no_keyword(self.application):
            raise self._refuse("With `abstracted_axes` no argument can be given by name.")
        for option in self.application.transform.per_argument:
            if option in _MAPPED or self.application.option(option) is not None:
                name = _short(self.application.transform.name)
                raise self._refuse(f"`{name}` with `{option}` takes no unmapped argument by name.")

    def _abstracted(self, index: int) -> list[Edit]:
        """No axis of the new argument is abstracted. Without an entry for each argument, one holds for all."""
        value = self.application.option("abstracted_axes")
        if value is None or (isinstance(value, ast.Constant) and value.value is None):
            return []
        written = Written(self.files, self.file, value)
        node = written.node
        if not isinstance(node, ast.Tuple) or not all(isinstance(entry, ast.Dict | ast.Tuple) for entry in node.elts):
            raise self._refuse("`abstracted_axes` is not written as one entry for each argument.")
        return written.edits(self._grown("abstracted_axes", node, index, "{}"))

    # ------------------------------------------------------------ positions

    def _positions(self, option: str, index: int) -> list[Edit]:
        value = self.application.option(option)
        if value is None:
            if option in _DIFFERENTIATED and index == 0:
                return add_option(self.file, self.application, f"{option}=1")
            return []
        if isinstance(value, ast.Constant) and value.value is None:
            return []
        written = Written(self.files, self.file, value)
        edits = []
        for node in self._numbers(option, written.node):
            number = ast.literal_eval(node)
            moved = self._moved(option, number, index)
            if moved != number:
                edits.append(Edit(self.layout.span(node), str(moved)))
        return written.edits(edits)

    def _numbers(self, option: str, value: ast.expr) -> Iterator[ast.expr]:
        for node in value.elts if isinstance(value, ast.Tuple | ast.List) else [value]:
            sign = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
            if not isinstance(sign, ast.Constant) or type(sign.value) is not int:
                raise self._refuse(f"`{option}` is not written as numbers, so that it cannot be shifted.")
            yield node

    def _moved(self, option: str, number: int, index: int) -> int:
        if number >= 0:
            return number + 1 if number >= index else number
        if self.count is None:
            raise self._refuse(f"`{option}` counts from the end, and the calls give different numbers of arguments.")
        # Counted from the beginning it is right also where a `partial` gives the new argument by name.
        return number if number + self.count >= index else number + self.count

    # ------------------------------------------------------------ one entry per argument

    def _per_argument(self, option: str, index: int) -> list[Edit]:
        name = self.application.transform.name
        if option not in _FILL and option != "in_specs":
            raise self._refuse(f"`{_short(name)}` takes its arguments in `{option}`.")
        value = self.application.option(option)
        if value is None or (option != "in_specs" and isinstance(value, ast.Constant) and value.value is None):
            return self._absent(option, value, index)
        written = Written(self.files, self.file, value)
        fill = self._replicated(written.node) if option == "in_specs" else _FILL[option]
        if isinstance(written.node, ast.Tuple | ast.List):
            return written.edits(self._grown(option, written.node, index, fill))
        if not self._one_for_all(option, written.node):
            raise self._refuse(f"`{option}` is not written as a tuple, so that it cannot grow.")
        entries = [self.layout.source(value)] * self._given(option, index)
        entries.insert(index, fill)
        return [Edit(self.layout.span(value), f"({', '.join(entries)})")]

    def _absent(self, option: str, value: ast.expr | None, index: int) -> list[Edit]:
        if option == "in_specs":
            raise self._refuse("`in_specs` is not given, so that it cannot grow.")
        if option not in _MAPPED or value is not None:
            return []
        if self.application.transform.name.startswith("equinox."):
            raise self._refuse("`in_axes` is not given, so that it cannot grow.")
        entries = ["0"] * self._given(option, index)
        entries.insert(index, "None")
        return add_option(self.file, self.application, f"in_axes=({', '.join(entries)})")

    def _grown(self, option: str, value: ast.Tuple | ast.List, index: int, fill: str) -> list[Edit]:
        starred = any(isinstance(element, ast.Starred) for element in value.elts)
        if starred or len(value.elts) < index or (self.count is not None and len(value.elts) != self.count):
            raise self._refuse(f"`{option}` does not have one entry for each argument.")
        items = self.layout.elements(value)
        edits = insert_item(self.layout, items, index, fill)
        if isinstance(value, ast.Tuple) and not value.elts:
            at = items.end
            edits.append(Edit(Span(at, at), ","))
        return edits

    def _one_for_all(self, option: str, value: ast.expr) -> bool:
        if option == "in_axes":
            return isinstance(value, ast.Constant | ast.UnaryOp)
        return isinstance(value, ast.Call)

    def _given(self, option: str, index: int) -> int:
        if self.count is None or self.count < index:
            raise self._refuse(f"The calls give different numbers of arguments, so that `{option}` cannot be written.")
        return self.count

    def _replicated(self, value: ast.expr) -> str:
        for node in ast.walk(value):
            if isinstance(node, ast.Call):
                name = self.file.dotted(node.func) or ""
                if name.endswith(".PartitionSpec") or name == "jax.P":
                    return f"{self.layout.source(node.func)}()"
        raise self._refuse("`in_specs` names no `PartitionSpec`, so that a replicated one cannot be written.")


def takes_no_keyword(application: Application) -> bool:
    """Does an option make JAX refuse arguments by name, or not give them to the function as they are?"""
    axes = application.option("abstracted_axes")
    mapped = any(option in _MAPPED for option in application.transform.per_argument)
    return mapped or (axes is not None and not (isinstance(axes, ast.Constant) and axes.value is None))


def add_option(file: File, application: Application, text: str) -> list[Edit]:
    """Writes one more option, `name=value`; a bare decorator becomes a `partial`."""
    decorator = application.result
    if application.shared:
        raise file.refuse("The options are written for several functions.", decorator)
    if application.options is not None:
        return add_keyword(file.layout, application.options, text)
    partial, imports = imported(file, decorator, "functools.partial")
    new = f"{partial}({file.layout.source(decorator)}, {text})"
    return [*imports, Edit(file.layout.span(decorator), new)]


def _short(name: str) -> str:
    return name.rpartition(".")[2]
