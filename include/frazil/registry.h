#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/live.h>

namespace frazil::api {

/// The models that graphs call by name, one set per process. Thread-safe.
///
/// A node frazil.Call runs the model `model`, its current version or number `version`, which is looked up in each call:
///
///   Registry::instance().put("head", LiveModel(model));
///   Term y = graph.op("frazil.Call", {x},
///                     {{"model", "head"}, {"takes", {"f32[N,64]"}}, {"gives", {"f32[N,10]"}}});
///
/// `takes` and `gives` are its contract: a type for each input and output, by position. Names stand for extents that
/// are equal wherever they occur; "?" for any. That the model keeps it is checked when the graph is loaded, built or
/// edited, and again for what each call gives. A run throws Code::bad_input, naming the node, when there is no such
/// model or version any more, and Code::limit where calls are nested more than 32 deep. The called model's policy is
/// asked as for any of its runs; its limits are those of the environment.
class Registry {
 public:
  static Registry& instance();
  /// Calls that begin from now on run this model; those that have begun end on the one before.
  void put(std::string_view name, LiveModel model);
  /// Throws Code::bad_input when there is none of this name.
  LiveModel get(std::string_view name) const;
  /// The same.
  void remove(std::string_view name);
  /// Sorted.
  std::vector<std::string> names() const;

 private:
  friend struct Access;
  Registry();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::api
