#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>

#include <frazil/debug.h>
#include <unistd.h>

#include "tool/commands.h"
#include "tool/common.h"
#include "tool/help.h"
#include "tool/option_table.h"
#include "tool/report.h"
#include "tool/requests.h"
#include "tool/save.h"
#include "tool/show.h"

namespace frazil::tool {
namespace {

using api::Debugger;
using Stop = Debugger::Stop;
using Until = Debugger::Until;

struct DebugOptions {
  Common common;
  RequestOptions requests;
  std::string model, script;
  std::vector<std::string> breakpoints;
};

constexpr const char* kHelp =
    "  run               run from the beginning to the next breakpoint, or to the end\n"
    "  continue          go on to the next breakpoint, or to the end\n"
    "  step              go on to the next node\n"
    "  next              the same, over If, Loop and functions\n"
    "  into, out         into the next If, Loop or function; out of the one around\n"
    "  break WHAT        stop at a value, a node or an operator: NAME; NAME nan, NAME inf, NAME > 3, NAME < 3, "
    "NAME shape 1x64; at any value: nan, inf; where a plan's guard misses: guard\n"
    "  breaks, delete N  list the breakpoints; delete one\n"
    "  where             the last value, and the nodes around it\n"
    "  print NAME        a value or, NAME[0,1:3], a part of it; also inside of fused kernels\n"
    "  plot NAME         a histogram of the elements of a value\n"
    "  save NAME F.npy   write a value to a file\n"
    "  set NAME F.npy    replace a value, and go back to the node that makes it\n"
    "  values [TEXT]     list the values whose names contain the text\n"
    "  quit              end the session\n";

/// One debugging session on a terminal or from a script.
class Console {
 public:
  Console(Debugger& debugger, const Model& model, const std::vector<Array>& inputs)
      : debugger_(debugger), model_(model), inputs_(named(model_, inputs)) {}

  /// Executes one line. Returns false at the end of the session.
  bool line(std::string_view text);
  /// Returns the exit code of the session. Throws the error of the last run.
  int end() const;
  void add_breakpoint(std::string_view what);

 private:
  void move(Until until);
  void print_outcome();
  void tell_missing() const;
  void where() const;
  void print(std::string_view text);
  void plot(std::string_view name);
  void save(std::string_view text);
  void set(std::string_view text);
  void remove_breakpoint(std::string_view number);
  void list_breakpoints() const;
  void list_values(std::string_view part);

  /// Calls a function that moves the run, and prints the outcome.
  template <class F>
  void moved(F&& function);

