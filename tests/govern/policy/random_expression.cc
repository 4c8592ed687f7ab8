#include "govern/policy/random_expression.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace frazil::test {
namespace {

using govern::Field;
using govern::ValueKind;
using govern::ValueType;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                       kMost = std::numeric_limits<std::int64_t>::max();

struct Record {
  const ValueType integer = {.kind = ValueKind::integer}, text = {.kind = ValueKind::text, .bound = 64};
  const ValueType boolean = {.kind = ValueKind::boolean}, real = {.kind = ValueKind::real};
  const ValueType integers = {.kind = ValueKind::list, .bound = 8, .element = &integer};
  const ValueType texts = {.kind = ValueKind::list, .bound = 8, .element = &text};
  const ValueType map = {.kind = ValueKind::map, .bound = 8, .key_bound = 16, .element = &integer};
  const govern::RecordType inner = {"inner", {{"n", integer, ""}, {"t", text, "", true}}};
  const ValueType inner_type = {.kind = ValueKind::record, .record = &inner};
  const ValueType inners = {.kind = ValueKind::list, .bound = 4, .element = &inner_type};
  const govern::RecordType record = {"record",
                                     {{"b1", boolean, ""},
                                      {"b2", boolean, "", true},
                                      {"i1", integer, ""},
                                      {"i2", integer, ""},
                                      {"i3", integer, "", true},
                                      {"d1", real, ""},
                                      {"d2", real, "", true},
                                      {"s1", text, ""},
                                      {"s2", text, "", true},
                                      {"li", integers, ""},
                                      {"ls", texts, ""},
                                      {"m", map, ""},
                                      {"r", inner_type, ""},
                                      {"lr", inners, ""}}};
};

const Record& record() {
  static const Record all;
  return all;
}

}  // namespace

const govern::Layout& random_layout() {
  static const govern::Layout layout(record().record);
  return layout;
}

std::pair<int, int> RandomExpression::split(int size) {
  const int left = static_cast<int>(below(static_cast<std::uint64_t>(std::max(1, size))));
  return {left, size - 1 - left};
}

std::int64_t RandomExpression::number() {
  static const std::vector<std::int64_t> kSpecial = {0, 1, -1, 2, 3, kLeast, kMost, kLeast + 1, 1000000007};
  if (chance(50)) return one_of(kSpecial);
  return static_cast<std::int64_t>(below(21)) - 10;
}

double RandomExpression::real_number() {
  static const std::vector<double> kSpecial = {0.0,   -0.0,   1.0,    -1.5,   0.1,
                                               1e300, -1e300, 1e-300, 9.3e18, 9223372036854774784.0};
  if (chance(50)) return one_of(kSpecial);
  return (static_cast<double>(below(4001)) - 2000) / 16;
}

std::string RandomExpression::quoted() {
  static const std::vector<std::string> kTexts = {R"("")",
                                                  R"("a")",
                                                  R"("ab")",
                                                  R"("abc")",
                                                  R"("b")",
                                                  R"('x')",
                                                  R"("1")",
                                                  R"("-12")",
                                                  R"("2.5")",
                                                  R"("Add")",
                                                  R"("a\nb")",
                                                  R"("\u00e9t\u00e9")",
                                                  R"("\U0001F600")",
                                                  R"(r"\d")",
                                                  R"("k1")",
                                                  R"("k2")",
                                                  R"("9223372036854775808")"};
  return one_of(kTexts);
}

std::string RandomExpression::variable_of(const std::string& type) {
  std::vector<std::string> names;
  for (const Variable& v : variables_) {
    if (v.type == type) names.push_back(v.name);
    if (v.type == "inner" && type == "int") names.push_back(v.name + ".n");
    if (v.type == "inner" && type == "string") names.push_back(v.name + ".t");
  }
  return names.empty() ? std::string() : one_of(names);
}

std::string RandomExpression::choice(const std::string& yes, const std::string& no, int size) {
  return fmt::format("({} ? {} : {})", boolean(size), yes, no);
}

