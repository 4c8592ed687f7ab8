#include <filesystem>
#include <memory>
#include <optional>

#include "govern/report/report.h"
#include "tool/commands.h"
#include "tool/common.h"
#include "tool/extent_ranges.h"
#include "tool/option_table.h"
#include "tool/page_server.h"
#include "tool/requests.h"
#include "tool/served_report.h"
#include "tool/view_files.h"
#include "tool/view_run.h"

namespace frazil::tool {
namespace {

struct ViewOptions {
  Common common;
  RequestOptions requests;
  std::string model;
  std::vector<std::string> extents;
  std::uint16_t port = 8080;
};

bool has_requests(const RequestOptions& options) { return !options.inputs.empty() || !options.stream.empty(); }

/// Adds the plan of the whole model, and the plans that missed guards led to.
void add_plans(Json& page, const exec::Executable& executable, const profile::Recorder& recorder,
               const Origins& origins) {
  page["plan"] = plan_json(executable.plan(), origins);
  for (const auto& profile : recorder.plans()) {
    if (&profile->plan == &executable.plan()) continue;
    Json more = plan_json(profile->plan, origins);
    for (const char* part : {"steps", "apart"}) {
      for (Json& entry : more[part]) page["plan"][part].push_back(std::move(entry));
    }
  }
}

/// The JSON files of a page.
struct PageData {
  std::string graph, report;
};

/// Returns the page of a folder of models and pipelines: their reports, and an empty graph.
PageData folder_page(const ViewOptions& options) {
  if (has_requests(options.requests)) {
    fail(Code::bad_input, "'{}' is a folder: requests are for the page of one model", options.model);
  }
  const Json none = Json::array();
  const Json graph = {{"name", ""},    {"file", options.model}, {"inputs", none},          {"outputs", none},
                      {"nodes", none}, {"containers", none},    {"values", Json::object()}};
  const govern::Json reports = report_of_folder(options.model, {.extents = extent_ranges(options.extents)});
  return {json_text(graph), govern::canonical(reports)};
}

/// Returns the page of a model.
PageData page_of(const ViewOptions& options) {
  if (std::filesystem::is_directory(options.model)) return folder_page(options);
  const Model model = load_model(options.model, options.common);
  auto& impl = api::Access::impl(model);
  const debug::Sites sites(impl.graph);
  const Origins origins(*impl.graph);
  Json page = graph_json(sites);
  page["file"] = options.model;
  const api::Options how = session_options(options.common);
  const auto executable = impl.executable(api::mode_of(how));
  profile::Recorder recorder(0);
  if (has_requests(options.requests)) {
    const ValueSource source(model, options.common.run.seed, options.common.memory_limit());
    Requests requests = Requests::make(source, options.requests);
    requests.preload();
    const auto session = api::open_session(*executable, how);
    session->allow_padding(requests.carries());
    page["run"] = run_json(*session, requests, sites, origins, recorder);
  }
  if (options.common.tier != "ref") add_plans(page, *executable, recorder, origins);
  const govern::Json report = govern::report_of(model, {.extents = extent_ranges(options.extents)});
  return {json_text(page), govern::canonical({{"models", govern::Json::array({report})}})};
}

int view(const ViewOptions& options) {
  prepare(options.common);
  const PageData page = page_of(options);
  auto files = view_files();
  files.push_back({"/graph.json", "application/json", page.graph});
  files.push_back({"/report.json", "application/json", page.report});
  serve_page(files, options.port, [](std::uint16_t port) {
    fmt::print(stderr, "listening http=127.0.0.1:{}; open http://127.0.0.1:{}/ in a browser, end with Ctrl-C\n", port,
               port);
  });
  return kDone;
}

}  // namespace

void add_view(CLI::App& app, Action& action) {
  auto options = std::make_shared<ViewOptions>();
  CLI::App* command = app.add_subcommand("view", "Show a model in a browser, and what a run of it did");
  add_model(*command, options->model);
  add_requests(*command, options->requests);
  add_extents(*command, options->extents);
  command->add_option("--port", options->port, "The port on 127.0.0.1; 0: a free one")
      ->group(group::kOutput)
      ->type_name("P")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  add_common(*command, options->common, Printing::text);
  command->footer(
      "The page is served on this machine only and needs no network. With --input or --stream the model is run, and "
      "the page also shows times, branches taken, iterations, and the last value of each name. 'All paths' shows the "
      "report of 'frazil report'; for a folder of models and pipelines the page has only their reports.\n"
      "\n"
      "Examples:\n"
      "  frazil view model.onnx\n"
      "  frazil view vad.onnx --input input=1x512 --input state=2x1x128 --input sr==16000");
  command->callback([options, &action] { action = [options] { return view(*options); }; });
}

}  // namespace frazil::tool
