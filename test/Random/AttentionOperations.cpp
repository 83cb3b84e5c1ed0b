//===- AttentionOperations.cpp - Random attention and its gradient -------===//
//
// Operands in any order of dimensions, keys that queries share, bias, mask and
// factor that lack dimensions, 16-bit types and the roundings between them.
//
//===----------------------------------------------------------------------===//

#include "Operations.h"

using namespace tenon::random;

namespace {

/// What a dimension runs over, as the text spells it, and its extent.
using Dimensions = std::vector<std::pair<std::string, int64_t>>;

class Attention {
public:
  explicit Attention(Program &program) : program(program) {
    Random &random = program.random;
    static const std::vector<int64_t> lengths = {1, 2, 7, 8, 15, 16, 17, 33};
    int64_t queries = random.oneOf(lengths), keys = random.oneOf(lengths);
    if (random.chance(10))
      queries = random.between(60, 100);
    if (random.chance(5))
      keys = random.between(500, 700);
    q = {"q", queries};
    k = {"k", keys};
    d = {"d", random.oneOf<int64_t>({1, 2, 4, 5, 16, 17, 24})};
    v = {"v", random.oneOf<int64_t>({1, 2, 4, 5, 16, 17, 24})};
    for (int64_t i = 0, count = random.between(0, 3); i < count; ++i)
      batch.push_back({std::to_string(i), random.between(1, 2)});
    for (const auto &dimension : batch)
      if (!random.chance(25))
        ofKeys.push_back(dimension);
    isNarrow = random.chance(30);
  }

  void emit();

private:
  struct Operand {
    Value value;
    std::string dims;
    std::string text() const { return value.name + " " + dims; }
  };

  /// A tensor with these dimensions in a random order.
  Type typeOf(Dimensions dimensions, std::string &dims) {
    program.random.shuffle(dimensions);
    Shape shape;
    dims.clear();
    for (const auto &[name, extent] : dimensions) {
      shape.push_back(extent);
      dims += (dims.empty() ? "" : ", ") + name;
    }
    dims = "[" + dims + "]";
    return {shape, &element()};
  }
  const Element &element() {
    return elementNamed(!isNarrow ? "f32" : isHalf ? "f16" : "bf16");
  }
  Operand operand(Dimensions dimensions, const Element *other = nullptr) {
    Operand made;
    Type type = typeOf(std::move(dimensions), made.dims);
    made.value = program.of(other ? type.with(*other) : type);
    return made;
  }
  Dimensions with(Dimensions dimensions,
                  std::initializer_list<Dimensions::value_type> more) {
    dimensions.insert(dimensions.end(), more);
    return dimensions;
  }
  /// Some of all dimensions of the scores.
  Dimensions some() {
    Dimensions chosen;
    for (const auto &dimension : with(batch, {q, k}))
      if (program.random.chance(60))
        chosen.push_back(dimension);
    return chosen;
  }

  Program &program;
  Dimensions::value_type q, k, d, v;
  Dimensions batch, ofKeys;
  bool isNarrow = false, isHalf = false;
};

void Attention::emit() {
  Random &random = program.random;
  isHalf = random.chance(50);
  const Element &single = elementNamed("f32");
  Operand query = operand(with(batch, {q, d})),
          key = operand(with(ofKeys, {k, d})),
          value = operand(with(ofKeys, {k, v}));
  std::string operands = query.text() + ", " + key.text() + ", " + value.text();
  std::vector<Type> taken = {query.value.type, key.value.type,
                             value.value.type};
  std::string settings;
  auto set = [&](const std::string &setting) {
    settings += (settings.empty() ? "" : ", ") + setting;
  };
  auto beside = [&](const std::string &name, const Element &of) {
    Operand made = operand(some(), &of);
    operands += " " + name + " " + made.text();
    taken.push_back(made.value.type);
  };
  if (random.chance(30))
    beside("bias", single);
  if (random.chance(30)) {
    beside("mask", elementNamed("i1"));
    static const std::vector<std::string> fills = {"-1.0e+09", "-1.0e+30",
                                                   "0xFF800000", "0.0"};
    set("fill = " + random.oneOf(fills) + " : f32");
  }
  if (random.chance(30))
    beside("factor", single);
  static const std::vector<std::string> scales = {"1.0", "0.25", "0.17",
                                                  "-3.0"};
  set("scale = " + random.oneOf(scales) + " : f32");
  if (random.chance(40))
    set("causal");
  if (isNarrow && random.chance(60))
    set("rounds_weights");

  std::string outputDims;
  Type output = typeOf(with(batch, {q, v}), outputDims);
  if (isNarrow && random.chance(30))
    output = output.with(single);
  Type row{{}, &single};
  for (const auto &[name, extent] : with(batch, {q}))
    row.shape.push_back(extent);
  std::vector<Value> results =
      program.add({output, row, row},
                  "step.attention " + operands + " -> " + outputDims + " {" +
                      settings + "} : " + signature(taken, {output, row, row}));

  if (random.chance(30))
    return;
  if (isNarrow && random.chance(60))
    set("rounds_weight_gradients");
  if (isNarrow && random.chance(60))
    set("rounds_slopes");
  Operand gradient = operand(with(batch, {q, v}));
  operands += " of " + results[1].name + ", " + results[2].name + ", " +
              gradient.text();
  taken.insert(taken.end(), {row, row, gradient.value.type});
  std::vector<Type> made;
  std::string dims;
  for (const Dimensions &dimensions :
       {with(batch, {q, d}), with(ofKeys, {k, d}), with(ofKeys, {k, v})}) {
    std::string own;
    Type type = typeOf(dimensions, own);
    made.push_back(random.chance(30) ? type.with(single) : type);
    dims += (dims.empty() ? "" : ", ") + own;
  }
  program.add(made, "step.attention_gradient " + operands + " -> " + dims +
                        " {" + settings + "} : " + signature(taken, made));
}

void attention(Program &program) { Attention(program).emit(); }

} // namespace

std::vector<Emitter> tenon::random::attentionEmitters() { return {attention}; }
