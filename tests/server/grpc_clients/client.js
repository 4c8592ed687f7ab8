// Speaks to `frazil serve` as @grpc/grpc-js does. Usage: node client.js PORT; NODE_PATH has the packages.
// Exit 0: all is as expected.
const path = require('path');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const definition = loader.loadSync(path.join(__dirname, 'oip.proto'), { keepCase: true, longs: String });
const { GRPCInferenceService } = grpc.loadPackageDefinition(definition).inference;
const client = new GRPCInferenceService(`127.0.0.1:${process.argv[2]}`, grpc.credentials.createInsecure(), {
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
});

function equal(actual, wanted) {
  const [a, w] = [JSON.stringify(actual), JSON.stringify(wanted)];
  if (a !== w) throw new Error(`expected ${w}, got ${a}`);
}

function call(method, request, options = {}) {
  return new Promise((resolve) => {
    client[method](request, new grpc.Metadata(), options, (error, answer) => resolve({ error, answer }));
  });
}

function request(id, values = [1, 2], model = 'double') {
  return {
    model_name: model,
    id,
    inputs: [{ name: 'x', datatype: 'FP32', shape: [values.length / 2, 2] }],
    raw_input_contents: [Buffer.from(new Float32Array(values).buffer)],
  };
}

function count(n) {
  return { model_name: 'count', inputs: [{ name: 'n', datatype: 'INT64', shape: [], contents: { int64_contents: [n] } }] };
}

function floats(bytes) {
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
}

function stream(requests) {
  return new Promise((resolve, reject) => {
    const answers = [];
    const open = client.ModelStreamInfer();
    open.on('data', (answer) => answers.push(answer));
    open.on('end', () => resolve(answers));
    open.on('error', reject);
    for (const each of requests) open.write(each);
    open.end();
  });
}

const checks = {
  async tellsOfItself() {
    equal((await call('ServerReady', {})).answer.ready, true);
    equal((await call('ModelMetadata', { name: 'double' })).answer.inputs[0].shape, ['-1', '2']);
    equal((await call('ModelReady', { name: 'none' })).answer.ready, false);
  },
  async infers() {
    const { answer } = await call('ModelInfer', request('seven'));
    equal([answer.id, floats(answer.raw_output_contents[0])], ['seven', [2, 4]]);
    const typed = { ...request('t'), raw_input_contents: [] };
    typed.inputs[0].contents = { fp32_contents: [3, 4] };
    equal(floats((await call('ModelInfer', typed)).answer.raw_output_contents[0]), [6, 8]);
  },
  async carriesLargeTensors() {
    const { answer } = await call('ModelInfer', request('l', new Array(2_000_000).fill(1)));
    equal(answer.raw_output_contents[0].length, 8_000_000);
  },
  async namesWhatIsWrong() {
    const { error } = await call('ModelInfer', request('', [1, 2], 'näme %'));
    equal([error.code, error.details], [grpc.status.NOT_FOUND, "there is no model 'näme %'"]);
    equal((await call('CudaSharedMemoryStatus', {})).error.code, grpc.status.UNIMPLEMENTED);
  },
  async endsAtTheDeadline() {
    const { error } = await call('ModelInfer', count(2_000_000_000), { deadline: Date.now() + 200 });
    equal(error.code, grpc.status.DEADLINE_EXCEEDED);
  },
  async answersAStreamInOrder() {
    const ids = Array.from({ length: 50 }, (_, i) => String(i));
    const answers = await stream(ids.map((id) => request(id, [1, 2], id === '7' ? 'none' : 'double')));
    equal(answers.map((answer) => answer.infer_response.id), ids);
    equal(answers[7].error_message, "there is no model 'none'");
  },
  async answersInParts() {
    const talk = { ...request('a', [0, 1], 'talk'), parameters: { to: { int64_param: 4 } } };
    const answers = await stream([talk, request('b')]);
    const parts = answers.map((answer) => answer.infer_response).filter((response) => response.id === 'a');
    equal(parts.map((part) => part.parameters.triton_final_response.bool_param), [false, false, false, true]);
    equal(parts.slice(0, 3).map((part) => [part.outputs[0].name, floats(part.raw_output_contents[0])]),
      [['token', [1, 2]], ['token', [2, 3]], ['token', [3, 4]]]);
    equal(parts[3].outputs.map((output) => output.name), ['y', 'count']);
    equal(answers.length, 5);
  },
  async endsAnswersOfCallersThatGo() {
    const open = client.ModelStreamInfer();
    await new Promise((resolve, reject) => {
      let parts = 0;
      open.on('data', () => { if (++parts === 50) resolve(); });
      open.on('error', reject);
      open.write({ ...request('a', [0, 1], 'talk'), parameters: { to: { int64_param: 100_000_000 } } });
    });
    open.removeAllListeners('error').on('error', () => {});
    open.cancel();
    for (let i = 0; i < 500; i++) {
      const { answer } = await call('ModelStatistics', { name: 'talk' });
      if (answer.model_stats[0].inference_stats.fail?.count === '1') return;
      await new Promise((resolve) => { setTimeout(resolve, 10); });
    }
    throw new Error('the run did not end');
  },
  async answersManyAtOnce() {
    const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => call('ModelInfer', request(String(i)))));
    equal(answers.map(({ answer }) => answer && answer.id), answers.map((_, i) => String(i)));
  },
};

(async () => {
  let failed = 0;
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check();
    } catch (error) {
      failed += 1;
      console.log(`${name}: ${error.message}`);
    }
  }
  process.exit(failed === 0 ? 0 : 1);
})();
