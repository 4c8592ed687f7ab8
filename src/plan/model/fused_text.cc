#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/value/float.h"
#include "ir/text/scalar_text.h"
#include "ir/text/text_lexer.h"
#include "plan/model/fused.h"

// The text form of fused kernels:
//   fused (d0, d1 = 64) {
//     in 0: f32 [d0, d1]
//     in 1: f32 [d1]
//     in 2: f32
//     produce matmul negative_slope=0 (0..1) into 0 from 7.0 exact
//     %0: f32 load product
//     %1: f32 load 1
//     %2: f32 add %0 %1 from 3.0 exact
//     out 0: f32 [d0, d1] = %2
//   }
// An axis `_` is fixed. An operand without brackets is read by the producer only. "(0..1)" are the producer's operands;
// a prologue follows them as "after (3..4) fused ...".
namespace frazil {
namespace {

// ---- printing ----

std::string axes_str(const Access& access) {
  std::string s;
  for (std::uint16_t a : access.axes) {
    s += s.empty() ? "" : ", ";
    s += a == Access::kFixed ? std::string("_") : fmt::format("d{}", a);
  }
  return "[" + s + "]";
}

std::string origins_str(const std::vector<Origin>& origins) {
  std::string s;
  for (const Origin& o : origins) {
    s += fmt::format("{} {}.{}{}", s.empty() ? " from" : ",", o.node, o.output, o.exact ? " exact" : "");
  }
  return s;
}

std::string range_str(const OperandRange& range) { return fmt::format("({}..{})", range.first, range.end()); }

std::string ins_str(const FusedIns& ins) {
  const ScalarIns& s = ins.scalar;
  std::string operands;
  for_operands(ins, [&](std::uint32_t a) { operands += fmt::format(" %{}", a); });
  if (ins.row != RowOp::none) {
    const bool real = ins.row >= RowOp::layer_norm;
    return fmt::format("row {}{}{}", name_of(ins.row), operands, real ? fmt::format(" {}", s.real) : "");
  }
  return s.op == ScalarOp::load && s.operand == kProduced ? "load product" : text_of(s);
}

class FusedPrinter {
 public:
  std::string run(const FusedKernel& kernel, std::string_view margin) {
    std::string s = fmt::format("fused ({}) {{\n", domain(kernel));
    const auto line = [&](std::string text) { s += fmt::format("{}  {}\n", margin, text); };
    const auto read_by_body = [&](std::size_t i) {
      return !kernel.operands[i].access.axes.empty() ||
             load_of(kernel, static_cast<std::uint32_t>(i)) < kernel.body.size();
    };
    for (std::size_t i = 0; i < kernel.operands.size(); ++i) {
      const FusedOperand& o = kernel.operands[i];
      line(fmt::format("in {}: {}{}", i, name_of(o.elem), read_by_body(i) ? " " + axes_str(o.access) : ""));
    }
    if (kernel.producer) line(producer(*kernel.producer, fmt::format("{}  ", margin)));
    for (std::size_t i = 0; i < kernel.body.size(); ++i) {
      const FusedIns& ins = kernel.body[i];
      line(fmt::format("%{}: {} {}{}", i, name_of(ins.scalar.type), ins_str(ins), origins_str(ins.origins)));
    }
    for (std::size_t k = 0; k < kernel.stores.size(); ++k) {
      const FusedStore& store = kernel.stores[k];
      line(fmt::format("out {}: {} {} = %{}", k, name_of(store.elem), axes_str(store.access), store.value));
    }
    return s + fmt::format("{}}}", margin);
  }

 private:
  static std::string domain(const FusedKernel& kernel) {
    std::string s;
    for (std::size_t a = 0; a < kernel.domain.size(); ++a) {
      s += fmt::format("{}d{}", a == 0 ? "" : ", ", a);
      if (kernel.domain[a].extent >= 0) s += fmt::format(" = {}", kernel.domain[a].extent);
    }
    return s;
  }

  std::string producer(const Producer& p, std::string_view margin) {
    std::string s =
        fmt::format("produce {} {} into {}{}", frazil::str(p.params), range_str(p.operands),
                    p.into == kNotStored ? fmt::format("tiles {}", name_of(p.unstored_elem)) : std::to_string(p.into),
                    origins_str(p.origins));
    if (p.prologue) s += fmt::format(" after {} {}", range_str(p.prologue_operands), run(*p.prologue, margin));
    return s;
  }
};

// ---- reading ----

std::optional<RowOp> row_op(std::string_view name) {
  for (int op = 1; op <= static_cast<int>(RowOp::standardize); ++op) {
    if (name_of(static_cast<RowOp>(op)) == name) return static_cast<RowOp>(op);
  }
  return std::nullopt;
}

class FusedReader {
 public:
  explicit FusedReader(Tokens& tokens) : t_(tokens) {}

