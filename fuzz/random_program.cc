#include "random_program.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace frazil::fuzz {
namespace {

// A wide value has the type f32[R,wide], a narrow one f32[R,narrow].
constexpr std::int64_t kRounds = 6, kPicks = 3;
constexpr int kMaxDepth = 2;

std::string header(const ProgramSizes& sizes) {
  const std::int64_t w = sizes.wide, n = sizes.narrow, z = sizes.ranked;
  return fmt::format(
             "weight @w0: f32[{0},{0}]\nweight @w1: f32[{0},{0}]\nweight @w2: f32[{0},{0}]\n"
             "weight @u: f32[{1},{0}]\nweight @d: f32[{0},{1}]\nweight @v: f32[{1},{1}]\n",
             w, n) +
         fmt::format(
             "graph program(%n: i64[], %sides: f32[{},{}], %x: f32[R,{}], %s: f32[R,{}], %g: f32[K,{}], %z: f32[{}]) "
             "{{\n",
             kRounds, kPicks, w, n, n, z);
}

float normal(Choices& c) {
  constexpr double kTau = 6.283185307179586;
  const auto uniform = [&] { return (static_cast<double>(c.random() >> 11) + 1) / 9007199254740993.0; };
  return static_cast<float>(std::sqrt(-2 * std::log(uniform())) * std::cos(kTau * uniform()));
}

Tensor normals(Sizes sizes, float scale, Choices& c) {
  Tensor t = Tensor::make(Elem::f32, std::move(sizes)).value();
  for (float& x : t.as_mutable<float>()) x = scale * normal(c);
  return t;
}

/// What a statement may use, newest last.
struct Visible {
  std::vector<std::string> wide, narrow;
  std::string round = "i64[] 0";  ///< of the innermost loop
  bool in_loop = false;
};

class Writer {
 public:
  Writer(Choices& choices, const ProgramSizes& sizes, int edit_at) : c_(choices), sizes_(sizes), edit_at_(edit_at) {}

  std::string run() {
    Visible top{{"%x"}, {"%s"}};
    statements(top, 0, 1 + c_.below(4));
    for (std::size_t loops = 1 + c_.below(2); loops > 0; --loops) {
      main_loop(top);
      statements(top, 0, c_.below(3));
    }
    give(last(top.wide));
    give(last(top.narrow));
    return header(sizes_) + body_ + fmt::format("return {}\n}}\n", results_.substr(2));
  }
  int statements() const { return statements_; }

 private:
  using Names = std::vector<std::string>;

  // ---- text ----

  std::string fresh() { return fmt::format("%v{}", names_++); }
  template <class... A>
  void line(fmt::format_string<A...> format, A&&... args) {
    body_ += fmt::format(format, std::forward<A>(args)...) + "\n";
  }
  /// `fresh = call`.
  template <class... A>
  std::string made(fmt::format_string<A...> format, A&&... args) {
    std::string name = fresh();
    line("{} = {}", name, fmt::format(format, std::forward<A>(args)...));
    return name;
  }
  void give(const std::string& value) { results_ += fmt::format(", y{} = {}", given_++, value); }
  static const std::string& last(const Names& names) { return names.back(); }
  const std::string& any(const Names& names) { return names[names.size() - 1 - c_.below(names.size())]; }
  std::string number(std::int64_t least, std::int64_t most) {
    return fmt::format("f32[] {}", static_cast<double>(c_.between(least, most)) / 10);
  }

  // ---- statements ----

  void statements(Visible& v, int depth, std::size_t count) {
    for (; count > 0; --count) statement(v, depth);
  }

  void statement(Visible& v, int depth) {
    if (statements_++ == edit_at_) v.wide.push_back(made("Neg({})", last(v.wide)));
    switch (c_.weighted({14, 6, 6, 8, 8, 8, 6, 6, 5, 5, depth < kMaxDepth ? 6 : 0,
                         depth < kMaxDepth ? 6 * sizes_.guards : 0, depth < kMaxDepth ? 5 : 0})) {
      case 0: v.wide.push_back(made("MatMul({}, @w{})", any(v.wide), c_.below(3))); break;
      case 1: v.wide.push_back(made("MatMul({}, @u)", any(v.narrow))); break;
      case 2: v.narrow.push_back(made("MatMul({}, @d)", any(v.wide))); break;
      case 3: v.narrow.push_back(made("MatMul({}, @v)", any(v.narrow))); break;
      case 4: wave(c_.chance(50) ? v.wide : v.narrow); break;
      case 5: mix(c_.chance(50) ? v.wide : v.narrow); break;
      case 6: softmax(c_.chance(30) ? v.wide : v.narrow); break;
      case 7: without_largest(c_.chance(50) ? v.wide : v.narrow); break;
      case 8: ranked(v); break;
      case 9: v.in_loop ? prefix(v) : mix(v.wide); break;
      case 10: branch(v, depth); break;
      case 11: guards_ < sizes_.guards ? assumed(v, depth) : branch(v, depth); break;
      default: inner_loop(v, depth); break;
    }
  }

