#include "tool/compile_model.h"

#include <frazil/native.h>

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
std::vector<std::vector<std::string>> requests_of(const std::vector<std::string>& shapes) {
  std::vector<std::vector<std::string>> requests;
  for (std::string_view text : shapes) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      fail(Code::bad_input, "--shapes: expected NAME=SHAPE;SHAPE..., got '{}'", text);
    }
    const std::string name(text.substr(0, equals));
    text.remove_prefix(equals + 1);
    std::vector<std::string> specs;
    do specs.push_back(fmt::format("{}={}", name, take_until(text, ';')));
    while (!text.empty());
    if (requests.empty()) requests.resize(specs.size());
    if (requests.size() != specs.size()) {
      fail(Code::bad_input, "--shapes: '{}' has {} shapes, the input before it {}", name, specs.size(),
           requests.size());
    }
    for (std::size_t i = 0; i < specs.size(); ++i) requests[i].push_back(specs[i]);
  }
  return requests;
}

/// Runs the requests often enough to compile loops, bodies and the plan.
void warm(Session& session, const ValueSource& source, const RequestOptions& options) {
  constexpr int kRuns = 3;
  Requests requests = Requests::make(source, options);
  requests.preload();
  for (int run = 0; run < kRuns; ++run) timed_pass(session, requests, nullptr);
}

}  // namespace

std::size_t compile_model(const std::string& path, const std::string& output, const RequestOptions& requests,
                          const std::vector<std::string>& shapes, const Common& common) {
  const auto shaped = requests_of(shapes);
  const Model model = load_model(path, common);
  const ValueSource source(model, common.run.seed, common.memory_limit());
  Common planned = common;
  if (common.tier == "auto") planned.tier = "2";
  if (common.tier == "ref") planned.tier = "0";
  const api::PackageBuilder package(model, session_options(planned));
  Session session = package.open();
  for (const auto& inputs : shaped) {
    RequestOptions request = requests;
    request.inputs.insert(request.inputs.end(), inputs.begin(), inputs.end());
    warm(session, source, request);
  }
  const bool given = !requests.inputs.empty() || !requests.stream.empty();
  if (shaped.empty() && given) warm(session, source, requests);
  package.save(output, shapes);
  return package.code_objects();
}

}  // namespace frazil::tool
