#include <fstream>
#include <sstream>

#include "api/tiny_onnx.h"
#include "compat/ort.h"

namespace {

using namespace onnx_file;  // the messages of files

OrtAllocator* allocator() {
  OrtAllocator* result = nullptr;
  ok(ort().GetAllocatorWithDefaultOptions(&result));
  return result;
}

/// Reads a text that a function returns through the allocator.
template <class F>
std::string text(F&& get) {
  char* value = nullptr;
  ok(get(&value));
  if (value == nullptr) return "<null>";
  std::string result = value;
  ok(ort().AllocatorFree(allocator(), value));
  return result;
}

std::string property(const std::string& key, const std::string& value) {
  return bytes(14, bytes(1, key) + bytes(2, value));
}

TEST(OrtSessions, TellWhatTheFileSays) {
  const std::string more = bytes(2, "a producer") + bytes(4, "com.acme") + number(5, 42) + bytes(6, "of the model") +
                           property("vocabulary", "a b c") + property("empty", "");
  const auto session =
      session_of(model({{node("Neg", {"x"}, "y")}, {f32("x", {"N"})}, {f32("y", {"N"})}}, 9, 18, more));
  OrtModelMetadata* metadata = nullptr;
  ok(ort().SessionGetModelMetadata(session.get(), &metadata));
  const auto read_by = [&](auto function) {
    return text([&](char** value) { return function(metadata, allocator(), value); });
  };
  EXPECT_EQ(read_by(ort().ModelMetadataGetProducerName), "a producer");
  EXPECT_EQ(read_by(ort().ModelMetadataGetGraphName), "g");
  EXPECT_EQ(read_by(ort().ModelMetadataGetDomain), "com.acme");
  EXPECT_EQ(read_by(ort().ModelMetadataGetDescription), "of the model");
  EXPECT_EQ(read_by(ort().ModelMetadataGetGraphDescription), "");
  std::int64_t version = 0;
  ok(ort().ModelMetadataGetVersion(metadata, &version));
  EXPECT_EQ(version, 42);
  const auto look_up = [&](const char* key) {
    return text(
        [&](char** value) { return ort().ModelMetadataLookupCustomMetadataMap(metadata, allocator(), key, value); });
  };
  EXPECT_EQ(look_up("vocabulary"), "a b c");
  EXPECT_EQ(look_up("empty"), "");
  EXPECT_EQ(look_up("nothing"), "<null>");
  char** keys = nullptr;
  std::int64_t count = 0;
  ok(ort().ModelMetadataGetCustomMetadataMapKeys(metadata, allocator(), &keys, &count));
  ASSERT_EQ(count, 2);
  EXPECT_STREQ(keys[0], "empty");
  EXPECT_STREQ(keys[1], "vocabulary");
  for (std::int64_t i = 0; i < count; ++i) ok(ort().AllocatorFree(allocator(), keys[i]));
  ok(ort().AllocatorFree(allocator(), keys));
  ort().ReleaseModelMetadata(metadata);
}

struct Shape {
  std::vector<std::int64_t> dims;
  std::vector<std::string> symbols;
  bool operator==(const Shape&) const = default;
};

Shape shape_of_type(OrtTypeInfo* type) {
  const OrtTensorTypeAndShapeInfo* info = nullptr;
  ok(ort().CastTypeInfoToTensorInfo(type, &info));
  std::size_t count = 0;
  ok(ort().GetDimensionsCount(info, &count));
  Shape shape{std::vector<std::int64_t>(count), {}};
  ok(ort().GetDimensions(info, shape.dims.data(), count));
  std::vector<const char*> symbols(count);
  ok(ort().GetSymbolicDimensions(info, symbols.data(), count));
  shape.symbols.assign(symbols.begin(), symbols.end());
  ort().ReleaseTypeInfo(type);
  return shape;
}

Shape input_shape(OrtSession* session, std::size_t index) {
  OrtTypeInfo* type = nullptr;
  ok(ort().SessionGetInputTypeInfo(session, index, &type));
  return shape_of_type(type);
}

TEST(OrtSessions, ExtentsHaveTheTextsOfTheFile) {
  const std::string file = model(
      {{node("Identity", {"x"}, "y")}, {f32("x", {"past + seq", "?", "", "3"})}, {f32("y", {"a", "b", "c", "3"})}});
  const auto session = session_of(file);
  EXPECT_EQ(input_shape(session.get(), 0), (Shape{{-1, -1, -1, 3}, {"past + seq", "?", "", ""}}));
  OrtTypeInfo* type = nullptr;
  ok(ort().SessionGetOutputTypeInfo(session.get(), 0, &type));
  EXPECT_EQ(shape_of_type(type), (Shape{{-1, -1, -1, 3}, {"a", "b", "c", ""}}));
  EXPECT_EQ(refusal(ort().SessionGetInputTypeInfo(session.get(), 1, &type)).code, ORT_INVALID_ARGUMENT);
  ok(ort().SessionGetInputTypeInfo(session.get(), 0, &type));
  const OrtTensorTypeAndShapeInfo* info = nullptr;
  ok(ort().CastTypeInfoToTensorInfo(type, &info));
  std::size_t elements = 0;
  EXPECT_EQ(refusal(ort().GetTensorShapeElementCount(info, &elements)).code, ORT_FAIL) << "an extent is open";
  ort().ReleaseTypeInfo(type);

  const auto options = session_options();
  ok(ort().AddFreeDimensionOverrideByName(options.get(), "past + seq", 7));
  ok(ort().AddFreeDimensionOverrideByName(options.get(), "nobody has this name", 7));
  EXPECT_EQ(input_shape(session_of(file, options.get()).get(), 0).dims, (std::vector<std::int64_t>{7, -1, -1, 3}));
}

// ONNX Runtime binds no names: a run may have several extents of one name.
TEST(OrtSessions, NamesOfExtentsNeedNotAgree) {
  const auto session = session_of(model(
      {{node("Concat", {"a", "b"}, "y", integer("axis", 0))}, {f32("a", {"N"}), f32("b", {"N"})}, {f32("y", {"M"})}}));
  std::vector<float> two{1, 2}, three{3, 4, 5};
  const auto a = tensor(two, {2});
  const auto b = tensor(three, {3});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(read<float>(run(session.get(), {{"a", a.get()}, {"b", b.get()}}).get()),
              (std::vector<float>{1, 2, 3, 4, 5}));
    EXPECT_EQ(read<float>(run(session.get(), {{"a", a.get()}, {"b", a.get()}}).get()),
              (std::vector<float>{1, 2, 1, 2}));
  }
}

