#include "bench/serve_requests.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <nlohmann/json.hpp>
#include <protozero/pbf_writer.hpp>

#include "bench/convert.h"
#include "bench/random.h"

namespace bench {
namespace {

constexpr std::size_t kPool = 256;  // different requests

constexpr auto kKinds = std::to_array<ServeKind>({
    {.name = "small"},
    {.name = "bert_small"},
    {.name = "lstm"},
    {.name = "digits"},
    {.name = "silero", .in_sequence = true},
});

HostTensor normal_tensor(Dims dims, Random& random) {
  HostTensor tensor(Elem::f32, std::move(dims));
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor.as<float>()[i] = static_cast<float>(random.normal());
  return tensor;
}

HostTensor whole_tensor(Dims dims, const auto& make) {
  HostTensor tensor(Elem::i64, std::move(dims));
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor.as<std::int64_t>()[i] = make();
  return tensor;
}

/// In [least, most], or the one that is asked for.
std::int64_t length_between(std::int64_t least, std::int64_t most, const ServeRequestOptions& options, Random& random) {
  if (options.length > 0) return options.length;
  return least + static_cast<std::int64_t>(random.bits() % static_cast<std::uint64_t>(most - least + 1));
}

NamedTensors bert_inputs(const ServeRequestOptions& options, Random& random) {
  constexpr std::int64_t kWords = 30522;
  const std::int64_t length = length_between(5, 128, options, random);
  return {{"input_ids", whole_tensor({1, length}, [&] { return static_cast<std::int64_t>(random.bits() % kWords); })},
          {"attention_mask", whole_tensor({1, length}, [] { return 1; })},
          {"token_type_ids", whole_tensor({1, length}, [] { return 0; })}};
}

/// A piece of noise as loud as speech: 32 ms and the 4 ms before it.
NamedTensors silero_inputs(Random& random) {
  HostTensor samples = normal_tensor({1, 576}, random);
  for (std::size_t i = 0; i < samples.size(); ++i) samples.as<float>()[i] *= 0.05f;
  return {{"input", std::move(samples)}, {"sr", whole_tensor({}, [] { return 16000; })}};
}

/// One of the held-out images of examples/digits, whose cost differs.
NamedTensors digits_inputs(const HostTensor& images, Random& random) {
  constexpr std::size_t kBytes = 64 * sizeof(float);
  HostTensor image(Elem::f32, {1, 1, 8, 8});
  const std::size_t at = random.bits() % static_cast<std::uint64_t>(images.dims[0]);
  std::copy_n(images.data.begin() + static_cast<std::ptrdiff_t>(at * kBytes), kBytes, image.data.begin());
  return {{"image", std::move(image)}};
}

NamedTensors inputs_for(std::string_view kind, const ServeRequestOptions& options, const HostTensor& images,
                        Random& random) {
  if (kind == "bert_small") return bert_inputs(options, random);
  if (kind == "lstm") return {{"x", normal_tensor({length_between(5, 100, options, random), 1, 256}, random)}};
  if (kind == "digits") return digits_inputs(images, random);
  if (kind == "silero") return silero_inputs(random);
  return {{"x", normal_tensor({1, 4}, random)}};
}

const char* datatype_of(const HostTensor& tensor) { return tensor.elem == Elem::i64 ? "INT64" : "FP32"; }

/// What a request says beside its tensors.
struct Extras {
  std::uint64_t timeout_us = 0;
  std::string sequence = {}, output = {};  ///< empty: none; all
  bool start = false;
};

std::string http_request(std::string_view model, const NamedTensors& inputs, const Extras& extras) {
  nlohmann::json head = {{"inputs", nlohmann::json::array()}, {"parameters", {{"binary_data_output", true}}}};
  std::string tail;
  for (const auto& [name, tensor] : inputs) {
    head["inputs"].push_back({{"name", name},
                              {"shape", tensor.dims},
                              {"datatype", datatype_of(tensor)},
                              {"parameters", {{"binary_data_size", tensor.data.size()}}}});
    tail.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
  }
  if (extras.timeout_us != 0) head["parameters"]["timeout"] = extras.timeout_us;
  if (!extras.sequence.empty()) {
    head["parameters"]["sequence_id"] = extras.sequence;
    head["parameters"]["sequence_start"] = extras.start;
  }
  if (!extras.output.empty()) head["outputs"] = nlohmann::json::array({{{"name", extras.output}}});
  const std::string json = head.dump();
  std::string request = "POST /v2/models/" + std::string(model) + "/infer HTTP/1.1\r\nHost: localhost\r\n";
  request += "Content-Type: application/octet-stream\r\nInference-Header-Content-Length: ";
  request += std::to_string(json.size()) + "\r\nContent-Length: " + std::to_string(json.size() + tail.size());
  return request += "\r\n\r\n" + json + tail;
}

// Numbers of fields of Triton's ModelInferRequest and its parts.
constexpr unsigned kModelName = 1, kParameters = 4, kInputs = 5, kOutputs = 6, kRawInputs = 7;
constexpr unsigned kName = 1, kDatatype = 2, kShape = 3, kKey = 1, kValue = 2, kTruth = 1, kWhole = 2, kText = 3;

template <class Fill>
std::string message(Fill fill) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  fill(writer);
  return bytes;
}

template <class Fill>
std::string parameter(std::string_view key, Fill fill) {
  return message([&](auto& w) {
    w.add_string(kKey, key.data(), key.size());
    w.add_message(kValue, message(fill));
  });
}

std::string grpc_request(std::string_view model, const NamedTensors& inputs, const Extras& extras) {
  const std::string body = message([&](auto& w) {
    w.add_string(kModelName, model.data(), model.size());
    if (extras.timeout_us != 0) {
      const auto timeout = static_cast<std::int64_t>(extras.timeout_us);
      w.add_message(kParameters, parameter("timeout", [&](auto& v) { v.add_int64(kWhole, timeout); }));
    }
    if (!extras.sequence.empty()) {
      w.add_message(kParameters, parameter("sequence_id", [&](auto& v) { v.add_string(kText, extras.sequence); }));
      w.add_message(kParameters, parameter("sequence_start", [&](auto& v) { v.add_bool(kTruth, extras.start); }));
    }
    for (const auto& [name, tensor] : inputs) {
      w.add_message(kInputs, message([&](auto& in) {
                      in.add_string(kName, name);
                      in.add_string(kDatatype, datatype_of(tensor));
                      in.add_packed_int64(kShape, tensor.dims.begin(), tensor.dims.end());
                    }));
    }
    if (!extras.output.empty())
      w.add_message(kOutputs, message([&](auto& out) { out.add_string(kName, extras.output); }));
    for (const auto& [name, tensor] : inputs) {
      w.add_bytes(kRawInputs, reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
    }
  });
  const std::size_t n = body.size();
  return std::string{'\0', static_cast<char>(n >> 24U), static_cast<char>(n >> 16U), static_cast<char>(n >> 8U),
                     static_cast<char>(n)} +
         body;
}

std::string request_of(const ServeKind& kind, const NamedTensors& inputs, Protocol protocol, const Extras& extras) {
  return protocol == Protocol::http ? http_request(kind.name, inputs, extras) : grpc_request(kind.name, inputs, extras);
}

}  // namespace

const ServeKind& serve_kind(std::string_view name) {
  const auto* const at = std::ranges::find(kKinds, name, &ServeKind::name);
  if (at == kKinds.end()) throw std::runtime_error("no requests for model " + std::string(name));
  return *at;
}

ServeRequests::ServeRequests(const ServeKind& kind, const ServeRequestOptions& options, std::size_t connections)
    : in_sequence_(kind.in_sequence) {
  Random random(1, kind.name);
  const HostTensor images = kind.name == "digits" ? read_npy(options.images) : HostTensor();
  Extras extras{.timeout_us = options.timeout_us, .output = in_sequence_ ? "output" : ""};
  for (std::size_t i = 0; i < (in_sequence_ ? connections : kPool); ++i) {
    const NamedTensors inputs = inputs_for(kind.name, options, images, random);
    if (in_sequence_) {
      extras.sequence = "c" + std::to_string(i);
      extras.start = true;
      starts_.push_back(request_of(kind, inputs, options.protocol, extras));
      extras.start = false;
    }
    plain_.push_back(request_of(kind, inputs, options.protocol, extras));
  }
}

}  // namespace bench
