#include "tool/requests.h"

#include <algorithm>

#include "base/value/text.h"
#include "tool/option_table.h"
#include "tool/report.h"

namespace frazil::tool {
namespace {

Result<std::vector<Datum>> base_inputs(const ValueSource& source, const std::vector<std::string>& pairs) {
  std::vector<Datum> values(source.graph().input_names().size());
  std::vector<bool> given(values.size());
  for (const std::string& pair : pairs) {
    FRAZIL_TRY(const auto split, split_pair(pair, "--input"));
    FRAZIL_TRY(const std::size_t input, source.find_input(split.first));
    if (given[input]) return fail(Code::bad_input, "--input '{}' is given twice", split.first);
    given[input] = true;
    auto spec = parse_spec(split.second);
    if (!spec) return within(fmt::format("--input '{}': ", split.first), std::move(spec).error());
    FRAZIL_TRY(values[input], source.make(input, *spec, "", 0));
  }
  return values;
}

/// Returns an option that gives an input a value: "--input x=1x3x224x224". An extent of the example is the declared
/// one, or 1.
std::string example_of(const std::string& name, const Type& type) {
  if (!type.is_tensor()) return fmt::format("--input '{}=@FILE.pb'", name);
  if (type.elem == Elem::string) return fmt::format("--input '{}==text'", name);
  std::string sizes;
  for (const Dim d : type.shape) {
    sizes += fmt::format("{}{}", sizes.empty() ? "" : "x", d.is_const() ? d.value() : 1);
  }
  return fmt::format("--input {}={}", name, sizes.empty() ? "scalar" : sizes);
}

Status check_given(const Graph& graph, std::span<const Datum> inputs) {
  std::string names, examples;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Type& type = graph.type(graph.main().params[i]);
    if (!inputs[i].empty() || type.kind == Type::Kind::optional || graph.input_default(i) != nullptr) continue;
    const std::string& name = graph.input_names()[i];
    names += fmt::format("{}input '{}' is missing: expected {}", names.empty() ? "" : "; ", printable(name),
                         str(type, graph.scope()));
    examples += " " + example_of(name, type);
  }
  if (names.empty()) return {};
  return fail(Code::bad_input, "{}; for random values add{}", names, printable(examples));
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

Result<Requests> Requests::make(const ValueSource& source, const RequestOptions& options) {
  Requests requests;
  requests.graph_ = &source.graph();
  FRAZIL_TRY(requests.base_, base_inputs(source, options.inputs));
  FRAZIL_TRY(requests.carry_, Carry::make(source, options.carry));
  if (!options.stream.empty()) {
    FRAZIL_TRY(requests.stream_, Stream::open(source, options.stream));
  }
  return requests;
}

Result<std::optional<Stream::Inputs>> Requests::next_changes() {
  if (loaded_) return at_ < loaded_->size() ? std::optional((*loaded_)[at_++]) : std::nullopt;
  if (stream_) return stream_->next();
  return at_++ == 0 ? std::optional(Stream::Inputs()) : std::nullopt;
}

Result<std::optional<std::vector<Datum>>> Requests::next() {
  FRAZIL_TRY(auto changes, next_changes());
  if (!changes) return std::nullopt;
  std::vector<Datum> inputs = base_;
  carry_.put(inputs);
  for (auto& [input, value] : *changes) inputs[input] = std::move(value);
  FRAZIL_CHECK(check_given(*graph_, inputs));
  return inputs;
}

Status Requests::preload() {
  std::vector<Stream::Inputs> all;
  for (;;) {
    FRAZIL_TRY(auto changes, next_changes());
    if (!changes) break;
    all.push_back(std::move(*changes));
  }
  if (all.empty()) return fail(Code::bad_input, "--stream: no request in it");
  loaded_ = std::move(all);
  at_ = 0;
  return {};
}

void Requests::restart() {
  at_ = 0;
  if (stream_) carry_.reset();
}

Result<double> run_all(exec::Session& session, Requests& requests) {
  double total = 0;
  for (;;) {
    FRAZIL_TRY(const auto inputs, requests.next());
    if (!inputs) break;
    const double begin = now();
    auto outputs = session.run(*inputs);
    total += now() - begin;
    if (!outputs) return std::unexpected(std::move(outputs).error());
    requests.done(*outputs);
  }
  requests.restart();
  return total;
}

}  // namespace frazil::tool
