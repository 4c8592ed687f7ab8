#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/live.h>

namespace frazil::api {

/// The models that graphs call by name. A process has one for all models, and a model may be loaded with another one
/// (LoadOptions::registry). Thread-safe.
///
/// A node frazil.Call runs the model `model` of its graph's registry: its current version, or the version with number
/// `version`. Each call looks it up:
///
///   Registry::instance().put("head", LiveModel(model));
///   Term y = graph.op("frazil.Call", {x},
///                     {{"model", "head"}, {"takes", {"f32[N,64]"}}, {"gives", {"f32[N,10]"}}});
///
/// `takes` and `gives` are the contract of the call: a type for each input and output, by position. A name denotes an
/// extent that is equal wherever the name occurs; "?" denotes any extent. The contract is checked when the graph is
/// loaded, built or edited, and again for the results of each call.
///
/// A run throws Code::bad_input, naming the node, if the model or the version does not exist. It throws Code::limit if
/// calls are nested more than 32 deep. The policy of the called model is checked as for its other runs; its limits are
/// those of the environment.
class Registry {
 public:
  /// Makes an empty registry. Calls of models that were loaded with it fail with Code::bad_input after its end.
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;
  /// Returns the registry of models that are loaded without one.
  static Registry& instance();
  /// Registers a model. Calls that begin afterwards run it; calls that have begun end on the previous model.
  void put(std::string_view name, LiveModel model);
  /// Throws Code::bad_input if there is no model of this name.
  LiveModel get(std::string_view name) const;
  /// Returns nullopt if there is no model of this name.
  std::optional<LiveModel> find(std::string_view name) const;
  /// Throws Code::bad_input if there is no model of this name.
  void remove(std::string_view name);
  /// Returns the names, sorted.
  std::vector<std::string> names() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::api
