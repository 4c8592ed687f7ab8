#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "api/c_handles.h"
#include "api/tiny_onnx.h"

namespace {

using namespace frazil::test::c;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;
using testing::HasSubstr;

TEST(CApi, HasAVersion) { EXPECT_EQ(frazil_abi_version(), FRAZIL_ABI_VERSION); }

TEST(CApi, RunsByPositionAndByName) {
  HeldModel model;
  squares(model);
  HeldSession session;
  good(frazil_session_open, model, nullptr, &session);
  HeldArray x;
  make<float>(x, FRAZIL_F32, {3}, {1, 2, 3});
  const frazil_array* inputs[] = {x};
  frazil_array* out[2];
  good(frazil_session_run, session, inputs, 1u, out, 2u);
  EXPECT_THAT(values_in<float>(out[0]), ElementsAre(1, 4, 9));
  EXPECT_THAT(values_in<float>(out[1]), ElementsAre(-1, -4, -9));
  for (frazil_array* array : out) frazil_array_free(array);
  const char *in_names[] = {"x"}, *out_names[] = {"z"};
  good(frazil_session_run_named, session, in_names, inputs, 1u, out_names, out, 1u);
  EXPECT_THAT(values_in<float>(out[0]), ElementsAre(-1, -4, -9));
  frazil_array_free(out[0]);
}

TEST(CApi, TellsPorts) {
  HeldModel model;
  squares(model);
  std::size_t count = 0;
  good(frazil_model_port_count, model, FRAZIL_OUTPUTS, &count);
  EXPECT_EQ(count, 2u);
  frazil_port port = FRAZIL_PORT;
  good(frazil_model_port, model, FRAZIL_INPUTS, 0u, &port);
  EXPECT_STREQ(port.name, "x");
  EXPECT_STREQ(port.type, "f32[N]");
  EXPECT_EQ(port.kind, FRAZIL_TENSOR);
  EXPECT_EQ(port.dtype, FRAZIL_F32);
  ASSERT_EQ(port.rank, 1u);
  EXPECT_STREQ(port.dims[0], "N");
  const char* name = nullptr;
  good(frazil_model_name, model, &name);
  EXPECT_STREQ(name, "squares");
}

TEST(CApi, ExtentsAndMetadata) {
  HeldModel model;
  const std::string bytes =
      negating_onnx(2, proto::bytes(2, "maker") + proto::bytes(14, proto::bytes(1, "k") + proto::bytes(2, "v")));
  good(frazil_model_from_bytes, bytes.data(), bytes.size(), nullptr, &model);
  frazil_port port = FRAZIL_PORT;
  good(frazil_model_port, model, FRAZIL_INPUTS, 0u, &port);
  ASSERT_EQ(port.rank, 1u);
  EXPECT_EQ(port.extents[0], 2);
  EXPECT_STREQ(port.full_type, "f32[2]");
  frazil_metadata data = FRAZIL_METADATA;
  good(frazil_model_metadata, model, &data);
  EXPECT_STREQ(data.producer, "maker");
  EXPECT_STREQ(data.graph_name, "g");
  EXPECT_EQ(data.ir_version, 9);
  ASSERT_EQ(data.opset_count, 1u);
  EXPECT_STREQ(data.opset_domains[0], "");
  EXPECT_EQ(data.opset_versions[0], 13);
  ASSERT_EQ(data.property_count, 1u);
  EXPECT_STREQ(data.property_keys[0], "k");
  EXPECT_STREQ(data.property_values[0], "v");
}

/// A program compiled for the first version of the header passes smaller structures.
TEST(CApi, OlderStructuresAreFilledUpToTheirSize) {
  HeldModel model;
  squares(model);
  frazil_port port = FRAZIL_PORT;
  port.size = offsetof(frazil_port, extents);
  const std::int64_t untouched = 7;
  port.extents = &untouched;
  good(frazil_model_port, model, FRAZIL_INPUTS, 0u, &port);
  EXPECT_STREQ(port.name, "x");
  EXPECT_EQ(port.size, offsetof(frazil_port, extents));
  EXPECT_EQ(port.extents, &untouched);
  frazil_load_options options = FRAZIL_LOAD_OPTIONS;
  options.size = offsetof(frazil_load_options, log);
  options.log = reinterpret_cast<frazil_log>(1);  // beyond the size: not read
  HeldModel again;
  HeldText text;
  good(frazil_model_text, model, &text);
  good(frazil_model_from_text, text.p, nullptr, nullptr, 0u, &options, &again);
}

TEST(CApi, ModelsRunOnAnyThread) {
  HeldModel model, bounded;
  squares(model);
  frazil_session_options options = FRAZIL_SESSION_OPTIONS;
  options.tier = "0";
  good(frazil_model_with_pool, model, &options, std::uint64_t{2}, FRAZIL_UNSET, &bounded);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        HeldArray x;
        const auto value = static_cast<float>(t + i);
        make<float>(x, FRAZIL_F32, {1}, {value});
        const frazil_array* inputs[] = {x};
        frazil_array* out[2];
        good(frazil_model_run, bounded, inputs, 1u, out, 2u);
        right += values_in<float>(out[0]) == std::vector{value * value};
        for (frazil_array* array : out) frazil_array_free(array);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 300);
  frazil_pool_counts counts = FRAZIL_POOL_COUNTS;
  good(frazil_model_pool_counts, bounded, &counts);
  EXPECT_LE(counts.opened, 2u);
  EXPECT_EQ(counts.idle, counts.sessions);
  std::size_t closed = 0;
  good(frazil_model_drop_idle, bounded, 0.0, &closed);
  EXPECT_EQ(closed, counts.idle);
  HeldArray x;
  make<float>(x, FRAZIL_F32, {1}, {3});
  const frazil_array* inputs[] = {x};
  const char *in_names[] = {"x"}, *out_names[] = {"z"}, *inner[] = {"product"};
  frazil_array* out[1];
  good(frazil_model_run_named, model, in_names, inputs, 1u, out_names, out, 1u);
  EXPECT_THAT(values_in<float>(out[0]), ElementsAre(-9));
  frazil_array_free(out[0]);
  EXPECT_EQ(frazil_model_run_named(model, in_names, inputs, 1, inner, out, 1, nullptr), FRAZIL_BAD_INPUT);
  HeldModel none;
  EXPECT_EQ(frazil_model_with_pool(model, nullptr, 0, FRAZIL_UNSET, &none, nullptr), FRAZIL_BAD_INPUT);
}

