#include <algorithm>
#include <utility>

#include "base/value/text.h"
#include "ir/op/max_axes.h"
#include "onnx/read/decode.h"

namespace frazil::onnx {
namespace {

constexpr int kMaxTypeDepth = 32;

struct Dimension {
  std::optional<std::int64_t> value;
  std::string_view param, denotation;
};

/// Returns whether the text is one that exporters write for an unknown extent.
bool says_unknown(std::string_view param) { return param.empty() || param == "?" || param == "None" || param == "-1"; }

class TypeReader {
 public:
  TypeReader(Builder& builder, std::string_view value, const Source& source)
      : builder_(builder), value_(value), source_(source) {}

  Result<Type> read(Bytes bytes, int depth) {
    if (depth == kMaxTypeDepth) return fail(Code::limit, "its type nests deeper than {} levels", kMaxTypeDepth);
    std::optional<Type> type;
    FRAZIL_CHECK(each_field(bytes, [&](Reader& reader, Tag tag) -> Result<bool> {
      if (tag == 7 || tag == 8)
        return fail(Code::unsupported, "{} values are not supported{}", tag == 7 ? "opaque" : "sparse",
                    tag == 7 ? "" : ", only sparse constants and initializers");
      if (tag != 1 && tag != 4 && tag != 5 && tag != 9) return false;
      FRAZIL_TRY(const Bytes inner, message_field(reader));
      FRAZIL_TRY(type, tag == 1 ? tensor(inner, depth) : tag == 5 ? map(inner, depth) : container(inner, tag, depth));
      return true;
    }));
    if (!type) return fail(Code::bad_model, "its type is not given");
    return *type;
  }

 private:
  static Result<Elem> elem(std::int64_t data_type) {
    const auto found = elem_from_onnx(data_type);
    if (found) return *found;
    if (data_type == 0) return fail(Code::bad_model, "its element type is not given");
    return fail(Code::unsupported, "unknown element type {}", data_type);
  }

  Result<Type> tensor(Bytes bytes, int depth) {
    std::int64_t data_type = 0;
    std::optional<Bytes> shape;
    FRAZIL_CHECK(each_field(bytes, [&](Reader& reader, Tag tag) -> Result<bool> {
      if (tag == 1) return store(reader, data_type);
      return tag == 2 ? store(reader, shape.emplace()) : Result<bool>(false);
    }));
    FRAZIL_TRY(const Elem e, elem(data_type));
    if (!shape) return Type::unranked(e);
    FRAZIL_TRY(const std::vector<Dimension> dims, dimensions(*shape));
    if (depth > 0 && !std::ranges::all_of(dims, [](const Dimension& d) { return d.value.has_value(); })) {
      return Type::unranked(e);
    }
    Shape extents;
    for (const Dimension& d : dims) extents.push_back(extent(d, extents.size()));
    return Type::tensor(e, std::move(extents));
  }

  Result<std::vector<Dimension>> dimensions(Bytes bytes) {
    std::vector<Dimension> dims;
    FRAZIL_CHECK(each_field(bytes, [&](Reader& reader, Tag tag) -> Result<bool> {
      if (tag != 1) return false;
      FRAZIL_TRY(const Bytes dim, message_field(reader));
      if (dims.size() == kMaxAxes) return fail(Code::limit, "it has more than {} axes", kMaxAxes);
      FRAZIL_TRY(dims.emplace_back(), dimension(dim));
      return true;
    }));
    return dims;
  }

  Result<Dimension> dimension(Bytes bytes) {
    Dimension d;
    FRAZIL_CHECK(each_field(bytes, [&](Reader& reader, Tag tag) -> Result<bool> {
      if (tag == 1) return store(reader, d.value.emplace());
      if (tag == 2) return store(reader, d.param);
      return tag == 3 ? store(reader, d.denotation) : Result<bool>(false);
    }));
    if (d.value && *d.value < 0) d.value.reset();
    FRAZIL_CHECK(fix(d));
    if (d.value && *d.value > Dim::kMax) return fail(Code::bad_model, "its extent {} is too large", *d.value);
    if (!is_utf8(d.param)) {
      return fail(Code::bad_model, "the name of a dimension is not UTF-8: '{}'", proto::shown(d.param));
    }
    if (d.param.size() > source_.max_name) {
      return fail(Code::limit, "the name of a dimension has {} bytes, at most {} are allowed", d.param.size(),
                  source_.max_name);
    }
    return d;
  }

  /// Sets the number that the load gives the dimension.
  Status fix(Dimension& d) const {
    const auto& [by_name, by_denotation] = source_.fixed;
    const auto named = by_name.find(d.param), denoted = by_denotation.find(d.denotation);
    if (denoted != by_denotation.end() && !d.denotation.empty()) {
      if (d.value && *d.value != denoted->second) {
        return fail(Code::bad_input, "its extent {} has the denotation '{}', which is set to {}", *d.value,
                    proto::shown(d.denotation), denoted->second);
      }
      d.value = denoted->second;
    } else if (!d.value && named != by_name.end() && !d.param.empty()) {
      d.value = named->second;
    }
    const auto bounds = source_.bounds.find(d.param);
    if (!d.value || bounds == source_.bounds.end()) return {};
    const auto [min, max] = bounds->second;
    if (*d.value >= min && *d.value <= max) return {};
    return fail(Code::bad_input, "its extent '{}' is set to {}, outside of its bounds {}..{}", proto::shown(d.param),
                *d.value, min, max);
  }

