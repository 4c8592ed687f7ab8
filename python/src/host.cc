#include <map>

#include "python/src/arrays.h"
#include "python/src/builder.h"
#include "python/src/dtypes.h"
#include "python/src/raised.h"

namespace frazil::python {
namespace {

/// The two functions of an operator, which exist for the life of the process. They may be replaced.
struct HostFunctions {
  py::object run;    ///< takes arrays; attributes are keywords
  py::object types;  ///< takes a list of (DType, shape) or None, and a dict of attributes; returns such a list
  std::vector<std::pair<std::string, OperatorInfo::Kind>> attributes;
  std::size_t outputs = 1;
};

py::object attribute_object(const NodeAttributes& of, const std::string& name, OperatorInfo::Kind kind) {
  switch (kind) {
    case OperatorInfo::Kind::integer: return py::int_(of.integer(name));
    case OperatorInfo::Kind::real: return py::float_(of.real(name));
    case OperatorInfo::Kind::string: return py::str(of.text(name));
    case OperatorInfo::Kind::integers: return py::cast(of.integers(name));
    case OperatorInfo::Kind::reals: return py::cast(of.reals(name));
    case OperatorInfo::Kind::strings: return py::cast(of.texts(name));
    case OperatorInfo::Kind::tensor: break;
  }
  return object_of(of.tensor(name));
}

py::dict attributes_object(const HostFunctions& functions, const NodeAttributes& of) {
  py::dict all;
  for (const auto& [name, kind] : functions.attributes) all[py::str(name)] = attribute_object(of, name, kind);
  return all;
}

// ---- types ----

py::object type_object(const TensorType& type) {
  if (!type.given) return py::none();
  return py::make_tuple(object_of(type.dtype),
                        type.ranked ? py::object(extents_object(type.dims)) : py::object(py::none()));
}

TensorType type_of(py::handle object) {
  const auto pair = object.cast<py::tuple>();
  TensorType type{.dtype = dtype_of_object(pair[0], "the type of an output"), .dims = {}};
  type.ranked = !pair[1].is_none();
  if (!type.ranked) return type;
  for (const py::handle extent : pair[1].cast<py::tuple>()) type.dims.push_back(py::str(extent));
  return type;
}

std::vector<TensorType> call_types(const HostFunctions& functions, const py::dict& attributes,
                                   std::span<const TensorType> operands) {
  py::list in;
  for (const TensorType& operand : operands) in.append(type_object(operand));
  const py::object function = functions.types;
  std::vector<TensorType> types;
  for (const py::handle type : function(in, attributes)) types.push_back(type_of(type));
  return types;
}

std::vector<TensorType> host_types_of(const HostFunctions& functions, const NodeAttributes& attributes,
                                      std::span<const TensorType> operands) {
  const Locked locked;
  try {
    return call_types(functions, attributes_object(functions, attributes), operands);
  } catch (py::error_already_set& error) {
    throw_raised(error);
  }
}

TensorType type_of(const Array& array) {
  if (array.empty()) return {.dims = {}, .given = false};
  TensorType type{.dtype = array.dtype(), .dims = {}};
  for (const std::int64_t size : array.sizes()) type.dims.push_back(std::to_string(size));
  return type;
}

// ---- runs ----

/// The operands of one call as NumPy arrays. Views must not outlive the call.
class Operands {
 public:
  explicit Operands(std::span<const Array> from) : arrays_(from.size()), types_(from.size()) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      types_[i] = type_of(from[i]);
      py::object array = read_only(from[i]);
      const PyObject* base = array.is_none() ? nullptr : py::detail::array_proxy(array.ptr())->base;
      owners_.push_back(py::reinterpret_borrow<py::object>(const_cast<PyObject*>(base)));
      arrays_[i] = std::move(array);
    }
  }
  const py::tuple& arrays() const { return arrays_; }
  std::span<const TensorType> types() const { return types_; }

  void release() { arrays_ = py::tuple(); }
  /// Call after release(). Returns the first operand that is still referenced.
  std::optional<std::size_t> used() const {
    for (std::size_t i = 0; i < owners_.size(); ++i) {
      if (owners_[i] && owners_[i].ref_count() > 1) return i;
    }
    return std::nullopt;
  }
  /// As used(), after a garbage collection.
  std::optional<std::size_t> used_for_good() const {
    if (used()) py::module_::import("gc").attr("collect")();
    return used();
  }

