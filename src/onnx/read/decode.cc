#include "onnx/read/decode.h"

#include <array>
#include <bit>
#include <cstring>
#include <numeric>

namespace frazil::onnx {

Result<Tensor> read_tensor(const Source& source, Bytes bytes) {
  return tensor_from_proto(bytes, source.keep_alive, source.external ? &source.external : nullptr,
                           source.ignored ? &source.ignored : nullptr);
}

namespace {

/// Returns the row-major position of entry `k` of a sparse tensor's indices, or -1 if it is outside.
std::int64_t dense_position(std::span<const std::int64_t> indices, std::size_t k, const Sizes& sizes, bool linear) {
  if (linear) return indices[k] >= 0 && indices[k] < element_count(sizes) ? indices[k] : -1;
  std::int64_t position = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const std::int64_t i = indices[k * sizes.size() + d];
    if (i < 0 || i >= sizes[d]) return -1;
    position = position * sizes[d] + i;
  }
  return position;
}

/// Fails unless the position `to` of entry `k` follows `last`.
Status check_order(std::int64_t last, std::int64_t to, std::size_t k) {
  if (to == last) return fail(Code::bad_model, "index {} of it repeats the one before", k);
  if (to < last) return fail(Code::bad_model, "index {} of it is not in ascending order", k);
  return {};
}

/// Writes the entries of a sparse tensor. They must be in row-major order without duplicates, unless `ignored` receives
/// such faults. The last of equal indices then counts.
Status scatter(const Tensor& values, std::span<const std::int64_t> indices, Tensor& dense,
               const IgnoredFaults& ignored) {
  const bool linear = indices.size() == static_cast<std::size_t>(values.count());
  const std::size_t width = byte_size(dense.elem());
  std::int64_t last = -1;
  std::optional<std::string> disorder;
  for (std::size_t k = 0; k < static_cast<std::size_t>(values.count()); ++k) {
    const std::int64_t to = dense_position(indices, k, dense.sizes(), linear);
    if (to < 0) return fail(Code::bad_model, "index {} of it lies outside {}", k, dense.type_str());
    if (const Status order = check_order(last, to, k); !order) {
      if (!ignored) return order;
      disorder = disorder.value_or(order.error().text());
    }
    last = to;
    const auto offset = static_cast<std::size_t>(to);
    if (dense.elem() == Elem::string) {
      dense.as_mutable<std::string>()[offset] = values.as<std::string>()[k];
    } else {
      std::memcpy(dense.mutable_data() + offset * width, values.data() + k * width, width);
    }
  }
  if (disorder) ignored(fmt::format("a sparse tensor: {}; the last of equal indices counts", *disorder));
  return {};
}

/// Returns the indices of a sparse tensor's entries. They are copied because the tensor may be unaligned.
Result<Ints> read_indices(const Source& source, const SparseParts& parts, std::int64_t entries) {
  FRAZIL_TRY(const Tensor indices, read_tensor(source, parts.indices));
  const Sizes pairs{entries, static_cast<std::int64_t>(parts.sizes.size())};
  const bool narrow =
      source.ignored && (indices.elem() == Elem::i32 || indices.elem() == Elem::i16 || indices.elem() == Elem::i8);
  if ((indices.elem() != Elem::i64 && !narrow) || (indices.sizes() != Sizes{entries} && indices.sizes() != pairs)) {
    return fail(Code::bad_model, "its indices are {}, expected i64[{}] or i64[{},{}]", indices.type_str(), pairs[0],
                pairs[0], pairs[1]);
  }
  Ints copy(static_cast<std::size_t>(indices.count()));
  for (std::int64_t i = 0; i < indices.count(); ++i) copy[static_cast<std::size_t>(i)] = indices.integer_at(i);
  return copy;
}

Result<Tensor> to_dense(const Source& source, const SparseParts& parts, const Tensor& values) {
  if (values.rank() != 1) return fail(Code::bad_model, "its values are {}, expected one axis", values.type_str());
  const auto bytes = byte_count(values.elem(), parts.sizes);
  if (!bytes)
    return fail(bytes.error().code == Code::limit ? Code::limit : Code::bad_model, "{}", bytes.error().text());
  FRAZIL_TRY(Tensor dense, Tensor::make(values.elem(), parts.sizes));
  if (dense.elem() != Elem::string && dense.bytes() > 0) std::memset(dense.mutable_data(), 0, dense.bytes());
  if (values.count() == 0) return dense;
  FRAZIL_TRY(const Ints indices, read_indices(source, parts, values.count()));
  FRAZIL_CHECK(scatter(values, indices, dense, source.ignored));
  return dense;
}

}  // namespace

