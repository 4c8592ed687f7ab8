// One request: what ran for it, when and why; and what comes out of it now.

import { element, facts, svg, time } from "./element.js";

function factsOf(request) {
  const rows = [
    ["model", `${request.model ?? ""} ${request.version ?? ""}`],
    ["began", new Date(request.began_ns / 1e6).toLocaleString()],
    ["took", time(request.time_us)],
    ["status", `${request.status}`],
  ];
  if (request.parts > 0) rows.push(["parts", `${request.parts}, the first after ${time(request.first_part_us)}`]);
  for (const name of ["id", "error", "traceparent", "digest"]) if (request[name]) rows.push([name, request[name]]);
  return facts(rows);
}

/** When a step waited and ran, as parts of the whole request. */
function bar(step, whole) {
  const at = (us) => `${Math.max(0, Math.min(100, (100 * us) / whole)).toFixed(2)}%`;
  const part = (kind, from, us) =>
    svg("rect", { class: kind, x: at(from), width: at(Math.max(us, whole / 200)), height: "100%" });
  const parts = step.kind === "run"
    ? [step.queue_us > 0 && part("queue", step.begin_us - step.queue_us, step.queue_us), part("run", step.begin_us, step.time_us)]
    : [part("mark", step.begin_us, 0)];
  return svg("svg", { class: "gantt", "aria-hidden": "true" }, parts.filter(Boolean));
}

function stepCells(step) {
  const name = step.node ?? step.model ?? "";
  const what = step.kind === "run" ? `${step.model} ${step.version}` : `${step.kind}: ${step.taken ?? ""}`;
  const times = [];
  if (step.kind === "run") {
    times.push(`waited ${time(step.queue_us)}, ran ${time(step.time_us)}`);
    if (step.requests > 1) times.push(`${step.requests} requests together`);
    if (step.padding > 0) times.push(`${step.padding} elements of padding`);
  }
  return [
    element("td", [name, element("div", what, { className: "why" })]),
    element("td", [bar(step, step.whole), ...[step.why, times.join("; ")].filter(Boolean).map((text) => element("div", text, { className: "why" }))]),
  ];
}

function stepsOf(request) {
  const whole = Math.max(request.time_us, ...request.steps.map((step) => step.begin_us + (step.time_us ?? 0)), 1);
  const steps = [...request.steps].sort((a, b) => a.begin_us - b.begin_us);
  return element("table", steps.map((step) => element("tr", stepCells({ ...step, whole }))), { className: "steps" });
}

function tensors(title, list) {
  return list === undefined ? [] : [element("h3", title), facts(Object.entries(list))];
}

function comparison(now) {
  const differences = now.outputs.map((output) => output.largest_difference).filter((d) => d !== undefined);
  const largest = differences.length > 0 ? `; the largest difference is ${Math.max(...differences)}` : "";
  const text = now.path.error ? `now: ${now.path.error}` : now.equal ? "equal: the same bits" : `different${largest}`;
  const rows = now.outputs.filter((output) => !output.equal).map((output) => [
    output.name,
    output.before === undefined ? "different" : [element("div", `before ${output.before}`), element("div", `now ${output.now}`)],
  ]);
  return [
    element("p", text, { className: now.equal ? "good" : "bad", id: "replayed" }),
    facts(rows),
    element("h3", "Steps now"),
    stepsOf({ time_us: 0, ...now.path }),
  ];
}

/** A button that runs the request again, and what comes of it. */
function replay(request, server) {
  const result = element("div");
  const button = element("button", "Replay", { id: "replay", disabled: !request.replayable });
  button.title = request.replayable ? "Run it again with the same inputs" : "It was kept without its inputs: set paths.inputs";
  button.onclick = async () => {
    button.disabled = true;
    try {
      result.replaceChildren(...comparison(await server.ask(`paths/${request.number}/replay`, "POST")));
    } catch (error) {
      result.replaceChildren(element("p", error.message, { className: "bad", id: "replayed" }));
    }
    button.disabled = false;
  };
  return [button, result];
}

export function pathDetails(request, server) {
  return [
    element("h2", `Request ${request.number}`),
    factsOf(request),
    element("h3", "Steps"),
    stepsOf(request),
    ...tensors("Inputs", request.inputs),
    ...tensors("Outputs", request.outputs),
    ...replay(request, server),
  ];
}