  std::string waved(const std::string& of) {
    const std::string larger = made("Mul({}, {})", of, number(11, 17));
    return made("Sin({})", larger);
  }
  void wave(Names& names) { names.push_back(waved(any(names))); }
  void mix(Names& names) {
    const std::string part = made("Mul({}, {})", any(names), number(-9, -3));
    names.push_back(made("Add({}, {})", any(names), part));
  }
  void softmax(Names& names) {
    const std::string part = made("Mul({}, {})", any(names), number(20, 40));
    names.push_back(made("Softmax({})", part));
  }
  void without_largest(Names& names) {
    const std::string& of = any(names);
    const std::string largest = made("ReduceMax({}, i64[1] [1])", of);
    names.push_back(made("Sub({}, {})", of, largest));
  }
  /// A step with scratch memory that the session itself runs.
  void ranked(Visible& v) {
    const std::string& of = any(v.narrow);
    const std::string scale = made("ReduceMean({}) {{keepdims = 0}}", of);
    const std::string scaled = made("Mul(%z, {})", scale);
    const std::string best = fresh(), at = fresh();
    line("{}, {} = TopK({}, i64[1] 4)", best, at, scaled);
    const std::string mean = made("ReduceMean({}, i64[1] [0]) {{keepdims = 0}}", best);
    v.narrow.push_back(made("Add({}, {})", of, made("Mul({}, {})", mean, number(2, 4))));  // errors must not grow
  }
  /// Extents that depend on the iteration.
  void prefix(Visible& v) {
    const std::string& of = any(v.wide);
    const std::string end = made("Add({}, i64[] {})", v.round, c_.between(1, 9));
    const std::string ends = made("Unsqueeze({}, i64[1] [0])", end);
    const std::string part = made("Slice({}, i64[1] [0], {})", of, ends);
    const std::string square = made("Mul({0}, {0})", part);
    const std::string mean = made("ReduceMean({}, i64[1] [0]) {{keepdims = 0}}", square);
    v.wide.push_back(made("Sub({}, {})", of, mean));
  }

  // ---- branches ----

  std::string sides(const Visible& v) { return made("Gather(%sides, {})", v.round); }

  /// The block of a branch; what it makes is not visible behind it.
  void block(const char* name, Visible v, int depth, auto&& result) {
    line("{}() {{", name);
    statements(v, depth, c_.below(4));
    line("yield {}\n}}", result(v));
  }
  void branch(Visible& v, int depth) {
    const std::string side = made("Gather({}, i64[] {})", sides(v), c_.below(kPicks));
    const std::string condition = made("Equal({}, f32[] 1)", side);
    const std::string wide = fresh(), narrow = fresh();
    line("{}, {} = If({})", wide, narrow, condition);
    const auto both = [&](Visible& inner) {
      return fmt::format("{}, {}", waved(last(inner.wide)), last(inner.narrow));
    };
    block("then_branch", v, depth + 1, both);
    block("else_branch", v, depth + 1, both);
    v.wide.push_back(wide);
    v.narrow.push_back(narrow);
  }
  /// A rank that depends on data: plans assume one, and another one is another plan.
  void assumed(Visible& v, int depth) {
    ++guards_;
    const std::string marks = made("NonZero({})", sides(v));
    switch (c_.below(3)) {
      case 0: return guarded(v, depth, marks);
      case 1: return reshaped(v, marks);
      default: return squeezed(v, marks);
    }
  }
  std::string count_of(const std::string& marks) { return made("Gather({}, i64[] 1)", made("Shape({})", marks)); }
  /// A shape of two or three extents.
  void reshaped(Visible& v, const std::string& marks) {
    const std::string few = made("Cast({}) {{to = i64}}", made("Less({}, i64[] 2)", count_of(marks)));
    const std::string length = made("Unsqueeze({}, i64[1] [0])", made("Add({}, i64[] 2)", few));
    const std::string shape = made("Slice(i64[3] [-1, {}, 1], i64[1] [0], {})", sizes_.wide, length);
    const std::string ranked = made("Reshape({}, {})", any(v.wide), shape);
    v.wide.push_back(made("Reshape({}, i64[2] [-1, {}])", waved(ranked), sizes_.wide));
  }
  /// One axis, or none where there is one mark.
  void squeezed(Visible& v, const std::string& marks) {
    const std::string places = made("Cast({}) {{to = f32}}", made("Squeeze({})", marks));
    const std::string mean = made("ReduceSum({}) {{keepdims = 0}}", made("Mul({}, f32[] 0.1)", places));
    v.wide.push_back(made("Add({}, {})", any(v.wide), mean));
  }
  /// Branches whose ranks differ.
  void guarded(Visible& v, int depth, const std::string& marks) {
    const std::string count = count_of(marks);
    const std::string condition = made("Less({}, i64[] 2)", count);
    const std::string either = fresh();
    line("{} = If({})", either, condition);
    block("then_branch", v, depth + 1,
          [&](Visible& inner) { return made("Reshape({}, i64[1] [-1])", last(inner.wide)); });
    block("else_branch", v, depth + 1, [&](Visible& inner) { return waved(last(inner.wide)); });
    v.wide.push_back(made("Reshape({}, i64[2] [-1, {}])", either, sizes_.wide));
  }

