#include <memory>

#include "server/replay/replay.h"
#include "tool/bits_environment.h"
#include "tool/commands.h"
#include "tool/common.h"
#include "tool/option_table.h"
#include "tool/report.h"

namespace frazil::tool {
namespace {

struct ReplayOptions {
  std::string folder, keys;
  std::uint64_t entry = 0;
  std::vector<std::string> changes;
  bool json = false;
};

void print_lines(const server::ReplayReport& report) {
  if (!report.cause.empty()) print_line(one_line("note: " + report.cause));
  if (!report.step_difference.empty()) {
    print_line(one_line(fmt::format("first step: node '{}': {}", report.step, report.step_difference)));
  }
  if (!report.place.empty()) {
    print_line(one_line(
        fmt::format("first difference: {}: {} recorded, {} replayed", report.place, report.recorded, report.replayed)));
  }
  for (const auto& [name, value] : report.outputs) print_line(one_line(fmt::format("output '{}': {}", name, value)));
}

int exit_of(server::ReplayResult result) {
  switch (result) {
    case server::ReplayResult::equal:
    case server::ReplayResult::close: return kDone;
    case server::ReplayResult::different: return kFailed;
    default: return kBadInput;
  }
}

int replay(const ReplayOptions& options) {
  server::ReplayChanges changes;
  for (const std::string& change : options.changes) server::add_change(changes, change);
  server::Replayer replayer(options.folder, options.keys, bits_environment());
  const server::ReplayReport report = replayer.replay(options.entry, changes);
  if (!options.json) print_lines(report);
  govern::Json json = report.json();
  json["entry"] = options.entry;
  print_line(json.dump(-1, ' ', false, govern::Json::error_handler_t::replace));
  return exit_of(report.result);
}

}  // namespace

void add_replay(CLI::App& app, Action& action) {
  const auto options = std::make_shared<ReplayOptions>();
  CLI::App* command = app.add_subcommand("replay", "Run a request of an audit log again and compare the results");
  command->add_option("DIR", options->folder, "The folder of the audit log")->required();
  command->add_option("N", options->entry, "The index of the request's entry, as 'frazil audit show' lists it")
      ->required();
  command->add_option("--keys", options->keys, "The folder of the subjects' keys, for payloads that are sealed")
      ->group(group::kInputs)
      ->type_name("DIR");
  command
      ->add_option("--override", options->changes,
                   "What if: another value of a parameter, branch of a node, version of a model, or input; repeat it "
                   "for several")
      ->group(group::kExecution)
      ->type_name("NAME=VALUE|model=NAME/VERSION|input:NAME=@FILE.npy")
      ->allow_extra_args(false);
  command->add_flag("--json", options->json, "Print the last line only")->group(group::kOutput);
  command->footer(
      "The log has the definition, the inputs and what happened: choices, answers of hosts, states, random numbers and "
      "the extents of batches. Nothing outside of this process is contacted. The last line is JSON. Exits with 0 if "
      "the "
      "results are equal, 1 for a difference, 2 if the request cannot be replayed; the line names the cause.\n"
      "\n"
      "Examples:\n"
      "  frazil replay audit 17 --keys keys\n"
      "  frazil replay audit 17 --override route=large --override model=ranker/3");
  command->callback([options, &action] { action = [options] { return replay(*options); }; });
}

}  // namespace frazil::tool
