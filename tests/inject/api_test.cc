#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include <frazil/build.h>
#include <frazil/model.h>

#include "inject/injector.h"
#include "suite/subjects.h"

// The public API when allocations fail: an Error with Code::out_of_memory or std::bad_alloc, nothing else.
namespace frazil::test {
namespace {

/// Converts exceptions of a public function for the injector.
template <class Act>
Status caught(const Act& act) {
  try {
    act();
    return {};
  } catch (const api::Error& e) {
    return std::unexpected(Fault{static_cast<Code>(e.code()), e.what()});
  }
}

api::Array array_of(const Datum& datum) {
  const Tensor& t = datum.tensor();
  if (t.elem() == Elem::string) return api::Array::of<std::string>(t.sizes(), t.as<std::string>());
  api::Array array(static_cast<api::Dtype>(t.elem()), t.sizes());
  std::memcpy(array.mutable_data(), t.data(), t.bytes());
  return array;
}

std::vector<api::Array> arrays_of(const Request& request) {
  std::vector<api::Array> arrays;
  for (const Datum& datum : request) arrays.push_back(array_of(datum));
  return arrays;
}

std::string text_of(const api::Array& array) {
  if (array.kind() != api::Array::Kind::sequence) return array.str();
  std::string all;
  for (const api::Array& item : array.items()) all += item.str() + ";";
  return all;
}
std::string text_of(const api::Results& results) {
  std::string all;
  for (const api::Array& array : results) all += text_of(array) + "\n";
  return all;
}

class Api : public ::testing::TestWithParam<std::tuple<std::string_view, std::string_view>> {
 protected:
  Subject subject_ = subject_named(std::get<0>(GetParam()));
  api::Options options_{.tier = std::string(std::get<1>(GetParam()))};
  std::string name(std::string_view what) const {
    return fmt::format("{}, API, tier {}: {}", subject_.name, options_.tier, what);
  }
  /// The reference executor allocates more, and takes longer.
  Coverage coverage() const { return options_.tier == "ref" ? Coverage::every_site : Coverage::every_allocation; }
  api::Model model() const { return api::Model::from_bytes(std::as_bytes(std::span(subject_.bytes))); }
};

TEST_P(Api, LoadOpenAndRun) {
  const auto first = arrays_of(subject_.first), second = arrays_of(subject_.second);
  const std::string want = text_of(model().open(options_).run(first)),
                    want_second = text_of(model().open(options_).run(second));
  std::optional<api::Results> got;
  Injector injector(name("from_bytes to run"),
                    {.act = [&] { return caught([&] { got = model().open(options_).run(first); }); },
                     .after =
                         [&](bool done) {
                           const bool right = !done || text_of(*got) == want;
                           got.reset();
                           return right ? std::string() : "other results";
                         }},
                    true);
  injector.run(coverage());
}

class ApiRuns : public Api {};

TEST_P(ApiRuns, AgainOnTheSameSession) {
  const auto first = arrays_of(subject_.first), second = arrays_of(subject_.second);
  const api::Model made = model();
  const std::string want = text_of(made.open(options_).run(first)),
                    want_second = text_of(made.open(options_).run(second));
  std::optional<api::Session> session;
  api::Results got;
  Injector injector(name("run"),
                    {.before =
                         [&] {
                           session = made.open(options_);
                           session->run(first, got);
                         },
                     .act = [&] { return caught([&] { session->run(second, got); }); },
                     .after = [&](bool done) -> std::string {
                       bool right = !done || text_of(got) == want_second;
                       session->run(first, got);
                       right = right && text_of(got) == want;
                       right = right && text_of(session->run(second)) == want_second;
                       session.reset();
                       got = {};
                       return right ? "" : "other results";
                     }},
                    true);
  injector.run(coverage());
}

std::string name_of_case(const ::testing::TestParamInfo<Api::ParamType>& c) {
  std::string text = fmt::format("{}_on_{}", std::get<0>(c.param), std::get<1>(c.param));
  std::ranges::replace(text, ' ', '_');
  return text;
}

INSTANTIATE_TEST_SUITE_P(Models, Api,
                         ::testing::Combine(::testing::Values("control flow", "collections", "digits"),
                                            ::testing::Values("0", "ref")),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(Models, ApiRuns,
                         ::testing::Values(Api::ParamType{"control flow", "0"}, Api::ParamType{"collections", "0"},
                                           Api::ParamType{"digits", "0"}, Api::ParamType{"control flow", "ref"}),
                         name_of_case);

/// Whether the file is mapped by this process.
bool is_mapped(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  const std::string all((std::istreambuf_iterator<char>(maps)), {});
  return all.contains(path);
}

TEST(ApiFiles, Load) {
  const std::string path = std::filesystem::canonical(source_dir() / "examples" / "digits" / "model.onnx").string();
  std::optional<api::Model> model;
  Injector injector("Model::load",
                    {.act = [&] { return caught([&] { model = api::Model::load(path); }); },
                     .after = [&](bool done) -> std::string {
                       if (done && !is_mapped(path)) return "it is not mapped";
                       model.reset();
                       return is_mapped(path) ? "the file stays mapped" : "";
                     }},
                    true);
  injector.run(Coverage::every_allocation);
}

TEST(ApiModels, TextDotAndPlan) {
  const Subject subject = control_flow();
  const api::Model made = api::Model::from_bytes(std::as_bytes(std::span(subject.bytes)));
  (void)made.explain();
  const auto act = [&] {
    return caught([&] {
      const std::string text = made.text();
      (void)api::Model::from_text(text, made.weights());
      (void)made.dot();
      (void)made.explain();
      (void)made.operators();
    });
  };
  Injector injector("Model::text, from_text, dot, explain", {.act = act}, true);
  injector.run(Coverage::every_allocation);
}

std::vector<api::Term> tanh_of_carried(api::Body& body, std::span<const api::Term> params) {
  return {params[1], body.op("Tanh", {params[2]})};
}

TEST(ApiModels, BuildAndPatch) {
  const auto act = [&] {
    return caught([&] {
      api::GraphBuilder g("built");
      const api::Term x = g.input("x", api::Dtype::f32, {"N", 4});
      const api::Term n = g.scalar(std::int64_t{3});
      const auto y = g.region("Loop", {n, api::Term(), x}, {{3, tanh_of_carried}}, {}, 1, "repeat");
      g.output("y", g.op("Softmax", {y[0]}, {{"axis", 1}}, "soft"));
      api::Patch patch(g.build(), "sharper");
      patch.set_attribute("soft", "axis", 0);
      patch.replace("soft", patch.op("Neg", {patch.tap("soft")}));
      (void)patch.commit().open().run({{"x", api::Array::of<float>({1, 4}, {1, 2, 3, 4})}});
    });
  };
  Injector injector("GraphBuilder and Patch", {.act = act}, true);
  injector.run(Coverage::every_allocation);
}

}  // namespace
}  // namespace frazil::test