Result<SparseTensor> read_sparse_tensor(const Source& source, Bytes bytes) {
  FRAZIL_TRY(const SparseParts parts, read_sparse(bytes));
  FRAZIL_TRY(const TensorHeader header, tensor_header(parts.values));
  FRAZIL_TRY(const Tensor values, read_tensor(source, parts.values));
  auto dense = to_dense(source, parts, values);
  if (!dense) return within(fmt::format("sparse tensor '{}': ", proto::shown(header.name)), std::move(dense).error());
  return SparseTensor{header.name, std::move(*dense)};
}

Result<std::string_view> sparse_tensor_name(Bytes bytes) {
  FRAZIL_TRY(const SparseParts parts, read_sparse(bytes));
  FRAZIL_TRY(const TensorHeader header, tensor_header(parts.values));
  return header.name;
}

std::size_t NamedAttr::bytes() const {
  if (const auto* graph = std::get_if<GraphAttr>(&value)) return graph->bytes.size();
  const AttrValue* v = plain();
  if (v == nullptr) return sizeof *this;
  const auto size_of = [](const auto& x) -> std::size_t {
    using T = std::remove_cvref_t<decltype(x)>;
    if constexpr (std::is_same_v<T, Strings>) {
      std::size_t bytes = 0;
      for (const std::string& s : x) bytes += sizeof s + s.size();
      return bytes;
    } else if constexpr (requires { x.size() * sizeof(x[0]); }) {
      return x.size() * sizeof(x[0]);
    } else {
      return sizeof x;
    }
  };
  return std::visit(size_of, *v);
}

std::string_view NamedAttr::kind() const {
  if (const AttrValue* v = plain()) return name_of(static_cast<AttrKind>(v->index()));
  return std::holds_alternative<GraphAttr>(value) ? "graph" : "type";
}

namespace {

/// AttributeProto.AttributeType.
enum class AttrType : std::int64_t {
  undefined,
  real,
  integer,
  string,
  tensor,
  graph,
  reals,
  integers,
  strings,
  tensors,
  graphs,
  sparse_tensor,
  sparse_tensors,
  type,
  types,
};

struct AttrParts {
  std::string_view name, ref, s;
  std::int64_t type = 0, i = 0;
  float f = 0;
  Bytes t, g, sparse, type_proto;
  Floats floats;
  Ints ints;
  Texts strings;
  std::array<bool, 24> has{};  ///< one per field number
};

Result<bool> read_numbers(Reader& reader, Tag tag, AttrParts& parts) {
  const auto real = [](Bytes bytes, std::size_t at) {
    std::uint32_t bits = 0;
    for (std::size_t k = 4; k-- > 0;) bits = bits << 8 | std::to_integer<std::uint32_t>(bytes[at + k]);
    return std::bit_cast<float>(bits);
  };
  if (tag == 8) {
    FRAZIL_CHECK(
        proto::each_varint(reader, [&](std::uint64_t v) { parts.ints.push_back(static_cast<std::int64_t>(v)); }));
    return true;
  }
  FRAZIL_CHECK(proto::each_fixed(reader, 4, [&](Bytes bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += 4) {
      if (tag == 2) parts.f = real(bytes, at);
      if (tag == 7) parts.floats.push_back(real(bytes, at));
    }
  }));
  return true;
}

Result<AttrParts> read_parts(Bytes bytes) {
  AttrParts parts;
  FRAZIL_CHECK(each_field(bytes, [&](Reader& reader, Tag tag) -> Result<bool> {
    if (tag < parts.has.size()) parts.has[tag] = true;
    switch (tag) {
      case 1: return store(reader, parts.name);
      case 2:
      case 7:
      case 8: return read_numbers(reader, tag, parts);
      case 3: return store(reader, parts.i);
      case 4: return store(reader, parts.s);
      case 5: return store(reader, parts.t);
      case 6: return store(reader, parts.g);
      case 9: return store(reader, parts.strings);
      case 14: return store(reader, parts.type_proto);
      case 20: return store(reader, parts.type);
      case 21: return store(reader, parts.ref);
      case 22: return store(reader, parts.sparse);
      default: return false;
    }
  }));
  return parts;
}

