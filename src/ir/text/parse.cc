#include <algorithm>
#include <unordered_set>

#include "base/limits/load_scope.h"
#include "base/value/text.h"
#include "ir/edit/builder.h"
#include "ir/edit/graph_writer.h"
#include "ir/op/op_set.h"
#include "ir/text/parse_attributes.h"
#include "ir/text/parse_literal.h"
#include "ir/text/parse_operand.h"
#include "ir/text/parse_type.h"
#include "ir/text/parse_weight.h"
#include "ir/text/text.h"

namespace frazil {
namespace {

using Kind = Token::Kind;

/// A result of a node as written in the text.
struct Output {
  std::size_t token = 0;  ///< its name
  bool wanted = true;
  std::size_t check = ~std::size_t{0};  ///< index of its type among the checks, if it has one
};

/// A block whose end has not been read. `region` and `results` are empty for the graph itself.
struct Open {
  NodeId region;
  BlockId block;
  std::size_t index = 0;
  std::size_t names = 0;  ///< number of names visible outside
  std::size_t op = 0;     ///< token, for errors
  std::vector<Output> results;
};

/// A written type, which is compared with the inferred one at the end.
struct Check {
  Value value;
  std::size_t name, type;  ///< tokens
};

/// Reads the name of an operator: "Add" or "domain::Op".
Result<const OpDef*> read_op(Tokens& tokens, const OpSet* own) {
  const Token first = tokens.peek();
  if (first.kind != Kind::word) return tokens.expected("an operator");
  std::string_view name = tokens.str(tokens.next()), domain;
  if (tokens.take(":")) {
    FRAZIL_CHECK(tokens.expect(":"));
    if (tokens.peek().kind != Kind::word) return tokens.expected("an operator");
    domain = std::exchange(name, tokens.str(tokens.next()));
  }
  if (const OpDef* op = find_operator(own, domain, name)) return op;
  std::string hint;
  for (std::string_view near : OpRegistry::global().close_to(name)) {
    hint += (hint.empty() ? "; did you mean " : " or ") + std::string(near);
  }
  return tokens.error(first, "no operator '{}{}{}'{}", domain, domain.empty() ? "" : "::", name, hint);
}

/// Checks what Builder requires.
Status check_arity(const Tokens& tokens, std::size_t at, const OpDef& op, const std::vector<Value>& inputs,
                   const std::vector<Output>& list) {
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const bool given = i < inputs.size() && inputs[i];
    if (op.inputs[i].use == Port::Use::required && !given) {
      return tokens.error(tokens[at], "{}: input '{}' is missing", op.name, op.inputs[i].name);
    }
  }
  const bool region = std::holds_alternative<Region>(op.form);
  if (region || std::ranges::any_of(list, &Output::wanted)) return {};
  return tokens.error(tokens[at], "{}: no result is requested", op.name);
}

std::vector<bool> wanted(const std::vector<Output>& list) {
  std::vector<bool> w;
  for (const Output& r : list) w.push_back(r.wanted);
  return w;
}

class Parser {
 public:
  Parser(Tokens tokens, const WeightSource& weights, const OpSet* own)
      : own_(own),
        tokens_(std::move(tokens)),
        types_(tokens_, graph_),
        weights_(tokens_, types_, graph_, weights, limits_),
        operands_(tokens_, weights_, graph_, limits_) {
    if (const LoadScope* scope = LoadScope::current()) limits_ = scope->limits();
  }

  Result<Graph> run() {
    FRAZIL_CHECK(header());
    FRAZIL_CHECK(head());
    while (!open_.empty()) FRAZIL_CHECK(statement());
    if (tokens_.peek().kind != Kind::end) return tokens_.expected("the end");
    for (const Check& c : checks_) {
      FRAZIL_CHECK(types_.check(c.type, tokens_.str(tokens_[c.name]), graph_.type(c.value)));
    }
    return std::move(graph_);
  }

 private:
  BlockId block() const { return open_.back().block; }

  // ---- head ----

  Status header() {
    for (;;) {
      if (tokens_.take("dim")) {
        FRAZIL_CHECK(types_.read_bounds());
      } else if (tokens_.take("weight")) {
        FRAZIL_CHECK(weights_.declare());
      } else {
        return {};
      }
    }
  }

  Status head() {
    FRAZIL_CHECK(tokens_.expect("graph"));
    FRAZIL_TRY(graph_.name, read_name(tokens_, limits_));
    FRAZIL_CHECK(tokens_.expect("("));
    for (bool first = true; !tokens_.take(")"); first = false) {
      if (!first) FRAZIL_CHECK(tokens_.expect(","));
      FRAZIL_CHECK(input());
    }
    if (tokens_.take("assume")) {
      FRAZIL_CHECK(tokens_.expect("none"));
      GraphWriter(graph_)->choices.none = true;
    }
    open_.push_back({.region = {}, .block = Graph::kMain, .results = {}});
    return tokens_.expect("{");
  }

