"""Compiles a method once for each object, in `__init__`, instead of anew wherever it is called."""

from __future__ import annotations

import ast

from jaxscope.refactor.change import Refused
from jaxscope.refactor.program.names import File
from jaxscope.refactor.program.references import Files
from jaxscope.refactor.writing.edits import Edits
from jaxscope.refactor.writing.syntax import insert_after, replace, starts_own_line
from jaxscope.semantics.retracing.rebuilt import Rebuilt
from jaxscope.semantics.vocabulary import MUTATING
from jaxscope.text.edit import SourceChange
from jaxscope.text.span import Range


def is_of_self(one: Rebuilt) -> bool:
    """Is it `jit(self.method)`, called where it is made?"""
    call = one.node
    return (
        isinstance(call, ast.Call)
        and one.transform == "jit"
        and one.fresh.kind == "bound method"
        and one.fresh.node in call.args[:1]
        and isinstance(one.fresh.node, ast.Attribute)
        and isinstance(one.fresh.node.value, ast.Name)
        and one.scope.parent is not None
        and one.scope.parent.kind == "class"
    )


def change(files: Files, path: str, place: Range) -> SourceChange:
    """Keeps the compiled method as an attribute. Raises Refused."""
    file = files.get(path)
    start = file.module.lines.offset(place.start)
    calls = [node for node in file.nodes if isinstance(node, ast.Call) and file.layout.start(node) == start]
    call = next((node for node in calls if _method_of_self(node) is not None), None)
    if call is None:
        raise Refused("It is not `jit` of a method of `self`.", path, place.start.line)
    method = _method_of_self(call)
    assert method is not None and isinstance(method.value, ast.Name)
    _function, cls = _around(file, call, method.value.id)
    _check_class(files, file, cls)
    for name in _read(file, cls, method.attr, call):
        _check_attribute(files, file, cls, name)
    init = _init(file, cls)
    own = init.args.args[0].arg
    name = next(n for n in (f"_{method.attr.lstrip('_')}" + "_jit" * k for k in range(1, 9)) if not files.mentioning(n))
    made = f"{own}.{name} = {_rewritten(file, call, method, own)}"
    edits = Edits()
    edits.add(file, insert_after(file.layout, init.body[-1], made))
    edits.add(file, [replace(file.layout, call, f"{method.value.id}.{name}")])
    return edits.change()


def _method_of_self(call: ast.Call) -> ast.Attribute | None:
    given = call.args[0] if len(call.args) == 1 else None
    found = isinstance(given, ast.Attribute) and isinstance(given.value, ast.Name)
    return given if found and isinstance(given, ast.Attribute) else None


def _rewritten(file: File, call: ast.Call, method: ast.Attribute, own: str) -> str:
    """The call of `jit` as it stands, with the name that the object has in `__init__`."""
    if any(not isinstance(key.value, ast.Constant | ast.Tuple) for key in call.keywords):
        raise file.refuse("Its options are not written out.", call)
    text, first = file.layout.source(call), file.layout.start(call)
    if "\n" in text or "\r" in text:
        raise file.refuse("The call of `jit` is on several lines.", call)
    at, end = file.layout.start(method.value) - first, file.layout.end(method.value) - first
    return text[:at] + own + text[end:]


def _around(file: File, call: ast.Call, name: str) -> tuple[ast.FunctionDef, ast.ClassDef]:
    function = next((one for one in file.around(call) if isinstance(one, ast.FunctionDef | ast.Lambda)), None)
    cls = file.parents.get(function) if function is not None else None
    if not isinstance(function, ast.FunctionDef) or not isinstance(cls, ast.ClassDef):
        raise file.refuse("It does not stand in a method itself.", call)
    if function.decorator_list or not function.args.args or function.args.args[0].arg != name:
        raise file.refuse(f"`{name}` is not the object that the method belongs to.", call)
    return function, cls


def _check_class(files: Files, file: File, cls: ast.ClassDef) -> None:
    """Only an ordinary class whose objects all go through the `__init__` that is to be seen."""
    plain = all(isinstance(base, ast.Name) and base.id == "object" for base in cls.bases)
    if cls.decorator_list or cls.keywords or not plain:
        raise file.refuse(f"Objects of `{cls.name}` may be made otherwise than by its `__init__`.", cls)
    special = ("__slots__", "__setattr__", "__getattr__", "__getstate__", "__new__", "__hash__", "__eq__")
    for statement in cls.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        names = [getattr(statement, "name", ""), *(getattr(target, "id", "") for target in targets)]
        if any(name in special for name in names):
            raise file.refuse(f"`{cls.name}` has a say in what its objects keep.", statement)
    for other in files.mentioning(cls.name):
        for node in other.nodes:
            if isinstance(node, ast.ClassDef) and any(cls.name in ast.unparse(base) for base in node.bases):
                raise other.refuse(f"`{node.name}` is a kind of `{cls.name}` and may not call its `__init__`.", node)


def _init(file: File, cls: ast.ClassDef) -> ast.FunctionDef:
    init = next((one for one in cls.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
    if init is None or init.decorator_list or not init.args.args:
        raise file.refuse(f"`{cls.name}` has no `__init__` to compile it in.", cls)
    if any(isinstance(node, ast.Return) for node in ast.walk(init)) or not starts_own_line(file.layout, init.body[-1]):
        raise file.refuse("`__init__` may be left before its end.", init)
    return init


def _read(file: File, cls: ast.ClassDef, method: str, call: ast.Call) -> list[str]:
    """Attributes of the object that the method reads, and methods of it that it calls, and so on."""
    methods = {one.name: one for one in cls.body if isinstance(one, ast.FunctionDef)}
    waiting, found = [method], dict[str, None]()
    for name in waiting:
        node = methods.get(name)
        if node is None or node.decorator_list or not node.args.args:
            raise file.refuse(f"`{name}` is not a plain method of `{cls.name}`.", call)
        own = node.args.args[0].arg
        linked = set()
        for one in ast.walk(node):
            if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id == own:
                linked.add(one.value)
                if one.attr not in methods:
                    found[one.attr] = None
                elif one.attr not in waiting:
                    waiting.append(one.attr)
        if any(isinstance(one, ast.Name) and one.id == own and one not in linked for one in ast.walk(node)):
            raise file.refuse(f"`{name}` hands `{own}` on as a whole.", node)
    return list(found)


def _check_attribute(files: Files, file: File, cls: ast.ClassDef, name: str) -> None:
    """Is it set in `__init__` alone, and never changed in place?"""
    init = _init(file, cls)
    for other, store in files.attribute_stores(name):
        if init not in other.around(store):
            raise other.refuse(f"`{name}` may be set after the method was compiled.", store)
    for use in files.of_attribute(name):
        parent = use.file.parents.get(use.node)
        stored = isinstance(parent, ast.Subscript | ast.Attribute) and not isinstance(parent.ctx, ast.Load)
        if stored or (isinstance(parent, ast.Attribute) and parent.attr in MUTATING):
            raise use.file.refuse(f"`{name}` may be changed after the method was compiled.", use.node)
    for word in ("setattr", "__dict__", "vars"):
        for other in files.mentioning(word):
            raise other.refuse(f"`{word}` may set `{name}` later.", other.tree)
