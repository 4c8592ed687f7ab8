#include "ops/generic/generic.h"

#include <algorithm>
#include <charconv>

#include "base/value/text.h"
#include "ir/text/scalar_text.h"
#include "ops/core/rules.h"
#include "ops/generic/extent_text.h"
#include "tensor/onnx_proto.h"

namespace frazil::ops {
namespace {

std::optional<Fold> fold_from_name(std::string_view name) {
  const auto at = std::ranges::find(kFoldNames, name);
  return at == kFoldNames.end() ? std::nullopt : std::optional(static_cast<Fold>(at - kFoldNames.begin()));
}

bool is_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto fits = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  return !text.empty() && letter(text[0]) && text != "_" && std::ranges::all_of(text, fits);
}

/// Returns the parts between commas outside of braces. An empty text has no parts.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  if (trimmed(text).empty()) return parts;
  int open = 0;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size()) open += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    if (i < text.size() && (text[i] != ',' || open > 0)) continue;
    parts.push_back(trimmed(text.substr(from, i - from)));
    from = i + 1;
  }
  return parts;
}

/// Checks the body. An error names the attribute and the instruction.
Status checked_body(const Strings& body, std::span<const Elem> operands) {
  if (body.size() > kMaxGenericInstructions) {
    return fail(Code::bad_model, "attribute 'body': {} instructions, at most {} are taken", body.size(),
                kMaxGenericInstructions);
  }
  const auto tape = parse_tape(body);
  const Status good = tape ? check(*tape, operands) : std::unexpected(tape.error());
  return good ? Status{} : fail(Code::bad_model, "attribute 'body': {}", good.error().message);
}

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
    return read_checks(cx_, attrs_.checks);
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
      const std::string what = fmt::format("space[{}]", a);
      const std::string_view text = attrs_.space[a];
      const std::size_t equal = text.find('=');
      const std::string_view name = trimmed(text.substr(0, equal));
      if (!is_name(name)) return bad(what, "'{}' is no name of an axis", printable(name, 60));
      if (find(name)) return bad(what, "axis '{}' is declared twice", name);
      names_.push_back(name);
      Dim extent = 0;
      bound_.push_back(equal != text.npos);
      if (bound_.back()) {
        FRAZIL_TRY(extent, read_extent(cx_, text.substr(equal + 1), what));
        FRAZIL_CHECK(require_at_least(cx_, extent, 0, fmt::format("the extent of axis '{}'", name)));
      }
      space_.axes.push_back({extent, false});
    }
    return {};
  }

  std::optional<std::size_t> find(std::string_view name) const {
    const auto at = std::ranges::find(names_, name);
    if (at == names_.end()) return std::nullopt;
    return static_cast<std::size_t>(at - names_.begin());
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
      if (trimmed(attrs_.reads[k]) == "-") continue;
      const std::string what = fmt::format("reads[{}]", k);
      const auto parts = parts_of(attrs_.reads[k]);
      if (parts.size() != cx_.rank(k)) {
        return bad(what, "{} indices for {} axes of {}", parts.size(), cx_.rank(k), cx_.type_str(k));
      }
      for (std::string_view part : parts) {
        FRAZIL_TRY(Ix ix, index(part, what));
        space_.reads[k].push_back(std::move(ix));
      }
    }
    return {};
  }

  /// Parses an index such as "2*i + j - 1": terms with signs between them.
  Result<Ix> index(std::string_view text, std::string_view what) {
    Ix ix;
    bool first = true;
    while (!text.empty() || first) {
      bool negative = false;
      if (text.starts_with('-') || (!first && text.starts_with('+'))) {
        negative = text[0] == '-';
        text = trimmed(text.substr(1));
      } else if (!first) {
        return bad(what, "expected '+' or '-' at '{}'", printable(text, 60));
      }
      FRAZIL_CHECK(term(text, negative, ix, what));
      first = false;
    }
    return ix;
  }

  /// Parses and removes one term at the start of `text`: a number, an axis, or the product of both.
  Status term(std::string_view& text, bool negative, Ix& ix, std::string_view what) {
    Dim factor = 1;
    FRAZIL_TRY(const bool number, take_number(text, factor, what));
    if (negative) factor = cx_.scope().mul(factor, -1);
    if (number && !text.starts_with('*')) {
      ix.offset = cx_.scope().add(ix.offset, factor);
      return {};
    }
    if (number) text = trimmed(text.substr(1));
    const std::size_t end = std::min(text.find_first_of(" +-*,{}"), text.size());
    const std::string_view name = text.substr(0, end);
    const auto axis = find(name);
    if (!axis) return bad(what, "there is no axis '{}'", printable(name, 60));
    ix.terms.emplace_back(static_cast<int>(*axis), factor);
    text = trimmed(text.substr(end));
    return {};
  }

  /// Parses a number: digits, or an expression in braces.
  Result<bool> take_number(std::string_view& text, Dim& number, std::string_view what) {
    if (text.starts_with('{')) {
      const std::size_t close = text.find('}');
      if (close == text.npos) return bad(what, "a '{{' without '}}'");
      FRAZIL_TRY(number, read_extent(cx_, text.substr(1, close - 1), what));
      text = trimmed(text.substr(close + 1));
      return true;
    }
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::invalid_argument || text.starts_with('-')) return false;
    if (error != std::errc{} || value > Dim::kMax) return bad(what, "a number out of range");
    number = value;
    text = trimmed(text.substr(static_cast<std::size_t>(next - text.data())));
    return true;
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
      if (!bound_[a])
        return bad("space", "no operand gives the extent of axis '{}': write '{} = ...'", names_[a], names_[a]);
    }
    return {};
  }

  static std::size_t axis_of(const Ix& ix) { return static_cast<std::size_t>(ix.terms[0].first); }
  bool inferred(std::size_t axis) const { return attrs_.space[axis].find('=') == std::string::npos; }

  Status bind(std::size_t axis, Dim extent) {
    if (bound_[axis]) {
      FRAZIL_TRY(extent, cx_.require_equal(space_.axes[axis].extent, extent,
                                           fmt::format("extents of axis '{}'", names_[axis])));
    }
    bound_[axis] = true;
    space_.axes[axis].extent = extent;
    return {};
  }

  Status write() {
    for (std::string_view name : parts_of(attrs_.write)) {
      if (name == "_") {
        space_.write.push_back(-1);
        continue;
      }
      const auto axis = find(name);
      if (!axis) return bad("write", "there is no axis '{}'", printable(name, 60));
      if (space_.axes[*axis].reduced) return bad("write", "axis '{}' is folded", name);
      if (std::ranges::find(space_.write, static_cast<int>(*axis)) != space_.write.end()) {
        return bad("write", "axis '{}' stands there twice", name);
      }
      space_.write.push_back(static_cast<int>(*axis));
    }
    for (std::size_t a = 0; a < names_.size(); ++a) {
      const bool written = std::ranges::find(space_.write, static_cast<int>(a)) != space_.write.end();
      if (!space_.axes[a].reduced && !written) return bad("write", "axis '{}' is neither there nor folded", names_[a]);
    }
    return {};
  }

  Status program() {
    std::vector<Elem> elems;
    for (std::size_t k = 0; k < cx_.input_count(); ++k) elems.push_back(cx_.elem(k));
    if (Status s = checked_body(attrs_.body, elems); !s) return cx_.error("{}", s.error().message);
    const auto tape = parse_tape(attrs_.body);
    for (const ScalarIns& ins : tape->code) {
      if (ins.op == ScalarOp::load && trimmed(attrs_.reads[ins.operand]) == "-") {
        return bad("body", "operand {} is loaded, but not read", ins.operand);
      }
    }
    return set_fold(tape->code.back().type);
  }

  Status set_fold(Elem value) {
    const auto fold = fold_from_name(attrs_.fold);
    if (!fold) return bad("fold", "'{}' is none of {}", printable(attrs_.fold, 60), fmt::join(kFoldNames, ", "));
    if (attrs_.last != 0 && attrs_.last != 1) return bad("last", "{} is neither 0 nor 1", attrs_.last);
    const bool folds = !attrs_.reduce.empty();
    space_.folds = {folds ? *fold : Fold::only};
    const bool truth = *fold == Fold::any || *fold == Fold::all,
               places = *fold == Fold::argmax || *fold == Fold::argmin;
    if (folds && truth != (value == Elem::boolean)) {
      return bad("fold", "{} of {}", attrs_.fold, name_of(value));
    }
    if (folds && is_complex(value) && *fold != Fold::sum && *fold != Fold::prod) {
      return bad("fold", "{} of {}", attrs_.fold, name_of(value));
    }
    if (folds && places) {
      space_.last_wins = attrs_.last == 1;
      FRAZIL_TRY(space_.report, index(trimmed(attrs_.report), "report"));
    }
    return check_result(folds && places ? Elem::i64 : value);
  }

  Status check_result(Elem value) {
    if (!attrs_.to) return {};
    const auto to = elem_from_onnx(*attrs_.to);
    if (!to) return bad("to", "{} is not an element type", *attrs_.to);
    if (compute_elem(*to) != value) return bad("to", "a body of {} does not give {}", name_of(value), name_of(*to));
    return {};
  }

  InferCx& cx_;
  const GenericAttrs& attrs_;
  Space& space_;
  std::vector<std::string_view> names_;
  std::vector<bool> bound_;
};

}  // namespace