  Status input() {
    if (tokens_.peek().kind != Kind::value) return tokens_.expected("an input's name");
    const std::size_t at = tokens_.at;
    FRAZIL_TRY(const std::string name, read_name(tokens_, limits_));
    FRAZIL_CHECK(tokens_.expect(":"));
    FRAZIL_TRY(Type type, types_.read(nullptr));
    Tensor value;
    if (tokens_.take("=")) {
      FRAZIL_TRY(value, default_value(type));
    }
    return operands_.define(at, Builder(graph_).input(name, std::move(type), std::move(value)).value);
  }

  Result<Tensor> default_value(const Type& type) {
    if (at_literal(tokens_) || tokens_.peek().kind == Kind::weight) return weights_.tensor();
    Sizes sizes;
    for (Dim d : type.shape) {
      if (!d.is_const()) return tokens_.expected("a typed literal");
      sizes.push_back(d.value());
    }
    if (!type.is_tensor() || !type.ranked) return tokens_.expected("a typed literal");
    return read_values(tokens_, type.elem, std::move(sizes));
  }

  // ---- nodes ----

  Status statement() {
    const std::string_view end = open_.size() == 1 ? "return" : "yield";
    if (tokens_.take(end)) return open_.size() == 1 ? outputs() : end_block();
    const bool results = tokens_.peek().kind == Kind::value || (tokens_.is("_") && !tokens_.is("(", 1));
    if (!results && tokens_.peek().kind != Kind::word) return tokens_.expected(fmt::format("a node or '{}'", end));
    return node(results);
  }

  Result<std::vector<Output>> results() {
    std::vector<Output> list;
    do {
      Output r{tokens_.at};
      r.wanted = !tokens_.take("_");
      if (r.wanted && tokens_.peek().kind != Kind::value) return tokens_.expected("a result's name");
      if (r.wanted) FRAZIL_CHECK(named_type(r.check));
      list.push_back(r);
    } while (tokens_.take(","));
    return list;
  }

  /// Reads "%x" or "%x: type". The type becomes a check.
  Status named_type(std::size_t& check) {
    const std::size_t name = tokens_.at;
    if (tokens_.next().kind != Kind::value) {
      --tokens_.at;
      return tokens_.expected("a name");
    }
    if (!tokens_.take(":")) return {};
    check = checks_.size();
    checks_.push_back({{}, name, tokens_.at});
    return types_.skip();
  }

  Status node(bool with_results) {
    std::vector<Output> list;
    if (with_results) {
      FRAZIL_TRY(list, results());
      FRAZIL_CHECK(tokens_.expect("="));
    }
    const std::size_t at = tokens_.at;
    if (graph_.node_count() >= limits_.nodes) {
      return fail(Code::limit, "{}the graph has more than {} nodes", tokens_.where(tokens_[at].begin), limits_.nodes);
    }
    FRAZIL_TRY(const OpDef* op, read_op(tokens_, own_));
    FRAZIL_CHECK(tokens_.expect("("));
    FRAZIL_TRY(std::vector<Value> inputs, operands_.read_list(")"));
    FRAZIL_CHECK(tokens_.expect(")"));
    FRAZIL_TRY(Attrs attrs, read_attributes(tokens_, *op, weights_));
    FRAZIL_CHECK(check_arity(tokens_, at, *op, inputs, list));
    if (std::holds_alternative<Region>(op->form)) {
      return region(*op, at, std::move(inputs), std::move(attrs), std::move(list));
    }
    FRAZIL_CHECK(assumed());
    FRAZIL_TRY(std::string name, node_name());
    Builder builder(graph_, block());
    auto made = builder.append(*op, std::move(inputs), std::move(attrs), wanted(list), std::move(name));
    if (!made) return within(tokens_.where(tokens_[at].begin), std::move(made).error());
    return bind(list, *made);
  }

  /// Reads "assume 2, 0": the numbers that the types of the next node assume.
  Status assumed() {
    if (!tokens_.take("assume")) return {};
    std::uint32_t number = 0;
    do {
      FRAZIL_TRY(const std::int64_t value, read_integer(tokens_));
      GraphWriter(graph_)->choices.by_key[{graph_.next_stable(), number++}] = value;
    } while (tokens_.take(","));
    return {};
  }

