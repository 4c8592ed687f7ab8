#include "govern/audit/witness_policy.h"

#include <algorithm>

#include "govern/base/error.h"

namespace frazil::govern {
namespace {

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t begin = line.find_first_not_of(" \t", i);
    if (begin == std::string_view::npos) break;
    i = std::min(line.find_first_of(" \t", begin), line.size());
    words.emplace_back(line.substr(begin, i - begin));
  }
  return words;
}

}  // namespace

/// Reads a policy line by line.
class WitnessPolicyReader {
 public:
  explicit WitnessPolicyReader(std::string_view what) : what_(what) {}

  void read(std::string_view line) {
    place_ = fmt::format("{}, line {}", what_, ++line_);
    const auto bad = [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; };
    if (std::ranges::any_of(line, bad)) fail(Code::bad_input, "{}: a control character", place_);
    const auto words = words_of(line);
    if (words.empty() || words[0].starts_with('#')) return;
    if (words[0] == "log") return add_log(words);
    if (words[0] == "witness") return add_witness(words);
    if (words[0] == "group") return add_group(words);
    if (words[0] == "quorum") return set_quorum(words);
    fail(Code::bad_input, "{}: expected log, witness, group or quorum, got '{}'", place_, words[0]);
  }

  WitnessPolicy finish() {
    if (!has_quorum_) fail(Code::bad_input, "{}: there is no line 'quorum'", what_);
    return std::move(policy_);
  }

 private:
  void expect(bool condition, std::string_view form) {
    if (!condition) fail(Code::bad_input, "{}: expected '{}'", place_, form);
  }

  VerifierKey key_of(const std::string& text, SignatureType type) {
    VerifierKey key = VerifierKey::parse(text, place_);
    if (key.type != type) {
      fail(Code::bad_input, "{}: expected a key of type {}, got {}", place_, int(type), int(key.type));
    }
    return key;
  }

  void add_log(const std::vector<std::string>& words) {
    expect(words.size() == 2 || words.size() == 3, "log KEY [URL]");
    VerifierKey key = key_of(words[1], SignatureType::ed25519);
    for (const VerifierKey& log : policy_.logs_) {
      if (log.key == key.key) fail(Code::bad_input, "{}: the key is that of log '{}'", place_, log.name);
    }
    policy_.logs_.push_back(std::move(key));
  }

  void add_witness(const std::vector<std::string>& words) {
    expect(words.size() == 3 || words.size() == 4, "witness NAME KEY [URL]");
    VerifierKey key = key_of(words[2], SignatureType::cosignature);
    for (const auto& witness : policy_.witnesses_) {
      if (witness.key.key == key.key) fail(Code::bad_input, "{}: the key is that of '{}'", place_, witness.name);
    }
    define(words[1]);
    policy_.witnesses_.push_back({words[1], std::move(key), words.size() == 4 ? words[3] : ""});
  }

  void add_group(const std::vector<std::string>& words) {
    expect(words.size() >= 4, "group NAME all|any|N MEMBER...");
    const std::vector<std::string> members(words.begin() + 3, words.end());
    for (const std::string& name : members) {
      known(name);
      if (!used_.insert(name).second) fail(Code::bad_input, "{}: '{}' is a member of two groups", place_, name);
    }
    const auto number = words[2] == "all"   ? members.size()
                        : words[2] == "any" ? 1
                                            : parse_decimal(words[2]).value_or(0);
    if (number < 1 || number > members.size()) {
      fail(Code::bad_input, "{}: expected all, any or a number from 1 to {}, got '{}'", place_, members.size(),
           words[2]);
    }
    define(words[1]);
    policy_.groups_.push_back({words[1], number, members});
  }

  void set_quorum(const std::vector<std::string>& words) {
    expect(words.size() == 2, "quorum NAME");
    if (has_quorum_) fail(Code::bad_input, "{}: a second line 'quorum'", place_);
    if (words[1] != "none") known(words[1]);
    has_quorum_ = true;
    policy_.quorum_ = words[1];
  }

  void define(const std::string& name) {
    if (name == "none" || !names_.insert(name).second)
      fail(Code::bad_input, "{}: the name '{}' is taken", place_, name);
  }
  void known(const std::string& name) {
    if (!names_.contains(name)) fail(Code::bad_input, "{}: '{}' is not defined above", place_, name);
  }

  std::string what_, place_;
  std::size_t line_ = 0;
  bool has_quorum_ = false;
  std::set<std::string> names_, used_;
  WitnessPolicy policy_;
};

WitnessPolicy WitnessPolicy::parse(std::string_view text, std::string_view what) {
  WitnessPolicyReader reader(what);
  while (const auto line = take_line(text)) reader.read(*line);
  if (!text.empty()) reader.read(text);
  return reader.finish();
}

WitnessPolicy WitnessPolicy::of_logs(std::vector<VerifierKey> logs) {
  WitnessPolicy policy;
  policy.logs_ = std::move(logs);
  return policy;
}

WitnessPolicy WitnessPolicy::with_logs(std::vector<VerifierKey> logs) const {
  WitnessPolicy policy = *this;
  policy.logs_ = std::move(logs);
  return policy;
}

std::string WitnessPolicy::text() const {
  std::string lines;
  for (const VerifierKey& log : logs_) lines += fmt::format("log {}\n", log.text());
  for (const Witness& witness : witnesses_) {
    lines += fmt::format("witness {} {}{}{}\n", witness.name, witness.key.text(), witness.url.empty() ? "" : " ",
                         witness.url);
  }
  for (const Group& group : groups_) {
    lines += fmt::format("group {} {} {}\n", group.name, group.needed, fmt::join(group.members, " "));
  }
  return lines + fmt::format("quorum {}\n", quorum_);
}

bool WitnessPolicy::is_quorum(const std::set<std::string>& names) const {
  std::set<std::string> reached = names;
  for (const Group& group : groups_) {
    const auto count = std::ranges::count_if(group.members, [&](const auto& name) { return reached.contains(name); });
    if (static_cast<std::size_t>(count) >= group.needed) reached.insert(group.name);
  }
  return quorum_ == "none" || reached.contains(quorum_);
}

std::set<std::string> WitnessPolicy::witnesses_of(const Note& note) const {
  std::set<std::string> names;
  for (const Witness& witness : witnesses_) {
    if (verify_signature(note, witness.key) == SignatureState::valid) names.insert(witness.name);
  }
  return names;
}

}  // namespace frazil::govern
