#pragma once

#include <array>
#include <string_view>

namespace bench {

/// A benchmark model in the file DIR/<model>.onnx and its inputs: words as in make_requests(). A model may have several
/// names.
struct Workload {
  std::string_view name, model, inputs;
  double apart = 0;  ///< for quantised models: allowed difference to the peer's results, relative to their RMS
};

inline constexpr auto kWorkloads = std::to_array<Workload>({
    {"floor_add", "floor_add", "x=1"},
    {"chain100", "chain100", "x=4x4"},
    {"mlp_tiny", "mlp_tiny", "x=1x32"},
    {"loop_tiny", "loop_tiny", "x0=1 n==10000"},
    {"loop_rnn", "loop_rnn", "x=1000x1x128 h0=1x128"},
    {"scan_lstm", "scan_lstm", "x=512x1x256 h0=1x256 c0=1x256"},
    {"if_chain", "if_chain", "x=1x64"},
    {"if_in_loop", "if_in_loop", "x=1x128"},
    {"lstm_b1", "lstm", "x=100x1x256"},
    {"lstm_b16", "lstm", "x=100x16x256"},
    {"gru_b1", "gru", "x=100x1x256"},
    {"gru_b16", "gru", "x=100x16x256"},
    {"ew_free", "ew_free", "#1000 x=1..4000x64"},
    {"ew_64", "ew_64", "x=64"},
    {"ew_1024", "ew_1024", "x=1024x1024"},
    {"ewc_1024", "ewc_1024", "x=1024x1024"},
    {"ln_softmax", "ln_softmax", "x=128x768"},
    {"nonzero_gather", "nonzero_gather", "x=1024x64"},
    {"topk_64x1000", "topk", "x=64x1000 k==10"},
    {"topk_1x100k", "topk", "x=1x100000 k==100"},
    {"nms", "nms", "boxes=1x1000x4:0..1 scores=1x5x1000:0..1"},
    {"moe_if", "moe_if", "x=64x512"},
    {"moe_loop", "moe_loop", "x=64x512"},
    {"moe_dense", "moe_dense", "x=64x512"},
    {"moe_if_t1", "moe_if", "x=1x512"},
    {"moe_loop_t1", "moe_loop", "x=1x512"},
    {"moe_dense_t1", "moe_dense", "x=1x512"},
    {"resnet50", "resnet50", "gpu_0/data_0=1x3x224x224"},
    {"squeezenet", "squeezenet", "data_0=1x3x224x224"},
    {"densenet121", "densenet121", "data_0=1x3x224x224"},
    {"shufflenet", "shufflenet", "gpu_0/data_0=1x3x224x224"},
    {"bert_base", "bert_base", "input_ids=1x128:0..30522 attention_mask=1x128:1..2 token_type_ids=1x128"},
    {"resnet50_int8", "resnet50_int8", "gpu_0/data_0=1x3x224x224", 0.2},
    {"bert_base_int8", "bert_base_int8", "input_ids=1x128:0..30522 attention_mask=1x128:1..2 token_type_ids=1x128",
     0.1},
    {"bert_base_dynamic", "bert_base_dynamic",
     "input_ids=1x128:0..30522 attention_mask=1x128:1..2 token_type_ids=1x128", 0.1},
    {"bert_base_32", "bert_base", "input_ids=1x32:0..30522 attention_mask=1x32:1..2 token_type_ids=1x32"},
    {"bert_base_16", "bert_base", "input_ids=1x16:0..30522 attention_mask=1x16:1..2 token_type_ids=1x16"},
    {"bert_base_1", "bert_base", "input_ids=1x1:0..30522 attention_mask=1x1:1..2 token_type_ids=1x1"},
    {"resnet50_bf16", "resnet50_bf16", "gpu_0/data_0=1x3x224x224"},
    {"resnet50_f16", "resnet50_f16", "gpu_0/data_0=1x3x224x224"},
    {"bert_base_bf16", "bert_base_bf16", "input_ids=1x128:0..30522 attention_mask=1x128:1..2 token_type_ids=1x128"},
    {"bert_base_bf16_16", "bert_base_bf16", "input_ids=1x16:0..30522 attention_mask=1x16:1..2 token_type_ids=1x16"},
    {"bert_base_bf16_1", "bert_base_bf16", "input_ids=1x1:0..30522 attention_mask=1x1:1..2 token_type_ids=1x1"},
    {"bert_base_f16", "bert_base_f16", "input_ids=1x128:0..30522 attention_mask=1x128:1..2 token_type_ids=1x128"},
    {"bert_base_f16_16", "bert_base_f16", "input_ids=1x16:0..30522 attention_mask=1x16:1..2 token_type_ids=1x16"},
    {"bert_base_f16_1", "bert_base_f16", "input_ids=1x1:0..30522 attention_mask=1x1:1..2 token_type_ids=1x1"},
    {"bert_small", "bert_small",
     "#200 input_ids=1x5..129:0..30522 attention_mask=1x5..129:1..2 token_type_ids=1x5..129"},
    {"gpt2s_step", "gpt2s_step", "#128 input_ids=1x1:0..50257 past_*=1x12x0x64 present_*>past_*"},
    {"gptt_step", "gptt_step", "#128 input_ids=1x1:0..4096 past_*=1x4x0x64 present_*>past_*"},
    {"gptt_loop", "gptt_loop", "start=1x1:0..4096 steps==128"},
    {"gptt_loopsc", "gptt_loopsc", "start=1x1:0..4096 steps==128"},
    {"silero", "silero", "input=1x512 state=2x1x128 sr==16000"},
    {"silero_vad", "silero", "input=speech.wav:64+512 state=2x1x128:0..0 stateN>state sr==16000"},
    {"face_detector", "face_detector", "input=1x3x240x320:-1..1"},
    {"vgg19", "vgg19", "data_0=1x3x224x224"},
});

}  // namespace bench
