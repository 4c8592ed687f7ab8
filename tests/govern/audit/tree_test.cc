// The tree, its proofs and its files against a tree that is written down as RFC 6962 defines it.
#include "govern/audit/tree.h"

#include <span>

#include <gtest/gtest.h>

#include "govern/audit/tiles.h"
#include "govern/base/encoding.h"
#include "govern/base/error.h"

namespace frazil::govern {
namespace {

/// MTH(D) of RFC 6962, section 2.1.
Digest naive_root(std::span<const Digest> leaves) {
  if (leaves.empty()) return sha256(std::string_view());
  if (leaves.size() == 1) return leaves[0];
  std::size_t k = 1;
  while (2 * k < leaves.size()) k *= 2;
  return node_hash(naive_root(leaves.first(k)), naive_root(leaves.subspan(k)));
}

SubtreeHash naive_source(const std::vector<Digest>& leaves) {
  return [&leaves](unsigned height, std::uint64_t index) {
    return naive_root(std::span(leaves).subspan(index << height, std::size_t{1} << height));
  };
}

std::vector<Digest> some_leaves(std::size_t count) {
  std::vector<Digest> leaves;
  for (std::size_t i = 0; i < count; ++i) leaves.push_back(leaf_hash("entry " + std::to_string(i)));
  return leaves;
}

TEST(Tree, HasTheKnownRoots) {
  // The leaves and roots that tests of Certificate Transparency use.
  const std::vector<std::string> entries = {
      "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"};
  const std::vector<std::string> roots = {"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
                                          "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
                                          "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
                                          "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
                                          "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
                                          "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
                                          "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
                                          "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};
  EXPECT_EQ(hex(empty_root()), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  TreeEdge edge;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    edge.append(leaf_hash(*from_hex(entries[i])));
    EXPECT_EQ(hex(edge.root()), roots[i]) << i + 1;
  }
}

TEST(Tree, RootsAndInclusionProofsOfAllSizes) {
  const auto leaves = some_leaves(300);
  const SubtreeHash source = naive_source(leaves);
  TreeEdge edge;
  for (std::uint64_t size = 1; size <= leaves.size(); ++size) {
    edge.append(leaves[size - 1]);
    const Digest root = naive_root(std::span(leaves).first(size));
    ASSERT_EQ(edge.root(), root) << size;
    ASSERT_EQ(root_of(size, source), root) << size;
    ASSERT_EQ(TreeEdge(size, source).root(), root) << size;
    for (std::uint64_t index = size % 13; index < size; index += 13) {
      auto proof = inclusion_proof(index, size, source);
      ASSERT_EQ(root_by_inclusion(leaves[index], index, size, proof), root) << index << " of " << size;
      ASSERT_NE(root_by_inclusion(leaves[index], (index + 1) % size, size, proof), size > 1 ? root : Digest());
      proof.push_back(root);
      ASSERT_NE(root_by_inclusion(leaves[index], index, size, proof), root);
    }
  }
}

TEST(Tree, ConsistencyProofsOfAllPairs) {
  const auto leaves = some_leaves(300);
  const SubtreeHash source = naive_source(leaves);
  std::vector<Digest> roots;
  for (std::uint64_t size = 0; size <= leaves.size(); ++size) roots.push_back(root_of(size, source));
  for (std::uint64_t size = 1; size <= leaves.size(); size += size < 70 ? 1 : 23) {
    for (std::uint64_t old = 0; old <= size; ++old) {
      auto proof = consistency_proof(old, size, source);
      ASSERT_TRUE(is_consistent(old, roots[old], size, roots[size], proof)) << old << " " << size;
      ASSERT_FALSE(is_consistent(old, leaves[0] == roots[old] ? leaves[1] : leaves[0], size, roots[size], proof));
      if (old > 0) {  // every tree extends the empty one
        ASSERT_FALSE(is_consistent(old, roots[old], size, empty_root(), proof));
      }
      if (proof.empty()) continue;
      proof.back()[5] ^= 1;
      ASSERT_FALSE(is_consistent(old, roots[old], size, roots[size], proof)) << old << " " << size;
      proof.pop_back();
      ASSERT_FALSE(is_consistent(old, roots[old], size, roots[size], proof)) << old << " " << size;
    }
  }
}

TEST(Tiles, HaveTheNamesOfTheSpecification) {
  const std::vector<std::pair<TileName, std::string>> cases = {
      {{.index = 0}, "tile/0/000"},
      {{.level = 1, .index = 1234067}, "tile/1/x001/x234/067"},
      {{.kind = TileKind::entries, .index = 273, .width = 112}, "tile/entries/273.p/112"},
      {{.kind = TileKind::kept, .index = 1000}, "tile/kept/x001/000"},
  };
  for (const auto& [name, path] : cases) {
    EXPECT_EQ(name.path(), path);
    const auto parsed = TileName::parse(path);
    ASSERT_TRUE(parsed) << path;
    EXPECT_EQ(parsed->path(), path);
  }
  for (const char* bad :
       {"tile/00/000", "tile/0/1", "tile/0/0000", "tile/8/000", "tile/0/x001/x000", "tile/0/000.p/256",
        "tile/0/000.p/0", "tile/0/000.p/01", "tile/a/000", "tile/0/../000", "x/0/000", "tile/0/"}) {
    EXPECT_FALSE(TileName::parse(bad)) << bad;
  }
  // The example of the specification: a tree of 70,000.
  EXPECT_EQ(tile_width(70000, 0, 272), 256);
  EXPECT_EQ(tile_width(70000, 0, 273), 112);
  EXPECT_EQ(tile_width(70000, 1, 1), 17);
  EXPECT_EQ(tile_width(70000, 2, 0), 1);
  EXPECT_EQ(tile_width(256, 0, 1), 0);
}

TEST(Tiles, BundlesThatAreCutOffAreErrors) {
  std::string bundle;
  append_entry(bundle, "one");
  append_entry(bundle, "");
  append_entry(bundle, std::string(kMaxEntryBytes, 'x'));
  EXPECT_EQ(parse_bundle(bundle, 3, "b")[0], "one");
  EXPECT_EQ(parse_bundle(bundle, 3, "b")[2].size(), kMaxEntryBytes);
  EXPECT_THROW(parse_bundle(bundle, 2, "b"), Error);
  EXPECT_THROW(parse_bundle(bundle, 4, "b"), Error);
  EXPECT_THROW(parse_bundle(std::string_view(bundle).substr(0, bundle.size() - 1), 3, "b"), Error);
  const KeptEntries kept{{3, "three"}, {250, ""}};
  EXPECT_EQ(parse_kept(format_kept(kept), "k"), kept);
  EXPECT_THROW(parse_kept(format_kept(kept) + format_kept(kept), "k"), Error);
}

}  // namespace
}  // namespace frazil::govern
