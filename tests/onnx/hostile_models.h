#pragma once

#include <fmt/format.h>

#include "model_writer.h"

// Families of small files that stand for much work: each grows with `n`, and what it costs to load must grow no faster
// than the file, or end at a limit.
namespace frazil::test::hostile {

inline Message condition() { return value("c", tensor_type(Elem::boolean, {})); }
inline std::string numbered(std::string_view stem, int i) { return fmt::format("{}{}", stem, i); }

inline NodeSpec call(std::string_view function, const Names& in, const Names& out, std::vector<Message> attrs = {},
                     std::string name = {}) {
  return {std::string(function), in, out, std::move(attrs), std::move(name), "local"};
}
inline FunctionSpec function_of(std::string name, std::vector<NodeSpec> nodes) {
  return {.name = std::move(name), .inputs = {"a"}, .outputs = {"r"}, .attributes = {}, .nodes = std::move(nodes)};
}
/// x: f32[2], y, and these functions.
inline Message calling(std::vector<NodeSpec> nodes, std::vector<FunctionSpec> functions) {
  return model(graph({.nodes = std::move(nodes), .inputs = {f32("x", {"2"})}, .outputs = {value("y")}}),
               {.functions = std::move(functions)});
}

/// A body inside a body inside a body: `wrap` writes one more around `inner`.
template <class Wrap>
Message nested(int n, Message inner, Wrap wrap) {
  for (int i = 0; i < n; ++i) inner = wrap(i, inner);
  return inner;
}

/// Ifs inside Ifs, each with a branch of its own beside.
inline Message deep_ifs(int n) {
  const Message other = graph({.nodes = {{"Neg", {"x"}, {"o"}}}, .inputs = {}, .outputs = {value("o")}});
  const Message inside = nested(n, other, [&](int i, const Message& inner) {
    const std::string out = numbered("r", i);
    return graph({.nodes = {{"If", {"c"}, {out}, {graph_attr("then_branch", inner), graph_attr("else_branch", other)}}},
                  .inputs = {},
                  .outputs = {value(out)}});
  });
  return model(
      graph({.nodes = {{"If", {"c"}, {"y"}, {graph_attr("then_branch", inside), graph_attr("else_branch", other)}}},
             .inputs = {condition(), f32("x", {"2"})},
             .outputs = {value("y")}}));
}

/// Ifs one after the other; with `ranks`, the branches have different ranks.
inline Message wide_ifs(int n, bool ranks) {
  std::vector<NodeSpec> nodes;
  for (int i = 0; i < n; ++i) {
    const std::string in = i == 0 || ranks ? "x" : numbered("v", i - 1);
    const Message one = graph({.nodes = {{"Neg", {in}, {"o"}}}, .inputs = {}, .outputs = {value("o")}});
    const Message two = graph({.nodes = {{ranks ? "Unsqueeze" : "Abs", ranks ? Names{in, "axes"} : Names{in}, {"o"}}},
                               .inputs = {},
                               .outputs = {value("o")}});
    nodes.push_back(
        {"If", {"c"}, {numbered("v", i)}, {graph_attr("then_branch", one), graph_attr("else_branch", two)}});
  }
  return model(graph({.nodes = std::move(nodes),
                      .inputs = {condition(), f32("x", {"2"})},
                      .outputs = {value(numbered("v", n - 1))},
                      .initializers = {initializer("axes", Tensor::of<std::int64_t>({1}, {0}))}}));
}

/// Functions that call the next one `times` times; `around`: the last one calls the first.
inline Message functions(int n, int times, bool around) {
  std::vector<FunctionSpec> all;
  for (int i = 0; i < n; ++i) {
    std::vector<NodeSpec> nodes;
    for (int k = 0; k < times; ++k) {
      nodes.push_back(
          call(numbered("f", i + 1), {k == 0 ? "a" : numbered("t", k - 1)}, {k + 1 == times ? "r" : numbered("t", k)}));
    }
    all.push_back(function_of(numbered("f", i), std::move(nodes)));
  }
  if (around) {
    all.push_back(function_of(numbered("f", n), {call("f0", {"a"}, {"r"})}));
  } else {
    all.push_back(function_of(numbered("f", n), {{"Neg", {"a"}, {"r"}}}));
  }
  return calling({call("f0", {"x"}, {"y"})}, std::move(all));
}

/// Loops inside loops whose carried value grows.
inline Message deep_loops(int n) {
  const auto body = [](const std::string& step, const std::vector<NodeSpec>& nodes) {
    return graph({.nodes = nodes,
                  .inputs = {value("i" + step), value("on" + step), value("v" + step)},
                  .outputs = {value("on" + step), value("w" + step)}});
  };
  const Message inmost = body("", {{"Concat", {"v", "v"}, {"w"}, {attr("axis", 0)}}});
  const Message inside = nested(n, inmost, [&](int i, const Message& inner) {
    const std::string step = std::to_string(i);
    return body(step, {{"Loop", {"m", "", "v" + step}, {"u" + step}, {graph_attr("body", inner)}},
                       {"Concat", {"u" + step, "v" + step}, {"w" + step}, {attr("axis", 0)}}});
  });
  return model(graph({.nodes = {{"Loop", {"m", "", "x"}, {"y"}, {graph_attr("body", inside)}}},
                      .inputs = {value("m", tensor_type(Elem::i64, {})), f32("x", {"2"})},
                      .outputs = {value("y")}}));
}

/// Calls whose nodes and values take names from calls with names of 100 bytes around them, once doubled at each level.
inline Message long_names(int n) {
  std::vector<FunctionSpec> all;
  const std::string name(100, 'n');
  for (int i = 0; i < n; ++i) {
    all.push_back(function_of(numbered("f", i), {call(numbered("f", i + 1), {"a"}, {"t"}, {}, name),
                                                 call(numbered("f", i + 1), {"t"}, {"r"}, {}, name + "2")}));
  }
  all.push_back(function_of(numbered("f", n), {{"Neg", {"a"}, {name}}, {"Abs", {name}, {"r"}}}));
  return calling({call("f0", {"x"}, {"y"})}, std::move(all));
}

/// n inputs of symbolic extents, joined along one axis, and reshaped by the product of all.
inline Message symbols(int n) {
  std::vector<Message> inputs;
  std::vector<NodeSpec> nodes;
  for (int i = 0; i < n; ++i) {
    inputs.push_back(f32(numbered("x", i), {numbered("A", i), numbered("B", i)}));
    nodes.push_back({"Reshape", {numbered("x", i), "all"}, {numbered("r", i)}});
    nodes.push_back(
        {"Concat", {i == 0 ? "r0" : numbered("s", i - 1), numbered("r", i)}, {numbered("s", i)}, {attr("axis", 0)}});
    nodes.push_back({"Shape", {numbered("s", i)}, {numbered("d", i)}});
    nodes.push_back({"Mul", {i == 0 ? "d0" : numbered("p", i - 1), numbered("d", i)}, {numbered("p", i)}});
  }
  nodes.push_back({"Expand", {"one", numbered("p", n - 1)}, {"y"}});
  return model(graph({.nodes = std::move(nodes),
                      .inputs = std::move(inputs),
                      .outputs = {value("y")},
                      .initializers = {initializer("all", Tensor::of<std::int64_t>({1}, {-1})),
                                       initializer("one", Tensor::of<float>({1}, {1}))}}));
}

/// An extent whose text doubles 30 times, and n nodes that have it.
inline Message long_extents(int n) {
  std::vector<NodeSpec> nodes{{"Shape", {"x"}, {"s0"}}};
  for (int i = 0; i < 30; ++i) {
    nodes.push_back({"Add", {numbered("s", i), "one"}, {numbered("t", i)}});
    nodes.push_back({"Mul", {numbered("t", i), numbered("s", i)}, {numbered("s", i + 1)}});
  }
  nodes.push_back({"Expand", {"y0", "s30"}, {"v0"}});
  for (int i = 0; i < n; ++i) nodes.push_back({"Neg", {numbered("v", i)}, {numbered("v", i + 1)}});
  return model(graph({.nodes = std::move(nodes),
                      .inputs = {f32("x", {"A"})},
                      .outputs = {value(numbered("v", n))},
                      .initializers = {initializer("one", Tensor::of<std::int64_t>({1}, {1})),
                                       initializer("y0", Tensor::of<float>({1}, {1}))}}));
}

/// A value of n axes, and n nodes on it.
inline Message axes(int n) {
  std::vector<NodeSpec> nodes;
  for (int i = 0; i < n; ++i) nodes.push_back({"Neg", {i == 0 ? "x" : numbered("v", i - 1)}, {numbered("v", i)}});
  return model(graph({.nodes = std::move(nodes),
                      .inputs = {f32("x", std::vector<std::string>(static_cast<std::size_t>(n), "1"))},
                      .outputs = {value(numbered("v", n - 1))}}));
}

/// Constants of 2^16 elements that nodes make, and then products, powers and copies of these.
inline Message folded(int n) {
  std::vector<NodeSpec> nodes{{"ConstantOfShape", {"square"}, {"m0"}}, {"Range", {"zero", "many", "step"}, {"k0"}}};
  for (int i = 0; i < n; ++i) {
    nodes.push_back({"MatMul", {numbered("m", i), numbered("m", i)}, {numbered("m", i + 1)}});
    nodes.push_back({"Tile", {numbered("k", i), "twice"}, {numbered("k", i + 1)}});
  }
  return model(graph({.nodes = std::move(nodes),
                      .inputs = {f32("x", {"2"})},
                      .outputs = {value(numbered("m", n)), value(numbered("k", n))},
                      .initializers = {initializer("square", Tensor::of<std::int64_t>({2}, {256, 256})),
                                       initializer("zero", Tensor::scalar(std::int64_t{0})),
                                       initializer("many", Tensor::scalar(std::int64_t{65'536})),
                                       initializer("step", Tensor::scalar(std::int64_t{1})),
                                       initializer("twice", Tensor::of<std::int64_t>({1}, {2}))}}));
}

/// A text that doubles in each node.
inline Message doubled_text(int n) {
  std::vector<NodeSpec> nodes;
  for (int i = 0; i < n; ++i) {
    const std::string in = i == 0 ? "s" : numbered("v", i - 1);
    nodes.push_back({"StringConcat", {in, in}, {numbered("v", i)}});
  }
  return model(graph({.nodes = std::move(nodes),
                      .inputs = {f32("x", {"2"})},
                      .outputs = {value(numbered("v", n - 1))},
                      .initializers = {initializer("s", Tensor::of<std::string>({1}, {std::string(1000, 's')}))}}));
}

/// A node with n attributes.
inline Message attributes(int n) {
  NodeSpec node = call("f", {"x"}, {"y"});
  FunctionSpec f = function_of("f", {{"Neg", {"a"}, {"r"}}});
  for (int i = 0; i < n; ++i) {
    node.attrs.push_back(attr(numbered("a", i), i));
    f.attributes.push_back(numbered("a", i));
  }
  return calling({node}, {f});
}

/// An attribute of n numbers that n nodes take from their function.
inline Message referred_attribute(int n) {
  FunctionSpec f = function_of("f", {});
  f.attributes = {"list"};
  for (int i = 0; i < n; ++i) {
    f.nodes.push_back({"Constant", {}, {numbered("k", i)}, {ref_attr("value_ints", 7, "list")}});
  }
  f.nodes.push_back({"Neg", {"a"}, {"r"}});
  const std::vector<std::int64_t> list(static_cast<std::size_t>(n), 1);
  return calling({call("f", {"x"}, {"y"}, {attr("list", list)})}, {f});
}

/// Graphs that stand for attributes of a function, each holding the next one twice.
inline Message referred_graphs(int n) {
  FunctionSpec f = function_of("f", {});
  f.inputs = {"a", "c"};
  const auto choose = [](const std::string& graphs, const std::string& out) -> NodeSpec {
    return {"If", {"c"}, {out}, {ref_attr("then_branch", 5, graphs), ref_attr("else_branch", 5, graphs)}};
  };
  for (int i = 0; i < n; ++i) {
    const std::string out = numbered("o", i);
    f.defaults.push_back(
        graph_attr(numbered("g", i),
                   graph({.nodes = {choose(numbered("g", i + 1), out)}, .inputs = {}, .outputs = {value(out)}})));
  }
  f.defaults.push_back(
      graph_attr(numbered("g", n), graph({.nodes = {{"Neg", {"a"}, {"z"}}}, .inputs = {}, .outputs = {value("z")}})));
  f.nodes = {choose("g0", "r")};
  return model(
      graph(
          {.nodes = {call("f", {"x", "c"}, {"y"})}, .inputs = {condition(), f32("x", {"2"})}, .outputs = {value("y")}}),
      {.functions = {f}});
}

/// A function of n declared types that is called n times.
inline Message declared_types(int n) {
  FunctionSpec f = function_of("f", {{"Neg", {"a"}, {"r"}}});
  for (int i = 0; i < n; ++i) f.more += text({}, 12, value(numbered("t", i), tensor_type(Elem::f32, {})));
  std::vector<NodeSpec> nodes;
  for (int i = 0; i < n; ++i) nodes.push_back(call("f", {"x"}, {i + 1 == n ? "y" : numbered("v", i)}));
  return calling(std::move(nodes), {f});
}

/// A value split into n.
inline Message outputs(int n) {
  NodeSpec split{"Split", {"x"}, {}, {attr("num_outputs", n)}};
  std::vector<Message> results;
  for (int i = 0; i < n; ++i) {
    split.outputs.push_back(numbered("o", i));
    results.push_back(value(numbered("o", i)));
  }
  return model(graph({.nodes = {split}, .inputs = {f32("x", {std::to_string(n)})}, .outputs = std::move(results)}));
}

/// n branches that read n values from outside.
inline Message captures(int n) {
  std::vector<NodeSpec> nodes;
  std::vector<NodeSpec> inside;
  for (int i = 0; i < n; ++i) {
    nodes.push_back({"Neg", {i == 0 ? "x" : numbered("v", i - 1)}, {numbered("v", i)}});
    inside.push_back({"Add", {i == 0 ? "x" : numbered("s", i - 1), numbered("v", i)}, {numbered("s", i)}});
  }
  const Message body = graph({.nodes = inside, .inputs = {}, .outputs = {value(numbered("s", n - 1))}});
  nodes.push_back({"If", {"c"}, {"y"}, {graph_attr("then_branch", body), graph_attr("else_branch", body)}});
  return model(graph({.nodes = std::move(nodes), .inputs = {condition(), f32("x", {"2"})}, .outputs = {value("y")}}));
}

/// Nodes that differ only in an attribute; `reversed`: from the last to the first.
inline Message nodes(int n, bool reversed) {
  std::vector<NodeSpec> all;
  for (int i = 0; i < n; ++i) {
    all.push_back({"LeakyRelu", {"x"}, {numbered("l", i)}, {attr("alpha", 0.5f + 1e-5f * static_cast<float>(i))}});
    all.push_back({"Add", {i == 0 ? "x" : numbered("v", i - 1), numbered("l", i)}, {numbered("v", i)}});
  }
  if (reversed) std::ranges::reverse(all);
  return model(graph({.nodes = std::move(all), .inputs = {f32("x", {"N"})}, .outputs = {value(numbered("v", n - 1))}}));
}

struct Family {
  const char* name;
  Message (*make)(int n);
  int small;  ///< a file of a few kilobytes
  int large;  ///< of about a megabyte, or where a limit is met
  /// Otherwise work or memory grows faster at first, until a limit ends it.
  bool is_linear = true;
};

inline constexpr Family kFamilies[] = {
    {"nodes", [](int n) { return nodes(n, false); }, 100, 10'000},
    {"nodes, the last first", [](int n) { return nodes(n, true); }, 100, 10'000},
    {"Ifs inside each other", deep_ifs, 20, 8'000},
    {"Ifs in a row", [](int n) { return wide_ifs(n, false); }, 20, 8'000},
    {"Ifs of different ranks", [](int n) { return wide_ifs(n, true); }, 20, 8'000},
    {"functions in a chain", [](int n) { return functions(n, 1, false); }, 50, 19'000, false},
    {"functions that double", [](int n) { return functions(n, 2, false); }, 10, 60},
    {"functions that call themselves", [](int n) { return functions(n, 1, true); }, 50, 19'000},
    {"loops inside each other", deep_loops, 20, 6'000, false},
    {"long names", long_names, 8, 40},
    {"symbols", symbols, 20, 3'000},
    {"long extents", long_extents, 20, 20'000},
    {"axes", axes, 100, 30'000, false},
    {"folded constants", folded, 10, 10'000},
    {"text that doubles", doubled_text, 10, 60},
    {"attributes", attributes, 100, 40'000},
    {"an attribute of many nodes", referred_attribute, 100, 20'000},
    {"graphs of graphs", referred_graphs, 5, 60},
    {"declared types", declared_types, 50, 20'000},
    {"outputs", outputs, 100, 40'000},
    {"captures", captures, 50, 8'000},
};

}  // namespace frazil::test::hostile
