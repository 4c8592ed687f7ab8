#include "tool/govern_files.h"

#include "govern/base/file.h"

namespace frazil::tool {

std::vector<govern::PublicKey> public_keys(const std::vector<std::string>& paths) {
  std::vector<govern::PublicKey> keys;
  for (const std::string& path : paths) {
    const std::string pem = govern::read_file(path, kMaxKeyFile), what = "file '" + path + "'";
    const bool secret = pem.find("PRIVATE KEY-----") != std::string::npos;
    keys.push_back(secret ? govern::SigningKey::from_pem(pem, what).public_key()
                          : govern::PublicKey::from_pem(pem, what));
  }
  return keys;
}

}  // namespace frazil::tool
