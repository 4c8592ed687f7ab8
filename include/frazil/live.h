#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
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

/// The author of a version and the reason for it.
struct VersionNote {
  std::string author, reason;
};

/// One version of a LiveModel.
struct Version {
  std::uint64_t number = 1;             ///< from 1 on; never reused
  std::optional<std::uint64_t> parent;  ///< the version that was current before; nullopt for the first one
  VersionNote note;
  std::chrono::system_clock::time_point made;
  std::string change;  ///< "patch 'clip': 1 new nodes (Min); ...", "rolled back to 3", "published"
  Model model;
};

class LiveSession;

/// A model that can be edited while requests run. Each edit makes a version. Requests that have begun finish on their
/// version; later requests run on the new one. Planned parts, packed weights and constants that versions have in common
/// exist once.
///
/// A LiveModel is a handle to shared data: copies are cheap, and moving copies. Thread-safe; edits wait for each other,
/// and requests wait for no edit. The last eight versions stay planned; an older version is planned again when it is
/// opened. If there are more than `most_versions`, a new version discards the oldest one.
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
  /// Makes a model with versions that have numbers already, of which the largest is current. New versions get larger
  /// numbers. Pools of all versions, also of later ones, have sessions with `options`, and versions are planned for
  /// them. Throws Code::bad_input if there is no version, or one with number 0.
  LiveModel(const std::map<std::uint64_t, Model>& versions, const Options& options, const VersionNote& note = {});
  LiveModel(const LiveModel&) = default;
  LiveModel& operator=(const LiveModel&) = default;

  Version current() const;
  /// Returns all versions that are kept, oldest first.
  std::vector<Version> history() const;
  /// Throws Code::bad_input if no version has this number.
  Version version(std::uint64_t number) const;

  /// Edits the current version by calling `change` on this thread. The patch is applied, checked by the policy
  /// (Policy::check_load, check_edit) and planned; then the version becomes current. Throws the errors of Patch, of the
  /// policy and of `change`. After an error, the current version is unchanged.
  Version edit(VersionNote note, const std::function<void(Patch&)>& change);
  /// Commits a patch of the current version's model, as edit() does. Throws Code::bad_input if another version has
  /// become current since the patch was made; the patch is then unchanged.
  Version commit(Patch& patch, VersionNote note);
  /// Makes another model the current version. It is planned and checked as in edit(). It keeps its policy and gets
  /// those of the current version, which decide.
  Version publish(Model model, VersionNote note);
  /// Makes a new version with the model of an older one.
  Version roll_back(std::uint64_t number, VersionNote note);
  /// Forgets a version other than the current one. Its memory is freed when no session uses it. Throws Code::bad_input
  /// for the current version, and if no version has this number.
  void forget(std::uint64_t number);

  /// Makes edits, publications and roll-backs call `check` with the new version before it becomes current, on their
  /// thread. If it throws, they throw its exception, and the current version stays. An empty function: none. The
  /// function must not edit this model.
  using Check = std::function<void(const LiveModel&, const Version& next)>;
  void set_check(Check check);

  LiveSession open(const Options& options = {}) const;

  /// Returns true for handles to the same model.
  bool operator==(const LiveModel& other) const { return impl_ == other.impl_; }

 private:
  friend class LiveSession;
  struct Impl;
  explicit LiveModel(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

/// A session that runs the version that is current when a run begins. It has one run at a time. Not thread-safe, except
/// cancel(). A call on a moved-from session throws Code::bad_input.
class LiveSession {
 public:
  LiveSession(LiveSession&&) noexcept;
  LiveSession& operator=(LiveSession&&) noexcept;
  ~LiveSession();

  /// Runs the current version, as Session::run does.
  Results run(std::initializer_list<Named> inputs);
  Results run(std::span<const Named> inputs);
  /// Runs as run() does, with inputs that depend on the version. `inputs` is called once, on this thread, with the
  /// version that runs.
  Results run_with(const std::function<std::vector<Named>(const Version&)>& inputs);

  /// Carries a value between runs, such as a KV cache or a recurrent state. From the next run on, `output` of a run is
  /// `input` of the following run, if that input is not given.
  ///
  /// The value is kept when the version changes, if the new version has the output and the input, and the value fits
  /// the input's type. Otherwise the input takes its default, or must be given. Throws Code::bad_input for names that
  /// the current version does not have.
  void carry(std::string_view output, std::string_view input);
  /// Forgets the carried values. The next run starts without them.
  void reset();

  /// Returns the number of the version of the last run, or 0 before the first run.
  std::uint64_t version() const;
  /// Makes the run in progress stop soon with Code::cancelled. Callable from any thread and from a signal handler.
  void cancel() noexcept;

 private:
  friend class LiveModel;
  struct Impl;
  explicit LiveSession(std::unique_ptr<Impl> impl);
  Impl& impl() const;
  std::unique_ptr<Impl> impl_;
};

/// Returns the differences of two models as lines of their text form, in the order of the graphs. "- " precedes a line
/// that only `from` has, "+ " a line that only `to` has. The order of nodes does not matter. Returns an empty text if
/// there are no differences.
std::string diff(const Model& from, const Model& to);
/// Returns `to` as input for Graphviz (DOT). New nodes are green, changed ones amber, and nodes that only `from` has
/// are red. Nodes that patches did not change are recognised as the same. Nodes of models from different files are
/// matched by name.
std::string diff_dot(const Model& from, const Model& to);

}  // namespace frazil::api