 private:
  py::tuple arrays_;
  std::vector<TensorType> types_;
  std::vector<py::object> owners_;  ///< owner of each array's memory; null: the array owns it
};

std::vector<Array> results_of(const HostFunctions& functions, const Operands& operands, const py::dict& attributes) {
  const py::object function = functions.run;
  const py::object made = function(*operands.arrays(), **attributes);
  py::tuple values = py::make_tuple(made);
  if (functions.outputs > 1) {
    const bool several = py::isinstance<py::tuple>(made) || py::isinstance<py::list>(made);
    if (!several) refuse("its function must return a tuple of " + std::to_string(functions.outputs) + " outputs");
    values = py::tuple(made);
  }
  std::vector<Array> results;
  for (std::size_t k = 0; k < values.size(); ++k) {
    AwaitedValues wanted{"output " + std::to_string(k), Array::Kind::tensor, {}, {}};
    if (is_literal(values[k])) {
      const auto types = call_types(functions, attributes, operands.types());
      if (k < types.size()) wanted.dtype = types[k].dtype;
    }
    results.push_back(array_of(values[k], wanted));
  }
  return results;
}

std::string keeps(std::size_t i) {
  return "keeps a view of input " + std::to_string(i) +
         ", whose memory is only lent: keep a copy, or register it with "
         "views=False";
}

[[noreturn]] void fail(py::error_already_set& error, Operands& operands, bool views) {
  operands.release();
  if (views && operands.used()) {  // referenced by the function's frames
    py::module_::import("frazil.graph.host")
        .attr("clear_frames")(error.value(), error.trace() ? error.trace() : py::none());
    if (const auto i = operands.used_for_good()) throw_raised(error, {}, "; its function " + keeps(*i));
  }
  throw_raised(error);
}

std::vector<Array> run(const HostFunctions& functions, bool views, const NodeAttributes& of,
                       std::span<const Array> given) {
  const Locked locked;
  Operands operands(given);
  try {
    std::vector<Array> results = results_of(functions, operands, attributes_object(functions, of));
    operands.release();
    if (views && operands.used()) {
      for (Array& result : results) result = copied(std::move(result));  // results may be views of operands
      if (const auto i = operands.used_for_good()) refuse("its function " + keeps(*i));
    }
    return results;
  } catch (py::error_already_set& error) {
    fail(error, operands, views);
  }
}

// ---- registration ----

/// Operators by full name. They are never freed.
auto& host_functions() {
  static auto& all = *new std::map<std::string, HostFunctions*>;
  return all;
}

void register_host(const std::string& domain, const std::string& name, const std::string& doc,
                   const std::tuple<std::size_t, std::size_t, bool, std::size_t>& ports, const py::list& attributes,
                   bool pure, bool views, py::object run_function, py::object types_function) {
  const std::string full = domain + "." + name;
  auto functions = std::make_unique<HostFunctions>();
  HostFunctions* const of = functions.get();
  of->run = std::move(run_function);
  of->types = std::move(types_function);
  HostOperator op{.name = name, .domain = domain, .doc = doc, .pure = pure, .views = views};
  std::tie(op.inputs, op.optional_inputs, op.variadic, op.outputs) = ports;
  of->outputs = op.outputs;
  op.attributes = attributes_of(full, attributes);
  for (const auto& [attribute, value] : op.attributes) {
    of->attributes.emplace_back(attribute, static_cast<OperatorInfo::Kind>(value.value().index()));
  }
  op.types = [of](const NodeAttributes& a, std::span<const TensorType> in) { return host_types_of(*of, a, in); };
  op.run = [of, views](const NodeAttributes& a, std::span<const Array> in) { return run(*of, views, a, in); };
  register_operator(std::move(op));
  host_functions()[full] = functions.release();
}

}  // namespace

void bind_hosts(py::module_& m) {
  m.def("register_operator", &register_host);
  m.def("replace_functions", [](const std::string& full, py::object run_function, py::object types_function) {
    HostFunctions& functions = *host_functions().at(full);
    functions.run = std::move(run_function);
    functions.types = std::move(types_function);
  });
}

}  // namespace frazil::python
