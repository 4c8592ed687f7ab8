// Limits of loading and planning through the public API.
#include <stop_token>
#include <string>

#include <frazil/c.h>
#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace frazil {
namespace {

using testing::HasSubstr;

constexpr double kShort = 0.001;  ///< milliseconds; over when the clock is first read

std::string chain_of_products(int nodes) {
  std::string text = "graph chain(%x: f32[N,4]) {\n";
  for (int i = 0; i < nodes; ++i) {
    text += "%v" + std::to_string(i) + " = MatMul(" + (i == 0 ? "%x" : "%v" + std::to_string(i - 1)) +
            ", f32[4,4] [[0,1,2,3],[1,2,3,0],[2,3,0,1],[3,0,1,2]])\n";
  }
  return text + "return y = %v" + std::to_string(nodes - 1) + " }";
}

template <class F>
std::pair<Code, std::string> error_of(const F& call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(LoadLimits, ADeadlineEndsTheLoad) {
  const std::string text = chain_of_products(500);
  const auto [code, message] = error_of([&] { Model::from_text(text, {}, {.deadline_ms = kShort}); });
  EXPECT_EQ(code, Code::limit);
  EXPECT_THAT(message, HasSubstr("loading the model passed its deadline of 0.001 ms"));
  EXPECT_NO_THROW(Model::from_text(text, {}, {.deadline_ms = 0}));
}

TEST(LoadLimits, ADeadlineIsAtLeastZero) {
  const auto [code, message] = error_of([] { Model::from_text(chain_of_products(1), {}, {.deadline_ms = -1}); });
  EXPECT_EQ(code, Code::bad_input);
  EXPECT_THAT(message, HasSubstr("LoadOptions::deadline_ms"));
}

TEST(LoadLimits, AStopEndsTheLoadAndPlanning) {
  std::stop_source stop;
  const Model model = Model::from_text(chain_of_products(500), {}, {.stop = stop.get_token()});
  stop.request_stop();
  const auto planning = error_of([&] { model.open({.tier = "0"}); });
  EXPECT_EQ(planning.first, Code::cancelled);
  EXPECT_EQ(planning.second, "planning the model was cancelled");
  const auto loading = error_of([&] { Model::from_text(chain_of_products(500), {}, {.stop = stop.get_token()}); });
  EXPECT_EQ(loading.first, Code::cancelled);
  EXPECT_EQ(loading.second, "line 2, column 7: loading the model was cancelled");
}

std::string nested_ifs(int depth) {
  std::string text = "graph nested(%c: bool[], %x: f32[2]) {\n";
  for (int i = 0; i < depth; ++i) text += "%r" + std::to_string(i) + " = If(%c) then_branch() {\n";
  text += "%r" + std::to_string(depth) + " = Neg(%x)\n";
  for (int i = depth; i > 0; --i) text += "yield %r" + std::to_string(i) + " } else_branch() { yield %x }\n";
  return text + "return y = %r0 }";
}

TEST(LoadLimits, TheTextFormHasNodesNestingAndNames) {
  struct Row {
    std::string text;
    LoadOptions fits, fails;
    std::string message;
  };
  const std::string five(5, 'n');
  const std::vector<Row> rows = {
      {chain_of_products(6), {.max_nodes = 6}, {.max_nodes = 5}, "line 7, column 7: the graph has more than 5 nodes"},
      {nested_ifs(3), {.max_nesting = 3}, {.max_nesting = 2}, "line 4, column 7: regions nest deeper than 2 levels"},
      {"graph g(%x: f32[2]) { %y = Neg(%x) \"" + five + "\" return y = %y }",
       {.max_name_bytes = 5},
       {.max_name_bytes = 4},
       "line 1, column 36: a name has 5 bytes, at most 4 are allowed"},
      {"graph g(%" + five + ": f32[2]) { return y = %" + five + " }",
       {.max_name_bytes = 5},
       {.max_name_bytes = 4},
       "line 1, column 9: a name has 5 bytes, at most 4 are allowed"},
  };
  for (const Row& row : rows) {
    EXPECT_NO_THROW(Model::from_text(row.text, {}, row.fits)) << row.text;
    const auto [code, message] = error_of([&] { Model::from_text(row.text, {}, row.fails); });
    EXPECT_EQ(code, Code::limit) << row.text;
    EXPECT_EQ(message, row.message);
  }
}

TEST(LoadLimits, APatchedModelKeepsThem) {
  std::stop_source stop;
  const Model model = Model::from_text(chain_of_products(500), {}, {.stop = stop.get_token()});
  Patch patch(model, "rename");
  patch.add_output("z", patch.op("Neg", {patch.tap("v3")}));
  const Model edited = patch.commit();
  stop.request_stop();
  EXPECT_EQ(error_of([&] { edited.open({.tier = "0"}); }).first, Code::cancelled);
}

TEST(LoadLimits, OfTheCApi) {
  const std::string text = chain_of_products(500);
  frazil_load_options options = FRAZIL_LOAD_OPTIONS;
  options.deadline_ms = kShort;
  frazil_model* model = nullptr;
  frazil_error* error = nullptr;
  EXPECT_EQ(frazil_model_from_text(text.c_str(), nullptr, nullptr, 0, &options, &model, &error), FRAZIL_LIMIT);
  frazil_error_free(error);
  options.size = offsetof(frazil_load_options, deadline_ms);  // of a program that was compiled before it was there
  ASSERT_EQ(frazil_model_from_text(text.c_str(), nullptr, nullptr, 0, &options, &model, &error), FRAZIL_OK);
  frazil_model_free(model);
}

}  // namespace
}  // namespace frazil
