// A pipeline as boxes and edges: the wider an edge, the more of the traffic goes along it.

import { element, percent, rate, set, short, svg, time } from "./element.js";

const box = { width: 176, height: 56 };
const gap = { x: 24, y: 44 };
const least = 116; // width of a branch, for its label
const side = 26; // beside a loop's block, for the way back
const steps = 10; // snapshots that shares are taken over

const structure = (nodes) =>
  nodes.map((node) => [node.name, node.kind, node.model, (node.branches ?? []).map((b) => [b.name, b.rule, structure(b.nodes)])]);

/** What follows a node: its branches; besides those of a shadow, the way that all requests go. */
function waysOf(node) {
  const ways = (node.branches ?? []).map((branch, i) => ({ branch, i, copy: node.kind === "shadow" }));
  return node.kind === "shadow" ? [{ branch: { name: "", nodes: [] } }, ...ways] : ways;
}

function sizeOfBlock(nodes) {
  const sizes = nodes.map(sizeOf);
  return {
    width: Math.max(least, ...sizes.map((size) => size.width)),
    height: sizes.reduce((sum, size) => sum + size.height, 0) + gap.y * Math.max(nodes.length - 1, 0),
  };
}

/** With the middles of its ways, from its own. */
function sizeOf(node) {
  const blocks = waysOf(node).map((way) => sizeOfBlock(way.branch.nodes));
  if (blocks.length === 0) return box;
  const height = box.height + 2 * gap.y + Math.max(...blocks.map((size) => size.height));
  if (node.kind === "shadow") {
    const [, copy] = blocks; // beside the way that all requests go straight on
    return { width: Math.max(box.width, 2 * (gap.x + copy.width)), height, middles: [0, gap.x + copy.width / 2] };
  }
  const inner = blocks.reduce((sum, size) => sum + size.width, 0) + gap.x * (blocks.length - 1);
  let left = -inner / 2;
  const middles = blocks.map((size) => {
    left += size.width + gap.x;
    return left - gap.x - size.width / 2;
  });
  return { width: Math.max(box.width, inner + (node.kind === "loop" ? 2 * side : 0)), height, middles };
}

/** The change of a counter; one that was reset counts from 0. */
const since = (before, now) => (before === undefined || before > now ? now : now - before);

/** A node's traffic since it was `before`, and its branches'. */
function traffic(before, now) {
  const calls = since(before?.calls, now.calls);
  const fresh = calls > 0;
  const share = (branch, i) => {
    const taken = fresh ? since(before?.branches?.[i]?.taken, branch.taken) : branch.taken;
    const all = fresh ? calls : now.calls;
    return all > 0 ? taken / all : 0;
  };
  const ended = since(before?.ended, now.ended);
  return {
    calls,
    time_us: ended > 0 ? since(before?.time_ns, now.time_ns) / ended / 1000 : undefined,
    shares: (now.branches ?? []).map(share),
  };
}

export class PipelineView {
  #at;
  #chosen; // is told which node was
  #drawn = ""; // the structure
  #boxes = new Map(); // place -> its elements
  #edges = []; // with the place and branch that their share is of
  #history = []; // {seconds, nodes}

  constructor(at, chosen) {
    this.#at = at;
    this.#chosen = chosen;
  }

  hide() {
    this.#drawn = "";
    this.#at.replaceChildren();
  }