  Result<FusedKernel> kernel() {
    FusedKernel k;
    FRAZIL_CHECK(t_.expect("fused"));
    FRAZIL_CHECK(domain(k));
    FRAZIL_CHECK(t_.expect("{"));
    while (!t_.take("}")) {
      if (t_.take("in"))
        FRAZIL_CHECK(operand(k));
      else if (t_.take("out"))
        FRAZIL_CHECK(store(k));
      else if (t_.take("produce"))
        FRAZIL_CHECK(producer(k));
      else if (t_.peek().kind == Token::Kind::value)
        FRAZIL_CHECK(instruction(k));
      else
        return t_.expected("'in', 'produce', an instruction or 'out'");
    }
    return k;
  }

 private:
  template <class N>
  Result<N> number(std::string_view what) {
    const std::string_view text = t_.peek_str();
    N value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return t_.expected(what);
    t_.next();
    return value;
  }

  Result<Elem> elem() {
    const auto found = elem_from_name(t_.peek_str());
    if (!found) return t_.expected("an element type");
    t_.next();
    return *found;
  }

  Status domain(FusedKernel& k) {
    FRAZIL_CHECK(t_.expect("("));
    while (!t_.take(")")) {
      if (!k.domain.empty()) FRAZIL_CHECK(t_.expect(","));
      FRAZIL_CHECK(t_.expect(fmt::format("d{}", k.domain.size())));
      DomainAxis axis;
      if (t_.take("=")) {
        FRAZIL_TRY(axis.extent, number<std::int64_t>("an extent"));
      }
      k.domain.push_back(axis);
    }
    return {};
  }

  Result<Access> access() {
    Access a;
    FRAZIL_CHECK(t_.expect("["));
    while (!t_.take("]")) {
      if (!a.axes.empty()) FRAZIL_CHECK(t_.expect(","));
      if (t_.take("_")) {
        a.axes.push_back(Access::kFixed);
        continue;
      }
      unsigned axis = 0;
      const std::string_view text = t_.peek_str();
      const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), axis);
      const bool good = text.starts_with('d') && error == std::errc{} && end == text.data() + text.size();
      if (!good || axis >= Access::kFixed) return t_.expected("an axis of the domain or '_'");
      t_.next();
      a.axes.push_back(static_cast<std::uint16_t>(axis));
    }
    return a;
  }

  Status head(std::size_t count) {
    FRAZIL_CHECK(t_.expect(fmt::format("{}", count)));
    return t_.expect(":");
  }

  Status operand(FusedKernel& k) {
    FRAZIL_CHECK(head(k.operands.size()));
    FusedOperand o;
    FRAZIL_TRY(o.elem, elem());
    if (t_.is("[")) {
      FRAZIL_TRY(o.access, access());
    }
    k.operands.push_back(std::move(o));
    return {};
  }

  Status store(FusedKernel& k) {
    FRAZIL_CHECK(head(k.stores.size()));
    FusedStore s;
    FRAZIL_TRY(s.elem, elem());
    FRAZIL_TRY(s.access, access());
    FRAZIL_CHECK(t_.expect("="));
    FRAZIL_TRY(s.value, value());
    k.stores.push_back(std::move(s));
    return {};
  }

  Result<std::uint32_t> value() { return read_scalar_value(t_); }

  Status origins(std::vector<Origin>& list) {
    if (!t_.take("from")) return {};
    do {
      Origin o;
      const std::string_view text = t_.peek_str();
      const char* const past = text.data() + text.size();
      const auto node = std::from_chars(text.data(), past, o.node);
      const bool dot = node.ec == std::errc{} && node.ptr != past && *node.ptr == '.';
      const auto output = dot ? std::from_chars(node.ptr + 1, past, o.output) : node;
      if (!dot || output.ec != std::errc{} || output.ptr != past) return t_.expected("a node's id and output");
      t_.next();
      o.exact = t_.take("exact");
      list.push_back(o);
    } while (t_.take(","));
    return {};
  }

  /// Reads a range such as "(0..3)".
  Result<OperandRange> range() {
    FRAZIL_CHECK(t_.expect("("));
    const std::string_view text = t_.peek_str();
    const char* const past = text.data() + text.size();
    OperandRange r;
    std::uint32_t end = 0;
    const auto first = std::from_chars(text.data(), past, r.first);
    const bool dots = first.ec == std::errc{} && past - first.ptr > 2 && first.ptr[0] == '.' && first.ptr[1] == '.';
    const auto last = dots ? std::from_chars(first.ptr + 2, past, end) : first;
    if (!dots || last.ec != std::errc{} || last.ptr != past || end < r.first) return t_.expected("a range as 0..2");
    t_.next();
    r.count = end - r.first;
    FRAZIL_CHECK(t_.expect(")"));
    return r;
  }

