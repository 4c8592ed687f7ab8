#include "perturb.h"

#include <cmath>
#include <cstring>
#include <map>

#include "base/value/float.h"
#include "choices.h"
#include "ir/edit/rebuild.h"
#include "ir/op/define.h"
#include "pass/engine/passes.h"

namespace frazil::fuzz {
namespace {

struct Noise {
  std::uint64_t state = 0;
  double largest = 0;
};
thread_local Noise noise;

/// -1, 0 or 1.
double direction() {
  noise.state = noise.state * 6364136223846793005ull + 1442695040888963407ull;
  return static_cast<double>((noise.state >> 40) % 3) - 1;
}

/// A few units in the last place, relative.
double step_of(Elem elem) {
  switch (elem) {
    case Elem::f64: return 0x1p-48;
    case Elem::f32: return 0x1p-20;
    case Elem::f16: return 0x1p-10;
    case Elem::bf16: return 0x1p-7;
    default: return 0x1p-2;
  }
}

/// The sign of NaN says nothing, but BitCast shows it.
double moved(Elem elem, double value) {
  if (std::isnan(value)) return std::copysign(value, direction() < 0 ? -1 : 1);
  if (std::isfinite(value)) noise.largest = std::max(noise.largest, std::fabs(value));
  return value * (1 + direction() * step_of(elem));
}

Status noise_types(InferCx& cx) {
  cx.out(0, cx.type(0));
  return {};
}

Status noise_run(OpaqueCall& call) {
  const TensorView x = call.in(0);
  FRAZIL_TRY(std::byte* const out, call.out(0, x.sizes));
  for (std::int64_t i = 0; i < x.count(); ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * byte_size(x.elem);
    if (x.elem == Elem::f64) {
      double value;
      std::memcpy(&value, x.data + at, 8);
      value = moved(x.elem, value);
      std::memcpy(out + at, &value, 8);
    } else if (x.elem == Elem::f32) {
      float value;
      std::memcpy(&value, x.data + at, 4);
      value = static_cast<float>(moved(x.elem, value));
      std::memcpy(out + at, &value, 4);
    } else {
      float value;
      to_f32(x.elem, x.data + at, &value, 1);
      value = static_cast<float>(moved(x.elem, value));
      from_f32(x.elem, &value, out + at, 1);
    }
  }
  return {};
}

constexpr std::array<Port, 1> kAny{{{"X", "", 0}}};
constexpr auto kNoise =
    opaque({"Noise", 1, "Rounding noise.", "fuzz"}, {kAny, kAny}, noise_types, noise_run, "a tool of a test");

bool is_exact(ScalarOp op) {
  switch (op) {
    case ScalarOp::load:
    case ScalarOp::constant:
    case ScalarOp::neg:
    case ScalarOp::abs:
    case ScalarOp::sign:
    case ScalarOp::floor:
    case ScalarOp::ceil:
    case ScalarOp::round:
    case ScalarOp::trunc:
    case ScalarOp::min:
    case ScalarOp::max:
    case ScalarOp::lnot:
    case ScalarOp::land:
    case ScalarOp::lor:
    case ScalarOp::lxor:
    case ScalarOp::lt:
    case ScalarOp::le:
    case ScalarOp::eq:
    case ScalarOp::isnan:
    case ScalarOp::isinf:
    case ScalarOp::select: return true;
    default: return false;
  }
}
bool is_rounded_once(ScalarOp op) {
  return op == ScalarOp::add || op == ScalarOp::sub || op == ScalarOp::mul || op == ScalarOp::div ||
         op == ScalarOp::cast || op == ScalarOp::sqrt;
}

template <class Is>
bool any_elem(const Graph& graph, const Node& node, Is is) {
  const auto found = [&](Value v) { return v && graph.type(v).is_tensor() && is(graph.type(v).elem); };
  return std::ranges::any_of(node.in, found) || std::ranges::any_of(node.out, found);
}
bool any_small(const Graph& graph, const Node& node) { return any_elem(graph, node, is_small_float); }
bool any_text(const Graph& graph, const Node& node) {
  return any_elem(graph, node, [](Elem e) { return e == Elem::string; });
}

/// Whether all executors must give the same bits.
bool is_exact(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.out[0] || any_text(graph, node)) return true;
  int rounded = any_small(graph, node) ? 1 : 0;
  for (const ScalarIns& ins : tape_of(graph, id).code) {
    if (is_exact(ins.op) || !is_float(ins.type)) continue;
    rounded += is_rounded_once(ins.op) ? 1 : 2;
  }
  return rounded <= 1;
}

bool adds_up(const Graph& graph, NodeId id) {
  const auto& space = graph.node(id).space;
  return space && std::ranges::any_of(space->folds, [](Fold f) { return f == Fold::sum || f == Fold::prod; });
}

bool is_inexact(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const auto unranked = [&](Value v) { return v && graph.type(v).is_tensor() && !graph.type(v).ranked; };
  if (std::ranges::any_of(node.in, unranked)) return true;
  if (std::holds_alternative<Elementwise>(node.op->form)) return !is_exact(graph, id);
  if (std::holds_alternative<Contraction>(node.op->form)) return adds_up(graph, id) || !is_exact(graph, id);
  return false;
}

Result<Value> with_noise(Builder& to, Value v) {
  if (!v) return v;
  const Type& type = to.graph().type(v);
  if (!type.is_tensor() || !is_float(type.elem)) return v;
  FRAZIL_TRY(const NodeId made, to.append(kNoise, {v}, nullptr, {true}, ""));
  return to.graph().node(made).out[0];
}

/// Part of an elementwise body.
struct Part {
  static constexpr std::span<const AttrField> fields{};
  ScalarTape tape;
  Elem result = Elem::f32;
};

Sx replay(std::span<const Sx> operands, const void* attrs) {
  ScalarRecorder& rec = *operands[0].rec;
  std::vector<Sx> made;
  for (const ScalarIns& ins : static_cast<const Part*>(attrs)->tape.code) {
    const auto record = [&]() -> Sx {
      switch (ins.op) {
        case ScalarOp::load: return operands[ins.operand];
        case ScalarOp::constant:
          return is_float(ins.type) ? rec.constant(ins.type, ins.real) : rec.constant_int(ins.type, ins.integer);
        case ScalarOp::cast: return rec.cast(made[ins.a], ins.type);
        case ScalarOp::select: return rec.select(made[ins.a], made[ins.b], made[ins.c]);
        default:
          return arity(ins.op) == 1 ? rec.apply(ins.op, made[ins.a]) : rec.apply(ins.op, made[ins.a], made[ins.b]);
      }
    };
    made.push_back(record());
  }
  return made.back();
}

Elem part_result(const void* attrs, std::span<const Elem>) { return static_cast<const Part*>(attrs)->result; }

constexpr std::array<Port, 1> kOperands{{{"X", "", elems::kTensor, Port::Use::variadic}}};
constexpr OpDef kPart{
    "Part", "fuzz", 1, "Part of a body.", attr_table<Part>(), kOperands, kAny, Elementwise{&replay, &part_result}};

/// Takes a body apart behind what executors compute differently, so that noise can come between.
class BodyParts {
 public:
  BodyParts(Builder& to, ScalarTape tape, std::vector<Value> operands)
      : to_(to), tape_(std::move(tape)), operands_(std::move(operands)), made_(tape_.code.size()) {}

