#include "vocabulary.h"

#include <limits>
#include <set>

#include "ops/core/registry.h"

namespace frazil::fuzz {

const std::vector<const OpDef*>& operators() {
  static const std::vector<const OpDef*> all = [] {
    link_operators();
    return OpRegistry::global().all();
  }();
  return all;
}

const std::vector<std::string>& other_operators() {
  static const std::vector<std::string> all = {
      "Constant", "Identity",    "Upsample",           "Scatter", "Affine",         "ScaledTanh",
      "Crop",     "ImageScaler", "ParametricSoftplus", "ATen",    "GivenTensorFill"};
  return all;
}

const std::vector<std::string>& attribute_names() {
  static const std::vector<std::string> all = [] {
    std::set<std::string> names = {"value", "value_int", "value_ints", "value_float", "value_string", "sparse_value",
                                   "to",    "broadcast", "type",       "k",           "scales",       "is_test"};
    for (const OpDef* op : operators()) {
      for (const AttrField& field : op->attrs.fields) names.emplace(field.name);
      if (const auto* region = std::get_if<Region>(&op->form)) {
        names.insert(region->block_attrs.begin(), region->block_attrs.end());
      }
    }
    return std::vector<std::string>(names.begin(), names.end());
  }();
  return all;
}

const std::vector<std::string>& attribute_texts() {
  static const std::vector<std::string> all = {"SAME_UPPER",
                                               "SAME_LOWER",
                                               "VALID",
                                               "NOTSET",
                                               "constant",
                                               "reflect",
                                               "edge",
                                               "wrap",
                                               "linear",
                                               "nearest",
                                               "cubic",
                                               "add",
                                               "mul",
                                               "max",
                                               "min",
                                               "none",
                                               "forward",
                                               "reverse",
                                               "bidirectional",
                                               "Tanh",
                                               "Relu",
                                               "Sigmoid",
                                               "Elu",
                                               "half_pixel",
                                               "asymmetric",
                                               "align_corners",
                                               "tf_crop_and_resize",
                                               "ij,jk->ik",
                                               "ii->i",
                                               "...i->...",
                                               "ij",
                                               "DCR",
                                               "CRD",
                                               "sum",
                                               "mean",
                                               "LOWER",
                                               "UPPER",
                                               "floor",
                                               "ceil",
                                               "round_prefer_ceil",
                                               "location",
                                               "offset",
                                               "length",
                                               "checksum",
                                               "0",
                                               "-1",
                                               "",
                                               "FLOAT",
                                               "INT64",
                                               "a",
                                               "N",
                                               "?",
                                               "stretch",
                                               "not_larger"};
  return all;
}

std::int64_t some_integer(Choices& choices) {
  constexpr auto kMinimum = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMaximum = std::numeric_limits<std::int64_t>::max();
  if (choices.chance(75)) return choices.between(-4, 12);
  return choices.pick({kMinimum, kMinimum + 1, kMaximum, kMaximum - 1, std::int64_t{-1} << 31, std::int64_t{1} << 31,
                       (std::int64_t{1} << 31) - 1, std::int64_t{1} << 32, std::int64_t{1} << 61,
                       (std::int64_t{1} << 61) - 1, std::int64_t{1} << 62, std::int64_t{1} << 20, std::int64_t{100},
                       std::int64_t{255}, std::int64_t{65536}});
}

std::int64_t some_extent(Choices& choices) {
  return choices.chance(85) ? choices.between(0, 6) : some_integer(choices);
}

double some_real(Choices& choices) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  return choices.pick({0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 1e-3, 1e10, -1e10, 1e38, -3e38, 1e-40, kInf, -kInf,
                       std::numeric_limits<double>::quiet_NaN()});
}

std::string some_operator(Choices& choices) {
  if (choices.chance(10)) return choices.pick(other_operators());
  return std::string(choices.pick(operators())->name);
}

}  // namespace frazil::fuzz
