#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "paths.h"

namespace frazil::test {
namespace {

/// `what` must be one line.
template <class F>
void expect_error(F f, Code code, const std::string& part) {
  try {
    f();
    ADD_FAILURE() << "nothing was thrown; expected " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(error.what(), testing::HasSubstr(part));
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
  }
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(ApiErrors, LoadingTellsWhatIsWrong) {
  expect_error([] { Model::load("/missing/model.onnx"); }, Code::bad_input, "/missing/model.onnx");
  expect_error([] { Model::load(source_dir()); }, Code::bad_input, source_dir());
  expect_error([] { Model::load(source_dir() / "README.md"); }, Code::bad_model, "README.md");
  expect_error([] { Model::from_bytes({}); }, Code::bad_model, "");
  expect_error([] { Model::from_bytes(bytes_of("not a model")); }, Code::bad_model, "");
  expect_error([] { Model::from_text("graph"); }, Code::bad_model, "line 1");
  expect_error([] { Model::from_text("graph g(%x: f32[2]) { return y = @missing }"); }, Code::bad_model, "missing");
}

TEST(ApiErrors, InputsAreNamed) {
  GraphBuilder graph;
  Term a = graph.input("a", Dtype::f32, {"N", 2});
  Term b = graph.input("b", Dtype::f32, {"N", 2});
  graph.output("y", graph.op("Add", {a, b}));
  auto session = graph.build().open();
  const Array two(Dtype::f32, {2, 2}), three(Dtype::f32, {3, 2});
  expect_error([&] { session.run({{"a", two}}); }, Code::bad_input, "input 'b' is missing");
  expect_error([&] { session.run({{"a", two}, {"b", three}}); }, Code::bad_input, "'b'");
  expect_error([&] { session.run({{"a", two}, {"b", Array(Dtype::f32, {2})}}); }, Code::bad_input, "f32[2]");
  expect_error([&] { session.run({{"a", two}, {"b", Array(Dtype::i32, {2, 2})}}); }, Code::bad_input, "i32[2,2]");
  expect_error([&] { session.run({{"a", two}, {"b", Array::sequence({})}}); }, Code::bad_input, "'b'");
  expect_error([&] { session.run({{"c", two}}); }, Code::bad_input, "'c'");
  expect_error([&] { session.run(std::vector{two, two, two}); }, Code::bad_input, "takes 2 inputs, got 3");
  EXPECT_EQ(session.run({{"a", two}, {"b", two}})["y"].count(), 4);
  expect_error([&] { session.run({{"a", two}, {"b", two}})["z"]; }, Code::bad_input, "'z'");
}

TEST(ApiErrors, RunTimeFaultsNameTheNode) {
  GraphBuilder graph;
  Term x = graph.input("x", Dtype::f32, {"N"});
  Term i = graph.input("i", Dtype::i64, {});
  graph.output("y", graph.op("Gather", {x, i}, {}, "pick"));
  auto session = graph.build().open();
  const Array values(Dtype::f32, {3});
  EXPECT_EQ(session.run({{"x", values}, {"i", Array::scalar<std::int64_t>(-1)}})["y"].count(), 1);
  expect_error([&] { session.run({{"x", values}, {"i", Array::scalar<std::int64_t>(3)}}); }, Code::bad_input, "'pick'");
}

}  // namespace
}  // namespace frazil::test
