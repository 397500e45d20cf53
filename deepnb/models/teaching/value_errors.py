"""Why a line fails and how it is corrected, by the kind of the error: types, values, shapes, indexes, division by zero."""

import ast
import builtins
import re

from deepnb.models.teaching.corrections import Finding, names_in, none_finding, replaced
from deepnb.models.teaching.tracebacks import Failure

_WHOLE = re.compile(r"\s*[+-]?\d+\s*")
_DECIMAL = re.compile(r"\s*[+-]?\d*\.\d+\s*")
_COMMA = re.compile(r"\s*[+-]?\d+,\d{1,2}\s*")
_THOUSANDS = re.compile(r"\s*[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?\s*")


def zero_division(f: Failure) -> Finding | None:
    """A division by what is zero."""
    for node in ast.walk(f.tree()):
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod)):
            continue
        divisor, whole = ast.unparse(node.right), ast.unparse(node)
        known = [
            f.shown(name) for name in f.variables if re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.\[])", divisor)
        ]
        because = f": {' and '.join(known)}" if known else ""
        why = f"The divisor `{divisor}` is 0{because}."
        if whole not in f.text or isinstance(node.op, ast.Mod):
            return Finding(why, advice=f"Make sure that `{divisor}` is not 0 before this line.")
        alone = re.search(rf"(?:=|return)\s*{re.escape(whole)}\s*$", f.text)
        guarded = f"{whole} if {divisor} else 0"
        new = f.text.replace(whole, guarded if alone else f"({guarded})", 1)
        return Finding(f"{why} The correction gives 0 then; choose another value if 0 is wrong here.", {f.line: new})
    return None


def type_error(f: Failure) -> Finding | None:
    """A value of a type that does not fit, or a call with other arguments than a function takes."""
    return next((found for rule in _TYPES if (found := rule(f)) is not None), None)


def _unlike_operands(f: Failure) -> Finding | None:
    """`1 + "2"`, `"n: " + 3`, `max([1, "2"])`."""
    unsupported = re.search(r"(?:for|between instances of) [^:]*?:? ?'(\w+)' and '(\w+)'", f.message)
    joined = re.search(r"can only concatenate str \(not \"(\w+)\"\) to str", f.message)
    if unsupported is None and joined is None:
        return None
    if "NoneType" in f.message:
        empty = next((name for name in f.variables if f.kind_of(name) == "NoneType"), "")
        return none_finding(f, empty) if empty else None
    node = next((n for n in ast.walk(f.tree()) if isinstance(n, ast.BinOp | ast.Compare)), None)
    sides = [] if node is None else [*_sides(node)]
    if joined and len(sides) == 2:
        other = sides[1]
        why = f"A text can only be joined to a text, and {f.shown(other)} is of type {joined[1]}."
        return Finding(why, _wrapped(f, other, "str"))
    for side in sides:
        if f.kind_of(side) == "str":
            others = [f.shown(s) for s in sides if s != side]
            why = f"{f.shown(side)} is a text, and {' and '.join(others)} is not."
            number = f.value_of(side).strip("'\"")
            convert = "int" if _WHOLE.fullmatch(number) else "float" if _DECIMAL.fullmatch(number) else ""
            return Finding(
                why, _wrapped(f, side, convert) if convert else {}, advice="Convert one to the type of the other."
            )
    found = unsupported or joined
    assert found is not None
    why = f"{_all_shown(f)} brings together values of the types {found[1]}" + (
        f" and {found[2]}." if unsupported else " and str."
    )
    return Finding(why, advice="Convert them to one type first, for example with `int(...)`.")


