#include "tool/spec.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/os/io.h"
#include "base/value/hash.h"
#include "onnx/import/import.h"
#include "tensor/npy.h"
#include "tensor/onnx_proto.h"
#include "tool/fill.h"

namespace frazil::tool {
namespace {

bool parse_int(std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

Result<Sizes> parse_sizes(std::string_view text) {
  Sizes sizes;
  if (text == "scalar") return sizes;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('x', at), text.size());
    std::int64_t extent = 0;
    if (!parse_int(text.substr(at, end - at), extent) || extent < 0) {
      return fail(Code::bad_input,
                  "'{}' is not a value: expected @FILE, a .npy or .pb file, dims like 1x3x224 or scalar, or =NUMBER",
                  text);
    }
    sizes.push_back(extent);
    at = end + 1;
  }
  return sizes;
}

/// Returns the tensor type if a spec without a file can create it, else null.
const Type* tensor_type(const Type& type) {
  if (type.is_tensor()) return &type;
  return type.kind == Type::Kind::optional && type.item->is_tensor() ? type.item.get() : nullptr;
}

Result<std::size_t> find_name(const std::vector<std::string>& names, std::string_view name, std::string_view what) {
  const auto at = std::ranges::find(names, name);
  if (at != names.end()) return static_cast<std::size_t>(at - names.begin());
  std::string list;
  constexpr std::size_t kShown = 20;
  for (std::size_t i = 0; i < names.size() && i < kShown; ++i) list += (i > 0 ? ", '" : "'") + names[i] + "'";
  if (names.size() > kShown) list += ", ...";
  return fail(Code::bad_input, "the model has no {} '{}'; it has {}", what, name, names.empty() ? "none" : list);
}

}  // namespace

Result<Spec> parse_spec(std::string_view text) {
  Spec spec;
  if (text.starts_with('=')) {
    spec.text = text.substr(1);
    return spec;
  }
  if (text.starts_with('@') || text.ends_with(".npy") || text.ends_with(".pb")) {
    spec.kind = Spec::Kind::file;
    spec.text = text.substr(text.starts_with('@') ? 1 : 0);
    if (spec.text.empty()) return fail(Code::bad_input, "'@' needs a path after it");
    return spec;
  }
  spec.kind = Spec::Kind::random;
  const std::size_t colon = text.find(':');
  FRAZIL_TRY(spec.sizes, parse_sizes(text.substr(0, colon)));
  if (colon != std::string_view::npos) {
    const std::string_view range = text.substr(colon + 1);
    const std::size_t dots = range.find("..");
    if (dots == std::string_view::npos || dots == 0 || dots + 2 >= range.size()) {
      return fail(Code::bad_input, "'{}': expected a range FROM..TO after the ':'", text);
    }
    spec.range.emplace(range.substr(0, dots), range.substr(dots + 2));
  }
  return spec;
}

Result<std::pair<std::string, std::string>> split_pair(std::string_view text, std::string_view flag) {
  const std::size_t at = text.find('=');
  if (at == std::string_view::npos || at == 0)
    return fail(Code::bad_input, "{} '{}': expected a pair with '='", flag, text);
  return std::pair(std::string(text.substr(0, at)), std::string(text.substr(at + 1)));
}

Result<std::size_t> ValueSource::find_input(std::string_view name) const {
  return find_name(graph_.input_names(), name, "input");
}

Result<std::size_t> ValueSource::find_output(std::string_view name) const {
  return find_name(graph_.output_names(), name, "output");
}

Result<Datum> ValueSource::make(std::size_t input, const Spec& spec, const std::string& folder,
                                std::uint64_t request) const {
  const Type& type = graph_.type(graph_.main().params[input]);
  const std::string& name = graph_.input_names()[input];
  auto value = [&]() -> Result<Datum> {
    if (spec.kind == Spec::Kind::file) return from_file(type, spec.text, folder);
    const Type* tensor = tensor_type(type);
    if (tensor == nullptr) {
      return fail(Code::bad_input, "its type is {}, so that it takes a .pb file only", str(type, graph_.scope()));
    }
    if (spec.kind == Spec::Kind::fill) return filled(*tensor, spec.text);
    return random(*tensor, spec, Hasher().add(seed_).add(name).add(request).value());
  }();
  if (!value) return within(fmt::format("input '{}': ", name), std::move(value).error());
  return value;
}

Result<Datum> ValueSource::from_file(const Type& type, std::string path, const std::string& folder) const {
  if (!folder.empty() && std::filesystem::path(path).is_relative()) path = std::filesystem::path(folder) / path;
  constexpr std::string_view kMagic = "\x93NUMPY";
  bool npy = path.ends_with(".npy");
  if (!npy && !path.ends_with(".pb")) {
    FRAZIL_TRY(const auto file, MappedFile::open(path));
    const std::string_view bytes(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
    npy = bytes.starts_with(kMagic);
  }
  if (!npy) return read_pb(path, proto_kind(type));
  FRAZIL_TRY(Tensor tensor, read_npy(path));
  return Datum(std::move(tensor));
}

Result<Tensor> ValueSource::make_tensor(Elem elem, Sizes sizes) const {
  FRAZIL_CHECK(byte_count(elem, sizes, max_bytes_));
  return Tensor::make(elem, std::move(sizes));
}

Result<Datum> ValueSource::random(const Type& type, const Spec& spec, std::uint64_t key) const {
  FRAZIL_TRY(Tensor tensor, make_tensor(type.elem, spec.sizes));
  if (spec.range) {
    FRAZIL_CHECK(fill_range(tensor, key, spec.range->first, spec.range->second));
  } else {
    fill_random(tensor, key);
  }
  return Datum(std::move(tensor));
}

Result<Datum> ValueSource::filled(const Type& type, std::string_view text) const {
  const Scope& scope = graph_.scope();
  const std::vector<std::int64_t> ones(scope.symbol_count(), 1);
  Sizes sizes;
  for (const Dim d : type.shape) {
    sizes.push_back(scope.as_symbol(d) ? 1 : std::max<std::int64_t>(0, eval(scope, d, ones).value_or(1)));
  }
  FRAZIL_TRY(Tensor tensor, make_tensor(type.elem, std::move(sizes)));
  FRAZIL_CHECK(fill_value(tensor, text));
  return Datum(std::move(tensor));
}

}  // namespace frazil::tool
