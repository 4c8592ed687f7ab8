// sherpa-onnx-node: its voice detector over a recording. sherpa_vad.mjs MODELS VAD_MODEL WAVE
import { createRequire } from "module";
import path from "path";

const sherpa = createRequire(path.join(process.cwd(), "node_modules/"))("sherpa-onnx-node");
const [, , , model, wave] = process.argv;
const { samples } = sherpa.readWave(wave);
const window = 512;

function segments() {
  const vad = new sherpa.Vad(
    {
      sileroVad: { model, threshold: 0.5, minSpeechDuration: 0.25, minSilenceDuration: 0.5, windowSize: window },
      sampleRate: 16000, debug: false, numThreads: 1,
    },
    120,
  );
  const found = [];
  const take = () => {
    for (; !vad.isEmpty(); vad.pop()) found.push([vad.front().start, vad.front().samples.length]);
  };
  const start = performance.now();
  for (let i = 0; i + window <= samples.length; i += window) {
    vad.acceptWaveform(samples.subarray(i, i + window));
    take();
  }
  vad.flush();
  take();
  return { found, ms: performance.now() - start };
}

segments();
const runs = Array.from({ length: 5 }, segments).sort((a, b) => a.ms - b.ms);
console.log("RESULT " + JSON.stringify({ results: runs[2].found, ms: runs[2].ms }));
