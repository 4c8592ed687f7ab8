#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "exec/run/session.h"
#include "onnx/import/import.h"
#include "ops/core/registry.h"
#include "paths.h"
#include "suite/share_steps.h"
#include "tensor/compare.h"
#include "tensor/onnx_proto.h"

// ONNX's own test cases: folders with model.onnx and test_data_set_*.
namespace frazil::test {

using exec::Executable;
using exec::Session;

#define FRAZIL_NEEDS(path) \
  if (!std::filesystem::exists(path)) GTEST_SKIP() << kNoShared

/// ONNX's node cases of another release, from Debian's libonnx-testdata.
inline const std::filesystem::path kDebianCases = "/usr/share/libonnx-testdata/data/node";

/// The folder of ONNX's node cases: outside the repository, or Debian's; empty if neither exists.
inline std::filesystem::path node_cases() {
  const std::filesystem::path own = shared_dir() / "onnx-tests" / "node";
  if (std::filesystem::exists(own)) return own;
  return std::filesystem::exists(kDebianCases) ? kDebianCases : std::filesystem::path();
}

/// The files `stem`_0.pb, `stem`_1.pb, ... of a data set.
inline Result<std::vector<Datum>> read_set(const std::filesystem::path& set, std::string_view stem, const Graph& graph,
                                           const std::vector<Value>& declared) {
  std::vector<Datum> values;
  for (const Value v : declared) {
    const auto path = set / fmt::format("{}_{}.pb", stem, values.size());
    if (!std::filesystem::exists(path)) break;
    const Type& type = graph.type(v);
    auto value = read_pb(path, proto_kind(type));
    // A present optional may be stored as its value.
    if (!value && type.kind == Type::Kind::optional) value = read_pb(path, proto_kind(*type.item));
    if (!value) return std::unexpected(value.error());
    values.push_back(std::move(*value));
  }
  return values;
}

inline Status run_data_set(Session& session, const Graph& graph, const std::filesystem::path& set) {
  FRAZIL_TRY(const auto inputs, read_set(set, "input", graph, graph.main().params));
  FRAZIL_TRY(const auto wanted, read_set(set, "output", graph, graph.main().results));
  FRAZIL_TRY(const auto got, session.run(inputs));
  if (wanted.size() != got.size()) return fail(Code::bad_input, "{} outputs, not {}", got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto what = difference(got[i], wanted[i]);
    if (what) return fail(Code::bad_input, "output '{}': {}", graph.output_names()[i], *what);
  }
  return {};
}

/// Runs every data set of a case through the graph and compares with the stored outputs.
inline Status run_data_sets(const std::filesystem::path& folder, const std::shared_ptr<const Graph>& graph,
                            exec::Options options) {
  FRAZIL_TRY(const auto executable, Executable::make(graph, options));
  const auto session = executable->open();
  share_steps(*session);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with("test_data_set_")) continue;
    if (Status status = run_data_set(*session, *graph, entry.path()); !status) return status;
  }
  return {};
}

}  // namespace frazil::test
