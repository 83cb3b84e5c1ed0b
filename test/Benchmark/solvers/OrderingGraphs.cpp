//===- OrderingGraphs.cpp - whole training steps as ordering problems -----===//
//
// A tape of forward operations; the way back and the updates follow from it.
//
//===----------------------------------------------------------------------===//

#include "OrderingGraphs.h"

#include "GraphGenerators.h"

#include <algorithm>

using namespace tenon::benchmark;
using tenon::solver::OrderingProblem;

namespace {
class Tape {
public:
  /// A forward operation. `weight`: bytes of a parameter that it reads, named
  /// by `parameter` (-1: a parameter of its own). Its backward operations read
  /// its inputs, its output, or neither.
  int32_t forward(int64_t bytes, std::vector<int32_t> inputs, bool savesInputs,
                  bool savesOutput, int64_t weight = 0,
                  int32_t parameter = -1) {
    int32_t value = add(bytes, inputs);
    records.push_back({value, bytes, std::move(inputs), savesInputs,
                       savesOutput, weight, parameter});
    return value;
  }

  OrderingProblem finish() {
    std::vector<std::vector<int32_t>> gradients(problem.operations.size());
    std::vector<std::pair<int32_t, int64_t>> updates; // gradient, bytes
    std::vector<int32_t> sums;                        // per parameter
    for (size_t i = records.size(); i-- > 0;) {
      const Record &record = records[i];
      std::vector<int32_t> &parts = gradients[record.value];
      // Several readers: their gradients are added, in place.
      while (parts.size() > 1) {
        int32_t a = parts.back(), b = parts[parts.size() - 2];
        parts.resize(parts.size() - 2);
        int32_t sum = add(record.bytes, {b, a});
        problem.inPlace.push_back({sum, b, sum});
        parts.push_back(sum);
      }
      std::vector<int32_t> reads = parts;
      if (record.savesOutput)
        reads.push_back(record.value);
      std::vector<int32_t> dataReads = reads;
      if (record.savesInputs)
        reads.insert(reads.end(), record.inputs.begin(), record.inputs.end());
      // With a weight, only its gradient needs the inputs.
      if (record.weight == 0)
        dataReads = reads;
      if (dataReads.empty())
        dataReads.push_back(record.value);
      for (int32_t input : record.inputs) {
        int32_t gradient = add(bytesOf(input), dataReads);
        if (gradients.size() < problem.operations.size())
          gradients.resize(problem.operations.size());
        gradients[input].push_back(gradient);
      }
      if (record.weight == 0)
        continue;
      int32_t gradient = add(record.weight, reads);
      if (record.parameter >= 0) {
        if (sums.size() <= size_t(record.parameter))
          sums.resize(record.parameter + 1, -1);
        int32_t &sum = sums[record.parameter];
        if (sum >= 0) {
          int32_t next = add(record.weight, {sum, gradient});
          problem.inPlace.push_back({next, sum, next});
          gradient = next;
        }
        sum = gradient;
      } else {
        updates.push_back({gradient, record.weight});
      }
    }
    for (int32_t sum : sums)
      if (sum >= 0)
        updates.push_back({sum, bytesOf(sum)});
    for (auto [gradient, bytes] : updates) {
      int32_t scaled = add(bytes, {gradient});
      problem.inPlace.push_back({scaled, gradient, scaled});
      add(0, {scaled});
    }
    return std::move(problem);
  }

private:
  struct Record {
    int32_t value;
    int64_t bytes;
    std::vector<int32_t> inputs;
    bool savesInputs, savesOutput;
    int64_t weight;
    int32_t parameter;
  };
  int64_t bytesOf(int32_t value) const {
    return problem.operations[value].bytes;
  }
  int32_t add(int64_t bytes, std::vector<int32_t> reads) {
    auto id = static_cast<int32_t>(problem.operations.size());
    problem.operations.push_back({bytes});
    std::sort(reads.begin(), reads.end());
    reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
    for (int32_t value : reads)
      problem.uses.push_back({value, id});
    return id;
  }

  OrderingProblem problem;
  std::vector<Record> records;
};

/// Bytes of one activation and of one square weight.
struct Sizes {
  int64_t activation, weight;
};
} // namespace