  Debugger& debugger_;
  const Model model_;
  const std::vector<api::Named> inputs_;
  bool begun_ = false;           // a run, since the last command to begin one
  std::optional<Stop> stop_;     // set while a run is stopped
  std::optional<Error> failed_;  // the error of the last run
};

std::pair<std::string_view, std::string_view> first_word(std::string_view text) {
  const auto skip = [](std::string_view t) {
    const std::size_t at = t.find_first_not_of(" \t\r");
    return at == std::string_view::npos ? std::string_view() : t.substr(at);
  };
  text = skip(text);
  const std::size_t space = text.find_first_of(" \t\r");
  if (space == std::string_view::npos) return {text, {}};
  std::string_view rest = skip(text.substr(space));
  while (!rest.empty() && (rest.back() == ' ' || rest.back() == '\r' || rest.back() == '\t')) rest.remove_suffix(1);
  return {text.substr(0, space), rest};
}

/// Splits "NAME FILE" at the last space.
std::pair<std::string, std::string> name_and_file(std::string_view text, std::string_view command) {
  const std::size_t space = text.rfind(' ');
  if (space == std::string_view::npos) fail(Code::bad_input, "{}: expected NAME FILE.npy", command);
  std::string_view name = text.substr(0, space);
  while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
  return std::pair(std::string(name), std::string(text.substr(space + 1)));
}

bool Console::line(std::string_view text) {
  const auto [command, rest] = first_word(text);
  if (command.empty() || command.starts_with('#')) return true;
  if (command == "quit" || command == "q") return false;
  if (command == "run" || command == "r") {
    begun_ = false;
    stop_.reset();
    return move(Until::breakpoint), true;
  }
  if (command == "continue" || command == "c") return move(Until::breakpoint), true;
  if (command == "step" || command == "s") return move(Until::next_node), true;
  if (command == "next" || command == "n") return move(Until::step_over), true;
  if (command == "into") return move(Until::step_into), true;
  if (command == "out") return move(Until::step_out), true;
  if (command == "break" || command == "b") return add_breakpoint(rest), true;
  if (command == "delete") return remove_breakpoint(rest), true;
  if (command == "print" || command == "p") return print(rest), true;
  if (command == "plot") return plot(rest), true;
  if (command == "save") return save(rest), true;
  if (command == "set") return set(rest), true;
  if (command == "breaks") return list_breakpoints(), true;
  if (command == "where") return where(), true;
  if (command == "values") return list_values(rest), true;
  if (command == "help") return print_text(notes_of(kHelp, help_width())), true;
  fail(Code::bad_input, "there is no command '{}'; see help", command);
}

void Console::add_breakpoint(std::string_view what) {
  const std::uint32_t number = debugger_.add_breakpoint(what);
  print_line(fmt::format("breakpoint {}: {}", number, one_line(what)));
}

void Console::remove_breakpoint(std::string_view number) {
  for (const auto& b : debugger_.breakpoints()) {
    if (std::to_string(b.number) == number) return debugger_.remove_breakpoint(b.number);
  }
  fail(Code::bad_input, "delete: there is no breakpoint '{}'", number);
}

void Console::list_breakpoints() const {
  for (const auto& b : debugger_.breakpoints()) print_line(fmt::format("{}  {}", b.number, one_line(b.text)));
}

template <class F>
void Console::moved(F&& function) {
  try {
    stop_ = function();
  } catch (const Error& error) {
    stop_.reset();
    failed_ = error;
    return print_line(fmt::format("failed: {}", one_line(error.what())));
  }
  print_outcome();
}

/// Continues the run, or begins one if there is none.
void Console::move(Until until) {
  failed_.reset();
  if (begun_ && !stop_) fail(Code::bad_input, "the run has ended; run begins another one");
  const bool goes_on = begun_;
  begun_ = true;
  moved([&] { return goes_on ? debugger_.go(until) : debugger_.run(inputs_, until); });
}

std::string iterations_of(const Stop& stop) {
  std::string text;
  for (const std::int64_t i : stop.iterations) text += fmt::format("{}{}", text.empty() ? "" : ", ", i);
  return text.empty() ? text : fmt::format(", iteration {}", text);
}

void Console::print_outcome() {
  if (stop_->why != Debugger::Why::ended) return where();
  stop_.reset();
  print_line("ended");
  const std::vector<Array> results = debugger_.results();
  for (std::size_t k = 0; k < results.size(); ++k) {
    print_line(
        fmt::format("{}  {}  {}", one_line(model_.outputs()[k].name), type_of(results[k]), summary_of(results[k])));
  }
  tell_missing();
}

/// Prints the breakpoints that cannot be reached in any run.
void Console::tell_missing() const {
  for (const auto& b : debugger_.breakpoints()) {
    if (b.missing.empty()) continue;
    print_line(fmt::format("breakpoint {} ({}) was not met: {}; --tier ref has all values", b.number, one_line(b.text),
                           b.missing));
  }
}

std::string node_text(const Debugger::ValueInfo& about) { return about.node.empty() ? "parameter" : about.node; }

void Console::where() const {
  if (!stop_) return print_line("no run is stopped");
  const std::string number =
      stop_->why == Debugger::Why::breakpoint ? fmt::format("breakpoint {}: ", stop_->breakpoint) : "";
  std::string type, summary;
  try {
    const Array value = debugger_.value(stop_->value);
    type = type_of(value);
    summary = summary_of(value);
  } catch (const Error& error) {
    summary = one_line(error.what());
  }
  print_line(fmt::format("{}{}{}: '{}'  {}  {}", number, one_line(node_text(debugger_.about(stop_->value))),
                         iterations_of(*stop_), one_line(stop_->value), type, summary));
  for (const std::string& around : stop_->around) print_line("  in " + one_line(around));
}

void Console::print(std::string_view text) {
  const Array shown = find_shown(text, [&](std::string_view name) { return debugger_.value(name); });
  print_line(fmt::format("{}  {}  {}", one_line(text), type_of(shown), summary_of(shown)));
  if (shown.is_tensor()) print_line(elements_text(shown));
}

void Console::plot(std::string_view name) {
  const Array shown = find_shown(name, [&](std::string_view n) { return debugger_.value(n); });
  if (!shown.is_tensor()) fail(Code::bad_input, "plot: '{}' is not a tensor", name);
  print_line(histogram_text(shown));
}

void Console::save(std::string_view text) {
  const auto to = name_and_file(text, "save");
  const Array value = debugger_.value(to.first);
  if (!value.is_tensor()) fail(Code::unsupported, "save: '{}' is not a tensor", to.first);
  save_tensor_file(to.second, value);
}

void Console::set(std::string_view text) {
  const auto from = name_and_file(text, "set");
  const Array value = read_tensor_file(from.second);
  stop_ = debugger_.set(from.first, value);
  begun_ = true;
  print_outcome();
}

void Console::list_values(std::string_view part) {
  for (const std::string& name : debugger_.values()) {
    if (name.find(part) == std::string::npos) continue;
    const Debugger::ValueInfo about = debugger_.about(name);
    print_line(fmt::format("{}  {}  {}{}", one_line(name), about.type, one_line(node_text(about)),
                           about.missing.empty() ? "" : "; " + about.missing));
  }
}

int Console::end() const {
  if (failed_) throw *failed_;
  return kDone;
}

/// Executes one line of a terminal. Returns false at the end of the session.
bool try_line(Console& console, std::string_view text) {
  try {
    return console.line(text);
  } catch (const Error& error) {
    report(error);
    return true;
  }
}

/// Reads and executes commands. An error is printed and, in a script, ends it.
int converse(Console& console, std::istream& from, bool interactive) {
  std::string text;
  for (std::size_t number = 1;; ++number) {
    if (interactive) fmt::print("(frazil) "), std::fflush(stdout);
    if (!std::getline(from, text)) break;
    const bool goes_on = interactive ? try_line(console, text)
                                     : within(fmt::format("line {}: ", number), [&] { return console.line(text); });
    if (!goes_on) break;
  }
  return console.end();
}

int debug_model(const DebugOptions& options) {
  const Common& common = options.common;
  prepare(common);
  take_standard_input(options.script.empty() ? "-" : options.script, "--script");
  const Model model = load_model(options.model, common);
  const ValueSource source(model, common.run.seed, common.memory_limit());
  Requests requests = Requests::make(source, options.requests);
  const auto inputs = requests.next();
  if (!inputs) fail(Code::bad_input, "--stream: it has no request");
  Debugger debugger(model, session_options(common));
  Console console(debugger, model, *inputs);
  for (const std::string& what : options.breakpoints) console.add_breakpoint(what);
  if (options.script.empty() || options.script == "-") {
    return converse(console, std::cin, options.script.empty());
  }
  std::ifstream file(options.script);
  if (!file) fail(Code::bad_input, "--script: cannot read '{}'", options.script);
  return converse(console, file, false);
}

}  // namespace

void add_debug(CLI::App& app, Action& action) {
  auto options = std::make_shared<DebugOptions>();
  CLI::App* command = app.add_subcommand("debug", "Run a model step by step: breakpoints, any value, other values");
  add_model(*command, options->model);
  add_requests(*command, options->requests);
  command->option_defaults()->group(group::kExecution);
  command->add_option("--break", options->breakpoints, "Stop at a value, a node or an operator, as the command break")
      ->type_name("WHAT");
  command
      ->add_option("--script", options->script,
                   "Read commands from FILE, or from standard input (-); an error ends the script")
      ->type_name("FILE");
  add_common(*command, options->common, Printing::text);
  command->footer(std::string("Commands:\n") + kHelp +
                  "\n"
                  "Examples:\n"
                  "  frazil debug model.onnx --input x=1x64 --break nan\n"
                  "  frazil debug model.onnx --input x=1x64 --script commands.txt");
  command->callback([options, &action] { action = [options] { return debug_model(*options); }; });
}

}  // namespace frazil::tool
