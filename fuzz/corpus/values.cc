#include "corpus.h"
#include "tensor/npy.h"
#include "tensor/onnx_proto.h"

namespace frazil::fuzz {
namespace {

std::vector<Tensor> tensors() {
  std::vector<Tensor> all;
  for (int e = 0; e < kElemCount; ++e) {
    Tensor t = Tensor::make(static_cast<Elem>(e), {2, 1}).value();
    if (t.elem() == Elem::string) {
      t.as_mutable<std::string>()[0] = "\xc3\xa4 text";
    } else {
      for (std::size_t i = 0; i < t.bytes(); ++i) t.mutable_data()[i] = std::byte{static_cast<unsigned char>(i % 2)};
    }
    all.push_back(std::move(t));
  }
  all.push_back(Tensor::scalar(1.5f));
  all.push_back(Tensor::of<std::int64_t>({0, 3}, {}));
  return all;
}

std::string npy(int version, const std::string& dict, std::size_t data) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) out += static_cast<char>(dict.size() >> (8 * i));
  out += dict;
  for (std::size_t i = 0; i < data; ++i) out += static_cast<char>(i);
  return out;
}

std::string with_kind(ProtoKind kind, const Datum& value) {
  return static_cast<char>(kind) + datum_to_proto(kind, value, "v").value();
}
Datum sequence(std::vector<Datum> items) {
  return std::shared_ptr<const Sequence>(std::make_shared<Sequence>(Sequence{std::move(items)}));
}
Datum map(std::vector<std::pair<Tensor, Datum>> items) {
  return std::shared_ptr<const MapValue>(std::make_shared<MapValue>(MapValue{std::move(items)}));
}

}  // namespace

Seeds npy_seeds() {
  Seeds seeds;
  for (const Tensor& t : tensors()) {
    if (const auto bytes = npy_to_bytes(t)) seeds["written_" + std::to_string(seeds.size())] = *bytes;
  }
  seeds["fortran"] = npy(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n", 24);
  seeds["big_endian"] = npy(2, "{'descr': '>c8', 'fortran_order': False, 'shape': (2,), }\n", 16);
  seeds["version_3"] = npy(3, "{'descr': '<U2', 'fortran_order': False, 'shape': (2,), }\n", 16);
  seeds["bytes"] = npy(1, "{'descr': '|S3', 'fortran_order': False, 'shape': (2,), }\n", 6);
  return seeds;
}

Seeds infer_seeds() {
  const auto json = [](std::string inputs) {
    std::string text = R"({"id":"a","parameters":{"timeout":9},"outputs":[{"name":"y"}],"inputs":[)" + inputs + "]}";
    return text + std::string(7 - (text.size() + 7) % 8, ' ');
  };
  const auto sized = [](const std::string& text) { return static_cast<char>(text.size() / 8 * 2 + 1) + text; };
  Seeds seeds;
  for (const char* type : {"FP32", "FP64", "INT8", "UINT64", "BOOL"}) {
    seeds[type] = ' ' + json(std::string(R"({"name":"x","shape":[2,1],"datatype":")") + type + R"(","data":[[1],0]})");
  }
  seeds["text"] = ' ' + json(R"({"name":"x","shape":[2],"datatype":"BYTES","data":["a","\u00e4\n"]})");
  seeds["binary"] = sized(json(R"({"name":"x","shape":[2],"datatype":"FP16","parameters":{"binary_data_size":4}},)"
                               R"({"name":"s","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":5}})")) +
                    std::string("\1\0\2\0\1\0\0\0s", 9);
  return seeds;
}

Seeds pb_seeds() {
  Seeds seeds;
  for (const Tensor& t : tensors()) {
    seeds["tensor_" + std::to_string(seeds.size())] = with_kind(ProtoKind::tensor, t);
  }
  const Tensor t = Tensor::of<float>({2}, {1, 2});
  const Datum two = sequence({t, t});
  const Datum by_key = map({{Tensor::scalar<std::int64_t>(3), t}, {Tensor::scalar<std::int64_t>(-1), t}});
  Tensor text = Tensor::make(Elem::string, {}).value();
  text.as_mutable<std::string>()[0] = "key";
  seeds["sequence"] = with_kind(ProtoKind::sequence, two);
  seeds["nested"] = with_kind(ProtoKind::sequence, sequence({two, sequence({})}));
  seeds["optionals"] = with_kind(ProtoKind::sequence, sequence({t, Datum()}));
  seeds["optional"] = with_kind(ProtoKind::optional, t);
  seeds["optional_sequence"] = with_kind(ProtoKind::optional, two);
  seeds["absent"] = with_kind(ProtoKind::optional, Datum());
  seeds["map"] = with_kind(ProtoKind::map, by_key);
  seeds["maps"] = with_kind(ProtoKind::sequence, sequence({by_key, by_key}));
  seeds["map_of_texts"] = with_kind(ProtoKind::map, map({{text, two}}));
  return seeds;
}

std::string npy_dictionary() {
  std::string out;
  for (const char* word : {"'descr'",
                           "'fortran_order'",
                           "'shape'",
                           "True",
                           "False",
                           "(",
                           ")",
                           "()",
                           "(2,)",
                           "(0, 3)",
                           "'<f4'",
                           "'>f8'",
                           "'|b1'",
                           "'<c16'",
                           "'<U3'",
                           "'>U1'",
                           "'|S2'",
                           "'a0'",
                           "'|O'",
                           "[('x', '<f4')]",
                           "9223372036854775807",
                           "-1",
                           "2L"}) {
    out += '"' + std::string(word) + "\"\n";
  }
  return out + "\"\\x93NUMPY\\x01\\x00\"\n\"\\x93NUMPY\\x02\\x00\"\n\"\\x93NUMPY\\x03\\x00\"\n";
}

}  // namespace frazil::fuzz