TEST(OrtSessions, InitializersThatAreInputsAreOverridable) {
  const std::string w = number(1, 2) + number(2, kF32) + bytes(8, "w") +
                        bytes(9, std::string("\x00\x00\x80\x3f\x00\x00\x00\x40", 8));  // 1, 2
  const auto session =
      session_of(model({{node("Add", {"x", "w"}, "y")}, {f32("x", {"2"}), f32("w", {"2"})}, {f32("y", {"2"})}, {w}}));
  std::size_t count = 0;
  ok(ort().SessionGetInputCount(session.get(), &count));
  EXPECT_EQ(count, 1u);
  ok(ort().SessionGetOverridableInitializerCount(session.get(), &count));
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(text([&](char** name) {
              return ort().SessionGetOverridableInitializerName(session.get(), 0, allocator(), name);
            }),
            "w");
  OrtTypeInfo* type = nullptr;
  ok(ort().SessionGetOverridableInitializerTypeInfo(session.get(), 0, &type));
  EXPECT_EQ(shape_of_type(type).dims, (std::vector<std::int64_t>{2}));
  std::vector<float> data{10, 20}, other{-1, -2};
  const auto x = tensor(data, {2});
  const auto given = tensor(other, {2});
  EXPECT_EQ(read<float>(run(session.get(), {{"x", x.get()}}).get()), (std::vector<float>{11, 22}));
  EXPECT_EQ(read<float>(run(session.get(), {{"x", x.get()}, {"w", given.get()}}).get()), (std::vector<float>{9, 18}));
}

