//===- RecomputeChoiceText.cpp - recomputation problems as files ----------===//
//
// Reads and writes the line forms of recomputation problems and solutions, and
// says what is wrong with a problem. The forms are described in
// docs/SolverForms.md.
//
//===----------------------------------------------------------------------===//

#include "LargestSum.h"
#include "LineReader.h"
#include "tenon/Solver/RecomputeChoice.h"

#include <algorithm>
#include <span>

using namespace tenon::solver;

using Row = RecomputeProblem::Loop::Row;

/// What is wrong with the floors of a loop: the rows are ways to run it, so
/// they keep to them, and running everything once costs what it does.
static std::optional<std::string>
validateFloors(const RecomputeProblem::Loop &loop) {
  if (loop.floors.empty())
    return std::nullopt;
  for (const Row &row : loop.rows)
    if (std::ranges::none_of(loop.floors, [&](const Row &floor) {
          return row.bytes >= floor.bytes && row.cost >= floor.cost;
        }))
      return std::string(" has a row that is below each of its floors");
  if (std::ranges::min(loop.floors, {}, &Row::cost).cost != loop.leastCost())
    return " has no floor that costs what its cheapest row does, " +
           std::to_string(loop.leastCost());
  return std::nullopt;
}

/// What is wrong with variants and loops. Adds what they may cost and need.
static std::optional<std::string>
validateChoices(const RecomputeProblem &problem, __int128 &cost,
                __int128 &bytes) {
  auto nodes = static_cast<int64_t>(problem.nodes.size());
  std::vector<char> isView(problem.valueCount(), 0), isLoop(nodes, 0);
  for (auto [value, base] : problem.aliases)
    if (value >= 0 && value < problem.valueCount())
      isView[value] = 1;
  for (size_t i = 0; i < problem.loops.size(); ++i) {
    const RecomputeProblem::Loop &loop = problem.loops[i];
    std::string name = "loop " + std::to_string(i);
    if (loop.node < 0 || loop.node >= nodes || isLoop[loop.node]++)
      return name + " names node " + std::to_string(loop.node) +
             ", which does not exist or is a loop already";
    if (loop.rows.empty())
      return name + " has no row";
    for (const auto *list : {&loop.rows, &loop.floors})
      for (const Row &row : *list) {
        if (row.bytes < 0 || row.cost < 0)
          return name + " has a negative number in a row";
        cost += row.cost;
        bytes += row.bytes;
      }
    if (auto error = validateFloors(loop))
      return name + *error;
  }
  for (size_t i = 0; i < problem.variants.size(); ++i) {
    const RecomputeProblem::Variant &variant = problem.variants[i];
    std::string name = "variant " + std::to_string(i);
    if (variant.value < 0 || variant.value >= problem.valueCount() ||
        isView[variant.value])
      return name + " names value " + std::to_string(variant.value) +
             ", which does not exist or is a view";
    for (int64_t number :
         {variant.bytes, variant.saveCost, variant.loadCost, variant.transfer})
      if (number < 0)
        return name + " has a negative number";
    cost += __int128(variant.saveCost) + variant.loadCost + variant.transfer;
    bytes += variant.bytes;
  }
  return std::nullopt;
}

/// Late reads and overwrites; `reads` by node, sorted.
static std::optional<std::string>
validateConditions(const RecomputeProblem &problem,
                   const std::vector<std::vector<int32_t>> &reads) {
  const auto nodes = static_cast<int32_t>(problem.nodes.size());
  auto exists = [&](int32_t value, int32_t node) {
    return value >= 0 && value < problem.valueCount() && node >= 0 &&
           node < nodes;
  };
  std::vector<std::pair<int32_t, int32_t>> seen;
  for (auto [value, node] : problem.lateReads) {
    std::string name =
        "late " + std::to_string(value) + " " + std::to_string(node);
    if (!exists(value, node))
      return name + " names an id that does not exist";
    if (problem.producer(value) < node)
      return name + " does not lead from a node to itself or an earlier one";
    seen.push_back({value, node});
  }
  std::sort(seen.begin(), seen.end());
  auto twice = std::adjacent_find(seen.begin(), seen.end());
  if (twice != seen.end())
    return "late " + std::to_string(twice->first) + " " +
           std::to_string(twice->second) + " appears twice";
  for (auto [value, node, bytes] : problem.overwrites) {
    std::string name =
        "overwrite " + std::to_string(value) + " " + std::to_string(node);
    if (!exists(value, node))
      return name + " names an id that does not exist";
    if (problem.producer(value) != node &&
        !std::binary_search(reads[node].begin(), reads[node].end(), value))
      return name + " names a value that the node neither reads nor makes";
    if (bytes < 0)
      return name + " has a negative size";
  }
  return std::nullopt;
}

