#include "tool/compile_model.h"

#include "base/os/knobs.h"
#include "exec/native/code_maker.h"
#include "exec/package/package.h"
#include "tool/measure.h"

namespace frazil::tool {
namespace {

/// Removes and returns the text up to the separator, which is removed, too.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view taken = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return taken;
}

/// Parses --shapes, which has a list per input. Returns the requests that the lists form together, each as --input
/// texts.
Result<std::vector<std::vector<std::string>>> requests_of(const std::vector<std::string>& shapes) {
  std::vector<std::vector<std::string>> requests;
  for (std::string_view text : shapes) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return fail(Code::bad_input, "--shapes: expected NAME=SHAPE;SHAPE..., got '{}'", text);
    }
    const std::string name(text.substr(0, equals));
    text.remove_prefix(equals + 1);
    std::vector<std::string> specs;
    do specs.push_back(fmt::format("{}={}", name, take_until(text, ';')));
    while (!text.empty());
    if (requests.empty()) requests.resize(specs.size());
    if (requests.size() != specs.size()) {
      return fail(Code::bad_input, "--shapes: '{}' has {} shapes, the input before it {}", name, specs.size(),
                  requests.size());
    }
    for (std::size_t i = 0; i < specs.size(); ++i) requests[i].push_back(specs[i]);
  }
  return requests;
}

/// Runs the requests often enough to compile loops, bodies and the plan.
Status warm(Session& session, const ValueSource& source, const RequestOptions& options) {
  constexpr int kRuns = 3;
  FRAZIL_TRY(Requests requests, Requests::make(source, options));
  FRAZIL_CHECK(requests.preload());
  for (int run = 0; run < kRuns; ++run) FRAZIL_CHECK(timed_pass(session, requests, nullptr));
  return {};
}

}  // namespace

Status compile_model(const std::string& model, const std::string& output, const RequestOptions& requests,
                     const std::vector<std::string>& shapes, const Common& common) {
  FRAZIL_TRY(const auto shaped, requests_of(shapes));
  FRAZIL_TRY(const auto graph, load_graph(model, load_bounds_of(common)));
  const ValueSource source(*graph, common.seed, static_cast<std::size_t>(common.limits.memory_bytes));
  exec::keep_registered_code();
  FRAZIL_TRY(const auto planned, plan_within(load_bounds_of(common), graph, {.passes = knobs()->passes}));
  FRAZIL_TRY(Graph packed, exec::graph_of_package(*planned));
  const PassSet passes = exec::passes_of_package(packed);
  const auto tier = common.tier == "auto" ? exec::Tier::specialised : exec::tier_named(common.tier);
  FRAZIL_TRY(const auto executable,
             Executable::make(std::make_shared<const Graph>(std::move(packed)),
                              {.passes = passes, .tier = tier.value_or(exec::Tier::interpreted)}));
  const auto session = open_session(*executable, common);
  for (const auto& inputs : shaped) {
    RequestOptions request = requests;
    request.inputs.insert(request.inputs.end(), inputs.begin(), inputs.end());
    FRAZIL_CHECK(warm(*session, source, request));
  }
  const bool given = !requests.inputs.empty() || !requests.stream.empty();
  if (shaped.empty() && given) FRAZIL_CHECK(warm(*session, source, requests));
  return exec::write_package(output, *executable, shapes);
}

}  // namespace frazil::tool