/// Returns the type of an attribute. Models of IR version 1 have no type field, so the type follows from the value
/// field that is present.
AttrType type_of(const AttrParts& parts) {
  if (parts.type != 0) return static_cast<AttrType>(parts.type);
  constexpr std::pair<std::size_t, AttrType> fields[] = {
      {2, AttrType::real},           {3, AttrType::integer},         {4, AttrType::string},   {5, AttrType::tensor},
      {6, AttrType::graph},          {7, AttrType::reals},           {8, AttrType::integers}, {9, AttrType::strings},
      {22, AttrType::sparse_tensor}, {14, AttrType::type},           {10, AttrType::tensors}, {11, AttrType::graphs},
      {15, AttrType::types},         {23, AttrType::sparse_tensors},
  };
  for (const auto& [field, type] : fields) {
    if (parts.has[field]) return type;
  }
  return AttrType::undefined;
}

/// Returns the error for a list attribute. No operator of ONNX has such an attribute, and custom operators cannot
/// declare one.
std::unexpected<Fault> no_list(std::string_view kind) {
  return fail(Code::unsupported, "lists of {} are not supported, no operator takes one", kind);
}

Result<decltype(NamedAttr::value)> value_of(const Source& source, const AttrParts& parts) {
  switch (type_of(parts)) {
    case AttrType::real: return AttrValue(parts.f);
    case AttrType::integer: return AttrValue(parts.i);
    case AttrType::string: return AttrValue(std::string(parts.s));
    case AttrType::reals: return AttrValue(parts.floats);
    case AttrType::integers: return AttrValue(parts.ints);
    case AttrType::strings: return AttrValue(Strings(parts.strings.begin(), parts.strings.end()));
    case AttrType::graph: return GraphAttr{parts.g, nullptr};
    case AttrType::tensor: {
      FRAZIL_TRY(Tensor tensor, read_tensor(source, parts.t));
      return AttrValue(std::move(tensor));
    }
    case AttrType::sparse_tensor: {
      FRAZIL_TRY(SparseTensor sparse, read_sparse_tensor(source, parts.sparse));
      return AttrValue(std::move(sparse.dense));
    }
    case AttrType::type: {
      Graph scratch;
      Builder builder(scratch);
      return read_type(parts.type_proto, builder, parts.name, source);
    }
    case AttrType::tensors: return no_list("tensors");
    case AttrType::graphs: return no_list("graphs");
    case AttrType::sparse_tensors: return no_list("sparse tensors");
    case AttrType::types: return no_list("types");
    case AttrType::undefined: return fail(Code::bad_model, "it has no value");
  }
  return fail(Code::unsupported, "attributes of type {} are not supported", parts.type);
}

}  // namespace

Result<AttrOrRef> read_attribute(const Source& source, Bytes bytes) {
  FRAZIL_TRY(const AttrParts parts, read_parts(bytes));
  if (parts.name.empty()) return fail(Code::bad_model, "an attribute has no name");
  if (!parts.ref.empty()) return AttrOrRef{{parts.name, AttrValue()}, parts.ref};
  auto value = value_of(source, parts);
  if (!value) return within(fmt::format("attribute '{}': ", proto::shown(parts.name)), std::move(value).error());
  return AttrOrRef{{parts.name, std::move(*value)}, {}};
}

namespace {

std::string known_names(const OpDef& op) {
  if (op.attrs.fields.empty()) return "it has none";
  std::string names = "it has ";
  for (const AttrField& field : op.attrs.fields) {
    names += fmt::format("{}'{}'", &field == op.attrs.fields.data() ? "" : ", ", field.name);
  }
  return names;
}

Status check_required(const OpDef& op, const std::vector<NamedAttr>& attrs) {
  for (const AttrField& field : op.attrs.fields) {
    const bool given = std::ranges::any_of(attrs, [&](const NamedAttr& a) { return a.name == field.name; });
    if (field.required && !given) return fail(Code::bad_model, "attribute '{}' is missing", field.name);
  }
  return {};
}

}  // namespace

Result<Attrs> bind_attributes(const OpDef& op, const std::vector<NamedAttr>& attrs) {
  std::shared_ptr<void> bound = op.attrs.make();
  for (const NamedAttr& attr : attrs) {
    const AttrField* field = op.attrs.find(attr.name);
    if (field == nullptr) {
      return fail(Code::bad_model, "unknown attribute '{}'; {}", proto::shown(attr.name), known_names(op));
    }
    if (attr.plain() == nullptr) {
      return fail(Code::bad_model, "attribute '{}': expected {}, got {}", attr.name, name_of(field->kind), attr.kind());
    }
    FRAZIL_CHECK(field->set(bound.get(), *attr.plain()));
  }
  FRAZIL_CHECK(check_required(op, attrs));
  return Attrs(std::move(bound));
}

}  // namespace frazil::onnx
