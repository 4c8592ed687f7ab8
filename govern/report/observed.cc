#include "govern/report/observed.h"

#include <charconv>
#include <unordered_map>

#include <fmt/format.h>

#include "govern/base/error.h"

namespace frazil::govern {
namespace {

constexpr std::size_t kMostLines = 20, kMostShown = 100;

std::string_view text_in(const Json& object, const char* member) {
  const auto found = object.is_object() ? object.find(member) : object.end();
  if (!object.is_object() || found == object.end() || !found->is_string()) return {};
  return found->get_ref<const std::string&>();
}

std::optional<double> number_in(const Json& object, const char* member) {
  const auto found = object.find(member);
  return found == object.end() || !found->is_number() ? std::nullopt : std::optional(found->get<double>());
}

/// Returns the number at the beginning of "3 iterations" or "2 of 3".
std::optional<double> leading_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  return end.ec == std::errc() ? std::optional(static_cast<double>(number)) : std::nullopt;
}

bool chooses_one(std::string_view kind) { return kind == "switch" || kind == "split" || kind == "fallback"; }

/// Returns a text of a record for a message: on one line, and not longer than needed.
std::string shown_text(std::string_view text) {
  std::string line(text.substr(0, kMostShown));
  for (char& c : line) c = static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return line;
}

}  // namespace

std::vector<ObservedStep> observed_steps(const Json& steps) {
  std::vector<ObservedStep> list;
  if (!steps.is_array()) return list;
  for (const Json& step : steps) {
    list.push_back({text_in(step, "node"), text_in(step, "kind"), text_in(step, "model"), text_in(step, "version"),
                    text_in(step, "taken")});
  }
  return list;
}

PathCheck::PathCheck(const Json& report, std::string model, std::string version) try
    : model_(std::move(model)), version_(std::move(version)), is_pipeline_(report.contains("paths")) {
  if (is_pipeline_) {
    steps_ = steps_of(report.at("steps"));
    for (const auto& [name, steps] : report.at("pipelines").items()) pipelines_[name] = steps_of(steps);
  }
  operations_ = number_in(report, "worst_operations");
  output_bytes_ = number_in(report, "worst_output_bytes");
  nanoseconds_ = number_in(report, "worst_cost_ns");
} catch (const Json::exception&) {
  fail(Code::bad_input, "the report of '{}' is damaged", shown_text(model));
}

PathCheck::Steps PathCheck::steps_of(const Json& list) {
  Steps steps;
  for (const Json& item : list) {
    Step step{.kind = item.at("kind"), .model = "", .version = "", .taken = {}, .inside = "", .inside_taken = ""};
    step.model = text_in(item, "model");
    step.version = text_in(item, "version");
    for (const Json& branch : item.value("taken", Json::array())) step.taken.insert(branch.get<std::string>());
    step.most = number_in(item, "most").value_or(1);
    if (const auto inside = item.find("inside"); inside != item.end()) {
      step.inside = text_in(*inside, "node");
      step.inside_taken = text_in(*inside, "taken");
    }
    steps[item.at("node").get<std::string>()] = std::move(step);
  }
  return steps;
}

/// Returns how often the loops around a step may repeat it.
double PathCheck::repeats(const Steps& steps, const Step& step) {
  double times = 1;
  const Step* at = &step;
  for (std::size_t depth = 0; !at->inside.empty() && depth < steps.size(); ++depth) {
    const auto around = steps.find(at->inside);
    if (around == steps.end()) break;
    at = &around->second;
    if (at->kind == "loop") times *= at->most;
  }
  return times;
}

/// Finds the node of a name such as "STEP.NODE": STEP runs a pipeline that has NODE. Names may have dots of their own.
std::optional<PathCheck::Place> PathCheck::find(const Steps& steps, std::string_view name, const std::string& prefix,
                                                double times) const {
  if (const auto own = steps.find(name); own != steps.end()) {
    return Place{&own->second, prefix, times * repeats(steps, own->second)};
  }
  for (std::size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1)) {
    const auto caller = steps.find(name.substr(0, dot));
    if (caller == steps.end() || caller->second.kind != "run") continue;
    const auto called = pipelines_.find(caller->second.model + "/" + caller->second.version);
    if (called == pipelines_.end()) continue;
    const std::string inner = prefix + std::string(name.substr(0, dot + 1));
    auto place = find(called->second, name.substr(dot + 1), inner, times * repeats(steps, caller->second));
    if (place) return place;
  }
  return std::nullopt;
}

/// The comparison of one request.
class PathCheck::Reading {
 public:
  explicit Reading(const PathCheck& check) : check_(check) {}

