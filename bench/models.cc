#include "bench/models.h"

#include <cmath>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <protozero/pbf_writer.hpp>

#include "bench/host_tensor.h"

namespace bench {
namespace {

using Message = std::string;
using Names = std::vector<std::string>;

template <class Fill>
Message message(Fill fill) {
  Message bytes;
  protozero::pbf_writer writer(bytes);
  fill(writer);
  return bytes;
}

Message node(const std::string& op, const Names& inputs, const Names& outputs) {
  return message([&](auto& w) {
    for (const std::string& name : inputs) w.add_string(1, name);
    for (const std::string& name : outputs) w.add_string(2, name);
    w.add_string(4, op);
  });
}

/// f32 of rank 2, with a free extent N and then `width`.
Message rows(const std::string& name, std::int64_t width) {
  Message free = message([](auto& w) { w.add_string(2, "N"); });
  Message fixed = message([&](auto& w) { w.add_int64(1, width); });
  Message shape = message([&](auto& w) {
    w.add_message(1, free);
    w.add_message(1, fixed);
  });
  Message tensor = message([&](auto& w) {
    w.add_int32(1, static_cast<std::int32_t>(Elem::f32));
    w.add_message(2, shape);
  });
  Message type = message([&](auto& w) { w.add_message(1, tensor); });
  return message([&](auto& w) {
    w.add_string(1, name);
    w.add_message(2, type);
  });
}

struct Weight {
  std::string name;
  Dims dims;
  const std::vector<float>* values;  ///< several weights may share them
};

/// A model of one input and one output, written in pieces: its weights are never in memory at once.
struct Model {
  std::vector<Message> nodes;
  std::vector<Weight> weights;
  Message input, output;

  void write(const std::string& path) const;
};

void append_varint(Message& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<char>(value | 0x80));
  to.push_back(static_cast<char>(value));
}

/// The head of a field of `length` bytes.
Message field_head(unsigned field, std::uint64_t length) {
  Message head;
  append_varint(head, field << 3 | 2);
  append_varint(head, length);
  return head;
}

std::string_view raw(const Weight& weight) {
  return {reinterpret_cast<const char*>(weight.values->data()), weight.values->size() * sizeof(float)};
}

/// An initializer up to its raw bytes, with the head of the field of the graph that it is.
Message weight_head(const Weight& weight) {
  Message tensor = message([&](auto& w) {
    for (std::int64_t dim : weight.dims) w.add_int64(1, dim);
    w.add_int32(2, static_cast<std::int32_t>(Elem::f32));
    w.add_string(8, weight.name);
  });
  tensor += field_head(9, raw(weight).size());
  return field_head(5, tensor.size() + raw(weight).size()) + tensor;
}

void Model::write(const std::string& path) const {
  Message graph = message([&](auto& w) {
    for (const Message& n : nodes) w.add_message(1, n);
    w.add_string(2, "bench");
    w.add_message(11, input);
    w.add_message(12, output);
  });
  std::uint64_t length = graph.size();
  for (const Weight& weight : weights) length += weight_head(weight).size() + raw(weight).size();
  Message opset = message([](auto& w) { w.add_int64(2, 17); });
  Message head = message([&](auto& w) {
    w.add_int64(1, 8);
    w.add_message(8, opset);
  });

  std::ofstream out(path, std::ios::binary);
  out << head << field_head(7, length) << graph;
  for (const Weight& weight : weights) out << weight_head(weight) << raw(weight);
  out.close();
  if (!out) throw std::runtime_error(path + ": cannot be written");
}

/// Values around 0 that keep a product of `width` terms in range.
std::vector<float> spread_values(std::size_t count, int width) {
  std::vector<float> values(count);
  std::uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = (static_cast<float>(state >> 8) * 0x1p-23f - 1.0f) * std::sqrt(3.0f / static_cast<float>(width));
  }
  return values;
}

std::string link(int i, int count) { return i == 0 ? "x" : i == count ? "y" : "v" + std::to_string(i); }

}  // namespace

void write_chain(const std::string& path, int nodes) {
  std::vector<float> add = {0.1f}, mul = {0.9f};
  Model model{.weights = {{"a", {1}, &add}, {"m", {1}, &mul}}, .input = rows("x", 4), .output = rows("y", 4)};
  for (int i = 0; i < nodes; ++i) {
    bool even = i % 2 == 0;
    model.nodes.push_back(node(even ? "Add" : "Mul", {link(i, nodes), even ? "a" : "m"}, {link(i + 1, nodes)}));
  }
  model.write(path);
}

void write_norm(const std::string& path) {
  std::vector<float> scale(64, 1.5f), bias(64, 0.5f);
  Model model{.nodes = {node("LayerNormalization", {"x", "s", "b"}, {"n"}), node("Softmax", {"n"}, {"y"})},
              .weights = {{"s", {64}, &scale}, {"b", {64}, &bias}},
              .input = rows("x", 64),
              .output = rows("y", 64)};
  model.write(path);
}

void write_products(const std::string& path, int layers, int width) {
  std::vector<float> values = spread_values(static_cast<std::size_t>(width) * static_cast<std::size_t>(width), width);
  Model model{.input = rows("x", width), .output = rows("y", width)};
  for (int i = 0; i < layers; ++i) {
    std::string name = "w" + std::to_string(i);
    model.nodes.push_back(node("MatMul", {link(i, layers), name}, {link(i + 1, layers)}));
    model.weights.push_back({name, {width, width}, &values});
  }
  model.write(path);
}

}  // namespace bench
