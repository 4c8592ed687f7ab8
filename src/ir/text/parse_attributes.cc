#include "ir/text/parse_attributes.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "ir/text/parse_literal.h"
#include "ir/text/text_literal.h"
#include "tensor/onnx_proto.h"

namespace frazil {
namespace {

template <class T>
Result<T> read_number(Tokens& tokens, Elem elem) {
  T value{};
  if (tokens.peek().kind != Token::Kind::word ||
      !read_element(elem, tokens.peek_str(), reinterpret_cast<std::byte*>(&value))) {
    return tokens.expected(elem == Elem::i64 ? "an integer" : "a number");
  }
  tokens.next();
  return value;
}

Result<float> read_real(Tokens& tokens) { return read_number<float>(tokens, Elem::f32); }

Result<std::string> read_string(Tokens& tokens) {
  if (tokens.peek().kind != Token::Kind::string) return tokens.expected("a string");
  return read_name(tokens);
}

template <class List>
Result<List> read_items(Tokens& tokens, Result<typename List::value_type> (*read)(Tokens&)) {
  List values;
  FRAZIL_CHECK(tokens.expect("["));
  while (!tokens.take("]")) {
    if (!values.empty()) FRAZIL_CHECK(tokens.expect(","));
    FRAZIL_TRY(auto value, read(tokens));
    values.push_back(std::move(value));
  }
  return values;
}

template <class T>
Result<AttrValue> widen(Result<T> value) {
  if (!value) return std::unexpected(std::move(value).error());
  return AttrValue(std::move(*value));
}

Result<AttrValue> read_value(Tokens& tokens, AttrKind kind, WeightReader& weights) {
  switch (kind) {
    case AttrKind::integer: return widen(read_integer(tokens));
    case AttrKind::real: return widen(read_real(tokens));
    case AttrKind::string: return widen(read_string(tokens));
    case AttrKind::integers: return widen(read_items<Ints>(tokens, read_integer));
    case AttrKind::reals: return widen(read_items<Floats>(tokens, read_real));
    case AttrKind::strings: return widen(read_items<Strings>(tokens, read_string));
    case AttrKind::tensor: return widen(weights.tensor());
  }
  return tokens.expected("an attribute");
}

/// Reads an element type as the text form of types has it, e.g. f32, or as its number in ONNX.
Result<AttrValue> read_elem(Tokens& tokens) {
  const auto elem = elem_from_name(tokens.peek_str());
  if (!elem) return widen(read_integer(tokens));
  tokens.next();
  return AttrValue(std::int64_t{onnx_data_type(*elem)});
}

/// Reads "axis = 1" into `attrs`. Returns the field.
Result<const AttrField*> read_field(Tokens& tokens, const OpDef& op, WeightReader& weights, void* attrs) {
  const Token token = tokens.peek();
  const AttrField* field = op.attrs.find(tokens.peek_str());
  if (!field) return tokens.error(token, "{} has no attribute '{}'", op.name, tokens.peek_str());
  tokens.next();
  FRAZIL_CHECK(tokens.expect("="));
  FRAZIL_TRY(const AttrValue value, field->element_type ? read_elem(tokens) : read_value(tokens, field->kind, weights));
  if (const Status set = field->set(attrs, value); !set) return tokens.error(token, "{}", set.error().text());
  return field;
}

}  // namespace

Result<std::int64_t> read_integer(Tokens& tokens) { return read_number<std::int64_t>(tokens, Elem::i64); }

Result<Attrs> read_attributes(Tokens& tokens, const OpDef& op, WeightReader& weights) {
  std::shared_ptr<void> attrs = op.attrs.make();
  std::vector<const AttrField*> given;
  if (tokens.take("{")) {
    do {
      FRAZIL_TRY(const AttrField* field, read_field(tokens, op, weights, attrs.get()));
      given.push_back(field);
    } while (tokens.take(","));
    FRAZIL_CHECK(tokens.expect("}"));
  }
  for (const AttrField& f : op.attrs.fields) {
    if (f.required && std::ranges::find(given, &f) == given.end()) {
      return tokens.error(tokens.peek(), "{} needs attribute '{}'", op.name, f.name);
    }
  }
  return attrs;
}

}  // namespace frazil
