#include "ops/generic/generic.h"

#include <algorithm>

#include "base/value/text.h"
#include "ir/text/scalar_text.h"
#include "ops/core/rules.h"

namespace frazil::ops {
namespace {

/// A builder of a Space from the attributes of a Generic.
class SpaceReader {
 public:
  SpaceReader(InferCx& cx, Space& space) : cx_(cx), attrs_(cx.attrs<GenericAttrs>()), space_(space) {}

  Status run() {
    FRAZIL_CHECK(check_sizes());
    FRAZIL_CHECK(declare());
    FRAZIL_CHECK(mark_reduced());
    FRAZIL_CHECK(read_all());
    FRAZIL_CHECK(bind_extents());
    FRAZIL_CHECK(write());
    FRAZIL_CHECK(program());
    return require(cx_, attrs_.checks);
  }

 private:
  template <class... A>
  std::unexpected<Fault> bad(std::string_view what, fmt::format_string<A...> format, A&&... args) {
    return cx_.error("attribute '{}': {}", what, fmt::format(format, std::forward<A>(args)...));
  }

  Status check_sizes() {
    if (cx_.input_count() == 0) return cx_.error("input 'inputs' is missing");
    if (cx_.input_count() > kMaxGenericOperands) {
      return cx_.error("{} inputs, at most {} are taken", cx_.input_count(), kMaxGenericOperands);
    }
    if (attrs_.reads.size() != cx_.input_count()) {
      return bad("reads", "{} entries for {} inputs", attrs_.reads.size(), cx_.input_count());
    }
    if (attrs_.space.size() > kMaxGenericAxes) {
      return bad("space", "{} axes, at most {} are taken", attrs_.space.size(), kMaxGenericAxes);
    }
    return {};
  }

  Status declare() {
    for (std::size_t a = 0; a < attrs_.space.size(); ++a) {
      const AxisDecl& axis = attrs_.space[a];
      const std::string what = fmt::format("space[{}]", a);
      if (find(axis.name)) return bad(what, "axis '{}' is declared twice", axis.name);
      Dim extent = 0;
      bound_.push_back(axis.extent.has_value());
      if (axis.extent) {
        FRAZIL_TRY(extent, axis.extent->infer(cx_, what));
        FRAZIL_CHECK(require_at_least(cx_, extent, 0, fmt::format("the extent of axis '{}'", axis.name)));
      }
      space_.axes.push_back({extent, false});
    }
    return {};
  }

  std::optional<std::size_t> find(std::string_view name) const {
    const auto declared = std::span(attrs_.space).first(space_.axes.size());
    const auto at = std::ranges::find(declared, name, &AxisDecl::name);
    if (at == declared.end()) return std::nullopt;
    return static_cast<std::size_t>(at - declared.begin());
  }

  Status mark_reduced() {
    for (const std::string& name : attrs_.reduce) {
      const auto axis = find(name);
      if (!axis) return bad("reduce", "there is no axis '{}'", printable(name, 60));
      space_.axes[*axis].reduced = true;
    }
    return {};
  }

  Status read_all() {
    for (std::size_t k = 0; k < attrs_.reads.size(); ++k) {
      space_.reads.emplace_back();
      const auto& indices = attrs_.reads[k].indices;
      if (!indices) continue;
      const std::string what = fmt::format("reads[{}]", k);
      if (indices->size() != cx_.rank(k)) {
        return bad(what, "{} indices for {} axes of {}", indices->size(), cx_.rank(k), cx_.type_str(k));
      }
      for (const IndexExpr& index : *indices) {
        FRAZIL_TRY(Ix ix, affine(index, what));
        space_.reads[k].push_back(std::move(ix));
      }
    }
    return {};
  }

  Result<Ix> affine(const IndexExpr& index, std::string_view what) {
    Scope& s = cx_.scope();
    Ix ix;
    for (const IndexTerm& term : index.terms) {
      FRAZIL_TRY(Dim factor, term.factor.infer(cx_, what));
      if (term.negative) factor = s.mul(factor, -1);
      if (term.axis.empty()) {
        ix.offset = s.add(ix.offset, factor);
        continue;
      }
      const auto axis = find(term.axis);
      if (!axis) return bad(what, "there is no axis '{}'", term.axis);
      ix.terms.emplace_back(static_cast<int>(*axis), factor);
    }
    return ix;
  }

  /// Infers the extents of axes without an expression. Such an axis has the extent of the operand axes that it indexes
  /// alone, which must all be equal.
  Status bind_extents() {
    for (std::size_t k = 0; k < space_.reads.size(); ++k) {
      for (std::size_t d = 0; d < space_.reads[k].size(); ++d) {
        const Ix& ix = space_.reads[k][d];
        const bool plain = ix.offset == Dim(0) && ix.terms.size() == 1 && ix.terms[0].second == Dim(1);
        if (!plain || (bound_[axis_of(ix)] && !inferred(axis_of(ix)))) continue;
        FRAZIL_CHECK(bind(axis_of(ix), cx_.shape(k)[d]));
      }
    }
    for (std::size_t a = 0; a < bound_.size(); ++a) {
      if (!bound_[a]) {
        return bad("space", "no operand gives the extent of axis '{0}': write '{0} = ...'", attrs_.space[a].name);
      }
    }
    return {};
  }

