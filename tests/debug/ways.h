#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "debug/debugger.h"
#include "ir/text/text.h"
#include "ops/core/registry.h"
#include "pass/engine/passes.h"

namespace frazil::test {

inline std::shared_ptr<const Graph> parsed(std::string_view text) {
  link_operators();
  auto graph = parse(text);
  if (!graph) throw std::runtime_error(graph.error().text());
  return std::make_shared<const Graph>(std::move(*graph));
}

/// Values in the order of the graph's inputs.
inline std::vector<Datum> inputs(std::string_view bindings) {
  auto bound = parse_bindings(bindings);
  if (!bound) throw std::runtime_error(bound.error().text());
  std::vector<Datum> values;
  for (auto& [name, value] : *bound) values.push_back(std::move(value));
  return values;
}

inline debug::Backend ways(bool reference = false) {
  return {[reference](std::shared_ptr<const Graph> graph) {
            return exec::Executable::make(std::move(graph), {.reference = reference});
          },
          [](exec::Executable& executable) { return executable.open(); }};
}

inline std::string text_of(const Datum& value) {
  if (!value.is_tensor()) return "no tensor";
  const auto packed = value.tensor().packed();
  return packed ? literal(*packed) : packed.error().text();
}

}  // namespace frazil::test