static Sizes drawSizes(Random &random, Weight weight) {
  int64_t unit = 4096 * random.between(16, 64);
  switch (weight) {
  case Weight::Activations:
    return {unit * random.between(8, 32), unit};
  case Weight::Balanced:
    return {unit * random.between(1, 3), unit * random.between(1, 3)};
  case Weight::Gradients:
    return {unit, unit * random.between(8, 32)};
  }
  return {unit, unit};
}

OrderingProblem tenon::benchmark::transformerStep(int32_t blocks, Weight weight,
                                                  uint64_t seed) {
  Random random(seed);
  auto [unit, square] = drawSizes(random, weight);
  int64_t scores = unit * random.between(1, 4);
  int64_t vocabulary = random.between(2, 12);
  Tape tape;
  int32_t x = tape.forward(unit, {}, false, false, vocabulary * square);
  for (int32_t block = 0; block < blocks; ++block) {
    int32_t n = tape.forward(unit, {x}, true, false, 64);
    int32_t q = tape.forward(unit, {n}, true, false, square);
    int32_t k = tape.forward(unit, {n}, true, false, square);
    int32_t v = tape.forward(unit, {n}, true, false, square);
    int32_t s = tape.forward(scores, {q, k}, true, false);
    int32_t p = tape.forward(scores, {s}, false, true);
    int32_t o = tape.forward(unit, {p, v}, true, false);
    int32_t w = tape.forward(unit, {o}, true, false, square);
    int32_t h = tape.forward(unit, {x, w}, false, false);
    int32_t m = tape.forward(unit, {h}, true, false, 64);
    int32_t u = tape.forward(4 * unit, {m}, true, false, 4 * square);
    int32_t g = tape.forward(4 * unit, {u}, true, false);
    int32_t d = tape.forward(unit, {g}, true, false, 4 * square);
    x = tape.forward(unit, {h, d}, false, false);
  }
  int32_t n = tape.forward(unit, {x}, true, false, 64);
  int32_t logits =
      tape.forward(vocabulary * unit, {n}, true, false, vocabulary * square);
  tape.forward(4, {logits}, true, false);
  return tape.finish();
}

OrderingProblem tenon::benchmark::convolutionStep(int32_t blocks, Weight weight,
                                                  uint64_t seed) {
  Random random(seed);
  auto [unit, square] = drawSizes(random, weight);
  Tape tape;
  int32_t x = tape.forward(unit, {}, false, false, square);
  for (int32_t block = 0; block < blocks; ++block) {
    if (block > 0 && (4 * block) / blocks != (4 * (block - 1)) / blocks) {
      unit = std::max<int64_t>(256, unit / 2);
      square *= 3;
    }
    int32_t shortcut = tape.forward(unit, {x}, true, false, square / 9 + 4);
    for (int part = 0; part < 2; ++part) {
      x = tape.forward(unit, {x}, true, false, square + random.between(0, 9));
      x = tape.forward(unit, {x}, true, false, 256);
      if (part == 0)
        x = tape.forward(unit, {x}, false, true);
    }
    x = tape.forward(unit, {x, shortcut}, false, false);
    x = tape.forward(unit, {x}, false, true);
  }
  int32_t pooled = tape.forward(1024, {x}, false, false);
  int32_t logits = tape.forward(4096, {pooled}, true, false, square);
  tape.forward(4, {logits}, true, false);
  return tape.finish();
}

OrderingProblem tenon::benchmark::recurrentStep(int32_t steps, Weight weight,
                                                uint64_t seed) {
  Random random(seed);
  auto [unit, square] = drawSizes(random, weight);
  int64_t classes = random.between(1, 6);
  Tape tape;
  int32_t hidden = tape.forward(unit, {}, false, false);
  int32_t cell = tape.forward(unit, {}, false, false);
  int32_t loss = -1;
  for (int32_t step = 0; step < steps; ++step) {
    int32_t input = tape.forward(unit, {}, false, false, 8 * square, 0);
    int32_t gates =
        tape.forward(4 * unit, {input, hidden}, true, false, 8 * square, 1);
    int32_t opened = tape.forward(4 * unit, {gates}, false, true);
    cell = tape.forward(unit, {opened, cell}, true, false);
    int32_t bent = tape.forward(unit, {cell}, false, true);
    hidden = tape.forward(unit, {opened, bent}, true, false);
    int32_t logits = tape.forward(classes * unit, {hidden}, true, false,
                                  classes * square, 2);
    int32_t part = tape.forward(4, {logits}, true, false);
    loss = loss < 0 ? part : tape.forward(4, {loss, part}, false, false);
  }
  return tape.finish();
}