  show(model, seconds) {
    const drawn = JSON.stringify([model.name, model.version, structure(model.nodes)]);
    if (drawn !== this.#drawn) {
      this.#drawn = drawn;
      this.#history = [];
      this.#draw(model);
    }
    this.#history.push({ seconds, nodes: model.nodes });
    if (this.#history.length > steps) this.#history.shift();
    this.#update(model.nodes);
  }

  mark(name) {
    for (const { group } of this.#boxes.values()) group.classList.toggle("chosen", group.dataset.node === name);
  }

  // ---- drawing, once for a structure ----

  #draw(model) {
    this.#boxes.clear();
    this.#edges = [];
    const size = sizeOfBlock(model.nodes);
    const x = size.width / 2 + 10;
    const lines = svg("g"), boxes = svg("g"), labels = svg("g");
    const layers = { lines, boxes, labels };
    boxes.append(this.#end(x, 14, "request"));
    const bottom = this.#block(layers, model.nodes, "", { x, y: 20 + gap.y }, { from: { x, y: 20 } });
    this.#edge(layers, bottom, { x, y: bottom.y + gap.y }, {});
    boxes.append(this.#end(x, bottom.y + gap.y + 6, "answer"));
    const height = bottom.y + gap.y + 30, width = size.width + 20;
    const drawing = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, [lines, boxes, labels]);
    this.#at.replaceChildren(element("h2", `Pipeline ${model.name}`), drawing);
  }

  #end(x, y, text) {
    return svg("g", { class: "end" }, [svg("circle", { cx: x, cy: y, r: 6 }), svg("text", { x: x + 12, y: y + 4 }, text)]);
  }

  /** Nodes below each other from `top`; `way`: where they are come to from, and the branch that they are. */
  #block(layers, nodes, place, top, way) {
    let from = way.from, y = top.y;
    nodes.forEach((node, i) => {
      this.#edge(layers, from, { x: top.x, y }, way);
      from = this.#node(layers, node, `${place}/${i}`, { x: top.x, y }, way);
      y = from.y + gap.y;
    });
    return nodes.length > 0 ? from : way.from;
  }

