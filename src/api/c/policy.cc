#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <frazil/c_policy.h>
#include <frazil/host_operator.h>
#include <frazil/live.h>
#include <frazil/policy.h>

#include "api/c/handles.h"

struct frazil_verdict {
  std::optional<std::string> reason;
};

struct frazil_file_operators {
  std::vector<frazil::api::UsedOperator> operators;
  std::vector<frazil_file_operator> items{};
};

namespace frazil::api::c {
namespace {

static_assert(static_cast<int>(FileFacts::Kind::package) == FRAZIL_FILE_PACKAGE);
static_assert(static_cast<int>(Change::Kind::roll_back) == FRAZIL_CHANGE_ROLL_BACK);

/// Calls the functions of C.
class CPolicy : public Policy {
 public:
  explicit CPolicy(const frazil_policy& functions) : functions_(functions) {}

  std::optional<std::string> check_file(const FileFacts& facts) override {
    const std::string path(facts.path);
    const frazil_file_facts file{.size = sizeof(frazil_file_facts),
                                 .kind = static_cast<frazil_file_kind>(facts.kind),
                                 .path = path.c_str(),
                                 .content = facts.content.data(),
                                 .bytes = facts.content.size()};
    return ask(functions_.check_file, [&](auto* f, auto* verdict) { f(functions_.context, &file, verdict); });
  }
  std::optional<std::string> check_load(const Model& model) override { return ask_model(functions_.check_load, model); }
  std::optional<std::string> check_run(const Model& model) override { return ask_model(functions_.check_run, model); }
  std::optional<std::string> check_change(const Change& change) override {
    if (functions_.check_change == nullptr) return std::nullopt;
    const frazil_model from(change.from), to(change.to);
    const VersionNote none;
    const VersionNote& note = change.note == nullptr ? none : *change.note;
    const frazil_change made{.size = sizeof(frazil_change),
                             .kind = static_cast<frazil_change_kind>(change.kind),
                             .from = &from,
                             .to = &to,
                             .author = note.author.c_str(),
                             .reason = note.reason.c_str(),
                             .version = change.version};
    return ask(functions_.check_change, [&](auto* f, auto* verdict) { f(functions_.context, &made, verdict); });
  }
  std::optional<std::string> check_dispatch(const Dispatch& call) override {
    if (functions_.check_dispatch == nullptr) return std::nullopt;
    const std::string name(call.name);
    const frazil_model model(call.model);
    return ask(functions_.check_dispatch,
               [&](auto* f, auto* verdict) { f(functions_.context, name.c_str(), call.version, &model, verdict); });
  }
  std::optional<std::string> check_operator(const HostOperator& op) override {
    return ask(functions_.check_operator,
               [&](auto* f, auto* verdict) { f(functions_.context, op.domain.c_str(), op.name.c_str(), verdict); });
  }

 private:
  /// Returns the reason of a refusal by a function; a null function permits.
  template <class Function, class Call>
  static std::optional<std::string> ask(Function* function, const Call& call) {
    if (function == nullptr) return std::nullopt;
    frazil_verdict verdict;
    call(function, &verdict);
    return verdict.reason;
  }
  template <class Function>
  std::optional<std::string> ask_model(Function* function, const Model& of) const {
    if (function == nullptr) return std::nullopt;
    const frazil_model model(of);
    return ask(function, [&](auto* f, auto* verdict) { f(functions_.context, &model, verdict); });
  }

  const frazil_policy functions_;
};

FileFacts facts_of(const frazil_file_facts* given) {
  const frazil_file_facts& file = need(given, "the file");
  check_size(file, sizeof(frazil_file_facts), "frazil_file_facts");
  if (file.kind < FRAZIL_FILE_MODEL || file.kind > FRAZIL_FILE_PACKAGE) {
    refuse("there is no kind of file " + std::to_string(file.kind));
  }
  const auto content = need(static_cast<const std::byte*>(file.content), file.bytes, "the content");
  return {.kind = static_cast<FileFacts::Kind>(file.kind),
          .path = file.path == nullptr ? "" : file.path,
          .content = content};
}

}  // namespace
}  // namespace frazil::api::c

using namespace frazil::api;     // NOLINT(google-build-using-namespace)
using namespace frazil::api::c;  // NOLINT(google-build-using-namespace)

void frazil_verdict_refuse(frazil_verdict* verdict, const char* reason) {
  if (verdict != nullptr) verdict->reason = text_or_none(reason);
}

frazil_code frazil_file_digest(const frazil_file_facts* file, char** digest, frazil_error** error) {
  return guarded(error, [&] {
    char*& to = result(digest);
    to = copy_text(facts_of(file).digest());
  });
}

frazil_code frazil_file_list_operators(const frazil_file_facts* file, frazil_file_operators** list,
                                       const frazil_file_operator** items, size_t* count, frazil_error** error) {
  return guarded(error, [&] {
    frazil_file_operators*& to = result(list);
    const frazil_file_operator*& first = result(items);
    size_t& number = result(count);
    auto made = std::make_unique<frazil_file_operators>(facts_of(file).operators());
    for (const UsedOperator& op : made->operators) {
      made->items.push_back(
          {.domain = op.domain.c_str(), .name = op.name.c_str(), .opset = op.opset, .nodes = op.nodes});
    }
    first = made->items.data();
    number = made->items.size();
    to = made.release();
  });
}

void frazil_file_operators_free(frazil_file_operators* list) { delete list; }

frazil_code frazil_install_policy(const frazil_policy* policy, frazil_error** error) {
  const frazil_code code = guarded(error, [&] {
    const frazil_policy& given = need(policy, "the policy");
    check_size(given, sizeof(frazil_policy), "frazil_policy");
    install_policy(std::make_shared<CPolicy>(given));
  });
  if (code != FRAZIL_OK && policy != nullptr && policy->release != nullptr) policy->release(policy->context);
  return code;
}
