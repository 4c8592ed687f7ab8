// Invalid attributes and indices of operators of ai.onnx.ml; more cases of trees are in suite/ml_tree.frz.
#include "error/refusal_rows.h"

namespace frazil::test {
namespace {

// One tree of three nodes; the first leads to the others, which are leaves.
#define NODES(trees, ids, features, yes, no)                                                                     \
  "nodes_treeids = [" trees "], nodes_nodeids = [" ids "], nodes_featureids = [" features "], "                  \
  "nodes_values = [1, 0, 0], nodes_modes = [\"BRANCH_LT\", \"LEAF\", \"LEAF\"], nodes_truenodeids = [" yes "], " \
  "nodes_falsenodeids = [" no "], "
#define GOOD_NODES NODES("0, 0, 0", "0, 1, 2", "1, 0, 0", "1, 0, 0", "2, 0, 0")
#define ENSEMBLE_VOTES(prefix, trees, nodes, ids)                                                               \
  prefix "_treeids = [" trees "], " prefix "_nodeids = [" nodes "], " prefix "_ids = [" ids "], " prefix \
         "_weights = [1, 2], "

std::vector<AttrRow> ml_attribute_rows() {
  constexpr std::string_view matrix = "%x = f32[2,2] [1, 2, 3, 4]";
  std::vector<AttrRow> all = {
      {"ai.onnx.ml::LinearClassifier(%x)",
       matrix,
       "coefficients = [1, 2], intercepts = [0], classlabels_ints = [1, 2]",
       {{"coefficients = [1, 2], intercepts = [0], classlabels_ints = [1, 2, 3]", "3 class labels for 1 scores"},
        {"coefficients = [1, 2], intercepts = [0], classlabels_ints = []", "class labels must be given"}}},
      {"ai.onnx.ml::LinearRegressor(%x)",
       matrix,
       "coefficients = [1, 2, 3, 4], targets = 2",
       {{"coefficients = [1, 2, 3, 4], targets = 3", "rows of 3 scores"},
        {"coefficients = [1, 2, 3, 4], targets = " HIGH, HIGH},
        {"coefficients = [1, 2, 3, 4], targets = " LOW, LOW},
        {"coefficients = [1, 2, 3, 4], targets = 4", "input 'X': 2 is not 1"}}},
      {"ai.onnx.ml::FeatureVectorizer(%x)",
       matrix,
       "inputdimensions = [3]",
       {{"inputdimensions = [-1]", "inputdimensions[0] = -1"},
        {"inputdimensions = [" HIGH "]", HIGH},
        {"inputdimensions = [1, 2]", "2 entries for 1 inputs"},
        {"inputdimensions = [2147483647]", "limit", true}}},
      {"ai.onnx.ml::SVMClassifier(%x)",
       matrix,
       "classlabels_ints = [1, 2], vectors_per_class = [1, 1], support_vectors = [1, 0, 0, 1], coefficients = [1, 1], "
       "rho = [0]",
       {{"classlabels_ints = [1], vectors_per_class = [1, 1], support_vectors = [1, 0, 0, 1], coefficients = [1, 1], "
         "rho = [0]",
         "2 entries for 1 class labels"},
        {"classlabels_ints = [1, 2], vectors_per_class = [" HIGH ", " HIGH "], support_vectors = [1, 0], "
         "coefficients = [1, 1], rho = [0]",
         HIGH},
        {"classlabels_ints = [1, 2], vectors_per_class = [1, " LOW "], support_vectors = [1, 0], "
         "coefficients = [1, 1], rho = [0]",
         LOW}}},
      {"ai.onnx.ml::SVMRegressor(%x)",
       matrix,
       "n_supports = 1, coefficients = [1], support_vectors = [1, 2], rho = [0]",
       {{"n_supports = 2, coefficients = [1], support_vectors = [1, 2], rho = [0]", "for 2 support vectors"},
        {"n_supports = " LOW ", coefficients = [1], support_vectors = [1, 2], rho = [0]", LOW},
        {"n_supports = " HIGH ", coefficients = [1], support_vectors = [1, 2], rho = [0]", HIGH}}},
      {"ai.onnx.ml::TreeEnsembleRegressor(%x)",
       matrix,
       GOOD_NODES ENSEMBLE_VOTES("target", "0, 0", "1, 2", "0, 1") "n_targets = 2",
       {{NODES("0, 0", "0, 1, 2", "1, 0, 0", "1, 0, 0", "2, 0, 0") "n_targets = 2", "nodes_treeids has 2"},
        {NODES("0, 0, 0", "0, 1, 1", "1, 0, 0", "1, 0, 0", "2, 0, 0") "n_targets = 2", "node 1 twice"},
        {NODES("0, 0, 0", "0, 1, 2", HIGH ", 0, 0", "1, 0, 0", "2, 0, 0") "n_targets = 2", HIGH},
        {NODES("0, 0, 0", "0, 1, 2", "2, 0, 0", "1, 0, 0", "2, 0, 0") "n_targets = 2", "test column 2"},
        {NODES("0, 0, 0", "0, 1, 2", "0, 0, 0", LOW ", 0, 0", "2, 0, 0") "n_targets = 2", "no node " LOW},
        {NODES("0, 0, 0", "0, 1, 2", "0, 0, 0", "1, 0, 0", "3, 0, 0") "n_targets = 2", "no node 3"},
        {GOOD_NODES "nodes_missing_value_tracks_true = [1]", "nodes_missing_value_tracks_true has 1"},
        {GOOD_NODES ENSEMBLE_VOTES("target", "1, 0", "1, 2", "0, 1") "n_targets = 2", "tree 1 has no node 1"},
        {GOOD_NODES ENSEMBLE_VOTES("target", "0, 0", "1, " LOW, "0, 1") "n_targets = 2", "no node " LOW},
        {GOOD_NODES ENSEMBLE_VOTES("target", "0, 0", "1, 2", "0, 2") "n_targets = 2", "target 2, outside"},
        {GOOD_NODES ENSEMBLE_VOTES("target", "0, 0", "1, 2", "0, 1") "n_targets = " LOW, LOW},
        {GOOD_NODES "n_targets = 2147483647", "limit", true}}},
      {"ai.onnx.ml::TreeEnsembleClassifier(%x)",
       matrix,
       GOOD_NODES ENSEMBLE_VOTES("class", "0, 0", "1, 2", "0, 1") "classlabels_int64s = [5, 6]",
       {{NODES("0, 0, 1", "0, 1, 2", "1, 0, 0", "1, 0, 0", "2, 0, 0") "classlabels_int64s = [5, 6]", "no node 2"},
        {NODES("0, 0, 0", "0, 1", "1, 0, 0", "1, 0, 0", "2, 0, 0") "classlabels_int64s = [5, 6]", "for 2 nodes"},
        {NODES("0, 0, 0", "0, 1, 2", "-1, 0, 0", "1, 0, 0", "2, 0, 0") "classlabels_int64s = [5, 6]", "feature -1"},
        {NODES("0, 0, 0", "0, 1, 2", "0, 0, 0", "0, 0, 0", "2, 0, 0") "classlabels_int64s = [5, 6]", "cycle"},
        {NODES("0, 0, 0", "0, 1, 2", "0, 0, 0", "1, 0, 0", "2, 0") "classlabels_int64s = [5, 6]", "falsenodeids has 2"},
        {GOOD_NODES "classlabels_int64s = [5], nodes_missing_value_tracks_true = [1, 1, 1, 1]", "has 4 entries"},
        {GOOD_NODES ENSEMBLE_VOTES("class", "0, " HIGH, "1, 2", "0, 1") "classlabels_int64s = [5, 6]", HIGH},
        {GOOD_NODES ENSEMBLE_VOTES("class", "0, 0", "1, 7", "0, 1") "classlabels_int64s = [5, 6]", "no node 7"},
        {GOOD_NODES ENSEMBLE_VOTES("class", "0, 0", "1, 2", "0, 2") "classlabels_int64s = [5, 6]", "class_ids[1] is 2"},
        {GOOD_NODES ENSEMBLE_VOTES("class", "0, 0", "1, 2", "0, 1") "classlabels_int64s = []",
         "class labels must be given"}}},
      {"ai.onnx.ml::ZipMap(%x)",
       matrix,
       "classlabels_int64s = [1, 2]",
       {{"classlabels_int64s = [1]", "2 is not 1|for 1 class labels"},
        {"classlabels_int64s = []", "one of classlabels"}}},
      {"ai.onnx.ml::LabelEncoder(%x)",
       "%x = i64[1] 1",
       "keys_int64s = [1, 1], values_int64s = [2, 3]",
       {{"keys_int64s = [1, 1], values_int64s = [2]", "2 keys, but 1 values"},
        {"keys_int64s = [1], values_int64s = [2, 3]", "1 keys, but 2 values"}}},
      {"ai.onnx.ml::CategoryMapper(%x)",
       "%x = i64[1] 1",
       "cats_int64s = [1], cats_strings = [\"a\"]",
       {{"cats_int64s = [1, 2], cats_strings = [\"a\"]", "1 cats_strings, but 2 cats_int64s"}}},
      {"ai.onnx.ml::OneHotEncoder(%x)",
       "%x = i64[1] 1",
       "cats_int64s = [1]",
       {{"cats_int64s = [1], cats_strings = [\"a\"]", "one of cats_int64s"},
        {"cats_int64s = [2], zeros = 0", "element 0 is not a category"}}},
      {"ai.onnx.ml::Imputer(%x)",
       "%x = i32[1] 1",
       "imputed_value_int64s = [1]",
       {{"imputed_value_int64s = [1, 2]", "imputed_value_int64s"},
        {"imputed_value_int64s = [" HIGH "]", HIGH},
        {"imputed_value_int64s = []", "is missing"}}},
  };
  return all;
}

class MlAttributes : public testing::TestWithParam<AttrRow> {};

TEST_P(MlAttributes, AreRefused) { expect_bad_attributes(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Rows, MlAttributes, testing::ValuesIn(ml_attribute_rows()),
                         [](const auto& row) { return name_of_row(row.param.call, row.index); });

TEST(MlIndices, AreRefused) {
  constexpr std::string_view call = "ai.onnx.ml::ArrayFeatureExtractor(%x, %i)", data = "%x = f32[1,3] [1, 2, 3]";
  for (const Delivery& how : kDeliveries) {
    SCOPED_TRACE(how.str());
    expect_served(attempt(Call{call, data, "%i = i64[1,2] [2, -3]"}, how));
    expect_refused(attempt(Call{call, data, "%i = i64[1,2] [0, 3]"}, how), "index 3");
    expect_refused(attempt(Call{call, data, "%i = i64[1] [" LOW "]"}, how), LOW);
    expect_refused(attempt(Call{call, data, "%i = i64[] " HIGH}, how), HIGH);
  }
}

/// Maps occur in requests only.
TEST(MlAttributes, OfMaps) {
  const auto with = [](std::string_view op, std::string_view attrs) {
    const std::string text = fmt::format(
        "graph g(%m: map<i64, f32[]>) {{ %y = ai.onnx.ml::{}(%m) {{{}}} \"bad\" return y = %y }}", op, attrs);
    return attempt(text, parse_bindings("%m = map(i64[] 2: f32[] 1)").value());
  };
  expect_served(with("CastMap", "map_form = \"SPARSE\", max_map = 3"));
  expect_refused(with("CastMap", "map_form = \"SPARSE\", max_map = 2"), "key 2 is outside [0, 2)");
  expect_refused(with("CastMap", "map_form = \"SPARSE\", max_map = 0"), "max_map 0");
  expect_refused(with("CastMap", "map_form = \"SPARSE\", max_map = " HIGH), HIGH);
  expect_refused(with("CastMap", "map_form = \"SPARSE\", max_map = 2147483647"), "limit", true);
  expect_served(with("DictVectorizer", "int64_vocabulary = [2, " LOW "]"));
  expect_refused(with("DictVectorizer", "int64_vocabulary = []"), "one of int64_vocabulary");
}

/// Switches, hints, and numbers for which every value is valid.
const std::set<std::string_view> kFreeMlAttributes = {"default_int64", "multi_class", "one_class",
                                                      "replaced_value_int64", "zeros"};

TEST(MlTables, CoverEveryIntegerAttribute) {
  const auto all = ml_attribute_rows();
  auto tried = tried_attributes(all);
  const std::set<std::string_view> elsewhere = {"CastMap", "DictVectorizer",  // above
                                                "TreeEnsemble"};              // suite/ml_tree.frz
  for (const OpDef* op : OpRegistry::global().all()) {
    if (op->domain != "ai.onnx.ml" || elsewhere.contains(op->name)) continue;
    expect_integers_tried(*op, tried[op->name], kFreeMlAttributes);
  }
}

}  // namespace
}  // namespace frazil::test
