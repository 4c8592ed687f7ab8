#include <memory>

#include <CLI/Version.hpp>
#include <boost/version.hpp>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <spdlog/version.h>

#include "govern/bom/bill.h"
#include "govern/sign/moment.h"
#include "tool/commands.h"
#include "tool/common.h"
#include "tool/govern_files.h"
#include "tool/option_table.h"
#include "tool/pipeline_facts.h"
#include "tool/report.h"

namespace frazil::tool {
namespace {

struct BomOptions {
  std::string folder, timestamp;
  std::vector<std::string> keys;
  api::LoadOptions load;
  bool json = false;
};

/// Returns the libraries of this build whose versions are known when it is compiled or run.
std::vector<govern::BillLibrary> libraries() {
  return {{.name = "boost",
           .version = fmt::format("{}.{}.{}", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100)},
          {.name = "cli11", .version = CLI11_VERSION},
          {.name = "fmt",
           .version = fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
          {.name = "nlohmann-json",
           .version = fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                                  NLOHMANN_JSON_VERSION_PATCH)},
          {.name = "openssl", .version = OpenSSL_version(OPENSSL_VERSION_STRING)},
          {.name = "spdlog", .version = fmt::format("{}.{}.{}", SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH)}};
}

int bom(const BomOptions& options) {
  if (!options.timestamp.empty() && !govern::moment_from(options.timestamp)) {
    fail(Code::bad_input, "--timestamp: expected a time such as 2026-11-28T14:05:09Z, got '{}'", options.timestamp);
  }
  const govern::Json bill = govern::bill_of_materials({.folder = options.folder,
                                                       .trusted = public_keys(options.keys),
                                                       .pipelines = pipelines_of(options.folder),
                                                       .version = FRAZIL_VERSION,
                                                       .libraries = libraries(),
                                                       .timestamp = options.timestamp,
                                                       .load = options.load});
  print_text(options.json ? govern::canonical(bill) + '\n' : govern::text_of_bill(bill));
  return kDone;
}

}  // namespace

void add_bom(CLI::App& app, Action& action) {
  auto options = std::make_shared<BomOptions>();
  options->load = api::with_environment(api::LoadOptions{});
  CLI::App* command = app.add_subcommand("bom", "Write the bill of materials of a served folder");
  command->add_option("DIR", options->folder, "The folder of models, as in 'frazil serve'")->required();
  command->option_defaults()->group(group::kInputs);
  command->add_option("--key", options->keys, "A trusted public key; files that it signed are marked as verified")
      ->type_name("PEM")
      ->allow_extra_args(false);
  add_load_limits(*command, options->load);
  command->option_defaults()->group(group::kOutput);
  command
      ->add_option("--timestamp", options->timestamp,
                   "The time of the bill; without it, equal folders have equal bills")
      ->type_name("TIME");
  command->add_flag("--json", options->json, "Write CycloneDX 1.7, alone on the last line of stdout");
  command->footer(
      "Each fact is 'verified' (a signature covers it), 'inferred' (computed from a file) or 'declared' (somebody "
      "wrote "
      "it).\n\n"
      "Examples:\n"
      "  frazil bom models --key release.pub.pem\n"
      "  frazil bom models --json > models.cdx.json");
  command->callback([options, &action] { action = [options] { return bom(*options); }; });
}

}  // namespace frazil::tool
