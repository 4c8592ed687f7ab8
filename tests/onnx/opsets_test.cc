// Every version of every operator: opsets.txt gives the form in each opset and the expected results.
#include <charconv>
#include <fstream>
#include <map>
#include <set>

#include "import_testing.h"
#include "onnx/export/fields.h"
#include "paths.h"
#include "suite/tiers.h"

namespace frazil::test {
namespace {

// ---- the table ----

/// One form of a node, its inputs and expected outputs.
struct Call {
  std::size_t line = 0;
  std::vector<std::int64_t> opsets;
  std::vector<std::string> inputs;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::size_t like = 0;                ///< index of the call with the same expectation in the newest opset
  std::vector<std::string> outputs{};  ///< empty: as for that call
};
struct Operator {
  std::string domain, name;
  std::vector<Call> calls;
};

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == text.npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

/// Splits at commas outside of brackets and strings.
std::vector<std::string> listed(std::string_view text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (c != ',' || depth != 0) continue;
    parts.push_back(trimmed(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  if (!trimmed(text).empty()) parts.push_back(trimmed(text.substr(begin)));
  return parts;
}

Call read_call(std::string_view text) {
  Call call;
  const auto colon = text.find(':');
  std::istringstream opsets{std::string(text.substr(0, colon))};
  for (std::int64_t opset; opsets >> opset;) call.opsets.push_back(opset);
  std::string_view rest = text.substr(colon + 1);
  const auto brace = rest.find('{');
  call.inputs = listed(rest.substr(0, brace));
  if (brace == rest.npos) return call;
  for (const std::string& field : listed(rest.substr(brace + 1, rest.rfind('}') - brace - 1))) {
    const auto equals = field.find('=');
    call.attributes.emplace_back(trimmed(field.substr(0, equals)), trimmed(field.substr(equals + 1)));
  }
  return call;
}

/// The calls from `first` on return `outputs`.
void expect_of(std::vector<Call>& calls, std::size_t first, const std::vector<std::string>& outputs) {
  for (std::size_t i = first; i < calls.size(); ++i) {
    calls[i].like = first;
    calls[i].outputs = outputs;
  }
}

std::vector<Operator> read_table() {
  std::vector<Operator> table;
  std::ifstream in(source_dir() / "tests/onnx/opsets.txt");
  std::size_t number = 0, open = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (trimmed(line).empty() || line[0] == '#') continue;
    if (line[0] != ' ') {
      if (!table.empty()) expect_of(table.back().calls, open, {});
      const auto dot = line.rfind('.');
      table.push_back(
          {dot == line.npos ? "" : line.substr(0, dot), dot == line.npos ? line : line.substr(dot + 1), {}});
      open = 0;
      continue;
    }
    std::vector<Call>& calls = table.back().calls;
    const std::string text = trimmed(line);
    if (text.starts_with("=>")) {
      expect_of(calls, open, listed(text.substr(2)));
      open = calls.size();
    } else {
      calls.push_back(read_call(text));
      calls.back().line = number;
    }
  }
  if (!table.empty()) expect_of(table.back().calls, open, {});
  return table;
}

// ---- what the table holds by name ----

Message scalar_info(std::string_view name, Elem elem, const std::vector<std::string>& dims) {
  return value(name, tensor_type(elem, dims));
}

/// A branch that returns [number].
Message branch_returning(float number) {
  Tensor tensor = Tensor::make(Elem::f32, {1}).value();
  tensor.as_mutable<float>()[0] = number;
  return graph({.nodes = {}, .inputs = {}, .outputs = {f32("b", {"1"})}, .initializers = {initializer("b", tensor)}});
}

Message body_of(std::string_view name) {
  if (name == "one") return branch_returning(1);
  if (name == "two") return branch_returning(2);
  const Message x = f32("x", {}), y = f32("y", {});
  if (name == "negates") return graph({.nodes = {{"Neg", {"x"}, {"z"}}}, .inputs = {x}, .outputs = {f32("z", {})}});
  const Message sum = value("sum"), copy = value("copy");
  if (name == "adds") {
    return graph({.nodes = {{"Sum", {"x", "y"}, {"sum"}}, {"Identity", {"sum"}, {"copy"}}},
                  .inputs = {value("x"), value("y")},
                  .outputs = {sum, copy}});
  }
  EXPECT_EQ(name, "doubles");
  return graph({.nodes = {{"Identity", {"go"}, {"on"}}, {"Sum", {"x", "x"}, {"sum"}}, {"Identity", {"sum"}, {"copy"}}},
                .inputs = {scalar_info("i", Elem::i64, {}), scalar_info("go", Elem::boolean, {}), f32("x", {"1"})},
                .outputs = {scalar_info("on", Elem::boolean, {}), f32("sum", {"1"}), f32("copy", {"1"})}});
}

/// [1, 2] as values and positions.
Message sparse_pair() {
  const Message values = tensor_to_proto(parse_literal("f32[2] [1, 2]").value(), "v").value();
  const Message places = tensor_to_proto(parse_literal("i64[2] [0, 1]").value()).value();
  return number(text(text({}, 1, values), 2, places), 3, 2);
}

Message named_attribute(std::string_view name, std::string_view what) {
  if (what == "sparse") return text(attribute(name, 11), 22, sparse_pair());
  if (what == "tensor_type") return text(attribute(name, 13), 14, tensor_type(Elem::f32, {"1"}));
  return graph_attr(name, body_of(what));
}

// ---- a call as a model ----

bool is_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value).ptr;
  return end == text.data() + text.size();
}
std::string unquoted(const std::string& text) { return text.substr(1, text.size() - 2); }

Message list_attribute(std::string_view name, const std::vector<std::string>& items) {
  if (items[0].starts_with('"')) {
    Message m = attribute(name, 8);
    for (const std::string& item : items) m = text(m, 9, unquoted(item));
    return m;
  }
  std::vector<std::int64_t> ints;
  std::vector<float> reals;
  for (const std::string& item : items) {
    if (is_integer(item)) ints.push_back(std::stoll(item));
    reals.push_back(std::stof(item));
  }
  return ints.size() == items.size() ? attr(name, ints) : attr(name, reals);
}

Message attribute_of(const std::string& name, const std::string& text) {
  if (text[0] == '@') return named_attribute(name, text.substr(1));
  if (text[0] == '"') return attr(name, unquoted(text).c_str());
  if (text[0] == '[') return list_attribute(name, listed(unquoted(text)));
  if (is_integer(text)) return attr(name, std::int64_t{std::stoll(text)});
  if (text.find('[') == text.npos) return attr(name, std::stof(text));
  const auto tensor = parse_literal(text);
  EXPECT_TRUE(tensor) << text << ": " << (tensor ? "" : tensor.error().text());
  return tensor ? attr(name, *tensor) : Message();
}

Type type_of_datum(const Datum& value, const Scope& scope) {
  if (value.is_tensor()) {
    Shape shape;
    for (const std::int64_t size : value.tensor().sizes()) shape.push_back(Dim(size));
    return Type::tensor(value.tensor().elem(), shape);
  }
  if (value.is_map())
    return Type::map(value.map().items[0].first.elem(), type_of_datum(value.map().items[0].second, scope));
  return Type::sequence(Type::unranked(value.sequence().items[0].tensor().elem()));
}

/// "f32[1] 2", "none", ...: a value; "@some " before it makes it an optional.
Datum datum_of(const std::string& text) {
  auto bindings = parse_bindings("v = " + (text.starts_with("@some ") ? text.substr(6) : text));
  EXPECT_TRUE(bindings) << text << ": " << (bindings ? "" : bindings.error().text());
  return bindings ? (*bindings)[0].second : Datum();
}

struct Made {
  Message model;
  std::vector<Datum> inputs;
};

/// The call as a model whose inputs are graph inputs or, if `fixed` and ONNX allows it, initializers except the first.
Made made(const Operator& op, const Call& call, std::int64_t version, bool fixed) {
  Made out;
  GraphSpec spec;
  NodeSpec node{op.name, {}, {}, {}, "n", op.domain};
  const Scope scope;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const std::string name = fmt::format("i{}", i);
    node.inputs.push_back(call.inputs[i] == "_" ? "" : name);
    if (call.inputs[i] == "_") continue;
    Datum given = datum_of(call.inputs[i]);
    if (fixed && i > 0 && given.is_tensor()) {
      spec.initializers.push_back(initializer(name, given.tensor()));
      continue;
    }
    Type type = type_of_datum(given, scope);
    if (call.inputs[i].starts_with("@some ")) type = Type::optional(std::move(type));
    spec.inputs.push_back(onnx::value_info(name, type, scope));
    out.inputs.push_back(std::move(given));
  }
  for (std::size_t i = 0; i < std::max<std::size_t>(call.outputs.size(), 1); ++i) {
    node.outputs.push_back(fmt::format("o{}", i));
    spec.outputs.push_back(value(node.outputs.back()));
  }
  for (const auto& [name, text] : call.attributes) node.attrs.push_back(attribute_of(name, text));
  spec.nodes.push_back(std::move(node));
  ModelSpec around{.opset = op.domain.empty() ? version : 21};
  if (!op.domain.empty()) around.opsets = {{op.domain, version}};
  out.model = model(graph(spec), around);
  return out;
}

