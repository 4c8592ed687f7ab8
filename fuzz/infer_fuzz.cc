// Reads bodies of inference requests. The tensors that are read are written as a response and read again, and stay the
// same. The first byte, where it is odd, is the number of bytes of JSON in front of binary tensors, in units of eight.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "require.h"
#include "server/request/infer_message.h"

namespace frazil::fuzz {
namespace {

using api::Array;
using api::Dtype;

bool has_json_form(const Array& array) {
  if (array.dtype() == Dtype::f16 || array.dtype() == Dtype::bf16) return false;
  const auto finite = [](auto values) { return std::ranges::all_of(values, [](auto x) { return std::isfinite(x); }); };
  if (array.dtype() == Dtype::f32) return finite(array.values<float>());
  return array.dtype() != Dtype::f64 || finite(array.values<double>());
}

bool equal(const Array& a, const Array& b) {
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes()) return false;
  if (a.dtype() == Dtype::string) return std::ranges::equal(a.values<std::string>(), b.values<std::string>());
  return a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

/// Strings of JSON are UTF-8, those of binary tensors any bytes.
void round_trip(const server::InferRequest& request, bool binary) {
  const server::InferResponse response{.model = "m", .version = "1", .id = request.id, .outputs = request.inputs};
  server::InferRequest wanted;
  for (const auto& [name, array] : request.inputs) {
    wanted.outputs.push_back(
        {.name = name, .binary = binary || array.dtype() == Dtype::string || !has_json_form(array)});
  }
  server::Reply reply = server::write_infer(response, server::BinaryOutputs(wanted));
  std::string json_size = std::to_string(reply.body.size());
  for (const auto& [name, value] : reply.headers) json_size = value;
  constexpr std::string_view kOutputs = R"("outputs":[)";
  const std::size_t at = reply.body.find(kOutputs);  // an id has its quotes escaped
  require(at != std::string::npos, "a response without outputs: {}", reply.body);
  reply.body.replace(at, kOutputs.size(), R"("inputs":[ )");
  const server::InferRequest again =
      server::read_infer({.method = "POST", .path = "", .body = reply.body, .json_size = json_size});
  require(again.inputs.size() == request.inputs.size(), "{} tensors became {}", request.inputs.size(),
          again.inputs.size());
  for (std::size_t i = 0; i < again.inputs.size(); ++i) {
    require(equal(again.inputs[i].second, request.inputs[i].second), "tensor {} changes when it is written", i);
  }
}

void read_once(std::string_view body, std::optional<std::string> json_size) {
  std::optional<server::InferRequest> request;
  try {
    request = server::read_infer({.method = "POST", .path = "", .body = body, .json_size = json_size});
  } catch (const server::Refusal& refusal) {
    require(*refusal.what() != '\0', "an empty message");
    return;
  }
  round_trip(*request, false);
  round_trip(*request, true);
}

}  // namespace
}  // namespace frazil::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::optional<std::string> json_size;
  if (data[0] % 2 == 1) json_size = std::to_string(data[0] / 2 * 8);
  frazil::fuzz::read_once(body, json_size);
  return 0;
}