  Result<Value> value(Elem result) {
    for (std::size_t i = 0; i + 1 < tape_.code.size(); ++i) {
      const ScalarIns& ins = tape_.code[i];
      if (!is_float(ins.type) || is_exact(ins.op) || is_rounded_once(ins.op)) continue;
      FRAZIL_TRY(const Value part, append(i, ins.type));
      FRAZIL_TRY(made_[i], with_noise(to_, part));
    }
    return append(tape_.code.size() - 1, result);
  }

 private:
  /// A node for what instruction i gives.
  Result<Value> append(std::size_t i, Elem result) {
    loads_ = operands_;
    Part part{.tape = {}, .result = result};
    std::map<std::size_t, std::uint32_t> at;
    record(i, part.tape, at);
    FRAZIL_TRY(const NodeId node, to_.append(kPart, loads_, shared_attrs(std::move(part)), {true}, ""));
    return to_.graph().node(node).out[0];
  }

  std::uint32_t record(std::size_t i, ScalarTape& tape, std::map<std::size_t, std::uint32_t>& at) {
    if (const auto it = at.find(i); it != at.end()) return it->second;
    ScalarIns ins = tape_.code[i];
    if (made_[i]) {
      loads_.push_back(made_[i]);
      ins = {.op = ScalarOp::load, .type = ins.type, .operand = static_cast<std::uint32_t>(loads_.size() - 1)};
    } else {
      if (arity(ins.op) > 0) ins.a = record(ins.a, tape, at);
      if (arity(ins.op) > 1) ins.b = record(ins.b, tape, at);
      if (arity(ins.op) > 2) ins.c = record(ins.c, tape, at);
    }
    tape.code.push_back(ins);
    return at[i] = static_cast<std::uint32_t>(tape.code.size() - 1);
  }

  Builder& to_;
  ScalarTape tape_;
  std::vector<Value> operands_;
  std::vector<Value> made_;   ///< per instruction
  std::vector<Value> loads_;  ///< of the part that is made: all operands, for its shape, then parts
};

class AddNoise : public Rewriter {
 public:
  Result<std::optional<std::vector<Value>>> rewrite(const Graph& from, NodeId id, Builder& to,
                                                    std::span<const Value> inputs) override {
    if (!is_inexact(from, id)) return std::nullopt;
    const Node& node = from.node(id);
    std::vector<Value> in;
    for (Value v : inputs) {
      FRAZIL_TRY(const Value noisy, with_noise(to, v));
      in.push_back(noisy);
    }
    if (std::holds_alternative<Elementwise>(node.op->form) && !any_text(from, node)) {
      std::erase(in, Value{});
      FRAZIL_TRY(Value out, BodyParts(to, tape_of(from, id), std::move(in)).value(from.type(node.out[0]).elem));
      FRAZIL_TRY(out, with_noise(to, out));
      return std::optional(std::vector{out});
    }
    std::vector<bool> wanted;
    for (Value v : node.out) wanted.push_back(static_cast<bool>(v));
    FRAZIL_TRY(const NodeId made, to.append(*node.op, std::move(in), node.attrs, wanted, node.name));
    std::vector<Value> out = to.graph().node(made).out;
    for (Value& v : out) {
      FRAZIL_TRY(v, with_noise(to, v));
    }
    return std::optional(std::move(out));
  }
};

}  // namespace

Result<Graph> with_rounding_noise(const Graph& graph) {
  FRAZIL_TRY(const Graph plain,
             pass::run_passes(graph, {PassSet::none(), 0, [](const Graph&, NodeId) { return false; }}));
  AddNoise rewriter;
  return rebuild(plain, rewriter);
}

void seed_noise(std::uint64_t seed) { noise = {seed * 0x9e3779b97f4a7c15ull + 1, 0}; }
double largest_seen() { return noise.largest; }

}  // namespace frazil::fuzz