  Dim extent(const Dimension& d, std::size_t axis) {
    if (d.value) return *d.value;
    if (!says_unknown(d.param) && !source_.own_extents) return symbol(own(d.param));
    std::string name = fmt::format("{}.{}", value_, axis);
    while (builder_.graph().scope().find_symbol(name)) name += "'";
    return symbol(name);
  }
  Dim symbol(const std::string& name) {
    const auto bounds = source_.bounds.find(name);
    return builder_.dim(name, bounds == source_.bounds.end() ? Bounds{} : bounds->second);
  }
  /// Returns a symbol name for the text. Names such as "?3" are reserved for unbacked symbols.
  static std::string own(std::string_view param) {
    return param.starts_with('?') ? fmt::format("dim{}", param) : std::string(param);
  }

  Result<Type> container(Bytes bytes, Tag kind, int depth) {
    std::optional<Bytes> item;
    FRAZIL_CHECK(each_field(bytes, [&](Reader& reader, Tag tag) -> Result<bool> {
      return tag == 1 ? store(reader, item.emplace()) : Result<bool>(false);
    }));
    if (!item) return fail(Code::bad_model, "the type of its items is not given");
    FRAZIL_TRY(Type type, read(*item, depth + 1));
    return kind == 4 ? Type::sequence(std::move(type)) : Type::optional(std::move(type));
  }

  Result<Type> map(Bytes bytes, int depth) {
    std::int64_t key = 0;
    std::optional<Bytes> value;
    FRAZIL_CHECK(each_field(bytes, [&](Reader& reader, Tag tag) -> Result<bool> {
      if (tag == 1) return store(reader, key);
      return tag == 2 ? store(reader, value.emplace()) : Result<bool>(false);
    }));
    if (!value) return fail(Code::bad_model, "the type of its items is not given");
    FRAZIL_TRY(const Elem key_elem, elem(key));
    FRAZIL_TRY(Type type, read(*value, depth + 1));
    return Type::map(key_elem, std::move(type));
  }

  Builder& builder_;
  std::string_view value_;
  const Source& source_;
};

}  // namespace

Result<ValueInfo> read_value_info(Bytes bytes) {
  ValueInfo info;
  FRAZIL_CHECK(each_field(bytes, [&](Reader& reader, Tag tag) -> Result<bool> {
    if (tag == 1) return store(reader, info.name);
    return tag == 2 ? store(reader, info.type.emplace()) : Result<bool>(false);
  }));
  return info;
}

Result<std::optional<std::vector<std::string>>> declared_extents(Bytes bytes) {
  std::optional<Bytes> tensor, optional, shape;
  const auto read_kind = [&](Reader& reader, Tag tag) -> Result<bool> {
    if (tag == 1) return store(reader, tensor.emplace());
    return tag == 9 ? store(reader, optional.emplace()) : Result<bool>(false);
  };
  FRAZIL_CHECK(each_field(bytes, read_kind));
  for (int depth = 0; optional && depth < kMaxTypeDepth; ++depth) {
    std::optional<Bytes> item;
    FRAZIL_CHECK(each_field(*std::exchange(optional, std::nullopt), [&](Reader& reader, Tag tag) -> Result<bool> {
      return tag == 1 ? store(reader, item.emplace()) : Result<bool>(false);
    }));
    if (item) FRAZIL_CHECK(each_field(*item, read_kind));
  }
  if (!tensor) return std::nullopt;
  FRAZIL_CHECK(each_field(*tensor, [&](Reader& reader, Tag tag) -> Result<bool> {
    return tag == 2 ? store(reader, shape.emplace()) : Result<bool>(false);
  }));
  if (!shape) return std::nullopt;
  std::vector<std::string> extents;
  FRAZIL_CHECK(each_field(*shape, [&](Reader& reader, Tag tag) -> Result<bool> {
    if (tag != 1) return false;
    FRAZIL_TRY(const Bytes dimension, message_field(reader));
    std::string& text = extents.emplace_back();
    FRAZIL_CHECK(each_field(dimension, [&](Reader& field, Tag part) -> Result<bool> {
      if (part == 2) return store(field, text);
      if (part != 1) return false;
      FRAZIL_TRY(const std::int64_t number, integer_field(field));
      text = std::to_string(number);
      return true;
    }));
    return true;
  }));
  return extents;
}

Result<Type> read_type(Bytes bytes, Builder& builder, std::string_view value, const Source& source) {
  return TypeReader(builder, value, source).read(bytes, 0);
}

}  // namespace frazil::onnx