struct Heard {
  std::vector<std::string> lines;
  int released = 0;
};

TEST(CApi, LogsGoToAFunction) {
  const frazil_log log = [](void* context, frazil_severity severity, const char* category, const char*) {
    static_cast<Heard*>(context)->lines.push_back(std::to_string(severity) + " " + category);
  };
  const frazil_release release = [](void* context) { ++static_cast<Heard*>(context)->released; };
  const std::string odd = negating_onnx(3);
  Heard process, own;
  good(frazil_set_log, log, FRAZIL_LOG_INFO, release, static_cast<void*>(&process));
  {
    HeldModel plain, logged;
    good(frazil_model_from_bytes, odd.data(), odd.size(), nullptr, &plain);
    EXPECT_THAT(process.lines, ElementsAre("2 load"));
    frazil_load_options options = FRAZIL_LOAD_OPTIONS;
    options.log = log;
    options.log_release = release;
    options.log_context = &own;
    good(frazil_model_from_bytes, odd.data(), odd.size(), &options, &logged);
    EXPECT_EQ(own.released, 0);
  }
  EXPECT_THAT(own.lines, ElementsAre("2 load"));
  EXPECT_THAT(process.lines, testing::SizeIs(1));
  EXPECT_EQ(own.released, 1);
  EXPECT_EQ(process.released, 0);
  EXPECT_EQ(frazil_set_log(log, 7, release, &own, nullptr), FRAZIL_BAD_INPUT);
  EXPECT_EQ(own.released, 2) << "also after a failed call";
  good(frazil_set_log, nullptr, FRAZIL_LOG_INFO, nullptr, nullptr);
  EXPECT_EQ(process.released, 1);
}

