#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "govern/sign/folder.h"

// Trust in files that an installation made itself: cached machine code, and packages of 'frazil compile'.
namespace frazil::govern {

/// The purpose of a file. A tag of one purpose does not verify for another.
enum class FilePurpose : std::uint8_t { code_cache, package };

/// A secret of 32 bytes in a file of one installation.
class InstallationKey {
 public:
  /// Reads the key; makes it, with mode 0600, if the file does not exist. Throws Code::bad_input if the file cannot be
  /// read or written, has another size, or can be read or written by others than its owner.
  static InstallationKey open(const std::string& path);
  ~InstallationKey();
  InstallationKey(const InstallationKey&) = default;
  InstallationKey& operator=(const InstallationKey&) = default;

  /// Returns the HMAC-SHA-256 over a purpose, the file's name and the digest of its content, in hexadecimal digits.
  std::string tag(FilePurpose purpose, std::string_view name, const Digest& content) const;

 private:
  InstallationKey() = default;
  std::array<std::uint8_t, 32> key_{};
};

/// Returns the tag of a file, to be stored beside it. Throws as Folder::hash().
std::string sign_file(const std::string& path, FilePurpose purpose, const InstallationKey& key);

/// Verifies a tag. Returns the open file; map or copy it through HashedFile::file, and call is_unchanged() afterwards.
/// Returns the reason if the tag is not that of the file. Throws as Folder::hash().
std::expected<HashedFile, std::string> verify_file(const std::string& path, FilePurpose purpose, std::string_view tag,
                                                   const InstallationKey& key);

}  // namespace frazil::govern
