#include "govern/audit/blobs.h"

#include <filesystem>

#include <unistd.h>

#include "govern/audit/event.h"
#include "govern/base/encoding.h"
#include "govern/base/error.h"
#include "govern/base/file.h"

namespace frazil::govern {

std::string blob_path(const std::string& folder, std::string_view digest) {
  if (!is_digest_text(digest)) fail(Code::bad_input, "blob '{}': expected sha256: and 64 hexadecimal digits", digest);
  return fmt::format("{}/blobs/{}/{}", folder, digest.substr(7, 2), digest.substr(9));
}

std::string put_blob(const std::string& folder, std::string_view bytes) {
  if (bytes.size() > kMaxBlobBytes) fail(Code::limit, "a blob has {} bytes; at most {}", bytes.size(), kMaxBlobBytes);
  std::string digest = digest_text(sha256(bytes));
  const std::filesystem::path path = blob_path(folder, digest);
  if (std::filesystem::exists(path)) return digest;
  make_folder(path.parent_path());
  // Two threads may store the same bytes; each needs a temporary file of its own.
  std::array<std::uint8_t, 8> random;
  random_bytes(random);
  const std::string own = fmt::format("{}.{}", path.string(), hex(random));
  write_file(own, bytes);
  if (::rename(own.c_str(), path.c_str()) != 0) {
    fail(Code::bad_input, "file '{}': {}", path.string(), std::generic_category().message(errno));
  }
  sync_folder(path.parent_path());
  sync_folder(path.parent_path().parent_path());
  return digest;
}

std::string get_blob(const std::string& folder, std::string_view digest) {
  const std::string path = blob_path(folder, digest);
  std::string bytes = read_file(path, kMaxBlobBytes);
  if (digest_text(sha256(bytes)) != digest) fail(Code::bad_input, "blob '{}': its bytes have another digest", digest);
  return bytes;
}

void remove_blob(const std::string& folder, std::string_view digest) {
  std::error_code ignored;
  std::filesystem::remove(blob_path(folder, digest), ignored);
}

}  // namespace frazil::govern