std::optional<std::string>
tenon::solver::validateRecomputeProblem(const RecomputeProblem &problem) {
  auto nodes = static_cast<int64_t>(problem.nodes.size());
  if (nodes + int64_t(problem.extraOutputs.size()) +
          2 * int64_t(problem.variants.size()) >
      INT32_MAX / 4)
    return std::string("too many nodes, outputs and variants for 32-bit ids");
  auto say = [](const char *kind, int64_t id, const std::string &what) {
    return std::string(kind) + " " + std::to_string(id) + " " + what;
  };
  __int128 cost = 0, bytes = 0, spared = 0;
  for (int64_t node = 0; node < nodes; ++node) {
    const RecomputeProblem::Node &data = problem.nodes[node];
    if (data.bytes < 0 || (data.cost < 0 && !data.pinned))
      return say("node", node, "has a negative cost or size");
    cost += data.cost;
    spared += std::min<int64_t>(0, data.cost);
    if (data.again < 0)
      return say("node", node, "needs less when it runs again");
    bytes += __int128(data.bytes) + std::max<int64_t>(0, data.workspace) +
             data.again;
  }
  for (size_t i = 0; i < problem.extraOutputs.size(); ++i) {
    const RecomputeProblem::Output &output = problem.extraOutputs[i];
    if (output.producer < 0 || output.producer >= nodes)
      return say("output", nodes + i,
                 "belongs to node " + std::to_string(output.producer) +
                     ", expected one of " + std::to_string(nodes) + " nodes");
    if (output.bytes < 0)
      return say("output", nodes + i, "has a negative size");
    bytes += output.bytes;
  }
  for (auto [value, node, size] : problem.overwrites)
    bytes += std::max<int64_t>(0, size);
  if (auto error = validateChoices(problem, cost, bytes))
    return error;
  if (cost < 0)
    return std::string("the sum of all costs is negative");
  if (spared < 0 && !problem.variants.empty())
    return std::string("costs are negative where transfers need a clock");
  cost -= spared;
  if (cost > largestSum || bytes > largestSum)
    return std::string("the sum of all ") +
           (cost > largestSum ? "costs" : "sizes") + " exceeds 2^60";
  if (problem.loss < -1 || problem.loss >= nodes)
    return say("loss", problem.loss, "is not a node");
  if (problem.fixedMemory < 0)
    return std::string("fixed memory is negative");
  std::vector<std::vector<int32_t>> reads(nodes);
  for (auto [value, consumer] : problem.edges) {
    if (value < 0 || value >= problem.valueCount() || consumer < 0 ||
        consumer >= nodes)
      return "edge " + std::to_string(value) + " " + std::to_string(consumer) +
             " names an id that does not exist";
    if (problem.producer(value) >= consumer)
      return "edge " + std::to_string(value) + " " + std::to_string(consumer) +
             " does not lead from an earlier to a later node";
    reads[consumer].push_back(value);
  }
  for (int64_t node = 0; node < nodes; ++node) {
    std::sort(reads[node].begin(), reads[node].end());
    auto twice = std::adjacent_find(reads[node].begin(), reads[node].end());
    if (twice != reads[node].end())
      return "edge " + std::to_string(*twice) + " " + std::to_string(node) +
             " appears twice";
  }
  std::vector<char> viewed(problem.valueCount(), 0);
  for (auto [value, base] : problem.aliases) {
    std::string name =
        "alias " + std::to_string(value) + " " + std::to_string(base);
    if (value < 0 || value >= problem.valueCount() || base < 0 ||
        base >= problem.valueCount())
      return name + " names a value that does not exist";
    if (viewed[value]++)
      return name + " gives the value a second base";
    const std::vector<int32_t> &inputs = reads[problem.producer(value)];
    if (!std::binary_search(inputs.begin(), inputs.end(), base))
      return name + " names a base that the value's node does not read";
  }
  if (auto error = validateConditions(problem, reads))
    return error;
  for (int64_t node = 0; node < nodes; ++node)
    if (problem.nodes[node].workspace < -bytes)
      return say("node", node,
                 "saves more than there is: a workspace of " +
                     std::to_string(problem.nodes[node].workspace));
  return std::nullopt;
}

