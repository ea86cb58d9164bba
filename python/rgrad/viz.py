"""Drawings of the recorded graph: DOT, SVG and indented text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ._rgrad import Tensor

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Graph", "graph"]


class _Vertex(NamedTuple):
    label: str
    detail: str
    kind: str  # "root", "op" or "leaf"


class Graph:
    """A recorded graph, from roots to leaves. Made by :func:`graph`.

    Attributes
    ----------
    vertices : list
        Labels, roots first, in the order of the walk.
    edges : list of (int, int)
        From an operation to those that made its operands.
    """

    def __init__(self, vertices: list[_Vertex], edges: list[tuple[int, int]]) -> None:
        self.vertices = vertices
        self.edges = edges

    def __len__(self) -> int:
        return len(self.vertices)

    def __repr__(self) -> str:
        leaves = sum(v.kind == "leaf" for v in self.vertices)
        return f"Graph({len(self.vertices)} vertices, {len(self.edges)} edges, {leaves} leaves)"

    def _repr_svg_(self) -> str:
        return self.svg()

    @property
    def dot(self) -> str:
        """The graph in the DOT language."""
        styles = {
            "root": 'shape=box, style="filled,rounded", fillcolor="#f6d9d5"',
            "op": 'shape=box, style="rounded"',
            "leaf": 'shape=box, style=filled, fillcolor="#d6e6f5"',
        }
        lines = ["digraph rgrad {", '  rankdir=BT; node [fontname="Helvetica", fontsize=10];']
        for i, v in enumerate(self.vertices):
            text = _quote(v.label) + ("\\n" + _quote(v.detail) if v.detail else "")
            lines.append(f'  n{i} [label="{text}", {styles[v.kind]}];')
        lines += [f"  n{b} -> n{a};" for a, b in self.edges]
        return "\n".join([*lines, "}"]) + "\n"

    def text(self) -> str:
        """An indented tree from the roots down; what is shared is written out once and then referred to."""
        children: list[list[int]] = [[] for _ in self.vertices]
        has_parent = [False] * len(self.vertices)
        for a, b in self.edges:
            children[a].append(b)
            has_parent[b] = True
        lines: list[str] = []
        seen: set[int] = set()
        todo = [(i, 0) for i in reversed(range(len(self.vertices))) if not has_parent[i]]
        while todo:
            i, depth = todo.pop()
            v = self.vertices[i]
            line = _indent(depth) + v.label + (f"  {v.detail}" if v.detail else "")
            if i in seen:
                lines.append(line + ("  (see above)" if children[i] else ""))
                continue
            seen.add(i)
            lines.append(line)
            todo += [(c, depth + 1) for c in reversed(children[i])]
        return "\n".join(lines) + "\n"

    def svg(self, engine: str = "auto") -> str:
        """The graph as an SVG document.

        Parameters
        ----------
        engine : {'auto', 'dot', 'own'}
            ``dot`` lays out with the Graphviz program, ``own`` in layers without it, ``auto`` takes ``dot``
            where it is installed.

        Raises
        ------
        RuntimeError
            When ``dot`` is asked for and not installed, or fails.
        """
        if engine not in ("auto", "dot", "own"):
            raise ValueError(f"engine must be 'auto', 'dot' or 'own', got {engine!r}")
        import shutil
        import subprocess

        program = None if engine == "own" else shutil.which("dot")
        if program is None:
            if engine == "dot":
                raise RuntimeError("the Graphviz program `dot` is not installed; use engine='own'")
            return self._own_svg()
        done = subprocess.run([program, "-Tsvg"], input=self.dot, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"dot failed: {done.stderr.strip()}")
        return done.stdout

    def _own_svg(self) -> str:
        layers = self._layers()
        width, gap_x, height, gap_y = 150, 16, 40, 34
        columns = max((len(layer) for layer in layers), default=1)
        total_w = columns * (width + gap_x) + gap_x
        total_h = len(layers) * (height + gap_y) + gap_y
        at: dict[int, tuple[float, float]] = {}
        for row, layer in enumerate(layers):
            left = (total_w - len(layer) * (width + gap_x) + gap_x) / 2
            for column, i in enumerate(layer):
                at[i] = (left + column * (width + gap_x), gap_y / 2 + row * (height + gap_y))
        out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{total_w}" height="{total_h}"',
            f' viewBox="0 0 {total_w} {total_h}" font-family="Helvetica, sans-serif" font-size="11">',
            '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7"',
            ' orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>',
        ]
        for a, b in self.edges:
            (xa, ya), (xb, yb) = at[a], at[b]
            x1, y1, x2, y2 = xb + width / 2, yb, xa + width / 2, ya + height
            middle = (y1 + y2) / 2
            out.append(
                f'<path d="M{x1:.1f},{y1:.1f} C{x1:.1f},{middle:.1f} {x2:.1f},{middle:.1f} {x2:.1f},{y2:.1f}" '
                'fill="none" stroke="#555" marker-end="url(#head)"/>'
            )
        fills = {"root": "#f6d9d5", "op": "#ffffff", "leaf": "#d6e6f5"}
        for i, v in enumerate(self.vertices):
            x, y = at[i]
            corner = 2 if v.kind == "leaf" else 8
            out.append(
                f'<g><title>{_escape(v.label)} {_escape(v.detail)}</title><rect x="{x:.1f}" y="{y:.1f}" width="{width}" '
                f'height="{height}" rx="{corner}" fill="{fills[v.kind]}" stroke="#333"/>'
            )
            lines = [v.label] + ([v.detail] if v.detail else [])
            for k, line in enumerate(lines):
                ty = y + height / 2 + 4 + (k - (len(lines) - 1) / 2) * 14
                shown = line if len(line) <= 24 else line[:23] + "…"
                out.append(
                    f'<text x="{x + width / 2:.1f}" y="{ty:.1f}" text-anchor="middle">{_escape(shown)}</text>'
                )
            out.append("</g>")
        return "\n".join([*out, "</svg>"]) + "\n"

    def _layers(self) -> list[list[int]]:
        """Vertices by their longest distance from a root, each layer in the order of its users' places."""
        parents: list[list[int]] = [[] for _ in self.vertices]
        children: list[list[int]] = [[] for _ in self.vertices]
        waiting = [0] * len(self.vertices)
        for a, b in self.edges:
            children[a].append(b)
            parents[b].append(a)
            waiting[b] += 1
        depth = [0] * len(self.vertices)
        ready = [i for i, n in enumerate(waiting) if n == 0]
        while ready:
            a = ready.pop()
            for b in children[a]:
                depth[b] = max(depth[b], depth[a] + 1)
                waiting[b] -= 1
                if waiting[b] == 0:
                    ready.append(b)
        layers: list[list[int]] = [[] for _ in range(max(depth, default=-1) + 1)]
        for i, d in enumerate(depth):
            layers[d].append(i)
        place = [0.0] * len(self.vertices)
        for layer in layers:
            weight = {
                i: sum(place[p] for p in parents[i]) / len(parents[i]) if parents[i] else 0.0 for i in layer
            }
            layer.sort(key=lambda i: weight[i])
            for k, i in enumerate(layer):
                place[i] = k - len(layer) / 2
        return layers

    def save(self, path: str | Path) -> Path:
        """Writes the graph; the extension tells the format: ``.dot`` (or ``.gv``), ``.svg`` or ``.txt``.

        Raises
        ------
        ValueError
            For any other extension.
        """
        from pathlib import Path

        path = Path(path)
        writers = {".dot": lambda: self.dot, ".gv": lambda: self.dot, ".svg": self.svg, ".txt": self.text}
        if path.suffix not in writers:
            raise ValueError(
                f"the extension of {path.name!r} tells no format; use one of {', '.join(writers)}"
            )
        path.write_text(writers[path.suffix](), encoding="utf-8")
        return path