/// The results of the call in an opset, on every tier.
Result<std::vector<Datum>> given_by(const Operator& op, const Call& call, std::int64_t version, bool fixed,
                                    Tolerance tolerance = kClose) {
  const Made made_ = made(op, call, version, fixed);
  FRAZIL_TRY(const Graph graph, import(made_.model));
  return run_tiers(graph, made_.inputs, tolerance);
}

void expect_outputs(const std::vector<Datum>& got, const std::vector<Datum>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto what = difference(got[i], want[i], kClose);
    EXPECT_FALSE(what) << "output " << i << ": " << *what;
  }
}

void PrintTo(const Operator& op, std::ostream* out) { *out << op.name; }

class Opsets : public ::testing::TestWithParam<Operator> {};

TEST_P(Opsets, MeanTheSame) {
  const Operator& op = GetParam();
  for (const Call& call : op.calls) {
    std::vector<Datum> want;
    for (const std::string& output : call.outputs) want.push_back(datum_of(output));
    if (want.empty()) {
      const Call& newest = op.calls[call.like];
      auto given = given_by(op, newest, newest.opsets[0], false);
      ASSERT_TRUE(given) << given.error().text();
      want = std::move(*given);
    }
    for (const std::int64_t version : call.opsets) {
      for (const bool fixed : {false, true}) {
        SCOPED_TRACE(fmt::format("opsets.txt:{}: opset {}{}", call.line, version, fixed ? ", constants" : ""));
        const auto got = given_by(op, call, version, fixed);
        ASSERT_TRUE(got) << got.error().text();
        expect_outputs(*got, want);
      }
    }
  }
}