OrderingProblem tenon::benchmark::branchingStep(int32_t blocks, Weight weight,
                                                uint64_t seed) {
  Random random(seed);
  auto [unit, square] = drawSizes(random, weight);
  Tape tape;
  int32_t x = tape.forward(unit, {}, false, false, square);
  for (int32_t block = 0; block < blocks; ++block) {
    std::vector<int32_t> parts;
    for (int branch = 0; branch < 4; ++branch) {
      int32_t y = x;
      int64_t part = unit * random.between(1, 4) / 8;
      for (int depth = 0; depth <= branch % 3; ++depth) {
        y = tape.forward(part, {y}, true, false, square * random.between(1, 4));
        y = tape.forward(part, {y}, false, true);
      }
      parts.push_back(y);
    }
    x = tape.forward(unit, parts, false, false);
  }
  int32_t logits = tape.forward(4096, {x}, true, false, square);
  tape.forward(4, {logits}, true, false);
  return tape.finish();
}

OrderingProblem tenon::benchmark::anyStep(int32_t operations, uint64_t seed) {
  Random random(seed);
  const int64_t most = random.chance(0.5) ? 4 : 40;
  const bool shares = random.chance(0.3);
  Tape tape;
  OrderingProblem problem;
  // One forward operation after the other, as long as the whole step fits.
  for (int32_t count = 0;; ++count) {
    std::vector<int32_t> inputs;
    while (count > 0 && inputs.size() < 2 && random.chance(0.7))
      inputs.push_back(static_cast<int32_t>(
          random.between(std::max(0, count - 3), count - 1)));
    std::sort(inputs.begin(), inputs.end());
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
    const int64_t weight = random.chance(0.6) ? random.between(1, most) : 0;
    tape.forward(random.between(0, most), std::move(inputs), random.chance(0.6),
                 random.chance(0.4), shares && weight > 0 ? most : weight,
                 shares ? 0 : -1);
    Tape copy = tape;
    OrderingProblem longer = copy.finish();
    if (static_cast<int32_t>(longer.operations.size()) > operations)
      return problem;
    problem = std::move(longer);
  }
}

OrderingProblem tenon::benchmark::anyOrdering(int32_t operations, bool extras,
                                              uint64_t seed) {
  Random random(seed);
  OrderingProblem problem;
  double probability = 0.1 + 0.1 * double(random.between(0, 4));
  int64_t most = random.chance(0.5) ? 4 : 40;
  for (int32_t i = 0; i < operations; ++i) {
    OrderingProblem::Operation operation;
    operation.bytes = random.between(0, most);
    if (extras && random.chance(0.2))
      operation.workspace = random.between(0, most);
    operation.effect = extras && random.chance(0.15);
    problem.operations.push_back(operation);
  }
  for (int32_t i = 0; extras && i < operations; ++i)
    if (random.chance(0.15))
      problem.extraResults.push_back({i, random.between(0, most)});
  for (int32_t value = 0; value < problem.valueCount(); ++value) {
    for (int32_t user = problem.producer(value) + 1; user < operations; ++user)
      if (random.chance(probability))
        problem.uses.push_back({value, user});
    if (extras && random.chance(0.1))
      problem.kept.push_back(value);
  }
  for (int32_t i = 1; extras && i < operations; ++i) {
    if (random.chance(0.1))
      problem.controls.push_back(
          {static_cast<int32_t>(random.between(0, i - 1)), i});
    if (!random.chance(0.4))
      continue;
    for (auto [value, user] : problem.uses)
      if (user == i) {
        problem.inPlace.push_back({i, value, i});
        break;
      }
  }
  return problem;
}