TEST(CApi, Profiles) {
  HeldModel model;
  squares(model);
  HeldSession session;
  good(frazil_session_open, model, nullptr, &session);
  Handle<frazil_profile, frazil_profile_free> profile;
  EXPECT_EQ(frazil_session_stop_profile(session, &profile, nullptr), FRAZIL_BAD_INPUT);
  good(frazil_session_start_profile, session, std::uint64_t{100});
  HeldArray x;
  make<float>(x, FRAZIL_F32, {2}, {1, 2});
  const frazil_array* inputs[] = {x};
  for (int i = 0; i < 3; ++i) {
    frazil_array* out[2];
    good(frazil_session_run, session, inputs, 1u, out, 2u);
    for (frazil_array* array : out) frazil_array_free(array);
  }
  good(frazil_session_stop_profile, session, &profile);
  std::size_t rows = 0;
  std::uint64_t runs = 0;
  double seconds = 0;
  good(frazil_profile_totals, profile, &rows, &runs, &seconds);
  EXPECT_EQ(runs, 3u);
  EXPECT_GT(seconds, 0);
  ASSERT_GT(rows, 0u);
  frazil_profile_row row = FRAZIL_PROFILE_ROW;
  good(frazil_profile_get_row, profile, 0u, &row);
  EXPECT_EQ(row.calls, 3u);
  EXPECT_STREQ(row.node, "product");
  EXPECT_EQ(frazil_profile_get_row(profile, rows, &row, nullptr), FRAZIL_BAD_INPUT);
  HeldText table, trace;
  good(frazil_profile_table, profile, 10u, &table);
  EXPECT_THAT(table.p, HasSubstr("product"));
  good(frazil_profile_trace, profile, "squares", &trace);
  EXPECT_THAT(trace.p, HasSubstr("traceEvents"));
}

TEST(CApi, TextAndPlanCanBeRead) {
  HeldModel model, again;
  squares(model);
  HeldText text, same, plan;
  good(frazil_model_text, model, &text);
  good(frazil_model_from_text, text.p, nullptr, nullptr, 0u, nullptr, &again);
  good(frazil_model_text, again, &same);
  EXPECT_STREQ(text, same);
  good(frazil_model_explain, model, &plan);
  EXPECT_GT(std::strlen(plan), 0u);
}

TEST(CApi, BorrowedMemoryIsReleasedOnce) {
  static int released;
  released = 0;
  std::vector<float> memory{2, 4};
  const std::int64_t dims[] = {2};
  const frazil_release release = [](void* context) { released += *static_cast<int*>(context); };
  int one = 1;
  {
    HeldArray array, share;
    good(frazil_array_borrow, FRAZIL_F32, dims, 1u, memory.data(), 8u, release, &one, &array);
    EXPECT_EQ(frazil_array_borrow(FRAZIL_F32, dims, 1, memory.data(), 7, release, &one, &share, nullptr),
              FRAZIL_BAD_INPUT);
    EXPECT_EQ(released, 0);
    good(frazil_array_share, array.p, &share);
    EXPECT_THAT(values_in<float>(share), ElementsAre(2, 4));
    void* data = nullptr;
    std::size_t bytes = 0;
    good(frazil_array_mutable_data, share.p, &data, &bytes);
    static_cast<float*>(data)[0] = 9;
    EXPECT_EQ(memory[0], 2) << "borrowed memory is not written to";
  }
  EXPECT_EQ(released, 1);
}

