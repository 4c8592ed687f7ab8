#include "server/request/infer_message.h"

#include <memory>

#include <simdjson.h>

#include "server/core/datatype.h"
#include "server/request/json_tensor.h"
#include "server/request/tensor_bytes.h"

namespace frazil::server {
namespace {

namespace dom = simdjson::dom;
using api::Array;
using api::Dtype;

/// Returns the name of an item of a list: "inputs"[2].
std::string item_of(const std::string& list, std::size_t index) { return list + '[' + std::to_string(index) + ']'; }

std::string text_at(dom::object object, const char* key, const std::string& what) {
  dom::element element;
  if (object[key].get(element) != simdjson::SUCCESS) refuse(what + ": \"" + key + "\" is missing");
  return std::string(get<std::string_view>(element, what + ": \"" + key + "\"", "a string"));
}

std::optional<dom::object> parameters_of(dom::object object, const std::string& what) {
  const auto given = maybe(object, "parameters");
  if (!given) return std::nullopt;
  return get<dom::object>(*given, what + ": \"parameters\"", "an object");
}

// ---- binary tensors ----

/// The bytes of the body after the JSON, from which tensors are taken in order.
class Tail {
 public:
  Tail(std::string_view bytes, std::shared_ptr<const void> owner) : bytes_(bytes), owner_(std::move(owner)) {}
  std::string_view take(std::uint64_t size, const std::string& what) {
    if (size > bytes_.size()) refuse(what + ": the body ends before its binary data do");
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  bool empty() const { return bytes_.empty(); }
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  std::string_view bytes_;
  std::shared_ptr<const void> owner_;
};

api::Sizes shape_of(dom::object input, const std::string& what) {
  const auto given = maybe(input, "shape");
  if (!given) refuse(what + ": \"shape\" is missing");
  api::Sizes sizes;
  const std::string name = what + ": \"shape\"";
  for (const dom::element extent : get<dom::array>(*given, name, "an array of integers")) {
    if (sizes.size() == kMaxAxes) refuse(name + " has more than " + std::to_string(kMaxAxes) + " axes");
    sizes.push_back(get<std::int64_t>(extent, item_of(name, sizes.size()), "an integer"));
  }
  return sizes;
}

Dtype dtype_of(dom::object input, const std::string& what) {
  const std::string datatype = text_at(input, "datatype", what);
  const auto dtype = dtype_from(datatype);
  if (!dtype) refuse(what + ": there is no datatype '" + datatype + "'");
  return *dtype;
}

/// Returns the place of a tensor in shared memory; nullopt if its parameters name none.
std::optional<SharedPlace> shared_place_of(const std::optional<dom::object>& parameters, const std::string& what) {
  const auto region = parameters ? maybe(*parameters, "shared_memory_region") : std::nullopt;
  if (!region) return std::nullopt;
  const auto number = [&](const char* key) {
    const auto given = maybe(*parameters, key);
    return given ? std::optional(get<std::uint64_t>(*given, what + ": " + key, "a number of bytes")) : std::nullopt;
  };
  const auto bytes = number("shared_memory_byte_size");
  if (!bytes) refuse(what + ": parameter shared_memory_byte_size is missing");
  return SharedPlace{.region = std::string(get<std::string_view>(*region, what + ": shared_memory_region", "a string")),
                     .offset = number("shared_memory_offset").value_or(0),
                     .bytes = *bytes};
}

/// Returns an input in shared memory; nullopt if it is in the body.
std::optional<SharedInput> read_shared(dom::object input, const std::string& name, const std::string& what) {
  auto place = shared_place_of(parameters_of(input, what), what);
  if (!place) return std::nullopt;
  if (maybe(input, "data") || maybe(*parameters_of(input, what), "binary_data_size")) {
    refuse(what + ": give either shared_memory_region or the data");
  }
  return SharedInput{
      .name = name, .dtype = dtype_of(input, what), .sizes = shape_of(input, what), .place = std::move(*place)};
}

Array read_tensor(JsonObject& json, dom::object input, const std::string& what, std::uint64_t body_bytes, Tail& tail) {
  const Dtype dtype = dtype_of(input, what);
  api::Sizes sizes = shape_of(input, what);
  const std::uint64_t count = elements_of(sizes, body_bytes, what);
  const auto parameters = parameters_of(input, what);
  const auto size = parameters ? maybe(*parameters, "binary_data_size") : std::nullopt;
  const auto data = maybe(input, "data");
  if (size.has_value() == data.has_value()) refuse(what + ": give either \"data\" or the parameter binary_data_size");
  if (data) {
    if (const std::uint64_t given = json.count_of(*data); given != count) {
      refuse(what + ": its shape has " + std::to_string(count) + " elements, \"data\" has " + std::to_string(given));
    }
    Array array(dtype, std::move(sizes));
    json.fill(array, *data, what);
    return array;
  }
  const std::string_view bytes = tail.take(get<std::uint64_t>(*size, what + ": binary_data_size", "a size"), what);
  return tensor_from(dtype, std::move(sizes), count, bytes, what, tail.owner());
}

// ---- request ----

/// Reads a number or a string. Returns "" for 0 and "".
std::string sequence_id_of(dom::element value, const std::string& what) {
  std::uint64_t number = 0;
  if (value.get(number) == simdjson::SUCCESS) return number == 0 ? "" : std::to_string(number);
  return std::string(get<std::string_view>(value, what, "a number or a string"));
}

void read_request_parameter(std::string_view key, dom::element value, InferRequest& request) {
  const std::string what = "parameter " + std::string(key);
  if (key == "binary_data_output") {
    request.binary_outputs = get<bool>(value, what, "true or false");
  } else if (key == "timeout") {
    request.timeout_us = get<std::uint64_t>(value, what, "microseconds");
  } else if (key == "priority") {
    request.priority = get<std::uint64_t>(value, what, "a number that is not negative");
  } else if (key == "sequence_id") {
    request.sequence.id = sequence_id_of(value, what);
  } else if (key == "sequence_parent") {
    request.sequence.parent = sequence_id_of(value, what);
  } else if (key == "sequence_start") {
    request.sequence.start = get<bool>(value, what, "true or false");
  } else if (key == "sequence_end") {
    request.sequence.end = get<bool>(value, what, "true or false");
  } else {
    request.parameters.emplace(key, parameter_of(value, what));
  }
}

void read_request_parameters(dom::object root, InferRequest& request) {
  const auto parameters = parameters_of(root, "request");
  if (!parameters) return;
  for (const auto& [key, value] : *parameters) read_request_parameter(key, value, request);
}

void read_outputs(dom::object root, InferRequest& request) {
  const auto outputs = maybe(root, "outputs");
  if (!outputs) return;
  for (const dom::element element : get<dom::array>(*outputs, "\"outputs\"", "an array")) {
    const std::string item = item_of("\"outputs\"", request.outputs.size());
    const auto output = get<dom::object>(element, item, "an object");
    WantedOutput wanted{.name = text_at(output, "name", item), .binary = std::nullopt};
    const std::string what = "output '" + wanted.name + "'";
    if (const auto parameters = parameters_of(output, what)) {
      wanted.shared = shared_place_of(parameters, what);
      if (const auto classes = maybe(*parameters, "classification")) {
        wanted.classes = get<std::uint64_t>(*classes, what + ": classification", "a number of classes");
      }
      if (const auto binary = maybe(*parameters, "binary_data")) {
        wanted.binary = get<bool>(*binary, what + ": binary_data", "true or false");
      }
    }
    request.outputs.push_back(std::move(wanted));
  }
}

std::size_t json_size_of(const Message& message) {
  if (!message.json_size) return message.body.size();
  std::size_t size = 0;
  const char *const begin = message.json_size->data(), *const end = begin + message.json_size->size();
  const auto parsed = std::from_chars(begin, end, size);
  if (parsed.ec != std::errc() || parsed.ptr != end || size == 0 || size > message.body.size()) {
    refuse("header Inference-Header-Content-Length: expected 1 to " + std::to_string(message.body.size()));
  }
  return size;
}

/// Reads a request whose body has binary data in `tail`.
InferRequest read_request(JsonObject& json, std::uint64_t body_bytes, Tail tail) {
  const dom::object root = json.root();
  InferRequest request;
  if (const auto id = maybe(root, "id")) request.id = get<std::string_view>(*id, "\"id\"", "a string");
  read_request_parameters(root, request);
  read_outputs(root, request);
  const auto inputs = maybe(root, "inputs");
  if (!inputs) refuse("\"inputs\" is missing");
  for (const dom::element element : get<dom::array>(*inputs, "\"inputs\"", "an array")) {
    const std::string item = item_of("\"inputs\"", request.inputs.size() + request.shared_inputs.size());
    const auto input = get<dom::object>(element, item, "an object");
    std::string name = text_at(input, "name", item);
    const std::string what = "input '" + name + "'";
    if (auto shared = read_shared(input, name, what)) {
      request.shared_inputs.push_back(std::move(*shared));
      continue;
    }
    Array array = read_tensor(json, input, what, body_bytes, tail);
    request.inputs.emplace_back(std::move(name), std::move(array));
  }
  if (!tail.empty()) refuse("the body has bytes behind the last binary tensor");
  return request;
}

}  // namespace

InferRequest read_infer(const Message& message) {
  const std::size_t json_size = json_size_of(message);
  return read_json(message.body.substr(0, json_size), [&](JsonObject& json) {
    return read_request(json, message.body.size(), Tail(message.body.substr(json_size), message.body_owner));
  });
}

std::optional<Clock::duration> timeout_in(const Message& message, std::size_t most) try {
  const std::size_t size = json_size_of(message);
  if (size > most) return std::nullopt;
  const JsonObject json(message.body.substr(0, size));
  const auto parameters = parameters_of(json.root(), "request");
  const auto timeout = parameters ? maybe(*parameters, "timeout") : std::nullopt;
  if (!timeout) return std::nullopt;
  const auto microseconds = get<std::uint64_t>(*timeout, "parameter timeout", "microseconds");
  constexpr std::uint64_t kMax = 1'000'000'000'000;
  if (microseconds == 0 || microseconds > kMax) return std::nullopt;
  return std::chrono::microseconds(microseconds);
} catch (const Refusal&) {
  return std::nullopt;  // reported when the request is read
}

// ---- response ----

namespace {

void write_place(JsonText& json, const SharedPlace& place) {
  json.key("parameters");
  json.begin_object();
  json.member("shared_memory_region", place.region);
  if (place.offset != 0) json.member("shared_memory_offset", place.offset);
  json.member("shared_memory_byte_size", place.bytes);
  json.end_object();
}

/// `place`: of an output in shared memory; otherwise null. `tail`: receives binary data; null: the data is JSON.
void write_output(JsonText& json, std::string* tail, const NamedArray& named, const SharedPlace* place = nullptr) {
  const auto& [name, array] = named;
  const std::string what = "output '" + name + "'";
  if (!array.is_tensor()) refuse(what + " is not a tensor, and the protocol has no form for it");
  const std::string_view datatype = datatype_of(array.dtype());
  if (datatype.empty()) {
    refuse(what + ": the protocol has no datatype for " + std::string(api::name_of(array.dtype())));
  }
  json.begin_object();
  json.member("name", name);
  json.member("datatype", datatype);
  json.key("shape");
  json.array(array.sizes());
  if (place != nullptr) {
    write_place(json, *place);
  } else if (tail != nullptr) {
    const std::size_t before = tail->size();
    append_bytes(*tail, array);
    json.key("parameters");
    json.begin_object();
    json.member("binary_data_size", tail->size() - before);
    json.end_object();
  } else {
    json.key("data");
    json.begin_array();
    write_elements(json, array, what);
    json.end_array();
  }
  json.end_object();
}

}  // namespace

void write_tensors(JsonText& json, const std::vector<NamedArray>& tensors) {
  json.array(tensors, [&](const NamedArray& named) { write_output(json, nullptr, named); });
}

void write_arms(JsonText& json, const InferResponse& response) {
  for (const auto& [split, arm] : response.arms) json.member(kArmParameter + split, arm);
}

BinaryOutputs::BinaryOutputs(const InferRequest& request) : all_(request.binary_outputs) {
  for (const WantedOutput& wanted : request.outputs) chosen_.push_back(wanted.binary.value_or(all_));
}

Reply write_infer(const InferResponse& response, const BinaryOutputs& binary) {
  JsonText json;
  std::string tail;
  json.begin_object();
  json.member("model_name", response.model);
  json.member("model_version", response.version);
  if (!response.id.empty()) json.member("id", response.id);
  if (!response.arms.empty()) {
    json.key("parameters");
    json.begin_object();
    write_arms(json, response);
    json.end_object();
  }
  json.key("outputs");
  json.begin_array();
  bool any_binary = false;
  for (std::size_t i = 0; i < response.outputs.size(); ++i) {
    const auto place = response.shared.find(response.outputs[i].first);
    const bool is_shared = place != response.shared.end();
    write_output(json, binary.at(i) ? &tail : nullptr, response.outputs[i], is_shared ? &place->second : nullptr);
    any_binary |= binary.at(i) && !is_shared;
  }
  json.end_array();
  json.end_object();
  Reply reply{.body = json.take()};
  if (any_binary) {
    reply.type = "application/octet-stream";
    reply.headers.emplace_back("Inference-Header-Content-Length", std::to_string(reply.body.size()));
    reply.body += tail;
  }
  return reply;
}

}  // namespace frazil::server
