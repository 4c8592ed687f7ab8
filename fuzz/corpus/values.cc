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
  const auto json = [](const std::string& inputs) {
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

Seeds connection_seeds() {
  const std::string body = R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]}]})";
  const std::string post = "POST /v2/models/double/infer HTTP/1.1\r\nHost: localhost\r\n",
                    length = "Content-Length: " + std::to_string(body.size()) + "\r\n";
  const char models = 'E' /* 0 modulo 3, cut behind 23 bytes */, metrics = 'F', grpc = 'G';
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", settings("\0\0\0\4\0\0\0\0\0", 9);
  const std::string health("\0\0\x22\1\5\0\0\0\1\x83\x86\4\x1b/grpc.health.v1.Health/Check\1\0", 43);
  return {{"get", models + std::string("GET /v2/models/double?a=b HTTP/1.1\r\nHost: localhost\r\n\r\n")},
          {"twice", models + std::string("GET /v2 HTTP/1.1\r\n\r\nHEAD /v2/health/ready HTTP/1.0\r\n\r\n")},
          {"post", models + post + length + "\r\n" + body},
          {"expect", models + post + length + "Expect: 100-continue\r\n\r\n" + body},
          {"chunks", models + post + "Transfer-Encoding: chunked\r\n\r\n4;a=b\r\n{\"in\r\n0\r\nA: b\r\n\r\n"},
          {"refused", models + std::string("POST /v2/models/none/infer HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc")},
          {"gzip", models + post + "Content-Encoding: gzip\r\nContent-Length: 22\r\n\r\n" +
                       std::string("\x1f\x8b\b\0\0\0\0\0\0\3\xab\xae\5\0\x43\xbf\xa6\xa3\2\0\0\0", 22)},
          {"live", models + std::string("GET /v2/live/events?every_ms=100 HTTP/1.1\r\nHost: localhost\r\n\r\n")},
          {"metrics", metrics + std::string("GET /metrics HTTP/1.1\r\nAccept-Encoding: gzip\r\n\r\n")},
          {"grpc", grpc + preface + settings + health + std::string("\0\0\5\0\1\0\0\0\1\0\0\0\0\0", 14)}};
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

std::string connection_dictionary() {
  std::string out;
  for (const char* word : {"Content-Length: ",
                           "Transfer-Encoding: chunked",
                           "Expect: 100-continue",
                           "Content-Encoding: deflate",
                           "Accept-Encoding: gzip",
                           "Inference-Header-Content-Length: ",
                           "Connection: close",
                           "Connection: keep-alive",
                           "HTTP/1.0",
                           "HTTP/1.1",
                           "PUT ",
                           "/v2/models/double/generate",
                           "Host: localhost",
                           "Origin: http://",
                           "/v2/paths",
                           "/v2/repository/index",
                           "\\x0d\\x0a\\x0d\\x0a",
                           "grpc-encoding",
                           "grpc-timeout",
                           "application/grpc"}) {
    out += '"' + std::string(word) + "\"\n";
  }
  return out;
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
