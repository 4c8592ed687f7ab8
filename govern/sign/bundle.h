#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "govern/base/key.h"
#include "govern/sign/folder.h"
#include "govern/sign/violation.h"

// Signatures of model folders: OpenSSF Model Signing 1.0, method `key`, serialization `files`, hash `sha256`.
namespace frazil::govern {

/// The name of a bundle in a folder, and the ending that is appended to the path of a single file. These are the
/// defaults of the OpenSSF tools.
inline constexpr const char* kBundleName = "model.sig";
inline constexpr const char* kBundleEnding = ".sig";
/// Returns "PATH/model.sig" for a folder, and "PATH.sig" for a file.
std::string default_bundle_path(const std::string& path);

/// Returns a bundle in JSON that signs all files of a folder, or one file. `bundle_path` is where the bundle will be
/// written; it is not signed if it is in the folder, and neither are .git, .gitignore, .gitattributes and .github at
/// the top. Throws Code::bad_input for a key that is not ECDSA, for a folder without files, and for a symbolic link, a
/// hard link or another special file, which it names.
std::string sign_folder(const std::string& path, const SigningKey& key, const std::string& bundle_path);

struct FolderVerifyOptions {
  std::string bundle_path = {};  ///< where the bundle was read; it needs no signature. Empty: it is not in the folder
  bool keep_open = true;         ///< false: HashedFile::file is closed; for folders with more files than descriptors
};

/// The result of a verification.
struct VerifiedFolder {
  std::vector<Violation> violations;  ///< empty: the folder is as it was signed
  std::size_t signer = 0;             ///< index of the key; only without violations
  std::string statement = {};         ///< digest of the signed statement: "sha256:..."
  /// The signed files, sorted by name; empty if there are violations. Load nothing else: files that the signature
  /// ignores, such as .git, are not here.
  std::vector<HashedFile> files = {};

  bool accepted() const { return violations.empty(); }
  /// Returns the file of this name, or null.
  const HashedFile* find(std::string_view name) const;
};

/// Verifies a folder or a file with a bundle. Every file must be signed with its name and its digest, and every signed
/// file must exist. The hint of the key decides nothing. A text that is not a bundle of method `key` with one
/// signature, and other serializations and hashes than `files` and `sha256`, are violations, too. `what` names the
/// bundle in them. Throws Code::bad_input for trusted keys that are not ECDSA and for a path that cannot be read, and
/// as Folder.
VerifiedFolder verify_folder(const std::string& path, std::string_view bundle, std::string_view what,
                             std::span<const PublicKey> trusted, const FolderVerifyOptions& options = {});

}  // namespace frazil::govern