def _not_a_collection(f: Failure) -> Finding | None:
    """None or a number where items are asked for, and a text as the index of a list."""
    found = re.search(r"'(\w+)' object is not (subscriptable|iterable)", f.message)
    if found is None:
        found = re.search(r"cannot unpack (non-iterable) (\w+) object", f.message)
        kind = found[2] if found else ""
    else:
        kind = found[1]
    if found is None:
        return None
    owner = next((name for name in f.variables if f.kind_of(name) == kind), "")
    if kind in ("builtin_function_or_method", "method", "function"):
        asked = next((ast.unparse(n.value) for n in ast.walk(f.tree()) if isinstance(n, ast.Subscript)), f.failing)
        return Finding(f"`{asked}` is a function that is not called.", replaced(f, f"{asked}[", f"{asked}()["))
    if kind == "NoneType":
        return none_finding(f, owner or f.failing)
    if "iterable" in f.message and kind == "int" and re.search(rf"\bin\s+{re.escape(owner)}\s*:", f.text):
        why = f"{f.shown(owner)} is a number, and a loop needs something with items."
        return Finding(why, replaced(f, f"in {owner}", f"in range({owner})"))
    if kind == "generator":
        return Finding(
            f"{f.shown(owner)} gives its items one after the other, without numbers.",
            advice=f"Make a list of it first: `list({owner})`.",
        )
    what = f.shown(owner) if owner else _all_shown(f)
    return Finding(f"{what} has no items to take.", advice="Check what it should hold.")


def _index_of_a_list(f: Failure) -> Finding | None:
    if not re.search(r"(list|tuple) indices must be integers|string indices must be integers", f.message):
        return None
    for node in ast.walk(f.tree()):
        if isinstance(node, ast.Subscript):
            owner, key = ast.unparse(node.value), ast.unparse(node.slice)
            kind = f.kind_of(owner) or "list"
            why = f"{f.shown(owner)} is asked for {key}, and a {kind} is asked by the number of an item."
            return Finding(why, advice=f"Take an item first, such as `{owner}[0][{key}]`, or loop over `{owner}`.")
    return None


def _not_callable(f: Failure) -> Finding | None:
    found = re.search(r"'(\w+)' object is not callable", f.message)
    call = next((n for n in ast.walk(f.tree()) if isinstance(n, ast.Call)), None)
    if found is None or call is None:
        return None
    name = ast.unparse(call.func)
    if hasattr(builtins, name):
        why = f"{f.shown(name)} is a variable of yours that hides Python's function `{name}`."
        return Finding(why, advice=f"Give the variable another name, then `del {name}` brings the function back.")
    why = f"{f.shown(name)} is no function: brackets after it call it."
    if found[1] in ("list", "dict", "tuple", "DataFrame", "Series", "ndarray") and len(call.args) == 1:
        asked = ast.unparse(call.args[0])
        return Finding(why, replaced(f, f"{name}({asked})", f"{name}[{asked}]"))
    return Finding(why, advice=f"Leave out the brackets after `{name}`, or name a function.")


def _arguments(f: Failure) -> Finding | None:
    """A call with too few, too many, or unknown arguments."""
    found = re.search(r"([\w.]+)\(\) (missing|takes|got)", f.message)
    if found is None:
        return None
    name = next((n for n in f.variables if n.split(".")[-1] == found[1].split(".")[-1]), found[1])
    made = f.value_of(name)
    takes = f"`{name}` takes `{made}`" if made else f"`{name}` takes other arguments"
    for near in f.near:
        why = f"{takes}: it has no parameter `{near.word}`, and the nearest is `{near.name}`."
        return Finding(why, replaced(f, f"{near.word}=", f"{near.name}="))
    given = f.message.partition("() ")[2]
    counts = re.match(r"takes (\d+) positional arguments? but (\d+)", given)
    method = found[1].rpartition(".")[2]
    if counts and int(counts[2]) == int(counts[1]) + 1 and "." in found[1]:
        owner = next((n for n in f.variables if f.kind_of(n) == found[1].split(".")[-2]), "")
        why = f"{f.shown(owner) if owner else 'The object'} is itself the first argument of its method `{method}`: {given}."
        return Finding(why, advice=f"Where `{method}` is defined, name it first: `def {method}(self, ...)`.")
    return Finding(f"{takes}. Python says: {given}.", advice=f"Call `{name}` with the arguments that it takes.")


