#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "govern/base/digest.h"
#include "govern/base/key.h"
#include "govern/sign/folder.h"

namespace frazil::govern {

/// The files of a folder that signatures in it cover: bundles model.sig of the folder and the folders in it, and
/// FILE.sig beside a file.
class CoveredFiles {
 public:
  /// Verifies the bundles among `entries` with the trusted keys; without keys, none. Throws as verify_folder().
  CoveredFiles(const std::string& folder, std::span<const Folder::Entry> entries, std::span<const PublicKey> trusted);

  /// Returns true if an accepted signature covers the file with this digest.
  bool has(const std::string& name, const Digest& digest) const;
  /// Returns the reasons why bundles were not accepted.
  const std::vector<std::string>& violations() const { return violations_; }

 private:
  void add(const std::string& folder, const std::string& bundle, std::span<const Folder::Entry> entries,
           std::span<const PublicKey> trusted);

  std::map<std::string, Digest> digests_;
  std::vector<std::string> violations_;
};

}  // namespace frazil::govern