/// Reads one number per place; the first `ids` of them fit in 32 bits.
static bool readNumbers(LineReader &lines, std::span<int64_t> numbers,
                        size_t ids) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    auto read = lines.integer(0, i < ids ? INT32_MAX : largestSum);
    if (!read)
      return false;
    numbers[i] = *read;
  }
  return true;
}

std::optional<std::string>
tenon::solver::parseRecomputeProblem(std::string_view text,
                                     RecomputeProblem &problem) {
  problem = {};
  LineReader lines(text);
  std::vector<char> seen;
  std::vector<int64_t> outputLine;
  int64_t count = -1;
  if (!lines.next() || !lines.keyword("recompute-problem"))
    return lines.error("expected 'recompute-problem 1'");
  auto version = lines.integer(1, 2);
  if (!version || !lines.atEnd())
    return lines.error("expected version 1 or 2");
  while (lines.next()) {
    if (version < 2)
      for (const char *field :
           {"collective", "may-repeat-collectives", "variant", "loop", "row",
            "floor", "again", "late", "overwrite"})
        if (lines.word() == field)
          return lines.error("found '" + std::string(field) +
                             "', expected 'recompute-problem 2' for it");
    if (lines.keyword("nodes")) {
      auto number = lines.integer(0, INT32_MAX / 4);
      if (!number || count >= 0)
        return lines.error("expected one count of nodes");
      count = *number;
      // A count alone must not make us reserve gigabytes.
      if (count > int64_t(text.size()))
        return lines.error("found a count of " + std::to_string(count) +
                           " nodes, the file is too short for it");
      problem.nodes.resize(count);
      seen.assign(count, 0);
    } else if (count < 0) {
      return lines.error("expected 'nodes N' first");
    } else if (lines.keyword("loss")) {
      auto id = lines.integer(0, count - 1);
      if (!id)
        return lines.error("expected the loss to be a node id below " +
                           std::to_string(count));
      problem.loss = static_cast<int32_t>(*id);
    } else if (lines.keyword("fixed-memory")) {
      auto bytes = lines.integer(0, largestSum);
      if (!bytes)
        return lines.error("expected a size between 0 and 2^60");
      problem.fixedMemory = *bytes;
    } else if (lines.keyword("node")) {
      auto id = lines.integer(0, count - 1);
      auto cost = id ? lines.integer(-largestSum, largestSum) : std::nullopt;
      auto bytes = cost ? lines.integer(0, largestSum) : std::nullopt;
      if (!bytes)
        return lines.error("expected 'node ID COST BYTES' with ID below " +
                           std::to_string(count));
      if (seen[*id])
        return lines.error("node " + std::to_string(*id) + " appears twice");
      seen[*id] = 1;
      problem.nodes[*id].cost = *cost;
      problem.nodes[*id].bytes = *bytes;
    } else if (lines.keyword("output")) {
      auto id = lines.integer(problem.valueCount(), problem.valueCount());
      auto producer = id ? lines.integer(0, count - 1) : std::nullopt;
      auto bytes = producer ? lines.integer(0, largestSum) : std::nullopt;
      if (!bytes)
        return lines.error("expected 'output " +
                           std::to_string(problem.valueCount()) +
                           " NODE BYTES': outputs are numbered after the "
                           "nodes, in order");
      problem.extraOutputs.push_back({static_cast<int32_t>(*producer), *bytes});
    } else if (lines.keyword("workspace")) {
      auto id = lines.integer(0, count - 1);
      auto bytes = id ? lines.integer(-largestSum, largestSum) : std::nullopt;
      if (!bytes)
        return lines.error("expected 'workspace NODE BYTES'");
      problem.nodes[*id].workspace = *bytes;
    } else if (lines.keyword("again")) {
      auto id = lines.integer(0, count - 1);
      auto bytes = id ? lines.integer(0, largestSum) : std::nullopt;
      if (!bytes)
        return lines.error("expected 'again NODE BYTES'");
      problem.nodes[*id].again = *bytes;
    } else if (lines.keyword("late")) {
      int64_t number[2];
      if (!readNumbers(lines, number, 2))
        return lines.error("expected 'late VALUE NODE'");
      problem.lateReads.push_back(
          {static_cast<int32_t>(number[0]), static_cast<int32_t>(number[1])});
    } else if (lines.keyword("overwrite")) {
      int64_t number[3];
      if (!readNumbers(lines, number, 2))
        return lines.error("expected 'overwrite VALUE NODE BYTES'");
      problem.overwrites.push_back({static_cast<int32_t>(number[0]),
                                    static_cast<int32_t>(number[1]),
                                    number[2]});
    } else if (lines.keyword("pinned")) {
      auto id = lines.integer(0, count - 1);
      if (!id)
        return lines.error("expected 'pinned NODE'");
      problem.nodes[*id].pinned = true;
    } else if (lines.keyword("collective")) {
      auto id = lines.integer(0, count - 1);
      if (!id)
        return lines.error("expected 'collective NODE'");
      problem.nodes[*id].collective = true;
    } else if (lines.keyword("may-repeat-collectives")) {
      problem.mayRepeatCollectives = true;
    } else if (lines.keyword("variant")) {
      int64_t number[5];
      if (!readNumbers(lines, number, 1))
        return lines.error("expected 'variant VALUE BYTES SAVE-COST LOAD-COST "
                           "TRANSFER'");
      problem.variants.push_back({static_cast<int32_t>(number[0]), number[1],
                                  number[2], number[3], number[4]});
    } else if (lines.keyword("loop")) {
      auto id = lines.integer(0, count - 1);
      if (!id)
        return lines.error("expected 'loop NODE' with NODE below " +
                           std::to_string(count));
      problem.loops.push_back({static_cast<int32_t>(*id), {}, {}});
    } else if (lines.word() == "row" || lines.word() == "floor") {
      const std::string word = lines.word();
      lines.skipWord();
      int64_t number[2];
      if (problem.loops.empty() || !readNumbers(lines, number, 0))
        return lines.error("expected '" + word + " BYTES COST' after a loop");
      RecomputeProblem::Loop &loop = problem.loops.back();
      (word == "row" ? loop.rows : loop.floors)
          .push_back({number[0], number[1]});
    } else if (lines.keyword("edge")) {
      auto from = lines.integer(0, INT32_MAX);
      auto to = from ? lines.integer(0, count - 1) : std::nullopt;
      if (!to)
        return lines.error("expected 'edge VALUE NODE' with NODE below " +
                           std::to_string(count));
      if (*from >= problem.valueCount())
        return lines.error("found value " + std::to_string(*from) +
                           ", expected one below " +
                           std::to_string(problem.valueCount()));
      int32_t producer = problem.producer(static_cast<int32_t>(*from));
      if (producer >= *to)
        return lines.error("edge from node " + std::to_string(producer) +
                           " to node " + std::to_string(*to) +
                           " makes a cycle: ids are the execution order");
      problem.edges.push_back(
          {static_cast<int32_t>(*from), static_cast<int32_t>(*to)});
    } else if (lines.keyword("alias")) {
      auto value = lines.integer(0, problem.valueCount() - 1);
      auto base =
          value ? lines.integer(0, problem.valueCount() - 1) : std::nullopt;
      if (!base)
        return lines.error("expected 'alias VALUE BASE' with values below " +
                           std::to_string(problem.valueCount()));
      problem.aliases.push_back(
          {static_cast<int32_t>(*value), static_cast<int32_t>(*base)});
    } else {
      return lines.error("unknown field '" + lines.word() + "'");
    }
    if (!lines.atEnd())
      return lines.error("expected the end of the line");
  }
  if (count < 0)
    return lines.error("expected 'nodes N'");
  for (int64_t node = 0; node < count; ++node)
    if (!seen[node])
      return lines.error("node " + std::to_string(node) + " is missing");
  if (auto error = validateRecomputeProblem(problem))
    return lines.error(*error);
  return std::nullopt;
}

