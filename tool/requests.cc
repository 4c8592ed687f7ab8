#include "tool/requests.h"

#include <algorithm>

#include <frazil/text.h>

#include "tool/option_table.h"
#include "tool/report.h"

namespace frazil::tool {
namespace {

std::vector<Array> base_inputs(const ValueSource& source, const std::vector<std::string>& pairs) {
  std::vector<Array> values(source.model().inputs().size());
  std::vector<bool> given(values.size());
  for (const std::string& pair : pairs) {
    const auto split = split_pair(pair, "--input");
    const std::size_t input = source.find_input(split.first);
    if (given[input]) fail(Code::bad_input, "--input '{}' is given twice", split.first);
    given[input] = true;
    const Spec spec = within(fmt::format("--input '{}': ", split.first), [&] { return parse_spec(split.second); });
    values[input] = source.make(input, spec, "", 0);
  }
  return values;
}

/// Returns an option that gives an input a value: "--input x=1x3x224x224". An extent of the example is the declared
/// one, or 1.
std::string example_of(const Port& port) {
  if (port.kind != Array::Kind::tensor) return fmt::format("--input '{}=@FILE.pb'", port.name);
  if (port.dtype == api::Dtype::string) return fmt::format("--input '{}==text'", port.name);
  std::string sizes;
  for (const std::int64_t extent : port.extents) {
    sizes += fmt::format("{}{}", sizes.empty() ? "" : "x", extent < 0 ? 1 : extent);
  }
  return fmt::format("--input {}={}", port.name, sizes.empty() ? "scalar" : sizes);
}

void check_given(const std::vector<Port>& ports, const std::vector<Array>& inputs) {
  std::string names, examples;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Port& port = ports[i];
    if (!inputs[i].empty() || port.optional) continue;
    names += fmt::format("{}input '{}' is missing: expected {}", names.empty() ? "" : "; ", api::printable(port.name),
                         port.full_type);
    examples += " " + example_of(port);
  }
  if (names.empty()) return;
  fail(Code::bad_input, "{}; for random values add{}", names, api::printable(examples));
}

}  // namespace

void add_requests(CLI::App& app, RequestOptions& options) {
  app.option_defaults()->group(group::kInputs);
  app.add_option("--input,-i", options.inputs,
                 "The value of an input. SPEC is a file (@FILE, or a path that ends in .npy or .pb); dims for random "
                 "values (1x3x224x224, scalar, or 1x128:0..100 for values in [0, 100)); or =V for the declared shape "
                 "filled with V")
      ->type_name("NAME=SPEC")
      ->allow_extra_args(false);
  app.add_option("--stream", options.stream,
                 "Several requests: each line of FILE (- for standard input) is a JSON object {\"NAME\": \"SPEC\", "
                 "...}. Inputs that it omits come from --input")
      ->type_name("FILE");
  app.add_option("--carry", options.carry, "The next request's INPUT is this request's OUTPUT")
      ->type_name("OUTPUT=INPUT")
      ->allow_extra_args(false);
}

Requests Requests::make(const ValueSource& source, const RequestOptions& options) {
  Requests requests;
  requests.ports_ = source.model().inputs();
  requests.base_ = base_inputs(source, options.inputs);
  requests.carry_ = Carry::make(source, options.carry);
  if (!options.stream.empty()) {
    requests.stream_ = Stream::open(source, options.stream);
  }
  return requests;
}

std::optional<Stream::Inputs> Requests::next_changes() {
  if (loaded_) return at_ < loaded_->size() ? std::optional((*loaded_)[at_++]) : std::nullopt;
  if (stream_) return stream_->next();
  return at_++ == 0 ? std::optional(Stream::Inputs()) : std::nullopt;
}

std::optional<std::vector<Array>> Requests::next() {
  auto changes = next_changes();
  if (!changes) return std::nullopt;
  std::vector<Array> inputs = base_;
  carry_.put(inputs);
  for (auto& [input, value] : *changes) inputs[input] = std::move(value);
  check_given(ports_, inputs);
  return inputs;
}

void Requests::preload() {
  std::vector<Stream::Inputs> all;
  for (;;) {
    auto changes = next_changes();
    if (!changes) break;
    all.push_back(std::move(*changes));
  }
  if (all.empty()) fail(Code::bad_input, "--stream: no request in it");
  loaded_ = std::move(all);
  at_ = 0;
}

void Requests::restart() {
  at_ = 0;
  if (stream_) carry_.reset();
}

double run_all(api::Session& session, Requests& requests) {
  double total = 0;
  for (;;) {
    const auto inputs = requests.next();
    if (!inputs) break;
    const double begin = now();
    const Results outputs = session.run(*inputs);
    total += now() - begin;
    requests.done(outputs);
  }
  requests.restart();
  return total;
}

}  // namespace frazil::tool
