// Reads messages of gRPC. The tensors of an inference request are written as a response, which is read again as a
// request, and stay the same.
#include <algorithm>
#include <cstring>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "require.h"
#include "server/grpc/grpc_message.h"

namespace frazil::fuzz {
namespace {

namespace proto = server::proto;
using api::Array;

bool equal(const Array& a, const Array& b) {
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes()) return false;
  if (a.dtype() == api::Dtype::string) return std::ranges::equal(a.values<std::string>(), b.values<std::string>());
  return a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

/// A ModelInferResponse with its outputs as the inputs of a ModelInferRequest, whose fields differ in the raw contents.
std::string as_request(const std::string& response) {
  constexpr protozero::pbf_tag_type kOutputs = 6, kInputs = 7;
  std::string bytes;
  protozero::pbf_writer to(bytes);
  protozero::pbf_reader from(response);
  while (from.next()) to.add_bytes(from.tag() == kOutputs ? kInputs : from.tag(), from.get_view());
  return bytes;
}

void round_trip(const proto::InferMessage& message) {
  const server::InferResponse response{.model = message.model.name,
                                       .version = message.model.version,
                                       .id = message.request.id,
                                       .outputs = message.request.inputs};
  const std::string bytes = as_request(proto::write_infer(response));
  const auto [model, again] = proto::read_infer(bytes, nullptr);
  require(model.name == response.model && model.version == response.version && again.id == response.id,
          "a name changes when it is written");
  require(again.inputs.size() == response.outputs.size(), "{} tensors became {}", response.outputs.size(),
          again.inputs.size());
  for (std::size_t i = 0; i < again.inputs.size(); ++i) {
    require(again.inputs[i].first == response.outputs[i].first, "name {} changes when it is written", i);
    require(equal(again.inputs[i].second, response.outputs[i].second), "tensor {} changes when it is written", i);
  }
}

template <class F>
auto read_once(F read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const server::Refusal& refusal) {
    require(*refusal.what() != '\0', "an empty message");
    return std::nullopt;
  }
}

}  // namespace
}  // namespace frazil::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace frazil::fuzz;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto message = read_once([&] { return proto::read_infer(bytes, nullptr); })) round_trip(*message);
  read_once([&] { return proto::read_model_name(bytes); });
  read_once([&] { return proto::read_repository_index(bytes); });
  read_once([&] { return proto::read_repository_model(bytes); });
  read_once([&] { return proto::read_health_check(bytes); });
  proto::id_of_infer(bytes);
  return 0;
}
