#include "server/grpc/grpc_message.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

#include <protozero/pbf_writer.hpp>
#include <protozero/varint.hpp>

#include "server/core/datatype.h"
#include "server/grpc/grpc_fields.h"
#include "server/grpc/grpc_tensor.h"
#include "server/request/tensor_bytes.h"

namespace frazil::server::proto {
namespace {

using api::Array;
using api::Dtype;
using protozero::pbf_wire_type;
using protozero::pbf_writer;

// Limits the memory of decoded items, which is larger than their bytes in the message.
constexpr std::size_t kMaxTensors = 4096;
constexpr std::size_t kMaxParameters = 1024;

// ---- parameters ----

/// Returns the sequence id of a parameter; "" for 0 and "", which mean no sequence.
std::string sequence_of(std::string_view key, const Given& given) {
  if (const auto* text = std::get_if<std::string>(&given)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&given)) return *number == 0 ? "" : std::to_string(*number);
  if (const auto* number = std::get_if<std::uint64_t>(&given)) return *number == 0 ? "" : std::to_string(*number);
  refuse_parameter(key, "an integer or a string");
}

Parameter parameter_of(std::string_view key, Given given) {
  return std::visit(
      [&]<class T>(T&& value) -> Parameter {
        using Value = std::remove_cvref_t<T>;
        if constexpr (std::is_same_v<Value, std::monostate>) {
          refuse_parameter(key, "a value");
        } else if constexpr (std::is_same_v<Value, std::uint64_t>) {
          if (!std::in_range<std::int64_t>(value)) refuse_parameter(key, "an integer of 64 bits with a sign");
          return static_cast<std::int64_t>(value);
        } else {
          return std::forward<T>(value);
        }
      },
      std::move(given));
}

void set_parameter(InferRequest& request, std::string_view key, Given given) {
  if (key == "sequence_id") {
    request.sequence.id = sequence_of(key, given);
  } else if (key == "sequence_parent") {
    request.sequence.parent = sequence_of(key, given);
  } else if (key == "sequence_start") {
    request.sequence.start = truth_of(key, given);
  } else if (key == "sequence_end") {
    request.sequence.end = truth_of(key, given);
  } else if (key == "priority") {
    request.priority = unsigned_of(key, given);
  } else if (key == "timeout") {
    request.timeout_us = unsigned_of(key, given);
  } else {
    expect_room(request.parameters, kMaxParameters, "parameters");
    request.parameters.insert_or_assign(std::string(key), parameter_of(key, std::move(given)));
  }
}

/// Reads a parameter of a tensor if it is about shared memory.
void read_place(std::string_view key, std::string_view value, std::optional<SharedPlace>& place) {
  if (!key.starts_with("shared_memory_")) return;
  if (!place) place.emplace();
  if (key == "shared_memory_offset") place->offset = unsigned_of(key, read_value(value));
  if (key == "shared_memory_byte_size") place->bytes = unsigned_of(key, read_value(value));
  if (key != "shared_memory_region") return;
  const Given given = read_value(value);
  const auto* const name = std::get_if<std::string>(&given);
  if (name == nullptr || name->empty()) refuse_parameter(key, "the name of a region");
  place->region = *name;
}

/// Refuses the parameters of a place without its region or its size.
void check_place(const std::optional<SharedPlace>& place, const std::string& what) {
  if (place && (place->region.empty() || place->bytes == 0)) {
    refuse(what + ": shared memory needs parameters shared_memory_region and shared_memory_byte_size");
  }
}

// ---- typed contents ----

/// The field of InferTensorContents for a datatype.
struct ContentsField {
  Tag tag;
  const char* name;
};

ContentsField contents_field(Dtype dtype, const std::string& what) {
  switch (dtype) {
    case Dtype::boolean: return {1, "bool_contents"};
    case Dtype::i8:
    case Dtype::i16:
    case Dtype::i32: return {2, "int_contents"};
    case Dtype::i64: return {3, "int64_contents"};
    case Dtype::u8:
    case Dtype::u16:
    case Dtype::u32: return {4, "uint_contents"};
    case Dtype::u64: return {5, "uint64_contents"};
    case Dtype::f32: return {6, "fp32_contents"};
    case Dtype::f64: return {7, "fp64_contents"};
    case Dtype::string: return {8, "bytes_contents"};
    default: break;
  }
  refuse(what + ": " + std::string(datatype_of(dtype)) + " has no typed contents; send it in raw_input_contents");
}

/// The elements of one tensor in InferTensorContents, which may have several parts.
class Contents {
 public:
  using Parts = std::vector<std::string_view>;
  Contents(Dtype dtype, const Parts& parts, const std::string& what)
      : dtype_(dtype), field_(contents_field(dtype, what)), parts_(parts), what_(what) {}

