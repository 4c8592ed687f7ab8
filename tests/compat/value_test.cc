#include <array>
#include <thread>

#include "compat/ort.h"

namespace {

using testing::Test;

TEST(OrtValues, ATensorIsAViewOfTheProgramsMemory) {
  std::vector<float> data{1, 2, 3, 4, 5, 6};
  const auto value = tensor(data, {2, 3});
  EXPECT_EQ(shape_of(value.get()), (std::vector<std::int64_t>{2, 3}));
  void* seen = nullptr;
  ok(ort().GetTensorMutableData(value.get(), &seen));
  EXPECT_EQ(seen, data.data());
  data[5] = 60;
  EXPECT_EQ(read<float>(value.get()).back(), 60);
  void* at = nullptr;
  const std::array<std::int64_t, 2> place{1, 0};
  ok(ort().TensorAt(value.get(), place.data(), 2, &at));
  EXPECT_EQ(at, &data[3]);
}

struct BadTensor {
  const char* what;
  std::vector<std::int64_t> shape;
  std::size_t bytes;
  int type;
  std::string text;
};

class OrtBadTensors : public testing::TestWithParam<BadTensor> {};

TEST_P(OrtBadTensors, AreRefused) {
  const BadTensor& bad = GetParam();
  float data[4]{};
  OrtValue* value = nullptr;
  const Refusal got =
      refusal(ort().CreateTensorWithDataAsOrtValue(nullptr, data, bad.bytes, bad.shape.data(), bad.shape.size(),
                                                   static_cast<ONNXTensorElementDataType>(bad.type), &value));
  EXPECT_EQ(got.code, ORT_INVALID_ARGUMENT);
  EXPECT_NE(got.text.find(bad.text), std::string::npos) << got.text;
  EXPECT_EQ(value, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Values, OrtBadTensors,
                         testing::Values(BadTensor{"short", {5}, 16, 1, "needs 20 bytes, the buffer has 16"},
                                         BadTensor{"negative", {2, -1}, 16, 1, "extent -1"},
                                         BadTensor{"huge", {1LL << 40, 1LL << 40}, 16, 1, "too many elements"},
                                         BadTensor{"type", {1}, 16, 77, "77 is not an element type"},
                                         BadTensor{"undefined", {1}, 16, 0, "0 is not an element type"},
                                         BadTensor{"strings", {1}, 16, 8, "CreateTensorAsOrtValue"}),
                         [](const auto& info) { return std::string(info.param.what); });

TEST(OrtValues, MemoryOfAnAllocatorIsAlignedAndReleased) {
  struct Counting : OrtAllocator {
    int blocks = 0;
  } counting{};
  counting.version = 1;  // its later members are garbage
  counting.Alloc = [](OrtAllocator* self, std::size_t size) {
    ++static_cast<Counting*>(self)->blocks;
    return std::malloc(size);
  };
  counting.Free = [](OrtAllocator* self, void* block) {
    --static_cast<Counting*>(self)->blocks;
    std::free(block);
  };
  counting.Reserve = reinterpret_cast<decltype(counting.Reserve)>(0x1);
  const std::int64_t shape[] = {3};
  OrtValue* value = nullptr;
  ok(ort().CreateTensorAsOrtValue(&counting, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
  EXPECT_EQ(counting.blocks, 1);
  ort().ReleaseValue(value);
  EXPECT_EQ(counting.blocks, 0);

  OrtAllocator* own = nullptr;
  ok(ort().GetAllocatorWithDefaultOptions(&own));
  void* const block = own->Alloc(own, 5);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0u);
  own->Free(own, block);
  EXPECT_EQ(own->Alloc(own, 0), nullptr);
}

TEST(OrtValues, StringsAreWrittenAndReadAllAtOnceOrOneByOne) {
  OrtAllocator* allocator = nullptr;
  ok(ort().GetAllocatorWithDefaultOptions(&allocator));
  const std::int64_t shape[] = {3};
  OrtValue* made = nullptr;
  ok(ort().CreateTensorAsOrtValue(allocator, shape, 1, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &made));
  const auto value = owned(made);
  const char* const texts[] = {"ice", "", "frazil"};
  ok(ort().FillStringTensor(value.get(), texts, 3));
  std::size_t length = 0;
  ok(ort().GetStringTensorDataLength(value.get(), &length));
  EXPECT_EQ(length, 9u);
  std::string content(length, '?');
  std::size_t offsets[3];
  ok(ort().GetStringTensorContent(value.get(), content.data(), length, offsets, 3));
  EXPECT_EQ(content, "icefrazil");
  EXPECT_EQ(offsets[1], 3u);
  EXPECT_EQ(offsets[2], 3u);

  ok(ort().FillStringTensorElement(value.get(), "slush", 1));
  char* buffer = nullptr;
  ok(ort().GetResizedStringTensorElementBuffer(value.get(), 0, 2, &buffer));
  buffer[1] = 'n';
  std::size_t size = 0;
  ok(ort().GetStringTensorElementLength(value.get(), 1, &size));
  std::string element(size, '?');
  ok(ort().GetStringTensorElement(value.get(), size, 1, element.data()));
  EXPECT_EQ(element, "slush");
  EXPECT_EQ(refusal(ort().GetStringTensorElementLength(value.get(), 3, &size)).code, ORT_INVALID_ARGUMENT);
  EXPECT_EQ(refusal(ort().FillStringTensor(value.get(), texts, 2)).code, ORT_INVALID_ARGUMENT);
  EXPECT_EQ(refusal(ort().GetStringTensorContent(value.get(), content.data(), 3, offsets, 3)).code,
            ORT_INVALID_ARGUMENT);
}

TEST(OrtValues, PartsOfASequenceOutliveIt) {
  std::vector<float> a{1, 2}, b{3};
  const auto first = tensor(a, {2});
  const auto second = tensor(b, {1});
  const OrtValue* const parts[] = {first.get(), second.get()};
  OrtValue* sequence = nullptr;
  ok(ort().CreateValue(parts, 2, ONNX_TYPE_SEQUENCE, &sequence));
  a[0] = 100;  // the sequence has its own elements
  ONNXType type{};
  ok(ort().GetValueType(sequence, &type));
  EXPECT_EQ(type, ONNX_TYPE_SEQUENCE);
  std::size_t count = 0;
  ok(ort().GetValueCount(sequence, &count));
  EXPECT_EQ(count, 2u);
  OrtValue* part = nullptr;
  ok(ort().GetValue(sequence, 0, nullptr, &part));
  EXPECT_EQ(refusal(ort().GetValue(sequence, 2, nullptr, &part)).code, ORT_INVALID_ARGUMENT);
  ort().ReleaseValue(sequence);
  EXPECT_EQ(read<float>(part), (std::vector<float>{1, 2}));
  ort().ReleaseValue(part);
}

TEST(OrtValues, AMapIsItsKeysAndItsValues) {
  std::vector<std::int64_t> keys{7, -1, 3};
  std::vector<float> values{0.5f, 1.5f, 2.5f};
  const auto k = tensor(keys, {3});
  const auto v = tensor(values, {3});
  const OrtValue* const parts[] = {k.get(), v.get()};
  OrtValue* made = nullptr;
  ok(ort().CreateValue(parts, 2, ONNX_TYPE_MAP, &made));
  const auto map = owned(made);
  std::size_t count = 0;
  ok(ort().GetValueCount(map.get(), &count));
  EXPECT_EQ(count, 2u);
  OrtValue* part = nullptr;
  ok(ort().GetValue(map.get(), 0, nullptr, &part));
  const std::vector<std::int64_t> sorted = read<std::int64_t>(part);
  ort().ReleaseValue(part);
  ok(ort().GetValue(map.get(), 1, nullptr, &part));
  const std::vector<float> by_key = read<float>(part);
  ort().ReleaseValue(part);
  ASSERT_EQ(sorted.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto at = std::ranges::find(keys, sorted[i]) - keys.begin();
    EXPECT_EQ(by_key[i], values[static_cast<std::size_t>(at)]);
  }
}

// Elements of less than a byte are packed at the border, the first in the low bits.
TEST(OrtValues, Int4IsPacked) {
  frazil::GraphBuilder graph("widen");
  const frazil::Term x = graph.input("x", frazil::Dtype::i4, {"N"});
  graph.output("y", graph.op("Cast", {x}, {{"to", 7}}));
  graph.output("z", graph.op("Identity", {x}));
  const auto session = session_of(bytes_of(graph.build()));
  std::vector<std::uint8_t> packed{0xF1, 0x7A, 0x08};  // 1, -1, -6, 7, -8
  const auto value = tensor(packed, {5}, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4);
  std::vector<OrtValue*> out;
  ok(run(session.get(), {{"x", value.get()}}, {"y", "z"}, out));
  const auto y = owned(out[0]);
  const auto z = owned(out[1]);
  EXPECT_EQ(read<std::int64_t>(y.get()), (std::vector<std::int64_t>{1, -1, -6, 7, -8}));
  EXPECT_EQ(read<std::uint8_t>(z.get()), packed);
}

TEST(OrtValues, ThreadsReadOneResult) {
  frazil::GraphBuilder graph("copy");
  graph.output("y", graph.op("Neg", {graph.input("x", frazil::Dtype::f32, {"N"})}));
  const auto session = session_of(bytes_of(graph.build()));
  std::vector<float> data(1000, 2.0f);
  const auto x = tensor(data, {1000});
  for (int round = 0; round < 50; ++round) {
    const auto y = run(session.get(), {{"x", x.get()}});
    std::vector<const void*> seen(4);
    {
      std::vector<std::jthread> threads;
      for (const void*& data_of : seen) {
        threads.emplace_back([&] { ok(ort().GetTensorData(y.get(), &data_of)); });
      }
    }
    for (const void* const data_of : seen) EXPECT_EQ(data_of, seen[0]);
    EXPECT_EQ(read<float>(y.get())[999], -2.0f);
  }
}

}  // namespace
