#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>

#include <frazil/host_operator.h>

#include "api/c/handles.h"

namespace frazil::api::c {
namespace {

template <class T>
std::vector<T> list_of(const frazil_attribute& attribute) {
  const auto values = need(static_cast<const T*>(attribute.values), attribute.count, "an attribute's values");
  return {values.begin(), values.end()};
}

template <class T>
const T& one_of(const frazil_attribute& attribute) {
  return need(static_cast<const T*>(attribute.values), "an attribute's value");
}

std::vector<std::string> texts_of(const frazil_attribute& attribute) {
  std::vector<std::string> texts;
  for (const char* text : list_of<const char*>(attribute)) texts.push_back(text_of(text, "an attribute's text"));
  return texts;
}

}  // namespace

Attribute value_of(const frazil_attribute& attribute) {
  switch (attribute.kind) {
    case FRAZIL_INT: return one_of<std::int64_t>(attribute);
    case FRAZIL_FLOAT: return one_of<float>(attribute);
    case FRAZIL_TEXT: return text_of(&one_of<char>(attribute), "an attribute's text");
    case FRAZIL_INTS: return list_of<std::int64_t>(attribute);
    case FRAZIL_FLOATS: return list_of<float>(attribute);
    case FRAZIL_TEXTS: return texts_of(attribute);
    case FRAZIL_ARRAY: return one_of<frazil_array>(attribute).array;
    default: refuse("there is no kind " + std::to_string(attribute.kind) + " of attribute");
  }
}

Attributes attributes_of(const frazil_attribute* attributes, std::size_t count) {
  Attributes values;
  for (const frazil_attribute& attribute : need(attributes, count, "the attributes")) {
    values.emplace_back(text_of(attribute.name, "an attribute's name"), value_of(attribute));
  }
  return values;
}

}  // namespace frazil::api::c

/// One call of `types` or `run`, a function of the program.
struct frazil_op_call {
  std::span<const frazil::api::TensorType> operand_types;
  std::vector<std::vector<const char*>> operand_dims;
  std::vector<frazil::api::TensorType> types;
  std::vector<bool> typed;

  std::deque<std::optional<frazil_array>> operands;
  std::vector<frazil::api::Array> results;

  const frazil::api::NodeAttributes* attributes = nullptr;
  const std::vector<std::pair<std::string, frazil_attribute_kind>>* kinds = nullptr;
  struct Value {
    std::int64_t integer = 0;
    float real = 0;
    std::string text;
    std::vector<std::int64_t> integers;
    std::vector<float> reals;
    std::vector<std::string> texts;
    std::vector<const char*> pointers;
    std::optional<frazil_array> array;
  };
  std::deque<Value> values;  ///< attributes that the function has read

  std::string message;
};

namespace frazil::api::c {
namespace {

using Kinds = std::vector<std::pair<std::string, frazil_attribute_kind>>;

/// The data of a frazil_operator, kept as long as the operator.
struct Definition {
  frazil_op_function types, run;
  void* context;
  std::size_t outputs;
  Kinds kinds;
};

void call_back(const Definition& definition, frazil_op_function function, frazil_op_call& call) {
  const frazil_code code = function(definition.context, &call);
  if (code == FRAZIL_OK) return;
  throw Error(code_from(code), call.message.empty() ? "its function failed" : call.message);
}

frazil_op_call new_call(const Definition& definition, const NodeAttributes& attributes) {
  frazil_op_call call;
  call.attributes = &attributes;
  call.kinds = &definition.kinds;
  return call;
}

std::vector<TensorType> types_of(const Definition& definition, const NodeAttributes& attributes,
                                 std::span<const TensorType> operands) {
  frazil_op_call call = new_call(definition, attributes);
  call.operand_types = operands;
  for (const TensorType& type : operands) {
    auto& dims = call.operand_dims.emplace_back();
    for (const std::string& dim : type.dims) dims.push_back(dim.c_str());
  }
  call.types.resize(definition.outputs);
  call.typed.resize(definition.outputs);
  call_back(definition, definition.types, call);
  for (std::size_t k = 0; k < call.typed.size(); ++k) {
    if (!call.typed[k]) refuse("its function sets no type of output " + std::to_string(k));
  }
  return std::move(call.types);
}

std::vector<Array> results_of(const Definition& definition, const NodeAttributes& attributes,
                              std::span<const Array> operands) {
  frazil_op_call call = new_call(definition, attributes);
  for (const Array& operand : operands) {
    auto& to = call.operands.emplace_back();
    if (!operand.empty()) to.emplace(operand);
  }
  call.results.resize(definition.outputs);
  call_back(definition, definition.run, call);
  return std::move(call.results);
}

void check_index(std::size_t index, std::size_t count, const char* what) {
  if (index >= count) refuse(std::string(what) + " " + std::to_string(index) + " of " + std::to_string(count));
}

HostOperator host_of(const frazil_operator& given) {
  check_size(given, sizeof(frazil_operator), "frazil_operator");
  if (given.types == nullptr || given.run == nullptr) refuse("frazil_operator: it needs both functions");
  HostOperator host{.name = text_of(given.name, "the operator's name"),
                    .domain = text_of(given.domain, "the operator's domain"),
                    .inputs = given.inputs,
                    .optional_inputs = given.optional_inputs,
                    .variadic = given.variadic != 0,
                    .outputs = given.outputs,
                    .attributes = attributes_of(given.attributes, given.attribute_count),
                    .pure = given.impure == 0,
                    .views = given.views != 0};
  auto definition = std::make_shared<Definition>(Definition{given.types, given.run, given.context, given.outputs, {}});
  for (const frazil_attribute& attribute : std::span(given.attributes, given.attribute_count)) {
    definition->kinds.emplace_back(attribute.name, attribute.kind);
  }
  host.types = [definition](const NodeAttributes& attributes, std::span<const TensorType> operands) {
    return types_of(*definition, attributes, operands);
  };
  host.run = [definition](const NodeAttributes& attributes, std::span<const Array> operands) {
    return results_of(*definition, attributes, operands);
  };
  return host;
}

frazil_port port_of(const TensorType& type, const std::vector<const char*>& dims) {
  return {sizeof(frazil_port),
          "",
          "",
          type.given ? FRAZIL_TENSOR : FRAZIL_NONE,
          static_cast<frazil_dtype>(type.dtype),
          0,
          type.ranked ? 1 : 0,
          dims.size(),
          dims.data(),
          nullptr,
          ""};
}

/// Returns the attribute with pointers to the data in `to`.
frazil_attribute attribute_of(const frazil_op_call& call, const char* name, frazil_attribute_kind kind,
                              frazil_op_call::Value& to) {
  const NodeAttributes& from = *call.attributes;
  switch (kind) {
    case FRAZIL_INT: return {name, kind, 1, &(to.integer = from.integer(name))};
    case FRAZIL_FLOAT: return {name, kind, 1, &(to.real = from.real(name))};
    case FRAZIL_TEXT: return {name, kind, 1, (to.text = from.text(name)).c_str()};
    case FRAZIL_INTS: to.integers = from.integers(name); return {name, kind, to.integers.size(), to.integers.data()};
    case FRAZIL_FLOATS: to.reals = from.reals(name); return {name, kind, to.reals.size(), to.reals.data()};
    case FRAZIL_TEXTS:
      to.texts = from.texts(name);
      for (const std::string& text : to.texts) to.pointers.push_back(text.c_str());
      return {name, kind, to.pointers.size(), to.pointers.data()};
    default: return {name, kind, 1, &to.array.emplace(from.tensor(name))};
  }
}

}  // namespace
}  // namespace frazil::api::c

