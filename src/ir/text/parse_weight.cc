#include "ir/text/parse_weight.h"

#include "ir/edit/builder.h"
#include "ir/text/parse_literal.h"

namespace frazil {

Status WeightReader::declare() {
  if (tokens_.peek().kind != Token::Kind::weight) return tokens_.expected("a weight's name");
  FRAZIL_TRY(std::string name, read_name(tokens_, limits_));
  FRAZIL_CHECK(tokens_.expect(":"));
  declared_[std::move(name)] = tokens_.at;
  return types_.skip();
}

Result<Tensor> WeightReader::tensor() {
  if (tokens_.peek().kind != Token::Kind::weight) return read_literal(tokens_);
  const Token token = tokens_.peek();
  FRAZIL_TRY(const std::string name, read_name(tokens_, limits_));
  const auto declared = declared_.find(name);
  if (declared == declared_.end()) return tokens_.error(token, "{} is not declared", tokens_.str(token));
  Tensor t = source_ ? source_(name) : Tensor{};
  if (!t.defined()) return tokens_.error(token, "no tensor is given for {}", tokens_.str(token));
  const std::size_t here = tokens_.at;
  const Type type = Type::tensor(t.elem(), Shape(t.sizes().begin(), t.sizes().end()));
  FRAZIL_CHECK(types_.check(declared->second, tokens_.str(token), type));
  tokens_.at = here;
  return t;
}

Result<Value> WeightReader::constant() {
  const std::size_t at = tokens_.at;
  FRAZIL_TRY(const std::string name, read_name(tokens_, limits_));
  if (const auto it = constants_.find(name); it != constants_.end()) return it->second;
  tokens_.at = at;
  FRAZIL_TRY(Tensor t, tensor());
  return constants_[name] = Builder(graph_).constant(std::move(t), name).value;
}

}  // namespace frazil