def graph(
    outputs: Tensor | Iterable[Tensor],
    params: Mapping[str, Tensor] | Iterable[tuple[str, Tensor]] | None = None,
) -> Graph:
    """The graph behind one or several tensors.

    Parameters
    ----------
    outputs : Tensor or iterable of Tensor
        Where the graph starts.
    params : mapping of str to Tensor, or pairs, optional
        Names for leaves, as ``module.named_parameters()`` gives them.

    Raises
    ------
    ValueError
        When no output has a history.

    Examples
    --------
    >>> import rgrad
    >>> w = rgrad.tensor([1.0, 2.0], requires_grad=True)
    >>> print(rgrad.viz.graph((w * w).sum(), {"w": w}).text(), end="")
    output 0  () float32
      SumBackward0
        MulBackward0
          w  (2,) float32
          w  (2,) float32
    """
    roots = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    if not any(t.requires_grad for t in roots):
        raise ValueError("none of the outputs has a history: nothing that requires grad was recorded")
    pairs = params.items() if isinstance(params, Mapping) else (params or ())
    names = {id(t): name for name, t in pairs}
    vertices: list[_Vertex] = []
    edges: list[tuple[int, int]] = []
    place: dict[Any, int] = {}
    keep: list = []  # nodes are looked up by themselves, so they stay alive during the walk
    todo: list = []

    def leaf(t: Tensor) -> int:
        key = ("leaf", id(t))
        if key not in place:
            keep.append(t)
            place[key] = len(vertices)
            label = names.get(id(t)) or getattr(t, "name", None) or "leaf"
            vertices.append(_Vertex(str(label), _describe(t), "leaf"))
        return place[key]

    def vertex(node) -> int:
        variable = getattr(node, "variable", None)
        if variable is not None:
            return leaf(variable)
        if node not in place:
            keep.append(node)
            place[node] = len(vertices)
            vertices.append(_Vertex(node.name(), "", "op"))
            todo.append(node)
        return place[node]

    for k, t in enumerate(roots):
        root = len(vertices)
        vertices.append(_Vertex(f"output {k}", _describe(t), "root"))
        if t.requires_grad:
            edges.append((root, leaf(t) if t.grad_fn is None else vertex(t.grad_fn)))
    while todo:
        node = todo.pop()
        here = place[node]
        for below, _ in node.next_functions:
            if below is not None:
                edges.append((here, vertex(below)))
    return Graph(vertices, edges)


def _indent(depth: int) -> str:
    """Two spaces a level; beyond forty the depth is written as a number, for long chains."""
    return "  " * depth if depth <= 40 else "  " * 40 + f"[{depth}] "


def _describe(t: Tensor) -> str:
    return f"{tuple(t.shape)} {str(t.dtype).rpartition('.')[2]}"


def _escape(s: str) -> str:
    """The text as it may stand in XML."""
    return s.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _quote(s: str) -> str:
    return s.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
