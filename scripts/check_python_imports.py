#!/usr/bin/env python3
"""Finds circles among the imports of the Python package: check_python_imports.py [FOLDER]

An import counts wherever it is: at the top of a module or inside of a function. Those under `if TYPE_CHECKING` do not
run and do not count. Neither modules nor sub-packages (folders of the package) may import each other in a circle.
"""

import ast
import collections
import pathlib
import sys

PACKAGE = pathlib.Path(__file__).resolve().parents[1] / "python/frazil"
EXTENSION = "_frazil"  # the module in C++


def modules_in(folder):
    """Returns the files of the package by module name."""
    modules = {}
    for file in sorted(folder.rglob("*.py")):
        parts = file.relative_to(folder.parent).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return modules


def imports_of(tree):
    """Returns the import statements that run, at any depth."""
    found = []
    todo = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            todo += node.orelse
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.append(node)
        todo += ast.iter_child_nodes(node)
    return found


def targets_of(statement, module, is_package, modules):
    """Returns the modules of the package that a statement names."""
    if isinstance(statement, ast.Import):
        return {alias.name for alias in statement.names if alias.name in modules}
    base = module.split(".") if is_package else module.split(".")[:-1]
    parts = base[: len(base) - statement.level + 1] if statement.level else []
    origin = ".".join([*parts, *([statement.module] if statement.module else [])])
    whole = {f"{origin}.{alias.name}" for alias in statement.names}
    found = {name for name in whole if name in modules or name.endswith(f".{EXTENSION}")}
    return found | ({origin} if len(found) < len(whole) and origin in modules else set())


def graph_of(folder):
    """Returns the imported modules of each module."""
    modules = modules_in(folder)
    graph = {}
    for module, file in modules.items():
        package = file.name == "__init__.py"
        targets = set()
        for statement in imports_of(ast.parse(file.read_text())):
            targets |= targets_of(statement, module, package, modules)
        graph[module] = {name for name in targets if name in modules and name != module}
    return graph


def folders_of(graph):
    """Returns the same graph between sub-packages. A module of the package's own folder stands for itself."""
    folders = {name for name in graph if any(other.startswith(f"{name}.") for other in graph)}

    def folder(name):
        top = ".".join(name.split(".")[:2])
        return top if top in folders else name

    made = collections.defaultdict(set)
    for module, targets in graph.items():
        made[folder(module)] |= {folder(target) for target in targets} - {folder(module)}
    return dict(made)


def circles_in(graph):
    """Returns the strongly connected components of more than one node (Tarjan), each sorted."""
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for target in sorted(graph.get(node, ())):
            if target not in number:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], number[target])
        if low[node] == number[node]:
            part = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(part) > 1:
                found.append(sorted(part))

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return found


def main():
    folder = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else PACKAGE
    graph = graph_of(folder)
    failed = False
    for what, circles in (("modules", circles_in(graph)), ("sub-packages", circles_in(folders_of(graph)))):
        for circle in circles:
            failed = True
            print(f"{len(circle)} {what} import each other in a circle: {', '.join(circle)}")
    if failed:
        return 1
    print(f"{len(graph)} modules, no circles")
    return 0


if __name__ == "__main__":
    sys.setrecursionlimit(10_000)
    sys.exit(main())