TEST(CApi, TrimLetsGoOfBorrowedInputs) {
  HeldModel model;
  squares(model);
  HeldSession session;
  good(frazil_session_open, model, nullptr, &session);
  int released = 0;
  const float memory[] = {3};
  const std::int64_t dims[] = {1};
  const frazil_release release = [](void* context) { ++*static_cast<int*>(context); };
  frazil_array *x = nullptr, *out[2];
  good(frazil_array_borrow, FRAZIL_F32, dims, 1u, memory, sizeof memory, release, &released, &x);
  const frazil_array* inputs[] = {x};
  good(frazil_session_run, session, inputs, 1u, out, 2u);
  for (frazil_array* array : out) frazil_array_free(array);
  frazil_array_free(x);
  good(frazil_session_trim, session);
  EXPECT_EQ(released, 1);
}

TEST(CApi, StringsAndSequences) {
  const std::int64_t dims[] = {2};
  const char* texts[] = {"ab", "c"};
  const std::size_t lengths[] = {1, 1};
  HeldArray strings, cut, sequence, item;
  good(frazil_array_strings, dims, 1u, texts, nullptr, 2u, &strings);
  good(frazil_array_strings, dims, 1u, texts, lengths, 2u, &cut);
  const char* text = nullptr;
  std::size_t length = 0;
  good(frazil_array_string, strings.p, 0u, &text, &length);
  EXPECT_EQ(std::string(text, length), "ab");
  good(frazil_array_string, cut.p, 0u, &text, &length);
  EXPECT_EQ(std::string(text, length), "a");
  const frazil_array* items[] = {strings, cut};
  good(frazil_array_sequence, items, 2u, &sequence);
  good(frazil_array_length, sequence.p, &length);
  EXPECT_EQ(length, 2u);
  frazil_kind kind = 0;
  good(frazil_array_kind, sequence.p, &kind);
  EXPECT_EQ(kind, FRAZIL_SEQUENCE);
  good(frazil_array_item, sequence.p, 1u, &item);
  good(frazil_array_string, item.p, 1u, &text, &length);
  EXPECT_EQ(std::string(text, length), "c");
}

/// Iterations without end: the body passes its condition on.
frazil_code endless_body(void*, frazil_graph* body, const frazil_term* params, std::size_t count, frazil_term* results,
                         std::size_t result_count) {
  if (count != 3 || result_count != 2) return FRAZIL_INTERNAL;
  const frazil_term operands[] = {params[2], params[2]};
  frazil_code code = frazil_graph_op(body, "Not", &params[1], 1, nullptr, 0, nullptr, &results[0], 1, nullptr);
  if (code == FRAZIL_OK) code = frazil_graph_op(body, "Not", results, 1, nullptr, 0, nullptr, results, 1, nullptr);
  if (code != FRAZIL_OK) return code;
  return frazil_graph_op(body, "Add", operands, 2, nullptr, 0, nullptr, &results[1], 1, nullptr);
}

void make_endless(HeldModel& model) {
  HeldGraph graph;
  HeldArray yes;
  frazil_term inputs[3] = {0, 0, 0}, y;
  good(frazil_graph_new, "endless", &graph);
  const bool truth = true;
  good(frazil_array_copy, FRAZIL_BOOL, nullptr, 0u, &truth, 1u, &yes);
  good(frazil_graph_constant, graph, yes.p, nullptr, &inputs[1]);
  good(frazil_graph_input, graph, "x", FRAZIL_F32, nullptr, 0u, &inputs[2]);
  const frazil_region region{3, 2, endless_body, nullptr};
  good(frazil_graph_region, graph, "Loop", inputs, 3u, &region, 1u, nullptr, 0u, "loop", &y, 1u);
  good(frazil_graph_output, graph, "y", y);
  good(frazil_graph_build, graph, &model);
}

