// LoadOptions::lenient: models that ONNX or this library does not allow.
#include <atomic>
#include <future>
#include <mutex>
#include <thread>

#include <frazil/frazil.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/message_of.h"
#include "api/tiny_onnx.h"

namespace {

using frazil::Array;
using frazil::Code;
using frazil::LoadOptions;
using frazil::Model;
using frazil::Results;
using frazil::Session;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// The warnings of models.
class Warnings {
 public:
  LoadOptions options(bool lenient = true) {
    LoadOptions options;
    options.lenient = lenient;
    options.log = {.function =
                       [this](const frazil::LogMessage& message) {
                         const std::scoped_lock lock(mutex_);
                         lines_.emplace_back(message.text);
                       },
                   .least = frazil::Severity::warning};
    return options;
  }
  std::vector<std::string> lines() {
    const std::scoped_lock lock(mutex_);
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

Model lenient(const std::string& file, const LoadOptions& options) {
  return Model::from_bytes(std::as_bytes(std::span(file)), options);
}

std::vector<float> floats(const Array& array) { return {array.values<float>().begin(), array.values<float>().end()}; }

/// 1, 2, 3, ... in a tensor of these extents.
Array counting(frazil::Sizes sizes) {
  std::int64_t count = 1;
  for (const std::int64_t n : sizes) count *= n;
  std::vector<float> values;
  for (std::int64_t i = 1; i <= count; ++i) values.push_back(static_cast<float>(i));
  return Array::of<float>(std::move(sizes), values);
}

/// y = Concat(a, b) and z = Relu(a) for a[N] and b[N], so that the names are wrong unless both are as long.
std::string joining() {
  using namespace onnx_file;
  return onnx_file::model({.nodes = {node("Concat", {"a", "b"}, "y", integer("axis", 0)), node("Relu", {"a"}, "z")},
                           .inputs = {f32("a", {"N"}), f32("b", {"N"})},
                           .outputs = {f32("y", {"M"}), f32("z", {"N"})}});
}

// ---- names of extents ----

TEST(LenientNames, NeedNotAgree) {
  for (const std::string tier : {"0", "1", "2", "auto", "ref"}) {
    Warnings warnings;
    const Model model = lenient(joining(), warnings.options());
    EXPECT_EQ(model.outputs()[0].type, "f32[2*N]") << "types follow the names";
    auto session = model.open({.tier = tier});
    EXPECT_THAT(floats(session.run({{"a", counting({2})}, {"b", counting({2})}})["y"]), ElementsAre(1, 2, 1, 2));
    EXPECT_THAT(warnings.lines(), IsEmpty()) << "the names agree";
    for (const std::int64_t longer : {3, 1, 0}) {
      const Results results = session.run({{"a", counting({longer})}, {"b", counting({2})}});
      EXPECT_EQ(results["y"].count(), longer + 2);
      EXPECT_THAT(floats(results["z"]), SizeIs(longer));
      EXPECT_EQ(results["y"].values<float>().back(), 2);
      EXPECT_THAT(floats(session.run({{"a", counting({1})}, {"b", counting({1})}})["y"]), ElementsAre(1, 1));
    }
    auto second = model.open({.tier = tier});
    EXPECT_EQ(second.run({{"a", counting({4})}, {"b", counting({2})}})["y"].count(), 6);
    EXPECT_THAT(warnings.lines(), ElementsAre(HasSubstr("extents of one name differ"))) << "once per model";
  }
}

TEST(LenientNames, AreEqualWithoutTheOption) {
  Warnings warnings;
  const Model model = lenient(joining(), warnings.options(false));
  EXPECT_THAT(message_of([&] { model.run({{"a", counting({3})}, {"b", counting({2})}}); }, Code::bad_input),
              HasSubstr("input 'b'"));
}

TEST(LenientNames, OfOneInputAndOfDefaults) {
  using namespace onnx_file;
  Warnings warnings;
  const std::string square = onnx_file::model(
      {.nodes = {node("Transpose", {"x"}, "y")}, .inputs = {f32("x", {"N", "N"})}, .outputs = {port("y")}});
  EXPECT_EQ(lenient(square, warnings.options()).run({{"x", counting({2, 3})}})[0].sizes(), frazil::Sizes({3, 2}));
  const std::string defaults =
      onnx_file::model({.nodes = {node("Concat", {"a", "b"}, "y", integer("axis", 0))},
                        .inputs = {port("a", type_of(kI64, {"N"})), port("b", type_of(kI64, {"N"}))},
                        .outputs = {port("y")},
                        .initializers = {integers("b", {7, 8})}});
  const Model model = lenient(defaults, warnings.options());
  const Array three = Array::of<std::int64_t>({3}, {1, 2, 3}), two = Array::of<std::int64_t>({2}, {1, 2});
  EXPECT_THAT(model.run({{"a", three}})[0].values<std::int64_t>(), ElementsAre(1, 2, 3, 7, 8)) << "b keeps its default";
  EXPECT_THAT(model.run({{"a", three}, {"b", two}})[0].values<std::int64_t>(), ElementsAre(1, 2, 3, 1, 2));
}

TEST(LenientNames, OtherFaultsStay) {
  Warnings warnings;
  const Model model = lenient(joining(), warnings.options());
  struct Case {
    std::vector<Array> inputs;
    std::string says;
  };
  const Case cases[] = {
      {{counting({3})}, "input 'b' is missing"},
      {{counting({3}), counting({2, 1})}, "input 'b': expected f32[N]"},
      {{counting({3}), Array::of<std::int64_t>({2}, {1, 2})}, "input 'b'"},
  };
  for (const Case& c : cases) EXPECT_THAT(message_of([&] { model.run(c.inputs); }, Code::bad_input), HasSubstr(c.says));
  // Add needs equal extents, or 1.
  using namespace onnx_file;
  const Model sum = lenient(onnx_file::model({.nodes = {node("Add", {"a", "b"}, "y")},
                                              .inputs = {f32("a", {"N"}), f32("b", {"N"})},
                                              .outputs = {port("y")}}),
                            warnings.options());
  EXPECT_THAT(floats(sum.run({{"a", counting({3})}, {"b", counting({1})}})[0]), ElementsAre(2, 3, 4));
  EXPECT_THAT(message_of([&] { sum.run({{"a", counting({3})}, {"b", counting({2})}}); }, Code::bad_input),
              HasSubstr("(Add)"));
}

TEST(LenientNames, InEveryKindOfRun) {
  Warnings warnings;
  const Model model = lenient(joining(), warnings.options());
  const std::vector<Array> odd{counting({3}), counting({2})};
  const auto is_joined = [](const Results& results) { EXPECT_THAT(floats(results["y"]), ElementsAre(1, 2, 3, 1, 2)); };
  auto session = model.open();
  is_joined(session.run_async(odd).get());
  is_joined(session.fetch({{"a", odd[0]}, {"b", odd[1]}}, {"z"}));
  std::promise<Results> started;
  session.start(
      odd, [](const std::function<void()>& part) { part(); },
      [&](Results results, const std::exception_ptr& why) {
        EXPECT_EQ(why, nullptr);
        started.set_value(std::move(results));
      });
  is_joined(started.get_future().get());
  std::vector<float> memory(5);
  session.bind_output("y", std::span(memory));
  is_joined(session.run(odd));
  EXPECT_THAT(memory, ElementsAre(1, 2, 3, 1, 2));
  session.unbind_output("y");
  EXPECT_EQ(session.counters().runs, 4u);
  frazil::Patch patch(model, "edit");
  patch.replace("z", patch.op("Neg", {patch.tap("a")}));
  is_joined(patch.commit().run(odd));
}

TEST(LenientNames, ObserversAndStopsReachTheOtherPlan) {
  struct Counting : frazil::Observer {
    void run_begin() override { ++begun; }
    void run_end() override { ++ended; }
    std::vector<std::string> wanted() const override { return {"z"}; }
    void value(const frazil::ValueEvent& event) override { last = event.value.count(); }
    int begun = 0, ended = 0;
    std::int64_t last = -1;
  } observer;
  Warnings warnings;
  auto session = lenient(joining(), warnings.options()).open();
  session.set_observer(&observer);
  session.run({{"a", counting({3})}, {"b", counting({2})}});
  EXPECT_EQ(observer.begun, 1);
  EXPECT_EQ(observer.ended, 1);
  EXPECT_EQ(observer.last, 3);
  session.set_observer(nullptr);
  session.run({{"a", counting({3})}, {"b", counting({2})}});
  EXPECT_EQ(observer.begun, 1);
  const std::atomic<bool> stop = true;
  session.set_stop(&stop);
  message_of([&] { session.run({{"a", counting({3})}, {"b", counting({2})}}); }, Code::cancelled);
  session.set_stop(nullptr);
  EXPECT_EQ(session.run({{"a", counting({3})}, {"b", counting({2})}})["y"].count(), 5);
}

TEST(LenientNames, ManyThreadsMakeOnePlan) {
  Warnings warnings;
  const Model model = lenient(joining(), warnings.options());
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::int64_t i = 0; i < 50; ++i) {
        const Array a = counting({1 + (i + t) % 3}), b = counting({2});
        if (model.run({{"a", a}, {"b", b}})["y"].count() != a.count() + 2) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_THAT(warnings.lines(), SizeIs(1));
}

/// The types say N + 1 and N, which never fit.
TEST(LenientNames, ThatContradictTheNodes) {
  using namespace onnx_file;
  const std::string file = onnx_file::model(
      {.nodes = {node("Concat", {"a", "one"}, "c", integer("axis", 0)), node("MatMul", {"c", "b"}, "y")},
       .inputs = {f32("a", {"N"}), f32("b", {"N"})},
       .outputs = {port("y")},
       .initializers = {number(1, 1) + number(2, kF32) + bytes(8, "one") + bytes(9, std::string("\0\0\x80\x3f", 4))}});
  Warnings warnings;
  EXPECT_THAT(message_of([&] { lenient(file, warnings.options(false)); }, Code::bad_model), HasSubstr("(MatMul)"));
  const Model model = lenient(file, warnings.options());
  EXPECT_THAT(warnings.lines(), ElementsAre(HasSubstr("names of the inputs' extents contradict the nodes")));
  EXPECT_THAT(floats(model.run({{"a", counting({2})}, {"b", counting({3})}})[0]), ElementsAre(1 + 4 + 3));
}

// ---- nodes and files ----

struct Odd {
  std::string name, file;
  std::vector<Array> inputs;
  std::string strict;  ///< what the fault without the option says
  frazil::Sizes shape;
  std::vector<float> values;
};

std::string condition(const std::string& name, const std::vector<bool>& values) {
  using namespace onnx_file;
  std::string message = number(1, static_cast<std::int64_t>(values.size())) + number(2, kBool) + bytes(8, name);
  for (const bool value : values) message += number(5, value ? 1 : 0);
  return message;
}

/// A model of one node with inputs of these extents.
std::string one_node(const std::string& op, const std::vector<std::vector<std::string>>& inputs,
                     const std::string& more, const std::vector<std::string>& initializers = {}) {
  using namespace onnx_file;
  std::vector<std::string> names, ports;
  for (const auto& extents : inputs) {
    names.push_back("x" + std::to_string(names.size()));
    ports.push_back(f32(names.back(), extents));
  }
  if (!initializers.empty()) names.emplace_back("w");
  return onnx_file::model(
      {.nodes = {node(op, names, "y", more)}, .inputs = ports, .outputs = {port("y")}, .initializers = initializers});
}

std::vector<Odd> odd_models() {
  using namespace onnx_file;
  const auto axis = [](std::int64_t value) { return integer("axis", value); };
  const auto add = [](const std::string& more) {
    return more + bytes(7, bytes(1, bytes(1, "x") + bytes(2, "y") + bytes(4, "Neg")) + bytes(2, "g") +
                               bytes(11, f32("x", {"2"})) + bytes(12, port("y")));
  };
  return {
      {"legacy empty Concat",
       one_node("Concat", {{"0", "5"}, {"2", "3"}}, axis(0)),
       {counting({0, 5}), counting({2, 3})},
       "(Concat)",
       {2, 3},
       {1, 2, 3, 4, 5, 6}},
      {"the same along the last axis",
       one_node("Concat", {{"2", "1"}, {"5", "0"}, {"2", "1"}}, axis(-1)),
       {counting({2, 1}), counting({5, 0}), counting({2, 1})},
       "(Concat)",
       {2, 2},
       {1, 1, 2, 2}},
      {"repeated axes",
       one_node("ReduceSum", {{"2", "3"}}, integer("keepdims", 0), {integers("w", {1, -1, 1})}),
       {counting({2, 3})},
       "is given twice",
       {2},
       {6, 15}},
      {"repeated axes of a maximum",
       one_node("ReduceMax", {{"2", "3"}}, "", {integers("w", {0, 0})}),
       {counting({2, 3})},
       "is given twice",
       {1, 3},
       {4, 5, 6}},
      {"long condition",
       one_node("Compress", {{"2", "2"}}, axis(1), {condition("w", {false, true, true, true})}),
       {counting({2, 2})},
       "(Compress)",
       {2, 1},
       {2, 4}},
      {"long condition without an axis",
       one_node("Compress", {{"2"}}, "", {condition("w", {true, true, true})}),
       {counting({2})},
       "(Compress)",
       {2},
       {1, 2}},
      {"long condition of an open axis",
       one_node("Compress", {{"N"}}, axis(-1), {condition("w", {false, true, true})}),
       {counting({2})},
       "(Compress)",
       {1},
       {2}},
      {"no IR version", add(bytes(8, number(2, 13))), {counting({2})}, "it has no IR version", {2}, {-1, -2}},
  };
}

TEST(LenientNodes, RunAsInOnnxRuntime) {
  for (const Odd& odd : odd_models()) {
    SCOPED_TRACE(odd.name);
    Warnings warnings;
    const Results results = lenient(odd.file, warnings.options()).run(odd.inputs);
    EXPECT_EQ(results[0].sizes(), odd.shape);
    EXPECT_EQ(floats(results[0]), odd.values);
    try {
      lenient(odd.file, warnings.options(false)).run(odd.inputs);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const frazil::Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(odd.strict));
    }
  }
}

TEST(LenientNodes, ValidNodesStay) {
  using namespace onnx_file;
  struct Case {
    std::string file;
    std::vector<Array> inputs;
    frazil::Sizes shape;
  };
  const Case cases[] = {
      {one_node("Concat", {{"0", "3"}, {"2", "3"}}, integer("axis", 0)), {counting({0, 3}), counting({2, 3})}, {2, 3}},
      {one_node("Concat", {{"0", "3"}, {"0", "3"}}, integer("axis", 0)), {counting({0, 3}), counting({0, 3})}, {0, 3}},
      {one_node("ReduceSum", {{"2", "3"}}, "", {integers("w", {1, 0})}), {counting({2, 3})}, {1, 1}},
      {one_node("Compress", {{"4"}}, "", {condition("w", {false, true})}), {counting({4})}, {1}},
  };
  for (const Case& c : cases) {
    Warnings warnings;
    EXPECT_EQ(lenient(c.file, warnings.options()).run(c.inputs)[0].sizes(), c.shape);
    EXPECT_THAT(warnings.lines(), IsEmpty());
  }
  Warnings warnings;
  const std::string ranks = one_node("Concat", {{"0"}, {"2", "3"}}, integer("axis", 0));
  message_of([&] { lenient(ranks, warnings.options()); }, Code::bad_model);
  const std::string axes = one_node("ReduceSum", {{"2", "3"}}, "", {integers("w", {5, 5})});
  message_of([&] { lenient(axes, warnings.options()); }, Code::bad_model);
}

// ---- with and without the option ----

TEST(DeclaredTypes, ThatAreWrongCount) {
  using namespace onnx_file;
  const std::string cases[] = {type_of(kF32, {"5"}), type_of(kF32, {"2", "2"}), type_of(kI64, {"2"}),
                               type_of(kBool, {}), bytes(4, bytes(1, type_of(kF32, {"2"})))};
  for (const std::string& type : cases) {
    for (const bool option : {false, true}) {
      Warnings warnings;
      const std::string info = bytes(13, port("t", type));
      const std::string graph = bytes(1, node("Neg", {"x"}, "t")) + bytes(1, node("Abs", {"t"}, "y")) + bytes(2, "g") +
                                bytes(11, f32("x", {"2"})) + bytes(12, port("y", type)) + info;
      const Model model = lenient(number(1, 9) + bytes(8, number(2, 13)) + bytes(7, graph), warnings.options(option));
      EXPECT_EQ(model.outputs()[0].type, "f32[2]") << "the inferred type counts";
      EXPECT_THAT(floats(model.run({{"x", counting({2})}})[0]), ElementsAre(1, 2));
      EXPECT_THAT(warnings.lines(),
                  ElementsAre(HasSubstr("value 't': declared as"), HasSubstr("value 'y': declared as")));
    }
  }
}

TEST(InitializersAsInputs, DependOnTheIrVersion) {
  using namespace onnx_file;
  for (const std::int64_t version : {3, 4}) {
    const std::string file =
        onnx_file::model({.nodes = {node("Add", {"x", "w"}, "y")},
                          .inputs = {port("x", type_of(kI64, {"1"})), port("w", type_of(kI64, {"1"}))},
                          .outputs = {port("y")},
                          .initializers = {integers("w", {5})}},
                         version);
    for (const bool option : {false, true}) {
      Warnings warnings;
      const Model model = lenient(file, warnings.options(option));
      EXPECT_EQ(model.inputs().size(), version < 4 ? 1u : 2u);
      EXPECT_EQ(model.run({{"x", Array::of<std::int64_t>({1}, {2})}})[0].values<std::int64_t>()[0], 7);
      if (version >= 4) EXPECT_TRUE(model.inputs()[1].has_default);
    }
  }
}

}  // namespace
