#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "govern/base/digest.h"

namespace frazil::govern {

/// The keys of subjects (persons, tenants, or a tenant's day), whose destruction erases what was recorded about them.
/// They live in a folder of their own, which must not be copied with the log. A subject has a random identifier, which
/// the log shows; the folder alone maps subjects to identifiers. Thread-safe.
class SubjectKeys {
 public:
  /// Opens or creates the folder, for its owner only. Throws Code::bad_input.
  explicit SubjectKeys(std::string folder);

  /// Returns the identifier of a subject, 32 hexadecimal digits, and creates its key if there is none. The key survives
  /// a crash when it returns. Throws Code::bad_input.
  std::string id_of(std::string_view subject);
  /// Returns the identifier of a subject that has a key, and nullopt for another one.
  std::optional<std::string> find_id(std::string_view subject);
  /// Returns "hmac-sha256:" and 64 hexadecimal digits: a commitment to a value under a key of the record and the name,
  /// derived from the subject's. Without the key, it cannot be compared with guessed values. Throws Code::bad_input if
  /// the subject's key was destroyed.
  std::string commit(const std::string& id, std::string_view record, std::string_view name, std::string_view value);
  /// Encrypts the payload of a record (AES-256-GCM). Throws as commit().
  std::string seal(const std::string& id, std::string_view record, std::string_view payload);
  /// Returns the payload, or nullopt if the key was destroyed or the bytes are not those that were sealed.
  std::optional<std::string> unseal(const std::string& id, std::string_view record, std::string_view sealed);
  /// Destroys the key of a subject and returns its identifier for the event `erase`, or nullopt if it has none. A later
  /// id_of() gives another identifier.
  std::optional<std::string> destroy_key(std::string_view subject);

 private:
  std::optional<std::string> known_id(const std::string& name) const;
  std::optional<Digest> key_of(const std::string& id);
  Digest record_key(const std::string& id, std::string_view use, std::string_view record);
  std::string name_path(std::string_view subject) const;
  std::string key_path(const std::string& id) const;

  std::string folder_;
  Digest secret_ = {};  ///< names the files of subjects
  std::mutex mutex_;
  std::unordered_map<std::string, Digest> cache_;  ///< keys by identifier
};

}  // namespace frazil::govern
