#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "api/tiny_onnx.h"
#include "compat/ort.h"

namespace {

using namespace onnx_file;

/// y = factor * x + bias, for floats, as a program defines it: an object with callbacks.
struct Scale : OrtCustomOp {
  explicit Scale(std::uint32_t of_version) : OrtCustomOp{} {
    version = of_version;
    GetName = [](const OrtCustomOp*) { return "Scale"; };
    GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
    GetInputTypeCount = [](const OrtCustomOp*) -> std::size_t { return 2; };
    GetInputType = [](const OrtCustomOp*, std::size_t) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; };
    GetOutputTypeCount = [](const OrtCustomOp*) -> std::size_t { return 1; };
    GetOutputType = [](const OrtCustomOp*, std::size_t) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; };
    CreateKernel = [](const OrtCustomOp* op, const OrtApi*, const OrtKernelInfo* info) -> void* {
      return make(op, info);
    };
    KernelCompute = [](void* kernel, OrtKernelContext* context) { static_cast<Kernel*>(kernel)->compute(context); };
    KernelDestroy = [](void* kernel) {
      --static_cast<Kernel*>(kernel)->owner->kernels;
      delete static_cast<Kernel*>(kernel);
    };
    if (version < 8) return;  // the rest of an older program's struct does not exist
    GetInputCharacteristic = [](const OrtCustomOp*, std::size_t i) {
      return i == 0 ? INPUT_OUTPUT_REQUIRED : INPUT_OUTPUT_OPTIONAL;
    };
    GetOutputCharacteristic = [](const OrtCustomOp*, std::size_t) { return INPUT_OUTPUT_REQUIRED; };
    if (version < 17) return;
    CreateKernelV2 = [](const OrtCustomOp* op, const OrtApi*, const OrtKernelInfo* info, void** kernel) -> OrtStatus* {
      std::int64_t broken = 0;
      if (OrtStatus* const none = ort().KernelInfoGetAttribute_int64(info, "broken", &broken); none != nullptr) {
        ort().ReleaseStatus(none);
      } else {
        return ort().CreateStatus(ORT_FAIL, "the kernel is broken");
      }
      *kernel = make(op, info);
      return nullptr;
    };
    KernelComputeV2 = [](void* kernel, OrtKernelContext* context) {
      return static_cast<Kernel*>(kernel)->compute(context);
    };
    InferOutputShapeFn = [](const OrtCustomOp* op, OrtShapeInferContext* context) -> OrtStatus* {
      ++static_cast<const Scale*>(op)->inferred;
      OrtTensorTypeAndShapeInfo* info = nullptr;
      if (OrtStatus* const status = ort().ShapeInferContext_GetInputTypeShape(context, 0, &info)) return status;
      return ort().ShapeInferContext_SetOutputTypeShape(context, 0, info);
    };
  }

  struct Kernel {
    const Scale* owner;
    float factor = 0;
    std::string unit;
    std::vector<std::int64_t> taps;
    bool constant_bias = false;

    OrtStatus* compute(OrtKernelContext* context) const {
      const OrtValue *x = nullptr, *bias = nullptr;
      ok(ort().KernelContext_GetInput(context, 0, &x));
      std::size_t inputs = 0;
      ok(ort().KernelContext_GetInputCount(context, &inputs));
      if (inputs > 1) ok(ort().KernelContext_GetInput(context, 1, &bias));
      const std::vector<float> from = read<float>(x);
      if (!from.empty() && from[0] == -1) return ort().CreateStatus(ORT_INVALID_ARGUMENT, "x begins with -1");
      const std::vector<std::int64_t> shape = shape_of(x);
      OrtValue* y = nullptr;
      ok(ort().KernelContext_GetOutput(context, 0, shape.data(), shape.size(), &y));
      void* to = nullptr;
      ok(ort().GetTensorMutableData(y, &to));
      const float add = bias == nullptr ? 0 : read<float>(bias)[0];
      for (std::size_t i = 0; i < from.size(); ++i) static_cast<float*>(to)[i] = factor * from[i] + add;
      return nullptr;
    }
  };

  static Kernel* make(const OrtCustomOp* op, const OrtKernelInfo* info) {
    auto* const kernel = new Kernel{static_cast<const Scale*>(op), 0, {}, {}, false};
    ok(ort().KernelInfoGetAttribute_float(info, "factor", &kernel->factor));
    char text[16];
    std::size_t size = sizeof text;
    ok(ort().KernelInfoGetAttribute_string(info, "unit", text, &size));
    kernel->unit = text;
    size = 0;
    ok(ort().KernelInfoGetAttributeArray_int64(info, "taps", nullptr, &size));
    kernel->taps.resize(size);
    ok(ort().KernelInfoGetAttributeArray_int64(info, "taps", kernel->taps.data(), &size));
    float nothing = 0;
    EXPECT_NE(refusal(ort().KernelInfoGetAttribute_float(info, "nothing", &nothing)).text, "");
    EXPECT_NE(refusal(ort().KernelInfoGetAttribute_float(info, "unit", &nothing)).text, "") << "of another kind";
    std::size_t count = 0;
    ok(ort().KernelInfo_GetInputCount(info, &count));
    if (count > 1) {
      int constant = 0;
      const OrtValue* value = nullptr;
      ok(ort().KernelInfoGetConstantInput_tensor(info, 1, &constant, &value));
      kernel->constant_bias = constant != 0;
      if (constant != 0) EXPECT_EQ(read<float>(value), (std::vector<float>{0.5f}));
    }
    const auto* const owner = static_cast<const Scale*>(op);
    ++owner->kernels;
    owner->last = *kernel;
    return kernel;
  }

  mutable std::atomic<int> kernels = 0, inferred = 0;
  mutable Kernel last{};
};

