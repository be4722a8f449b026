"""What keeps the code honest: narrow excepts, modules that say what they are, annotations that cost
no import.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.project.tree import modules

DOOR = re.compile(r"#.*\b(?:door|entry point)\b")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def everywhere() -> Iterator[tuple[str, Function]]:
    """Every function, named by its module."""
    for module in modules().values():
        for node in ast.walk(module.tree):
            if isinstance(node, Function):
                yield f"{module.name} {node.name}", node


def is_broad(handler: ast.ExceptHandler) -> bool:
    """Whether it catches everything and keeps it: one that cleans up and raises again is none."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    everything = any(
        kind is None or ast.unparse(kind) in ("Exception", "BaseException") for kind in kinds
    )
    last = handler.body[-1]
    return everything and not (isinstance(last, ast.Raise) and last.exc is None)


def test_a_broad_except_stands_only_at_a_marked_door() -> None:
    found = [(module, node) for module in modules().values() for node in ast.walk(module.tree)]
    broad = [
        (module, node.lineno)
        for module, node in found
        if isinstance(node, ast.ExceptHandler) and is_broad(node)
    ]

    assert not [
        f"{module.name}:{line}"
        for module, line in broad
        if not DOOR.search(module.comments.get(line, ""))
    ]


def test_a_module_says_first_what_it_is() -> None:
    assert not [
        module.name
        for module in modules().values()
        if module.tree.body and not ast.get_docstring(module.tree)
    ]


def test_annotations_are_never_evaluated_at_import() -> None:
    hinted = {name.partition(" ")[0] for name, node in everywhere() if node.returns}

    assert not [
        name
        for name in hinted
        if "from __future__ import annotations" not in modules()[name].source
    ]
