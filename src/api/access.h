#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <frazil/build.h>
#include <frazil/model.h>
#include <frazil/observer.h>

#include "base/error.h"
#include "exec/session.h"
#include "ir/builder.h"
#include "ir/patch.h"
#include "tensor/datum.h"

// What the public classes are made of. In frazil::api a plain `Session` is the public one, `exec::Session` the
// internal one.
namespace frazil::api {

struct Array::Impl {
  Datum datum;               ///< as a session gave it: a tensor may have gaps
  mutable std::mutex mutex;  ///< of `dense`
  mutable Tensor dense{};    ///< such a tensor without them, once somebody reads its elements
  const Tensor& elements() const;
};

struct Model::Impl {
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<Policy> policy;
  std::vector<Port> inputs, outputs;
  std::shared_ptr<const std::vector<std::string>> output_names;
  std::mutex mutex;
  std::shared_ptr<exec::Executable> tape, reference;  ///< made when first asked for

  std::shared_ptr<exec::Executable> executable(bool on_reference);
};

struct Body::Impl {
  std::unique_ptr<Graph> graph;  ///< a GraphBuilder's
  std::unique_ptr<frazil::Patch> patch;
  std::optional<Model> model;  ///< what a patch edits
  std::unique_ptr<Builder> own;
  Builder* builder = nullptr;

  Builder& to() const;
};

/// The one friend of the public classes.
struct Access {
  /// For a session, which takes tensors with gaps.
  static const Datum& datum(const Array& array);
  /// For everybody else: tensors are in row-major order without gaps.
  static Datum dense(const Array& array);
  /// A tensor's, so; raises for what is no tensor.
  static const Tensor& elements(const Array& array);
  static Array array(Datum datum);
  /// Puts `datum` into `array`, in place where nobody shares its handle.
  static void assign(Array& array, Datum datum);
  /// The content for writing into, or an empty Datum where it is shared.
  static Datum release(Array& array);
  static Model::Impl& impl(const Model& model) { return *model.impl_; }
  /// Makes a model and asks the policy.
  static Model model(Graph graph, std::shared_ptr<Policy> policy);
  /// The value behind a term that may be used at `body`'s place.
  static Value value(const Body::Impl& body, const Term& term);
  static Term term(const Builder& builder, Value value);
  static Expr expr(const Body::Impl& body, const Term& term) { return {body.builder, value(body, term)}; }
  /// Fills block `index` of an open region.
  static void fill(Body::Impl& outer, NodeId region, std::size_t index, const Body::Fill& fill);
  static const auto& content(const Extent& extent) { return extent.v_; }
  static AttrValue attribute(const Attribute& attribute);
};

/// Throws api::Error.
[[noreturn]] void raise(const Fault& fault);
inline void check(const Status& status) {
  if (!status) raise(status.error());
}
template <class T>
T take(Result<T> result) {
  if (!result) raise(result.error());
  return std::move(*result);
}
template <class... A>
[[noreturn]] void refuse(frazil::Code code, fmt::format_string<A...> format, A&&... args) {
  raise({code, fmt::format(format, std::forward<A>(args)...)});
}

/// Reads the knobs and links the operators, once; throws for a malformed knob each time.
void start();

}  // namespace frazil::api