  #node(layers, node, place, top, way) {
    this.#box(layers, node, place, top);
    const ways = waysOf(node);
    const out = { x: top.x, y: top.y + box.height };
    if (ways.length === 0) return out;
    const size = sizeOf(node);
    const bottom = { x: top.x, y: top.y + size.height };
    ways.forEach((one, i) => {
      const begin = { x: top.x + size.middles[i], y: out.y + gap.y };
      const inner = { ...way, from: out, copy: one.copy, of: one.i === undefined ? way.of : { place, i: one.i, around: way.of } };
      this.#way(layers, node, one, place, begin, bottom, inner);
    });
    return bottom;
  }

  #way(layers, node, one, place, begin, bottom, inner) {
    const { branch } = one;
    if (branch.nodes.length === 0) {
      this.#edge(layers, inner.from, begin, inner);
      inner.from = begin;
    }
    const last = this.#block(layers, branch.nodes, `${place}/${one.i}`, begin, inner);
    if (!one.copy) this.#edge(layers, last, bottom, inner);
    if (node.kind === "loop") this.#back(layers, begin, last, sizeOfBlock(branch.nodes).width);
    if (one.i === undefined) return;
    const label = svg("text", { class: "branch", x: begin.x, y: begin.y - 8 });
    layers.labels.append(label);
    this.#edges.push({ label, of: inner.of, name: node.kind === "loop" ? "" : branch.name, rule: branch.rule, loop: node.kind === "loop" });
  }

  #edge(layers, from, to, way) {
    const turn = Math.max(from.y, to.y - gap.y); // it goes straight down to there
    const middle = (turn + to.y) / 2;
    const line = svg("path", {
      class: way.copy ? "edge copy" : "edge",
      d: `M ${from.x} ${from.y} V ${turn} C ${from.x} ${middle}, ${to.x} ${middle}, ${to.x} ${to.y}`,
    });
    layers.lines.append(line);
    this.#edges.push({ line, of: way.of });
  }

  #back(layers, begin, last, width) {
    const { x } = begin, left = x - width / 2 - side / 2, bend = gap.y / 2;
    layers.lines.append(svg("path", {
      class: "edge back",
      d: `M ${x} ${last.y} C ${x} ${last.y + bend}, ${left} ${last.y + bend}, ${left} ${last.y} ` +
        `V ${begin.y} C ${left} ${begin.y - bend}, ${x} ${begin.y - bend}, ${x} ${begin.y}`,
    }));
  }

  #box(layers, node, place, top) {
    const x = top.x - box.width / 2;
    const text = (kind, dx, dy) => svg("text", { class: kind, x: x + dx, y: top.y + dy });
    const parts = { flying: text("flying", box.width - 8, 17), times: text("dim", 8, 49), title: svg("title") };
    const name = text("", 8, 17), kind = text("dim", 8, 33);
    name.textContent = short(node.name, 20);
    kind.textContent = short(node.model ? `${node.model} ${node.version}` : node.kind, 26);
    const frame = svg("rect", { x, y: top.y, width: box.width, height: box.height, rx: 6 });
    const group = svg("g", { class: "node", tabindex: 0, role: "button" }, [parts.title, frame, name, kind, parts.flying, parts.times]);
    group.dataset.node = node.name;
    group.onclick = () => this.#chosen(node.name);
    group.onkeydown = (event) => event.key === "Enter" && this.#chosen(node.name);
    layers.boxes.append(group);
    this.#boxes.set(place, { group, ...parts });
  }

  // ---- numbers, with each snapshot ----

  #update(nodes) {
    const seconds = this.#history.slice(1).reduce((sum, one) => sum + one.seconds, 0);
    const seen = new Map(); // place -> traffic
    this.#count(this.#history[0].nodes, nodes, "", seen, this.#history.length > 1);
    for (const [place, { node, flow }] of seen) this.#number(this.#boxes.get(place), node, flow, seconds);
    for (const edge of this.#edges) this.#weigh(edge, seen);
  }

  #count(before, now, place, seen, compared) {
    now.forEach((node, i) => {
      const old = compared ? before?.[i] : undefined;
      const here = `${place}/${i}`;
      seen.set(here, { node, flow: traffic(old, node) });
      (node.branches ?? []).forEach((branch, k) => this.#count(old?.branches?.[k]?.nodes, branch.nodes, `${here}/${k}`, seen, compared));
    });
  }

  #number(parts, node, flow, seconds) {
    parts.flying.textContent = String(node.in_flight);
    parts.flying.classList.toggle("idle", node.in_flight === 0);
    const often = seconds > 0 ? `${rate(flow.calls / seconds)}/s` : `${node.calls}`;
    parts.times.textContent = `${often}  ${time(flow.time_us)}${node.failed > 0 ? `  ${node.failed} failed` : ""}`;
    parts.times.classList.toggle("bad", node.failed > 0);
    parts.title.textContent = `${node.name}: ${node.kind}${node.model ? ` of ${node.model} ${node.version}` : ""}; ` +
      `${node.calls} calls, ${node.failed} failed, ${node.in_flight} in flight`;
  }

  #shareOf(of, seen) {
    if (of === undefined) return 1;
    return (seen.get(of.place)?.flow.shares[of.i] ?? 0) * Math.min(this.#shareOf(of.around, seen), 1);
  }

  #weigh(edge, seen) {
    if (edge.label) {
      const { node, flow } = seen.get(edge.of.place) ?? {};
      const share = flow?.shares[edge.of.i] ?? 0;
      const why = node?.branches[edge.of.i]?.rolled_back;
      const text = edge.loop ? `${share.toFixed(1)} rounds` : `${short(edge.name, 14)} ${percent(share)}`;
      const title = [edge.rule, why && `rolled back: ${why}`].filter(Boolean).join("; ");
      edge.label.classList.toggle("bad", Boolean(why));
      edge.label.replaceChildren(why ? `${short(edge.name, 14)} rolled back` : text, ...(title ? [svg("title", {}, title)] : []));
      return;
    }
    const share = Math.min(this.#shareOf(edge.of, seen), 1);
    set(edge.line, { "stroke-width": (1 + 7 * share).toFixed(2), "stroke-opacity": (0.25 + 0.6 * share).toFixed(2) });
  }
}
