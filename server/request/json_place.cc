#include "server/request/json_place.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include <nlohmann/json.hpp>

#include "server/config/yaml.h"

namespace frazil::server {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxPath = 200;

/// Receives the events of a parser, follows the path to the current value, and keeps the first fault.
class FaultFinder {
 public:
  std::string take() { return std::move(fault_); }

  // The names and results are those that nlohmann's parser expects. False stops it.
  bool null() { return pass(); }
  bool boolean(bool) { return pass(); }
  bool number_integer(Json::number_integer_t) { return pass(); }
  bool number_unsigned(Json::number_unsigned_t) { return pass(); }
  bool number_float(Json::number_float_t, const std::string& text) {
    if (text.find_first_of(".eE") != std::string::npos) return pass();
    return stop(place() + "the integer " + shown(text) + " has more than 64 bits");
  }
  bool string(std::string&) { return pass(); }
  bool binary(Json::binary_t&) { return pass(); }
  bool start_object(std::size_t) { return open(false); }
  bool start_array(std::size_t) { return open(true); }
  bool key(std::string& name) {
    levels_.back().key = name.substr(0, kMaxPath);
    return true;
  }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t, const std::string&, const Json::exception& error) {
    const std::string_view what = error.what();
    const std::size_t at = what.find("line "), colon = what.find(": ", at);
    if (at == std::string_view::npos || colon == std::string_view::npos) return stop(place() + "unexpected text");
    std::string_view reason = what.substr(colon + 2);
    reason = reason.substr(0, reason.find("; last read"));  // the text, with its words replaced
    return stop(std::string(what.substr(at, colon - at)) + ", " + place() + std::string(reason));
  }

 private:
  struct Level {
    bool list;
    std::size_t index = 0;  // of the current item
    std::string key = {};   // of the current member
  };

  bool stop(std::string fault) {
    fault_ = std::move(fault);
    return false;
  }
  bool open(bool list) {
    if (levels_.size() == kMaxNesting) return stop(place() + "more than 100 levels");
    levels_.push_back({.list = list});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return pass();
  }
  /// Goes on after a value.
  bool pass() {
    if (!levels_.empty()) ++levels_.back().index;
    return true;
  }
  /// Returns "in inputs[0].data[3]: ".
  std::string place() const {
    std::string path;
    for (const Level& level : levels_) {
      if (level.list)
        path += '[' + std::to_string(level.index) + ']';
      else
        (path += path.empty() ? "" : ".") += level.key;
    }
    if (path.empty()) return "";
    const std::string brief = shown(path);  // in quotes
    return "in " + brief.substr(1, brief.size() - 2) + ": ";
  }

  std::vector<Level> levels_;
  std::string fault_;
};

}  // namespace

bool is_number_word(std::string_view word) {
  return std::ranges::any_of(kNumberWords, [&](const auto& one) { return one.first == word; });
}

bool may_have_number_words(std::string_view text) {
  return text.find("NaN") != std::string_view::npos || text.find("Infinity") != std::string_view::npos;
}

namespace {

/// Returns the text with a number of the same size for each number word, so that positions stay.
std::string with_numbers(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  split_at_words(text, [&](std::string_view part, bool word) {
    if (word)
      plain.append(1, '0').append(part.size() - 1, ' ');
    else
      plain += part;
  });
  return plain;
}

}  // namespace

std::string json_fault(std::string_view text) {
  FaultFinder finder;
  may_have_number_words(text) ? Json::sax_parse(with_numbers(text), &finder) : Json::sax_parse(text, &finder);
  return finder.take();
}

}  // namespace frazil::server