  void add(const ObservedStep& step) {
    if (step.kind == "left out") return void(complete_ = false);
    const auto [at, is_new] = seen_.try_emplace(step.node);
    Seen& seen = at->second;
    if (is_new) seen.place = check_.find(check_.steps_, step.node, "", 1);
    if (!seen.place) return line(step, "the report has no such node");
    const Step& expected = *seen.place->step;
    ++seen.count;
    if (step.kind != expected.kind) {
      return line(step, fmt::format("it is a {}, in the report a {}", shown_text(step.kind), expected.kind));
    }
    if (expected.kind == "run") return compare_model(step, expected);
    if (chooses_one(expected.kind) || expected.kind == "race") {
      if (!expected.taken.contains(step.taken)) line(step, fmt::format("it took '{}'", shown_text(step.taken)));
      if (chooses_one(expected.kind)) seen.taken.insert(step.taken);
    } else if (expected.kind == "loop" && leading_number(step.taken).value_or(expected.most + 1) > expected.most) {
      line(step, fmt::format("it ran {}, at most {} are allowed", shown_text(step.taken), expected.most));
    }
  }

  std::vector<std::string> finish() {
    for (const auto& [name, seen] : seen_) {
      if (!seen.place) continue;
      const Step& step = *seen.place->step;
      const double each = step.kind == "fallback" ? static_cast<double>(step.taken.size()) : 1;
      if (seen.count > seen.place->times * each) {
        line(name, fmt::format("it ran {} times, at most {} are allowed", seen.count, seen.place->times * each));
      }
      if (complete_) compare_choices(name, *seen.place);
    }
    return std::move(lines_);
  }

 private:
  struct Seen {
    std::optional<Place> place;
    double count = 0;
    std::set<std::string_view> taken;
  };

  void line(std::string_view node, const std::string& what) {
    if (lines_.size() < kMostLines) lines_.push_back(fmt::format("node '{}': {}", shown_text(node), what));
  }
  void line(const ObservedStep& step, const std::string& what) { line(step.node, what); }

  void compare_model(const ObservedStep& step, const Step& expected) {
    if (step.model == expected.model && step.version == expected.version) return;
    line(step, fmt::format("it ran '{}' version '{}', in the report it is '{}' version '{}'", shown_text(step.model),
                           shown_text(step.version), expected.model, expected.version));
  }

  /// A node ran: each node around it that chooses must have taken the branch that contains it.
  void compare_choices(std::string_view name, Place place) {
    while (!place.step->inside.empty() || !place.prefix.empty()) {
      const Step& step = *place.step;
      const bool in_branch = !step.inside.empty();
      const std::string around =
          in_branch ? place.prefix + step.inside : place.prefix.substr(0, place.prefix.size() - 1);
      const auto outer = check_.find(check_.steps_, around, "", 1);
      if (!outer) return;
      if (in_branch && chooses_one(outer->step->kind) && !has_taken(around, step.inside_taken)) {
        return line(name, fmt::format("it ran although '{}' did not take '{}'", around, step.inside_taken));
      }
      place = *outer;
    }
  }
  bool has_taken(std::string_view node, std::string_view branch) const {
    const auto choice = seen_.find(node);
    return choice != seen_.end() && choice->second.taken.contains(branch);
  }

  const PathCheck& check_;
  std::unordered_map<std::string_view, Seen> seen_;
  std::vector<std::string> lines_;
  bool complete_ = true;
};

std::vector<std::string> PathCheck::outside(std::span<const ObservedStep> steps) const {
  if (is_pipeline_) {
    Reading reading(*this);
    for (const ObservedStep& step : steps) reading.add(step);
    return reading.finish();
  }
  std::vector<std::string> lines;
  for (const ObservedStep& step : steps) {
    if (step.node.empty() && step.kind == "run" && step.model == model_ && step.version == version_) continue;
    lines.push_back(
        fmt::format("node '{}': a {} of '{}' version '{}'; '{}' version '{}' is a model and runs itself only",
                    shown_text(step.node), shown_text(step.kind), shown_text(step.model), shown_text(step.version),
                    model_, version_));
    if (lines.size() == kMostLines) break;
  }
  return lines;
}

std::vector<std::string> PathCheck::beyond(const ObservedCost& cost) const {
  std::vector<std::string> lines;
  const auto compare = [&](const char* what, std::optional<double> value, std::optional<double> most) {
    if (value && most && *value > *most)
      lines.push_back(fmt::format("{} {}, at most {} are allowed", what, *value, *most));
  };
  compare("operations:", cost.operations, operations_);
  compare("bytes of outputs:", cost.output_bytes, output_bytes_);
  return lines;
}

bool PathCheck::is_slow(const ObservedCost& cost) const {
  return cost.nanoseconds && nanoseconds_ && *cost.nanoseconds > *nanoseconds_;
}

}  // namespace frazil::govern
