import { bytes, draw, element, keep, percent, rate, spark, time } from "./element.js";
import { pathDetails } from "./path.js";
import { PipelineView } from "./pipeline.js";
import { Server } from "./server.js";

const at = (id) => document.getElementById(id);
const mostValues = 60; // of a line
const mostCaught = 50;
const mostListed = 20;
const patience = 2000; // ms, before it connects anew

const keyOf = (model) => `${model.name}/${model.version}`;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** The table of models, with what each has done lately. */
class Models {
  #lines = new Map(); // key -> {rate, p99}
  #chosen;

  constructor(chosen) { this.#chosen = chosen; }

  show(models, selected) {
    const rows = keep(at("models").tBodies[0], models, keyOf, (model) => this.#row(model));
    const before = this.#lines;
    this.#lines = new Map(models.map((model) => [keyOf(model), before.get(keyOf(model)) ?? { rate: [], p99: [] }]));
    models.forEach((model, i) => this.#fill(rows[i].children, model));
    this.mark(selected);
  }

  mark(selected) {
    for (const row of at("models").tBodies[0].rows) row.cells[0].firstChild.classList.toggle("chosen", row.dataset.name === selected);
  }

  #row(model) {
    const name = element("button", `${model.name} ${model.version}`, { className: "link", onclick: () => this.#chosen(model) });
    const cell = (content = []) => element("td", content, { className: "number" });
    const row = element("tr", [
      element("td", name), cell(), element("td", spark(mostValues)), cell(), cell(), element("td", spark(mostValues)),
      ...Array.from({ length: 9 }, () => cell()),
    ]);
    row.dataset.name = model.name;
    return row;
  }

  #fill(cells, model) {
    const last = model.interval ?? {};
    const texts = {
      1: rate(last.per_second), 3: time(last.p50_us), 4: time(last.p99_us), 6: model.pending, 7: time(last.queue_us),
      8: time(last.run_us), 9: last.batch === undefined ? "–" : last.batch.toFixed(1), 10: percent(last.padding),
      11: model.success, 12: model.fail, 13: model.cancelled, 14: model.rejected,
    };
    for (const [i, text] of Object.entries(texts)) cells[i].textContent = String(text);
    cells[9].title = Object.entries(model.batches).map(([size, runs]) => `${runs} runs of ${size}`).join(", ");
    if (model.interval === undefined) return;
    const lines = this.#lines.get(keyOf(model));
    for (const [line, value, cell] of [[lines.rate, last.per_second, 2], [lines.p99, last.p99_us, 5]]) {
      line.push(value);
      if (line.length > mostValues) line.shift();
      draw(cells[cell].firstChild, line, mostValues);
    }
  }
}

/** Holds the requests that meet a condition, with all that the server tells of them. */
class Breakpoint {
  #server;
  #show;
  #query; // undefined: none is set
  #after = 0; // the number up to which requests were looked at
  #caught = [];
  #asking = false;

  constructor(server, show) {
    this.#server = server;
    this.#show = show;
    at("break").onsubmit = (event) => (event.preventDefault(), this.#set());
    at("break-clear").onclick = () => this.#clear();
  }

  /** Models to choose from, and the number of the latest request. */
  async look(models, newest) {
    const names = [...new Set(models.map((model) => model.name))];
    keep(at("break-model"), ["", ...names], (name) => name, (name) => element("option", name || "any", { value: name }));
    if (this.#query === undefined) return void (this.#after = newest);
    if (this.#asking || newest === this.#after || this.#caught.length >= mostCaught) return;
    this.#asking = true;
    try {
      const found = await this.#server.paths({ ...this.#query, after: this.#after });
      this.#take(found);
      this.#after = Math.max(newest, ...found.map((request) => request.number));
    } catch (error) {
      at("break-state").textContent = error.message;
    } finally {
      this.#asking = false;
    }
  }

  #set() {
    const from = Number(at("break-ms").value);
    this.#query = {
      model: at("break-model").value, taken: at("break-taken").value.trim(), error: at("break-error").value.trim(),
      slower_us: from > 0 ? Math.round(1000 * from) : undefined, limit: mostCaught,
    };
    this.#caught = [];
    this.#take([]);
  }

  #clear() {
    this.#query = undefined;
    this.#caught = [];
    keep(at("caught"), [], String, String);
    at("break-state").textContent = "";
  }

  #take(found) {
    if (this.#query === undefined) return;
    this.#caught = [...found, ...this.#caught].slice(-mostCaught);
    const full = this.#caught.length >= mostCaught ? "; set it again to go on" : "";
    at("break-state").textContent = `${this.#caught.length} caught${full}`;
    keep(at("caught"), this.#caught, (request) => request.number, (request) => pathRow(request, () => this.#show(request)));
  }
}

/** Each branch once, with its count, as in the server's own lists. */
function branches(request) {
  if (request.taken) return request.taken;
  const counts = new Map();
  for (const { node = "", taken } of request.steps) {
    if (taken) counts.set(`${node}: ${taken}`, (counts.get(`${node}: ${taken}`) ?? 0) + 1);
  }
  return [...counts].map(([branch, count]) => (count === 1 ? branch : `${branch} (${count} times)`));
}

function pathRow(request, chosen) {
  const cells = [
    element("span", `${request.number}`), element("span", request.model ?? ""), element("span", time(request.time_us)),
    element("span", `${request.status}`, { className: request.status === 200 ? "" : "bad" }),
    element("span", branches(request).join(", "), { className: "taken" }),
  ];
  return element("li", element("button", cells, { onclick: chosen }));
}

class Page {
  #server = new Server();
  #models = new Models((model) => this.#choose(model.name));
  #pipeline = new PipelineView(at("graph"), (node) => this.#choose(this.#drawn, node));
  #break = new Breakpoint(this.#server, (request) => this.#details(request));
  #drawn; // the pipeline's name
  #of = {}; // model and node that requests are listed of; none: all
  #newest = 0;
  #listing = false;
  #again = false; // list once more after that
  #last; // snapshot
  #stop = new AbortController();

  constructor() {
    at("every").onchange = () => this.#stop.abort();
    at("paths-all").onclick = () => this.#choose();
    at("key-form").onsubmit = (event) => {
      event.preventDefault();
      this.#server.key = at("key").value;
      at("key-form").hidden = true;
      this.#stop.abort();
    };
  }

  /** Follows the server for as long as the page is open. */
  async follow() {
    for (;;) {
      this.#stop = new AbortController();
      try {
        await this.#listen();
        this.#status("The server has ended; waiting for it", true);
      } catch (error) {
        if (this.#stop.signal.aborted) continue;
        at("key-form").hidden = error.status !== 401;
        this.#status(error.message, true);
      }
      document.body.dataset.ready ??= "no";
      await Promise.race([pause(patience), new Promise((done) => this.#stop.signal.addEventListener("abort", done))]);
    }
  }

  async #listen() {
    const events = this.#server.events(`live/events?every_ms=${at("every").value}`, this.#stop.signal);
    for await (const { event, data } of events) {
      if (event === "end") return;
      this.#show(JSON.parse(data));
    }
  }

  #show(snapshot) {
    this.#last = snapshot;
    this.#status(snapshot.dropped > 0 ? `connected; ${snapshot.dropped} snapshots were dropped` : "connected");
    at("facts").textContent = [
      snapshot.version, bytes(snapshot.resident_bytes), `${snapshot.waiting} waiting`, `${snapshot.refused} refused`,
      `${snapshot.sequences} sequences (${bytes(snapshot.sequence_bytes)})`,
    ].join(" · ");
    this.#models.show(snapshot.models, this.#of.model);
    this.#drawPipeline(snapshot);
    const newest = snapshot.paths[0]?.number ?? 0;
    if (newest !== this.#newest && !at("hold").checked) this.#list();
    this.#newest = newest;
    this.#break.look(snapshot.models, newest);
    document.body.dataset.ready = "yes";
  }

  #drawPipeline(snapshot) {
    const pipelines = snapshot.models.filter((model) => model.nodes);
    const model = pipelines.find((one) => one.name === this.#drawn) ?? pipelines[0];
    this.#drawn = model?.name;
    if (model === undefined) return this.#pipeline.hide();
    this.#pipeline.show(model, snapshot.seconds);
    this.#markNode();
  }

  #markNode() { this.#pipeline.mark(this.#of.model === this.#drawn ? this.#of.node : undefined); }

  /** Lists the requests of a model or of one node of it. */
  #choose(model, node) {
    this.#of = { model, node };
    const drawn = this.#drawn;
    if (this.#last.models.some((one) => one.name === model && one.nodes)) this.#drawn = model;
    at("paths-of").textContent = `Latest requests${model ? ` of ${model}${node ? `, ${node}` : ""}` : ""}`;
    at("paths-all").hidden = model === undefined;
    this.#models.mark(model);
    if (this.#drawn !== drawn) this.#drawPipeline(this.#last);
    this.#markNode();
    this.#list();
  }

  async #list() {
    const { model, node } = this.#of;
    let list = this.#last.paths;
    if (model !== undefined) {
      if (this.#listing) return void (this.#again = true); // one search at a time, however slow the server is
      this.#listing = true;
      list = await this.#server.paths({ model, node, limit: mostListed, steps: false }).catch(() => []);
      this.#listing = false;
      if (this.#again) {
        this.#again = false;
        return this.#list();
      }
      if (this.#of.model !== model || this.#of.node !== node) return;
    }
    keep(at("paths"), list, (one) => one.number, (one) => pathRow(one, () => this.#open(one.number)));
  }

  async #open(number) {
    try {
      this.#details(await this.#server.ask(`paths/${number}`));
    } catch (error) {
      at("details").replaceChildren(element("p", error.message, { className: "bad" }));
    }
  }

  #details(request) {
    at("details").replaceChildren(...pathDetails(request, this.#server));
    at("details").scrollIntoView({ block: "nearest" });
  }

  #status(text, bad = false) {
    at("status").textContent = text;
    at("status").classList.toggle("bad", bad);
  }
}

new Page().follow();
