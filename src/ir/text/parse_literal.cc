#include "ir/text/parse_literal.h"

#include <charconv>

#include "ir/op/max_axes.h"
#include "ir/text/text.h"
#include "ir/text/text_literal.h"

namespace frazil {
namespace {

constexpr std::int64_t kMaxFill = std::int64_t{1} << 20;

using Kind = Token::Kind;

Result<Sizes> read_sizes(Tokens& tokens) {
  Sizes sizes;
  FRAZIL_CHECK(tokens.expect("["));
  while (!tokens.take("]")) {
    if (!sizes.empty()) FRAZIL_CHECK(tokens.expect(","));
    std::int64_t size = 0;
    const std::string_view word = tokens.peek_str();
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), size);
    if (error != std::errc() || end != word.data() + word.size() || size < 0) return tokens.expected("an extent");
    if (sizes.size() == kMaxAxes) return tokens.error(tokens.peek(), "more than {} axes", kMaxAxes);
    sizes.push_back(size);
    tokens.next();
  }
  return sizes;
}

/// Skips one element.
Status skip_element(Tokens& tokens) {
  if (tokens.peek().kind == Kind::word || tokens.peek().kind == Kind::string) {
    tokens.next();
    return {};
  }
  if (!tokens.is("(")) return tokens.expected("a value");
  tokens.at = tokens.peek().match + 1;
  return {};
}

/// Returns the first token of each element of a possibly nested list in brackets.
Result<std::vector<std::size_t>> read_list(Tokens& tokens) {
  std::vector<std::size_t> elements;
  const std::size_t close = tokens.peek().match;
  tokens.next();
  while (tokens.at < close) {
    if (tokens.take("[")) continue;
    if (!elements.empty() || !tokens.is("]")) {
      elements.push_back(tokens.at);
      FRAZIL_CHECK(skip_element(tokens));
    }
    while (tokens.at < close && tokens.take("]")) {
    }
    if (tokens.at < close) FRAZIL_CHECK(tokens.expect(","));
  }
  tokens.at = close + 1;
  return elements;
}

Status store_complex(const Tokens& tokens, std::size_t at, Elem elem, std::byte* to) {
  const Elem part = elem == Elem::c64 ? Elem::f32 : Elem::f64;
  const bool fits = tokens.str(tokens[at]) == "(" && tokens[at].match == at + 4 && tokens.str(tokens[at + 2]) == "," &&
                    read_element(part, tokens.str(tokens[at + 1]), to) &&
                    read_element(part, tokens.str(tokens[at + 3]), to + byte_size(part));
  if (fits) return {};
  return tokens.error(tokens[at], "expected a {} value (re, im)", name_of(elem));
}

Status store_element(const Tokens& tokens, std::size_t at, Elem elem, std::byte* to) {
  const Token& token = tokens[at];
  if (is_complex(elem)) return store_complex(tokens, at, elem, to);
  if (elem == Elem::string) {
    auto text = token.kind == Kind::string ? unquoted(tokens.str(token)) : std::nullopt;
    if (!text) return tokens.error(token, "expected a string, got '{}'", tokens.str(token));
    *reinterpret_cast<std::string*>(to) = std::move(*text);
    return {};
  }
  if (token.kind == Kind::word && read_element(elem, tokens.str(token), to)) return {};
  return tokens.error(token, "expected a {} value, got '{}'", name_of(elem), tokens.str(token));
}

}  // namespace

Result<std::string> read_name(Tokens& tokens) {
  const Token token = tokens.peek();
  std::string_view text = tokens.str(token);
  if (token.kind == Kind::value || token.kind == Kind::weight)
    text.remove_prefix(1);
  else if (token.kind != Kind::word && token.kind != Kind::string)
    return tokens.expected("a name");
  tokens.next();
  if (!text.starts_with('"')) return std::string(text);
  auto name = unquoted(text);
  if (!name) return tokens.error(token, "bad escape in {}", text);
  return std::move(*name);
}

Result<std::string> read_name(Tokens& tokens, const LoadLimits& limits) {
  const Token token = tokens.peek();
  FRAZIL_TRY(std::string name, read_name(tokens));
  if (name.size() <= limits.name_bytes) return name;
  return fail(Code::limit, "{}a name has {} bytes, at most {} are allowed", tokens.where(token.begin), name.size(),
              limits.name_bytes);
}

bool at_literal(const Tokens& tokens) {
  return tokens.peek().kind == Kind::word && elem_from_name(tokens.peek_str()) && tokens.is("[", 1);
}

