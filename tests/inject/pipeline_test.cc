#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "inject/injector.h"
#include "suite/subjects.h"

// The internal pipeline when allocations fail: import, planning, opening and running, on both tiers.
namespace frazil::test {
namespace {

constexpr Tolerance kDigits{.rtol = 1e-4, .atol = 1e-5};

Result<Graph> import_of(const Subject& subject) {
  return import_onnx_bytes(std::as_bytes(std::span(subject.bytes)), nullptr);
}

std::string wrong_in(const Result<std::vector<Datum>>& got, const std::vector<Datum>& want, Tolerance tolerance) {
  if (!got) return got.error().text();
  if (got->size() != want.size()) return "another number of results";
  for (std::size_t k = 0; k < want.size(); ++k) {
    if (const auto what = difference((*got)[k], want[k], tolerance)) return fmt::format("output {}: {}", k, *what);
  }
  return {};
}

class Pipeline : public ::testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    link_operators();
    subject_ = subject_named(GetParam());
    auto graph = import_of(subject_);
    ASSERT_TRUE(graph) << graph.error().text();
    graph_ = std::make_shared<const Graph>(std::move(*graph));
  }
  std::string name(std::string_view what) const { return fmt::format("{}, {}", subject_.name, what); }
  std::shared_ptr<Executable> made(bool reference) const {
    return Executable::make(graph_, {.reference = reference}).value();
  }
  /// The expected results, bit for bit; the reference executor's must agree.
  void find_answers(bool reference) {
    const auto exe = made(reference);
    first_ = exe->open()->run(subject_.first).value();
    second_ = exe->open()->run(subject_.second).value();
    EXPECT_EQ(wrong_in(run_on_reference(*graph_, subject_.first), first_, kDigits), "");
    EXPECT_EQ(wrong_in(run_on_reference(*graph_, subject_.second), second_, kDigits), "");
  }
  std::string both_requests(Session& session) const {
    std::string wrong = wrong_in(session.run(subject_.second), second_, kExact);
    return wrong.empty() ? wrong_in(session.run(subject_.first), first_, kExact) : wrong;
  }

  void first_run();
  void later_run();
  void reference_run();

  Subject subject_;
  std::shared_ptr<const Graph> graph_;
  std::vector<Datum> first_, second_;
};

TEST_P(Pipeline, Import) {
  std::optional<Graph> made;
  const std::string text = print(*graph_);
  Injector injector(name("import"), {.act = [&]() -> Status {
                                       auto graph = import_of(subject_);
                                       if (!graph) return std::unexpected(std::move(graph).error());
                                       made.emplace(std::move(*graph));
                                       return {};
                                     },
                                     .after =
                                         [&](bool done) {
                                           const bool right = !done || print(*made) == text;
                                           made.reset();
                                           return right ? std::string() : "another graph";
                                         }});
  injector.run(Coverage::every_allocation);
}

TEST_P(Pipeline, MakeAndOpen) {
  find_answers(false);
  std::shared_ptr<Executable> exe;
  std::unique_ptr<Session> session;
  Injector injector(name("make and open"),
                    {.act = [&]() -> Status {
                       FRAZIL_TRY(exe, Executable::make(graph_));
                       session = exe->open();
                       return {};
                     },
                     .after =
                         [&](bool done) {
                           std::string wrong = done ? both_requests(*session) : "";
                           session.reset();
                           exe.reset();
                           return wrong;
                         }},
                    true);
  injector.run(Coverage::every_allocation);
}

/// Nothing is prepared or packed, and no other specialisations of the graph exist.
void Pipeline::first_run() {
  find_answers(false);
  std::unique_ptr<Session> session;
  std::vector<Datum> got;
  Injector injector(name("first run"), {.before = [&] { session = made(false)->open(); },
                                        .act = [&] { return session->run(subject_.first, got); },
                                        .after =
                                            [&](bool done) {
                                              std::string wrong = done ? wrong_in(got, first_, kExact) : "";
                                              if (wrong.empty()) wrong = both_requests(*session);
                                              session.reset();
                                              got = {};
                                              return wrong;
                                            }});
  injector.run(Coverage::every_allocation);
}

/// The session has served another request, and its results are passed for reuse.
void Pipeline::later_run() {
  find_answers(false);
  std::unique_ptr<Session> session;
  std::vector<Datum> got;
  const auto before = [&] {
    session = made(false)->open();
    (void)session->run(subject_.first, got);
  };
  const auto after = [&](bool done) {
    std::string wrong = done ? wrong_in(got, second_, kExact) : "";
    // Results of a failed run may be passed for reuse as well.
    if (wrong.empty() && !session->run(subject_.first, got)) wrong = "the next run fails";
    if (wrong.empty()) wrong = wrong_in(got, first_, kExact);
    if (wrong.empty()) wrong = both_requests(*session);
    session.reset();
    got = {};
    return wrong;
  };
  Injector injector(name("later run"),
                    {.before = before, .act = [&] { return session->run(subject_.second, got); }, .after = after});
  injector.run(Coverage::every_allocation);
}

/// It keeps nothing between runs; it allocates more and takes longer, so each place fails once.
void Pipeline::reference_run() {
  find_answers(true);
  std::unique_ptr<Session> session;
  std::vector<Datum> got;
  const auto after = [&](bool done) {
    std::string wrong = done ? wrong_in(got, second_, kExact) : "";
    if (wrong.empty()) wrong = wrong_in(session->run(subject_.second), second_, kExact);
    session.reset();
    got = {};
    return wrong;
  };
  Injector injector(name("run on ref"), {.before = [&] { session = made(true)->open(); },
                                         .act = [&] { return session->run(subject_.second, got); },
                                         .after = after});
  injector.run(Coverage::every_site);
}

TEST_P(Pipeline, FirstRun) { first_run(); }
TEST_P(Pipeline, LaterRun) { later_run(); }
TEST_P(Pipeline, RunOnTheReference) { reference_run(); }

INSTANTIATE_TEST_SUITE_P(Models, Pipeline, ::testing::Values("control flow", "collections", "digits"),
                         [](const auto& c) {
                           std::string text(c.param);
                           std::ranges::replace(text, ' ', '_');
                           return text;
                         });

}  // namespace
}  // namespace frazil::test
