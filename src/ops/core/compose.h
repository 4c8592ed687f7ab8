#pragma once

#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "ir/op/define.h"

// Helpers for composite bodies.
namespace frazil::ops {

/// The logarithm of the probability 0.
inline constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

/// Returns x converted to `elem`, or x itself if it has that type already.
Expr as_elem(Expr x, Elem elem);
inline Expr as_f32(Expr x) { return as_elem(x, Elem::f32); }
/// Returns extent `axis` of x as an i64 tensor of one element.
Expr extent(Expr x, std::int64_t axis);
/// Returns extent `axis` of x as an i64 scalar.
Expr extent_scalar(Expr x, std::int64_t axis);
/// Returns the 1-D i64 tensor 0, 1, ... n - 1 for a scalar n.
Expr iota(CompositeCx& cx, Expr n);
/// Concatenates 1-D tensors.
Expr join_shape(std::initializer_list<Expr> parts);
/// Returns an integer constant as a 1-D tensor of one element.
Expr int1(CompositeCx& cx, std::int64_t value);
/// Returns positions [from, to) along one axis.
Expr cut(CompositeCx& cx, Expr x, std::int64_t axis, Expr from, Expr to);
/// Returns slice `index` along one axis, with the axis removed.
Expr pick(CompositeCx& cx, Expr x, std::int64_t axis, std::int64_t index);
/// Returns x with a check that its extents are these, each a 1-D tensor of one element. Messages call x `name`.
Expr fit(Expr x, std::string name, std::initializer_list<Expr> extents);
/// Returns x with a check that it broadcasts to the extents of `to`.
Expr fit_broadcast(Expr x, std::string name, Expr to);
/// Returns x with `count` axes of extent 1 appended.
Expr append_unit_axes(CompositeCx& cx, Expr x, std::size_t count);

/// Returns the same value for use in another block of the graph.
inline Expr captured(Builder& builder, Expr e) { return {&builder, e.value}; }

/// A body of a scan: (states..., slices...) to (states..., outputs...).
using ScanBody = std::function<std::vector<Expr>(CompositeCx& body, std::span<const Expr> params)>;
/// Scans `sequences` along axis 0, from the end if `reverse` is set. Returns the final states, then `outputs` scan
/// outputs.
std::vector<Expr> scan(CompositeCx& cx, std::span<const Expr> states, std::span<const Expr> sequences, bool reverse,
                       std::size_t outputs, const ScanBody& body);

}  // namespace frazil::ops
