import { element, table } from "./dom.js";
import { GraphView } from "./model.js";
import { ReportView } from "./report.js";

const at = (id) => document.getElementById(id);
const palette = ["#cfe3ff", "#d9f2d0", "#ffe3c2", "#f3d6f5", "#fff2b8", "#d0f0ee", "#f8d3d3", "#e0dcf7"];
const mostFound = 60;
const letter = { width: 6.2, height: 13 }; // of the boxes' labels, in pixels
const readable = 0.8; // zoom

const microseconds = (us) => (us < 1000 ? `${us.toPrecision(3)} µs` : `${(us / 1000).toPrecision(3)} ms`);
const ending = (text, most = 34) => (text.length > most ? `…${text.slice(1 - most)}` : text);

class Page {
  #view;
  #run;
  #cy;
  #selected;
  #report;

  constructor(data, reports) {
    this.#view = new GraphView(data);
    this.#report = new ReportView(reports, {
      find: (text) => this.#named(text),
      select: (id) => this.#go(id),
      highlight: (id, inputs) => this.#highlight(id, inputs),
      show: (parts) => this.#details(parts),
    });
    this.#run = data.run;
    at("title").textContent = document.title = data.name || data.file;
    this.#cy = cytoscape({ container: at("graph"), style: style() });
    this.#listen();
    this.draw();
    this.#find("");
    if (data.nodes.length > 0) return this.#showModel();
    document.body.classList.add("report-only");
    this.#showPaths();
  }

  draw() {
    const { boxes, edges } = this.#view.elements();
    this.#cy.batch(() => {
      this.#cy.elements().remove();
      this.#cy.add(boxes.map((box) => ({ group: "nodes", data: this.#drawn(box), classes: box.kind })));
      this.#cy.add(edges.map((edge) => ({ group: "edges", data: edge, classes: edge.kind })));
    });
    this.#cy.layout({ name: "dagre", rankDir: "TB", nodeSep: 18, rankSep: 42, animate: false }).run();
    this.#mark();
    const shown = boxes.filter((box) => box.kind === "node" || box.kind === "region").length;
    at("status").textContent = `${shown} of ${this.#view.data.nodes.length} nodes shown`;
  }

  #listen() {
    this.#cy.on("tap", (event) => (event.target === this.#cy ? this.#showModel() : this.#tapped(event.target)));
    this.#cy.on("dbltap", "node", (event) => this.#toggle(event.target.id()));
    at("unfold").onclick = () => (this.#view.openAll(), this.draw());
    at("fold").onclick = () => (this.#view.foldAll(), this.draw());
    at("fit").onclick = () => this.#cy.fit(undefined, 20);
    at("paths").onclick = () => (at("paths").getAttribute("aria-pressed") === "true" ? this.#showModel() : this.#showPaths());
    at("colour").onchange = () => this.draw();
    at("search").oninput = () => this.#find(at("search").value);
  }

  #tapped(target) {
    if (!target.isNode()) return;
    const id = target.id().replace(/:out$/, "");
    if (this.#view.node(id) || this.#view.container(id)) this.#select(id);
    else if (id.startsWith("v")) this.#showValue(id.slice(1));
  }

  #toggle(id) {
    if (!this.#view.canOpen(id)) return;
    this.#view.toggle(id);
    this.draw();
    this.#select(id);
  }

  /** A box with its colour and what the run tells. */
  #drawn(box) {
    const time = this.#run?.nodes[box.id];
    const share = this.#branchShare(box.id);
    const label = box.label.split("\n").map((line) => ending(line)).join("\n");
    const text = label + (time ? `\n${microseconds(time.us)}` : "") + (share === undefined ? "" : `: ${share} %`);
    const lines = text.split("\n");
    const width = Math.max(...lines.map((line) => line.length)) * letter.width;
    return { ...box, label: text, width, height: lines.length * letter.height, colour: this.#colour(box) };
  }

  /** How often an If took this branch, in percent. */
  #branchShare(id) {
    const owner = this.#view.container(id)?.owner;
    const flow = owner && this.#run?.flows[owner];
    if (!flow || flow.iterations !== undefined) return undefined;
    const taken = this.#view.node(owner).bodies[0] === id ? flow.true : flow.false;
    return Math.round((100 * taken) / Math.max(flow.true + flow.false, 1));
  }

  #colour(box) {
    const how = at("colour").value;
    if (how === "time" && this.#run && this.#run.nodes[box.id]) {
      const most = Math.max(...Object.values(this.#run.nodes).map((node) => node.us));
      return `hsl(${Math.round(60 - 60 * Math.sqrt(this.#run.nodes[box.id].us / most))}, 90%, 75%)`;
    }
    const fused = this.#view.steps(box.id).find((number) => this.#view.data.plan.steps[number].nodes.length > 1);
    return how === "steps" && fused !== undefined ? palette[fused % palette.length] : "#ffffff";
  }

  #mark() {
    this.#cy.nodes().removeClass("selected");
    if (this.#selected) this.#cy.getElementById(this.#selected).addClass("selected");
  }

  /** Shows a node or container, and what is known of it. */
  #select(id) {
    this.#go(id);
    this.#pressPaths(false);
    this.#details(this.#view.node(id) ? this.#nodeDetails(this.#view.node(id)) : this.#containerDetails(id));
  }

  /** Moves the graph to a node or container, and opens what is around it. */
  #go(id) {
    if (this.#view.node(id) && this.#cy.getElementById(id).empty()) {
      this.#view.reveal(id);
      this.draw();
    }
    this.#selected = id;
    this.#mark();
    const box = this.#cy.getElementById(id);
    if (box.nonempty()) this.#cy.zoom(Math.max(this.#cy.zoom(), readable)), this.#cy.center(box);
  }

  // ---- the report over all paths ----

  #pressPaths(on) {
    at("paths").setAttribute("aria-pressed", `${on}`);
    if (!on) this.#highlight(undefined, []);
  }

  #showPaths() {
    this.#pressPaths(true);
    this.#report.show();
  }

  /** The id of a node or an output that a report names: "node 'pick' (If)", "node #7 (Add)", "output 'y'". */
  #named(text) {
    const { data } = this.#view;
    const output = text.match(/^output '(.*)'$/);
    if (output) {
      const number = data.outputs.findIndex((one) => one.name === output[1]);
      return number < 0 ? undefined : `o${number}`;
    }
    const unnamed = text.match(/^node #(\d+) \(/);
    if (unnamed) return this.#view.node(`n${unnamed[1]}`)?.id;
    const named = text.match(/^node '(.*)' \((.*)\)$/);
    return named ? data.nodes.find((node) => node.name === named[1] && node.op === named[2])?.id : undefined;
  }

  /** Marks a decision or output, the inputs that may influence it, and what lies between them. */
  #highlight(id, inputs) {
    this.#cy.elements().removeClass("decides influences");
    if (id === undefined) return;
    if (this.#view.node(id)) this.#go(id);
    const from = this.#view.data.inputs.filter((value) => inputs.includes(this.#view.data.values[value].name));
    const boxes = from.reduce((all, value) => all.union(this.#cy.getElementById(`v${value}`)), this.#cy.collection());
    const target = this.#cy.getElementById(id);
    boxes.union(boxes.successors().intersection(target.predecessors())).addClass("influences");
    target.addClass("decides");
  }

  #details(parts) { at("details").replaceChildren(...parts.filter(Boolean)); }

  #showModel() {
    this.#selected = undefined;
    this.#pressPaths(false);
    this.#mark();
    const { data } = this.#view;
    const run = this.#run;
    this.#details([
      element("h2", data.file),
      run && element("p", `A pass over ${run.requests} request(s) takes ${microseconds(run.total_us)}.`),
      element("h3", "Inputs"),
      table(data.inputs.map((value) => this.#valueRow(data.values[value].name, value))),
      element("h3", "Outputs"),
      table(data.outputs.map((output) => this.#valueRow(output.name, output.value))),
    ]);
  }

  #showValue(value) {
    this.#details([element("h2", this.#view.data.values[value].name || "parameter"), table([this.#valueRow("", value)])]);
  }

  #containerDetails(id) {
    return [element("h2", this.#view.container(id).title), this.#openButton(id)];
  }

  #nodeDetails(node) {
    const attributes = Object.entries(node.attributes).map(([name, value]) => [name, JSON.stringify(value)]);
    const section = (title, rows) => (rows.length > 0 ? [element("h3", title), table(rows)] : []);
    return [
      element("h2", `${node.op}  ${node.name}`),
      this.#openButton(node.id),
      ...section("Run", this.#runRows(node)),
      ...section("Inputs", node.in.flatMap((v, i) => (v === null ? [] : [this.#valueRow(node.ports[i], v)]))),
      ...section("Outputs", node.out.flatMap((v) => (v === null ? [] : [this.#valueRow("", v)]))),
      ...section("Attributes", attributes),
      ...section("Steps", this.#stepRows(node)),
    ];
  }

  #openButton(id) {
    if (!this.#view.canOpen(id)) return undefined;
    return element("button", this.#view.isOpen(id) ? "Fold" : "Open", { id: "toggle", onclick: () => this.#toggle(id) });
  }

  #runRows(node) {
    const rows = [];
    const time = this.#run?.nodes[node.id];
    const flow = this.#run?.flows[node.id];
    if (time) {
      const share = ((100 * time.us) / this.#run.total_us).toFixed(1);
      rows.push(["time", `${microseconds(time.us)}, ${share} %`], ["calls", `${time.calls}`]);
    }
    if (!flow) return rows;
    rows.push(["entries", `${flow.entries}`]);
    if (flow.iterations !== undefined) return [...rows, ["iterations", `${flow.iterations}`]];
    const all = flow.true + flow.false;
    const share = (count) => `${count} (${all > 0 ? Math.round((100 * count) / all) : 0} %)`;
    return [...rows, ["then", share(flow.true)], ["else", share(flow.false)]];
  }

  #valueRow(port, value) {
    const { name, type, constant } = this.#view.data.values[value];
    const seen = this.#run?.values[value];
    const cell = [`${name}  ${type}`];
    const add = (text) => cell.push(element("div", text, { className: "summary" }));
    if (constant !== undefined) add(constant);
    if (seen?.removed) add(`not made: ${seen.removed}`);
    if (seen?.summary !== undefined) add(`${seen.type}  ${seen.summary}${seen.count > 1 ? `; made ${seen.count} times` : ""}`);
    return [port, cell];
  }

  #stepRows(node) {
    const { plan } = this.#view.data;
    if (!plan) return [];
    const rows = this.#view.steps(node.id).map((number) => {
      const step = plan.steps[number];
      const others = step.nodes.filter((id) => id !== node.id);
      return [step.kernel, [step.ops, ...others.map((id) => element("div", this.#link(id)))]];
    });
    for (const apart of plan.apart) {
      if (apart.node !== node.id && apart.producer !== node.id) continue;
      const other = apart.node === node.id ? apart.producer : apart.node;
      rows.push(["apart from", [this.#link(other), `: ${apart.why}`]]);
    }
    return rows.length > 0 || node.bodies.length > 0 ? rows : [["none", "folded into constants, or only a view"]];
  }

  #link(id) {
    const node = this.#view.node(id);
    return element("button", node.name || node.op, { className: "link", onclick: () => this.#select(id) });
  }

  #find(text) {
    const wanted = text.toLowerCase();
    const names = (node) => [node.name, node.op, ...node.out.map((v) => (v === null ? "" : this.#view.data.values[v].name))];
    /** The length of the shortest name with the text in it: what is named so itself comes first. */
    const distance = (node) => Math.min(...names(node).filter((x) => x.toLowerCase().includes(wanted)).map((x) => x.length));
    const found = wanted === "" ? [] : this.#view.data.nodes.filter((node) => distance(node) < Infinity);
    found.sort((a, b) => distance(a) - distance(b));
    const items = found.slice(0, mostFound).map((node) =>
      element("li", element("button", `${node.op}  ${node.name}`, { onclick: () => this.#select(node.id) })));
    if (found.length > mostFound) items.push(element("li", `${found.length - mostFound} more`));
    at("found").replaceChildren(...items);
  }
}

function style() {
  const box = { label: "data(label)", "text-wrap": "wrap", "text-valign": "center", "font-size": 11, width: "data(width)",
    height: "data(height)", padding: 7, shape: "round-rectangle", "border-width": 1, "border-color": "#8894a5",
    "background-color": "data(colour)" };
  return [
    { selector: "node", style: box },
    { selector: ".region, .function", style: { "border-width": 3, "border-style": "double" } },
    { selector: ".input, .output", style: { shape: "ellipse", "background-color": "#eef1f5" } },
    { selector: ".container", style: { "text-valign": "top", "background-color": "#f7f9fc", "border-style": "dashed" } },
    { selector: "node.influences", style: { "border-color": "#8a4b00", "border-width": 3, "border-style": "dashed" } },
    { selector: "edge.influences", style: { "line-color": "#8a4b00", "target-arrow-color": "#8a4b00", width: 3 } },
    { selector: ".decides", style: { "border-color": "#8a4b00", "border-width": 6 } },
    { selector: ".selected", style: { "border-color": "#1a56b0", "border-width": 4 } },
    { selector: "edge", style: { width: 1.2, "curve-style": "bezier", "line-color": "#9aa5b4",
      "target-arrow-shape": "triangle", "target-arrow-color": "#9aa5b4", "arrow-scale": 0.8 } },
    { selector: ".value", style: { label: "data(label)", "font-size": 8, color: "#667", "text-rotation": "autorotate",
      "min-zoomed-font-size": 7 } },
    { selector: ".entry", style: { "line-style": "dashed" } },
  ];
}

async function json(name) {
  const answer = await fetch(name);
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  return answer.json();
}

async function start() {
  new Page(await json("graph.json"), await json("report.json"));
  document.body.dataset.ready = "yes";
}

start().catch((error) => {
  document.body.dataset.ready = "no";
  at("status").textContent = `The graph could not be shown: ${error.message}`;
});
