"""What keeps the code honest: narrow excepts, modules that say what they are, annotations that cost
no import.
"""

from __future__ import annotations

import ast
import re
import tokenize
from io import StringIO

from tests.project.tree import Module, modules

DOOR = re.compile(r"#.*\b(?:door|entry point)\b")
BROAD = re.compile(r"\bexcept\b\s*(?::|\*|.*Exception\b|\($)", re.MULTILINE)
"""Where an `except` may be broad: only such a module is parsed, as parsing them all takes seconds."""
EVALUATED = "from __future__ import annotations"


def is_broad(handler: ast.ExceptHandler) -> bool:
    """Whether it catches everything and keeps it: one that cleans up and raises again is none."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    everything = any(
        kind is None or ast.unparse(kind) in ("Exception", "BaseException") for kind in kinds
    )
    last = handler.body[-1]
    return everything and not (isinstance(last, ast.Raise) and last.exc is None)


def comment_on(module: Module, line: int) -> str:
    """The comment on a line; "" where it has none."""
    if "#" not in module.source.splitlines()[line - 1]:
        return ""
    tokens = tokenize.generate_tokens(StringIO(module.source).readline)
    comments = {each.start[0]: each.string for each in tokens if each.type == tokenize.COMMENT}
    return comments.get(line, "")


def test_a_broad_except_stands_only_at_a_marked_door() -> None:
    suspects = [module for module in modules().values() if BROAD.search(module.source)]
    broad = [
        (module, node.lineno)
        for module in suspects
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ExceptHandler) and is_broad(node)
    ]

    assert len(broad) > 10
    assert not [
        f"{module.name}:{line}"
        for module, line in broad
        if not DOOR.search(comment_on(module, line))
    ]


def test_a_module_says_first_what_it_is() -> None:
    silent = [
        module
        for module in modules().values()
        if not module.source.startswith(('"""', 'r"""')) and module.source.strip()
    ]

    assert not [
        module.name for module in silent if module.tree.body and not ast.get_docstring(module.tree)
    ]


def test_annotations_are_never_evaluated_at_import() -> None:
    suspects = [
        module
        for module in modules().values()
        if "->" in module.source and EVALUATED not in module.source
    ]

    assert not [
        module.name
        for module in suspects
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns
    ]
