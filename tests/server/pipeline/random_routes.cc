#include "server/pipeline/random_routes.h"

#include <nlohmann/json.hpp>

#include "server/host/host_node.h"

namespace frazil::test {
namespace {

using Yaml = nlohmann::json;

constexpr const char* kPicky =
    "graph g(%x: f32[N,2]) { %m = ReduceMax(%x) {keepdims = 0} %over = Greater(%m, f32[] 4) %i = Cast(%over) {to = i64}"
    "%j = Mul(%i, i64[] 7) %v = Gather(%x, %j) {axis = 1} %u = Unsqueeze(%v, i64[1] 1) %y = Add(%x, %u) return y = %y "
    "}";

constexpr const char* kBranchy = R"(graph g(%x: f32[N,2]) {
  %m = ReduceMax(%x) {keepdims = 0}
  %sure = Greater(%m, f32[] 1)
  %y = If(%sure) then_branch() { %a = Add(%x, f32[] -3) yield %a } else_branch() {
    %b = Loop(i64[] 3, _, %x) body(%i, %on, %v) { %w = Add(%v, f32[] 1) yield %on, %w }
    yield %b
  } "choice"
  return y = %y })";

constexpr const char* kTwo =
    "graph g(%x: f32[N,2], %t: f32[N,2]) { %y = Mul(%x, f32[] 0.5) %w = Sub(%x, %t) return y = %y, w = %w }";

constexpr const char* kCalls =
    "graph g(%x: f32[N,2]) { %y = frazil::Call(%x) {model = \"triple\", takes = [\"f32[N,2]\"], "
    "gives = [\"f32[N,2]\"]} return y = %y }";

void register_halve() {
  static const bool once = [] {
    const server::HostSignature halve{.inputs = {{"x", "f32[N,2]"}}, .outputs = {{"y", "f32[N,2]"}}};
    server::register_host_function("halve", halve, [](const server::HostCall& call) {
      api::Array y = call.inputs[0];
      for (float& value : y.mutable_values<float>()) value /= 2;
      return std::vector{y};
    });
    return true;
  }();
  EXPECT_TRUE(once);
}

class PipelineMaker {
 public:
  PipelineMaker(std::uint64_t seed, const std::vector<std::string>& pipelines) : random_(seed), pipelines_(pipelines) {}

  std::string make() {
    Values values = {"a", "b", "c"};
    Yaml steps = steps_in(values, 0, 2 + pick(4));
    const std::string last = values.back();
    const Yaml inputs = {{"a", "f32[N,2]"}, {"b", "f32[N,2]"}, {"c", "f32[N,2]"}};
    return Yaml{{"inputs", inputs}, {"steps", steps}, {"outputs", {{"y", last}, {"z", any_of(values)}}}}.dump();
  }

 private:
  using Values = std::vector<std::string>;  ///< tensors of f32[N,2] that a block can use

  std::size_t pick(std::size_t count) { return random_() % count; }
  const std::string& any_of(const Values& values) { return values[pick(values.size())]; }
  std::string new_name(const char* kind) { return kind + std::to_string(next_++); }

  Yaml steps_in(Values& values, int depth, std::size_t count) {
    Yaml steps = Yaml::array();
    for (std::size_t i = 0; i < count; ++i) steps.push_back(step(values, depth));
    return steps;
  }

  Yaml step(Values& values, int depth) {
    using Maker = Yaml (PipelineMaker::*)(const std::string&, Values&, int);
    static constexpr Maker kBranching[] = {&PipelineMaker::switch_step,   &PipelineMaker::switch_step,
                                           &PipelineMaker::split_step,    &PipelineMaker::loop_step,
                                           &PipelineMaker::fallback_step, &PipelineMaker::race_step,
                                           &PipelineMaker::ensemble_step, &PipelineMaker::shadow_step};
    const std::string name = new_name("s");
    if (depth > 2 || pick(3) == 0) return call_step(name, values);
    return (this->*kBranching[pick(std::size(kBranching))])(name, values, depth);
  }

