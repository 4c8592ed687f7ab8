import { element } from "./dom.js";

// The report over all paths: what a model or pipeline can reach and take, and what may steer it.

const number = (value, unit, scale) => (value === null ? "unbounded" : `${(value / scale).toPrecision(3)} ${unit}`);
const version = (value) => (value === null ? "current" : `${value}`);
const sources = (names) => (names.length > 0 ? names.join(", ") : "nothing");

/** A table with a caption and heads, for screen readers too; nothing without rows. */
function titled(caption, heads, rows) {
  if (rows.length === 0) return undefined;
  const head = element("tr", heads.map((text) => element("th", text, { scope: "col" })));
  const body = rows.map((row) => element("tr", row.map((cell) => element("td", cell))));
  return element("table", [element("caption", caption), head, ...body], { className: "report" });
}

/** The parts of reports that name a node of the graph: "node 'If_12' (If)", "node #7 (Add)". */
const places = /node (?:'[^']*'|#\d+) \([^)]*\)/;

export class ReportView {
  #reports;
  #index = 0;
  #page;

  /**
   * `reports`: {models: [...], pipelines: [...]}. `page`: find(text) returns the id of a node of the graph or nothing,
   * select(id) shows it, highlight(id, inputs) marks a decision and what leads to it, show(parts) shows elements.
   */
  constructor(reports, page) {
    this.#reports = [...(reports.models ?? []), ...(reports.pipelines ?? [])];
    this.#page = page;
  }

  show() {
    const report = this.#reports[this.#index];
    if (!report) return this.#page.show([element("p", "There is no report.")]);
    this.#page.show([
      element("h2", `All paths of ${report.name}`),
      this.#chooser(),
      element("p", report.digest, { className: "digest" }),
      this.#bounds(report),
      this.#unbounded(report),
      titled("Models that a path can run", ["model", "version"], report.models.map((m) => [m.name, version(m.version)])),
      titled("Endpoints that a path can call", ["kind", "address", "step"],
        report.endpoints.map((e) => [e.kind, e.host + e.path, e.node])),
      titled("Programs that a path can start", ["program", "step"], report.code.map((c) => [c.name, c.node])),
      titled("Operators", ["operator", "nodes"],
        report.operators.map((o) => [o.domain ? `${o.domain}.${o.name}` : o.name, `${o.count}`])),
      this.#influence(report),
      this.#table("What values may reach", "receiver", report.reaches),
      titled("What every path passes before", ["target", "always before it"],
        (report.passes ?? []).map((p) => [p.to, sources(p.always)])),
      this.#selections(report),
    ]);
  }

  #chooser() {
    if (this.#reports.length < 2) return undefined;
    const label = (report) => `${report.paths === undefined ? "model" : "pipeline"} ${report.name} ${report.version ?? ""}`;
    const options = this.#reports.map((report, i) => element("option", label(report), { value: `${i}` }));
    const select = element("select", options, { id: "report" });
    select.value = `${this.#index}`;
    select.onchange = () => {
      this.#index = Number(select.value);
      this.show();
      document.getElementById("report")?.focus();
    };
    return element("label", ["Report of ", select]);
  }

  #bounds(report) {
    const rows = [
      ["operations", number(report.worst_operations, "", 1)],
      ["time of a core, predicted", number(report.worst_cost_ns, "ms", 1e6)],
      ["memory", number(report.worst_memory_bytes, "MB", 1e6)],
      ["outputs", number(report.worst_output_bytes, "MB", 1e6)],
    ];
    if (report.paths !== undefined) rows.push(["different paths", report.paths.toPrecision(6)]);
    for (const [name, range] of Object.entries(report.extents ?? {})) {
      rows.push([`range of ${name}`, range === null ? "any" : `${range[0]} to ${range[1]}`]);
    }
    return titled("At most", ["what", "bound"], rows);
  }

  #unbounded(report) {
    return titled("Without a bound", ["what", "where", "why"],
      report.unbounded.map((part) => [part.of, this.#place(part.where), part.why]));
  }

  #influence(report) {
    const rows = Object.entries(report.influence).map(([what, names]) => [this.#decision(what, names), sources(names)]);
    return titled("What may influence", ["output or decision", "sources"], rows);
  }

  #table(caption, head, entries) {
    return titled(caption, [head, "sources"], Object.entries(entries ?? {}).map(([what, names]) => [what, sources(names)]));
  }

  #selections(report) {
    const rows = report.selections.flatMap((selection) =>
      selection.compares.map((one) => [this.#place(selection.node), sources(one.inputs), one.with, this.#place(one.node)]));
    return titled("Selections by a constant", ["selects", "compares", "with", "in"], rows);
  }

  /** The text of a place, as a button if the graph has the node. */
  #place(text) {
    const id = this.#page.find(text.match(places)?.[0] ?? "");
    if (id === undefined) return text;
    return element("button", text, { className: "link", onclick: () => this.#page.select(id) });
  }

  /** A decision or output, as a button that highlights what leads to it. */
  #decision(text, names) {
    const id = this.#page.find(text);
    if (id === undefined) return text;
    const button = element("button", text, { className: "link decision" });
    button.setAttribute("aria-pressed", "false");
    button.onclick = () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      for (const other of document.querySelectorAll(".decision")) other.setAttribute("aria-pressed", "false");
      button.setAttribute("aria-pressed", `${on}`);
      this.#page.highlight(on ? id : undefined, names);
    };
    return button;
  }
}
