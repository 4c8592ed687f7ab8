// Policies in C. A process keeps its policy, so each test installs one in a process of its own.
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <frazil/c_policy.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/c_handles.h"
#include "api/tiny_onnx.h"

namespace frazil::test::c {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Notes each call, and refuses calls by their notes.
struct Asked {
  std::vector<std::string> notes;
  std::string refused;
  int released = 0;

  void note(std::string what, frazil_verdict* verdict) {
    if (what == refused) frazil_verdict_refuse(verdict, ("not " + what).c_str());
    notes.push_back(std::move(what));
  }
  std::vector<std::string> take() { return std::exchange(notes, {}); }
};
Asked& asked(void* context) { return *static_cast<Asked*>(context); }

std::string first_input(const frazil_model* model) {
  frazil_port port = {};
  port.size = sizeof port;
  good(frazil_model_port, model, FRAZIL_INPUTS, 0, &port);
  return std::string(port.name) + ":" + port.type;
}

std::string operators_of(const frazil_file_facts* file) {
  frazil_file_operators* list = nullptr;
  const frazil_file_operator* items = nullptr;
  size_t count = 0;
  good(frazil_file_list_operators, file, &list, &items, &count);
  std::string text;
  for (size_t i = 0; i < count; ++i) text += std::string(" ") + items[i].name + "@" + std::to_string(items[i].opset);
  frazil_file_operators_free(list);
  return text;
}

void on_file(void* context, const frazil_file_facts* file, frazil_verdict* verdict) {
  HeldText digest;
  good(frazil_file_digest, file, &digest.p);
  EXPECT_EQ(std::string(digest.p).size(), 7 + 64);
  EXPECT_EQ(std::string(digest.p).rfind("sha256:", 0), 0);
  asked(context).note("file '" + std::string(file->path) + "'" + operators_of(file), verdict);
}
void on_load(void* context, const frazil_model* model, frazil_verdict* verdict) {
  asked(context).note("load " + first_input(model), verdict);
}
void on_run(void* context, const frazil_model* model, frazil_verdict* verdict) {
  asked(context).note("run " + first_input(model), verdict);
}
void on_operator(void* context, const char* domain, const char* name, frazil_verdict* verdict) {
  asked(context).note(std::string("operator ") + domain + "." + name, verdict);
}
frazil_code no_function(void*, frazil_op_call* call) { return frazil_op_fail(call, FRAZIL_UNSUPPORTED, "none"); }

frazil_policy policy_of(Asked& to) {
  frazil_policy policy = FRAZIL_POLICY;
  policy.context = &to;
  policy.release = [](void* context) { ++asked(context).released; };
  policy.check_file = on_file;
  policy.check_load = on_load;
  policy.check_run = on_run;
  policy.check_operator = on_operator;
  return policy;
}

/// Returns the message of a call that must fail.
template <class F, class... A>
std::string message(F f, A&&... arguments) {
  HeldError error;
  EXPECT_EQ(f(arguments..., &error), FRAZIL_BAD_INPUT);
  return frazil_error_message(error);
}

int governed() {
  Asked to;
  const frazil_policy policy = policy_of(to);
  good(frazil_install_policy, &policy);
  const std::string onnx = negating_onnx();
  HeldModel model, other;
  good(frazil_model_from_bytes, onnx.data(), onnx.size(), nullptr, &model);
  EXPECT_THAT(to.take(), ElementsAre("file '' Neg@13", "load x:f32[2]"));

  HeldSession session;
  good(frazil_session_open, model, nullptr, &session);
  HeldArray x, y;
  make<float>(x, FRAZIL_F32, {2}, {2, 3});
  const frazil_array* inputs[] = {x};
  good(frazil_session_run, session, inputs, 1, &y.p, 1);
  EXPECT_THAT(to.take(), ElementsAre("run x:f32[2]"));
  to.refused = "run x:f32[2]";
  EXPECT_THAT(message(frazil_session_run, session, inputs, 1, &y.p, 1), HasSubstr("not run x:f32[2]"));

  to.refused = "file '' Neg@13";
  EXPECT_EQ(message(frazil_model_from_bytes, onnx.data(), onnx.size(), nullptr, &other),
            "the policy refuses the file: not file '' Neg@13");
  to.refused = "load x:f32[2]";
  EXPECT_THAT(message(frazil_model_from_bytes, onnx.data(), onnx.size(), nullptr, &other),
              HasSubstr("not load x:f32[2]"));
  EXPECT_EQ(other.p, nullptr);

  frazil_operator made = {};
  made.size = sizeof made;
  made.name = "New";
  made.domain = "com.acme";
  made.inputs = made.outputs = 1;
  made.types = made.run = no_function;
  to.refused = "operator com.acme.New";
  EXPECT_THAT(message(frazil_register_operator, &made), HasSubstr("not operator com.acme.New"));

  EXPECT_EQ(message(frazil_install_policy, &policy),
            "install_policy: the process has a policy, which cannot be replaced");
  EXPECT_EQ(to.released, 1) << "the policy that was not installed";
  return testing::Test::HasFailure() ? 1 : 0;
}

TEST(CPolicies, OfTheProcessAreAskedAndCannotBeReplaced) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(std::exit(governed()), testing::ExitedWithCode(0), "");
}

TEST(CPolicies, RefuseStructuresOfOtherSizes) {
  frazil_policy policy = FRAZIL_POLICY;
  policy.size = 8;
  EXPECT_EQ(message(frazil_install_policy, &policy), "frazil_policy: `size` is not set to its size");
  EXPECT_EQ(message(frazil_install_policy, static_cast<const frazil_policy*>(nullptr)), "the policy is null");
  frazil_file_facts file = {sizeof(frazil_file_facts), 7, "", nullptr, 0};
  HeldText digest;
  EXPECT_EQ(message(frazil_file_digest, &file, &digest.p), "there is no kind of file 7");
}

}  // namespace
}  // namespace frazil::test::c
