#include "ir/text/parse_type.h"

#include <algorithm>
#include <charconv>

#include "ir/edit/graph_writer.h"
#include "ir/op/max_axes.h"
#include "sym/name.h"

namespace frazil {
namespace {

constexpr int kMaxTypeNesting = 16;

bool is_fresh_name(std::string_view name) {
  return name.size() > 1 && name[0] == '?' && std::ranges::all_of(name.substr(1), sym::is_digit);
}

/// Reads an empty text or a number.
bool read_limit(std::string_view text, std::int64_t& limit) {
  if (text.empty()) return true;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
  return error == std::errc() && end == text.data() + text.size();
}

const Type* item_of(const Type* type) { return type ? type->item.get() : nullptr; }

}  // namespace

Result<Bounds> TypeReader::read_range() {
  const Token first = tokens_.peek();
  if (first.kind != Token::Kind::word) return tokens_.expected("a range");
  tokens_.next();
  std::string text(tokens_.str(first));
  if (tokens_.peek().begin == first.end && tokens_.peek().kind == Token::Kind::word) {
    text += tokens_.str(tokens_.next());
  }
  Bounds b{Dim::kMin, Dim::kMax};
  const std::size_t dots = text.find("..");
  if (dots == text.npos || !read_limit(std::string_view(text).substr(0, dots), b.min) ||
      !read_limit(std::string_view(text).substr(dots + 2), b.max) || b.min > b.max) {
    return tokens_.error(first, "expected a range like 1..64, got '{}'", text);
  }
  return b;
}

Status TypeReader::read_bounds() {
  const Token name = tokens_.next();
  const std::string_view text = tokens_.str(name);
  FRAZIL_CHECK(tokens_.expect("in"));
  FRAZIL_TRY(const Bounds b, read_range());
  Scope& scope = GraphWriter(graph_)->scope;
  if (name.kind == Token::Kind::word && is_fresh_name(text)) {
    bounds_[std::string(text)] = b;
    return {};
  }
  const bool plain = name.kind == Token::Kind::word && sym::quoted_name(text) == text;
  const auto symbol = plain ? Result<Dim>(scope.symbol(text, b)) : parse_dim(scope, text);
  const auto id = symbol ? scope.as_symbol(*symbol) : std::nullopt;
  if (!id) return tokens_.error(name, "expected the name of a dimension, got '{}'", text);
  if (!plain) scope.symbol(std::string(scope.symbol_name(*id)), b);
  return {};
}

void TypeReader::meet(std::string_view text, const Dim* expected) {
  std::vector<std::pair<std::size_t, std::string>> unknown;  // shorter names first: the order of their numbers
  rename_symbols(text, [&](std::string_view name) -> const std::string* {
    if (is_fresh_name(name) && !actual_.contains(std::string(name))) unknown.emplace_back(name.size(), name);
    return nullptr;
  });
  std::ranges::sort(unknown);
  const auto repeated = std::ranges::unique(unknown);
  unknown.erase(repeated.begin(), repeated.end());
  const std::vector<SymbolId> known = expected ? shown_.unnamed(*expected) : std::vector<SymbolId>{};
  Scope& scope = GraphWriter(graph_)->scope;
  for (std::size_t i = 0; i < unknown.size(); ++i) {
    const std::string& name = unknown[i].second;
    const auto limits = bounds_.find(name);
    const SymbolId symbol = i < known.size()
                                ? known[i]
                                : *scope.as_symbol(scope.unbacked(limits == bounds_.end() ? Bounds{} : limits->second));
    shown_.set_name(symbol, name);
    actual_[name] = sym::quoted_name(scope.symbol_name(symbol));
  }
}

Result<Dim> TypeReader::read_dim(const Token& first, const Token& last, const Dim* expected) {
  const std::string_view text = tokens_.str({.begin = first.begin, .end = last.end});
  meet(text, expected);
  const std::string renamed = rename_symbols(text, [&](std::string_view name) {
    const auto it = actual_.find(std::string(name));
    return it == actual_.end() ? nullptr : &it->second;
  });
  auto dim = parse_dim(GraphWriter(graph_)->scope, renamed);
  if (!dim) return within(tokens_.where(first.begin), std::move(dim).error());
  return dim;
}

Result<Shape> TypeReader::read_shape(const Type* expected) {
  Shape shape;
  const std::size_t close = tokens_.peek().match;
  tokens_.next();
  while (tokens_.at < close) {
    const Token first = tokens_.peek();
    Token last = first;
    for (; tokens_.at < close && !tokens_.is(","); tokens_.next()) {
      if (tokens_.is("(")) tokens_.at = tokens_.peek().match;
      last = tokens_.peek();
    }
    const std::size_t axis = shape.size();
    if (axis == kMaxAxes) return tokens_.error(first, "more than {} axes", kMaxAxes);
    const bool match = expected && expected->is_tensor() && axis < expected->rank();
    FRAZIL_TRY(const Dim dim, read_dim(first, last, match ? &expected->shape[axis] : nullptr));
    shape.push_back(dim);
    if (tokens_.take(",") && tokens_.at == close) return tokens_.expected("an extent");
  }
  tokens_.next();
  return shape;
}

Result<Type> TypeReader::read(const Type* expected) { return read(expected, 0); }

Result<Type> TypeReader::read(const Type* expected, int depth) {
  if (depth > kMaxTypeNesting) {
    return fail(Code::limit, "{}types nested deeper than {}", tokens_.where(tokens_.peek().begin), kMaxTypeNesting);
  }
  for (auto [word, make] : {std::pair{"seq", &Type::sequence}, std::pair{"opt", &Type::optional}}) {
    if (!tokens_.take(word)) continue;
    FRAZIL_CHECK(tokens_.expect("<"));
    FRAZIL_TRY(Type item, read(item_of(expected), depth + 1));
    FRAZIL_CHECK(tokens_.expect(">"));
    return make(std::move(item));
  }
  const bool map = tokens_.take("map");
  if (map) FRAZIL_CHECK(tokens_.expect("<"));
  const auto elem = elem_from_name(tokens_.peek_str());
  if (!elem) return tokens_.expected("a type");
  tokens_.next();
  if (map) {
    FRAZIL_CHECK(tokens_.expect(","));
    FRAZIL_TRY(Type value, read(item_of(expected), depth + 1));
    FRAZIL_CHECK(tokens_.expect(">"));
    return Type::map(*elem, std::move(value));
  }
  if (!tokens_.is("[")) return tokens_.expected("'['");
  if (tokens_.is("...", 1) && tokens_.is("]", 2)) {
    tokens_.at += 3;
    return Type::unranked(*elem);
  }
  FRAZIL_TRY(Shape shape, read_shape(expected));
  return Type::tensor(*elem, std::move(shape));
}

Status TypeReader::skip() {
  int depth = 0;
  do {
    const bool map = tokens_.is("map");
    if (tokens_.peek().kind != Token::Kind::word) return tokens_.expected("a type");
    tokens_.next();
    if (tokens_.take("<")) {
      ++depth;
      if (map) tokens_.at += 2;
      continue;
    }
    if (!tokens_.is("[")) return tokens_.expected("'['");
    tokens_.at = tokens_.peek().match + 1;
    while (depth > 0 && tokens_.take(">")) --depth;
  } while (depth > 0);
  return {};
}

Status TypeReader::check(std::size_t at, std::string_view name, const Type& inferred) {
  tokens_.at = at;
  const Token first = tokens_.peek();
  FRAZIL_TRY(const Type written, read(&inferred));
  if (written == inferred) return {};
  return tokens_.error(first, "{} is declared {}, inferred {}", name, shown_.str(written), shown_.str(inferred));
}

}  // namespace frazil
