#include <atomic>
#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <frazil/c.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/tiny_onnx.h"

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class T, void (*free)(T*)>
struct Handle {
  T* p = nullptr;
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { free(p); }
  T** operator&() { return &p; }
  operator T*() const { return p; }
};
using HeldError = Handle<frazil_error, frazil_error_free>;
using HeldArray = Handle<frazil_array, frazil_array_free>;
using HeldModel = Handle<frazil_model, frazil_model_free>;
using HeldSession = Handle<frazil_session, frazil_session_free>;
using HeldGraph = Handle<frazil_graph, frazil_graph_free>;
using HeldText = Handle<char, frazil_text_free>;

/// For calls that have to succeed: good(frazil_x, arguments...).
template <class F, class... A>
void good(F f, A&&... arguments) {
  HeldError error;
  ASSERT_EQ(f(arguments..., &error), FRAZIL_OK) << frazil_error_message(error);
  ASSERT_EQ(error.p, nullptr);
}

template <class T>
void make(HeldArray& array, frazil_dtype dtype, const std::vector<std::int64_t>& dims, const std::vector<T>& values) {
  good(frazil_array_copy, dtype, dims.data(), dims.size(), values.data(), values.size() * sizeof(T), &array);
}

template <class T>
std::vector<T> values_in(const frazil_array* array) {
  const void* data = nullptr;
  std::size_t bytes = 0;
  good(frazil_array_data, array, &data, &bytes);
  std::vector<T> values(bytes / sizeof(T));
  if (bytes != 0) std::memcpy(values.data(), data, bytes);
  return values;
}

/// y = x * x, z = -y
void squares(HeldModel& model) {
  HeldGraph graph;
  const char* dims[] = {"N"};
  frazil_term x[2], y, z;
  good(frazil_graph_new, "squares", &graph);
  good(frazil_graph_input, graph, "x", FRAZIL_F32, dims, 1u, &x[0]);
  x[1] = x[0];
  good(frazil_graph_op, graph, "Mul", x, 2u, nullptr, 0u, "product", &y, 1u);
  good(frazil_graph_op, graph, "Neg", &y, 1u, nullptr, 0u, "negated", &z, 1u);
  good(frazil_graph_output, graph, "y", y);
  good(frazil_graph_output, graph, "z", z);
  good(frazil_graph_build, graph, &model);
}

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
  EXPECT_EQ(frazil_model_with_pool(model, nullptr, 0, FRAZIL_UNSET, &bounded, nullptr), FRAZIL_BAD_INPUT);
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

// ---- misuse ----

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