std::string RandomExpression::integer(int size) {
  if (size <= 0) {
    if (const std::string v = variable_of("int"); !v.empty() && chance(60)) return v;
    if (chance(30)) return fmt::format("{}", number());
    return one_of<std::string>({"i1", "i2", "i3", "r.n"});
  }
  const auto [a, b] = split(size);
  switch (below(11)) {
    case 0: return choice(integer(a / 2), integer(a - a / 2), b);
    case 1: return fmt::format("{}[{}]", integers(a), integer(b));
    case 2: return fmt::format("{}[{}]", map(a), text(b));
    case 3: return one_of<std::string>({"m.k1", "m.k2", "lr[0].n"});
    case 4: return chance(50) ? fmt::format("size({})", text(a)) : fmt::format("{}.size()", texts(a));
    case 5: return chance(50) ? fmt::format("int('{}' + {})", below(9) + 1, text(a)) : fmt::format("int({})", real(a));
    case 6: return fmt::format("-{}", one_of<std::string>({"i1", "i2", "m.k1", "r.n"}));
    case 7: return fmt::format("({} % {})", integer(a), one_of<std::string>({"2", "-7", "0", "1000", "-1000"}));
    default: return fmt::format("({} {} {})", integer(a), one_of<std::string>({"+", "-", "*", "/"}), integer(b));
  }
}

std::string RandomExpression::real(int size) {
  if (size <= 0) {
    if (chance(40)) return one_of<std::string>({"d1", "d2"});
    const std::string number = fmt::format("{}", real_number());
    return number.find_first_of(".e") == std::string::npos ? number + ".0" : number;
  }
  const auto [a, b] = split(size);
  switch (below(6)) {
    case 0: return choice(real(a / 2), real(a - a / 2), b);
    case 1: return fmt::format("double({})", integer(a));
    case 2: return fmt::format("double({})", one_of<std::string>({R"("2.5")", R"("1e3")", R"("-0.125")"}));
    case 3: return fmt::format("-(0.5 * {})", real(a));
    default: return fmt::format("({} {} {})", real(a), one_of<std::string>({"+", "-", "*", "/"}), real(b));
  }
}

std::string RandomExpression::text(int size) {
  if (size <= 0) {
    if (const std::string v = variable_of("string"); !v.empty() && chance(60)) return v;
    return chance(40) ? quoted() : one_of<std::string>({"s1", "s2", "r.t"});
  }
  const auto [a, b] = split(size);
  switch (below(5)) {
    case 0: return choice(text(a / 2), text(a - a / 2), b);
    case 1: return fmt::format("{}[{}]", texts(a), integer(b));
    case 2: return fmt::format("string({})", chance(50) ? integer(a) : boolean(a));
    default: return fmt::format("({} + {})", text(a), text(b));
  }
}

std::string RandomExpression::integers(int size) {
  if (size <= 0) return chance(60) ? "li" : fmt::format("[{}, {}]", number(), number());
  const auto [a, b] = split(size);
  if (chance(50)) return fmt::format("({} + {})", integers(a), integers(b));
  return fmt::format("[{}, {}]", integer(a), integer(b));
}

std::string RandomExpression::texts(int size) {
  if (size <= 0) return chance(60) ? "ls" : fmt::format("[{}, {}]", quoted(), quoted());
  const auto [a, b] = split(size);
  if (chance(40)) return fmt::format("({} + {})", texts(a), texts(b));
  return fmt::format("[{}, {}]", text(a), text(b));
}

std::string RandomExpression::map(int size) {
  if (size <= 0 || chance(60)) return "m";
  return fmt::format(R"({{"k1": {}, {}: {}}})", integer(size / 2), quoted(), integer(size - size / 2));
}

std::string RandomExpression::comparison(int size) {
  const auto [a, b] = split(size);
  const std::string equality = one_of<std::string>({"==", "!="});
  const std::string order = one_of<std::string>({"==", "!=", "<", "<=", ">", ">="});
  switch (below(7)) {
    case 0: return fmt::format("{} {} {}", real(a), order, real(b));
    case 1: return fmt::format("{} {} {}", text(a), order, text(b));
    case 2: return fmt::format("{} {} {}", integers(a), equality, integers(b));
    case 3: return fmt::format("{} {} {}", texts(a), equality, texts(b));
    case 4: return fmt::format("{} {} {}", map(a), equality, map(b));
    default: return fmt::format("{} {} {}", integer(a), order, integer(b));
  }
}