  static std::size_t axis_of(const Ix& ix) { return static_cast<std::size_t>(ix.terms[0].first); }
  bool inferred(std::size_t axis) const { return !attrs_.space[axis].extent; }

  Status bind(std::size_t axis, Dim extent) {
    if (bound_[axis]) {
      FRAZIL_TRY(extent, cx_.require_equal(space_.axes[axis].extent, extent,
                                           fmt::format("extents of axis '{}'", attrs_.space[axis].name)));
    }
    bound_[axis] = true;
    space_.axes[axis].extent = extent;
    return {};
  }

  Status write() {
    for (const std::string& name : attrs_.write.names) {
      if (name == "_") {
        space_.write.push_back(-1);
        continue;
      }
      const auto axis = find(name);
      if (!axis) return bad("write", "there is no axis '{}'", name);
      if (space_.axes[*axis].reduced) return bad("write", "axis '{}' is folded", name);
      if (std::ranges::find(space_.write, static_cast<int>(*axis)) != space_.write.end()) {
        return bad("write", "axis '{}' stands there twice", name);
      }
      space_.write.push_back(static_cast<int>(*axis));
    }
    for (std::size_t a = 0; a < attrs_.space.size(); ++a) {
      const bool written = std::ranges::find(space_.write, static_cast<int>(a)) != space_.write.end();
      if (!space_.axes[a].reduced && !written) {
        return bad("write", "axis '{}' is neither there nor folded", attrs_.space[a].name);
      }
    }
    return {};
  }

  Status program() {
    std::vector<Elem> elems;
    for (std::size_t k = 0; k < cx_.input_count(); ++k) elems.push_back(cx_.elem(k));
    const ScalarTape& tape = attrs_.body.tape;
    if (const Status good = check(tape, elems); !good) return bad("body", "{}", good.error().text());
    for (const ScalarIns& ins : tape.code) {
      if (ins.op == ScalarOp::load && !attrs_.reads[ins.operand].indices) {
        return bad("body", "operand {} is loaded, but not read", ins.operand);
      }
    }
    return set_fold(tape.code.back().type);
  }

  Status set_fold(Elem value) {
    const Fold fold = attrs_.fold.value;
    if (attrs_.last != 0 && attrs_.last != 1) return bad("last", "{} is neither 0 nor 1", attrs_.last);
    const bool folds = !attrs_.reduce.empty();
    space_.folds = {folds ? fold : Fold::only};
    const bool truth = fold == Fold::any || fold == Fold::all, places = is_place(fold);
    if (folds && truth != (value == Elem::boolean)) {
      return bad("fold", "{} of {}", attrs_.fold.name(), name_of(value));
    }
    if (folds && is_complex(value) && fold != Fold::sum && fold != Fold::prod) {
      return bad("fold", "{} of {}", attrs_.fold.name(), name_of(value));
    }
    if (folds && places) {
      if (attrs_.report.terms.empty()) return bad("report", "{} needs an index to report", attrs_.fold.name());
      space_.last_wins = attrs_.last == 1;
      FRAZIL_TRY(space_.report, affine(attrs_.report, "report"));
    }
    return check_result(folds && places ? Elem::i64 : value);
  }

  Status check_result(Elem value) {
    if (!attrs_.to || compute_elem(*attrs_.to) == value) return {};
    return bad("to", "a body of {} does not give {}", name_of(value), name_of(*attrs_.to));
  }