using namespace frazil::api;     // NOLINT(google-build-using-namespace)
using namespace frazil::api::c;  // NOLINT(google-build-using-namespace)

frazil_code frazil_register_operator(const frazil_operator* definition, frazil_error** error) {
  return guarded(error, [&] { register_operator(host_of(need(definition, "the definition"))); });
}

frazil_code frazil_op_input_count(const frazil_op_call* call, size_t* count, frazil_error** error) {
  return guarded(error, [&] {
    const frazil_op_call& of = need(call, "the call");
    result(count) = std::max(of.operand_types.size(), of.operands.size());
  });
}

frazil_code frazil_op_input_type(const frazil_op_call* call, size_t index, frazil_port* type, frazil_error** error) {
  return guarded(error, [&] {
    const frazil_op_call& of = need(call, "the call");
    frazil_port& to = need(type, "the type");
    check_index(index, of.operand_types.size(), "operand");
    fill(to, port_of(of.operand_types[index], of.operand_dims[index]), offsetof(frazil_port, extents), "frazil_port");
  });
}

frazil_code frazil_op_set_type(frazil_op_call* call, size_t index, frazil_dtype dtype, const char* const* dims,
                               size_t rank, frazil_error** error) {
  return guarded(error, [&] {
    frazil_op_call& of = need(call, "the call");
    check_index(index, of.types.size(), "output");
    TensorType type{.dtype = c::dtype_of(dtype), .dims = {}};
    for (const char* dim : need(dims, rank, "the extents")) type.dims.push_back(text_of(dim, "an extent"));
    of.types[index] = std::move(type);
    of.typed[index] = true;
  });
}

frazil_code frazil_op_input(const frazil_op_call* call, size_t index, const frazil_array** array,
                            frazil_error** error) {
  return guarded(error, [&] {
    const frazil_array*& to = result(array);
    const frazil_op_call& of = need(call, "the call");
    check_index(index, of.operands.size(), "operand");
    if (of.operands[index]) to = &*of.operands[index];
  });
}

frazil_code frazil_op_set_output(frazil_op_call* call, size_t index, const frazil_array* array, frazil_error** error) {
  return guarded(error, [&] {
    frazil_op_call& of = need(call, "the call");
    check_index(index, of.results.size(), "output");
    of.results[index] = array_of(array);
  });
}

frazil_code frazil_op_attribute(frazil_op_call* call, const char* name, frazil_attribute* attribute,
                                frazil_error** error) {
  return guarded(error, [&] {
    frazil_attribute& to = result(attribute);
    frazil_op_call& of = need(call, "the call");
    const std::string wanted = text_of(name, "the name");
    for (const auto& [known, kind] : *of.kinds) {
      if (known == wanted) to = attribute_of(of, known.c_str(), kind, of.values.emplace_back());
    }
    if (to.name == nullptr) refuse("the operator has no attribute '" + wanted + "'");
  });
}

frazil_code frazil_op_fail(frazil_op_call* call, frazil_code code, const char* message) {
  (void)guarded(nullptr, [&] { need(call, "the call").message = text_of(message, "the message"); });
  return code == FRAZIL_OK ? FRAZIL_INTERNAL : code;
}
