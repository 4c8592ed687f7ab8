#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "error/tool.h"
#include "govern/base/error.h"
#include "govern/base/key.h"
#include "govern/sign/violation.h"

namespace frazil::govern::sign_test {

/// A temporary folder whose files may be in folders.
class TemporaryFolder {
 public:
  std::string path() const { return (folder_ / "x").parent_path().string(); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    folder_.write(name, content);
  }
  std::string read(const std::string& name) const { return test::content_of(folder_ / name); }

 private:
  test::TempFolder folder_;
};

/// Returns the text of the error that a call throws.
inline std::string error_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

inline std::vector<std::string> texts_of(const std::vector<Violation>& violations) {
  std::vector<std::string> texts;
  for (const Violation& violation : violations) texts.push_back(violation.text());
  return texts;
}

/// Returns the same key in each call of a process. Keys of different names differ.
inline const SigningKey& key_named(const std::string& name, KeyKind kind = KeyKind::ecdsa_p256) {
  static std::map<std::pair<std::string, KeyKind>, SigningKey> keys;
  const auto at = keys.find({name, kind});
  return at != keys.end() ? at->second : keys.emplace(std::pair(name, kind), SigningKey::generate(kind)).first->second;
}

}  // namespace frazil::govern::sign_test
