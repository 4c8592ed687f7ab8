#include "bench/model_maker.h"
#include "bench/net.h"

namespace bench {
namespace {

using frazil::GraphBuilder;

struct BertSizes {
  int layers;
  std::int64_t width, heads, inner, words;
};

/// [batch, seq, width] to [batch, heads, seq or head, ...].
Term split_heads(const Net& net, Term x, const BertSizes& s, std::initializer_list<std::int64_t> perm) {
  const Term shape =
      net.op("Concat",
             {net.op("Unsqueeze", {net.dim(x, 0), net.ints({0})}), net.op("Unsqueeze", {net.dim(x, 1), net.ints({0})}),
              net.ints({s.heads}), net.ints({s.width / s.heads})},
             {{"axis", 0}});
  return net.op("Transpose", {net.op("Reshape", {x, shape})}, {{"perm", std::vector<std::int64_t>(perm)}});
}

Term attention(const Net& net, Term x, Term mask, const BertSizes& s, bool twin) {
  const Term q = split_heads(net, net.linear(x, s.width, s.width, twin), s, {0, 2, 1, 3});
  const Term k = split_heads(net, net.linear(x, s.width, s.width, twin), s, {0, 2, 3, 1});
  const Term v = split_heads(net, net.linear(x, s.width, s.width, twin), s, {0, 2, 1, 3});
  const double root = std::sqrt(static_cast<double>(s.width / s.heads));
  const Term scores = net.op("Add", {net.op("Div", {net.op("MatMul", {q, k}), net.f(root)}), mask});
  const Term mixed = net.op("Transpose", {net.op("MatMul", {net.op("Softmax", {scores}, {{"axis", -1}}), v})},
                            {{"perm", {0, 2, 1, 3}}});
  const Term shape = net.op("Concat",
                            {net.op("Unsqueeze", {net.dim(mixed, 0), net.ints({0})}),
                             net.op("Unsqueeze", {net.dim(mixed, 1), net.ints({0})}), net.ints({s.width})},
                            {{"axis", 0}});
  return net.linear(net.op("Reshape", {mixed, shape}), s.width, s.width, twin);
}

Term embeddings(const Net& net, Term ids, Term kinds, const BertSizes& s) {
  constexpr std::int64_t kMaxLength = 512;
  Array numbers(Dtype::i64, {1, kMaxLength});
  for (std::int64_t i = 0; i < kMaxLength; ++i) numbers.mutable_values<std::int64_t>()[static_cast<std::size_t>(i)] = i;
  const Term length = net.op("Unsqueeze", {net.dim(ids, 1), net.ints({0})});
  const Term places =
      net.op("Slice", {net.body().constant(numbers), net.ints({0}), length, net.ints({1}), net.ints({1})});
  Term e = net.op("Gather", {net.weight({s.words, s.width}, 0.5), ids});
  e = net.op("Add", {e, net.op("Gather", {net.weight({2, s.width}, 0.2), kinds})});
  return net.op("Add", {e, net.op("Gather", {net.weight({kMaxLength, s.width}, 0.2), places})});
}

frazil::Model bert(const BertSizes& s, bool twin, Dtype type = Dtype::f32) {
  GraphBuilder graph("bert");
  Random random(22, "bert");
  const Net net(graph, random, type);
  const auto input = [&](const char* name) { return graph.input(name, Dtype::i64, {"batch", "seq"}); };
  const Term ids = input("input_ids"), given = input("attention_mask"), kinds = input("token_type_ids");
  Term mask = net.op("Unsqueeze", {net.op("Unsqueeze", {given, net.ints({1})}), net.ints({2})});
  mask = net.op("Mul", {net.op("Sub", {net.f(1), net.to(mask, type)}), net.f(-10000)});
  Term x = net.norm(embeddings(net, ids, kinds, s), s.width, twin);
  for (int layer = 0; layer < s.layers; ++layer) {
    const Term mixed = attention(net, x, mask, s, twin);
    x = net.norm(net.op("Add", twin ? Terms{x, mixed} : Terms{mixed, x}), s.width, twin);
    const Term made = net.linear(net.gelu(net.linear(x, s.width, s.inner, twin)), s.inner, s.width, twin);
    x = net.norm(net.op("Add", twin ? Terms{x, made} : Terms{made, x}), s.width, twin);
  }
  graph.output("last_hidden_state", net.is_half() ? net.widened(x) : net.op("Identity", {x}));
  return graph.build();
}

BertSizes base_sizes(bool twin) {
  return twin ? BertSizes{10, 640, 10, 2560, 24000} : BertSizes{12, 768, 12, 3072, 30522};
}
frazil::Model bert_base(bool twin) { return bert(base_sizes(twin), twin); }
frazil::Model bert_base_bf16(bool twin) { return bert(base_sizes(twin), twin, Dtype::bf16); }
frazil::Model bert_base_f16(bool twin) { return bert(base_sizes(twin), twin, Dtype::f16); }

frazil::Model bert_small(bool twin) {
  return bert(twin ? BertSizes{3, 320, 5, 1280, 24000} : BertSizes{4, 256, 4, 1024, 30522}, twin);
}

/// Small, for many requests.
frazil::Model encoder(bool twin) { return bert({2, 32, 2, 128, 1000}, twin); }

constexpr ModelMaker kNets[] = {{"bert_base", bert_base},
                                {"bert_base_bf16", bert_base_bf16},
                                {"bert_base_f16", bert_base_f16},
                                {"bert_small", bert_small},
                                {"encoder", encoder}};

}  // namespace

std::span<const ModelMaker> net_models() { return kNets; }

}  // namespace bench
