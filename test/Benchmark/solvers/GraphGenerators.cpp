//===- GraphGenerators.cpp - seeded problems for the solver benchmarks ----===//
//
// See the header. Every generator draws from its own Random in a fixed order.
//
//===----------------------------------------------------------------------===//

#include "GraphGenerators.h"

#include <algorithm>

using namespace tenon::benchmark;

uint64_t Random::next() {
  uint64_t z = state += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

int64_t Random::between(int64_t low, int64_t high) {
  return low + static_cast<int64_t>((static_cast<unsigned __int128>(next()) *
                                     uint64_t(high - low + 1)) >>
                                    64);
}

bool Random::chance(double probability) {
  return double(next() >> 11) * 0x1.0p-53 < probability;
}

RecomputeProblem tenon::benchmark::layered(const LayeredShape &shape,
                                           uint64_t seed) {
  Random random(seed);
  RecomputeProblem problem;
  for (int32_t layer = 0; layer < shape.layers; ++layer)
    for (int32_t column = 0; column < shape.width; ++column) {
      auto node = static_cast<int32_t>(problem.nodes.size());
      problem.nodes.push_back({random.between(1, shape.maxCost),
                               random.between(1, shape.maxBytes)});
      if (layer == 0)
        continue;
      int32_t previous = (layer - 1) * shape.width;
      auto sure = static_cast<int32_t>(
          random.between(previous, previous + shape.width - 1));
      double probability = shape.edgeProbability;
      for (int32_t above = layer - 1; above >= 0 && probability > 1e-6;
           --above, probability *= shape.decay)
        for (int32_t input = above * shape.width;
             input < (above + 1) * shape.width; ++input)
          if (random.chance(probability) || input == sure)
            problem.edges.push_back({input, node});
    }
  return problem;
}

RecomputeProblem tenon::benchmark::anyGraph(int32_t nodes,
                                            double edgeProbability, bool extras,
                                            uint64_t seed) {
  Random random(seed);
  RecomputeProblem problem;
  int64_t maxCost = random.chance(0.5) ? 4 : 30;
  int64_t maxBytes = random.chance(0.5) ? 3 : 20;
  for (int32_t node = 0; node < nodes; ++node) {
    RecomputeProblem::Node data;
    data.cost = random.between(0, maxCost);
    data.bytes = random.between(random.chance(0.1) ? 0 : 1, maxBytes);
    if (extras && random.chance(0.1))
      data.workspace = random.between(1, maxBytes);
    data.pinned = extras && random.chance(0.1);
    problem.nodes.push_back(data);
  }
  for (int32_t node = 0; extras && node < nodes; ++node)
    if (random.chance(0.1))
      problem.extraOutputs.push_back({node, random.between(0, maxBytes)});
  for (int32_t value = 0; value < problem.valueCount(); ++value)
    for (int32_t user = problem.producer(value) + 1; user < nodes; ++user)
      if (random.chance(edgeProbability))
        problem.edges.push_back({value, user});
  for (int32_t node = 1; extras && node < nodes; ++node)
    if (random.chance(0.15))
      for (auto [value, user] : problem.edges)
        if (user == node) {
          problem.aliases.push_back({node, value});
          break;
        }
  // An output written over an input; those of views stay as they are.
  for (int32_t node = 1; extras && problem.aliases.empty() && node < nodes;
       ++node)
    if (problem.nodes[node].workspace == 0 && random.chance(0.2))
      problem.nodes[node].workspace =
          -random.between(0, problem.nodes[node].bytes);
  // What a run needs because of other runs.
  if (extras && random.chance(0.4)) {
    for (RecomputeProblem::Node &node : problem.nodes)
      if (random.chance(0.2))
        node.again = random.between(0, maxBytes);
    for (auto [value, user] : problem.edges)
      if (random.chance(0.15))
        problem.overwrites.push_back(
            {value, user, random.between(0, maxBytes)});
    for (int32_t value = 0; value < problem.valueCount(); ++value)
      for (int32_t node = 0; node <= problem.producer(value); ++node)
        if (random.chance(0.05))
          problem.lateReads.push_back({value, node});
    for (auto [value, node] : problem.lateReads)
      if (random.chance(0.3))
        problem.overwrites.push_back(
            {value, problem.producer(value), random.between(0, maxBytes)});
  }
  return problem;
}

RecomputeProblem tenon::benchmark::anyGraphWithChoices(int32_t nodes,
                                                       double edgeProbability,
                                                       uint64_t seed) {
  Random random(seed ^ 0x5DEECE66D);
  RecomputeProblem problem =
      anyGraph(nodes, edgeProbability, random.chance(0.3), seed);
  for (RecomputeProblem::Node &node : problem.nodes)
    node.collective = random.chance(0.1);
  problem.mayRepeatCollectives = random.chance(0.5);
  if (random.chance(0.6))
    for (int32_t node = 0; node < nodes && problem.loops.size() < 2; ++node) {
      if (!random.chance(0.3))
        continue;
      RecomputeProblem::Loop &loop = problem.loops.emplace_back();
      loop.node = node;
      for (int64_t row = random.between(0, 2); row >= 0; --row)
        loop.rows.push_back({random.between(0, 12), random.between(0, 12)});
    }
  if (problem.loops.empty() || random.chance(0.5))
    for (int attempt = 0; attempt < 4 && problem.variants.size() < 2;
         ++attempt) {
      auto value =
          static_cast<int32_t>(random.between(0, problem.valueCount() - 1));
      bool view = false;
      for (auto [viewed, base] : problem.aliases)
        view |= viewed == value;
      if (view)
        continue;
      problem.variants.push_back(
          {value, random.between(0, problem.bytes(value) / 2),
           random.between(0, 3), random.between(0, 3),
           random.chance(0.5) ? random.between(0, 12) : 0});
    }
  return problem;
}

RecomputeProblem tenon::benchmark::chain(const std::vector<int64_t> &costs,
                                         const std::vector<int64_t> &bytes,
                                         int64_t gradientBytes) {
  RecomputeProblem problem;
  auto steps = static_cast<int32_t>(costs.size());
  for (int32_t step = 0; step < steps; ++step) {
    problem.nodes.push_back({costs[step], bytes[step]});
    if (step > 0)
      problem.edges.push_back({step - 1, step});
  }
  problem.loss = steps - 1;
  for (int32_t step = steps - 1; step >= 0; --step) {
    auto node = static_cast<int32_t>(problem.nodes.size());
    problem.nodes.push_back({costs[step], gradientBytes});
    problem.edges.push_back({node - 1, node});
    if (step > 0 && step - 1 != node - 1)
      problem.edges.push_back({step - 1, node});
  }
  return problem;
}

namespace {
/// A forward part under construction. `savesInputs`, `savesOutput`: what the
/// node's backward node reads of the forward values.
struct Forward {
  struct Node {
    int64_t cost, bytes;
    std::vector<int32_t> inputs;
    bool savesInputs, savesOutput;
  };
  std::vector<Node> nodes;

  int32_t add(int64_t cost, int64_t bytes, std::vector<int32_t> inputs,
              bool savesInputs, bool savesOutput = false) {
    nodes.push_back({cost, bytes, std::move(inputs), savesInputs, savesOutput});
    return static_cast<int32_t>(nodes.size()) - 1;
  }
};
} // namespace

/// One backward node per forward node, in reverse: it reads the gradients of
/// all readers of the node and what the node saved, costs twice as much, and
/// its output is as large as the node's first input.
static RecomputeProblem withBackward(const Forward &forward) {
  RecomputeProblem problem;
  auto count = static_cast<int32_t>(forward.nodes.size());
  std::vector<std::vector<int32_t>> readers(count);
  for (int32_t node = 0; node < count; ++node) {
    const Forward::Node &data = forward.nodes[node];
    problem.nodes.push_back({data.cost, data.bytes});
    for (int32_t input : data.inputs) {
      problem.edges.push_back({input, node});
      readers[input].push_back(node);
    }
  }
  problem.loss = count - 1;
  auto backward = [&](int32_t node) { return 2 * count - 1 - node; };
  for (int32_t node = count - 1; node >= 0; --node) {
    const Forward::Node &data = forward.nodes[node];
    int64_t bytes =
        data.inputs.empty() ? 0 : forward.nodes[data.inputs.front()].bytes;
    problem.nodes.push_back({2 * data.cost, bytes});
    std::vector<int32_t> reads;
    for (int32_t reader : readers[node])
      reads.push_back(backward(reader));
    if (data.savesInputs)
      reads.insert(reads.end(), data.inputs.begin(), data.inputs.end());
    if (data.savesOutput || reads.empty())
      reads.push_back(node);
    std::sort(reads.begin(), reads.end());
    reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
    for (int32_t value : reads)
      problem.edges.push_back({value, backward(node)});
  }
  return problem;
}

RecomputeProblem tenon::benchmark::transformer(int32_t layers, uint64_t seed) {
  Random random(seed);
  // Sizes in units of one hidden state; costs follow the arithmetic.
  int64_t unit = random.between(512, 4096), linear = random.between(200, 800);
  int64_t light = random.between(5, 30), attention = random.between(50, 400);
  int64_t scores = unit * random.between(1, 6);
  Forward forward;
  int32_t x = forward.add(light, unit, {}, false);
  for (int32_t layer = 0; layer < layers; ++layer) {
    int32_t n = forward.add(2 * light, unit, {x}, true);
    int32_t qkv = forward.add(3 * linear, 3 * unit, {n}, true);
    int32_t s = forward.add(attention, scores, {qkv}, true);
    int32_t p = forward.add(2 * light, scores, {s}, false, true);
    int32_t o = forward.add(attention, unit, {p, qkv}, true);
    int32_t w = forward.add(linear, unit, {o}, true);
    int32_t h = forward.add(light, unit, {x, w}, false);
    int32_t m = forward.add(2 * light, unit, {h}, true);
    int32_t u = forward.add(4 * linear, 4 * unit, {m}, true);
    int32_t g = forward.add(4 * light, 4 * unit, {u}, true);
    int32_t d = forward.add(4 * linear, unit, {g}, true);
    x = forward.add(light, unit, {h, d}, false);
  }
  int32_t n = forward.add(2 * light, unit, {x}, true);
  int32_t logits = forward.add(8 * linear, 8 * unit, {n}, true);
  forward.add(8 * light, 0, {logits}, true);
  return withBackward(forward);
}

RecomputeProblem tenon::benchmark::residual(int32_t blocks, uint64_t seed) {
  Random random(seed);
  Forward forward;
  int64_t bytes = random.between(4000, 16000), conv = random.between(300, 900);
  int32_t x = forward.add(conv, bytes, {}, false);
  for (int32_t block = 0; block < blocks; ++block) {
    bool shrink =
        block > 0 && (4 * block) / blocks != (4 * (block - 1)) / blocks;
    int32_t shortcut = x;
    if (shrink) {
      bytes /= 2;
      shortcut = forward.add(conv / 4, bytes, {x}, true);
    }
    for (int part = 0; part < 2; ++part) {
      x = forward.add(conv + random.between(0, 50), bytes, {x}, true);
      x = forward.add(bytes / 200, bytes, {x}, true);
      if (part == 0)
        x = forward.add(bytes / 400, bytes, {x}, false, true);
    }
    x = forward.add(bytes / 300, bytes, {x, shortcut}, false);
    x = forward.add(bytes / 400, bytes, {x}, false, true);
  }
  int32_t pooled = forward.add(20, 10, {x}, false);
  int32_t logits = forward.add(30, 10, {pooled}, true);
  forward.add(5, 0, {logits}, true);
  return withBackward(forward);
}

RecomputeProblem tenon::benchmark::inception(int32_t blocks, uint64_t seed) {
  Random random(seed);
  Forward forward;
  int64_t bytes = random.between(4000, 16000);
  int32_t x = forward.add(500, bytes, {}, false);
  for (int32_t block = 0; block < blocks; ++block) {
    std::vector<int32_t> parts;
    for (int branch = 0; branch < 4; ++branch) {
      int32_t y = x;
      int64_t part = std::max<int64_t>(1, bytes * random.between(1, 4) / 8);
      for (int depth = 0; depth <= branch % 3; ++depth) {
        y = forward.add(random.between(50, 600), part, {y}, true);
        y = forward.add(part / 300 + 1, part, {y}, false, true);
      }
      parts.push_back(y);
    }
    x = forward.add(bytes / 300 + 1, bytes, parts, false);
    if (block % 4 == 3)
      bytes = std::max<int64_t>(64, bytes * 2 / 3);
  }
  int32_t logits = forward.add(40, 10, {x}, true);
  forward.add(5, 0, {logits}, true);
  return withBackward(forward);
}
