#pragma once

#include "python/src/python.h"

namespace frazil::python {

/// A reference to a body that checks whether it is still valid.
struct BodyObject {
  explicit BodyObject(Body* of) : body(of) {}
  virtual ~BodyObject() = default;
  Body& use() const {
    if (body == nullptr) refuse("a body is used after its end");
    return *body;
  }
  Body* body;
};
struct GraphObject : BodyObject {
  explicit GraphObject(const std::string& name) : BodyObject(&graph), graph(name) {}
  GraphBuilder graph;
};
struct PatchObject : BodyObject {
  PatchObject(const Model& model, const std::string& name) : BodyObject(&patch), patch(model, name) {}
  Patch patch;
};

/// Reads rows of (name, kind or None, value). Throws Code::bad_input that names the operator.
Attributes attributes_of(const std::string& op, const py::list& rows);

}  // namespace frazil::python