TEST(OrtSessions, WeightsComeFromTheProgram) {
  // An external tensor of 8 bytes at offset 4 of "weights.bin".
  const std::string external = number(1, 2) + number(2, kF32) + bytes(8, "w") + number(14, 1) +
                               bytes(13, bytes(1, "location") + bytes(2, "weights.bin")) +
                               bytes(13, bytes(1, "offset") + bytes(2, "4")) +
                               bytes(13, bytes(1, "length") + bytes(2, "8"));
  const std::string file = model({{node("Add", {"x", "w"}, "y")}, {f32("x", {"2"})}, {f32("y", {"2"})}, {external}});
  float content[] = {99, 5, 6};
  std::vector<float> data{10, 20}, replaced{100, 200};
  const auto x = tensor(data, {2});
  {
    const auto options = session_options();
    const char* const names[] = {"weights.bin"};
    char* const buffers[] = {reinterpret_cast<char*>(content)};
    const std::size_t lengths[] = {sizeof content};
    ok(ort().AddExternalInitializersFromFilesInMemory(options.get(), names, buffers, lengths, 1));
    const auto session = session_of(file, options.get());
    EXPECT_EQ(read<float>(run(session.get(), {{"x", x.get()}}).get()), (std::vector<float>{15, 26}));
    const auto given = tensor(replaced, {2});
    ok(ort().AddInitializer(options.get(), "w", given.get()));
    EXPECT_EQ(refusal(ort().AddInitializer(options.get(), "w", given.get())).code, ORT_INVALID_ARGUMENT);
    const auto other = session_of(file, options.get());
    EXPECT_EQ(read<float>(run(other.get(), {{"x", x.get()}}).get()), (std::vector<float>{110, 220}));
  }
  OrtSession* none = nullptr;
  EXPECT_NE(refusal(ort().CreateSessionFromArray(env(), file.data(), file.size(), nullptr, &none)).text, "");

  // The entry that names a folder for models from memory.
  const std::filesystem::path folder = testing::TempDir() + "frazil_weights";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "weights.bin", std::ios::binary).write(reinterpret_cast<const char*>(content), sizeof content);
  const auto options = session_options();
  ok(ort().AddSessionConfigEntry(options.get(), "session.model_external_initializers_file_folder_path",
                                 folder.c_str()));
  EXPECT_EQ(read<float>(run(session_of(file, options.get()).get(), {{"x", x.get()}}).get()),
            (std::vector<float>{15, 26}));
  std::filesystem::remove_all(folder);
}

TEST(OrtSessions, OptionsKeepWhatIsSet) {
  const auto options = session_options();
  ok(ort().AddSessionConfigEntry(options.get(), "session.any", "value"));
  int has = 0;
  ok(ort().HasSessionConfigEntry(options.get(), "session.any", &has));
  EXPECT_EQ(has, 1);
  std::size_t size = 0;
  ok(ort().GetSessionConfigEntry(options.get(), "session.any", nullptr, &size));
  EXPECT_EQ(size, 6u) << "with the zero";
  std::string value(size, '?');
  size = 3;
  EXPECT_EQ(refusal(ort().GetSessionConfigEntry(options.get(), "session.any", value.data(), &size)).code,
            ORT_INVALID_ARGUMENT);
  EXPECT_EQ(size, 6u);
  ok(ort().GetSessionConfigEntry(options.get(), "session.any", value.data(), &size));
  EXPECT_STREQ(value.c_str(), "value");
  ok(ort().SetSessionExecutionMode(options.get(), ORT_PARALLEL));
  ok(ort().DisableMemPattern(options.get()));
  OrtSessionOptions* copied = nullptr;
  ok(ort().CloneSessionOptions(options.get(), &copied));
  ok(ort().EnableMemPattern(options.get()));
  ExecutionMode mode{};
  ok(ort().GetSessionExecutionMode(copied, &mode));
  EXPECT_EQ(mode, ORT_PARALLEL);
  int pattern = 1;
  ok(ort().GetMemPatternEnabled(copied, &pattern));
  EXPECT_EQ(pattern, 0) << "the copy is its own";
  ort().ReleaseSessionOptions(copied);
  EXPECT_EQ(refusal(ort().SetSessionGraphOptimizationLevel(options.get(), static_cast<GraphOptimizationLevel>(7))).code,
            ORT_INVALID_ARGUMENT);
  EXPECT_EQ(refusal(ort().SetSessionLogSeverityLevel(options.get(), 9)).code, ORT_INVALID_ARGUMENT);

  OrtRunOptions* of_run = nullptr;
  ok(ort().CreateRunOptions(&of_run));
  ok(ort().RunOptionsSetRunTag(of_run, "tag"));
  const char* tag = nullptr;
  ok(ort().RunOptionsGetRunTag(of_run, &tag));
  EXPECT_STREQ(tag, "tag");
  ok(ort().AddRunConfigEntry(of_run, "k", "v"));
  EXPECT_STREQ(ort().GetRunConfigEntry(of_run, "k"), "v");
  EXPECT_EQ(ort().GetRunConfigEntry(of_run, "other"), nullptr);
  ort().ReleaseRunOptions(of_run);
}