  Array tensor(api::Sizes sizes, std::uint64_t count) {
    std::uint64_t given = 0;
    with_type([&]<class T>(const T&) { each<T>([&](const auto&) { ++given; }); });
    if (given != count) {
      refuse(what_ + ": its shape has " + std::to_string(count) + " elements, " + field_.name + " has " +
             std::to_string(given));
    }
    Array array(dtype_, std::move(sizes));
    with_type([&]<class T>(const T&) {
      T* to = array.mutable_values<T>().data();
      each<T>([&](const auto& value) { *to++ = element<T>(value); });
    });
    return array;
  }

 private:
  template <class F>
  void with_type(F f) const {
    switch (dtype_) {
      case Dtype::boolean: return f(bool());
      case Dtype::i8: return f(std::int8_t());
      case Dtype::i16: return f(std::int16_t());
      case Dtype::i32: return f(std::int32_t());
      case Dtype::i64: return f(std::int64_t());
      case Dtype::u8: return f(std::uint8_t());
      case Dtype::u16: return f(std::uint16_t());
      case Dtype::u32: return f(std::uint32_t());
      case Dtype::u64: return f(std::uint64_t());
      case Dtype::f32: return f(float());
      case Dtype::f64: return f(double());
      default: return f(std::string());
    }
  }

  /// Calls `item` for each element in its wire type: std::uint64_t, float, double or std::string_view.
  template <class T, class F>
  void each(F item) const {
    constexpr Tag kLast = 8;
    for (const std::string_view part : parts_) {
      Fields fields(part, "InferTensorContents");
      while (fields.next()) {
        const Tag tag = fields.tag();
        if (tag <= kLast && tag != field_.tag) {
          refuse(what_ + ": elements of " + std::string(datatype_of(dtype_)) + " are expected in " + field_.name);
        }
        if (tag != field_.tag) {
          fields.skip();
        } else if constexpr (std::is_floating_point_v<T>) {
          fields.each_fixed<T>(field_.name, item);
        } else if constexpr (std::is_same_v<T, std::string>) {
          item(fields.bytes(field_.name));
        } else {
          fields.each_varint(field_.name, item);
        }
      }
    }
  }

  template <class T, class Wire>
  T element(const Wire& wire) const {
    if constexpr (std::is_same_v<T, bool>) {
      return wire != 0;
    } else if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(std::uint64_t)) {
      // Keeps the low bits, as protobuf does for 32-bit fields.
      const auto low = static_cast<std::uint32_t>(wire);
      const std::int64_t value = std::is_signed_v<T> ? static_cast<std::int32_t>(low) : std::int64_t{low};
      if (std::in_range<T>(value)) return static_cast<T>(value);
      refuse(what_ + ": " + std::to_string(value) + " is outside of " + std::string(datatype_of(dtype_)));
    } else {
      return static_cast<T>(wire);
    }
  }

  Dtype dtype_;
  ContentsField field_;
  const Parts& parts_;
  const std::string& what_;
};

// ---- ModelInferRequest ----

struct InputDraft {
  std::string_view name, datatype;
  api::Sizes sizes;
  Contents::Parts contents;
  std::optional<SharedPlace> place;  ///< in shared memory; nullopt: in the message
};

