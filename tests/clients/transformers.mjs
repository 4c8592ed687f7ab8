// @huggingface/transformers: feature extraction by the tiny model. transformers.mjs MODELS
import { createRequire } from "module";
import path from "path";
import { pathToFileURL } from "url";
import { report } from "./client.mjs";

const require = createRequire(path.join(process.cwd(), "node_modules/"));
const { env, pipeline } = await import(pathToFileURL(require.resolve("@huggingface/transformers")).href);
env.allowRemoteModels = false;
env.localModelPath = process.argv[2];

const extract = await pipeline("feature-extraction", "tiny-bert", { dtype: "fp32" });
const texts = ["Frazil ice forms in slow rivers", "graphs change at run time", "ice"];
const rounded = (tensor) => Array.from(tensor.data, (v) => Math.round(v * 1e4) / 1e4);
const alone = await extract(texts[0], { pooling: "mean", normalize: true });
const together = await extract(texts, { pooling: "mean", normalize: true });
await report({ dims: together.dims, alone: rounded(alone), together: rounded(together) }, async () => {
  for (let i = 0; i < 20; ++i) await extract(texts, { pooling: "mean", normalize: true });
});
