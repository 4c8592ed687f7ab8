#pragma once

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <sys/wait.h>

#include "tests/govern/audit/audit_testing.h"
#include "tests/paths.h"

namespace frazil::govern::audit_testing {

struct TamperResult {
  bool found = false, found_by_second = false;
  std::string text;  ///< what was done, and what was found
};

/// A log of all kinds of files with a witnessed checkpoint, copies of which are damaged.
class TamperCase {
 public:
  TamperCase() : witness_(state_.path()) {
    AuditOptions options = options_of(log_.path());
    options.witnesses = witness_.policy();
    options.witness_client = witness_.client();
    AuditLog log(options);
    log.append(boot_event());
    log.append(policy_event("policy 1"));
    log.append(publish_event("definition 1", "policy 1"));
    for (int i = 0; i < 300; ++i) log.append(request_event("definition 1", i));
    log.prune({{"request", std::chrono::hours(1)}}, now_milliseconds() + 7200000);
    for (int i = 0; i < 300; ++i) log.append(request_event("definition 1", i));
    Json with_blob = request_event("definition 1");
    with_blob["blobs"] = {log.put_blob("a payload")};
    log.append(with_blob);
    witnessed_ = log.publish_checkpoint();
    log.append(shutdown_event());
    log.close();
    write_text(keys_ / "log.pem", log_key().public_key().pem());
    write_text(keys_ / "witness.pem", witness_.key.public_key().pem());
    write_text(keys_ / "witnessed", witnessed_);
    for (const auto& file : fs::recursive_directory_iterator(log_.path())) {
      if (file.path().filename() == kOwnPolicyFile) continue;  // not used by a verifier with keys of its own
      if (file.is_regular_file() && file.file_size() > 0) files_.push_back(fs::relative(file.path(), log_.path()));
    }
    std::ranges::sort(files_);
  }

  const std::string& path() const { return log_.path(); }
  const std::string& witnessed() const { return witnessed_; }
  const std::vector<std::string>& files() const { return files_; }

  std::string first_verifier(const std::string& folder) const {
    VerifyOptions options;
    options.policy = witness_.policy();
    options.checkpoints = {{"witnessed", witnessed_}};
    options.threads = 1;
    return findings_of(verify_log(folder, options));
  }

  /// Runs tests/govern/audit/verify.py. Returns its exit code.
  int second_verifier(const std::string& folder) const {
    const std::string script = test::source_dir() / "tests/govern/audit/verify.py";
    const std::string command = "python3 '" + script + "' '" + folder + "' --key '" + (keys_ / "log.pem") +
                                "' --witness 'example.com/w1=" + (keys_ / "witness.pem") + "' --checkpoint '" +
                                (keys_ / "witnessed") + "' >/dev/null 2>&1";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  /// Flips a bit in a random file of a copy, or cuts the file at a random place.
  TamperResult damage(unsigned seed, bool cut, bool second) const {
    std::mt19937 random(seed);
    const TemporaryFolder copy;
    fs::copy(log_.path(), copy.path(), fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    const std::string& file = files_[random() % files_.size()];
    std::string bytes = read_text(copy / file);
    const std::size_t at = random() % bytes.size();
    if (cut) {
      bytes.resize(at);
    } else {
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    }
    write_text(copy / file, bytes);
    TamperResult result;
    result.text = file + (cut ? " cut at " : " flipped at ") + std::to_string(at) + ": ";
    const std::string found = first_verifier(copy.path());
    result.found = !found.empty();
    result.text += found.substr(0, found.find('\n'));
    result.found_by_second = second ? second_verifier(copy.path()) == 1 : result.found;
    return result;
  }

 private:
  TemporaryFolder log_, state_, keys_;
  TestWitness witness_;
  std::string witnessed_;
  std::vector<std::string> files_;
};

}  // namespace frazil::govern::audit_testing