TEST(CApi, AnotherThreadCancels) {
  HeldModel model;
  make_endless(model);
  HeldSession session;
  good(frazil_session_open, model, nullptr, &session);
  HeldArray x;
  make<float>(x, FRAZIL_F32, {}, {0});
  std::atomic<bool> ended{false};
  std::thread stopper([&] {
    while (!ended) {
      frazil_session_cancel(session, nullptr);
      std::this_thread::yield();
    }
  });
  const frazil_array* inputs[] = {x};
  frazil_array* out = nullptr;
  HeldError error;
  const frazil_code code = frazil_session_run(session, inputs, 1, &out, 1, &error);
  ended = true;
  stopper.join();
  EXPECT_EQ(code, FRAZIL_CANCELLED);
  EXPECT_EQ(frazil_error_code(error), FRAZIL_CANCELLED);
  EXPECT_EQ(out, nullptr);
}

/// Structures that a program fills with zeros, and sets the size of.
TEST(CApi, OptionsOfZerosSetNoLimits) {
  HeldModel built, model;
  squares(built);
  HeldText text;
  good(frazil_model_text, built, &text);
  frazil_load_options loading{};
  loading.size = sizeof loading;
  good(frazil_model_from_text, text, nullptr, nullptr, 0u, &loading, &model);
  frazil_session_options options{};
  options.size = sizeof options;
  HeldSession session;
  good(frazil_session_open, model, &options, &session);
  HeldArray x;
  make<float>(x, FRAZIL_F32, {1}, {3});
  const frazil_array* inputs[] = {x};
  frazil_array* out[2];
  good(frazil_session_run, session, inputs, 1u, out, 2u);
  EXPECT_THAT(values_in<float>(out[0]), ElementsAre(9));
  for (frazil_array* array : out) frazil_array_free(array);
}

TEST(CApi, ADeadlineEndsARun) {
  HeldModel model;
  make_endless(model);
  frazil_session_options options = FRAZIL_SESSION_OPTIONS;
  options.deadline_ms = 20;
  HeldSession session;
  good(frazil_session_open, model, &options, &session);
  HeldArray x;
  make<float>(x, FRAZIL_F32, {}, {0});
  const frazil_array* inputs[] = {x};
  frazil_array* out = nullptr;
  EXPECT_EQ(frazil_session_run(session, inputs, 1, &out, 1, nullptr), FRAZIL_LIMIT);
}

TEST(CApi, AttributesOfEveryKind) {
  HeldGraph graph;
  good(frazil_graph_new, "attributes", &graph);
  const char* dims[] = {"2", "N"};
  frazil_term x, y;
  good(frazil_graph_input, graph, "x", FRAZIL_F32, dims, 2u, &x);
  const std::int64_t perm[] = {1, 0}, axis = 0;
  const frazil_attribute ints{"perm", FRAZIL_INTS, 2, perm};
  good(frazil_graph_op, graph, "Transpose", &x, 1u, &ints, 1u, nullptr, &y, 1u);
  const frazil_attribute integer{"axis", FRAZIL_INT, 1, &axis};
  good(frazil_graph_op, graph, "Softmax", &y, 1u, &integer, 1u, nullptr, &y, 1u);
  const float alpha = 2;
  const frazil_attribute real{"alpha", FRAZIL_FLOAT, 1, &alpha};
  good(frazil_graph_op, graph, "Elu", &y, 1u, &real, 1u, nullptr, &y, 1u);
  HeldText type;
  good(frazil_graph_type, graph.p, y, &type);
  EXPECT_STREQ(type, "f32[N,2]");
  HeldArray value, shape;
  make<std::int64_t>(value, FRAZIL_I64, {1}, {7});
  make<std::int64_t>(shape, FRAZIL_I64, {2}, {3, 4});
  const frazil_attribute tensor{"value", FRAZIL_ARRAY, 1, value.p};
  good(frazil_graph_constant, graph, shape.p, nullptr, &y);
  good(frazil_graph_op, graph, "ConstantOfShape", &y, 1u, &tensor, 1u, nullptr, &y, 1u);
  HeldText filled;
  good(frazil_graph_type, graph.p, y, &filled);
  EXPECT_STREQ(filled, "i64[3,4]");
}

