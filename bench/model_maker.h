#pragma once

#include <span>
#include <string_view>

#include <frazil/frazil.h>

namespace bench {

struct ModelMaker {
  std::string_view name;
  frazil::Model (*make)(bool twin);
};
std::span<const ModelMaker> plain_models();
std::span<const ModelMaker> loop_models();
std::span<const ModelMaker> net_models();
std::span<const ModelMaker> convnet_models();
std::span<const ModelMaker> decoder_models();
std::span<const ModelMaker> expert_models();

}  // namespace bench