Result<Tensor> read_literal(Tokens& tokens) {
  const auto elem = elem_from_name(tokens.peek_str());
  if (!elem) return tokens.expected("an element type");
  tokens.next();
  FRAZIL_TRY(Sizes sizes, read_sizes(tokens));
  return read_values(tokens, *elem, std::move(sizes));
}

Result<Tensor> read_values(Tokens& tokens, Elem elem, Sizes sizes) {
  const Token first = tokens.peek();
  const auto bytes = byte_count(elem, sizes);
  if (!bytes) return within(tokens.where(first.begin), bytes.error());
  const std::int64_t count = element_count(sizes);
  const bool list = tokens.is("[");
  std::vector<std::size_t> elements{tokens.at};
  if (list) {
    FRAZIL_TRY(elements, read_list(tokens));
    if (static_cast<std::int64_t>(elements.size()) != count) {
      return tokens.error(first, "{} has {} elements, got {}", type_str(elem, sizes), count, elements.size());
    }
  } else {
    FRAZIL_CHECK(skip_element(tokens));
    if (count > kMaxFill)
      return fail(Code::limit, "{}{} elements are too many to fill", tokens.where(first.begin), count);
  }
  auto tensor = Tensor::make(elem, std::move(sizes));
  if (!tensor) return within(tokens.where(first.begin), std::move(tensor).error());
  for (std::int64_t i = 0; i < count; ++i) {
    std::byte* to = tensor->mutable_data() + static_cast<std::size_t>(i) * byte_size(elem);
    FRAZIL_CHECK(store_element(tokens, elements[list ? static_cast<std::size_t>(i) : 0], elem, to));
  }
  return tensor;
}

Result<Tensor> parse_literal(std::string_view text) {
  FRAZIL_TRY(Tokens tokens, Tokens::read(text));
  FRAZIL_TRY(Tensor tensor, read_literal(tokens));
  if (tokens.peek().kind != Kind::end) return tokens.expected("the end");
  return tensor;
}

namespace {

constexpr int kMaxValueNesting = 16;

Result<Datum> read_datum(Tokens& tokens, int depth = 0);

/// Reads the items between parentheses, each with `item`.
template <class F>
Status read_items(Tokens& tokens, int depth, F item) {
  if (depth == kMaxValueNesting)
    return tokens.error(tokens.peek(), "values nest deeper than {} levels", kMaxValueNesting);
  tokens.next();
  FRAZIL_CHECK(tokens.expect("("));
  for (bool first = true; !tokens.take(")"); first = false) {
    if (!first) FRAZIL_CHECK(tokens.expect(","));
    FRAZIL_CHECK(item());
  }
  return {};
}

Result<Datum> read_sequence(Tokens& tokens, int depth) {
  auto sequence = std::make_shared<Sequence>();
  const auto item = [&]() -> Status {
    FRAZIL_TRY(Datum value, read_datum(tokens, depth + 1));
    sequence->items.push_back(std::move(value));
    return {};
  };
  FRAZIL_CHECK(read_items(tokens, depth, item));
  return Datum(std::shared_ptr<const Sequence>(std::move(sequence)));
}

Result<Datum> read_map(Tokens& tokens, int depth) {
  auto map = std::make_shared<MapValue>();
  const auto entry = [&]() -> Status {
    FRAZIL_TRY(Tensor key, read_literal(tokens));
    FRAZIL_CHECK(tokens.expect(":"));
    FRAZIL_TRY(Datum value, read_datum(tokens, depth + 1));
    map->items.emplace_back(std::move(key), std::move(value));
    return {};
  };
  FRAZIL_CHECK(read_items(tokens, depth, entry));
  return Datum(std::shared_ptr<const MapValue>(std::move(map)));
}

Result<Datum> read_datum(Tokens& tokens, int depth) {
  if (tokens.take("none")) return Datum{};
  if (tokens.is("seq")) return read_sequence(tokens, depth);
  if (tokens.is("map")) return read_map(tokens, depth);
  FRAZIL_TRY(Tensor tensor, read_literal(tokens));
  return Datum(std::move(tensor));
}

}  // namespace

Result<Bindings> parse_bindings(std::string_view text) {
  FRAZIL_TRY(Tokens tokens, Tokens::read(text));
  Bindings bindings;
  while (tokens.peek().kind != Kind::end) {
    if (!bindings.empty()) FRAZIL_CHECK(tokens.expect(","));
    FRAZIL_TRY(std::string name, read_name(tokens));
    FRAZIL_CHECK(tokens.expect("="));
    FRAZIL_TRY(Datum value, read_datum(tokens));
    bindings.emplace_back(std::move(name), std::move(value));
  }
  return bindings;
}

}  // namespace frazil