TEST(CApi, PatchesEditAModel) {
  HeldModel model, edited;
  squares(model);
  HeldGraph patch;
  frazil_term old, with;
  good(frazil_patch_new, model, "absolute", &patch);
  good(frazil_patch_tap, patch, "product", &old);
  good(frazil_graph_op, patch, "Sqrt", &old, 1u, nullptr, 0u, nullptr, &with, 1u);
  good(frazil_patch_replace, patch, "product", with);
  good(frazil_patch_remove_output, patch, "z");
  good(frazil_patch_remove, patch, "negated");
  good(frazil_graph_build, patch, &edited);
  HeldSession session;
  good(frazil_session_open, edited, nullptr, &session);
  HeldArray x, y;
  make<float>(x, FRAZIL_F32, {2}, {-3, 4});
  const frazil_array* inputs[] = {x};
  good(frazil_session_run, session, inputs, 1u, &y, 1u);
  EXPECT_THAT(values_in<float>(y), ElementsAre(3, 4));
  HeldModel none;
  EXPECT_EQ(frazil_graph_build(patch, &none, nullptr), FRAZIL_BAD_INPUT) << "it has been committed";
}

TEST(CApi, OutputsMayBeBound) {
  HeldModel model;
  squares(model);
  HeldSession session;
  good(frazil_session_open, model, nullptr, &session);
  HeldArray x;
  make<float>(x, FRAZIL_F32, {2}, {1, 3});
  float memory[3] = {-1, -1, -1};
  good(frazil_session_bind_output, session, "y", FRAZIL_F32, memory, sizeof memory);
  const frazil_array* inputs[] = {x};
  frazil_array* out[2];
  good(frazil_session_run, session, inputs, 1u, out, 2u);
  EXPECT_THAT(memory, ElementsAre(1, 9, -1));
  const void* data = nullptr;
  std::size_t bytes = 0;
  good(frazil_array_data, out[0], &data, &bytes);
  EXPECT_EQ(data, memory);
  for (frazil_array* array : out) frazil_array_free(array);
  good(frazil_session_bind_output, session, "y", FRAZIL_F32, nullptr, 0u);
  EXPECT_EQ(frazil_session_bind_output(session, "y", FRAZIL_F64, memory, 8, nullptr), FRAZIL_BAD_INPUT);
}

TEST(CApi, RunsMayBeStartedAndWaitedFor) {
  HeldModel model, forever;
  squares(model);
  make_endless(forever);
  HeldSession session, stuck, left;
  good(frazil_session_open, model, nullptr, &session);
  HeldArray x, scalar;
  make<float>(x, FRAZIL_F32, {2}, {1, 3});
  make<float>(scalar, FRAZIL_F32, {}, {1});
  const frazil_array *inputs[] = {x}, *scalars[] = {scalar};
  frazil_array* out[2];
  EXPECT_EQ(frazil_session_wait(session, out, 2, nullptr), FRAZIL_BAD_INPUT);
  good(frazil_session_start, session, inputs, 1u);
  EXPECT_EQ(frazil_session_start(session, inputs, 1, nullptr), FRAZIL_BAD_INPUT);
  good(frazil_session_wait, session, out, 2u);
  EXPECT_THAT(values_in<float>(out[0]), ElementsAre(1, 9));
  for (frazil_array* array : out) frazil_array_free(array);
  good(frazil_session_open, forever, nullptr, &stuck);
  good(frazil_session_start, stuck, scalars, 1u);
  good(frazil_session_cancel, stuck);
  EXPECT_EQ(frazil_session_wait(stuck, out, 1, nullptr), FRAZIL_CANCELLED);
  good(frazil_session_set_deadline, stuck, 5.0);
  EXPECT_EQ(frazil_session_run(stuck, scalars, 1, out, 1, nullptr), FRAZIL_LIMIT);
  good(frazil_session_open, forever, nullptr, &left);
  good(frazil_session_start, left, scalars, 1u);
}

