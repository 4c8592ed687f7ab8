// Sigstore's libraries as a peer. Each line of standard input is a request in JSON, each line of standard output its answer.
//   {"verify": TEXT, "key": PEM}            {"accepted": true, "payload": BASE64} or {"accepted": false, "reason": TEXT}
//   {"envelope": TEXT, "key": PEM, "hash"}  {"accepted": ...}: the signature alone, by Node.js
//   {"sign": STATEMENT, "key": PEM, "hint"} {"bundle": TEXT}
import crypto from "node:crypto";
import readline from "node:readline";
import { createRequire } from "node:module";

const require = createRequire(process.cwd() + "/");
const { bundleFromJSON, bundleToJSON } = require("@sigstore/bundle");
const { Verifier, toSignedEntity } = require("@sigstore/verify");
const { DSSEBundleBuilder } = require("@sigstore/sign");

const kNone = { ctlogThreshold: 0, tlogThreshold: 0, timestampThreshold: 0 };

function verify({ verify: text, key }) {
  try {
    const bundle = bundleFromJSON(JSON.parse(text));
    const publicKey = { publicKey: crypto.createPublicKey(key), validFor: () => true };
    const trust = { certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [], publicKey: () => publicKey };
    new Verifier(trust, kNone).verify(toSignedEntity(bundle));
    const envelope = bundle.content.dsseEnvelope;
    return { accepted: true, type: envelope.payloadType, payload: envelope.payload.toString("base64") };
  } catch (error) {
    return { accepted: false, reason: String(error.message) };
  }
}

// Their verifier hashes with SHA-256 for each curve; the OpenSSF tools use SHA-384 and SHA-512 for the larger ones.
function verifyEnvelope({ envelope: text, key, hash }) {
  const { payloadType: type, payload: encoded, signatures } = JSON.parse(text).dsseEnvelope;
  const payload = Buffer.from(encoded, "base64");
  const head = Buffer.from(`DSSEv1 ${Buffer.byteLength(type)} ${type} ${payload.length} `);
  const signature = Buffer.from(signatures[0].sig, "base64");
  return { accepted: crypto.verify(hash, Buffer.concat([head, payload]), key, signature) };
}

function answer(request) {
  if ("verify" in request) return verify(request);
  return "envelope" in request ? verifyEnvelope(request) : sign(request);
}

async function sign({ sign: statement, key, hint }) {
  const signer = {
    sign: async (data) => ({
      signature: crypto.sign("sha256", data, key),
      key: { $case: "publicKey", publicKey: "", hint },
    }),
  };
  const builder = new DSSEBundleBuilder({ signer, witnesses: [] });
  const bundle = await builder.create({ data: Buffer.from(statement), type: "application/vnd.in-toto+json" });
  return { bundle: JSON.stringify(bundleToJSON(bundle)) };
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await answer(JSON.parse(line))));
}
