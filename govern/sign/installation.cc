#include "govern/sign/installation.h"

#include <algorithm>
#include <cerrno>

#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include "govern/base/encoding.h"
#include "govern/base/error.h"
#include "govern/sign/secret_file.h"

namespace frazil::govern {
namespace {

constexpr std::string_view name_of(FilePurpose purpose) {
  return purpose == FilePurpose::code_cache ? "code cache" : "package";
}

/// Creates the key, unless another process does at the same time.
void create_key(const std::string& path) {
  std::array<std::uint8_t, 32> key{};
  random_bytes(key);
  (void)create_secret_file(path, key);
  OPENSSL_cleanse(key.data(), key.size());
}

}  // namespace

InstallationKey InstallationKey::open(const std::string& path) {
  struct stat info = {};
  if (::lstat(path.c_str(), &info) != 0 && errno == ENOENT) create_key(path);
  const File file = open_file(path);
  if (::fstat(file.get(), &info) != 0) fail(Code::bad_input, "key file '{}': cannot be read", path);
  if ((info.st_mode & 077) != 0 || info.st_uid != ::geteuid()) {
    fail(Code::bad_input, "key file '{}': others than its owner may use it, expected mode 0600 and the user's own file",
         path);
  }
  InstallationKey key;
  std::string bytes = read_all(file, path, key.key_.size());
  const bool whole = bytes.size() == key.key_.size();
  if (whole) std::ranges::copy(bytes_of(bytes), key.key_.begin());
  OPENSSL_cleanse(bytes.data(), bytes.size());
  if (!whole) fail(Code::bad_input, "key file '{}': expected {} bytes", path, key.key_.size());
  return key;
}

InstallationKey::~InstallationKey() { OPENSSL_cleanse(key_.data(), key_.size()); }

std::string InstallationKey::tag(FilePurpose purpose, std::string_view name, const Digest& content) const {
  const std::string message =
      fmt::format("frazil installation v1\n{}\n{} {}\n{}", name_of(purpose), name.size(), name, hex(content));
  return hex(hmac(key_, message));
}

std::string sign_file(const std::string& path, FilePurpose purpose, const InstallationKey& key) {
  const auto [folder, name] = place_of_file(path);
  return key.tag(purpose, name, Folder(folder).hash(name).digest);
}

std::expected<HashedFile, std::string> verify_file(const std::string& path, FilePurpose purpose, std::string_view tag,
                                                   const InstallationKey& key) {
  const auto [folder, name] = place_of_file(path);
  HashedFile file = Folder(folder).hash(name);
  const std::string expected = key.tag(purpose, name, file.digest);
  if (tag.size() == expected.size() && CRYPTO_memcmp(tag.data(), expected.data(), tag.size()) == 0) return file;
  return std::unexpected(
      fmt::format("file '{}': its tag is not one of this installation for a {}", path, name_of(purpose)));
}

}  // namespace frazil::govern