  Status bind(const std::vector<Output>& list, NodeId id) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!list[i].wanted) continue;
      const Value v = graph_.node(id).out[i];
      if (list[i].check < checks_.size()) checks_[list[i].check].value = v;
      FRAZIL_CHECK(operands_.define(list[i].token, v));
    }
    return {};
  }

  Result<std::string> node_name() {
    if (tokens_.peek().kind != Kind::string) return std::string();
    return read_name(tokens_, limits_);
  }

  // ---- regions ----

  /// Scans the blocks of a region for the number of params of each. Returns the node's name, which follows them, in
  /// `name`.
  Result<std::vector<std::size_t>> survey(const OpDef& op, std::string& name) {
    const std::size_t here = tokens_.at;
    std::vector<std::size_t> params;
    for (std::string_view block : std::get<Region>(op.form).block_attrs) {
      FRAZIL_CHECK(tokens_.expect(block));
      if (!tokens_.is("(")) return tokens_.expected("'('");
      std::size_t count = 0;
      for (std::size_t close = tokens_.peek().match; tokens_.at < close; tokens_.next()) {
        count += tokens_.peek().kind == Kind::value;
      }
      tokens_.next();
      if (!tokens_.is("{")) return tokens_.expected("'{'");
      tokens_.at = tokens_.peek().match + 1;
      params.push_back(count);
    }
    FRAZIL_TRY(name, node_name());
    tokens_.at = here;
    return params;
  }

  Status region(const OpDef& op, std::size_t at, std::vector<Value> inputs, Attrs attrs, std::vector<Output> list) {
    if (open_.size() > limits_.nesting) {
      return fail(Code::limit, "{}regions nest deeper than {} levels", tokens_.where(tokens_[at].begin),
                  limits_.nesting);
    }
    std::optional<bool> side;
    if (tokens_.take("assume")) {
      side = tokens_.is("true");
      if (!tokens_.take("true")) FRAZIL_CHECK(tokens_.expect("false"));
    }
    std::string name;
    FRAZIL_TRY(const std::vector<std::size_t> params, survey(op, name));
    Builder builder(graph_, block());
    auto made = builder.open(op, std::move(inputs), std::move(attrs), params, std::move(name));
    if (!made) return within(tokens_.where(tokens_[at].begin), std::move(made).error());
    if (side) GraphWriter(graph_)->choices.by_key[{graph_.node(*made).stable, 0}] = *side ? 1 : 0;
    open_.push_back({*made, {}, 0, operands_.visible(), at, std::move(list)});
    return begin_block();
  }

  Status begin_block() {
    Open& o = open_.back();
    o.block = graph_.node(o.region).blocks[o.index];
    tokens_.next();
    tokens_.next();
    const std::vector<Value>& params = graph_.block(o.block).params;
    for (std::size_t k = 0; k < params.size(); ++k) {
      if (k > 0) FRAZIL_CHECK(tokens_.expect(","));
      const std::size_t name = tokens_.at, check = checks_.size();
      std::size_t unused = 0;
      FRAZIL_CHECK(named_type(unused));
      if (check < checks_.size()) checks_[check].value = params[k];
      FRAZIL_CHECK(operands_.define(name, params[k]));
    }
    FRAZIL_CHECK(tokens_.expect(")"));
    return tokens_.expect("{");
  }

  Status end_block() {
    FRAZIL_TRY(std::vector<Value> values, operands_.read_list("}"));
    FRAZIL_CHECK(tokens_.expect("}"));
    Open& o = open_.back();
    for (Value v : values) {
      if (!v) return tokens_.error(tokens_[o.op], "a block cannot yield '_'");
    }
    Builder builder(graph_, open_[open_.size() - 2].block);
    builder.yield(o.region, o.index, std::move(values));
    operands_.hide_after(o.names);
    if (++o.index < graph_.node(o.region).blocks.size()) return begin_block();
    const Open closed = std::move(o);
    open_.pop_back();
    FRAZIL_CHECK(node_name());
    if (Status s = builder.close(closed.region, wanted(closed.results)); !s) {
      return within(tokens_.where(tokens_[closed.op].begin), std::move(s).error());
    }
    return bind(closed.results, closed.region);
  }

  Status outputs() {
    Builder builder(graph_);
    std::unordered_set<std::string> given;
    for (bool first = true; !tokens_.is("}"); first = false) {
      if (!first) FRAZIL_CHECK(tokens_.expect(","));
      const Token at = tokens_.peek();
      FRAZIL_TRY(const std::string name, read_name(tokens_, limits_));
      if (!given.insert(name).second) return tokens_.error(at, "output {} is given twice", name);
      FRAZIL_CHECK(tokens_.expect("="));
      if (tokens_.is("_")) return tokens_.expected("a value");
      FRAZIL_TRY(const Value v, operands_.read());
      builder.output(name, {&builder, v});
    }
    open_.pop_back();
    return tokens_.expect("}");
  }

  const OpSet* own_;
  Tokens tokens_;
  LoadLimits limits_{.nodes = UINT64_MAX, .nesting = UINT64_MAX, .name_bytes = UINT64_MAX};
  Graph graph_;
  TypeReader types_;
  WeightReader weights_;
  OperandReader operands_;
  std::vector<Open> open_;
  std::vector<Check> checks_;
};

}  // namespace

Result<Graph> parse(std::string_view text, const WeightSource& weights, const OpSet* own) {
  FRAZIL_TRY(Tokens tokens, Tokens::read(text));
  auto graph = Parser(std::move(tokens), weights, own).run();
  if (!graph) return std::unexpected(printable(std::move(graph).error()));
  return graph;
}

}  // namespace frazil