  Status producer(FusedKernel& k) {
    Producer p;
    FRAZIL_TRY(p.params, parameters());
    FRAZIL_TRY(p.operands, range());
    FRAZIL_CHECK(t_.expect("into"));
    if (t_.take("tiles")) {
      p.into = kNotStored;
      FRAZIL_TRY(p.unstored_elem, elem());
    } else {
      FRAZIL_TRY(p.into, number<std::uint32_t>("a result"));
    }
    FRAZIL_CHECK(origins(p.origins));
    if (t_.take("after")) {
      if (std::exchange(inside_, true)) return t_.error(t_.peek(), "a prologue has no producer");
      FRAZIL_TRY(p.prologue_operands, range());
      FRAZIL_TRY(FusedKernel inner, kernel());
      p.prologue = std::make_shared<const FusedKernel>(std::move(inner));
    }
    k.producer = std::move(p);
    return {};
  }

  Result<KernelParams> parameters() {
    auto params = kernel_named(t_.peek_str());
    if (!params) return t_.expected("a kernel");
    t_.next();
    while (!t_.is("(")) FRAZIL_CHECK(parameter(*params));
    return *params;
  }

  Status parameter(KernelParams& params) {
    const std::string name(t_.peek_str());
    t_.next();
    FRAZIL_CHECK(t_.expect("="));
    Status status = t_.error(t_.peek(), "'{}' is not a parameter of it", name);
    std::visit(
        [&](auto& p) {
          p.fields(p, [&](std::string_view field, auto& to) {
            if (field == name) status = assign(to);
          });
        },
        params);
    return status;
  }

  template <class T>
  Status assign(T& to) {
    if constexpr (std::is_enum_v<T> || std::is_same_v<T, bool>) {
      FRAZIL_TRY(const int v, number<int>("a number"));
      to = static_cast<T>(v);
    } else if constexpr (std::is_arithmetic_v<T>) {
      FRAZIL_TRY(to, number<T>("a number"));
    } else if constexpr (std::is_same_v<T, std::int64_t[2]>) {
      FRAZIL_CHECK(t_.expect("["));
      FRAZIL_TRY(to[0], number<std::int64_t>("a number"));
      FRAZIL_CHECK(t_.expect(","));
      FRAZIL_TRY(to[1], number<std::int64_t>("a number"));
      return t_.expect("]");
    } else {
      return t_.expected("a parameter of a product or convolution");
    }
    return {};
  }

  Status instruction(FusedKernel& k) {
    const Token at = t_.peek();
    FRAZIL_TRY(const std::uint32_t id, value());
    if (id != k.body.size()) return t_.error(at, "expected %{}, got %{}", k.body.size(), id);
    FRAZIL_CHECK(t_.expect(":"));
    FusedIns ins;
    FRAZIL_TRY(ins.scalar.type, elem());
    if (t_.take("row"))
      FRAZIL_CHECK(row(ins));
    else
      FRAZIL_CHECK(scalar(ins.scalar));
    FRAZIL_CHECK(origins(ins.origins));
    k.body.push_back(std::move(ins));
    return {};
  }

  Status row(FusedIns& ins) {
    const auto op = row_op(t_.peek_str());
    if (!op) return t_.expected("an operation along rows");
    t_.next();
    ins.row = *op;
    return operands(ins);
  }

  Status scalar(ScalarIns& s) {
    if (!t_.is("load") || !t_.is("product", 1)) return read_scalar(t_, s);
    t_.next();
    t_.next();
    s.op = ScalarOp::load;
    s.operand = kProduced;
    return {};
  }

  Status operands(FusedIns& ins) {
    std::uint32_t* const all[] = {&ins.scalar.a, &ins.scalar.b, &ins.scalar.c};
    for (std::size_t i = 0; i < operand_count(ins); ++i) {
      FRAZIL_TRY(*all[i], value());
    }
    if (ins.row < RowOp::layer_norm) return {};
    FRAZIL_TRY(ins.scalar.real, number<double>("epsilon"));
    return {};
  }

  Tokens& t_;
  bool inside_ = false;  ///< a prologue is being read
};

}  // namespace

std::string FusedKernel::str() const { return FusedPrinter().run(*this, ""); }

Result<FusedKernel> parse_fused(std::string_view text) {
  FRAZIL_TRY(Tokens tokens, Tokens::read(text));
  FRAZIL_TRY(FusedKernel kernel, FusedReader(tokens).kernel());
  if (tokens.peek().kind != Token::Kind::end) return tokens.expected("the end of the text");
  return kernel;
}

}  // namespace frazil
