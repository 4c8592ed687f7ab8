#include "server/replay/payload.h"

#include <type_traits>

#include "server/core/digest.h"
#include "server/request/tensor_bytes.h"
#include "server/state/state_bytes.h"

namespace frazil::server {
namespace {

using api::Array;

constexpr std::string_view kMagic = "FZRP";
constexpr std::uint32_t kVersion = 1;

/// Writes the structure of a payload, and collects its arrays.
class PayloadWriter {
 public:
  void text(std::string_view text) { to_.text(text); }
  void arrays(const std::vector<NamedArray>& list) {
    to_.count(list.size());
    arrays_.insert(arrays_.end(), list.begin(), list.end());
  }
  void parameter(const Parameter& parameter) {
    to_.number(static_cast<std::uint8_t>(parameter.index()));
    std::visit(
        [&]<class T>(const T& value) {
          if constexpr (std::is_same_v<T, std::string>) {
            to_.text(value);
          } else if constexpr (std::is_same_v<T, bool>) {
            to_.number(std::uint8_t{value});
          } else {
            to_.number(value);
          }
        },
        parameter);
  }
  void happening(const Happening& h) {
    text(h.node);
    text(h.kind);
    text(h.taken);
    to_.number(static_cast<std::uint32_t>(h.failure ? h.failure->first : Http::ok));
    if (h.failure) text(h.failure->second);
    arrays(h.values);
    if (h.kind == "run") shape(h.shape);
  }
  void output(const RecordedOutput& output) {
    text(output.name);
    text(output.digest);
    if (output.digest.empty()) arrays_.emplace_back(output.name, output.value);
  }
  std::string take() && {
    ByteWriter whole;
    const std::string tensors = bytes_of_state(arrays_, 0);
    whole.reserve(tensors.size() + to_.bytes().size() + 32);
    whole.raw(kMagic);
    whole.number(kVersion);
    whole.number(std::uint64_t{to_.bytes().size()});
    whole.raw(to_.bytes());
    whole.raw(tensors);
    return std::move(whole.bytes());
  }
  ByteWriter& to() { return to_; }

 private:
  void shape(const RunShape& shape) {
    to_.number(static_cast<std::uint8_t>(shape.way));
    to_.number(shape.row);
    to_.number(shape.seed);
    to_.number(shape.results);
    to_.count(shape.members.size());
    for (const RunShape::Extent& extent : shape.members) {
      to_.number(extent.count);
      to_.number(extent.length);
    }
  }

  ByteWriter to_;
  std::vector<NamedArray> arrays_;
};

class PayloadParser {
 public:
  PayloadParser(std::string_view structure, std::vector<NamedArray> arrays)
      : from_(structure), arrays_(std::move(arrays)) {}

  std::string text() { return std::string(from_.text()); }
  std::size_t count(std::size_t least) { return from_.count(least); }
  template <class T>
  T number() {
    return from_.number<T>();
  }
  std::vector<NamedArray> arrays() {
    std::vector<NamedArray> list;
    for (auto left = from_.number<std::uint32_t>(); left > 0; --left) list.push_back(array());
    return list;
  }
  NamedArray array() {
    if (next_ == arrays_.size()) throw StateFault("a payload refers to arrays that it does not have");
    return std::move(arrays_[next_++]);
  }
  Http status() { return static_cast<Http>(number<std::uint32_t>()); }
  Parameter parameter() {
    switch (number<std::uint8_t>()) {
      case 0: return number<std::uint8_t>() != 0;
      case 1: return number<std::int64_t>();
      case 2: return number<double>();
      case 3: return text();
      default: throw StateFault("a payload has a parameter of an unknown type");
    }
  }
  Happening happening() {
    Happening h{.node = text(), .kind = text(), .taken = text()};
    const Http failed = status();
    if (failed != Http::ok) h.failure.emplace(failed, text());
    h.values = arrays();
    if (h.kind == "run") h.shape = shape();
    return h;
  }
  RecordedOutput output() {
    RecordedOutput output{.name = text(), .value = {}, .digest = text()};
    if (output.digest.empty()) output.value = array().second;
    return output;
  }
  void finish() const {
    if (from_.left() != 0 || next_ != arrays_.size()) throw StateFault("a payload has bytes after its end");
  }

