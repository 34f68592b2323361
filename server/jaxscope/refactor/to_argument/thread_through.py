"""Threads a value through functions: a parameter at each, an argument at each call, up to where the value is visible.

Starting from one function, every use of it is followed: calls, aliases, transforms, `partial`, loops that take it as
their body. A caller that is itself compiled would capture the value again, so it is given the parameter too. A use
that cannot be followed refuses the whole change.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from jaxscope.refactor.program.compiled import Compiled
from jaxscope.refactor.program.contents import Contents
from jaxscope.refactor.program.flow import beside
from jaxscope.refactor.program.mentions import check_examples, check_exported, check_named
from jaxscope.refactor.program.names import File, identifiers, unused
from jaxscope.refactor.program.receivers import uses_of_attribute
from jaxscope.refactor.program.references import Files, Use
from jaxscope.refactor.program.transforms import Application, applied_by, decorated_by
from jaxscope.refactor.program.uses import given_to, is_own_method, is_steady, passes_through
from jaxscope.refactor.to_argument.annotated import annotated
from jaxscope.refactor.to_argument.as_array import as_array
from jaxscope.refactor.to_argument.concrete import Concreteness
from jaxscope.refactor.to_argument.contained import Contained
from jaxscope.refactor.to_argument.derivative_rules import take_rules
from jaxscope.refactor.to_argument.escapes import Escapes
from jaxscope.refactor.to_argument.sites import Form, Site, count_at, handed_over
from jaxscope.refactor.to_argument.value import Value, inside, known_of
from jaxscope.refactor.to_argument.visible import Visible
from jaxscope.refactor.writing.edits import Edits
from jaxscope.refactor.writing.layout import FunctionNode
from jaxscope.refactor.writing.options import OptionShift, takes_no_keyword
from jaxscope.refactor.writing.syntax import add_parameter, positional, required
from jaxscope.refactor.writing.syntax import replace as replaced
from jaxscope.semantics.names.scopes import Read, Scope
from jaxscope.semantics.vocabulary import CUSTOM_DERIVATIVES, DERIVATIVE_RULES

_HARMLESS = frozenset(["__name__", "__qualname__", "__doc__", "__module__", "clear_cache", "_cache_size"])


class Threading:
    """One change under construction. `by_keyword`: new parameters are keyword-only."""

    def __init__(
        self, files: Files, compiled: Compiled, value: Value, by_keyword: bool, edits: Edits | None = None
    ) -> None:
        self.files = files
        self.compiled = compiled
        self.value = value
        self.by_keyword = by_keyword
        self.edits = edits if edits is not None else Edits()
        self.sites: list[Site] = []
        self.parameters: dict[FunctionNode, str] = {}
        self.chosen: dict[FunctionNode, str] = {}
        """Names that parameters must have."""
        self._aliases: dict[tuple[int, str], Form] = {}
        self._known: dict[tuple[int, str], set[ast.AST]] = {}
        self._scopes: dict[tuple[int, str], tuple[File, Scope]] = {}
        self.visible = Visible(files, value, self.edits)
        self.contained = Contained(self)

    # ------------------------------------------------------------ functions

    def run(self, file: File, *nodes: FunctionNode) -> None:
        """Threads the value through `nodes` and all callers that need it. Raises Refused."""
        for node in nodes:
            self.thread(file, node)
        done = 0
        while done < len(self.sites):
            site = self.sites[done]
            done += 1
            self._reach(site)
        for site in self.sites:
            self._hand_over(site)
        self._check_names()
        self.contained.check()

    def thread(self, file: File, node: FunctionNode) -> None:
        """Gives the function the parameter, and follows its uses."""
        if node in self.parameters:
            return
        scope = file.scope(node)
        assert scope.parent is not None
        if scope.parent.kind == "class":
            reason = "would need the parameter too, and it is a method, whose calls by objects are not followed"
            raise file.refuse(f"`{scope.qualname}` {reason}.", node)
        if not isinstance(node, ast.Lambda):
            check_named(self.files, file, node.name, scope.parent)
            check_examples(self.files, file, node.name, scope.parent)
        name = self.take(file, node)
        index = None if self.by_keyword else required(node)
        written = name if self.value.new else annotated(file, node, name, known_of(self.files, self.value))
        self.edits.add(file, add_parameter(file.layout, node, written, index))
        parameters = positional(node)
        others = [*node.args.kwonlyargs, *filter(None, (node.args.vararg, node.args.kwarg))]
        named = index is None or index >= len(node.args.posonlyargs)
        form = Form(
            index,
            name if named else None,
            tuple(arg.arg for arg in parameters),
            not node.args.defaults and not others,
        )
        self._follow_function(file, node, form)

    def take(self, file: File, node: FunctionNode) -> str:
        """Reads in the function mean a name of its own from now on, which is answered."""
        name = self.parameters[node] = self._parameter_name(file, node)
        self._replace_reads(file, node, name)
        return name

    def _parameter_name(self, file: File, node: FunctionNode) -> str:
        if node in self.chosen:
            return self.chosen[node]
        wanted = self.value.title
        if not self.value.links and file is self.value.file and self._free_of(file.scope(node), wanted):
            return wanted
        return unused(wanted, identifiers(node))

    def _free_of(self, scope: Scope, name: str) -> bool:
        """May a parameter `name` of this scope stand for the outer variable of that name?"""
        return all(
            name not in around.bindings and name not in around.globals and name not in around.nonlocals
            for around in scope.walk()
        )

    def _replace_reads(self, file: File, node: FunctionNode, name: str) -> None:
        if file is not self.value.file:
            return
        reads = [read for read in self.value.reads() if inside(read.scope, file.scope(node))]
        self._check_reads(file, reads)
        for read in reads:
            whole = self.value.node(read)
            if file.layout.source(whole) != name:
                if not self._free_between(read.scope, node, file, name):
                    raise file.refuse(f"`{name}` means something else here.", read.node)
                self.edits.add(file, [replaced(file.layout, whole, name)])

    def _check_reads(self, file: File, reads: list[Read]) -> None:
        """Raises Refused where a read needs the value's elements while tracing."""
        value = self.value
        mask = not value.links and Contents(self.files).mask(file, value.home, value.root)
        concrete = Concreteness(self.files, file, value.text, None if value.new else known_of(self.files, value), mask)
        for read in reads:
            concrete.check(value.node(read))

    def _free_between(self, scope: Scope, node: FunctionNode, file: File, name: str) -> bool:
        return all(name not in s.bindings for s in scope.around() if inside(s, file.scope(node)))

    def _follow_function(self, file: File, node: FunctionNode, form: Form) -> None:
        if isinstance(node, ast.Lambda):
            self.follow(Use(file, node), form)
            return
        home = file.scope(node).parent
        assert home is not None
        applications: list[Application] = []
        for decorator in reversed(node.decorator_list):
            application = decorated_by(file, decorator)
            if application is not None:
                applications.append(application)
                form = self._after(application, form)
            elif not passes_through(self.files, file, decorator):
                raise file.refuse(f"The decorator `{ast.unparse(decorator)}` may depend on the signature.", decorator)
        sites = self._follow_name(file, home, node.name, form, node)
        count = count_at(sites, form)
        for application in applications:
            self._shift(file, application, form, count)

    # ------------------------------------------------------------ uses

    def _follow_name(self, file: File, home: Scope, name: str, form: Form, binding: ast.AST) -> list[Site]:
        """Follows every use of a name that holds the callable."""
        key = (id(home), name)
        self._known.setdefault(key, set()).add(binding)
        self._scopes[key] = (file, home)
        if key in self._aliases:
            if self._aliases[key] != form:
                raise file.refuse(f"`{name}` holds functions of different signatures.", binding)
            return []
        self._aliases[key] = form
        check_named(self.files, file, name, home)
        check_examples(self.files, file, name, home)
        if home is file.top:
            check_exported(self.files, file, name)
        sites: list[Site] = []
        for use in self.files.of_name(file, home, name):
            sites += self.follow(use, form)
        return sites

    def follow(self, use: Use, form: Form) -> list[Site]:
        """Follows one expression that means the callable; answers where it is called."""
        file, node = use.file, use.node
        parent = file.parents[node]
        if isinstance(parent, ast.Call) and parent.func is node:
            return self.site(Site(file, parent, form))
        if isinstance(parent, ast.keyword):
            parent = file.parents[parent]
        if isinstance(parent, ast.Call):
            return self._given(use, parent, form)
        if isinstance(parent, ast.Assign | ast.AnnAssign | ast.NamedExpr) and parent.value is node:
            targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
            if len(targets) == 1 and isinstance(targets[0], ast.Attribute | ast.Subscript):
                kept = f"The function is kept in `{ast.unparse(targets[0])}`, so that its calls cannot be seen."
                return self._bound(use, form, kept)
            sites = [site for target in targets for site in self.assigned(file, target, form)]
            return sites + (self.follow(Use(file, parent), form) if isinstance(parent, ast.NamedExpr) else [])
        if isinstance(parent, ast.Attribute):
            return self._attribute(file, parent, form)
        if isinstance(parent, ast.Expr):
            return []
        target = beside(file, parent, node)
        if target is not None:
            return self.assigned(file, target, form)
        if isinstance(parent, ast.List | ast.Tuple) and isinstance(file.parents[parent], ast.Call):
            given = given_to(file, file.parents[parent], parent)  # branches of a switch
            if given is not None and given.kind == "body":
                return self.site(Site(file, node, form, forward=True))
        return self._bound(use, form, f"`{_short(file, node)}` {_fate(parent)}, so that its calls cannot be seen.")

    def _bound(self, use: Use, form: Form, otherwise: str) -> list[Site]:
        """The callable is stored or returned: bound there if it is only called afterwards, else its calls change."""
        file, node, changes = use.file, use.node, self.value.changes
        named = form.keyword is not None and (form.index is None or form.exact or not self.by_keyword)
        if (form.exact if changes else named) and Escapes(self.files, self.compiled).only_called(use):
            if changes and is_steady(file, node):
                return self.site(Site(file, node, form, forward=True))
            if changes:
                sites = self._taken_out(use, form)
                if sites is None:
                    raise file.refuse(f"`{self.value.text}` would be bound once, where the function is stored.", node)
                return sites
            if form.index is not None and not form.exact:
                raise file.refuse(otherwise, node)  # it can be bound once the parameter is given by name only
            self.visible.check_made(file, node)
            return self.site(Site(file, node, form, bind=True))
        sites = self._taken_out(use, form)
        if sites is None:
            raise file.refuse(otherwise, node)
        return sites

    def _taken_out(self, use: Use, form: Form) -> list[Site] | None:
        """Follows the callable to where it is taken out of what it is stored in; None where that cannot be seen."""
        stored = use.file.parents[use.node]
        target = stored.targets[0] if isinstance(stored, ast.Assign) else None
        if not isinstance(target, ast.Attribute):
            return self.contained.sites(use, form)
        uses = uses_of_attribute(self.files, use.file, target)
        return None if uses is None else [site for each in uses for site in self.follow_kept(each, form)]

    def follow_kept(self, use: Use, form: Form) -> list[Site]:
        """Follows the callable as an attribute of an object."""
        return self.follow(use, form)

    def assigned(self, file: File, target: ast.expr, form: Form) -> list[Site]:
        if not isinstance(target, ast.Name):
            raise file.refuse(
                f"The function is kept in `{ast.unparse(target)}`, so that its calls cannot be seen.", target
            )
        scope = file.scope_of(target).owner()
        home = file.lookup(scope, target.id)
        assert home is not None
        if home.kind == "class":
            raise file.refuse("The function is kept in a class, so that its calls cannot be seen.", target)
        return self._follow_name(file, home, target.id, form, target)

    def _attribute(self, file: File, node: ast.Attribute, form: Form) -> list[Site]:
        parent = file.parents[node]
        if node.attr in _HARMLESS:
            return []
        if node.attr in DERIVATIVE_RULES:
            take_rules(self, file, node, form)
            return []
        if isinstance(parent, ast.Call) and parent.func is node and node.attr in ("eval_shape", "lower", "trace"):
            after = file.parents[parent]
            compiled = isinstance(after, ast.Attribute) and after.attr == "compile"
            if node.attr == "eval_shape" or (isinstance(after, ast.Attribute) and not compiled):
                return self.site(Site(file, parent, form))
        raise file.refuse(f"`.{node.attr}` of the function is used here.", node)

    def _given(self, use: Use, call: ast.Call, form: Form) -> list[Site]:
        """The callable is an argument of a call."""
        file, node = use.file, use.node
        given = given_to(file, call, node)
        if given is None:
            reason = f"is given to `{_short(file, call.func)}`, whose use of it cannot be seen."
            return self._bound(use, form, f"`{_short(file, node)}` {reason}")
        if given.kind == "call" and is_own_method(self.files, file, call):
            raise file.refuse(f"It cannot be seen what `{_short(file, call.func)}` does with the function.", node)
        if given.kind == "call":
            return self.site(Site(file, call, form if given.keywords else replace(form, keyword=None), given.first))
        if given.kind == "body":
            by_name = form.keyword is not None and (form.index is None and not form.exact)
            if given.kept == "elsewhere" or (given.kept and not is_steady(file, node)):
                by_name = form.keyword is not None and (form.index is None or form.at_end)
                if not by_name:
                    raise file.refuse("The function is called later than it is given here.", node)
            if given.kept and by_name:
                self.visible.check_made(file, node)
            return self.site(Site(file, node, form, forward=not by_name, bind=by_name))
        if given.kind == "partial":
            return self._partial(file, call, form)
        application = applied_by(file, call, node)
        assert application is not None
        after = self._after(application, form)
        sites = self.follow(Use(file, call), after)
        self._shift(file, application, form, count_at(sites, form))
        return sites

    def _shift(self, file: File, application: Application, form: Form, count: int | None) -> None:
        """Adapts the options of a transform to the new parameter."""
        rules = application.transform.name in CUSTOM_DERIVATIVES and form.at_end  # see `derivative_rules`
        shift = OptionShift(self.files, file, application, form.index, count=count, rules=rules)
        self.edits.add(file, shift.edits())

    def _after(self, application: Application, form: Form) -> Form:
        """The form of a transformed function."""
        form = replace(form, anew=application.transform) if application.transform.static_numbers else form
        return replace(form, keyword=None) if takes_no_keyword(application) else form

    def _partial(self, file: File, call: ast.Call, form: Form) -> list[Site]:
        bound = call.args[1:]
        if any(isinstance(arg, ast.Starred) for arg in bound) or any(keyword.arg is None for keyword in call.keywords):
            raise file.refuse("`partial` binds arguments that cannot be counted.", call)
        if form.index is not None and len(bound) > form.index:
            raise file.refuse("`partial` binds by position what comes after the new argument.", call)
        given = {keyword.arg for keyword in call.keywords}
        names = tuple(name for name in form.names[len(bound) :] if name not in given)
        index = None if form.index is None else form.index - len(bound)
        if index is not None and given & set(form.names[: form.index]):
            index = None  # what follows a parameter that is bound by name can be given by name only
        if index is None and form.keyword is None:
            raise file.refuse("The new argument can be given neither by position nor by name here.", call)
        return self.follow(Use(file, call), replace(form, index=index, names=names))

    def site(self, site: Site) -> list[Site]:
        if site.forward and not site.form.exact:
            raise site.file.refuse("A function that adds the argument cannot be written for this signature.", site.node)
        self.sites.append(site)
        return [site]

    # ------------------------------------------------------------ handing over

    def _reach(self, site: Site) -> None:
        """Threads the value through the function around a site, when that would capture it again."""
        scope = site.file.scope_of(site.node)
        if self._parameter_at(scope) is not None:
            return
        below = self.value.home if site.file is self.value.file else site.file.top
        if not inside(scope, below):
            raise site.file.refuse(f"`{self.value.text}` cannot be seen from this call.", site.node)
        node = self.compiled.outermost(site.file, scope, below)
        if node is not None:
            self.thread(site.file, node)

    def _parameter_at(self, scope: Scope) -> str | None:
        for around in scope.around():
            if around.is_function and around.function_node in self.parameters:
                return self.parameters[around.function_node]
        return None

    def _text_at(self, site: Site) -> str:
        scope = site.file.scope_of(site.node)
        name = self._parameter_at(scope)
        if name is None:
            text, anew = self.visible.text(site.file, scope, site.node), site.form.anew
            return as_array(self.files, self.value, (site.file, site.node), text, anew, self.edits) if anew else text
        for around in scope.around():
            if around.is_function and around.function_node in self.parameters:
                break
            if name in around.bindings:
                raise site.file.refuse(f"`{name}` means something else here.", site.node)
        return name

    def _hand_over(self, site: Site) -> None:
        self.edits.add(site.file, handed_over(site, self._text_at(site)))

    # ------------------------------------------------------------ checks

    def _check_names(self) -> None:
        """Every binding of a name that holds the function must be one that was followed."""
        for key, known in self._known.items():
            file, home = self._scopes[key]
            for binding in file.bindings(home, key[1]):
                if binding.node not in known:
                    raise file.refuse(f"`{key[1]}` is also bound to something else here.", binding.node)


def _short(file: File, node: ast.AST) -> str:
    if isinstance(node, ast.Lambda):
        return "the lambda"
    text = ast.unparse(node)
    return text if len(text) <= 60 else text[:57] + "…"


def _fate(parent: ast.AST) -> str:
    if isinstance(parent, ast.Return | ast.Yield | ast.YieldFrom):
        return "is returned"
    if isinstance(parent, ast.List | ast.Tuple | ast.Set | ast.Dict):
        return "is stored in a container"
    return "is used as a value"