std::string real(const std::string& name, float value) {
  std::string raw(4, '\0');
  std::memcpy(raw.data(), &value, 4);
  return bytes(5, bytes(1, name) + std::string("\x15") + raw + number(20, 1));
}
std::string word(const std::string& name, const std::string& value) {
  return bytes(5, bytes(1, name) + bytes(4, value) + number(20, 3));
}
std::string whole(const std::string& name, const std::vector<std::int64_t>& values) {
  std::string list;
  for (const std::int64_t value : values) list += number(8, value);
  return bytes(5, bytes(1, name) + list + number(20, 7));
}
std::string scale_node(std::vector<std::string> inputs, const std::string& output, float factor,
                       const std::string& more = {}) {
  return node("Scale", inputs, output,
              bytes(3, "node of " + output) + bytes(7, "com.acme") + real("factor", factor) + word("unit", "mm") +
                  whole("taps", {3, -5}) + more);
}
std::string file_of(const std::vector<std::string>& nodes, const std::string& more_of_graph_initializer = {}) {
  Graph graph{nodes, {f32("x", {"N"})}, {f32("y", {"N"})}};
  if (!more_of_graph_initializer.empty()) graph.initializers = {more_of_graph_initializer};
  return model(graph, 9, 18, bytes(8, bytes(1, "com.acme") + number(2, 1)));
}

struct Registered {
  explicit Registered(std::uint32_t version) : op(version) {
    ok(ort().CreateCustomOpDomain("com.acme", &domain));
    ok(ort().CustomOpDomain_Add(domain, &op));
    ok(ort().AddCustomOpDomain(options.get(), domain));
  }
  ~Registered() {
    EXPECT_EQ(op.kernels, 0) << "kernels end with their session";
    ort().ReleaseCustomOpDomain(domain);
  }
  Scale op;
  OrtCustomOpDomain* domain = nullptr;
  Owned<OrtSessionOptions> options = session_options();
};

class OrtCustomOperators : public testing::TestWithParam<std::uint32_t> {};