std::string RandomExpression::membership(int size) {
  const auto [a, b] = split(size);
  switch (below(3)) {
    case 0: return fmt::format("{} in {}", integer(a), integers(b));
    case 1: return fmt::format("{} in {}", text(a), texts(b));
    default: return fmt::format("{} in {}", text(a), map(b));
  }
}

std::string RandomExpression::with_variable(const std::string& list, const char* function, const std::string& type,
                                            int size) {
  const std::string name = fmt::format("v{}", variables_.size());
  variables_.push_back({name, type});
  std::string out = fmt::format("{}.{}({}, {})", list, function, name, boolean(size));
  variables_.pop_back();
  return out;
}

std::string RandomExpression::macro(int size) {
  const auto [a, b] = split(size);
  const char* const function = one_of<const char*>({"all", "exists", "exists_one"});
  switch (below(4)) {
    case 0: return with_variable(integers(a), function, "int", b);
    case 1: return with_variable(texts(a), function, "string", b);
    case 2: return with_variable("m", function, "string", b);
    default: return with_variable("lr", function, "inner", b);
  }
}

std::string RandomExpression::test(int size) {
  const auto [a, b] = split(size);
  if (chance(20))
    return fmt::format("{}.matches({})", text(a), one_of<std::string>({R"('^a.*c$')", R"(r'\d+')", "'b|x'"}));
  return fmt::format("{}.{}({})", text(a), one_of<std::string>({"startsWith", "endsWith", "contains"}), text(b));
}

std::string RandomExpression::boolean(int size) {
  if (size <= 0) return one_of<std::string>({"b1", "b2", "true", "false", "has(r.n)", "has(r.t)", "has(m.k1)"});
  const auto [a, b] = split(size);
  switch (below(10)) {
    case 0: return fmt::format("({} && {})", boolean(a), boolean(b));
    case 1: return fmt::format("({} || {})", boolean(a), boolean(b));
    case 2: return fmt::format("!({})", boolean(size - 1));
    case 3: return choice(boolean(a / 2), boolean(a - a / 2), b);
    case 4: return fmt::format("({})", test(size - 1));
    case 5: return fmt::format("({})", membership(size - 1));
    case 6:
    case 7: return variables_.size() < 3 ? macro(size - 1) : fmt::format("({})", comparison(size - 1));
    default: return fmt::format("({})", comparison(size - 1));
  }
}

std::string RandomExpression::expression(int size) {
  switch (below(6)) {
    case 0: return integer(size);
    case 1: return real(size);
    case 2: return text(size);
    default: return boolean(size);
  }
}

govern::Json RandomExpression::input() {
  const auto word = [&] {
    return one_of<std::string>({"", "a", "ab", "abc", "b", "-12", "2.5", "Add", "été", "k1", "😀"});
  };
  const auto inner = [&] {
    govern::Json object = {{"n", number()}};
    if (chance(60)) object["t"] = word();
    return object;
  };
  govern::Json out = {{"b1", chance(50)}, {"i1", number()}, {"i2", number()}, {"d1", real_number()}, {"s1", word()}};
  if (chance(85)) out["b2"] = chance(50);
  if (chance(85)) out["i3"] = number();
  if (chance(85)) out["d2"] = real_number();
  if (chance(85)) out["s2"] = word();
  out["r"] = inner();
  for (const char* list : {"li", "ls", "lr"}) out[list] = govern::Json::array();
  for (std::uint64_t i = below(4); i > 0; --i) out["li"].push_back(number());
  for (std::uint64_t i = below(4); i > 0; --i) out["ls"].push_back(word());
  for (std::uint64_t i = below(3); i > 0; --i) out["lr"].push_back(inner());
  out["m"] = govern::Json::object();
  if (chance(70)) out["m"]["k1"] = number();
  if (chance(40)) out["m"]["a"] = number();
  return out;
}

}  // namespace frazil::test