InputDraft read_input(std::string_view bytes) {
  Fields fields(bytes, "ModelInferRequest.inputs");
  InputDraft input;
  while (fields.next()) {
    switch (fields.tag()) {
      case 1: input.name = fields.text("name"); break;
      case 2: input.datatype = fields.text("datatype"); break;
      case 3:
        fields.each_varint("shape", [&](std::uint64_t extent) {
          expect_room(input.sizes, kMaxAxes, "ModelInferRequest.inputs: axes of \"shape\"");
          input.sizes.push_back(static_cast<std::int64_t>(extent));
        });
        break;
      case 4: {
        const auto [key, value] = read_entry(fields.bytes("parameters"), "parameters");
        read_place(key, value, input.place);
        break;
      }
      case 5:
        expect_room(input.contents, kMaxTensors, "ModelInferRequest.inputs: parts of \"contents\"");
        input.contents.push_back(fields.bytes("contents"));
        break;
      default: fields.skip();
    }
  }
  check_place(input.place, "input '" + std::string(input.name) + "'");
  return input;
}

WantedOutput read_output(std::string_view bytes) {
  Fields fields(bytes, "ModelInferRequest.outputs");
  WantedOutput output;
  while (fields.next()) {
    switch (fields.tag()) {
      case 1: output.name = fields.text("name"); break;
      case 2: {
        const auto [key, value] = read_entry(fields.bytes("parameters"), "parameters");
        read_place(key, value, output.shared);
        if (key == "classification") output.classes = unsigned_of(key, read_value(value));
        break;
      }
      default: fields.skip();
    }
  }
  check_place(output.shared, "output '" + output.name + "'");
  return output;
}

/// A ModelInferRequest before its tensors are read.
struct InferDraft {
  InferMessage message;
  std::vector<InputDraft> inputs;
  std::vector<std::string_view> raw;
};

InferDraft read_draft(std::string_view bytes) {
  Fields fields(bytes, "ModelInferRequest");
  InferDraft draft;
  InferRequest& request = draft.message.request;
  while (fields.next()) {
    switch (fields.tag()) {
      case 1: draft.message.model.name = fields.text("model_name"); break;
      case 2: draft.message.model.version = fields.text("model_version"); break;
      case 3: request.id = fields.text("id"); break;
      case 4: {
        const auto [key, value] = read_entry(fields.bytes("parameters"), "ModelInferRequest.parameters");
        set_parameter(request, key, read_value(value));
        break;
      }
      case 5:
        expect_room(draft.inputs, kMaxTensors, "ModelInferRequest.inputs");
        draft.inputs.push_back(read_input(fields.bytes("inputs")));
        break;
      case 6:
        expect_room(request.outputs, kMaxTensors, "ModelInferRequest.outputs");
        request.outputs.push_back(read_output(fields.bytes("outputs")));
        break;
      case 7:
        expect_room(draft.raw, kMaxTensors, "ModelInferRequest.raw_input_contents");
        draft.raw.push_back(fields.bytes("raw_input_contents"));
        break;
      default: fields.skip();
    }
  }
  return draft;
}

void check_raw(const InferDraft& draft) {
  if (draft.raw.empty()) return;
  const auto count = static_cast<std::size_t>(
      std::ranges::count(draft.inputs, false, [](const InputDraft& input) { return input.place.has_value(); }));
  if (draft.raw.size() != count) {
    refuse("raw_input_contents: expected one for each of the " + std::to_string(count) + " inputs, got " +
           std::to_string(draft.raw.size()));
  }
  for (const InputDraft& input : draft.inputs) {
    if (!input.contents.empty()) {
      refuse("input '" + std::string(input.name) + "': give either \"contents\" or raw_input_contents");
    }
  }
}

}  // namespace

