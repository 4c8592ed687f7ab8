#pragma once

#include <string_view>

namespace bench {

/// A target: `most` is the largest allowed ratio of Frazil's figure to the peer's.
struct Target {
  enum class What { run, load, memory };
  std::string_view name;      ///< name of the row
  std::string_view workload;  ///< model and inputs, in workloads.h
  double most;
  std::string_view twin_inputs;  ///< inputs of the twin; empty: the model has no twin
  What what = What::run;
};

// clang-format off
inline constexpr Target kTargets[] = {
    {"loop_tiny", "loop_tiny", 0.05, "x0=1 n==7000"},
    {"loop_rnn", "loop_rnn", 0.5, "x=700x1x96 h0=1x96"},
    {"scan_lstm", "scan_lstm", 0.5, "x=400x1x192 h0=1x192 c0=1x192"},
    {"if_chain", "if_chain", 0.2, "x=1x48"},
    {"if_in_loop", "if_in_loop", 0.15, "x=1x96"},
    {"lstm_b1", "lstm_b1", 0.8, "x=120x1x192"},
    {"gru_b1", "gru_b1", 0.8, "x=120x1x192"},
    {"ew_1024", "ew_1024", 0.37, "x=768x1280"},
    {"ew_free", "ew_free", 0.4, "#1000 x=1..4000x80"},
    {"ewc_1024", "ewc_1024", 0.30, "x=1280x768"},
    {"ew_64", "ew_64", 0.25, "x=80"},
    {"mlp_tiny", "mlp_tiny", 0.25, "x=1x24"},
    {"chain100", "chain100", 0.2, "x=3x5"},
    {"floor_add", "floor_add", 0.5, "x=3"},
    {"ln_softmax", "ln_softmax", 0.5, "x=96x1024"},
    {"nonzero_gather", "nonzero_gather", 0.8, "x=768x96"},
    {"topk_64x1000", "topk_64x1000", 0.7, "x=48x1300 k==12"},
    {"nms", "nms", 0.7, "boxes=1x900x4:0..1 scores=1x6x900:0..1"},
    {"moe_loop_t1", "moe_loop_t1", 0.15, "x=1x448"},
    {"resnet50", "resnet50", 0.95, "gpu_0/data_0=1x3x224x224"},
    {"resnet50_int8", "resnet50_int8", 0.9, "gpu_0/data_0=1x3x224x224"},
    {"bert_base_int8", "bert_base_int8", 0.9, "input_ids=1x96:0..24000 attention_mask=1x96:1..2 token_type_ids=1x96"},
    {"bert_base_dynamic", "bert_base_dynamic", 0.9, "input_ids=1x96:0..24000 attention_mask=1x96:1..2 token_type_ids=1x96"},
    {"vgg19", "vgg19", 0.75, "data_0=1x3x192x192"},
    {"densenet121", "densenet121", 0.85, "data_0=1x3x192x192"},
    {"squeezenet", "squeezenet", 0.95, "data_0=1x3x200x200"},
    {"shufflenet", "shufflenet", 0.6, "gpu_0/data_0=1x3x192x192"},
    {"bert_base_128", "bert_base", 0.9, "input_ids=1x96:0..24000 attention_mask=1x96:1..2 token_type_ids=1x96"},
    {"bert_base_32", "bert_base_32", 0.65, "input_ids=1x40:0..24000 attention_mask=1x40:1..2 token_type_ids=1x40"},
    {"bert_base_16", "bert_base_16", 0.55, "input_ids=1x12:0..24000 attention_mask=1x12:1..2 token_type_ids=1x12"},
    {"bert_base_1", "bert_base_1", 0.8, "input_ids=1x1:0..24000 attention_mask=1x1:1..2 token_type_ids=1x1"},
    {"bert_small", "bert_small", 0.75, "#150 input_ids=1x9..101:0..24000 attention_mask=1x9..101:1..2 token_type_ids=1x9..101"},
    {"gpt2s_step", "gpt2s_step", 0.85, "#96 input_ids=1x1:0..24000 past_*=1x10x0x64 present_*>past_*"},
    {"gptt_step", "gptt_step", 0.75, "#96 input_ids=1x1:0..3072 past_*=1x5x0x64 present_*>past_*"},
    {"gptt_loop", "gptt_loop", 0.7, "start=1x1:0..3072 steps==96"},
    {"gptt_loopsc", "gptt_loopsc", 0.6, "start=1x1:0..3072 steps==96"},
    {"lstm_b16", "lstm_b16", 0.9, "x=120x12x192"},
    {"gru_b16", "gru_b16", 0.7, "x=120x12x192"},
    {"moe_if", "moe_if", 0.6, "x=48x448"},
    {"moe_loop", "moe_loop", 0.5, "x=48x448"},
    {"moe_dense", "moe_dense", 0.7, "x=48x448"},
    {"moe_if_t1", "moe_if_t1", 1.0, "x=1x448"},
    {"silero_vad", "silero_vad", 0.4, "input=speech.wav:32+256/2 state=2x1x128:0..0 stateN>state sr==8000"},
    {"face_detector", "face_detector", 0.9, ""},
    {"load if_chain", "if_chain", 0.4, "x=1x48", Target::What::load},
    {"load silero", "silero", 0.4, "", Target::What::load},
    {"load resnet50", "resnet50", 0.4, "gpu_0/data_0=1x3x224x224", Target::What::load},
    {"load bert_base", "bert_base", 0.4, "input_ids=1x96:0..24000 attention_mask=1x96:1..2 token_type_ids=1x96", Target::What::load},
    {"memory resnet50", "resnet50", 0.6, "gpu_0/data_0=1x3x224x224", Target::What::memory},
    {"memory bert_base", "bert_base", 0.75, "input_ids=1x96:0..24000 attention_mask=1x96:1..2 token_type_ids=1x96", Target::What::memory},
};
// clang-format on

}  // namespace bench
