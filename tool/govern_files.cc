#include "tool/govern_files.h"

#include "govern/base/file.h"

namespace frazil::tool {

std::vector<govern::PublicKey> public_keys(const std::vector<std::string>& paths) {
  std::vector<govern::PublicKey> keys;
  for (const std::string& path : paths) {
    keys.push_back(govern::PublicKey::from_pem(govern::read_file(path, kMaxKeyFile), "file '" + path + "'"));
  }
  return keys;
}

}  // namespace frazil::tool