def _other_types(f: Failure) -> Finding | None:
    if found := re.search(r"unhashable type: '(\w+)'", f.message):
        name = next((n for n in f.variables if f.kind_of(n) == found[1]), "")
        why = f"{f.shown(name) if name else f'A {found[1]}'} can change, so it is no key of a dictionary or a set."
        return Finding(why, advice="Use a tuple instead: `tuple(...)`." if found[1] == "list" else "")
    if found := re.search(r"'(\w+)' object does not support item assignment", f.message):
        name = next((n for n in f.variables if f.kind_of(n) == found[1]), "")
        why = f"{f.shown(name) if name else f'A {found[1]}'} can't be changed."
        return Finding(why, advice=f"Make a list of it first: `{name or 'x'} = list({name or 'x'})`.")
    if found := re.search(r"'str' object cannot be interpreted as an integer", f.message):
        name = next((n for n in f.variables if f.kind_of(n) == "str"), "")
        if name:
            why = f"{f.shown(name)} is a text, and a whole number is needed."
            return Finding(why, _wrapped(f, name, "int"))
    return None


_TYPES = (_arguments, _unlike_operands, _not_a_collection, _index_of_a_list, _not_callable, _other_types)


def value_error(f: Failure) -> Finding | None:
    """A value that does not fit: a text that is no number, shapes and lengths that differ."""
    return next((found for rule in _VALUES if (found := rule(f)) is not None), None)


def _not_a_number(f: Failure) -> Finding | None:
    found = re.search(r"invalid literal for (int)\(\) with base \d+: (.+)$", f.message)
    found = found or re.search(r"could not convert string to (float): (.+)$", f.message)
    if found is None:
        return None
    function, text = found[1], found[2].strip().strip("'\"")
    calls = [n for n in ast.walk(f.tree()) if isinstance(n, ast.Call) and ast.unparse(n.func) == function and n.args]
    names = [name for name in f.variables if f.value_of(name).strip("'\"") == text]
    name = names[0] if names else ast.unparse(calls[0].args[0]) if calls else ""
    why = f"{f.shown(name) if name else f'`{text}`'} is no {'whole ' if function == 'int' else ''}number"
    why += f": the text is {found[2].strip()}." if name not in names else "."
    if not calls:
        why = f"{_all_shown(f)} holds the text {found[2].strip()}, which is no number."
        return Finding(why, advice="Clean the text first, for example with `str.replace`, and convert it then.")
    source = ast.unparse(calls[0])
    argument = ast.unparse(calls[0].args[0])
    new = ""
    if function == "int" and _DECIMAL.fullmatch(text):
        new = f"int(float({argument}))"
    elif _THOUSANDS.fullmatch(text):
        new = f"{function}({argument}.replace(',', ''))"
    elif function == "float" and _COMMA.fullmatch(text):
        new = f"float({argument}.replace(',', '.'))"
    if new and source in f.text:
        return Finding(why, {f.line: f.text.replace(source, new, 1)})
    advice = (
        f"Leave out values that are no numbers, or catch the error: `try: ... except ValueError: ...` round `{source}`."
    )
    return Finding(why, advice=advice)


def _unlike_shapes(f: Failure) -> Finding | None:
    found = re.search(r"shapes \([\d, ]*\) \([\d, ]*\)|mismatch in its core dimension|must be of the same length"
                      r"|Length of values \(\d+\) does not match length of index \(\d+\)|cannot reshape array", f.message)  # fmt: skip
    if found is None:
        return None
    return Finding(
        f"The sizes of {_all_shown(f)} don't fit: {f.message}.",
        advice="Bring them to one size first; `.shape` and `len(...)` say what they have.",
    )


def _unpacked(f: Failure) -> Finding | None:
    found = re.search(r"(too many|not enough) values to unpack \(expected (?:at least )?(\d+)", f.message)
    if found is None:
        return None
    why = f"{_all_shown(f)} has {found[1]} values for {found[2]} names."
    targets = f.text.partition("=")[0].rstrip() if " = " in f.text else ""
    if found[1] == "too many" and targets:
        new = f.text.replace(targets, f"{targets}, *rest", 1)
        return Finding(f"{why} In the correction `rest` takes those that are left.", {f.line: new})
    return Finding(why, advice="Write as many names as there are values.")


