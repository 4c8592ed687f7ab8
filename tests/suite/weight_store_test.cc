// The packed forms of weights that all models share.
#include "code/weights/weight_store.h"

#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace frazil::test {
namespace {

code::WeightRef all_of(const Buffer& buffer) { return {&buffer, std::span(buffer.data(), buffer.size())}; }

std::shared_ptr<const code::PackedWeight> packed(const Buffer& buffer, std::int64_t number) {
  return code::WeightStore::global()
      .get(all_of(buffer), code::PackedMatrices{.rows = number}, 64, [](std::byte* to) { *to = std::byte{1}; })
      .value();
}

TEST(WeightStores, ListTheFormsOfAWeight) {
  const Buffer one = Buffer::allocate(256).value(), other = Buffer::allocate(256).value();
  const auto first = packed(one, 1), second = packed(one, 2), others = packed(other, 1);
  const auto gone = [&] { return code::WeightStore::global().forms_of(all_of(one).bytes); };
  EXPECT_EQ(gone().size(), 2u);
  std::vector<std::shared_ptr<const code::PackedWeight>> forms;
  for (const code::PackedPart& part : gone()) forms.push_back(part.form);
  EXPECT_THAT(forms, testing::UnorderedElementsAre(first, second));
}

/// Who lists forms may hold the last reference to one of them, of this weight or of another one.
TEST(WeightStores, ListWhileOthersLetGo) {
  const Buffer one = Buffer::allocate(256).value(), other = Buffer::allocate(256).value();
  const auto stays = packed(one, 1);
  std::atomic<bool> done = false;
  std::thread lets_go([&] {
    for (std::int64_t n = 2; n < 100'000; ++n) {
      const auto of_one = packed(one, n), of_other = packed(other, n);
    }
    done = true;
  });
  while (!done) EXPECT_GE(code::WeightStore::global().forms_of(all_of(one).bytes).size(), 1u);
  lets_go.join();
}

}  // namespace
}  // namespace frazil::test