  Yaml call_step(const std::string& name, Values& values) {
    const std::size_t kind = pick(12);
    Yaml step = {{"name", name}};
    if (kind == 0) {
      step["code"] = {{"function", "halve"}, {"inputs", {{"x", any_of(values)}}}};
    } else if (kind == 1) {
      step["model"] = "two";
      step["inputs"] = {{"x", any_of(values)}, {"t", any_of(values)}};
      values.push_back(name + ".w");
    } else if (kind < 4 && !pipelines_.empty()) {
      step["model"] = any_of(pipelines_);
      step["inputs"] = {{"a", any_of(values)}, {"b", any_of(values)}, {"c", any_of(values)}};
      values.push_back(name + ".z");
    } else {
      static const Values models = {"double", "triple", "branchy", "calls", "double", "triple", "picky"};
      step["model"] = any_of(models);
      step["inputs"] = {{"x", any_of(values)}};
    }
    values.push_back(name + ".y");
    return step;
  }

  /// A block with steps of its own and a result y.
  Yaml block(const Values& outer, int depth) {
    Values values = outer;
    Yaml made = {{"name", new_name("b")}, {"steps", steps_in(values, depth + 1, 1 + pick(2))}};
    made["results"] = {{"y", values.back()}};
    return made;
  }
  Yaml blocks(const Values& values, int depth, std::size_t count) {
    Yaml list = Yaml::array();
    for (std::size_t i = 0; i < count; ++i) list.push_back(block(values, depth));
    return list;
  }

  std::string comparison(const Values& values) {
    static const Values functions = {"max", "min", "mean", "sum"}, signs = {" > ", " < ", " >= "};
    const std::string limit = std::to_string(pick(8));
    const std::size_t kind = pick(4);
    if (kind == 0) return "param('p', 1)" + any_of(signs) + limit;
    if (kind == 1) return std::string("param('q', 'u') == '") + (pick(2) == 0 ? "u" : "v") + "'";
    return any_of(functions) + "(" + any_of(values) + ")" + any_of(signs) + (kind == 2 ? "param('r', 2)" : limit);
  }
  std::string formula(const Values& values) {
    const std::string first = comparison(values);
    if (pick(3) != 0) return first;
    return first + (pick(2) == 0 ? " and " : " or ") + comparison(values);
  }

  Yaml with_result(const std::string& name, const char* kind, Yaml content, Values& values) {
    values.push_back(name + ".y");
    return {{"name", name}, {kind, std::move(content)}};
  }

  Yaml switch_step(const std::string& name, Values& values, int depth) {
    Yaml cases = blocks(values, depth, 2 + pick(2));
    for (std::size_t i = 0; i + 1 < cases.size(); ++i) cases[i]["when"] = formula(values);
    return with_result(name, "switch", cases, values);
  }

  Yaml split_step(const std::string& name, Values& values, int depth) {
    static const std::vector<std::vector<double>> shares = {
        {0, 1}, {1, 0}, {0.5, 0.5}, {0, 0.4, 0.6}, {0.25, 0.25, 0.5}};
    const auto& own = shares[pick(shares.size())];
    Yaml split = {{"arms", blocks(values, depth, own.size())}};
    for (std::size_t i = 0; i < own.size(); ++i) split["arms"][i]["share"] = own[i];
    const Values keys = {"param('q', 'u')", "param('p', 0)", "max(" + any_of(values) + ")"};
    if (pick(4) != 0) split["by"] = any_of(keys);
    return with_result(name, "split", split, values);
  }

