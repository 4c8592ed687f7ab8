#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <frazil/environment.h>
#include <frazil/native.h>
#include <unistd.h>

#include "base/value/text.h"
#include "tool/commands.h"
#include "tool/common.h"
#include "tool/guard.h"
#include "tool/help.h"
#include "tool/report.h"

namespace frazil::tool {
namespace {

constexpr const char* kFooter =
    "'frazil COMMAND --help' describes a command, and 'frazil knobs' lists environment variables. A model is an ONNX "
    "file, a package of 'frazil compile', or '-' for standard input.\n\n"
    "Exit codes:\n"
    "  0  the command is done\n"
    "  1  a comparison or a case failed\n"
    "  2  an input or the usage is wrong\n"
    "  3  a limit was reached, or an internal error\n\n"
    "Examples:\n"
    "  frazil inspect model.onnx\n"
    "  frazil run model.onnx --input x=1x3x224x224\n"
    "  frazil bench model.onnx --input x=1x3x224x224";

std::string code_generator_text() {
  const api::CodeGenerator generator = api::code_generator();
  if (!generator.missing.empty()) return "none: " + generator.missing;
  return fmt::format("{}, {}", generator.version, generator.file);
}

void declare(CLI::App& app, Action& action) {
  app.require_subcommand(1);
  app.footer(kFooter);
  app.formatter_fn([](const CLI::App* command, const std::string& path, CLI::AppFormatMode) {
    return help_of(table_of(*command), path, help_width());
  });
  app.set_help_flag("-h,--help", "Print this help");
  app.set_version_flag(
      "--version", [] { return fmt::format("frazil {}\ncode generator: {}", FRAZIL_VERSION, code_generator_text()); },
      "Print the version and the code generator");
  add_run(app, action);
  add_bench(app, action);
  add_profile(app, action);
  add_test(app, action);
  add_inspect(app, action);
  add_ops(app, action);
  add_convert(app, action);
  add_knobs(app, action);
  add_passes(app, action);
  add_tune(app, action);
  add_debug(app, action);
  add_compare(app, action);
  add_reduce(app, action);
  add_compile(app, action);
  add_report(app, action);
#ifdef FRAZIL_VIEW
  add_view(app, action);
#else
  add_missing(app, action, "view", "Show a model in a browser", "FRAZIL_VIEW");
#endif
#ifdef FRAZIL_SERVE
  add_serve(app, action);
  add_plan_capacity(app, action);
  add_replay(app, action);
  add_bom(app, action);
#else
  add_missing(app, action, "serve", "Serve the models of a folder over HTTP and gRPC", "FRAZIL_SERVE");
  add_missing(app, action, "plan-capacity", "Forecast times and memory of a mix of requests for a server",
              "FRAZIL_SERVE");
  add_missing(app, action, "replay", "Run a request of an audit log again and compare the results", "FRAZIL_SERVE");
  add_missing(app, action, "bom", "Write the bill of materials of a served folder", "FRAZIL_SERVE");
#endif
  add_policy(app, action);
  add_audit(app, action);
#ifdef FRAZIL_VIEW
  add_witness(app, action);
#else
  add_missing(app, action, "witness", "Cosign checkpoints of audit logs", "FRAZIL_VIEW");
#endif
  add_keygen(app, action);
  add_sign(app, action);
  add_verify(app, action);
  add_approve(app, action);
  add_completion(app, action);
  add_man(app, action);
}

/// Describes a word that is not one of `known`, and suggests the most similar one.
std::string unknown(std::string_view kind, std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t kFar = ~std::size_t{0};
  const auto distance = [&](const std::string& k) { return similarity(k, word).value_or(kFar); };
  const auto near = std::ranges::min_element(known, {}, distance);
  std::string text = fmt::format("there is no {} '{}'", kind, word);
  if (near == known.end() || distance(*near) == kFar) return text;
  return fmt::format("{}; did you mean '{}'?", text, *near);
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CommandTable& command : table_of(app).commands) names.push_back(command.name);
  return names;
}

std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const OptionGroup& g : table_of(command).groups) {
    for (const OptionRow& row : g.rows) names.push_back(row.names.back());
  }
  return names;
}

/// Describes an error of the arguments of `command`. CLI11 lists arguments that it does not know; the first option
/// among them is the mistake, as a value may follow it. It may also be why a required option is missing.
std::string argument_error(const CLI::ParseError& error, const CLI::App& command) {
  const std::vector<std::string> rest = command.remaining();
  const bool has_commands = !commands_of(command).empty() && command.get_subcommands().empty();
  if (has_commands && rest.empty()) return "no command given";
  if (has_commands && !rest.front().starts_with('-')) return unknown("command", rest.front(), commands_of(command));
  const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  if (!extra && dynamic_cast<const CLI::RequiredError*>(&error) == nullptr) return error.what();
  const auto option = std::ranges::find_if(rest, [](const std::string& word) { return word.starts_with('-'); });
  if (option == rest.end()) {
    return extra && !rest.empty() ? fmt::format("there is an argument too many: '{}'", rest.front()) : error.what();
  }
  return unknown("option", std::string_view(*option).substr(0, option->find('=')), options_of(command));
}

int usage(const CLI::ParseError& error, const CLI::App& app, std::string_view first) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
  std::string what = first.empty() ? "no command given" : unknown("command", first, commands_of(app)), command;
  if (first.starts_with('-')) what = unknown("option", first, options_of(app));
  for (const CLI::App* chosen = &app; !chosen->get_subcommands().empty();) {
    chosen = chosen->get_subcommands().front();
    what = argument_error(error, *chosen);
    command += " " + chosen->get_name();
  }
  print_error(fmt::format("frazil: {}; see frazil{} --help\n", one_line(what), command));
  return kBadInput;
}

int run_command(int argc, char** argv) {
  (void)api::with_environment(api::Options{});  // a malformed variable is an error of every command
  CLI::App app("Run, measure, inspect and serve ONNX models, including those with loops, branches and symbolic shapes.",
               "frazil");
  Action action;
  declare(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return usage(error, app, argc > 1 ? argv[1] : "");
  }
  int code = kDone;
  try {
    code = action();
  } catch (const Error& error) {
    (void)finish_output();  // the earlier error is reported
    return report(error);
  }
  warn_of_tier();
  if (const auto error = finish_output()) return report(*error);
  return code;
}

}  // namespace
}  // namespace frazil::tool

namespace {

/// Opens closed standard files, so that no other file takes their descriptors. Using them remains an error.
void open_standard_files() {
  for (int file = 0; file <= STDERR_FILENO; ++file) {
    if (::fcntl(file, F_GETFD) == -1) (void)::open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

/// Exits without waiting for compilation, whose result would be discarded.
int leave(int code) {
  if (frazil::api::is_compiling()) std::_Exit(code);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  using frazil::tool::Code, frazil::tool::Error, frazil::tool::report;
  open_standard_files();
  frazil::tool::install_crash_guard();
  try {
    return leave(frazil::tool::run_command(argc, argv));
  } catch (const Error& error) {
    return report(error);
  } catch (const std::bad_alloc&) {
    return report({Code::out_of_memory, "out of memory"});
  } catch (const std::exception& error) {
    return report({Code::internal, error.what()});
  } catch (...) {
    return report({Code::internal, "unknown exception"});
  }
}
