#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "govern/base/json.h"
#include "govern/sign/approval.h"

namespace frazil::govern {

/// The state of the signature of a model that is being loaded.
struct LoadSignature {
  bool valid = false;
  std::string signer;             ///< the name of the key's owner, if it is valid
  std::string state = "missing";  ///< "valid", "missing", "untrusted" or "incomplete": a file that it does not cover
  std::map<std::string, std::string, std::less<>> files;  ///< digests of the signed files by their names in the folder

  /// Makes it invalid if the model's folder has no signed file of this name and digest.
  void require(std::string_view name, std::string_view digest);
  /// Returns {"valid", "state", "signer"}, as rules read it.
  Json facts() const;
};

/// Verifies the signature of a model file: "PATH.sig" of the file alone, or else "model.sig" of its folder. `digest` is
/// that of the bytes that are loaded; they must be those that were signed. Damaged and unreadable signatures are
/// "untrusted".
LoadSignature signature_of_model(const std::string& path, std::string_view digest, std::span<const Person> trusted);

}  // namespace frazil::govern