TEST(CApi, InnerValuesAreOutputsByName) {
  HeldModel model;
  squares(model);
  HeldSession session;
  good(frazil_session_open, model, nullptr, &session);
  HeldArray x;
  make<float>(x, FRAZIL_F32, {2}, {1, 3});
  const frazil_array* inputs[] = {x};
  const char *in_names[] = {"x"}, *out_names[] = {"negated:0", "product", "y"};
  frazil_array* out[3];
  good(frazil_session_run_named, session, in_names, inputs, 1u, out_names, out, 3u);
  EXPECT_THAT(values_in<float>(out[0]), ElementsAre(-1, -9));
  EXPECT_THAT(values_in<float>(out[1]), ElementsAre(1, 9));
  for (frazil_array* array : out) frazil_array_free(array);
}

/// Repeats its operand `times` times; absent operands are skipped.
frazil_code repeat_types(void* context, frazil_op_call* call) {
  ++*static_cast<std::atomic<int>*>(context);
  frazil_port in = FRAZIL_PORT, absent = FRAZIL_PORT;
  frazil_attribute times;
  EXPECT_EQ(frazil_op_input_type(call, 0, &in, nullptr), FRAZIL_OK);
  EXPECT_EQ(frazil_op_input_type(call, 1, &absent, nullptr), FRAZIL_OK);
  EXPECT_EQ(absent.kind, FRAZIL_NONE);
  EXPECT_EQ(frazil_op_attribute(call, "times", &times, nullptr), FRAZIL_OK);
  if (in.rank != 1) return frazil_op_fail(call, FRAZIL_BAD_MODEL, "one axis, please");
  const auto count = *static_cast<const std::int64_t*>(times.values);
  const std::string dim = std::to_string(count) + "*(" + in.dims[0] + ")";
  const char* dims[] = {dim.c_str()};
  return frazil_op_set_type(call, 0, in.dtype, dims, 1, nullptr);
}

frazil_code repeat_run(void*, frazil_op_call* call) {
  const frazil_array *in = nullptr, *absent = nullptr;
  frazil_attribute times, label;
  EXPECT_EQ(frazil_op_input(call, 0, &in, nullptr), FRAZIL_OK);
  EXPECT_EQ(frazil_op_input(call, 1, &absent, nullptr), FRAZIL_OK);
  EXPECT_EQ(absent, nullptr);
  EXPECT_EQ(frazil_op_attribute(call, "times", &times, nullptr), FRAZIL_OK);
  EXPECT_EQ(frazil_op_attribute(call, "labels", &label, nullptr), FRAZIL_OK);
  EXPECT_EQ(label.kind, FRAZIL_TEXTS);
  EXPECT_STREQ(static_cast<const char* const*>(label.values)[1], "b");
  EXPECT_EQ(frazil_op_attribute(call, "where", &label, nullptr), FRAZIL_BAD_INPUT);
  const auto one = values_in<float>(in);
  if (!one.empty() && one[0] < 0) return frazil_op_fail(call, FRAZIL_BAD_INPUT, "a negative number");
  std::vector<float> many;
  for (std::int64_t i = *static_cast<const std::int64_t*>(times.values); i > 0; --i) {
    many.insert(many.end(), one.begin(), one.end());
  }
  HeldArray out;
  make<float>(out, FRAZIL_F32, {static_cast<std::int64_t>(many.size())}, many);
  return frazil_op_set_output(call, 0, out, nullptr);
}

