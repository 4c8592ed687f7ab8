#include <atomic>
#include <chrono>
#include <thread>

#include "api/tiny_onnx.h"
#include "compat/ort.h"

namespace {

using frazil::Dtype;
using frazil::GraphBuilder;

/// y = x * w + x and z = x on f32[N,2]; w is an initializer.
std::string affine() {
  GraphBuilder graph("affine");
  const frazil::Term x = graph.input("x", Dtype::f32, {"N", 2});
  const frazil::Term w = graph.constant(frazil::Array::of<float>({2}, {10, 100}), "w");
  graph.output("y", graph.op("Add", {graph.op("Mul", {x, w}), x}));
  graph.output("z", graph.op("Identity", {x}));
  graph.output("c", graph.op("Identity", {w}));
  return bytes_of(graph.build());
}

TEST(OrtRun, GivesTheOutputsThatAreAskedFor) {
  const auto session = session_of(affine());
  std::vector<float> data{1, 2, 3, 4};
  const auto x = tensor(data, {2, 2});
  std::vector<OrtValue*> out;
  ok(run(session.get(), {{"x", x.get()}}, {"z", "y", "z"}, out));
  EXPECT_EQ(read<float>(out[0]), data);
  EXPECT_EQ(read<float>(out[1]), (std::vector<float>{11, 202, 33, 404}));
  EXPECT_EQ(read<float>(out[2]), data);
  for (OrtValue* const value : out) ort().ReleaseValue(value);
  const auto only = run(session.get(), {{"x", x.get()}}, "y");
  EXPECT_EQ(read<float>(only.get()), (std::vector<float>{11, 202, 33, 404}));
}

TEST(OrtRun, OutputsShareNoMemoryWithInputsAndWeights) {
  const auto session = session_of(affine());
  std::vector<float> data{1, 2};
  auto x = tensor(data, {1, 2});
  std::vector<OrtValue*> out;
  ok(run(session.get(), {{"x", x.get()}}, {"z", "c"}, out));
  const auto z = owned(out[0]);
  const auto c = owned(out[1]);
  data[0] = 50;  // the program uses its memory again
  x.reset();
  EXPECT_EQ(read<float>(z.get()), (std::vector<float>{1, 2}));
  void* weights = nullptr;
  ok(ort().GetTensorMutableData(c.get(), &weights));
  static_cast<float*>(weights)[0] = -1;
  x = tensor(data, {1, 2});
  EXPECT_EQ(read<float>(run(session.get(), {{"x", x.get()}}, "c").get()), (std::vector<float>{10, 100}));
  EXPECT_EQ(read<float>(run(session.get(), {{"x", x.get()}}, "y").get()), (std::vector<float>{550, 202}));
}

// The program takes the pointer of a result, writes there, and feeds the result again.
TEST(OrtRun, AResultThatIsFedAgainHasItsPresentElements) {
  const auto session = session_of(affine());
  std::vector<float> data{1, 2};
  const auto x = tensor(data, {1, 2});
  const auto first = run(session.get(), {{"x", x.get()}}, "y");
  const auto twice = run(session.get(), {{"x", first.get()}}, "y");
  EXPECT_EQ(read<float>(twice.get()), (std::vector<float>{121, 20402}));
  void* memory = nullptr;
  ok(ort().GetTensorMutableData(first.get(), &memory));
  const auto alias = run(session.get(), {{"x", first.get()}}, "z");
  static_cast<float*>(memory)[0] = 3;
  EXPECT_EQ(read<float>(run(session.get(), {{"x", first.get()}}, "y").get()), (std::vector<float>{33, 20402}));
  EXPECT_EQ(read<float>(alias.get()), (std::vector<float>{11, 202}));
}

TEST(OrtRun, AGivenOutputIsWrittenInPlace) {
  const auto session = session_of(affine());
  std::vector<float> data{1, 2}, memory(2), wrong(3);
  const auto x = tensor(data, {1, 2});
  const auto y = tensor(memory, {1, 2});
  std::vector<OrtValue*> out{y.get()};
  ok(run(session.get(), {{"x", x.get()}}, {"y"}, out));
  EXPECT_EQ(out[0], y.get());
  EXPECT_EQ(memory, (std::vector<float>{11, 202}));
  const auto other = tensor(wrong, {1, 3});
  out = {other.get()};
  const Refusal got = refusal(run(session.get(), {{"x", x.get()}}, {"y"}, out));
  EXPECT_EQ(got.code, ORT_INVALID_ARGUMENT);
  EXPECT_NE(got.text.find("output 'y'"), std::string::npos) << got.text;
}

// Bindings of other languages match the beginnings of these texts.
TEST(OrtRun, ErrorsHaveTheCodesAndBeginningsThatProgramsKnow) {
  const auto session = session_of(affine());
  std::vector<float> four(4);
  std::vector<double> doubles(2);
  const auto good = tensor(four, {2, 2});
  const auto flat = tensor(four, {4});
  const auto wide = tensor(four, {1, 4});
  const auto other = tensor(doubles, {1, 2});
  struct Case {
    Feeds feeds;
    std::vector<const char*> outputs;
    OrtErrorCode code;
    std::string beginning;
  };
  const Case cases[] = {
      {{{"x", flat.get()}}, {"y"}, ORT_INVALID_ARGUMENT, "Invalid rank for input: x"},
      {{{"x", wide.get()}}, {"y"}, ORT_INVALID_ARGUMENT, "Got invalid dimensions for input: x"},
      {{{"x", other.get()}},
       {"y"},
       ORT_INVALID_ARGUMENT,
       "Unexpected input data type. Actual: (tensor(double)) , expected: (tensor(float))"},
      {{}, {"y"}, ORT_FAIL, "Missing Input: x"},
      {{{"x", good.get()}}, {"bad"}, ORT_INVALID_ARGUMENT, "Invalid output name: bad"},
      {{{"bad", good.get()}}, {"y"}, ORT_INVALID_ARGUMENT, "Invalid input name: bad"},
      {{{"x", good.get()}}, {}, ORT_INVALID_ARGUMENT, "at least one output"},
  };
  for (const Case& wrong : cases) {
    std::vector<OrtValue*> out;
    const Refusal got = refusal(run(session.get(), wrong.feeds, wrong.outputs, out));
    EXPECT_EQ(got.code, wrong.code) << wrong.beginning;
    EXPECT_EQ(got.text.substr(0, wrong.beginning.size()), wrong.beginning) << got.text;
    for (const OrtValue* const value : out) EXPECT_EQ(value, nullptr);
  }
}

TEST(OrtRun, FilesThatCannotBeLoadedHaveTheCodesThatProgramsKnow) {
  using namespace onnx_file;
  OrtSession* session = nullptr;
  EXPECT_EQ(refusal(ort().CreateSession(env(), "/no/such/file.onnx", nullptr, &session)).code, ORT_NO_SUCHFILE);
  const auto load = [&](const std::string& bytes) {
    return refusal(ort().CreateSessionFromArray(env(), bytes.data(), bytes.size(), nullptr, &session)).code;
  };
  EXPECT_EQ(load("this is no model"), ORT_INVALID_PROTOBUF);
  EXPECT_EQ(load(model({{node("Nonsense", {"x"}, "y")}, {f32("x", {"2"})}, {f32("y", {"2"})}})), ORT_INVALID_GRAPH);
  EXPECT_EQ(load(model({{node("Neg", {"x"}, "z")}, {f32("x", {"2"})}, {f32("y", {"2"})}})), ORT_INVALID_GRAPH);
  EXPECT_EQ(session, nullptr);
}

TEST(OrtRun, ManyThreadsRunOneSession) {
  const auto session = session_of(affine());
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 6; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 200; ++i) {
          const std::int64_t rows = 1 + (i + t) % 5;
          std::vector<float> data(static_cast<std::size_t>(2 * rows), static_cast<float>(t * 1000 + i));
          const auto x = tensor(data, {rows, 2});
          const auto y = run(session.get(), {{"x", x.get()}}, i % 2 == 0 ? "y" : "z");
          const float want = i % 2 == 0 ? data[0] * 10 + data[0] : data[0];
          wrong += read<float>(y.get()).at(0) != want;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

/// y counts to n in a Loop.
std::string counting() {
  GraphBuilder graph("count");
  const frazil::Term n = graph.input("n", Dtype::i64, {});
  const frazil::Term start = graph.scalar<float>(0);
  graph.output("y", graph.loop(n, {}, {start}, [](frazil::Body& body, std::span<const frazil::Term> p) {
    return std::vector{p[1], body.op("Sin", {body.op("Add", {p[2], body.scalar(1.0f)})})};
  })[0]);
  return bytes_of(graph.build());
}

TEST(OrtRun, TheTerminateFlagEndsRuns) {
  const auto session = session_of(counting());
  OrtRunOptions* options = nullptr;
  ok(ort().CreateRunOptions(&options));
  std::vector<std::int64_t> trips{1'000'000'000'000};
  const auto n = tensor(trips, {});
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ok(ort().RunOptionsSetTerminate(options));
  });
  std::vector<OrtValue*> out;
  Refusal got = refusal(run(session.get(), {{"n", n.get()}}, {"y"}, out, options));
  stopper.join();
  EXPECT_EQ(got.code, ORT_FAIL);
  EXPECT_EQ(got.text, "Exiting due to terminate flag being set to true.");
  trips[0] = 3;
  EXPECT_EQ(refusal(run(session.get(), {{"n", n.get()}}, {"y"}, out, options)).code, ORT_FAIL);
  ok(ort().RunOptionsUnsetTerminate(options));
  ok(run(session.get(), {{"n", n.get()}}, {"y"}, out, options));
  ort().ReleaseValue(out[0]);
  ort().ReleaseRunOptions(options);
}