def _truth(f: Failure) -> Finding | None:
    if "truth value of" not in f.message:
        return None
    why = f"{_all_shown(f)}: `{f.failing}` is true or false for each value, and this line needs one answer."
    if re.match(r"\s*(?:if|while|elif)\b", f.text) and f.expression in f.text and f.expression:
        new = f.text.replace(f.expression, f"({f.expression}).any()", 1)
        return Finding(f"{why} `.any()` asks whether one of them is true, `.all()` whether all are.", {f.line: new})
    return Finding(why, advice="Use `&` and `|` with brackets instead of `and` and `or`, or `.any()` and `.all()`.")


_VALUES = (_not_a_number, _unlike_shapes, _unpacked, _truth)


def index_error(f: Failure) -> Finding | None:
    """An item asked for by a number that is past the last one."""
    for node in ast.walk(f.tree()):
        if not isinstance(node, ast.Subscript):
            continue
        owner, index = ast.unparse(node.value), ast.unparse(node.slice)
        known = [owner] if owner in f.variables else [n for n in names_in(node.value) if n in f.variables]
        shown = " and ".join(f.shown(name) for name in known) or f"`{owner}`"
        at = f.value_of(index) or index
        size = re.search(r"with size (\d+)", f.message) or re.search(
            r"(\d+) (?:items|item|rows)", " ".join(f.variables.get(n, "") for n in known)
        )
        if size and int(size[1]) == 0:
            return Finding(
                f"{shown} is empty, so it has no item {at}.",
                advice=f"Check `if {(known or [owner])[0]}` before this line.",
            )
        last = f", whose last item is {int(size[1]) - 1}," if size else ""
        by = f", the value of `{index}`" if f.value_of(index) else ""
        why = f"{shown}{last} has no item {at}{by}."
        return Finding(why, _one_less(f, index, size[1] if size else ""), advice="Numbers of items begin with 0.")
    return None


def _one_less(f: Failure, index: str, size: str) -> dict[int, str]:
    """The correction of an index that is one too large, in the line or in the loop that counts it."""
    if index == size and f"[{index}]" in f.text:
        return {f.line: f.text.replace(f"[{index}]", f"[{int(size) - 1}]", 1)}
    loop = re.compile(rf"\bfor {re.escape(index)} in range\(.*?(\s*\+\s*1\s*)\)\s*:")
    for number in sorted(f.code, reverse=True):
        if number < f.line and (found := loop.search(f.code[number])):
            line = f.code[number]
            return {number: line[: found.start(1)] + line[found.end(1) :]}
    return {}


def recursion_error(f: Failure) -> Finding:
    """A function that calls itself without end."""
    values = f" Here {_all_shown(f)}." if f.variables else ""
    why = f"`{f.function}` calls itself again and again, and no condition ends it.{values}"
    return Finding(
        why,
        advice=f"Add a first line to `{f.function}` that returns a value without calling it, for the smallest case.",
    )


def assertion_error(f: Failure) -> Finding:
    """A condition that does not hold."""
    condition = f.expression or f.text.strip().removeprefix("assert ").partition(",")[0]
    said = f" (“{f.message}”)" if f.message else ""
    why = f"The condition `{condition}` does not hold{said}: {_all_shown(f)}."
    return Finding(why, advice="Correct the value where it is made; the condition itself is what the author expects.")


def _sides(node: ast.AST) -> list[str]:
    if isinstance(node, ast.BinOp):
        return [ast.unparse(node.left), ast.unparse(node.right)]
    return [ast.unparse(node.left), *map(ast.unparse, node.comparators)] if isinstance(node, ast.Compare) else []


def _wrapped(f: Failure, source: str, function: str) -> dict[int, str]:
    """The failing line with one operand converted by a function, where it is found on it as it was parsed."""
    for text in (source, source.replace("'", '"')):
        pattern = rf"(?<![\w.]){re.escape(text)}(?![\w(\[.])"
        operand = list(re.finditer(pattern, f.text))
        if operand:
            at = operand[-1]
            return {f.line: f"{f.text[: at.start()]}{function}({text}){f.text[at.end() :]}"}
    return {}


def _all_shown(f: Failure) -> str:
    """The variables of the failing line and what they are."""
    return " and ".join(f.shown(name) for name in list(f.variables)[:3]) or f"`{f.failing}`"
