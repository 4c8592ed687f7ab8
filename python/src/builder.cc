#include "python/src/builder.h"

#include "python/src/arrays.h"
#include "python/src/attributes.h"
#include "python/src/dtypes.h"
#include "python/src/policy.h"

namespace frazil::python {
namespace {

using Terms = std::vector<Term>;

}  // namespace

Attributes attributes_of(const std::string& op, const py::list& rows) {
  Attributes attributes;
  for (const py::handle item : rows) {
    const auto row = item.cast<py::tuple>();
    auto name = row[0].cast<std::string>();
    const auto kind =
        row[1].is_none() ? std::nullopt : std::optional(static_cast<OperatorInfo::Kind>(row[1].cast<int>()));
    const std::string what = op + ": attribute '" + name + "'";
    attributes.emplace_back(std::move(name), attribute_of(row[2], kind, what));
  }
  return attributes;
}

namespace {

Term constant(const BodyObject& b, const py::object& value, const py::object& dtype, bool copy,
              const std::string& name) {
  const std::string what = name.empty() ? "a constant" : "constant '" + name + "'";
  const auto wanted = dtype.is_none() ? std::nullopt : std::optional(dtype_of_object(dtype, what));
  Array array = array_of(value, {what, Array::Kind::tensor, wanted, {}});
  if (array.is_tensor() && wanted && array.dtype() != *wanted) {
    refuse(what + ": expected " + std::string(python_name(*wanted)) + ", got " + python_name(array.dtype()));
  }
  return b.use().constant(copy ? copied(std::move(array)) : array, name);
}

Body::Fill fill_of(const py::function& make) {
  return [make](Body& body, std::span<const Term> params) {
    py::object inner = py::cast(std::make_unique<BodyObject>(&body));
    struct End {
      py::object& of;
      ~End() { of.cast<BodyObject&>().body = nullptr; }
    } end{inner};
    return make(inner, Terms(params.begin(), params.end())).cast<Terms>();
  };
}

/// `bodies`: tuples of a parameter count and a function of a body and its parameters.
Terms region(const BodyObject& b, const std::string& op, const Terms& inputs, const py::list& bodies,
             const py::list& attributes, std::optional<std::size_t> outputs, const std::string& name) {
  std::vector<Body::Region> regions;
  for (const py::handle item : bodies) {
    const auto pair = item.cast<py::tuple>();
    regions.push_back({pair[0].cast<std::size_t>(), fill_of(pair[1].cast<py::function>())});
  }
  return b.use().region(op, inputs, regions, attributes_of(op, attributes), outputs.value_or(Body::kAll), name);
}

Body::Side side_of(const py::function& make) {
  return [fill = fill_of(make)](Body& body) { return fill(body, {}); };
}

Terms if_else(const BodyObject& b, Term condition, const py::function& then, const py::function& otherwise,
              const std::string& name) {
  return b.use().if_else(condition, side_of(then), side_of(otherwise), name);
}

std::vector<Extent> extents_of(const py::sequence& shape, const std::string& what) {
  std::vector<Extent> extents;
  for (const py::handle extent : shape) {
    if (py::isinstance<py::str>(extent)) {
      extents.emplace_back(extent.cast<std::string>());
    } else if (PyIndex_Check(extent.ptr()) != 0) {
      extents.emplace_back(extent.cast<std::int64_t>());
    } else {
      refuse(what + ": an extent is an int or a text, got " + py::repr(extent).cast<std::string>());
    }
  }
  return extents;
}

Model build(const GraphObject& g, const py::object& policy) {
  const LoadOptions options{.policy = policy_of(policy)};
  const Unlocked unlocked;
  return g.graph.build(options);
}

void bind_bodies(py::module_& m) {
  py::class_<BodyObject>(m, "Body")
      .def("constant", &constant)
      .def("op",
           [](const BodyObject& b, const std::string& op, const Terms& inputs, const py::list& attributes,
              std::size_t outputs, const std::string& name) {
             return b.use().ops(op, inputs, attributes_of(op, attributes), outputs, name);
           })
      .def("region", &region)
      .def("if_else", &if_else)
      .def("loop",
           [](const BodyObject& b, Term trips, Term condition, const Terms& carried, const py::function& body,
              std::size_t collected, const std::string& name) {
             return b.use().loop(trips, condition, carried, fill_of(body), collected, name);
           })
      .def("type", [](const BodyObject& b, Term term) { return b.use().type(term); });
}

}  // namespace

void bind_builders(py::module_& m) {
  py::class_<Term>(m, "Term").def(py::init()).def("__bool__", [](const Term& term) { return static_cast<bool>(term); });
  bind_bodies(m);
  py::class_<GraphObject, BodyObject>(m, "GraphBuilder")
      .def(py::init<const std::string&>())
      .def("input",
           [](GraphObject& g, const std::string& name, const py::object& dtype, const py::sequence& shape) {
             const std::string what = "input '" + name + "'";
             return g.graph.input(name, dtype_of_object(dtype, what), extents_of(shape, what));
           })
      .def("output", [](GraphObject& g, const std::string& name, Term value) { g.graph.output(name, value); })
      .def("build", &build, py::arg("policy") = py::none());
  py::class_<PatchObject, BodyObject>(m, "PatchBuilder")
      .def(py::init<const Model&, const std::string&>())
      .def("tap", [](PatchObject& p, const std::string& value) { return p.patch.tap(value); })
      .def("input",
           [](PatchObject& p, const std::string& name, const py::object& dtype, const py::sequence& shape) {
             const std::string what = "input '" + name + "'";
             return p.patch.input(name, dtype_of_object(dtype, what), extents_of(shape, what));
           })
      .def("replace", [](PatchObject& p, const std::string& value, Term with) { p.patch.replace(value, with); })
      .def("wrap",
           [](PatchObject& p, const std::vector<std::string>& outputs, Term condition, const py::function& otherwise,
              const std::vector<std::string>& inputs,
              const std::string& name) { return p.patch.wrap(outputs, condition, side_of(otherwise), inputs, name); })
      .def("remove", [](PatchObject& p, const std::string& node) { p.patch.remove(node); })
      .def("set_attribute",
           [](PatchObject& p, const std::string& node, const std::string& attribute, const py::object& value) {
             const std::string what = "node '" + node + "': attribute '" + attribute + "'";
             p.patch.set_attribute(node, attribute, attribute_of(value, {}, what));
           })
      .def("add_output", [](PatchObject& p, const std::string& name, Term value) { p.patch.add_output(name, value); })
      .def("remove_output", [](PatchObject& p, const std::string& name) { p.patch.remove_output(name); })
      .def("commit", [](PatchObject& p) {
        const Unlocked unlocked;
        return p.patch.commit();
      });
}

}  // namespace frazil::python