TEST_P(OrtCustomOperators, HaveAKernelForEachNode) {
  Registered registered(GetParam());
  const std::string bias =
      number(1, 1) + number(2, kF32) + bytes(8, "bias") + bytes(9, std::string("\x00\x00\x00\x3f", 4));  // 0.5
  const bool optional = GetParam() >= 8;  // an older operator has two inputs always
  const std::vector<std::string> first_inputs =
      optional ? std::vector<std::string>{"x"} : std::vector<std::string>{"x", "bias"};
  {
    const auto session =
        session_of(file_of({scale_node(first_inputs, "h", 10), scale_node({"h", "bias"}, "y", 3)}, bias),
                   registered.options.get());
    EXPECT_EQ(registered.op.kernels, 2);
    EXPECT_EQ(registered.op.last.unit, "mm");
    EXPECT_EQ(registered.op.last.taps, (std::vector<std::int64_t>{3, -5}));
    EXPECT_TRUE(registered.op.last.constant_bias);
    const float add = optional ? 0 : 0.5f;
    for (const std::int64_t length : {2, 5, 0}) {
      std::vector<float> data(static_cast<std::size_t>(length), 4);
      const auto x = tensor(data, {length});
      const auto y = run(session.get(), {{"x", x.get()}});
      EXPECT_EQ(read<float>(y.get()), std::vector<float>(static_cast<std::size_t>(length), (4 * 10 + add) * 3 + 0.5f));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, OrtCustomOperators, testing::Values(1, 8, 16, 17, 22, 30));

TEST(OrtCustomOps, ErrorsOfKernelsReachTheProgram) {
  Registered registered(22);
  const auto session = session_of(file_of({scale_node({"x"}, "y", 2)}), registered.options.get());
  std::vector<float> data{-1};
  const auto x = tensor(data, {1});
  std::vector<OrtValue*> out;
  const Refusal got = refusal(run(session.get(), {{"x", x.get()}}, {"y"}, out));
  EXPECT_NE(got.text.find("x begins with -1"), std::string::npos) << got.text;
  EXPECT_NE(got.text.find("node of y"), std::string::npos) << got.text;
  OrtSession* none = nullptr;
  const std::string broken = file_of({scale_node({"x"}, "y", 2, integer("broken", 1))});
  const Refusal load =
      refusal(ort().CreateSessionFromArray(env(), broken.data(), broken.size(), registered.options.get(), &none));
  EXPECT_NE(load.text.find("the kernel is broken"), std::string::npos) << load.text;
  const std::string unknown = file_of({scale_node({"x"}, "y", 2)});
  EXPECT_NE(refusal(ort().CreateSessionFromArray(env(), unknown.data(), unknown.size(), nullptr, &none)).text, "");
}

// The bytes of a file are rewritten for the load; its weights are still beside it.
TEST(OrtCustomOps, ModelsMayHaveExternalData) {
  Registered registered(22);
  const std::string external = number(1, 1) + number(2, kF32) + bytes(8, "bias") + number(14, 1) +
                               bytes(13, bytes(1, "location") + bytes(2, "bias.bin"));
  const std::filesystem::path folder = testing::TempDir() + "frazil_custom";
  std::filesystem::create_directories(folder);
  const float half = 0.5f;
  std::ofstream(folder / "bias.bin", std::ios::binary).write(reinterpret_cast<const char*>(&half), sizeof half);
  std::ofstream(folder / "model.onnx", std::ios::binary) << file_of({scale_node({"x", "bias"}, "y", 3)}, external);
  OrtSession* made = nullptr;
  ok(ort().CreateSession(env(), (folder / "model.onnx").c_str(), registered.options.get(), &made));
  {
    const Owned<OrtSession> session{made, ort().ReleaseSession};
    EXPECT_TRUE(registered.op.last.constant_bias);
    std::vector<float> data{2};
    const auto x = tensor(data, {1});
    EXPECT_EQ(read<float>(run(session.get(), {{"x", x.get()}}).get()), (std::vector<float>{6.5f}));
  }
  std::filesystem::remove_all(folder);
}

// Two sessions have operators of one name: each runs its own.
TEST(OrtCustomOps, BelongToTheirSession) {
  Registered one(22), two(22);
  two.op.GetInputType = [](const OrtCustomOp*, std::size_t) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED; };
  const std::string file = file_of({scale_node({"x"}, "y", 2)});
  const auto first = session_of(file, one.options.get());
  const auto second = session_of(file, two.options.get());
  EXPECT_EQ(one.op.kernels, 1);
  EXPECT_EQ(two.op.kernels, 1);
  std::vector<float> data{21};
  const auto x = tensor(data, {1});
  EXPECT_EQ(read<float>(run(first.get(), {{"x", x.get()}}).get()), (std::vector<float>{42}));
  EXPECT_EQ(read<float>(run(second.get(), {{"x", x.get()}}).get()), (std::vector<float>{42}));
}

TEST(OrtCustomOps, RunInThreads) {
  Registered registered(22);
  const auto session =
      session_of(file_of({scale_node({"x"}, "h", 2), node("Neg", {"h"}, "y")}), registered.options.get());
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 1; t <= 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 100; ++i) {
          std::vector<float> data(static_cast<std::size_t>(1 + i % 7), static_cast<float>(t));
          const auto x = tensor(data, {static_cast<std::int64_t>(data.size())});
          wrong += read<float>(run(session.get(), {{"x", x.get()}}).get()).back() != -2.0f * static_cast<float>(t);
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST(OrtCustomOps, LibrariesThatCannotBeOpenedAreRefused) {
  const auto options = session_options();
  void* handle = nullptr;
  EXPECT_EQ(refusal(ort().RegisterCustomOpsLibrary(options.get(), "/no/such/library.so", &handle)).code, ORT_FAIL);
  EXPECT_NE(refusal(ort().RegisterCustomOpsLibrary_V2(options.get(), "libm.so.6")).text.find("RegisterCustomOps"),
            std::string::npos);
  EXPECT_EQ(refusal(ort().RegisterCustomOpsUsingFunction(options.get(), "no_such_function")).code, ORT_FAIL);
}

}  // namespace