  Yaml loop_step(const std::string& name, Values& values, int depth) {
    const std::string first = new_name("v"), second = new_name("v");
    Values inner = values;
    inner.push_back(first);
    inner.push_back(second);
    Yaml loop = {{"start", {{first, any_of(values)}, {second, any_of(values)}}}, {"most", 1 + pick(3)}};
    if (pick(3) != 0) loop["while"] = formula(inner);
    loop["steps"] = steps_in(inner, depth + 1, 1 + pick(2));
    loop["next"] = {{first, inner.back()}};
    if (pick(2) == 0) loop["next"][second] = first;
    values.push_back(name + "." + second);
    values.push_back(name + "." + first);
    return {{"name", name}, {"loop", loop}};
  }

  Yaml fallback_step(const std::string& name, Values& values, int depth) {
    Yaml list = blocks(values, depth, 2);
    if (pick(2) == 0) list[0]["steps"].push_back(failing(values));
    return with_result(name, "fallback", list, values);
  }
  Yaml failing(const Values& values) {
    return {{"name", new_name("s")}, {"model", pick(2) == 0 ? "fails" : "picky"}, {"inputs", {{"x", any_of(values)}}}};
  }

  Yaml race_step(const std::string& name, Values& values, int depth) {
    return with_result(name, "race", blocks(values, depth, 2), values);
  }
  Yaml ensemble_step(const std::string& name, Values& values, int depth) {
    Yaml ensemble = {{"blocks", blocks(values, depth, 2)}, {"combine", pick(2) == 0 ? "mean" : "first"}};
    if (pick(3) == 0) ensemble["blocks"][0]["steps"].push_back(failing(values));
    return with_result(name, "ensemble", ensemble, values);
  }
  Yaml shadow_step(const std::string& name, Values& values, int) {
    const double share = pick(2) == 0 ? 1 : 0.5;
    Yaml shadow = {{"share", share}, {"model", "shadowed"}, {"inputs", {{"x", any_of(values)}}}};
    return {{"name", name}, {"shadow", shadow}};
  }

  std::mt19937_64 random_;
  const std::vector<std::string>& pipelines_;
  std::size_t next_ = 0;
};

float random_number(std::mt19937_64& random) {
  static constexpr float kNumbers[] = {-2, 0, 0.5F, 1, 2, 3, 5, 8};
  return kNumbers[random() % std::size(kNumbers)];
}

server::Parameter random_parameter(std::mt19937_64& random, char name) {
  if (name == 'q') return std::string(1, static_cast<char>('u' + random() % 3));
  return static_cast<std::int64_t>(random() % 8);
}

}  // namespace

const std::vector<std::string> kRandomSources = {"tensor:a",    "tensor:b",    "tensor:c",
                                                 "parameter:p", "parameter:q", "parameter:r"};

void add_random_route_models(const Folder& folder) {
  register_halve();
  folder.add("double", kDouble);
  folder.add("triple", kTriple);
  folder.add("shadowed", kTriple);
  folder.add("fails", kFails);
  folder.add("picky", kPicky);
  folder.add("branchy", kBranchy);
  folder.add("two", kTwo);
  api::Model::from_text(kCalls, {}, {.check_calls = false}).save(folder.path() + "calls.onnx");
}

std::string random_pipeline(std::uint64_t seed, const std::vector<std::string>& pipelines) {
  return PipelineMaker(seed, pipelines).make();
}

Asking random_request(std::mt19937_64& random, const std::string& pipeline) {
  Asking request{.model = pipeline, .inputs = {}};
  for (const std::string& source : kRandomSources) change_source(random, request, source);
  return request;
}

void change_source(std::mt19937_64& random, Asking& request, const std::string& source) {
  const char name = source.back();
  if (source.starts_with("parameter:")) {
    request.parameters[std::string(1, name)] = random_parameter(random, name);
    return;
  }
  std::erase_if(request.inputs, [&](const server::NamedArray& input) { return input.first[0] == name; });
  request.inputs.emplace_back(std::string(1, name), row({random_number(random), random_number(random)}));
}

}  // namespace frazil::test
