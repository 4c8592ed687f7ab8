#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>

#include <unistd.h>

#include "base/os/io.h"
#include "debug/debugger.h"
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

using debug::Debugger;
using debug::Stop;
using debug::Until;

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
  Console(Debugger& debugger, std::vector<Datum> inputs) : debugger_(debugger), inputs_(std::move(inputs)) {}

  /// Executes one line. Returns false at the end of the session.
  Result<bool> line(std::string_view text);
  /// Returns the exit code of the session, or the fault of the last run.
  Result<int> end() const;
  Status add_breakpoint(std::string_view what);

 private:
  Status move(Until until);
  void print_outcome(const Stop& stop);
  void tell_missing() const;
  void where() const;
  Status print(std::string_view text);
  Status plot(std::string_view name);
  Status save(std::string_view text);
  Status set(std::string_view text);
  Status remove_breakpoint(std::string_view number);
  void list_breakpoints() const;
  void list_values(std::string_view part);

  Debugger& debugger_;
  const std::vector<Datum> inputs_;
  std::optional<Stop> stop_;
  std::optional<Fault> failed_;  // the fault of the last run
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
Result<std::pair<std::string, std::string>> name_and_file(std::string_view text, std::string_view command) {
  const std::size_t space = text.rfind(' ');
  if (space == std::string_view::npos) return fail(Code::bad_input, "{}: expected NAME FILE.npy", command);
  std::string_view name = text.substr(0, space);
  while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
  return std::pair(std::string(name), std::string(text.substr(space + 1)));
}

Result<bool> Console::line(std::string_view text) {
  const auto [command, rest] = first_word(text);
  const auto done = [](const Status& status) -> Result<bool> {
    if (!status) return std::unexpected(status.error());
    return true;
  };
  if (command.empty() || command.starts_with('#')) return true;
  if (command == "quit" || command == "q") return false;
  if (command == "run" || command == "r") {
    stop_.reset();
    return done(move(Until::breakpoint));
  }
  if (command == "continue" || command == "c") return done(move(Until::breakpoint));
  if (command == "step" || command == "s") return done(move(Until::next_value));
  if (command == "next" || command == "n") return done(move(Until::step_over));
  if (command == "into") return done(move(Until::step_into));
  if (command == "out") return done(move(Until::step_out));
  if (command == "break" || command == "b") return done(add_breakpoint(rest));
  if (command == "delete") return done(remove_breakpoint(rest));
  if (command == "print" || command == "p") return done(print(rest));
  if (command == "plot") return done(plot(rest));
  if (command == "save") return done(save(rest));
  if (command == "set") return done(set(rest));
  if (command == "breaks") return list_breakpoints(), true;
  if (command == "where") return where(), true;
  if (command == "values") return list_values(rest), true;
  if (command == "help") return print_text(notes_of(kHelp, help_width())), true;
  return fail(Code::bad_input, "there is no command '{}'; see help", command);
}

Status Console::add_breakpoint(std::string_view what) {
  FRAZIL_TRY(const std::uint32_t number, debugger_.add_breakpoint(what));
  print_line(fmt::format("breakpoint {}: {}", number, one_line(what)));
  return {};
}

Status Console::remove_breakpoint(std::string_view number) {
  for (const auto& b : debugger_.breakpoints()) {
    if (std::to_string(b.number) != number) continue;
    debugger_.remove_breakpoint(b.number);
    return {};
  }
  return fail(Code::bad_input, "delete: there is no breakpoint '{}'", number);
}

void Console::list_breakpoints() const {
  for (const auto& b : debugger_.breakpoints()) print_line(fmt::format("{}  {}", b.number, one_line(b.text)));
}

/// Continues the run, or begins one if there is none.
Status Console::move(Until until) {
  failed_.reset();
  const bool goes_on = stop_ && debugger_.in_run();
  if (!goes_on && stop_) return fail(Code::bad_input, "the run has ended; run begins another one");
  print_outcome(goes_on ? debugger_.go(until) : debugger_.run(inputs_, until));
  return {};
}

std::string iterations_of(const Stop& stop) {
  std::string text;
  for (const std::int64_t i : stop.iterations) text += fmt::format("{}{}", text.empty() ? "" : ", ", i);
  return text.empty() ? text : fmt::format(", iteration {}", text);
}

void Console::print_outcome(const Stop& stop) {
  stop_ = stop;
  if (stop.why == Stop::Why::failed) {
    failed_ = stop.fault;
    return print_line(fmt::format("failed: {}", one_line(stop.fault.text())));
  }
  if (stop.why == Stop::Why::ended) {
    print_line("ended");
    const auto& names = debugger_.sites().graph().output_names();
    for (std::size_t k = 0; k < names.size(); ++k) {
      const Datum& value = debugger_.results()[k];
      print_line(fmt::format("{}  {}  {}", one_line(names[k]), type_of(value), summary_of(value)));
    }
    return tell_missing();
  }
  where();
}

/// Prints the breakpoints that cannot be reached in any run.
void Console::tell_missing() const {
  for (const auto& b : debugger_.breakpoints()) {
    const bool none = !b.sites.empty() && std::ranges::all_of(b.sites, [&](std::size_t site) {
      return !debugger_.why_missing(site).empty();
    });
    if (!none) continue;
    print_line(fmt::format("breakpoint {} ({}) was not met: {}; --tier ref has all values", b.number, one_line(b.text),
                           debugger_.why_missing(b.sites.front())));
  }
}

