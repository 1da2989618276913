"""A random sample of docstrings and messages, for a review of the prose.

python benchmarks/prose_sample.py SEED [NUMBER OF EACH]
"""

import ast
import random
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "likely"
RAISING = ("Error", "warn", "note", "CommandError")


def docstrings(tree):
    """Docstrings of a module, with the names of what they describe."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "name", "module"), text


def messages(tree):
    """Texts that errors, warnings and notes are made of, with the line of the call."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if any(part in name for part in RAISING):
            for argument in node.args:
                if isinstance(argument, (ast.JoinedStr, ast.Constant)) and len(ast.unparse(argument)) > 30:
                    yield f"line {node.lineno}", ast.unparse(argument)


def main(seed, number=40):
    chooser = random.Random(seed)
    for title, find in (("Docstrings", docstrings), ("Messages", messages)):
        found = [
            (path.relative_to(SOURCE), *each)
            for path in sorted(SOURCE.rglob("*.py"))
            for each in find(ast.parse(path.read_text()))
        ]
        print(f"# {title}: {number} of {len(found)}, seed {seed}\n")
        for i, (path, name, text) in enumerate(chooser.sample(found, number), 1):
            print(f"## {i}. {path}, {name}\n{text}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), *map(int, sys.argv[2:]))
