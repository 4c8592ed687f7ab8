// onnxruntime-node: small cases over its whole interface. node_cases.mjs MODELS
import { createRequire } from "module";
import fs from "fs";
import path from "path";
import { plain, report } from "./client.mjs";

const ort = createRequire(path.join(process.cwd(), "node_modules/"))("onnxruntime-node");
const models = process.argv[2];
const { Tensor, InferenceSession } = ort;
const results = {};

const open = (name, options) => InferenceSession.create(path.join(models, "cases", `${name}.onnx`), options);

async function run(name, feeds, fetches, options) {
  const session = await open(name);
  const out = await session.run(feeds, ...(fetches ? [fetches] : []), ...(options ? [options] : []));
  const shown = {};
  for (const key of Object.keys(out)) {
    shown[key] = { type: out[key].type, dims: [...out[key].dims], data: plain(out[key].data) };
  }
  await session.release();
  return shown;
}

/** Returns "error" if the call fails: the texts of the two libraries differ. */
async function fails(call) {
  try {
    await call();
    return "no error";
  } catch (error) {
    return "error";
  }
}

const cases = {
  f32: () => run("identity_f32", { x: new Tensor("float32", [1.5, -0, NaN, Infinity], [4]) }),
  f64: () => run("identity_f64", { x: new Tensor("float64", [1e300, -2], [2]) }),
  i8: () => run("identity_i8", { x: new Tensor("int8", [-128, 127], [2]) }),
  u8: () => run("identity_u8", { x: new Tensor("uint8", [0, 255], [2]) }),
  i16: () => run("identity_i16", { x: new Tensor("int16", [-32768, 9], [2]) }),
  u16: () => run("identity_u16", { x: new Tensor("uint16", [65535, 9], [2]) }),
  i32: () => run("identity_i32", { x: new Tensor("int32", [-2147483648, 9], [2]) }),
  u32: () => run("identity_u32", { x: new Tensor("uint32", [4294967295, 9], [2]) }),
  i64: () => run("identity_i64", { x: new Tensor("int64", [-(2n ** 63n), 9n], [2]) }),
  u64: () => run("identity_u64", { x: new Tensor("uint64", [2n ** 64n - 1n, 9n], [2]) }),
  bool: () => run("identity_bool", { x: new Tensor("bool", [true, false, true], [3]) }),
  f16: () => run("identity_f16", { x: new Tensor("float16", new Uint16Array([15360, 31744]), [2]) }),
  strings: () => run("identity_string", { x: new Tensor("string", ["ice", "", "Frazil ❄"], [3]) }),
  joined: () =>
    run("concat_strings", { x: new Tensor("string", ["a", "b"], [2]), z: new Tensor("string", ["1", "22"], [2]) }),
  scalar: () => run("identity_scalar", { x: new Tensor("float32", [7], []) }),
  empty: () => run("identity_matrix", { x: new Tensor("float32", [], [0, 3]) }),
  not: () => run("not", { x: new Tensor("bool", [true, false], [2]) }),
  all_outputs: () => run("several", { x: new Tensor("float32", [1, 2, 3, 4], [2, 2]) }),
  one_output: () => run("several", { x: new Tensor("float32", [1, 2, 3, 4], [2, 2]) }, ["sum"]),
  two_outputs: () => run("several", { x: new Tensor("float32", [1, 2, 3, 4], [2, 2]) }, ["weights", "product"]),
  no_rows: () => run("several", { x: new Tensor("float32", [], [0, 2]) }),
  positive: () => run("branch", { x: new Tensor("float32", [4, 9], [2]) }),
  negative: () => run("branch", { x: new Tensor("float32", [-4, 1], [2]) }),
  loop: () => run("loop", { n: new Tensor("int64", [5n], []), x: new Tensor("float32", [0.25, -1], [2]) }),
  loop_of_none: () => run("loop", { n: new Tensor("int64", [0n], []), x: new Tensor("float32", [0.25], [1]) }),
  nonzero: () => run("nonzero", { x: new Tensor("float32", [0, 1, 2, 0, 0, 3], [2, 3]) }),
  tagged: () =>
    run("not", { x: new Tensor("bool", [true], [1]) }, ["y"], { tag: "a", logSeverityLevel: 3, logVerbosityLevel: 1 }),
  preallocated: async () => {
    const session = await open("several");
    const product = new Tensor("float32", new Float32Array(4), [2, 2]);
    await session.run({ x: new Tensor("float32", [1, 2, 3, 4], [2, 2]) }, { product });
    return plain(product.data);
  },
  preallocated_wrong: () =>
    fails(async () => {
      const session = await open("several");
      const product = new Tensor("float32", new Float32Array(6), [3, 2]);
      await session.run({ x: new Tensor("float32", [1, 2, 3, 4], [2, 2]) }, { product });
    }),
  metadata: async () => {
    const session = await open("several");
    return {
      inputs: session.inputNames,
      outputs: session.outputNames,
      of: session.inputMetadata.map((m) => ({ ...m })),
      to: session.outputMetadata.map((m) => m.name),
    };
  },
  bytes: async () => {
    const session = await InferenceSession.create(fs.readFileSync(path.join(models, "cases", "not.onnx")));
    const { y } = await session.run({ x: new Tensor("bool", [false], [1]) });
    return plain(y.data);
  },
  bytes_of_a_part: async () => {
    const file = fs.readFileSync(path.join(models, "cases", "not.onnx"));
    const padded = new Uint8Array(file.length + 20);
    padded.set(file, 10);
    const session = await InferenceSession.create(padded.buffer, 10, file.length);
    return session.inputNames;
  },
  options: async () => {
    const session = await open("several", {
      intraOpNumThreads: 2, interOpNumThreads: 1, graphOptimizationLevel: "extended", enableCpuMemArena: false,
      enableMemPattern: false, executionMode: "parallel", logId: "case", logSeverityLevel: 3,
      executionProviders: ["cpu"], extra: { session: { "use_ort_model_bytes_directly": "0" } },
    });
    const { sum } = await session.run({ x: new Tensor("float32", [1, 2], [1, 2]) });
    return plain(sum.data);
  },
  concurrent: async () => {
    const session = await open("several");
    const sums = await Promise.all(
      Array.from({ length: 32 }, async (_, i) => {
        const { sum } = await session.run({ x: new Tensor("float32", [i, 1], [1, 2]) });
        return sum.data[0];
      }),
    );
    return sums;
  },
  again: async () => {
    const session = await open("several");
    let x = new Tensor("float32", [1, 2, 3, 4], [2, 2]);
    for (let i = 0; i < 4; ++i) x = (await session.run({ x })).product;
    return plain(x.data);
  },
  no_such_file: () => fails(() => InferenceSession.create("/no/such/model.onnx")),
  no_model: () => fails(() => InferenceSession.create(new Uint8Array([1, 2, 3, 4]))),
  wrong_rank: () => fails(() => run("identity_matrix", { x: new Tensor("float32", [1, 2, 3], [3]) })),
  wrong_extent: () => fails(() => run("identity_matrix", { x: new Tensor("float32", [1, 2], [1, 2]) })),
  wrong_type: () => fails(() => run("identity_f32", { x: new Tensor("float64", [1], [1]) })),
  missing_input: () => fails(() => run("concat_strings", { x: new Tensor("string", ["a"], [1]) })),
  unknown_output: () => fails(() => run("several", { x: new Tensor("float32", [1, 2], [1, 2]) }, ["nothing"])),
};

for (const [name, run_case] of Object.entries(cases)) {
  try {
    results[name] = await run_case();
  } catch (error) {
    results[name] = `failed: ${error.message}`;
  }
}

// The overhead of a call: a graph whose work is nothing.
const session = await open("not");
const x = new Tensor("bool", [true, false], [2]);
await report(results, async () => {
  for (let i = 0; i < 5000; ++i) await session.run({ x });
});