InferMessage read_infer(std::string_view bytes, const std::shared_ptr<const void>& keep_alive) {
  InferDraft draft = read_draft(bytes);
  check_raw(draft);
  auto& inputs = draft.message.request.inputs;
  inputs.reserve(draft.inputs.size());
  std::size_t raw = 0;
  for (InputDraft& input : draft.inputs) {
    const std::string what = "input '" + std::string(input.name) + "'";
    const auto dtype = dtype_from(input.datatype);
    if (!dtype) refuse(what + ": there is no datatype '" + std::string(input.datatype) + "'");
    if (input.place) {
      if (!input.contents.empty()) refuse(what + ": give either \"contents\" or shared_memory_region");
      draft.message.request.shared_inputs.push_back({.name = std::string(input.name),
                                                     .dtype = *dtype,
                                                     .sizes = std::move(input.sizes),
                                                     .place = std::move(*input.place)});
      continue;
    }
    const std::uint64_t count = elements_of(input.sizes, bytes.size(), what);
    Array array = draft.raw.empty()
                      ? Contents(*dtype, input.contents, what).tensor(std::move(input.sizes), count)
                      : tensor_from(*dtype, std::move(input.sizes), count, draft.raw[raw++], what, keep_alive);
    inputs.emplace_back(input.name, std::move(array));
  }
  return std::move(draft.message);
}

std::string id_of_infer(std::string_view bytes) try {
  Fields fields(bytes, "ModelInferRequest");
  while (fields.next()) {
    if (fields.tag() == 3) return std::string(fields.text("id"));
    fields.skip();
  }
  return {};
} catch (const Refusal&) {
  return {};
}

// ---- other requests ----

namespace {

/// Reads the first two fields, which all kinds of requests share.
ModelName read_model_name(Fields fields, const char* name, const char* version) {
  ModelName model;
  while (fields.next()) {
    switch (fields.tag()) {
      case 1: model.name = fields.text(name); break;
      case 2: model.version = fields.text(version); break;
      default: fields.skip();
    }
  }
  return model;
}

}  // namespace

ModelName read_model_name(std::string_view bytes) {
  return read_model_name(Fields(bytes, "the request"), "name", "version");
}

ModelName model_of_infer(std::string_view bytes) {
  return read_model_name(Fields(bytes, "ModelInferRequest"), "model_name", "model_version");
}

RepositoryRequest read_repository_index(std::string_view bytes) {
  Fields fields(bytes, "RepositoryIndexRequest");
  RepositoryRequest request;
  while (fields.next()) {
    switch (fields.tag()) {
      case 1: request.repository = fields.text("repository_name"); break;
      case 2: request.ready = fields.truth("ready"); break;
      default: fields.skip();
    }
  }
  return request;
}

RepositoryRequest read_repository_model(std::string_view bytes) {
  Fields fields(bytes, "the request");
  RepositoryRequest request;
  while (fields.next()) {
    switch (fields.tag()) {
      case 1: request.repository = fields.text("repository_name"); break;
      case 2: request.model = fields.text("model_name"); break;
      case 3: {
        expect_room(request.parameters, kMaxParameters, "parameters");
        const auto [key, value] = read_entry(fields.bytes("parameters"), "parameters");
        if (key == "unload_dependents") request.unload_dependents = truth_of(key, read_value(value));
        request.parameters.emplace_back(key);
        break;
      }
      default: fields.skip();
    }
  }
  return request;
}

std::string read_health_check(std::string_view bytes) {
  Fields fields(bytes, "HealthCheckRequest");
  std::string service;
  while (fields.next()) {
    switch (fields.tag()) {
      case 1: service = fields.text("service"); break;
      default: fields.skip();
    }
  }
  return service;
}

// ---- responses ----