  InferCx& cx_;
  const GenericAttrs& attrs_;
  Space& space_;
  std::vector<bool> bound_;
};

}  // namespace

Status generic_space(InferCx& cx, Space& space) { return SpaceReader(cx, space).run(); }

namespace {

/// Records the tape again on `operands`.
Sx replay(const ScalarTape& tape, std::span<const Sx> operands) {
  ScalarRecorder& rec = *operands[0].rec;
  std::vector<Sx> done;
  for (const ScalarIns& ins : tape.code) {
    const auto at = [&](std::uint32_t i) { return done[i]; };
    switch (ins.op) {
      case ScalarOp::load: done.push_back(operands[ins.operand]); break;
      case ScalarOp::constant:
        done.push_back(is_float(ins.type) ? rec.constant(ins.type, ins.real) : rec.constant_int(ins.type, ins.integer));
        break;
      case ScalarOp::cast: done.push_back(rec.cast(at(ins.a), ins.type)); break;
      case ScalarOp::select: done.push_back(rec.select(at(ins.a), at(ins.b), at(ins.c))); break;
      default:
        done.push_back(arity(ins.op) == 1 ? rec.apply(ins.op, at(ins.a)) : rec.apply(ins.op, at(ins.a), at(ins.b)));
    }
  }
  return done.back();
}

/// Records the body on `operands`. The type rule has rejected an invalid body, so the result for it is never run.
Sx recorded(const ScalarBody& body, std::span<const Sx> operands) {
  return body.tape.code.empty() ? operands[0] : replay(body.tape, operands);
}

/// Returns `to`, or the type of the last instruction.
Elem body_elem(const ScalarBody& body, std::optional<Elem> to, std::span<const Elem> inputs) {
  if (to) return *to;
  if (!body.tape.code.empty()) return body.tape.code.back().type;
  return inputs.empty() ? Elem::f32 : inputs[0];
}

}  // namespace

Sx generic_body(std::span<const Sx> operands, const void* attrs) {
  return recorded(static_cast<const GenericAttrs*>(attrs)->body, operands);
}

Elem generic_elem(const void* attrs, std::span<const Elem> inputs) {
  const auto& a = *static_cast<const GenericAttrs*>(attrs);
  return !a.reduce.empty() && is_place(a.fold.value) ? Elem::i64 : body_elem(a.body, a.to, inputs);
}

Sx generic_map_body(std::span<const Sx> operands, const void* attrs) {
  return recorded(static_cast<const GenericMapAttrs*>(attrs)->body, operands);
}

Elem generic_map_elem(const void* attrs, std::span<const Elem> inputs) {
  const auto& a = *static_cast<const GenericMapAttrs*>(attrs);
  return body_elem(a.body, a.to, inputs);
}

Status generic_map_fits(const void* attrs, std::span<const Elem> inputs) {
  const auto& a = *static_cast<const GenericMapAttrs*>(attrs);
  if (inputs.empty() || inputs.size() > kMaxGenericOperands) {
    return fail(Code::bad_model, "{} inputs, it takes 1 to {}", inputs.size(), kMaxGenericOperands);
  }
  if (const Status good = check(a.body.tape, inputs); !good) {
    return fail(Code::bad_model, "attribute 'body': {}", good.error().text());
  }
  const Elem gives = a.body.tape.code.back().type;
  if (!a.to || compute_elem(*a.to) == gives) return {};
  return fail(Code::bad_model, "attribute 'to': a body of {} does not give {}", name_of(gives), name_of(*a.to));
}

// ---- Extents ----

namespace {

/// Returns the element type of the result. Checks that there is one value for each element.
Result<Elem> extents_elem(InferCx& cx, const ExtentsAttrs& a) {
  const bool whole = contains(elems::kInt, a.to) || a.to == Elem::boolean;
  if (!whole) return cx.error("attribute 'to': {} is not an integer type or bool", name_of(a.to));
  std::int64_t count = 1;
  for (std::size_t i = 0; i < a.sizes.size(); ++i) {
    const std::int64_t n = a.sizes[i];
    if (n < 0 || n > Dim::kMax) return cx.error("attribute 'sizes[{}]': {} is not an extent", i, n);
    if (__builtin_mul_overflow(count, n, &count)) return cx.error("attribute 'sizes': too many elements");
  }
  if (static_cast<std::size_t>(count) == a.values.size()) return a.to;
  return cx.error("attribute 'values': {} entries for {} elements", a.values.size(), count);
}

template <class T>
void put(std::byte* out, std::size_t i, std::int64_t value) {
  reinterpret_cast<T*>(out)[i] = static_cast<T>(value);
}

void put_number(Elem elem, std::byte* out, std::size_t i, std::int64_t value) {
  if (elem == Elem::boolean) return put<std::uint8_t>(out, i, value != 0);
  switch (byte_size(elem)) {
    case 1: return put<std::int8_t>(out, i, value);
    case 2: return put<std::int16_t>(out, i, value);
    case 4: return put<std::int32_t>(out, i, value);
    default: return put<std::int64_t>(out, i, value);
  }
}

}  // namespace

Status extents_types(InferCx& cx) {
  const auto& a = cx.attrs<ExtentsAttrs>();
  FRAZIL_TRY(const Elem elem, extents_elem(cx, a));
  std::vector<Dim> known;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    FRAZIL_TRY(const Dim d, a.values[i].infer(cx, fmt::format("values[{}]", i)));
    known.push_back(d);
  }
  cx.out(0, Type::tensor(elem, Shape(a.sizes.begin(), a.sizes.end())));
  // Other types may not be able to represent the numbers.
  if (elem == Elem::i64) cx.out_known_value(0, std::move(known));
  return {};
}

Status extents_run(OpaqueCall& call) {
  const auto& a = call.attrs<ExtentsAttrs>();
  FRAZIL_TRY(std::byte* const out, call.out(0, a.sizes));
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    FRAZIL_TRY(const std::int64_t value, a.values[i].eval(call, fmt::format("values[{}]", i)));
    put_number(call.out_elem(0), out, i, value);
  }
  return {};
}

}  // namespace frazil::ops