TEST(OrtRun, AnAsynchronousRunCallsBack) {
  const auto session = session_of(affine());
  struct Reply {
    std::atomic<bool> done = false;
    float first = 0;
    std::string error;
  };
  std::vector<float> data{1, 2};
  const auto x = tensor(data, {1, 2});
  const char* const inputs[] = {"x"};
  const OrtValue* const values[] = {x.get()};
  for (const char* output : {"y", "bad"}) {
    Reply reply;
    const char* const outputs[] = {output};
    OrtValue* out[] = {nullptr};
    ok(ort().RunAsync(
        session.get(), nullptr, inputs, values, 1, outputs, 1, out,
        [](void* user, OrtValue** results, std::size_t count, OrtStatusPtr status) {
          auto& to = *static_cast<Reply*>(user);
          if (count == 1) to.first = read<float>(results[0])[0];
          to.error = refusal(status).text;
          to.done = true;
        },
        &reply));
    while (!reply.done) std::this_thread::yield();
    EXPECT_EQ(reply.error, output == std::string("y") ? "" : "Invalid output name: bad");
    EXPECT_EQ(reply.first, output == std::string("y") ? 11 : 0);
    ort().ReleaseValue(out[0]);
  }
}

TEST(OrtRun, ABindingFeedsAndReceives) {
  const auto session = session_of(affine());
  std::vector<float> data{1, 2}, memory(2);
  auto x = tensor(data, {1, 2});
  OrtIoBinding* binding = nullptr;
  ok(ort().CreateIoBinding(session.get(), &binding));
  ok(ort().BindInput(binding, "x", x.get()));
  x.reset();  // the binding keeps it
  auto y = tensor(memory, {1, 2});
  ok(ort().BindOutput(binding, "y", y.get()));
  y.reset();
  OrtMemoryInfo* cpu = nullptr;
  ok(ort().CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &cpu));
  ok(ort().BindOutputToDevice(binding, "z", cpu));
  ort().ReleaseMemoryInfo(cpu);
  EXPECT_EQ(refusal(ort().BindOutputToDevice(binding, "bad", nullptr)).code, ORT_INVALID_ARGUMENT);
  for (const float first : {1.0f, 7.0f}) {
    data[0] = first;
    ok(ort().RunWithBinding(session.get(), nullptr, binding));
    EXPECT_EQ(memory[0], first * 11);
    OrtAllocator* allocator = nullptr;
    ok(ort().GetAllocatorWithDefaultOptions(&allocator));
    OrtValue** values = nullptr;
    std::size_t count = 0;
    ok(ort().GetBoundOutputValues(binding, allocator, &values, &count));
    ASSERT_EQ(count, 2u);
    EXPECT_EQ(read<float>(values[1])[0], first);
    for (std::size_t i = 0; i < count; ++i) ort().ReleaseValue(values[i]);
    allocator->Free(allocator, values);
    char* names = nullptr;
    std::size_t* lengths = nullptr;
    ok(ort().GetBoundOutputNames(binding, allocator, &names, &lengths, &count));
    EXPECT_EQ(std::string(names, lengths[0] + lengths[1]), "yz");
    allocator->Free(allocator, names);
    allocator->Free(allocator, lengths);
  }
  ort().ClearBoundInputs(binding);
  EXPECT_EQ(refusal(ort().RunWithBinding(session.get(), nullptr, binding)).text, "Missing Input: x");
  ort().ReleaseIoBinding(binding);
}

}  // namespace
