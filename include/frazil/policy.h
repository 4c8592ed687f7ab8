#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <frazil/operators.h>

namespace frazil::api {

class Model;
struct HostOperator;
struct VersionNote;

/// A file that a load reads, before its content has any effect. Valid during the call of the policy.
struct FileFacts {
  enum class Kind : std::uint8_t {
    model,     ///< an ONNX file
    external,  ///< external data of an ONNX file
    package,   ///< a file of `frazil compile`, which contains machine code
  };
  Kind kind = Kind::model;
  /// The path that was given to the load. External data: the path in the model's folder, or the key in
  /// LoadOptions::files. Empty for a model in memory.
  std::string_view path;
  /// The bytes that the load will use. A file that is mapped in place shows later writes; LoadOptions::copies excludes
  /// them.
  std::span<const std::byte> content;

  /// Returns "sha256:" and 64 hexadecimal digits of the content, which this call reads.
  std::string digest() const;
  /// Returns the operators of an ONNX file as used_operators() does: of all graphs and functions, before upgrades and
  /// type inference. Empty for other kinds. Throws Code::bad_model for a damaged file.
  std::vector<UsedOperator> operators() const;
  /// Returns the locations of external data that an ONNX file names, as written, sorted, without duplicates. They are
  /// not validated: a load refuses those outside of the model's folder. Empty for other kinds. Throws as operators().
  std::vector<std::string> external_locations() const;
};
/// Returns "model", ...
std::string_view name_of(FileFacts::Kind kind);

/// A change of a model. Valid during the call of the policy.
struct Change {
  enum class Kind : std::uint8_t {
    edit,       ///< Patch::commit(), LiveModel::edit(), LiveModel::commit()
    publish,    ///< LiveModel::publish()
    roll_back,  ///< LiveModel::roll_back()
  };
  Kind kind;
  const Model& from;
  const Model& to;
  const VersionNote* note;    ///< null for an edit outside a LiveModel
  std::uint64_t version = 0;  ///< the number that the version of a LiveModel will have; 0 outside of one
};
/// Returns "edit", "publish", "roll back".
std::string_view name_of(Change::Kind kind);

/// One run of a called model by a node frazil.Call. Valid during the call of the policy.
struct Dispatch {
  std::string_view name;      ///< of the called model in the registry
  std::uint64_t version = 0;  ///< the version that runs
  const Model& model;         ///< of that version
};

/// A policy that is checked before a file, a model, an edit or a run has any effect. The default allows everything. A
/// returned text is the reason for a rejection and is thrown as Code::bad_input. An exception rejects too. It must be
/// thread-safe if several threads load or run. Functions must not run the models that they check.
class Policy {
 public:
  virtual ~Policy() = default;
  /// Called for each file of a load, before the model is read from it: type rules and custom operators have not run.
  virtual std::optional<std::string> check_file(const FileFacts&) { return std::nullopt; }
  virtual std::optional<std::string> check_load(const Model&) { return std::nullopt; }
  /// Returns whether check_load() is called for the model after a change, before check_change(). A policy for which
  /// loads and changes are different actions returns false.
  virtual bool loads_changed_models() const { return true; }
  /// Called before a change takes effect. The default calls check_edit().
  virtual std::optional<std::string> check_change(const Change& change) { return check_edit(change.from, change.to); }
  virtual std::optional<std::string> check_edit(const Model& /*from*/, const Model& /*to*/) { return std::nullopt; }
  virtual std::optional<std::string> check_run(const Model&) { return std::nullopt; }
  /// Called before a node frazil.Call runs a model. The policies are those of the calling model; check_run() of the
  /// called model follows.
  virtual std::optional<std::string> check_dispatch(const Dispatch&) { return std::nullopt; }
  /// Called before a custom operator is registered, in the process or for one load.
  virtual std::optional<std::string> check_operator(const HostOperator&) { return std::nullopt; }
};

/// Gives the process a policy. It is checked before the policy of LoadOptions, for each load, change, run and
/// registration that begins later, also of models that were loaded before. It cannot be removed or replaced: a second
/// call throws Code::bad_input, as does null. Thread-safe.
void install_policy(std::shared_ptr<Policy> policy);
/// Returns the policy of the process, or null.
std::shared_ptr<Policy> process_policy();

}  // namespace frazil::api