std::string
tenon::solver::printRecomputeProblem(const RecomputeProblem &problem) {
  bool collectives = problem.mayRepeatCollectives;
  for (const RecomputeProblem::Node &node : problem.nodes)
    collectives |= node.collective;
  std::string text =
      "recompute-problem " +
      std::to_string(
          problem.hasChoices() || problem.hasConditions() || collectives ? 2
                                                                         : 1) +
      "\nnodes " + std::to_string(problem.nodes.size()) + "\n";
  auto line = [&](const char *field, std::initializer_list<int64_t> numbers) {
    text += field;
    for (int64_t number : numbers)
      text += " " + std::to_string(number);
    text += "\n";
  };
  if (problem.loss >= 0)
    line("loss", {problem.loss});
  line("fixed-memory", {problem.fixedMemory});
  for (size_t i = 0; i < problem.nodes.size(); ++i) {
    const RecomputeProblem::Node &node = problem.nodes[i];
    line("node", {int64_t(i), node.cost, node.bytes});
    if (node.workspace != 0)
      line("workspace", {int64_t(i), node.workspace});
    if (node.again != 0)
      line("again", {int64_t(i), node.again});
    if (node.pinned)
      line("pinned", {int64_t(i)});
    if (node.collective)
      line("collective", {int64_t(i)});
  }
  if (problem.mayRepeatCollectives)
    line("may-repeat-collectives", {});
  for (size_t i = 0; i < problem.extraOutputs.size(); ++i)
    line("output",
         {int64_t(problem.nodes.size() + i), problem.extraOutputs[i].producer,
          problem.extraOutputs[i].bytes});
  for (auto [value, consumer] : problem.edges)
    line("edge", {value, consumer});
  for (auto [value, base] : problem.aliases)
    line("alias", {value, base});
  for (auto [value, consumer] : problem.lateReads)
    line("late", {value, consumer});
  for (auto [value, node, bytes] : problem.overwrites)
    line("overwrite", {value, node, bytes});
  for (const RecomputeProblem::Variant &variant : problem.variants)
    line("variant", {variant.value, variant.bytes, variant.saveCost,
                     variant.loadCost, variant.transfer});
  for (const RecomputeProblem::Loop &loop : problem.loops) {
    line("loop", {loop.node});
    for (auto [field, list] :
         {std::pair("row", &loop.rows), std::pair("floor", &loop.floors)})
      for (const Row &row : *list)
        line(field, {row.bytes, row.cost});
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Solutions
//===----------------------------------------------------------------------===//

namespace {
using Kind = RecomputeCertificate::Kind;
struct KindName {
  Kind kind;
  const char *name;
};
} // namespace

static constexpr KindName kindNames[] = {
    {Kind::Base, "base"},
    {Kind::GivenOrder, "given"},
    {Kind::AnyOrder, "any"},
    {Kind::WorkingSet, "working-set"},
    {Kind::HeldBytes, "held-bytes"},
};

/// `prefix` tells the lines of the second certificate from those of the first.
static void printCertificate(std::string &text, const std::string &prefix,
                             const RecomputeCertificate &certificate) {
  auto line = [&](const char *field, std::initializer_list<int64_t> numbers) {
    text += "certificate " + prefix + field;
    for (int64_t number : numbers)
      text += " " + std::to_string(number);
    text += "\n";
  };
  auto flows = [&](const RecomputeFlow &cut) {
    if (cut.unit != 1)
      line("unit", {cut.unit});
    for (auto [value, amount] : cut.valueFlows)
      line("value", {value, amount});
    for (auto [value, consumer, amount] : cut.edgeFlows)
      line("edge", {value, consumer, amount});
  };
  for (const KindName &entry : kindNames)
    if (entry.kind == certificate.kind)
      text += "certificate " + prefix + "kind " + entry.name + "\n";
  if (certificate.kind == Kind::Base)
    return;
  line("cut", {certificate.cut});
  if (certificate.kind == Kind::WorkingSet)
    return;
  line("multiplier", {certificate.numerator, certificate.denominator});
  if (certificate.transferNumerator != 0)
    line("transfer-price", {certificate.transferNumerator});
  auto part = [&](const char *field, const RecomputeCertificate::Part &cut) {
    line(field, {cut.cut, cut.numerator});
    for (auto [value, amount] : cut.prices)
      line("price", {value, amount});
    flows(cut);
  };
  auto cases = [&](const auto &cut) {
    for (const RecomputeCertificate::Case &one : cut.cases) {
      if (one.split >= 0 || one.held >= 0) {
        const char *field = one.split >= 0 ? "split" : "held";
        int32_t item = one.split >= 0 ? one.split : one.held;
        one.at < 0 ? line(field, {item}) : line(field, {item, one.at});
        continue;
      }
      one.at < 0 ? line("case", {one.numerator})
                 : line("case", {one.numerator, one.at});
      flows(one);
      for (const RecomputeCertificate::Part &joined : one.joined)
        part("joined-cut", joined);
    }
  };
  flows(certificate);
  cases(certificate);
  for (const RecomputeCertificate::Cut &cut : certificate.later) {
    part("next-cut", cut);
    cases(cut);
  }
}

std::string
tenon::solver::printRecomputeSolution(const RecomputeSolution &solution) {
  std::string text;
  std::string budget = "budget " + std::to_string(solution.budget) + "\n";
  std::string anyOrder;
  if (solution.status == RecomputeStatus::Infeasible) {
    text = "recompute-infeasible 1\n" + budget;
    printCertificate(text, "", solution.certificate);
    return text;
  }
  if (solution.status == RecomputeStatus::Undecided)
    text = "recompute-undecided 1\n" + budget;
  else
    text = "recompute-solution 1\n" + budget + "cost " +
           std::to_string(solution.cost) + "\npeak " +
           std::to_string(solution.peak) + "\n";
  text += "bound " + std::to_string(solution.bound) + "\n";
  printCertificate(text, "", solution.certificate);
  text +=
      "certificate any-bound " + std::to_string(solution.anyOrderBound) + "\n";
  printCertificate(text, "any-", solution.anyOrderCertificate);
  if (solution.status == RecomputeStatus::Undecided)
    return text;
  for (size_t loop = 0; loop < solution.rows.size(); ++loop)
    text += "row " + std::to_string(loop) + " " +
            std::to_string(solution.rows[loop]) + "\n";
  text += "order\n";
  for (int32_t node : solution.order)
    text += std::to_string(node) + "\n";
  return text;
}

static std::optional<std::string>
parseCertificateLine(LineReader &lines, RecomputeSolution &solution) {
  constexpr int64_t ids = INT32_MAX, most = INT64_MAX;
  if (lines.keyword("any-bound")) {
    auto bound = lines.integer(INT64_MIN, INT64_MAX);
    if (!bound)
      return lines.error("expected a bound");
    solution.anyOrderBound = *bound;
    return std::nullopt;
  }
  std::string field = lines.word();
  RecomputeCertificate *certificate = &solution.certificate;
  if (field.starts_with("any-")) {
    certificate = &solution.anyOrderCertificate;
    field = field.substr(4);
  }
  lines.skipWord();
  if (field == "kind") {
    for (const KindName &entry : kindNames)
      if (lines.keyword(entry.name)) {
        certificate->kind = entry.kind;
        return std::nullopt;
      }
    return lines.error("unknown kind of certificate '" + lines.word() + "'");
  }
  // What follows a next cut, a case or a joined cut belongs to it.
  RecomputeCertificate::Cut *later =
      certificate->later.empty() ? nullptr : &certificate->later.back();
  auto &cases = later ? later->cases : certificate->cases;
  RecomputeCertificate::Part *part = cases.empty() ? later
                                     : cases.back().joined.empty()
                                         ? nullptr
                                         : &cases.back().joined.back();
  RecomputeFlow *flows = certificate;
  if (!cases.empty())
    flows = &cases.back();
  if (part)
    flows = part;
  bool wide = field == "multiplier" || field == "case" ||
              field == "transfer-price" || field == "unit";
  bool alone = field == "cut" || field == "transfer-price" || field == "unit";
  auto first = lines.integer(0, wide ? most : ids);
  auto second = first && !alone ? lines.integer(0, most) : std::nullopt;
  if (field == "cut") {
    if (!first)
      return lines.error("expected a node id");
    certificate->cut = static_cast<int32_t>(*first);
  } else if (field == "multiplier") {
    if (!second || *second == 0)
      return lines.error("expected two positive integers");
    std::tie(certificate->numerator, certificate->denominator) =
        std::pair(*first, *second);
  } else if (field == "case") {
    if (!first || (second && *second > ids))
      return lines.error("expected a multiplier, or it and a node id");
    cases.emplace_back().numerator = *first;
    cases.back().at = second ? static_cast<int32_t>(*second) : -1;
  } else if (field == "split" || field == "held") {
    if (!first || (second && *second > ids))
      return lines.error("expected an id, or two");
    RecomputeCertificate::Case &one = cases.emplace_back();
    (field == "split" ? one.split : one.held) = static_cast<int32_t>(*first);
    one.at = second ? static_cast<int32_t>(*second) : -1;
  } else if (field == "unit") {
    if (!first || *first == 0)
      return lines.error("expected a positive unit");
    flows->unit = *first;
  } else if (field == "transfer-price") {
    if (!first)
      return lines.error("expected a price");
    certificate->transferNumerator = *first;
  } else if (field == "next-cut") {
    if (!second)
      return lines.error("expected a node id and a multiplier");
    certificate->later.emplace_back();
    certificate->later.back().cut = static_cast<int32_t>(*first);
    certificate->later.back().numerator = *second;
  } else if (field == "joined-cut") {
    if (!second || cases.empty())
      return lines.error("expected a node id and a multiplier, in a case");
    RecomputeCertificate::Part &joined = cases.back().joined.emplace_back();
    joined.cut = static_cast<int32_t>(*first);
    joined.numerator = *second;
  } else if (field == "value" || (field == "price" && part)) {
    if (!second)
      return lines.error("expected a value id and an amount");
    (field == "price" ? part->prices : flows->valueFlows)
        .push_back({static_cast<int32_t>(*first), *second});
  } else if (field == "edge") {
    auto amount = second ? lines.integer(0, most) : std::nullopt;
    if (!amount || *second > ids)
      return lines.error("expected a value id, a node id and a flow");
    flows->edgeFlows.push_back(
        {static_cast<int32_t>(*first), static_cast<int32_t>(*second), *amount});
  } else {
    return lines.error("unknown certificate field '" + field + "'");
  }
  return std::nullopt;
}

std::optional<std::string>
tenon::solver::parseRecomputeSolution(std::string_view text,
                                      RecomputeSolution &solution) {
  solution = {};
  LineReader lines(text);
  if (!lines.next())
    return lines.error("expected 'recompute-solution 1'");
  if (lines.keyword("recompute-solution"))
    solution.status = RecomputeStatus::Solved;
  else if (lines.keyword("recompute-infeasible"))
    solution.status = RecomputeStatus::Infeasible;
  else if (lines.keyword("recompute-undecided"))
    solution.status = RecomputeStatus::Undecided;
  else
    return lines.error("expected 'recompute-solution 1'");
  if (!lines.integer(1, 1) || !lines.atEnd())
    return lines.error("expected version 1");
  struct Field {
    const char *name;
    int64_t *place;
    bool required;
    bool seen = false;
  };
  bool solved = solution.status == RecomputeStatus::Solved;
  bool bounded = solution.status != RecomputeStatus::Infeasible;
  Field fields[] = {{"budget", &solution.budget, true},
                    {"cost", &solution.cost, solved},
                    {"peak", &solution.peak, solved},
                    {"bound", &solution.bound, bounded}};
  bool order = false;
  while (!order && lines.next()) {
    bool known = false;
    for (Field &field : fields)
      if (field.required && lines.keyword(field.name)) {
        auto number = lines.integer(INT64_MIN, INT64_MAX);
        if (!number || field.seen)
          return lines.error("expected one integer");
        *field.place = *number;
        field.seen = known = true;
      }
    if (!known && solved && lines.keyword("order")) {
      order = known = true;
    } else if (!known && solved && lines.keyword("row")) {
      known = true;
      auto loop = lines.integer(solution.rows.size(), solution.rows.size());
      auto row = loop ? lines.integer(0, INT32_MAX) : std::nullopt;
      if (!row)
        return lines.error("expected 'row LOOP ROW', loops in order");
      solution.rows.push_back(static_cast<int32_t>(*row));
    } else if (!known && lines.keyword("certificate")) {
      known = true;
      if (auto error = parseCertificateLine(lines, solution))
        return error;
    }
    if (!known)
      return lines.error("unknown field '" + lines.word() + "'");
    if (!lines.atEnd())
      return lines.error("expected the end of the line");
  }
  for (const Field &field : fields)
    if (field.required && !field.seen)
      return lines.error(std::string("expected a line '") + field.name + "'");
  if (solved && !order)
    return lines.error("expected a line 'order'");
  while (lines.next())
    while (!lines.atEnd()) {
      auto node = lines.integer(0, INT32_MAX);
      if (!node)
        return lines.error("expected a node id");
      solution.order.push_back(static_cast<int32_t>(*node));
    }
  return std::nullopt;
}
