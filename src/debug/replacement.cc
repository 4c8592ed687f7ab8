#include "debug/replacement.h"

#include <cstring>

#include "base/limits/execution_limits.h"
#include "ir/edit/patch.h"
#include "ir/infer/infer.h"
#include "ir/op/op.h"
#include "ir/op/opaque.h"

namespace frazil::debug {
namespace {

struct ReplaceAttrs {
  std::shared_ptr<Replacement> with;
};

Status types(InferCx& cx) {
  cx.out(0, cx.type(0));
  return {};
}

Status hand_on(OpaqueCall& call, const Datum& value) {
  if (!value.is_tensor()) return call.put(0, value);
  FRAZIL_TRY(const Tensor tensor, value.tensor().packed());
  FRAZIL_TRY(std::byte* const to, call.out(0, tensor.sizes()));
  if (tensor.elem() == Elem::string) {
    auto* text = reinterpret_cast<std::string*>(to);
    for (const std::string& from : tensor.as<std::string>()) assign_text(*text++, from);
  } else if (tensor.bytes() != 0) {
    std::memcpy(to, tensor.data(), tensor.bytes());
  }
  return {};
}

Status replace(OpaqueCall& call) {
  Replacement& with = *call.attrs<ReplaceAttrs>().with;
  const auto at = with.by_count.find(++with.count);
  return hand_on(call, at == with.by_count.end() ? call.datum(0) : at->second);
}

const OpDef& definition() {
  static constexpr Port kIn[] = {{.name = "value", .var = {}}};
  static constexpr Port kOut[] = {{.name = "replaced", .var = {}}};
  static const OpDef def{
      .name = "Replace",
      .domain = "frazil.debug",
      .doc = "Hands a value on, or what a debugger puts in its place.",
      .attrs = {{},
                [] { return std::shared_ptr<void>(std::make_shared<ReplaceAttrs>()); },
                [](const void* p) {
                  return std::shared_ptr<void>(std::make_shared<ReplaceAttrs>(*static_cast<const ReplaceAttrs*>(p)));
                }},
      .inputs = kIn,
      .outputs = kOut,
      .form = Opaque{types, replace, "its result depends on what is asked for"},
      .stateful = true};
  return def;
}

}  // namespace

Result<Graph> with_replacements(const Graph& graph,
                                std::span<const std::pair<Value, std::shared_ptr<Replacement>>> replacements) {
  Patch patch(graph, "values replaced by the debugger");
  for (const auto& [value, with] : replacements) {
    const Expr old = patch.tap(value);
    auto attrs = std::make_shared<ReplaceAttrs>();
    attrs->with = with;
    const Expr next = patch.build().add(definition(), std::span(&old, 1), std::move(attrs))[0];
    FRAZIL_CHECK(patch.status());
    patch.build().name_value(next.value, with->name);
    patch.replace(value, next);
  }
  return std::move(patch).commit();
}

}  // namespace frazil::debug
