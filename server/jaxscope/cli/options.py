"""The command line's grammar: commands and their options, without what they do."""

from __future__ import annotations

import argparse
import os
import sys

import jaxscope
from jaxscope.config import ConfigError, parse_size
from jaxscope.rules.finding import SEVERITIES

STAGES = ("signature", "jaxpr", "stablehlo", "constants")


def parser() -> argparse.ArgumentParser:
    """The parser of all commands. `options.command` is the one given."""
    top = argparse.ArgumentParser(
        prog="jaxscope",
        description="Shows what JAX makes of your functions: captured arrays, traced programs, timings.",
    )
    top.add_argument("--version", action="version", version=f"jaxscope {jaxscope.__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _check(commands.add_parser("check", help="report findings in files and folders"))
    _fix(commands.add_parser("fix", help="apply a rule's fixes"))
    _show(commands.add_parser("show", help="print one stage of one function"))
    _time(commands.add_parser("time", help="time the stages of one function"))
    _record(commands.add_parser("record", help="run a program as it is and record what it traces"))
    _explain(commands.add_parser("explain", help="print the documentation of a rule"))
    _serve(commands.add_parser("serve", help="run the language server"))
    return top


def _check(parser: argparse.ArgumentParser) -> None:
    _paths(parser)
    _format(parser)
    _tracing(parser, optional=True)
    _rules(parser)
    parser.add_argument(
        "--fail-level", choices=SEVERITIES, default="warning", help="least level that makes the exit status 1 (warning)"
    )
    parser.add_argument("--verbose", "-v", action="store_true", help="also print what tracing refuted, and why")
    parser.add_argument("--quiet", "-q", action="store_true", help="print findings only")


def _fix(parser: argparse.ArgumentParser) -> None:
    _paths(parser)
    parser.add_argument("--rule", metavar="RULE", required=True, help="fix findings of this rule")
    parser.add_argument("--function", metavar="QUALNAME", help="only findings of this traced function")
    parser.add_argument("--name", metavar="NAME", help="only findings about this name, as written in the finding")
    parser.add_argument("--diff", action="store_true", help="print a unified diff and write nothing")
    parser.add_argument("--unsafe", action="store_true", help="also apply fixes that may change what the program does")
    _format(parser)
    _tracing(parser, optional=True)
    parser.add_argument("--threshold", metavar="SIZE", type=_size, help="least size of a captured array (1MiB)")
    parser.add_argument("--quiet", "-q", action="store_true", help="print nothing but what was refused")


def _show(parser: argparse.ArgumentParser) -> None:
    _target(parser)
    parser.add_argument("--stage", choices=STAGES, default="signature", help="what to print (signature)")
    parser.add_argument("--hoisted", action="store_true", help="stablehlo: with the constants as leading arguments")
    _format(parser)
    _tracing(parser, optional=False)


def _time(parser: argparse.ArgumentParser) -> None:
    _target(parser)
    parser.add_argument("--compare", action="store_true", help="measure captured against hoisted")
    _format(parser)
    _tracing(parser, optional=False)


def _record(parser: argparse.ArgumentParser) -> None:
    parser.usage = "jaxscope record [OPTION...] SCRIPT [ARG...]\n       jaxscope record [OPTION...] -m MODULE [ARG...]"
    parser.add_argument("--python", metavar="PATH", help="interpreter that runs the program")
    _format(parser)
    parser.add_argument("--output", metavar="FILE", help="write the report to this file")
    parser.add_argument("--quiet", "-q", action="store_true", help="print no report")
    parser.add_argument("-m", dest="module", metavar="MODULE", nargs=argparse.REMAINDER, help="run a module")
    parser.add_argument("program", metavar="SCRIPT", nargs=argparse.REMAINDER, help="file to run, with its arguments")
    parser.set_defaults(run=[], timeout=None)


def _explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rule", metavar="RULE", help="name of a rule, `captured-array` for one")


def _serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tcp", metavar="PORT", type=int, help="listen on this port of the loopback interface")


def _paths(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="+", help="file or folder")


def _target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="FILE::QUALNAME", help="a function, `model.py::Net.forward` for one")


def _format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("text", "json"), default="text", help="output format (text)")


def _tracing(parser: argparse.ArgumentParser, *, optional: bool) -> None:
    if optional:
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--trace", action="store_true", default=None, help="import the files and trace functions")
        which.add_argument("--no-trace", dest="trace", action="store_false", help="run none of the user's code")
    else:
        parser.add_argument("--args", metavar="SIGNATURE", help="signature to use: 'f32[3,700], i32[]'")
    parser.add_argument(
        "--run",
        metavar="NAME",
        action="append",
        default=[],
        help="call this function of the file and use the calls it makes; may be given again",
    )
    parser.add_argument("--python", metavar="PATH", help="interpreter whose JAX is used")
    parser.add_argument("--devices", metavar="N", type=_count, help="simulate N CPU devices")
    parser.add_argument("--timeout", metavar="SECONDS", type=_seconds, help="limit for each worker")


def _rules(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threshold", metavar="SIZE", type=_size, help="least size of a captured array (1MiB)")
    parser.add_argument("--select", metavar="RULE,...", type=_list, help="only these rules")
    parser.add_argument("--ignore", metavar="RULE,...", type=_list, default=(), help="not these rules")


def _size(text: str) -> str:
    try:
        parse_size(text)
    except ConfigError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"not a number of devices: {text!r}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"not a number of seconds: {text!r}")
    return value


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def colour_wanted() -> bool:
    """Is standard output a terminal that wants colours?"""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