std::string_view name_of(Fold fold) { return kFoldNames[fold == Fold::only ? 0 : static_cast<std::size_t>(fold)]; }

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
Sx recorded(const Strings& body, std::span<const Sx> operands) {
  const auto tape = parse_tape(body);
  return tape && !tape->code.empty() ? replay(*tape, operands) : operands[0];
}

/// Returns `to`, or the type of the last instruction.
Elem body_elem(const Strings& body, std::optional<std::int64_t> to, std::span<const Elem> inputs) {
  if (const auto elem = to ? elem_from_onnx(*to) : std::nullopt) return *elem;
  const auto tape = body.empty() ? Result<ScalarTape>{} : parse_tape(std::span(&body.back(), 1));
  if (tape && !tape->code.empty()) return tape->code.back().type;
  return inputs.empty() ? Elem::f32 : inputs[0];
}

}  // namespace

Sx generic_body(std::span<const Sx> operands, const void* attrs) {
  return recorded(static_cast<const GenericAttrs*>(attrs)->body, operands);
}

Elem generic_elem(const void* attrs, std::span<const Elem> inputs) {
  const auto& a = *static_cast<const GenericAttrs*>(attrs);
  const auto fold = fold_from_name(a.fold);
  const bool place = !a.reduce.empty() && (fold == Fold::argmax || fold == Fold::argmin);
  return place ? Elem::i64 : body_elem(a.body, a.to, inputs);
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
  if (Status s = checked_body(a.body, inputs); !s) return s;
  const Elem gives = parse_tape(a.body)->code.back().type;
  const auto to = a.to ? elem_from_onnx(*a.to) : gives;
  if (!to) return fail(Code::bad_model, "attribute 'to': {} is not an element type", *a.to);
  if (compute_elem(*to) == gives) return {};
  return fail(Code::bad_model, "attribute 'to': a body of {} does not give {}", name_of(gives), name_of(*to));
}

// ---- Extents ----

namespace {

/// Returns the element type of the result. Checks that there is one value for each element.
Result<Elem> extents_elem(InferCx& cx, const ExtentsAttrs& a) {
  const auto elem = elem_from_onnx(a.to);
  const bool whole = elem && (contains(elems::kInt, *elem) || *elem == Elem::boolean);
  if (!whole) return cx.error("attribute 'to': {} is no integer type or bool", a.to);
  std::int64_t count = 1;
  for (std::size_t i = 0; i < a.sizes.size(); ++i) {
    const std::int64_t n = a.sizes[i];
    if (n < 0 || n > Dim::kMax) return cx.error("attribute 'sizes[{}]': {} is no extent", i, n);
    if (__builtin_mul_overflow(count, n, &count)) return cx.error("attribute 'sizes': too many elements");
  }
  if (static_cast<std::size_t>(count) == a.values.size()) return *elem;
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
    FRAZIL_TRY(const Dim d, read_extent(cx, a.values[i], fmt::format("values[{}]", i)));
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
    FRAZIL_TRY(const std::int64_t value, eval_extent(call, a.values[i], fmt::format("values[{}]", i)));
    put_number(call.out_elem(0), out, i, value);
  }
  return {};
}

}  // namespace frazil::ops
