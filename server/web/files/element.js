// Elements and numbers as the page shows them.

/** An element with text or children; text is never read as HTML. */
export function element(tag, content = [], attributes = {}) {
  const made = Object.assign(document.createElement(tag), attributes);
  made.append(...(Array.isArray(content) ? content : [content]));
  return made;
}

export function svg(tag, attributes = {}, content = []) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(made, attributes);
  made.append(...(Array.isArray(content) ? content : [content]));
  return made;
}

export function set(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
}

export const facts = (rows) =>
  element("table", rows.map((row) => element("tr", row.map((cell) => element("td", cell)))), { className: "facts" });

/** Makes the children of `list` those of the items, in their order; what was made for a key before is kept. */
export function keep(list, items, keyOf, make) {
  const before = new Map([...list.children].map((child) => [child.dataset.key, child]));
  const now = items.map((item) => {
    const key = String(keyOf(item));
    const made = before.get(key) ?? make(item);
    made.dataset.key = key;
    return made;
  });
  if (now.length !== list.children.length || now.some((child, i) => list.children[i] !== child)) list.replaceChildren(...now);
  return now;
}

/** The latest values as a line from 0 to their largest. */
export function draw(spark, values, most) {
  const top = Math.max(...values.map((value) => value ?? 0), 1e-9);
  const points = values.map((value, i) => `${i + most - values.length},${19 - (18 * (value ?? 0)) / top}`);
  set(spark.firstChild, { points: points.join(" ") });
}

export function spark(most) {
  return svg("svg", { class: "spark", viewBox: `0 0 ${most - 1} 20`, preserveAspectRatio: "none", "aria-hidden": "true" }, svg("polyline"));
}

export const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

export function time(us) {
  if (us === undefined) return "–";
  if (us < 1000) return `${us < 10 ? us.toFixed(1) : us.toFixed(0)} µs`;
  if (us < 1e6) return `${(us / 1e3).toPrecision(3)} ms`;
  return `${(us / 1e6).toPrecision(3)} s`;
}

export const rate = (value) => (value === undefined ? "–" : value >= 100 ? value.toFixed(0) : value.toFixed(1));
export const percent = (share) => (share === undefined ? "–" : `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`);

export function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(Math.floor(Math.log2(Math.max(count, 1)) / 10), units.length - 1);
  return `${(count / 2 ** (10 * power)).toFixed(power > 0 ? 1 : 0)} ${units[power]}`;
}
