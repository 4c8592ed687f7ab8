// Pages, tensors in pages, and which states of a model grow.
#include <array>
#include <cstring>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/same_arrays.h"
#include "server/state/growth.h"
#include "server/state/paged_tensors.h"
#include "server/state/state.h"

namespace frazil::test {
namespace {

using api::Array;
using server::Growing;
using server::Growth;
using server::Page;
using server::PagedTensors;
using server::PageList;
using server::PagePool;
using server::PagePtr;
using testing::ElementsAre;
using Values = server::State::Values;

// ---- pages ----

PagePtr page_of(PagePool& pool, std::string_view text) {
  Page::Draft draft(text.size());
  text.copy(draft.data(), text.size());
  return pool.share(std::move(draft));
}

TEST(PagePool, HasEqualPagesOnce) {
  PagePool pool;
  PagePtr a = page_of(pool, "abc"), b = page_of(pool, "abc"), c = page_of(pool, "abd");
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  EXPECT_EQ(a->bytes(), "abc");
  EXPECT_EQ(pool.counts().pages, 2U);
  EXPECT_EQ(pool.counts().hits, 1U);
  EXPECT_EQ(server::hex_of(a->id()), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(pool.find(a->id()), a);
  EXPECT_EQ(pool.find(server::sha256_of("abd")), nullptr) << "nobody has asked for its name";
  const server::PageId id = a->id();
  const std::string sealed(a->sealed());
  a = b = nullptr;
  EXPECT_EQ(pool.counts().pages, 1U);
  EXPECT_EQ(pool.find(id), nullptr);
  const PagePtr again = pool.unseal(id, sealed);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->bytes(), "abc");
  EXPECT_EQ(pool.find(id), again);
  EXPECT_EQ(page_of(pool, "abc"), again);
  EXPECT_EQ(pool.unseal(c->id(), sealed), nullptr) << "it is another page's";
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string bad = sealed;
    bad[i] = static_cast<char>(bad[i] ^ 4);
    EXPECT_EQ(pool.unseal(id, bad), nullptr) << i;
    EXPECT_EQ(pool.unseal(id, sealed.substr(0, i)), nullptr) << i;
  }
}

TEST(PagePool, ThreadsMakeAndForgetPages) {
  PagePool pool;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&pool, t] {
        std::map<int, PagePtr> held;
        for (int i = 0; i < 2000; ++i) {
          const int what = (i * 7 + t) % 5;
          held[i % 3] = page_of(pool, std::string(100, static_cast<char>(what)));
          ASSERT_EQ(held[i % 3]->bytes()[99], what);
          if (i % 2 == 0) {
            ASSERT_EQ(held[i % 3]->id(), server::sha256_of(std::string(100, static_cast<char>(what))));
          }
        }
      });
    }
  }
  EXPECT_EQ(pool.counts().pages, 0U);
  EXPECT_EQ(pool.counts().bytes, 0U);
}

// ---- tensors ----

/// Elements count up from `first`.
Array counting_array(api::Dtype dtype, api::Sizes sizes, unsigned first = 0) {
  Array array(dtype, std::move(sizes));
  auto* const bytes = static_cast<unsigned char*>(array.mutable_data());
  for (std::size_t i = 0; i < array.bytes(); ++i) bytes[i] = static_cast<unsigned char>(first + i * 7);
  return array;
}

PagedTensors paged(const Values& values, const Growing& growing, std::size_t page_bytes, PagePool& pool,
                   const PagedTensors* before = nullptr) {
  return {PagedTensors::lists_for(values, growing, page_bytes).at(0), values, before, 0, pool};
}

