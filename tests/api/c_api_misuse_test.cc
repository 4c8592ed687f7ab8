#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "api/c_handles.h"

namespace {

using namespace frazil::test::c;  // NOLINT(google-build-using-namespace)
using testing::HasSubstr;

/// Objects that are valid, for calls that are not.
struct Valid {
  HeldModel model;
  HeldSession session;
  HeldGraph graph, other, patch;
  HeldArray array;
  frazil_term term = 0, foreign = 0;
  std::int64_t dims[1] = {2}, negative[1] = {-1};
  float data[2] = {1, 2};
  const char* names[1] = {"x"};
  const char* results[1] = {"y"};
  const char* nowhere[1] = {"nowhere"};
  const char* none[1] = {nullptr};

  Valid() {
    squares(model);
    good(frazil_session_open, model, nullptr, &session);
    good(frazil_graph_new, "graph", &graph);
    good(frazil_graph_new, "other", &other);
    good(frazil_patch_new, model, "patch", &patch);
    good(frazil_array_copy, FRAZIL_F32, dims, 1u, data, sizeof data, &array);
    good(frazil_graph_input, graph, "x", FRAZIL_F32, names, 1u, &term);
    good(frazil_graph_input, other, "x", FRAZIL_F32, names, 1u, &foreign);
  }
};

struct Misuse {
  const char* name;
  frazil_code code;
  const char* message;  ///< a part of it
  std::function<frazil_code(Valid&, frazil_error**)> call;
};
void PrintTo(const Misuse& misuse, std::ostream* out) { *out << misuse.name; }

using E = frazil_error**;

std::vector<Misuse> misuse_of_arrays() {
  const auto copy = [](Valid& v, E e, frazil_dtype dtype, const std::int64_t* dims, std::size_t rank, std::size_t n) {
    frazil_array* out = v.array;
    const frazil_code code = frazil_array_copy(dtype, dims, rank, v.data, n, &out, e);
    EXPECT_EQ(out, nullptr);
    return code;
  };
  return {
      {"ArrayNowhereToStore", FRAZIL_BAD_INPUT, "null",
       [](Valid& v, E e) { return frazil_array_zeros(FRAZIL_F32, v.dims, 1, nullptr, e); }},
      {"NegativeExtent", FRAZIL_BAD_INPUT, "", [=](Valid& v, E e) { return copy(v, e, FRAZIL_F32, v.negative, 1, 8); }},
      {"NoExtents", FRAZIL_BAD_INPUT, "extents", [=](Valid& v, E e) { return copy(v, e, FRAZIL_F32, nullptr, 1, 8); }},
      {"WrongBytes", FRAZIL_BAD_INPUT, "7 bytes", [=](Valid& v, E e) { return copy(v, e, FRAZIL_F32, v.dims, 1, 7); }},
      {"UnknownDtype", FRAZIL_BAD_INPUT, "99", [=](Valid& v, E e) { return copy(v, e, 99, v.dims, 1, 8); }},
      {"StringsAsBytes", FRAZIL_BAD_INPUT, "strings",
       [=](Valid& v, E e) { return copy(v, e, FRAZIL_STRING, v.dims, 1, 8); }},
      {"NullArray", FRAZIL_BAD_INPUT, "array is null",
       [](Valid&, E e) {
         const void* data;
         std::size_t bytes;
         return frazil_array_data(nullptr, &data, &bytes, e);
       }},
      {"NoSequence", FRAZIL_BAD_INPUT, "sequence",
       [](Valid& v, E e) {
         frazil_array* item;
         return frazil_array_item(v.array, 0, &item, e);
       }},
      {"NoString", FRAZIL_BAD_INPUT, "string",
       [](Valid& v, E e) {
         const char* text;
         std::size_t length;
         return frazil_array_string(v.array, 0, &text, &length, e);
       }},
      {"NullItem", FRAZIL_BAD_INPUT, "item",
       [](Valid&, E e) {
         const frazil_array* items[] = {nullptr};
         frazil_array* out;
         return frazil_array_sequence(items, 1, &out, e);
       }},
      {"NullText", FRAZIL_BAD_INPUT, "text is null",
       [](Valid& v, E e) {
         frazil_array* out;
         return frazil_array_strings(v.dims, 1, v.none, nullptr, 1, &out, e);
       }},
  };
}

std::vector<Misuse> misuse_of_models() {
  const auto load = [](const char* path, E e) {
    frazil_model* out;
    const frazil_code code = frazil_model_load(path, nullptr, &out, e);
    EXPECT_EQ(out, nullptr);
    return code;
  };
  const auto open = [](const frazil_model* model, const frazil_session_options* options, E e) {
    frazil_session* out;
    const frazil_code code = frazil_session_open(model, options, &out, e);
    EXPECT_EQ(out, nullptr);
    return code;
  };
  const auto named = [](const char* const* in, const frazil_array* x, const char* const* out_names, Valid& v, E e) {
    frazil_array* out;
    const frazil_code code = frazil_session_run_named(v.session, in, &x, 1, out_names, &out, 1, e);
    EXPECT_EQ(out, nullptr);
    return code;
  };
  return {
      {"NoFile", FRAZIL_BAD_INPUT, "nowhere.onnx", [=](Valid&, E e) { return load("nowhere.onnx", e); }},
      {"NullPath", FRAZIL_BAD_INPUT, "path is null", [=](Valid&, E e) { return load(nullptr, e); }},
      {"NoModel", FRAZIL_BAD_MODEL, "",
       [](Valid&, E e) {
         frazil_model* out;
         return frazil_model_from_bytes("nonsense", 8, nullptr, &out, e);
       }},
      {"NoText", FRAZIL_BAD_MODEL, "",
       [](Valid&, E e) {
         frazil_model* out;
         return frazil_model_from_text("nonsense", nullptr, nullptr, 0, nullptr, &out, e);
       }},
      {"OptionsWithoutSize", FRAZIL_BAD_INPUT, "size",
       [=](Valid& v, E e) {
         frazil_session_options options = FRAZIL_SESSION_OPTIONS;
         options.size = 0;
         return open(v.model, &options, e);
       }},
      {"NewerOptions", FRAZIL_UNSUPPORTED, "newer",
       [=](Valid& v, E e) {
         frazil_session_options options = FRAZIL_SESSION_OPTIONS;
         options.size += 8;
         return open(v.model, &options, e);
       }},
      {"UnknownTier", FRAZIL_BAD_INPUT, "tier",
       [=](Valid& v, E e) {
         frazil_session_options options = FRAZIL_SESSION_OPTIONS;
         options.tier = "fast";
         return open(v.model, &options, e);
       }},
      {"TooManyThreads", FRAZIL_BAD_INPUT, "threads",
       [=](Valid& v, E e) {
         frazil_session_options options = FRAZIL_SESSION_OPTIONS;
         options.threads = UINT64_MAX - 1;
         return open(v.model, &options, e);
       }},
      {"NullModel", FRAZIL_BAD_INPUT, "model is null", [=](Valid&, E e) { return open(nullptr, nullptr, e); }},
      {"NullSession", FRAZIL_BAD_INPUT, "session is null",
       [](Valid&, E e) { return frazil_session_cancel(nullptr, e); }},
      {"PortWithoutSize", FRAZIL_BAD_INPUT, "size",
       [](Valid& v, E e) {
         frazil_port port = FRAZIL_PORT;
         port.size = 8;
         return frazil_model_port(v.model, FRAZIL_INPUTS, 0, &port, e);
       }},
      {"NoSuchPort", FRAZIL_BAD_INPUT, "port 1 of 1",
       [](Valid& v, E e) {
         frazil_port port = FRAZIL_PORT;
         return frazil_model_port(v.model, FRAZIL_INPUTS, 1, &port, e);
       }},
      {"NoSuchSide", FRAZIL_BAD_INPUT, "side",
       [](Valid& v, E e) {
         std::size_t count;
         return frazil_model_port_count(v.model, 2, &count, e);
       }},
      {"RoomForOneOutput", FRAZIL_BAD_INPUT, "2 outputs",
       [](Valid& v, E e) {
         const frazil_array* in[] = {v.array};
         frazil_array* out[1];
         return frazil_session_run(v.session, in, 1, out, 1, e);
       }},
      {"MissingInput", FRAZIL_BAD_INPUT, "'x'",
       [](Valid& v, E e) {
         frazil_array* out[2];
         return frazil_session_run(v.session, nullptr, 0, out, 2, e);
       }},
      {"NoSuchInput", FRAZIL_BAD_INPUT, "'nowhere'",
       [=](Valid& v, E e) { return named(v.nowhere, v.array, v.results, v, e); }},
      {"NullInput", FRAZIL_BAD_INPUT, "input is null",
       [=](Valid& v, E e) { return named(v.names, nullptr, v.results, v, e); }},
      {"NullInputName", FRAZIL_BAD_INPUT, "name is null",
       [=](Valid& v, E e) { return named(v.none, v.array, v.results, v, e); }},
      {"InputGivenTwice", FRAZIL_BAD_INPUT, "'x' is given twice",
       [](Valid& v, E e) {
         const char* names[] = {"x", "x"};
         const frazil_array* in[] = {v.array, v.array};
         frazil_array* out;
         return frazil_session_run_named(v.session, names, in, 2, v.results, &out, 1, e);
       }},
      {"WeightGivenTwice", FRAZIL_BAD_INPUT, "'w' is given twice",
       [](Valid& v, E e) {
         const char* names[] = {"w", "w"};
         const frazil_array* weights[] = {v.array, v.array};
         frazil_model* out;
         return frazil_model_from_text("graph g() { return }", names, weights, 2, nullptr, &out, e);
       }},
      {"NoSuchOutput", FRAZIL_BAD_INPUT, "'nowhere'",
       [=](Valid& v, E e) { return named(v.names, v.array, v.nowhere, v, e); }},
  };
}

std::vector<Misuse> misuse_of_graphs() {
  const auto op = [](frazil_graph* graph, const char* name, frazil_term in, const frazil_attribute* attribute, E e) {
    frazil_term out = 7;
    const frazil_code code =
        frazil_graph_op(graph, name, &in, 1, attribute, attribute == nullptr ? 0 : 1, nullptr, &out, 1, e);
    EXPECT_EQ(out, 0u);
    return code;
  };
  return {
      {"NullGraph", FRAZIL_BAD_INPUT, "graph is null",
       [=](Valid& v, E e) { return op(nullptr, "Abs", v.term, nullptr, e); }},
      {"NoSuchOperator", FRAZIL_UNSUPPORTED, "'Abbs'",
       [=](Valid& v, E e) { return op(v.graph, "Abbs", v.term, nullptr, e); }},
      {"NullOperator", FRAZIL_BAD_INPUT, "operator is null",
       [=](Valid& v, E e) { return op(v.graph, nullptr, v.term, nullptr, e); }},
      {"ForeignTerm", FRAZIL_BAD_INPUT, "another graph",
       [=](Valid& v, E e) { return op(v.graph, "Abs", v.foreign, nullptr, e); }},
      {"InventedTerm", FRAZIL_BAD_INPUT, "no such term",
       [=](Valid& v, E e) { return op(v.graph, "Abs", v.term + 1000, nullptr, e); }},
      {"AbsentOperand", FRAZIL_BAD_MODEL, "missing", [=](Valid& v, E e) { return op(v.graph, "Abs", 0, nullptr, e); }},
      {"AttributeWithoutValue", FRAZIL_BAD_INPUT, "attribute",
       [=](Valid& v, E e) {
         const frazil_attribute attribute{"axis", FRAZIL_INT, 1, nullptr};
         return op(v.graph, "Softmax", v.term, &attribute, e);
       }},
      {"AttributeOfNoKind", FRAZIL_BAD_INPUT, "kind",
       [=](Valid& v, E e) {
         const frazil_attribute attribute{"axis", 17, 1, v.dims};
         return op(v.graph, "Softmax", v.term, &attribute, e);
       }},
      {"AttributeOfAnotherKind", FRAZIL_BAD_MODEL, "axis",
       [=](Valid& v, E e) {
         const frazil_attribute attribute{"axis", FRAZIL_TEXT, 1, "one"};
         return op(v.graph, "Softmax", v.term, &attribute, e);
       }},
      {"NoOutputs", FRAZIL_BAD_INPUT, "output",
       [](Valid& v, E e) { return frazil_graph_op(v.graph, "Abs", &v.term, 1, nullptr, 0, nullptr, nullptr, 0, e); }},
      {"RegionWithoutFill", FRAZIL_BAD_INPUT, "fill",
       [](Valid& v, E e) {
         const frazil_region region{};
         frazil_term out;
         return frazil_graph_region(v.graph, "If", &v.term, 1, &region, 1, nullptr, 0, nullptr, &out, 1, e);
       }},
      {"RegionThatFails", FRAZIL_CANCELLED, "fill",
       [](Valid& v, E e) {
         HeldArray yes;
         frazil_term inputs[3] = {0, 0, v.term}, out;
         const frazil_region region{3, 2,
                                    [](void*, frazil_graph*, const frazil_term*, std::size_t, frazil_term*,
                                       std::size_t) -> frazil_code { return FRAZIL_CANCELLED; },
                                    nullptr};
         return frazil_graph_region(v.graph, "Loop", inputs, 3, &region, 1, nullptr, 0, nullptr, &out, 1, e);
       }},
      {"TapOfAGraph", FRAZIL_BAD_INPUT, "patch",
       [](Valid& v, E e) {
         frazil_term out;
         return frazil_patch_tap(v.graph, "x", &out, e);
       }},
      {"InputOfTheSameName", FRAZIL_BAD_MODEL, "'x'",
       [](Valid& v, E e) {
         frazil_term out;
         return frazil_graph_input(v.graph, "x", FRAZIL_F32, v.names, 1, &out, e);
       }},
      {"ExtentOfTooManyDigits", FRAZIL_BAD_INPUT, "too large",
       [](Valid& v, E e) {
         const char* dims[] = {"9223372036854775808"};
         frazil_term out;
         return frazil_graph_input(v.graph, "z", FRAZIL_F32, dims, 1, &out, e);
       }},
      {"TapOfNothing", FRAZIL_BAD_INPUT, "'nowhere'",
       [](Valid& v, E e) {
         frazil_term out;
         return frazil_patch_tap(v.patch, "nowhere", &out, e);
       }},
      {"RemovalOfNothing", FRAZIL_BAD_INPUT, "'nowhere'",
       [](Valid& v, E e) { return frazil_patch_remove(v.patch, "nowhere", e); }},
  };
}

class CApiMisuse : public testing::TestWithParam<Misuse> {};

TEST_P(CApiMisuse, IsAnError) {
  Valid valid;
  HeldError error;
  EXPECT_EQ(GetParam().call(valid, &error), GetParam().code) << frazil_error_message(error);
  EXPECT_EQ(frazil_error_code(error), GetParam().code);
  EXPECT_THAT(frazil_error_message(error), HasSubstr(GetParam().message));
  EXPECT_EQ(GetParam().call(valid, nullptr), GetParam().code) << "an error that nobody asks for";
}

const auto name_of_misuse = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Arrays, CApiMisuse, testing::ValuesIn(misuse_of_arrays()), name_of_misuse);
INSTANTIATE_TEST_SUITE_P(Models, CApiMisuse, testing::ValuesIn(misuse_of_models()), name_of_misuse);
INSTANTIATE_TEST_SUITE_P(Graphs, CApiMisuse, testing::ValuesIn(misuse_of_graphs()), name_of_misuse);

}  // namespace