namespace {

void expect_datatype(const std::string& name, const Array& array) {
  const std::string what = "output '" + name + "'";
  if (!array.is_tensor()) refuse(what + " is not a tensor, and the protocol has no form for it");
  if (datatype_of(array.dtype()).empty()) {
    refuse(what + ": the protocol has no datatype for " + std::string(api::name_of(array.dtype())));
  }
}

/// Adds an entry to the map of parameters of a response or an output; `write` writes its value.
template <class F>
void add_parameter(pbf_writer& to, std::string_view key, F write) {
  pbf_writer entry(to, 4);
  entry.add_string(1, key.data(), key.size());
  write(pbf_writer(entry, 2));
}

void add_text(pbf_writer& to, std::string_view key, const std::string& text) {
  add_parameter(to, key, [&](pbf_writer value) { value.add_string(3, text); });
}

/// Writes the map of parameters of an output in shared memory.
void add_place(pbf_writer& to, const SharedPlace& place) {
  const auto add_number = [&](std::string_view key, std::uint64_t number) {
    add_parameter(to, key, [&](pbf_writer value) { value.add_int64(2, static_cast<std::int64_t>(number)); });
  };
  add_text(to, "shared_memory_region", place.region);
  if (place.offset != 0) add_number("shared_memory_offset", place.offset);
  add_number("shared_memory_byte_size", place.bytes);
}

/// Returns a ModelInferResponse up to its raw_output_contents. `last`: the final-response flag in a stream.
std::string head_of(const InferResponse& response, std::optional<bool> last) {
  std::string head;
  pbf_writer to(head);
  to.add_string(1, response.model);
  to.add_string(2, response.version);
  if (!response.id.empty()) to.add_string(3, response.id);
  if (last) add_parameter(to, "triton_final_response", [&](pbf_writer value) { value.add_bool(1, *last); });
  for (const auto& [split, arm] : response.arms) add_text(to, kArmParameter + split, arm);
  for (const auto& [name, array] : response.outputs) {
    expect_datatype(name, array);
    const auto place = response.shared.find(name);
    add_tensor(to, 5, name, datatype_of(array.dtype()), array.sizes(), [&](pbf_writer& tensor) {
      if (place != response.shared.end()) add_place(tensor, place->second);
    });
  }
  return head;
}

constexpr std::size_t kKeyAndLength = 1 + protozero::max_varint_length;

void append_key(std::string& to, Tag tag, std::uint64_t size) {
  protozero::add_varint_to_buffer(&to, tag << 3U | static_cast<unsigned>(pbf_wire_type::length_delimited));
  protozero::add_varint_to_buffer(&to, size);
}

/// Returns a ModelInferResponse, as field `inside` of another message unless that is 0. The size is computed first, so
/// that each tensor is copied only once.
std::string response_of(const InferResponse& response, Tag inside, std::optional<bool> last) {
  const std::string head = head_of(response, last);
  std::vector<std::uint64_t> sizes;
  std::size_t size = head.size();
  for (const auto& [name, array] : response.outputs) {
    sizes.push_back(response.shared.contains(name) ? 0 : binary_size(array));  // each output has an entry
    size += 1 + static_cast<std::size_t>(protozero::length_of_varint(sizes.back())) + sizes.back();
  }
  std::string to;
  to.reserve(kKeyAndLength + size);
  if (inside != 0) append_key(to, inside, size);
  to += head;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    append_key(to, 6, sizes[i]);
    if (sizes[i] > 0) append_bytes(to, response.outputs[i].second);
  }
  return to;
}

}  // namespace

std::string write_infer(const InferResponse& response) { return response_of(response, 0, std::nullopt); }

std::string write_stream_part(const InferResponse& response) { return response_of(response, 2, false); }

std::string write_stream_result(const InferResponse& response) { return response_of(response, 2, true); }

std::string write_stream_error(std::string_view text, std::string_view id) {
  std::string bytes;
  pbf_writer to(bytes);
  to.add_string(1, text.data(), text.size());
  pbf_writer response(to, 2);
  if (!id.empty()) response.add_string(3, id.data(), id.size());
  return bytes;
}

std::string write_bool(bool truth) {
  std::string bytes;
  pbf_writer(bytes).add_bool(1, truth);
  return bytes;
}

}  // namespace frazil::server::proto