TEST(OrtSessions, ALoadIsCancelled) {
  const auto options = session_options();
  const std::string file = model({{node("Neg", {"x"}, "y")}, {f32("x", {"2"})}, {f32("y", {"2"})}});
  ok(ort().SessionOptionsSetLoadCancellationFlag(options.get(), true));
  OrtSession* session = nullptr;
  EXPECT_EQ(refusal(ort().CreateSessionFromArray(env(), file.data(), file.size(), options.get(), &session)).code,
            ORT_MODEL_LOAD_CANCELED);
  ok(ort().SessionOptionsSetLoadCancellationFlag(options.get(), false));
  session_of(file, options.get());
}

TEST(OrtSessions, AProfileIsATrace) {
  const auto options = session_options();
  const std::string prefix = testing::TempDir() + "frazil_profile";
  ok(ort().EnableProfiling(options.get(), prefix.c_str()));
  const auto session =
      session_of(model({{node("Neg", {"x"}, "y")}, {f32("x", {"2"})}, {f32("y", {"2"})}}), options.get());
  std::vector<float> data{1, 2};
  const auto x = tensor(data, {2});
  for (int i = 0; i < 3; ++i) run(session.get(), {{"x", x.get()}});
  const std::string file =
      text([&](char** name) { return ort().SessionEndProfiling(session.get(), allocator(), name); });
  EXPECT_EQ(file.find(prefix), 0u) << file;
  std::stringstream content;
  content << std::ifstream(file).rdbuf();
  EXPECT_NE(content.str().find("\"Neg\""), std::string::npos) << content.str().substr(0, 500);
  std::filesystem::remove(file);
  run(session.get(), {{"x", x.get()}});
}

