// @gutenye/ocr-node: reads text that this program draws. ocr.mjs MODELS
import { createRequire } from "module";
import os from "os";
import path from "path";
import { pathToFileURL } from "url";
import { report } from "./client.mjs";

const require = createRequire(path.join(process.cwd(), "node_modules/"));
const load = async (name) => import(pathToFileURL(require.resolve(name)).href);
const sharp = require("sharp");
// The client does not wait until its OpenCV has started.
const cv = require("@techstark/opencv-js");
await (cv.Mat ? undefined : cv instanceof Promise ? cv : new Promise((done) => (cv.onRuntimeInitialized = done)));
const { default: Ocr } = await load("@gutenye/ocr-node");

const picture = path.join(os.tmpdir(), `frazil-ocr-${process.pid}.png`);
await sharp(
  Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" width="640" height="160"><rect width="100%" height="100%" fill="white"/>` +
      `<text x="40" y="70" font-family="DejaVu Sans" font-size="40">Frazil ice 2026</text>` +
      `<text x="40" y="130" font-family="DejaVu Sans" font-size="32">dynamic graphs</text></svg>`,
  ),
).png().toFile(picture);

const ocr = await Ocr.create();
const lines = await ocr.detect(picture);
await report(
  lines.map((line) => [line.text, Math.round(line.mean * 1000) / 1000]),
  () => ocr.detect(picture),
);
