#include "ir/text/parse_operand.h"

#include <utility>

#include "ir/edit/builder.h"
#include "ir/text/parse_literal.h"
#include "ir/text/text.h"
#include "sym/name.h"

namespace frazil {

/// Returns the key of the name at a token. Numbers and names have separate key spaces.
Result<std::string> OperandReader::key(std::size_t at) {
  const std::size_t here = std::exchange(tokens_.at, at);
  auto name = read_name(tokens_, limits_);
  tokens_.at = here;
  if (!name) return name;
  return (is_number(at) ? "#" : "=") + *name;
}

bool OperandReader::is_number(std::size_t at) const { return sym::is_digit(tokens_.str(tokens_[at])[1]); }

Status OperandReader::define(std::size_t at, Value value) {
  FRAZIL_TRY(const std::string k, key(at));
  if (!names_.try_emplace(k, value).second) {
    return tokens_.error(tokens_[at], "{} is defined twice", tokens_.str(tokens_[at]));
  }
  if (!is_number(at)) Builder(graph_).name_value(value, std::string_view(k).substr(1));
  visible_.push_back(k);
  return {};
}

void OperandReader::hide_after(std::size_t count) {
  for (std::size_t i = count; i < visible_.size(); ++i) names_.erase(visible_[i]);
  visible_.resize(count);
}

Result<Value> OperandReader::read() {
  if (tokens_.take("_")) return Value{};
  if (tokens_.peek().kind == Token::Kind::weight) return weights_.constant();
  if (at_literal(tokens_)) {
    FRAZIL_TRY(Tensor t, read_literal(tokens_));
    auto [it, fresh] = literals_.try_emplace(literal(t));
    if (fresh) it->second = Builder(graph_).constant(std::move(t)).value;
    return it->second;
  }
  if (tokens_.peek().kind != Token::Kind::value) return tokens_.expected("a value");
  FRAZIL_TRY(const std::string k, key(tokens_.at));
  const auto it = names_.find(k);
  if (it == names_.end()) return tokens_.error(tokens_.peek(), "{} is not defined here", tokens_.peek_str());
  tokens_.next();
  return it->second;
}

Result<std::vector<Value>> OperandReader::read_list(std::string_view close) {
  std::vector<Value> values;
  while (!tokens_.is(close)) {
    if (!values.empty()) FRAZIL_CHECK(tokens_.expect(","));
    FRAZIL_TRY(const Value v, read());
    values.push_back(v);
  }
  return values;
}

}  // namespace frazil
