"""The changes of one node of a syntax tree of C: small mistakes of six kinds (docs/defects.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

KINDS = ("comparison", "rounding", "bound", "sign", "index", "constant")
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
SIGNS = {"+": "-", "-": "+", "+=": "-=", "-=": "+="}
# Functions with the same arguments that round in another way (firmware/arith).
ROUNDINGS = {
    "round_half_away": "trunc_shift",
    "trunc_shift": "round_half_away",
    "round_shift": "psto_shift",
    "psto_shift": "round_shift",
    "divide_half_away": "trunc_shift",
    "rescale_double": "rescale_single",
    "rescale_single": "rescale_double",
}
# Functions that hold their first argument within bounds.
BOUNDS = re.compile(
    r"(clip|clamp|limit|least|most|larger|smaller|hold|saturate|sat)(127|32|_\w+)?|\w+_(hold|least|most)"
)
LIMIT = re.compile(r"U?INT(8|16|32)_(MAX|MIN)|127|128|255|32767|32768")
AXES = {
    "in_h": "in_w",
    "out_h": "out_w",
    "kernel_h": "kernel_w",
    "stride_h": "stride_w",
    "padding_h": "padding_w",
    "in_c": "out_c",
}
AXES |= {to: of for of, to in AXES.items()}
INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)[uUlL]*")
CHANGED = {
    "binary_expression", "assignment_expression", "unary_expression", "conditional_expression", "call_expression",
    "subscript_expression", "field_identifier", "identifier", "number_literal", "preproc_arg",
}  # fmt: skip

Found = tuple[str, int, bytes, bytes]  # kind, offset, old text, new text


def of_node(node: Node, function: Node | None) -> Iterator[Found]:
    """Yield the changes of one node of the syntax tree."""
    if node.type not in CHANGED:
        return
    text = node.text or b""
    match node.type:
        case "binary_expression" | "assignment_expression":
            yield from _of_operator(node, function)
        case "unary_expression" if text.startswith(b"-"):
            if not _in_limit(node):
                yield "sign", node.start_byte, text, b"(" + text[1:].strip() + b")"
        case "conditional_expression":
            yield from _of_condition(node)
        case "call_expression":
            yield from _of_call(node)
        case "subscript_expression":
            yield from _of_subscript(node)
        case "field_identifier" if text.decode() in AXES:
            yield "index", node.start_byte, text, AXES[text.decode()].encode()
        case "identifier" if LIMIT.fullmatch(text.decode()):
            step = b" - 1)" if text.endswith(b"MAX") else b" + 1)"
            yield "bound", node.start_byte, text, b"(" + text + step
        case "identifier" if text == b"half" and _is_added(node):
            yield "rounding", node.start_byte, text, b"(half - 1)"
        case "number_literal":
            yield from _of_number(node)
        case "preproc_arg":
            yield from _of_macro(node)


def _of_operator(node: Node, function: Node | None) -> Iterator[Found]:
    operator = node.child_by_field_name("operator")
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if operator is None or operator.text is None or left is None or right is None:
        return
    word = operator.text.decode()
    a, b = left.text or b"", right.text or b""
    if word in COMPARISONS and not _chooses_operand(node):
        loop = _is_loop_end(node)
        yield "bound" if loop else "comparison", operator.start_byte, operator.text, COMPARISONS[word].encode()
        if loop and word in ("<", "<="):
            yield "bound", right.start_byte, b, b"(" + b + b") - 1"
    elif word in SIGNS:
        yield "sign", operator.start_byte, operator.text, SIGNS[word].encode()
    elif word == ">>" and not (
        node.parent is not None and node.parent.type == "binary_expression" and _is_mask(node.parent)
    ):
        yield "rounding", node.start_byte, node.text or b"", b"((%s + ((1 << (%s)) - 1)) >> (%s))" % (a, b, b)
    elif word == "/" and b"float" not in text_of(function):
        yield "rounding", node.start_byte, node.text or b"", b"((%s + (%s) - 1) / (%s))" % (a, b, b)
    elif word == "<<" and a in (b"1", b"1u") and b.endswith(b"- 1)"):  # the half of a unit that is dropped
        yield "rounding", node.start_byte, node.text or b"", b"((%s) - 1)" % (node.text or b"")


def _of_condition(node: Node) -> Iterator[Found]:
    """The smaller or larger of two, or a value held: one of both always."""
    arms = [node.child_by_field_name(name) for name in ("consequence", "alternative")]
    condition = node.child_by_field_name("condition")
    if condition is None or not any(text_of(arm) in _operands(condition) for arm in arms):
        return
    yield from (("bound", node.start_byte, text_of(node), b"(" + text_of(arm) + b")") for arm in arms)


def _operands(node: Node) -> list[bytes]:
    """Return both sides of a comparison by size; none of another expression."""
    if text_of(node.child_by_field_name("operator")) not in (b"<", b">", b"<=", b">="):
        return []
    return [text_of(node.child_by_field_name(side)) for side in ("left", "right")]


def _chooses_operand(node: Node) -> bool:
    """Whether a comparison chooses one of its own sides, so that it does not matter what it says of equal ones."""
    parent = node.parent
    if parent is None or parent.type != "conditional_expression" or parent.child_by_field_name("condition") != node:
        return False
    arms = {text_of(parent.child_by_field_name(name)) for name in ("consequence", "alternative")}
    return arms == set(_operands(node))


def _is_mask(node: Node) -> bool:
    return text_of(node.child_by_field_name("operator")) == b"&"


def text_of(node: Node | None) -> bytes:
    return node.text or b"" if node is not None else b""


def _of_call(node: Node) -> Iterator[Found]:
    called, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if called is None or called.text is None or arguments is None:
        return
    name = called.text.decode()
    given = [child.text or b"" for child in arguments.named_children]
    if name in ROUNDINGS:
        yield "rounding", called.start_byte, called.text, ROUNDINGS[name].encode()
    elif BOUNDS.fullmatch(name) and given and node.parent is not None and node.parent.type == "expression_statement":
        yield "bound", node.start_byte, node.text or b"", b"(void)0"
    elif BOUNDS.fullmatch(name) and given:
        yield "bound", node.start_byte, node.text or b"", b"(" + given[0] + b")"
    elif name == "float32_round" and given:
        yield "rounding", node.start_byte, node.text or b"", b"((float)(int32_t)(" + given[0] + b"))"


def _of_subscript(node: Node) -> Iterator[Found]:
    index = node.child_by_field_name("index")
    if index is None or not index.text:
        return
    if index.type == "number_literal":
        yield "index", index.start_byte, index.text, b"1" if index.text == b"0" else b"0"
    else:
        yield "index", index.start_byte, index.text, index.text + b" + 1"


def _of_number(node: Node) -> Iterator[Found]:
    text = node.text or b""
    word = text.decode()
    if node.parent is not None and node.parent.type in ("subscript_expression", "array_declarator", "case_statement"):
        return
    if LIMIT.fullmatch(word):
        yield "bound", node.start_byte, text, str(int(word) - 1).encode()
    elif word in ("0.5f", "0x1p-1f"):
        yield "rounding", node.start_byte, text, b"0.25f"
    else:
        yield from (("constant", node.start_byte, text, new) for new in _other_numbers(word))


def _of_macro(node: Node) -> Iterator[Found]:
    """The value of a macro, if it is one number."""
    text = node.text or b""
    word = text.split(b"/*")[0].strip()
    at = node.start_byte + text.find(word)
    yield from (("constant", at, word, new) for new in _other_numbers(word.decode()))


def _other_numbers(word: str) -> Iterator[bytes]:
    """Yield what a constant may be by mistake: one more, one less; of a float a quarter more."""
    if INTEGER.fullmatch(word):
        value = int(INTEGER.sub(r"\1", word), 0)
        suffix = (
            word.lower().lstrip("0123456789abcdefx") if word.lower().startswith("0x") else word.lstrip("0123456789")
        )
        yield from (f"{near}{suffix}".encode() for near in (value + 1, value - 1) if near >= 0)
    elif re.fullmatch(r"0x[0-9a-fA-F.]+p[-+]?\d+f?|\d+\.\d*(e-?\d+)?f?", word):
        yield b"0.5f" if float.fromhex(word.rstrip("f")) == 0 else f"({word} * 1.25f)".encode()


def _is_loop_end(node: Node) -> bool:
    parent = node.parent
    return parent is not None and parent.type == "for_statement" and parent.child_by_field_name("condition") == node


def _is_added(node: Node) -> bool:
    return node.parent is not None and node.parent.type == "binary_expression" and b"+" in (node.parent.text or b"")


def _in_limit(node: Node) -> bool:
    """Whether it is the sign of a number in a list of values, such as a table."""
    return node.parent is not None and node.parent.type == "initializer_list"
