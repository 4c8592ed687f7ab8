// Compares Frazil's results with those of @bufbuild/cel and @cedar-policy/cedar-wasm; see peers.py.
//
//   node peers.mjs expressions < LINES   node peers.mjs rules < LINES
//   node peers.mjs cases                 prints the cases of cel-spec: {"name", "expr", "expected"}
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const require = createRequire(pathToFileURL(process.cwd() + "/package.json"));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const most = 20; // differences that are printed

function plain(value) {
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== "object") return value;
  if ("int" in value) return BigInt(value.int);
  if ("double" in value) return Number(value.double.replace("inf", "Infinity").replace("nan", "NaN"));
  return new Map(value.map.map(([key, inner]) => [plain(key), plain(inner)]));
}

/** Returns a text that is equal for equal values of one type. */
function shown(value, cel) {
  if (typeof value === "bigint") return `int ${value}`;
  if (typeof value === "number") return `double ${Object.is(value, -0) ? "-0" : value}`;
  if (Array.isArray(value) || cel?.isCelList(value)) return `[${[...value].map((item) => shown(item, cel)).join(", ")}]`;
  if (value instanceof Map || cel?.isCelMap(value)) {
    return `{${[...value.entries()].map(([key, item]) => `${shown(key, cel)}: ${shown(item, cel)}`).sort().join(", ")}}`;
  }
  return JSON.stringify(value);
}

async function* lines() {
  for await (const line of createInterface({ input: process.stdin })) if (line) yield JSON.parse(line);
}

async function expressions() {
  const cel = await load("@bufbuild/cel");
  const env = cel.celEnv();
  const counts = { compared: 0, errors: 0, differences: 0, refused: 0 };
  for await (const { expr, vars, ours } of lines()) {
    counts.compared += 1;
    let theirs;
    try {
      const result = cel.plan(env, cel.parse(expr))(Object.fromEntries(plain(vars)));
      theirs = cel.isCelError(result) ? "error" : shown(result, cel);
    } catch (error) {
      theirs = `thrown ${error.message}`;
    }
    const mine = "error" in ours ? "error" : "refused" in ours ? `refused ${ours.refused}` : shown(plain(ours.value));
    counts.errors += mine === "error" ? 1 : 0;
    counts.refused += "refused" in ours ? 1 : 0;
    if (theirs.startsWith("thrown")) theirs = "error";
    if (theirs === mine) continue;
    counts.differences += 1;
    if (counts.differences <= most) console.error(JSON.stringify({ expr, vars, theirs, mine, why: ours.error }));
  }
  return counts;
}

async function rules() {
  const cedar = await load("@cedar-policy/cedar-wasm/nodejs");
  const counts = { compared: 0, allowed: 0, differences: 0 };
  const entity = (type) => ({ type, id: "x" });
  for await (const { policy, cedar: policies, context, ours, cause, rule } of lines()) {
    counts.compared += 1;
    const answer = cedar.isAuthorized({
      principal: entity("P"), action: entity("A"), resource: entity("R"), context, entities: [],
      policies: { staticPolicies: policies },
    });
    const response = answer.type === "success" ? answer.response : { decision: JSON.stringify(answer.errors) };
    const reasons = response.diagnostics?.reason ?? [];
    const names = rule === "" ? reasons.length === 0 : reasons.includes(rule);
    const clean = (response.diagnostics?.errors ?? []).length === 0 && cause !== "could not decide";
    counts.allowed += response.decision === "allow" ? 1 : 0;
    if (response.decision === ours && names && clean) continue;
    counts.differences += 1;
    if (counts.differences <= most) console.error(JSON.stringify({ policy, context, ours, cause, rule, response }));
  }
  return counts;
}

/** Returns an expected value of cel-spec with tags, or undefined for a type that the policy language lacks. */
function expected(value) {
  const { case: kind, value: of } = value.kind;
  if (kind === "boolValue" || kind === "stringValue") return of;
  if (kind === "int64Value") return { int: String(of) };
  if (kind === "doubleValue") return { double: Object.is(of, -0) ? "-0" : String(of) };
  if (kind === "listValue") {
    const items = of.values.map(expected);
    return items.includes(undefined) ? undefined : items;
  }
  if (kind === "mapValue") {
    const pairs = of.entries.map((entry) => [expected(entry.key), expected(entry.value)]);
    return pairs.some(([key, item]) => typeof key !== "string" || item === undefined) ? undefined : { map: pairs };
  }
  return undefined;
}

async function cases() {
  const spec = await load("@bufbuild/cel-spec/testdata/tests.js");
  const walk = (node, path) => {
    for (const test of node.tests ?? []) print(test, path);
    for (const inner of node.suites ?? []) walk(inner, `${path}/${inner.name}`);
  };
  const print = (test, path) => {
    const of = test.original;
    if (Object.keys(of.bindings ?? {}).length > 0 || (of.typeEnv ?? []).length > 0) return;
    const kind = of.resultMatcher?.case;
    const value = kind === "value" ? expected(of.resultMatcher.value) : undefined;
    if (kind === "value" && value === undefined) return;
    if (kind !== "value" && kind !== "evalError") return;
    console.log(JSON.stringify({ name: `${path}/${of.name}`, expr: of.expr, value, error: kind === "evalError" }));
  };
  walk(spec.getConformanceSuite(), "");
  return undefined;
}

const modes = { expressions, rules, cases };
const result = await modes[process.argv[2]]();
if (result !== undefined) console.log(JSON.stringify(result));
