"""Sizes of the source tree: files, lines, share of import lines, modules with one importer, share of comments.

python benchmarks/structure.py [FOLDER]
"""

import ast
import sys
from collections import Counter, defaultdict
from pathlib import Path

SHORT = 60


def import_lines(tree):
    """Return the number of lines of imports and ``__all__``."""
    lines = set()
    for node in ast.walk(tree):
        names = [target.id for target in getattr(node, "targets", []) if isinstance(target, ast.Name)]
        if isinstance(node, (ast.Import, ast.ImportFrom)) or (isinstance(node, ast.Assign) and "__all__" in names):
            lines.update(range(node.lineno, node.end_lineno + 1))
    return len(lines)


def imported_modules(tree, modules):
    """Return the modules of the package that a file imports, also inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                both = f"{node.module}.{alias.name}"
                yield both if both in modules else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def main(folder):
    root = Path(folder).resolve()
    files = sorted(root.rglob("*.py"))
    trees = {file: ast.parse(file.read_text()) for file in files}
    texts = {file: file.read_text().splitlines() for file in files}
    modules = {".".join(file.relative_to(root).with_suffix("").parts): file for file in files}
    importers = defaultdict(set)
    for file, tree in trees.items():
        for name in imported_modules(tree, modules):
            if name in modules and modules[name] != file:
                importers[name].add(file)
    lines = sum(map(len, texts.values()))
    imports = sum(map(import_lines, trees.values()))
    comments = sum(line.lstrip().startswith("#") for text in texts.values() for line in text)
    functions = sum(isinstance(node, ast.FunctionDef) for tree in trees.values() for node in ast.walk(tree))
    # A module that the ``__init__`` of its package exports is not counted.
    lone = [name for name, users in importers.items() if len(users) == 1 and next(iter(users)).name != "__init__.py"]
    print(f"files {len(files)}, lines {lines}, functions {functions}")
    print(f"import lines {imports} ({imports / lines:.1%}), comment lines {comments} ({comments / lines:.1%})")
    short = sum(len(text) < SHORT for text in texts.values())
    print(f"modules with one importer {len(lone)}, files under {SHORT} lines {short}")
    packages = Counter()
    for file, text in texts.items():
        parts = file.relative_to(root).parts
        packages[parts[1] if len(parts) > 2 else "(base)"] += len(text)
    counts = Counter(
        file.relative_to(root).parts[1] if len(file.relative_to(root).parts) > 2 else "(base)" for file in files
    )
    for name, n in sorted(packages.items()):
        print(f"  {name:<14}{counts[name]:>4} files{n:>7} lines")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "src")