TEST(PagedTensors, ComeBackAsTheyWere) {
  PagePool pool;
  for (const api::Dtype dtype : {api::Dtype::f32, api::Dtype::f16, api::Dtype::i64, api::Dtype::u8, api::Dtype::c128}) {
    for (const std::int64_t length : {0, 1, 7, 8, 33}) {
      for (const std::size_t page : {1U, 100U, 1000U, 100'000U}) {
        const Values values{{"a", counting_array(dtype, {1, 3, length, 4})},
                            {"b", counting_array(dtype, {length}, 3)},
                            {"c", counting_array(dtype, {2, length}, 5)},
                            {"d", counting_array(dtype, {length, 2, 3}, 9)}};
        const Growing growing{{0, 2, 0}, {1, 0, 0}, {2, 1, 0}, {3, 0, 0}};
        const PagedTensors tensors = paged(values, growing, page, pool);
        EXPECT_EQ(tensors.length(), static_cast<std::uint64_t>(length));
        for (std::size_t i = 0; i < values.size(); ++i) EXPECT_TRUE(same(tensors.gather(i), values[i].second)) << i;
        const PageList list = tensors.list();
        EXPECT_TRUE(list.fits());
        const PagedTensors again(list, [&](const server::PageId& id) { return pool.find(id); });
        for (std::size_t i = 0; i < values.size(); ++i) EXPECT_TRUE(same(again.gather(i), values[i].second)) << i;
      }
    }
  }
  EXPECT_EQ(pool.counts().pages, 0U);
}

TEST(PagedTensors, HaveAboutAsManyBytesInAPageAsAreAskedFor) {
  struct Case {
    std::size_t page_bytes;
    std::uint64_t positions;
  };
  const Values values{{"k", counting_array(api::Dtype::f32, {1, 12, 5, 64})}};  // 3 KiB a position
  for (const auto& [bytes, positions] :
       {Case{1, 1}, Case{3071, 1}, Case{6144, 2}, Case{32 << 10U, 8}, Case{64 << 10U, 16}}) {
    EXPECT_EQ(PagedTensors::lists_for(values, {{0, 2, 0}}, bytes).at(0).per_page, positions) << bytes;
  }
}

TEST(PagedTensors, AreThoseWhoseLengthsAgree) {
  const Array f = counting_array(api::Dtype::f32, {2, 3}), other = counting_array(api::Dtype::f32, {2, 4});
  const auto lists_of = [](Values values, const Growing& growing) {
    std::vector<std::size_t> parts;
    for (const PageList& list : PagedTensors::lists_for(values, growing, 100)) parts.push_back(list.parts.size());
    return parts;
  };
  EXPECT_THAT(lists_of({{"a", f}, {"b", f}}, {{0, 1, 0}, {1, 1, 0}}), ElementsAre(2));
  EXPECT_THAT(lists_of({{"a", f}, {"b", other}}, {{0, 1, 0}, {1, 1, 1}}), ElementsAre(1, 1));
  EXPECT_THAT(lists_of({{"a", f}, {"b", other}}, {{0, 1, 0}, {1, 1, 0}}), ElementsAre()) << "they differ in a group";
  EXPECT_THAT(lists_of({{"a", f}}, {{0, 2, 0}}), ElementsAre()) << "no such axis";
  EXPECT_THAT(lists_of({{"a", Array(api::Dtype::string, {3})}}, {{0, 0, 0}}), ElementsAre());
  EXPECT_THAT(lists_of({{"a", Array(api::Dtype::boolean, {3})}}, {{0, 0, 0}}), ElementsAre());
  EXPECT_THAT(lists_of({{"a", Array(api::Dtype::f32, {3, 0})}}, {{0, 0, 0}}), ElementsAre()) << "no elements";
  EXPECT_THAT(lists_of({{"a", Array()}, {"b", Array::sequence({f})}}, {{0, 0, 0}, {1, 0, 1}}), ElementsAre());
}

TEST(PagedTensors, TakeOldPagesWhereTheyAreTheSame) {
  const Growing growing{{0, 1, 0}};
  const auto tensor = [](std::int64_t length, std::int64_t changed) {
    Array array(api::Dtype::f32, {1, length});
    for (std::int64_t i = 0; i < length; ++i)
      array.mutable_values<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i);
    if (changed < length) array.mutable_values<float>()[static_cast<std::size_t>(changed)] = -1;
    return Values{{"k", array}};
  };
  struct Case {
    std::int64_t length, changed;
    std::size_t same;  // pages of those before
  };
  PagePool pool;
  const Values old = tensor(10, 99);
  const PagedTensors before = paged(old, growing, 16, pool);  // 4 positions a page
  for (const auto& [length, changed, same_pages] : {Case{10, 99, 2}, Case{17, 99, 2}, Case{17, 9, 2}, Case{17, 7, 1},
                                                    Case{17, 0, 1}, Case{5, 99, 1}, Case{3, 99, 0}}) {
    const Values now = tensor(length, changed);
    const PagedTensors after = paged(now, growing, 16, pool, &before);
    EXPECT_TRUE(same(after.gather(0), now[0].second)) << length << ' ' << changed;
    const std::set<PagePtr> olds(before.pages().begin(), before.pages().end());
    const auto taken = std::ranges::count_if(after.pages(), [&](const PagePtr& page) { return olds.contains(page); });
    EXPECT_EQ(static_cast<std::size_t>(taken), same_pages) << length << ' ' << changed;
  }
  Values window{{"k", Array(api::Dtype::f32, {1, 10})}};
  for (std::size_t i = 0; i < 10; ++i) window[0].second.mutable_values<float>()[i] = static_cast<float>(i + 1);
  EXPECT_TRUE(same(paged(window, growing, 16, pool, &before).gather(0), window[0].second)) << "a window slides";
}

// ---- growing ports ----

TEST(Growth, IsFoundBySymbolsOrDeclared) {
  const api::Model model = api::Model::from_text(R"(
graph g(%k: f32[1,2,P,4], %v: f32[P,4], %s: f32[N,4], %w: f32[T,4], %x: f32[S,4], %h: f32[M]) {
  %x4 = Unsqueeze(%x, i64[2] [0, 1])
  %two = Expand(%x4, i64[4] [1, 2, 1, 1])
  %k2 = Concat(%k, %two) {axis = 2}
  %v2 = Concat(%v, %x) {axis = 0}
  %s2 = Add(%s, %s)
  %w2 = Slice(%w, i64[1] [1], i64[1] [100], i64[1] [0])
  %h2 = Concat(%h, %h) {axis = 0}
  return k2 = %k2, v2 = %v2, s2 = %s2, w2 = %w2, h2 = %h2
})");
  const auto growing_of = [&](std::vector<server::StateLink> links) {
    std::vector<std::array<std::size_t, 3>> found;
    for (const Growth& growth : server::growing_states(links, model.inputs(), model.outputs())) {
      found.push_back({growth.value, growth.axis, growth.group});
    }
    return found;
  };
  using Found = std::array<std::size_t, 3>;
  EXPECT_THAT(
      growing_of({{.input = "s", .output = "s2"}, {.input = "k", .output = "k2"}, {.input = "v", .output = "v2"}}),
      ElementsAre(Found{1, 2, 0}, Found{2, 0, 0}));
  EXPECT_THAT(
      growing_of({{.input = "s", .output = "s2"}, {.input = "w", .output = "w2"}, {.input = "h", .output = "h2"}}),
      ElementsAre())
      << "equal extents, shorter ones, and multiples are no growth";
  EXPECT_THAT(growing_of({{.input = "w", .output = "w2", .axis = 0}, {.input = "v", .output = "v2"}}),
              ElementsAre(Found{0, 0, 0}, Found{1, 0, 1}));
}

}  // namespace
}  // namespace frazil::test