 private:
  RunShape shape() {
    RunShape shape;
    const auto way = number<std::uint8_t>();
    if (way > static_cast<std::uint8_t>(RunShape::Way::regrouped)) throw StateFault("a payload has an unknown way");
    shape.way = static_cast<RunShape::Way>(way);
    shape.row = number<std::uint64_t>();
    shape.seed = number<std::uint64_t>();
    shape.results = number<std::uint64_t>();
    for (std::size_t left = count(2 * sizeof(std::int64_t)); left > 0; --left) {
      const auto extent = number<std::int64_t>();
      shape.members.push_back({.count = extent, .length = number<std::int64_t>()});
    }
    if (!shape.members.empty() && shape.row >= shape.members.size()) throw StateFault("a payload has a row too many");
    return shape;
  }

  ByteReader from_;
  std::vector<NamedArray> arrays_;
  std::size_t next_ = 0;
};

}  // namespace

std::string digest_of_array(const Array& array) {
  std::string bytes = array.is_tensor() ? std::string(api::name_of(array.dtype())) : "";
  if (array.is_tensor()) {
    for (const std::int64_t extent : array.sizes()) bytes += ' ' + std::to_string(extent);
    bytes += '\n';
    append_bytes(bytes, array);
  } else {
    bytes = bytes_of_state({{"", array}}, 0);
  }
  return "sha256:" + sha256(bytes);
}

RecordedOutput recorded_output(const NamedArray& output) {
  const auto& [name, value] = output;
  if (value.is_tensor() && value.bytes() > RecordedOutput::kMaxBytes) return {name, {}, digest_of_array(value)};
  return {name, value, {}};
}

std::string bytes_of_payload(const Payload& payload) {
  PayloadWriter writer;
  writer.text(payload.manifest);
  writer.to().number(static_cast<std::uint32_t>(payload.status));
  writer.text(payload.error);
  writer.to().count(payload.parameters.size());
  for (const auto& [name, value] : payload.parameters) {
    writer.text(name);
    writer.parameter(value);
  }
  writer.to().count(payload.wanted.size());
  for (const WantedOutput& wanted : payload.wanted) {
    writer.text(wanted.name);
    writer.to().number(wanted.classes);
  }
  writer.arrays(payload.inputs);
  writer.to().count(payload.happenings.size());
  for (const Happening& happening : payload.happenings) writer.happening(happening);
  writer.to().count(payload.outputs.size());
  for (const RecordedOutput& output : payload.outputs) writer.output(output);
  return std::move(writer).take();
}

Payload payload_of(std::string_view bytes) {
  ByteReader head(bytes);
  if (head.raw(kMagic.size()) != kMagic) throw StateFault("these bytes are not a payload");
  if (const auto version = head.number<std::uint32_t>(); version != kVersion) {
    throw StateFault("a payload of version " + std::to_string(version) + "; this build reads version " +
                     std::to_string(kVersion));
  }
  const auto size = head.number<std::uint64_t>();
  if (size > head.left()) throw StateFault("a payload that is cut off");
  const std::string_view structure = head.raw(size);
  const auto tensors = std::make_shared<const std::string>(head.raw(head.left()));
  check_state(*tensors);
  PayloadParser parser(structure, content_of_state(tensors).values);
  constexpr std::size_t kLeastText = 4;
  Payload payload;
  payload.manifest = parser.text();
  payload.status = parser.status();
  payload.error = parser.text();
  for (std::size_t left = parser.count(kLeastText + 1); left > 0; --left) {
    std::string name = parser.text();
    payload.parameters.insert_or_assign(std::move(name), parser.parameter());
  }
  for (std::size_t left = parser.count(kLeastText); left > 0; --left) {
    payload.wanted.push_back({.name = parser.text()});
    payload.wanted.back().classes = parser.number<std::uint64_t>();
  }
  payload.inputs = parser.arrays();
  for (std::size_t left = parser.count(3 * kLeastText); left > 0; --left) {
    payload.happenings.push_back(parser.happening());
  }
  for (std::size_t left = parser.count(2 * kLeastText); left > 0; --left) payload.outputs.push_back(parser.output());
  parser.finish();
  return payload;
}

}  // namespace frazil::server
