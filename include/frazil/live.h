#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/build.h>
#include <frazil/model.h>
#include <frazil/session.h>

namespace frazil::api {

/// Who makes a version, and why.
struct VersionNote {
  std::string author, reason;
};

/// One version of a LiveModel.
struct Version {
  std::uint64_t number = 1;             ///< from 1 on; never used for another one
  std::optional<std::uint64_t> parent;  ///< the version that was current before; none: the first one
  VersionNote note;
  std::chrono::system_clock::time_point made;
  std::string change;  ///< "patch 'clip': 1 new nodes (Min); ...", "rolled back to 3", "published"
  Model model;
};

class LiveSession;

/// A model that is edited while requests run. Each edit makes a version; requests that have begun end on theirs, those
/// that begin afterwards run on the new one. Planned parts, packed weights and constants that versions have in common
/// exist once. A handle to shared data: copies are cheap, and moving copies. Thread-safe; edits wait for each other,
/// and requests wait for no edit. The last eight versions stay planned; an older one is planned again when it is
/// opened. Each new version beyond `most_versions` makes the model forget its oldest one.
///
///   LiveModel live(model);
///   LiveSession session = live.open();
///   live.edit({"ada", "outliers"}, [](Patch& patch) {
///     patch.replace("y", patch.op("Min", {patch.tap("y"), patch.scalar(6.0f)}));
///   });
///   auto out = session.run({{"x", x}});  // of version 2
///   live.roll_back(1, {"ada", "too low"});
class LiveModel {
 public:
  static constexpr std::size_t kMostVersions = 256;
  /// Throws Code::bad_input for a `most_versions` of 0.
  explicit LiveModel(Model first, VersionNote note = {}, std::size_t most_versions = kMostVersions);
  LiveModel(const LiveModel&) = default;
  LiveModel& operator=(const LiveModel&) = default;

  Version current() const;
  /// All versions that are kept, oldest first.
  std::vector<Version> history() const;
  /// Throws Code::bad_input for a number that no version has.
  Version version(std::uint64_t number) const;

  /// `change` edits the current version, on this thread. Its patch is applied, checked by the policy
  /// (Policy::check_load, check_edit) and planned; then the version becomes current. Throws what Patch and the policy
  /// throw, and what `change` throws; the current version then stays.
  Version edit(VersionNote note, const std::function<void(Patch&)>& change);
  /// As edit(), of a patch of the current version's model that was begun before. Throws Code::bad_input when another
  /// version has become current since; the patch is then as it was.
  Version commit(Patch& patch, VersionNote note);
  /// Makes a model from elsewhere the current version, planned and checked as above. A model without a policy takes
  /// that of the current version.
  Version publish(Model model, VersionNote note);
  /// A new version with the model of an older one.
  Version roll_back(std::uint64_t number, VersionNote note);
  /// Forgets a version that is not the current one, so that its memory is free once no session uses it. Throws
  /// Code::bad_input for the current one and for a number that no version has.
  void forget(std::uint64_t number);

  LiveSession open(const Options& options = {}) const;

 private:
  friend class LiveSession;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

/// A session that runs whatever version is current when a run begins. As Session: one run at a time; not thread-safe,
/// except cancel(); a call on one that was moved from throws Code::bad_input.
class LiveSession {
 public:
  LiveSession(LiveSession&&) noexcept;
  LiveSession& operator=(LiveSession&&) noexcept;
  ~LiveSession();

  /// As Session::run, of the current version.
  Results run(std::initializer_list<Named> inputs);
  Results run(std::span<const Named> inputs);
  /// As run(), of inputs that are made once it is known which version runs: `inputs` is called once, on this thread.
  Results run_with(const std::function<std::vector<Named>(const Version&)>& inputs);

  /// From now on, `output` of a run is `input` of the next one, where that is not given: a KV cache, a recurrent state.
  /// It is kept when the version changes, unless the new version lacks one of the two or the value does not fit the
  /// input's type; then the input has its default again, or has to be given. Throws Code::bad_input for names that the
  /// current version does not have.
  void carry(std::string_view output, std::string_view input);
  /// Forgets what is carried: the next run begins anew.
  void reset();

  /// The version of the last run; 0: none yet.
  std::uint64_t version() const;
  /// Makes the run in progress stop soon with Code::cancelled. Callable from any thread, and from a signal's handler.
  void cancel() noexcept;

 private:
  friend class LiveModel;
  struct Impl;
  explicit LiveSession(std::unique_ptr<Impl> impl);
  Impl& impl() const;
  std::unique_ptr<Impl> impl_;
};

/// What distinguishes two models, as lines of their text form: "- " and a line that only `from` has, "+ " and one that
/// only `to` has, in the order of the graphs. The order of nodes does not matter. Empty: none.
std::string diff(const Model& from, const Model& to);
/// `to` as input for Graphviz (DOT), with new nodes in green, changed ones in amber, and those that only `from` has in
/// red. Nodes that patches left alone are the same in both; those of models from different files are told apart by
/// name.
std::string diff_dot(const Model& from, const Model& to);

}  // namespace frazil::api