  // ---- loops ----

  /// Another value in each iteration, whatever the one before was.
  std::string next(const std::string& of, const std::string& round) {
    const std::string moved = made("Mul({}, f32[] 0.37)", round), larger = made("Mul({}, f32[] 1.3)", of);
    return made("Sin({})", made("Add({}, {})", larger, moved));
  }

  struct Body {
    std::string wide, narrow, round;
  };
  Body loop_body(Visible v, const std::string& i, int depth, std::size_t count) {
    v.round = i;
    v.in_loop = true;
    statements(v, depth, count);
    const std::string round = made("Cast({}) {{to = f32}}", i);
    return {next(last(v.wide), round), next(last(v.narrow), round), round};
  }

  void inner_loop(Visible& v, int depth) {
    const std::string sum = made("ReduceSum({}) {{keepdims = 0}}", sides(v));
    const std::string count = made("Cast({}) {{to = i64}}", sum);
    const std::string wide = fresh(), narrow = fresh(), i = fresh(), on = fresh(), a = fresh(), b = fresh();
    line("{}, {} = Loop({}, _, {}, {}) body({}, {}, {}, {}) {{", wide, narrow, count, any(v.wide), any(v.narrow), i, on,
         a, b);
    Visible inner = v;
    inner.wide.push_back(a);
    inner.narrow.push_back(b);
    const Body body = loop_body(std::move(inner), i, depth + 1, 1 + c_.below(3));
    line("yield {}, {}, {}\n}}", on, body.wide, body.narrow);
    v.wide.push_back(wide);
    v.narrow.push_back(narrow);
  }

  /// With a value that grows, and what each iteration makes as a result.
  void main_loop(Visible& v) {
    const std::string wide = fresh(), narrow = fresh(), grown = fresh(), all = fresh();
    const std::string i = fresh(), on = fresh(), a = fresh(), b = fresh(), g = fresh();
    line("{}, {}, {}, {} = Loop(%n, _, {}, {}, %g) body({}, {}, {}, {}, {}) {{", wide, narrow, grown, all, any(v.wide),
         any(v.narrow), i, on, a, b, g);
    Visible inner = v;
    inner.wide.push_back(a);
    inner.narrow.push_back(b);
    const Body body = loop_body(std::move(inner), i, 1, 3 + c_.below(6));
    const std::string rows = made("Slice({}, i64[1] [0], i64[1] [2])", body.narrow);
    const std::string longer = made("Concat({}, {}) {{axis = 0}}", g, rows);
    const std::string most = made("ReduceMax({}, i64[1] [0]) {{keepdims = 0}}", longer);
    const std::string whole = made("Sub({}, {})", body.narrow, most);
    line("yield {}, {}, {}, {}, {}\n}}", on, body.wide, whole, longer, body.narrow);
    give(all);
    give(grown);
    v.wide.push_back(wide);
    v.narrow.push_back(narrow);
  }

  Choices& c_;
  const ProgramSizes sizes_;
  const int edit_at_;  // statement
  std::string body_, results_;
  int names_ = 0, given_ = 0, statements_ = 0, guards_ = 0;
};

std::vector<Datum> request(std::int64_t rows, const ProgramSizes& of, Choices& c) {
  Tensor sides = Tensor::make(Elem::f32, {kRounds, kPicks}).value();
  for (float& side : sides.as_mutable<float>()) side = c.chance(50) ? 1 : 0;
  return {Tensor::scalar<std::int64_t>(c.between(1, kRounds)),
          sides,
          normals({rows, of.wide}, 1, c),
          normals({rows, of.narrow}, 1, c),
          normals({c.between(1, 3), of.narrow}, 1, c),
          normals({of.ranked}, 1, c)};
}

}  // namespace

RandomProgram random_program(Choices& choices, const ProgramSizes& sizes) {
  RandomProgram program;
  Choices again = choices;
  Writer plain(choices, sizes, -1);
  program.text = plain.run();
  program.edited =
      Writer(again, sizes, static_cast<int>(choices.below(static_cast<std::size_t>(plain.statements())))).run();
  for (const std::int64_t rows : {24, 40, 65}) program.requests.push_back(request(rows, sizes, choices));
  return program;
}

/// Products with them keep the size of their operand.
Tensor program_weight(std::string_view name, const ProgramSizes& sizes) {
  const std::int64_t rows = name == "u" || name == "v" ? sizes.narrow : sizes.wide;
  const std::int64_t columns = name == "d" || name == "v" ? sizes.narrow : sizes.wide;
  const std::array<std::uint8_t, 2> seed{static_cast<std::uint8_t>(name.front()),
                                         static_cast<std::uint8_t>(name.back())};
  Choices choices(seed);
  return normals({rows, columns}, 1 / std::sqrt(static_cast<float>(rows)), choices);
}

}  // namespace frazil::fuzz
