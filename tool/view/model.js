// Which part of a graph is shown: bodies of If, Loop and Scan and inlined functions are folded until they are opened.

export class GraphView {
  #data;
  #nodes = new Map();
  #containers = new Map();
  #parameterOf = new Map(); // value -> the body whose parameter it is
  #stepsOf = new Map(); // node -> numbers of steps
  #open = new Set(); // nodes with bodies, and functions

  constructor(data) {
    this.#data = data;
    for (const node of data.nodes) this.#nodes.set(node.id, node);
    for (const container of data.containers) {
      this.#containers.set(container.id, container);
      for (const value of container.parameters) this.#parameterOf.set(value, container.id);
    }
    (data.plan?.steps ?? []).forEach((step, number) => {
      for (const id of step.nodes) this.#stepsOf.set(id, [...(this.#stepsOf.get(id) ?? []), number]);
    });
  }

  get data() { return this.#data; }
  node(id) { return this.#nodes.get(id); }
  container(id) { return this.#containers.get(id); }
  steps(id) { return this.#stepsOf.get(id) ?? []; }
  canOpen(id) { return (this.node(id)?.bodies.length ?? 0) > 0 || (this.container(id) && !this.container(id).owner); }
  isOpen(id) { return this.#open.has(id); }
  toggle(id) { this.#open.has(id) ? this.#open.delete(id) : this.#open.add(id); }
  foldAll() { this.#open.clear(); }
  openAll() {
    for (const node of this.#data.nodes) if (node.bodies.length > 0) this.#open.add(node.id);
    for (const container of this.#data.containers) if (!container.owner) this.#open.add(container.id);
  }
  /** Opens everything around a node. */
  reveal(id) {
    for (const around of this.#around(this.node(id)?.inside)) this.#open.add(around.owner ?? around.id);
  }

  /** The elements to draw: [{id, kind, label, parent?, ...}] and [{source, target, kind, label}]. */
  elements() {
    const boxes = [];
    for (const container of this.#data.containers) this.#addContainer(boxes, container);
    for (const node of this.#data.nodes) this.#addNode(boxes, node);
    for (const value of this.#data.inputs) boxes.push(this.#parameter(value));
    this.#data.outputs.forEach((output, i) => boxes.push({ id: `o${i}`, kind: "output", label: output.name }));
    const edges = this.#edges();
    return { boxes, edges: [...edges, ...this.#entries(boxes, edges)] };
  }

  /** The containers around something inside `id`, outermost first. */
  #around(id) {
    const around = [];
    for (let at = id; at; at = this.container(at).inside) around.unshift(this.container(at));
    return around;
  }
  #isShown(inside) { return this.#around(inside).every((c) => this.#open.has(c.owner ?? c.id)); }
  /** What stands for `id`, which is inside of `inside`: itself, or the outermost folded one around. */
  #standsFor(id, inside) {
    const folded = this.#around(inside).find((c) => !this.#open.has(c.owner ?? c.id));
    return folded ? folded.owner ?? folded.id : id;
  }

  #addContainer(boxes, container) {
    if (!this.#isShown(container.inside)) return;
    const open = this.#open.has(container.owner ?? container.id);
    if (!open && container.owner) return; // its node stands for it
    const box = { id: container.id, kind: open ? "container" : "function", label: container.title };
    boxes.push({ ...box, parent: container.inside });
    if (open) for (const value of container.parameters) boxes.push({ ...this.#parameter(value), parent: container.id });
  }

  #addNode(boxes, node) {
    if (!this.#isShown(node.inside)) return;
    const kind = node.bodies.length > 0 ? "region" : "node";
    const label = node.name ? `${node.op}\n${node.name}` : node.op;
    boxes.push({ id: node.id, kind, label, parent: node.inside });
    if (kind === "region" && this.#open.has(node.id)) {
      boxes.push({ id: `${node.id}:out`, kind: "output", label: "results", parent: node.inside });
    }
  }

  #parameter(value) { return { id: `v${value}`, kind: "input", label: this.#data.values[value].name || "parameter" }; }

  /** The box that a value comes from; nothing for a constant. */
  #source(value) {
    const from = this.#data.values[value].from;
    if (from === undefined) return undefined;
    const node = this.node(from);
    if (!node) return this.#standsFor(`v${value}`, this.#parameterOf.get(value));
    const box = this.#standsFor(from, node.inside);
    return box === from && this.#open.has(from) ? `${from}:out` : box;
  }

  #edges() {
    const edges = new Map();
    const add = (value, target) => {
      const source = value === null ? undefined : this.#source(value);
      if (source === undefined || source === target || source === `${target}:out`) return;
      edges.set(`${source} ${target} ${value}`, { source, target, kind: "value", label: this.#data.values[value].type });
    };
    for (const node of this.#data.nodes) {
      for (const value of node.in) add(value, this.#standsFor(node.id, node.inside));
    }
    for (const container of this.#data.containers) {
      if (!container.owner) continue;
      const owner = this.node(container.owner);
      const shown = this.#standsFor(owner.id, owner.inside);
      const target = shown === owner.id && this.#open.has(owner.id) ? `${owner.id}:out` : shown;
      for (const value of container.results) add(value, target);
    }
    this.#data.outputs.forEach((output, i) => add(output.value, `o${i}`));
    return [...edges.values()];
  }

  /** From a node to what its open bodies begin with. */
  #entries(boxes, edges) {
    const parents = new Map(boxes.map((box) => [box.id, box.parent]));
    const fed = new Set(edges.filter((e) => parents.get(e.source) === parents.get(e.target)).map((e) => e.target));
    const entries = [];
    for (const box of boxes) {
      const owner = this.container(box.parent)?.owner;
      if (owner && !fed.has(box.id) && box.kind !== "container") {
        entries.push({ source: owner, target: box.id, kind: "entry", label: "" });
      }
    }
    return entries;
  }
}
