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

TEST(ApiErrors, ArraysTellWhatTheyAreNot) {
  const Array tensor(Dtype::f32, {2}), sequence = Array::sequence({tensor}), nothing;
  const std::byte bytes[8] = {};
  expect_error([&] { Array(Dtype::f32, {-1}); }, Code::bad_input, "negative");
  expect_error([&] { (void)sequence.sizes(); }, Code::bad_input, "expected a tensor, got a sequence");
  expect_error([&] { (void)nothing.count(); }, Code::bad_input, "expected a tensor, got nothing");
  expect_error([&] { (void)tensor.items(); }, Code::bad_input, "expected a sequence, got a tensor");
  expect_error([&] { (void)tensor.entries(); }, Code::bad_input, "expected a map");
  expect_error([&] { (void)tensor.number(2); }, Code::bad_input, "element 2");
  expect_error([&] { (void)tensor.number(-1); }, Code::bad_input, "element -1");
  expect_error([&] { Array::borrow(Dtype::f32, {3}, bytes); }, Code::bad_input, "12 bytes");
  expect_error([&] { Array::borrow(Dtype::f32, {-2}, bytes); }, Code::bad_input, "negative");
  expect_error([&] { Array::borrow(Dtype::string, {1}, bytes); }, Code::bad_input, "strings");
  expect_error([&] { Array::map({{sequence, tensor}}); }, Code::bad_input, "expected a tensor");
  expect_error([&] { sequence.write_npy("/nowhere/x.npy"); }, Code::bad_input, "expected a tensor");
}

}  // namespace
}  // namespace frazil::test