void Console::where() const {
  if (!stop_ || stop_->why == Stop::Why::ended || stop_->why == Stop::Why::failed)
    return print_line("no run is stopped");
  const auto& sites = debugger_.sites();
  const debug::Site& site = sites[stop_->site];
  const std::string node = site.node ? sites.graph().describe(site.node) : "parameter";
  const std::string number =
      stop_->why == Stop::Why::breakpoint ? fmt::format("breakpoint {}: ", stop_->breakpoint) : "";
  const auto value = debugger_.value(site.name);
  print_line(fmt::format("{}{}{}: '{}'  {}  {}", number, one_line(node), iterations_of(*stop_), one_line(site.name),
                         value ? type_of(*value) : "", value ? summary_of(*value) : one_line(value.error().text())));
  for (const std::string& around : sites.around(stop_->site)) print_line("  in " + one_line(around));
}

Status Console::print(std::string_view text) {
  FRAZIL_TRY(const Datum shown, find_shown(text, [&](std::string_view name) { return debugger_.value(name); }));
  print_line(fmt::format("{}  {}  {}", one_line(text), type_of(shown), summary_of(shown)));
  if (shown.is_tensor()) print_line(elements_text(shown.tensor()));
  return {};
}

Status Console::plot(std::string_view name) {
  FRAZIL_TRY(const Datum shown, find_shown(name, [&](std::string_view n) { return debugger_.value(n); }));
  if (!shown.is_tensor()) return fail(Code::bad_input, "plot: '{}' is not a tensor", name);
  FRAZIL_TRY(const std::string text, histogram_text(shown.tensor()));
  print_line(text);
  return {};
}

Status Console::save(std::string_view text) {
  FRAZIL_TRY(const auto to, name_and_file(text, "save"));
  FRAZIL_TRY(const Datum value, debugger_.value(to.first));
  if (!value.is_tensor()) return fail(Code::unsupported, "save: '{}' is not a tensor", to.first);
  FRAZIL_TRY(const Tensor dense, value.tensor().packed());
  return save_tensor_file(to.second, dense);
}

Status Console::set(std::string_view text) {
  FRAZIL_TRY(const auto from, name_and_file(text, "set"));
  FRAZIL_TRY(Tensor value, read_tensor_file(from.second));
  FRAZIL_TRY(const Stop stop, debugger_.set(from.first, Datum(std::move(value))));
  print_outcome(stop);
  return {};
}

void Console::list_values(std::string_view part) {
  const auto& sites = debugger_.sites();
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const debug::Site& site = sites[i];
    if (site.name.find(part) == std::string::npos) continue;
    const std::string node = site.node ? sites.graph().describe(site.node) : "parameter";
    const std::string& why = debugger_.why_missing(i);
    print_line(fmt::format("{}  {}  {}{}", one_line(site.name),
                           str(sites.graph().type(site.value), sites.graph().scope()), one_line(node),
                           why.empty() ? "" : "; " + why));
  }
}

Result<int> Console::end() const {
  if (failed_) return std::unexpected(*failed_);
  return kDone;
}

/// Reads and executes commands. A fault is printed and, in a script, ends it.
Result<int> converse(Console& console, std::istream& from, bool interactive) {
  std::string text;
  for (std::size_t number = 1;; ++number) {
    if (interactive) fmt::print("(frazil) "), std::fflush(stdout);
    if (!std::getline(from, text)) break;
    const auto goes_on = console.line(text);
    if (!goes_on) {
      if (!interactive) return within(fmt::format("line {}: ", number), std::move(goes_on).error());
      report(goes_on.error());
    } else if (!*goes_on) {
      break;
    }
  }
  return console.end();
}

Result<int> debug_model(const DebugOptions& options) {
  FRAZIL_CHECK(prepare(options.common));
  FRAZIL_CHECK(take_standard_input(options.script.empty() ? "-" : options.script, "--script"));
  FRAZIL_TRY(const auto graph, load_graph(options.model, load_bounds_of(options.common)));
  const ValueSource source(*graph, options.common.seed, static_cast<std::size_t>(options.common.limits.memory_bytes));
  FRAZIL_TRY(Requests requests, Requests::make(source, options.requests));
  FRAZIL_TRY(auto inputs, requests.next());
  if (!inputs) return fail(Code::bad_input, "--stream: it has no request");
  const Common& common = options.common;
  FRAZIL_TRY(const auto debugger, Debugger::make(graph, {[&](auto g) { return make_executable(std::move(g), common); },
                                                         [&](Executable& e) { return open_session(e, common); }}));
  Console console(*debugger, *std::move(inputs));
  for (const std::string& what : options.breakpoints) FRAZIL_CHECK(console.add_breakpoint(what));
  if (options.script.empty() || options.script == "-") {
    return converse(console, std::cin, options.script.empty());
  }
  std::ifstream file(options.script);
  if (!file) return fail(Code::bad_input, "--script: cannot read '{}'", options.script);
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
