#pragma once

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <frazil/build.h>
#include <frazil/host_operator.h>
#include <frazil/model.h>
#include <frazil/policy.h>
#include <frazil/registry.h>

#include "api/policy.h"
#include "base/limits/load_scope.h"
#include "base/thread/mutex.h"
#include "base/value/error.h"
#include "exec/run/session.h"
#include "ir/edit/builder.h"
#include "ir/edit/own_extents.h"
#include "ir/edit/patch.h"
#include "ir/graph/names.h"
#include "ir/op/op_set.h"
#include "tensor/datum.h"

// The implementation of the public classes. In frazil::api, `Session` is the public class and `exec::Session` the
// internal one.
namespace frazil::api {

struct Array::Impl {
  Datum datum;             ///< value from a session; tensors may have padding
  mutable Mutex mutex;     ///< guards `dense`
  mutable Tensor dense{};  ///< the tensor without padding, made on the first read of elements
  const Tensor& elements() const;
};

/// Return the bounds from the environment, and the same with the bounds that the options set.
LoadBounds usual_bounds();
LoadBounds bounds_of(const LoadOptions& options);
/// Returns null for an empty function.
logging::SinkPtr sink_of(Log log);
/// Converts milliseconds. Throws, naming the option, for a negative number or NaN.
std::chrono::steady_clock::duration duration_of(double milliseconds, std::string_view option);

/// The ways to run a model. The tiers come first, in the order of exec::Tier.
enum class ExecutionMode : std::uint8_t { planned, compiled, specialised, adaptive, reference };
exec::Options options_of(ExecutionMode mode);

/// The registry of a model's calls, which may have ended.
class CalledModels {
 public:
  CalledModels() = default;
  /// Null: Registry::instance().
  explicit CalledModels(const std::shared_ptr<const Registry>& registry)
      : registry_(registry), is_own_(registry != nullptr) {}
  /// Returns false for Registry::instance().
  bool is_own() const { return is_own_; }
  /// Throws Code::bad_input if the registry has ended.
  LiveModel get(std::string_view name) const;

 private:
  std::weak_ptr<const Registry> registry_;
  bool is_own_ = false;
};

/// The properties that a load gives a model, and that edits of it keep.
struct Inherited {
  Policies policies = {};
  LoadBounds bounds = usual_bounds();           ///< bounds of planning
  CalledModels registry = {};                   ///< of the calls
  std::shared_ptr<const OpSet> operators = {};  ///< the model's own, or null
  bool lenient = false;                         ///< LoadOptions::lenient
};

struct Model::Impl : Inherited, std::enable_shared_from_this<Model::Impl> {
  explicit Impl(const Inherited& from) : Inherited(from) {}

  std::shared_ptr<const Graph> graph;
  std::vector<Port> inputs, outputs;
  std::shared_ptr<const std::vector<std::string>> output_names;
  Mutex mutex;
  std::array<std::shared_ptr<exec::Executable>, 5> executables;  ///< made on first use
  std::vector<EqualAxes> equal_axes;  ///< of a lenient model: the axes of inputs whose extents need not be equal
  Mutex own_extents_mutex;
  std::shared_ptr<Impl> own_extents;  ///< guarded by own_extents_mutex; see with_own_extents()
  Mutex digest_mutex;
  std::string digest;  ///< guarded by digest_mutex; computed on first use

  std::shared_ptr<exec::Executable> executable(ExecutionMode mode);
  /// Returns whether the extents of all `equal_axes` are equal. An empty Datum has the input's default.
  bool has_equal_extents(std::span<const Datum> given) const;
  /// Returns the model whose inputs share no extents. It is made on first use, with a warning. Throws Code::bad_model,
  /// with the node, if one needs the extents to be equal.
  std::shared_ptr<Impl> with_own_extents();
  /// Drops the plans. Open sessions keep theirs.
  void forget_plans();
};

struct Body::Impl {
  std::unique_ptr<Graph> graph;  ///< only of a GraphBuilder
  std::unique_ptr<frazil::Patch> patch;
  std::optional<Model> model;              ///< the model that a patch edits
  std::unique_ptr<Names> names;            ///< names of the model's graph
  std::shared_ptr<const OpSet> operators;  ///< of that model
  std::size_t old_blocks = 0;              ///< number of blocks of the edited model; their values may be used anywhere
  std::unique_ptr<Builder> own;
  Builder* builder = nullptr;

  Builder& to() const;
};

/// The only friend of the public classes.
struct Access {
  /// Returns the datum for sessions, which accept tensors with padding.
  static const Datum& datum(const Array& array);
  /// Returns the datum for all other uses: tensors are in row-major order without padding.
  static Datum dense(const Array& array);
  /// Returns the tensor of `array` as dense() does. Throws Code::bad_input for other kinds.
  static const Tensor& elements(const Array& array);
  static Array array(Datum datum);
  /// Stores `datum` in `array`, in place if its handle is not shared.
  static void assign(Array& array, Datum datum);
  /// Moves the value out for reuse. Returns an empty Datum if it is shared.
  static Datum release(Array& array);
  using ModelImpl = Model::Impl;
  static Model::Impl& impl(const Model& model) { return *model.impl_; }
  /// Makes a model and checks its policies.
  static Model model(Graph graph, const Inherited& from = {}, bool check_calls = true);
  /// Makes a model that does what `from` does, in another form. The policies that allowed `from` are not called.
  static Model derived(Graph graph, const Inherited& from);
  /// Returns `model` with its policies and those of `from`, without checking them.
  static Model governed(Model model, const Model& from);
  /// Returns the value of a term. Throws unless it may be used in `body`.
  static Value value(const Body::Impl& body, const Term& term);
  static Term term(const Builder& builder, Value value);
  /// Adds an input to the graph under construction.
  static Term input(Body::Impl& body, std::string_view name, Dtype dtype,
                    const std::vector<Extent>* dims);  ///< null: of any rank
  /// Adds an output to the graph under construction. Returns its value.
  static Expr output(Body::Impl& body, std::string_view name, const Term& value);
  /// Commits a patch. `note` and `version` are those of a version of a LiveModel, or null and 0.
  static Model commit(Patch& patch, const VersionNote* note, std::uint64_t version);
  /// Returns the model that a patch edits.
  static const Model& edited_by(const Patch& patch);
  /// Returns a description of the patch so far.
  static std::string describe(const Patch& patch);
  /// Builds block `index` of an open region.
  static void fill(Body::Impl& outer, NodeId region, std::size_t index, const Body::Fill& fill);
  static const auto& content(const Extent& extent) { return extent.v_; }
  static AttrValue attribute(const Attribute& attribute);
  /// Returns the attributes of a node of a HostOperator.
  static NodeAttributes attributes(const void* attrs);
  using ReplyState = HostReply::State;
  static HostReply reply(std::shared_ptr<ReplyState> state);
  /// Returns a handle to the model that does not own a pool. Sessions hold it, because a pool owns them.
  static Model without_pool(const Model& model) { return {model.impl_, nullptr}; }
  /// Removes all that users have set on an open session. Returns false if it is in use or was moved from.
  static bool reset(Session& session) noexcept;
  /// Runs a session. The deadline counts from `since`.
  static Results run_since(Session& session, std::span<const Array> inputs,
                           std::chrono::steady_clock::time_point since);
};

/// Returns what a model has from a load within `bounds`.
Inherited inherited(const LoadOptions& options, LoadBounds bounds);

Error error_of(const Fault& fault);
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

/// Reads the knobs and links the operators, once. Throws on every call if a knob is malformed.
void start();

}  // namespace frazil::api