TEST(CApi, ProgramsDefineOperators) {
  static std::atomic<int> typed{0};
  const std::int64_t twice = 2, thrice = 3;
  const char* labels[] = {"a", "b"};
  const frazil_attribute defaults[] = {{"times", FRAZIL_INT, 1, &twice}, {"labels", FRAZIL_TEXTS, 2, labels}};
  frazil_operator op{
      sizeof(frazil_operator), "Repeat", "com.acme.c", 1, 1, 0, 1, defaults, 2, 0, 0, repeat_types, repeat_run, &typed};
  good(frazil_register_operator, &op);
  HeldError twice_there;
  EXPECT_EQ(frazil_register_operator(&op, &twice_there), FRAZIL_BAD_INPUT);
  EXPECT_THAT(frazil_error_message(twice_there), HasSubstr("'Repeat' already"));
  op.run = nullptr;
  EXPECT_EQ(frazil_register_operator(&op, nullptr), FRAZIL_BAD_INPUT);

  HeldGraph graph;
  const char* dims[] = {"N"};
  frazil_term x, y, scalar;
  good(frazil_graph_new, "repeats", &graph);
  good(frazil_graph_input, graph, "x", FRAZIL_F32, dims, 1u, &x);
  const frazil_attribute times{"times", FRAZIL_INT, 1, &thrice};
  good(frazil_graph_op, graph, "com.acme.c.Repeat", &x, 1u, &times, 1u, "again", &y, 1u);
  good(frazil_graph_op, graph, "com.acme.c.Repeat", &y, 1u, nullptr, 0u, nullptr, &y, 1u);
  HeldText type;
  good(frazil_graph_type, graph.p, y, &type);
  EXPECT_STREQ(type, "f32[6*N]");
  EXPECT_GT(typed, 0);
  good(frazil_graph_input, graph, "scalar", FRAZIL_F32, nullptr, 0u, &scalar);
  HeldError error;
  EXPECT_EQ(frazil_graph_op(graph, "com.acme.c.Repeat", &scalar, 1, nullptr, 0, "flat", &scalar, 1, &error),
            FRAZIL_BAD_MODEL);
  EXPECT_THAT(frazil_error_message(error), HasSubstr("node 'flat' (Repeat): one axis, please"));
  good(frazil_graph_output, graph, "y", y);
  HeldModel model;
  good(frazil_graph_build, graph, &model);
  HeldSession session;
  good(frazil_session_open, model, nullptr, &session);
  const char *in_names[] = {"x", "scalar"}, *out_names[] = {"y"};
  const auto run = [&](float value, frazil_array** out, frazil_error** fault) {
    HeldArray in, unused;
    make<float>(in, FRAZIL_F32, {1}, {value});
    make<float>(unused, FRAZIL_F32, {}, {0});
    const frazil_array* inputs[] = {in, unused};
    return frazil_session_run_named(session, in_names, inputs, 2, out_names, out, 1, fault);
  };
  HeldArray out, none;
  HeldError fault;
  ASSERT_EQ(run(5, &out, nullptr), FRAZIL_OK);
  EXPECT_THAT(values_in<float>(out), ElementsAre(5, 5, 5, 5, 5, 5));
  EXPECT_EQ(run(-5, &none, &fault), FRAZIL_BAD_INPUT);
  EXPECT_THAT(frazil_error_message(fault), HasSubstr("node 'again' (Repeat): a negative number"));
}

TEST(CApi, FreeingNothingIsFine) {
  frazil_error_free(nullptr);
  frazil_text_free(nullptr);
  frazil_array_free(nullptr);
  frazil_model_free(nullptr);
  frazil_session_free(nullptr);
  frazil_graph_free(nullptr);
  EXPECT_EQ(frazil_error_code(nullptr), FRAZIL_OK);
  EXPECT_STREQ(frazil_error_message(nullptr), "");
}

}  // namespace