/// Calls with one attribute removed, or with another value or type.
std::vector<Call> with_other_attributes(const Call& call) {
  const std::string others[] = {"-1",
                                "0",
                                "2",
                                "9223372036854775807",
                                "-9223372036854775808",
                                "0.5",
                                "nan",
                                "[0]",
                                "[-1]",
                                "[1, 1]",
                                "[9223372036854775807]",
                                "[0.5]",
                                "\"\"",
                                "\"x\"",
                                "[\"x\"]",
                                "f32[0] []",
                                "i64[1] [1]"};
  std::vector<Call> calls;
  for (std::size_t i = 0; i < call.attributes.size(); ++i) {
    for (const std::string& other : others) {
      calls.push_back(call);
      calls.back().attributes[i].second = other;
    }
    if (call.attributes[i].first == "seed") continue;  // results without a seed differ each time
    calls.push_back(call);
    calls.back().attributes.erase(calls.back().attributes.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return calls;
}

/// Calls with one input removed or replaced.
std::vector<Call> with_other_inputs(const Operator& op, const Call& call) {
  const std::string others[] = {"_",
                                "f32[] 0",
                                "f32[1] [nan]",
                                "f32[2,2] [1, 2, 3, 4]",
                                "f32[1,1,1,1] [-1]",
                                "f32[0,3] []",
                                "i64[0] []",
                                "i64[] -1",
                                "i64[1] [-1]",
                                "i64[2] [1, 1]",
                                "i64[3] [0, -1, 2]",
                                "i32[1] [-2147483648]",
                                "bool[0] []",
                                "u8[2,0] []",
                                "string[1] [\"a\"]",
                                "i64[] 9223372036854775807",
                                "seq(f32[1] 1)",
                                "i64[2] [-9223372036854775808, 9223372036854775807]"};
  std::vector<Call> calls;
  for (std::size_t i = op.name == "Loop" ? 2 : 0; i < call.inputs.size();
       ++i) {  // the first two inputs of a Loop determine its end
    for (const std::string& other : others) {
      calls.push_back(call);
      calls.back().inputs[i] = other;
    }
  }
  return calls;
}

/// All tiers agree on a value, or an error names the node. Values may be unusual, such as a variance of 0.
void expect_agreement(const Operator& op, const Call& call) {
  const std::int64_t version = call.opsets[0];
  for (const bool fixed : {false, true}) {
    std::string attributes;
    for (const auto& [name, value] : call.attributes) attributes += fmt::format(" {} = {}", name, value);
    SCOPED_TRACE(fmt::format("opsets.txt:{}: opset {}, {}{}{}", call.line, version, fmt::join(call.inputs, ", "),
                             attributes, fixed ? ", constants" : ""));
    const auto got = given_by(op, call, version, fixed, {.rtol = 1e-3, .atol = 1e-3});
    if (got) continue;
    EXPECT_THAT(got.error().text(), testing::HasSubstr("node 'n'"));
  }
}

TEST_P(Opsets, TakeOtherInputs) {
  const Operator& op = GetParam();
  for (const Call& call : op.calls)
    for (const Call& other : with_other_inputs(op, call)) expect_agreement(op, other);
}

TEST_P(Opsets, TakeOtherAttributes) {
  const Operator& op = GetParam();
  for (const Call& call : op.calls)
    for (const Call& other : with_other_attributes(call)) expect_agreement(op, other);
}

INSTANTIATE_TEST_SUITE_P(Table, Opsets, ::testing::ValuesIn(read_table()),
                         [](const ::testing::TestParamInfo<Operator>& row) { return row.param.name; });

/// The table has every operator of the two domains, and the newest opset that the operator implements.
TEST(OpsetTable, HasEveryOperator) {
  link_operators();
  std::map<std::pair<std::string, std::string>, std::set<std::int64_t>> versions;
  std::size_t count = 0;
  for (const Operator& op : read_table()) {
    auto& set = versions[{op.domain, op.name}];
    for (const Call& call : op.calls) set.insert(call.opsets.begin(), call.opsets.end());
    count += set.size();
  }
  EXPECT_EQ(versions.size(), 222u);
  EXPECT_EQ(count, 634u);
  for (const OpDef* op : OpRegistry::global().all()) {
    if (!op->domain.empty() && op->domain != "ai.onnx.ml") continue;
    if (op->name == "SimplifiedLayerNormalization") continue;  // ONNX Runtime's, though in this domain
    const auto it = versions.find({std::string(op->domain), std::string(op->name)});
    if (it == versions.end()) {
      ADD_FAILURE() << op->name << " is not in opsets.txt";
      continue;
    }
    EXPECT_EQ(*it->second.rbegin(), op->since.newest) << op->name;
  }
}

}  // namespace
}  // namespace frazil::test
