// What a file contains, without a load.
#include "onnx/import/used_operators.h"

#include "import_testing.h"

namespace frazil::test {
namespace {

using testing::ElementsAre;

/// A message with one field after another.
struct Fields {
  Message bytes;
  Fields& add(int tag, std::string_view value) {
    bytes = text(std::move(bytes), tag, value);
    return *this;
  }
  Fields& add(int tag, std::int64_t value) {
    bytes = number(std::move(bytes), tag, value);
    return *this;
  }
};

Message field(int tag, std::string_view bytes) { return text({}, tag, bytes); }

/// A TensorProto with external data.
Message tensor_in(std::string_view location) {
  return field(13, field(1, "offset") + field(2, "7")) + field(13, field(1, "location") + field(2, location));
}

/// A model whose operators and external data are in each place that a file has for them.
Message model_with_all_places() {
  const Message inner = field(1, field(4, "Relu")) + field(5, tensor_in("inner.bin"));
  const Message tensor = field(5, field(1, "value") + field(5, tensor_in("attribute.bin")));
  const Message sparse = field(5, field(22, field(1, tensor_in("values.bin")) + field(2, tensor_in("indices.bin"))));
  const Message graph = Fields()
                            .add(1, field(4, "If") + field(5, field(6, inner)) + field(5, field(11, inner)))
                            .add(1, field(4, "Constant") + tensor)
                            .add(1, field(4, "Constant") + sparse)
                            .add(1, field(4, "F") + field(7, "own"))
                            .add(1, field(4, "G") + field(7, "other"))
                            .add(1, field(4, "Add") + field(7, "ai.onnx"))
                            .add(5, tensor_in("w.bin"))
                            .add(5, tensor_in("w.bin"))
                            .add(15, field(1, tensor_in("sparse.bin")))
                            .bytes;
  const Message body = field(7, field(4, "Sin") + field(5, field(5, tensor_in("function.bin"))));
  const Message function = Fields().add(1, "F").add(9, number(field(1, ""), 2, 7)).add(10, "own").bytes + body;
  return Fields()
      .add(1, 8)
      .add(7, graph)
      .add(8, number({}, 2, 13))
      .add(8, number(field(1, "own"), 2, 1))
      .add(25, function)
      .bytes;
}

TEST(UsedOperators, AreThoseOfAllGraphsAndFunctions) {
  const Message model = model_with_all_places();
  std::vector<std::string> lines;
  for (const onnx::UsedOperator& op : onnx::used_operators(std::as_bytes(std::span(model))).value()) {
    lines.push_back(fmt::format("{}.{}@{} x{}", op.domain, op.name, op.opset, op.nodes));
  }
  // A call of the model's own function is none; an operator of a domain without an import is one.
  EXPECT_THAT(lines,
              ElementsAre(".Add@13 x1", ".Constant@13 x2", ".If@13 x1", ".Relu@13 x2", ".Sin@7 x1", "other.G@0 x1"));
}

TEST(UsedOperators, ExternalLocationsAreThoseOfAllTensors) {
  const Message model = model_with_all_places();
  EXPECT_THAT(
      onnx::external_locations(std::as_bytes(std::span(model))).value(),
      ElementsAre("attribute.bin", "function.bin", "indices.bin", "inner.bin", "sparse.bin", "values.bin", "w.bin"));
}

TEST(UsedOperators, DamagedFilesAreErrors) {
  const Message cases[] = {Message("\x3a\x05zz"), Message("\x38\x05"),  // cut; a graph that is a number
                           field(7, field(5, Message("\x6a\x05zz"))),   // a cut entry of external data
                           field(7, field(1, field(5, "\x32\x7f")))};   // a cut subgraph
  for (const Message& model : cases) {
    const auto found = onnx::external_locations(std::as_bytes(std::span(model)));
    ASSERT_FALSE(found.has_value());
    EXPECT_EQ(name_of(found.error().code), name_of(Code::bad_model)) << found.error().text();
  }
}

TEST(UsedOperators, SubgraphsMayNestDeeply) {
  Message graph = field(5, tensor_in("deepest.bin"));
  for (int depth = 0; depth < 3000; ++depth) graph = field(1, field(4, "If") + field(5, field(6, graph)));
  const Message model = field(7, graph);
  EXPECT_THAT(onnx::external_locations(std::as_bytes(std::span(model))).value(), ElementsAre("deepest.bin"));
}

}  // namespace
}  // namespace frazil::test