TEST(OrtSessions, TypesOfSequencesMapsAndOptionals) {
  // y = SequenceConstruct(x)
  const std::string seq_type = bytes(4, bytes(1, type_of(kF32, {"N"})));
  const auto session =
      session_of(model({{node("SequenceConstruct", {"x", "x"}, "y")}, {f32("x", {"N"})}, {port("y", seq_type)}}));
  OrtTypeInfo* type = nullptr;
  ok(ort().SessionGetOutputTypeInfo(session.get(), 0, &type));
  ONNXType kind{};
  ok(ort().GetOnnxTypeFromTypeInfo(type, &kind));
  EXPECT_EQ(kind, ONNX_TYPE_SEQUENCE);
  const OrtTensorTypeAndShapeInfo* no_tensor = nullptr;
  ok(ort().CastTypeInfoToTensorInfo(type, &no_tensor));
  EXPECT_EQ(no_tensor, nullptr);
  const OrtSequenceTypeInfo* sequence = nullptr;
  ok(ort().CastTypeInfoToSequenceTypeInfo(type, &sequence));
  OrtTypeInfo* element = nullptr;
  ok(ort().GetSequenceElementType(sequence, &element));
  const OrtTensorTypeAndShapeInfo* tensor_info = nullptr;
  ok(ort().CastTypeInfoToTensorInfo(element, &tensor_info));
  ONNXTensorElementDataType element_type{};
  ok(ort().GetTensorElementType(tensor_info, &element_type));
  EXPECT_EQ(element_type, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  ort().ReleaseTypeInfo(element);
  ort().ReleaseTypeInfo(type);

  // The parts do not follow the program's memory.
  std::vector<float> data{1, 2};
  auto x = tensor(data, {2});
  const auto y = run(session.get(), {{"x", x.get()}});
  x.reset();
  data.assign(2, 99);
  OrtValue* part = nullptr;
  ok(ort().GetValue(y.get(), 1, allocator(), &part));
  EXPECT_EQ(read<float>(part), (std::vector<float>{1, 2}));
  ort().ReleaseValue(part);
}

TEST(OrtSessions, MessagesGoToTheProgramsLogger) {
  struct Heard {
    std::vector<std::string> lines;
  } heard;
  const auto options = session_options();
  ok(ort().SetUserLoggingFunction(
      options.get(),
      [](void* to, OrtLoggingLevel, const char*, const char*, const char*, const char* message) {
        static_cast<Heard*>(to)->lines.emplace_back(message);
      },
      &heard));
  session_of(model({{node("Neg", {"x"}, "y")}, {f32("x", {"2"})}, {f32("y", {"3"})}}), options.get());
  ASSERT_EQ(heard.lines.size(), 1u) << "a declared extent that is not the inferred one is a warning";
  EXPECT_NE(heard.lines[0].find("'y'"), std::string::npos) << heard.lines[0];
}

/// The calls of FFmpeg's filter, which reads names with the allocator's own member.
TEST(OrtSessions, AreUsedAsFFmpegDoes) {
  const std::string path = testing::TempDir() + "frazil_ffmpeg.onnx";
  std::ofstream(path, std::ios::binary) << model(
      {{node("Mul", {"x", "x"}, "y")}, {f32("x", {"1", "3", "h", "w"})}, {f32("y", {"1", "3", "h", "w"})}});
  const OrtApi* const api = OrtGetApiBase()->GetApi(17);
  OrtEnv* own = nullptr;
  ok(api->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "ffmpeg", &own));
  OrtSessionOptions* options = nullptr;
  ok(api->CreateSessionOptions(&options));
  ok(api->SetSessionGraphOptimizationLevel(options, ORT_ENABLE_ALL));
  ok(api->SetIntraOpNumThreads(options, 1));
  ok(api->SetSessionExecutionMode(options, ORT_SEQUENTIAL));
  ok(api->DisableMemPattern(options));
  OrtCUDAProviderOptions cuda{};
  ASSERT_NE(api->SessionOptionsAppendExecutionProvider_CUDA, nullptr);
  EXPECT_NE(refusal(api->SessionOptionsAppendExecutionProvider_CUDA(options, &cuda)).text, "");
  OrtSession* session = nullptr;
  ok(api->CreateSession(own, path.c_str(), options, &session));
  OrtAllocator* names = nullptr;
  ok(api->GetAllocatorWithDefaultOptions(&names));
  char* name = nullptr;
  ok(api->SessionGetInputName(session, 0, names, &name));
  EXPECT_STREQ(name, "x");
  names->Free(names, name);
  EXPECT_EQ(input_shape(session, 0).dims, (std::vector<std::int64_t>{1, 3, -1, -1}));
  OrtMemoryInfo* memory = nullptr;
  ok(api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
  for (const std::int64_t width : {4, 7}) {
    std::vector<float> frame(static_cast<std::size_t>(3 * 2 * width), 3.0f);
    const auto x = tensor(frame, {1, 3, 2, width});
    const auto y = run(session, {{"x", x.get()}});
    float* data = nullptr;
    ok(api->GetTensorMutableData(y.get(), reinterpret_cast<void**>(&data)));
    EXPECT_EQ(data[frame.size() - 1], 9.0f);
  }
  api->ReleaseMemoryInfo(memory);
  api->ReleaseSession(session);
  api->ReleaseSessionOptions(options);
  api->ReleaseEnv(own);
  std::filesystem::remove(path);
}

}  // namespace
