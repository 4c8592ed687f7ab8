#include <filesystem>
#include <optional>

#include <gtest/gtest.h>

#include "inject/injector.h"
#include "ir/edit/patch.h"
#include "ir/graph/verify.h"
#include "suite/subjects.h"
#include "tensor/compare.h"
#include "tensor/onnx_proto.h"

// Readers, writers and edits when allocations fail. Their contracts allow bad_alloc, but not a partial result.
namespace frazil::test {
namespace {

namespace fs = std::filesystem;

template <class T>
Status status_of(const Result<T>& result) {
  return result ? Status() : std::unexpected(result.error());
}

/// A temporary file, removed in the destructor.
class TempFile {
 public:
  explicit TempFile(std::string_view name)
      : path_((fs::temp_directory_path() / fmt::format("frazil_inject_{}_{}", ::getpid(), name)).string()) {}
  ~TempFile() { fs::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

const char* const kText = R"(
dim N in 1..64
weight @w: f32[4,20]
graph g(%x: f32[N,4], %k: i64[1] = [2]) {
  %p = MatMul(%x, @w) "product"
  %best, %where = TopK(%p, %k)
  %c = Less(%k, i64[1] [4]) "the test"
  %s = Squeeze(%c)
  %r = If(%s) then_branch() {
    %a = Add(%best, f32[] 0.5)
    yield %a
  } else_branch() {
    yield %best
  }
  %words = Concat(string[2] ["one", "a string that needs memory of its own"], string[1] ["x"]) {axis = 0}
  return r = %r, words = %words
})";

Tensor weight_w() { return ramp({4, 20}, 0.1f); }
Tensor words() { return Tensor::of<std::string>({2, 1}, {"short", "long enough not to fit into a small string"}); }

Graph graph_of_text() {
  link_operators();
  return parse(kText, [](std::string_view) { return weight_w(); }).value();
}

TEST(Parts, ParseAndPrint) {
  const std::string want = print(graph_of_text());
  const Tensor w = weight_w();
  std::string got;
  Injector injector("parse and print",
                    {.act = [&]() -> Status {
                       FRAZIL_TRY(const Graph graph, parse(kText, [&](std::string_view) { return w; }));
                       got = print(graph);
                       return {};
                     },
                     .after = [&](bool done) -> std::string {
                       const bool right = !done || got == want;
                       got = {};
                       return right ? "" : "another text";
                     }},
                    true);
  injector.run(Coverage::every_allocation);
}

TEST(Parts, ParseWithAnError) {
  link_operators();
  Injector injector("parse of a wrong text", {.act = []() -> Status {
                      const auto graph = parse("graph g(%x: f32[N]) { return y = %nowhere }");
                      if (graph) return fail(Code::internal, "it parses");
                      const Fault& fault = graph.error();
                      if (fault.code == Code::out_of_memory) return std::unexpected(fault);
                      if (fault.message.find("nowhere") != std::string::npos) return {};
                      return std::unexpected(fault);
                    }},
                    true);
  injector.run(Coverage::every_allocation);
}

TEST(Parts, Literals) {
  Injector injector("parse_bindings and literal", {.act = []() -> Status {
                      FRAZIL_TRY(const auto bindings, parse_bindings("%x = f32[2,2] [[1, 2], [3, 4]], s = "
                                                                     "seq(string[] \"one two three four five\")"));
                      (void)literal(bindings[0].second.tensor());
                      return {};
                    }},
                    true);
  injector.run(Coverage::every_allocation);
}

/// A patch collects changes; each step may fail.
TEST(Parts, Patch) {
  const Graph graph = graph_of_text();
  NodeId product;
  for (std::uint32_t n = 0; n < graph.node_count(); ++n) {
    if (graph.node(NodeId{n}).name == "product") product = NodeId{n};
  }
  const std::string before = print(graph);
  std::optional<Graph> edited;
  std::string want;
  const auto act = [&]() -> Status {
    frazil::Patch patch(graph, "sharper");
    const Expr p = patch.tap(graph.node(product).out[0]);
    const Expr two = patch.build().constant(Tensor::scalar(2.0f), "two");
    FRAZIL_TRY(const NodeId id, patch.build().append(*OpRegistry::global().find("", "Mul"), {p.value, two.value},
                                                     nullptr, {true}, "twice"));
    patch.replace(graph.node(product).out[0], {&patch.build(), patch.build().graph().node(id).out[0]});
    patch.rename(product, "the product");
    FRAZIL_TRY(Graph made, std::move(patch).commit());
    edited.emplace(std::move(made));
    return {};
  };
  Injector injector("Patch::commit",
                    {.act = act,
                     .after = [&](bool done) -> std::string {
                       std::string wrong;
                       if (print(graph) != before) wrong = "the patch changed its graph";
                       if (done && !verify(*edited, 2)) wrong = "the new graph is damaged";
                       if (done && !print(*edited).contains("\"twice\"")) wrong = "not edited";
                       edited.reset();
                       return wrong;
                     }},
                    true);
  injector.run(Coverage::every_allocation);
}

TEST(Parts, ArraysInFiles) {
  for (const auto& [name, tensor] : {std::pair<std::string, Tensor>{"numbers", weight_w()}, {"strings", words()}}) {
    const TempFile file(name + ".npy");
    std::optional<Tensor> got;
    Injector injector("write_npy and read_npy of " + name,
                      {.act = [&]() -> Status {
                         FRAZIL_CHECK(write_npy(file.path(), tensor));
                         FRAZIL_TRY(got, read_npy(file.path()));
                         return {};
                       },
                       .after = [&](bool done) -> std::string {
                         const bool right = !done || !difference(*got, tensor, kExact);
                         got.reset();
                         return right ? "" : "other elements";
                       }},
                      true);
    injector.run(Coverage::every_allocation);
  }
}

TEST(Parts, Protos) {
  auto items = std::make_shared<Sequence>();
  items->items = {Datum(weight_w()), Datum(words())};
  const Datum sequence{std::shared_ptr<const Sequence>(items)};
  auto entries = std::make_shared<MapValue>();
  entries->items = {{Tensor::scalar<std::int64_t>(3), Datum(weight_w())},
                    {Tensor::scalar<std::int64_t>(5), Datum(weight_w())}};
  const Datum map{std::shared_ptr<const MapValue>(entries)};
  for (const auto& [name, kind, value] :
       {std::tuple{"tensor", ProtoKind::tensor, Datum(words())}, std::tuple{"sequence", ProtoKind::sequence, sequence},
        std::tuple{"map", ProtoKind::map, map}}) {
    Datum got;
    Injector injector(fmt::format("{} to proto and back", name),
                      {.act = [&]() -> Status {
                         FRAZIL_TRY(const std::string bytes, datum_to_proto(kind, value, "a name longer than sixteen"));
                         FRAZIL_TRY(got, datum_from_proto(kind, std::as_bytes(std::span(bytes))));
                         return {};
                       },
                       .after = [&](bool done) -> std::string {
                         const bool right = !done || !difference(got, value, kExact);
                         got = {};
                         return right ? "" : "another value";
                       }},
                      true);
    injector.run(Coverage::every_allocation);
  }
}

/// A malformed tensor: the error message needs memory, too.
TEST(Parts, ProtoWithAnError) {
  const std::string bytes = datum_to_proto(ProtoKind::tensor, weight_w(), "w").value();
  Injector injector("proto cut short", {.act = [&]() -> Status {
                      const auto got = datum_from_proto(ProtoKind::tensor, std::as_bytes(std::span(bytes)).first(40));
                      if (got) return fail(Code::internal, "it reads");
                      if (got.error().code == Code::bad_model) return {};
                      return std::unexpected(got.error());
                    }},
                    true);
  injector.run(Coverage::every_allocation);
}

/// The import of a file with external data, with a warning about an opset imported twice.
TEST(Parts, ImportFromFilesWithAWarning) {
  link_operators();
  const TempFile model_file("model.onnx"), data_file("data.bin");
  const std::string data(sizeof(float) * 2000, '\1');
  const Message location = text(text({}, 1, "location"), 2, fs::path(data_file.path()).filename().string());
  Message w = text(number(number(number({}, 1, 2000), 2, onnx_data_type(Elem::f32)), 14, 1), 8, "w");
  w = text(w, 13, location);
  const Message bytes = text(model(graph({.nodes = {{"Add", {"x", "w"}, {"z"}}},
                                          .inputs = {f32("x", {"2000"})},
                                          .outputs = {value("z")},
                                          .initializers = {w}})),
                             8, opset("", 18));
  ASSERT_TRUE(write_file(data_file.path(), std::as_bytes(std::span(data))));
  ASSERT_TRUE(write_file(model_file.path(), std::as_bytes(std::span(bytes))));
  testing::internal::CaptureStderr();
  Injector injector("import from files", {.act = [&] { return status_of(import_onnx(model_file.path())); }});
  injector.run(Coverage::every_allocation);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("opsets"), std::string::npos);
}

TEST(Parts, ImportOfADamagedModel) {
  link_operators();
  const Message bytes = control_flow().bytes;
  Injector injector("import of a damaged model", {.act = [&]() -> Status {
                      const auto graph =
                          import_onnx_bytes(std::as_bytes(std::span(bytes)).first(bytes.size() - 30), nullptr);
                      if (graph) return fail(Code::internal, "it is imported");
                      if (graph.error().code == Code::bad_model) return {};
                      return std::unexpected(graph.error());
                    }});
  injector.run(Coverage::every_allocation);
}

}  // namespace
}  // namespace frazil::test
