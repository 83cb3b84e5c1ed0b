//===- ChooseLayouts.cpp - The layouts that make a step quick -------------===//
//
// See ChooseLayouts.h. One walk over the step makes the nodes of the problem,
// edges follow; what the solver chose is then read back.
//
// The walk notes who reads what, since the copies of a value that can be worth
// it follow from all of its readers (UsefulCopies.h); edges are made behind it.
//
// An axis is cut in no parts, and of an operation that can be cut in very many
// ways only those that cut most are kept: nothing that is left out can make a
// plan wrong, since a tensor moves between any two layouts.
//
//===----------------------------------------------------------------------===//

#include "tenon/Sharding/ChooseLayouts.h"

#include "Lifetimes.h"

#include "tenon/Analysis/OperationCount.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Holding.h"
#include "tenon/Dialect/Step/ShardingConstraint.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Sharding/UsefulCopies.h"
#include "tenon/Support/DistinctItems.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>

using namespace mlir;
using namespace tenon;
using namespace tenon::sharding;
using solver::ShardingProblem;

namespace {

/// Of layouts, and of ways to cut an operation.
constexpr size_t mostWays = 64;
/// Axes whose orders along one dimension are all tried.
constexpr size_t mostOrderedAxes = 2;
/// How long to search, in million numbers of tables that are looked at: so many
/// times each number of the problem, within bounds, but never at fewer than half
/// of them.
constexpr int64_t sweeps = 20'000, leastEffort = 20, mostEffort = 1000;
/// So many times as long where that finds nothing within a limit, or nothing
/// near the bound; and where what is found then is still far from it.
constexpr int64_t longerSearch = 12, longestSearch = 36;
constexpr double nearBound = 0.02, farFromBound = 0.03;

/// Calls `visit` with every way to put whole axes into lists, at most one list
/// per axis.
void forEachAssignment(
    const Mesh &mesh, size_t lists,
    llvm::function_ref<bool(size_t, ArrayRef<AxisPart>)> mayCut,
    llvm::function_ref<void(const FactorAxes &)> visit) {
  const bool inEveryOrder = mesh.axes.size() <= mostOrderedAxes;
  auto assign = [&](auto &self, unsigned axis, FactorAxes axes) -> void {
    if (axis == mesh.axes.size())
      return visit(axes);
    self(self, axis + 1, axes);
    AxisPart whole{axis, 1, mesh.axes[axis].size};
    for (size_t list = 0; whole.size > 1 && list < lists; ++list)
      for (size_t at = inEveryOrder ? 0 : axes[list].size();
           at <= axes[list].size(); ++at) {
        FactorAxes more = axes;
        more[list].insert(more[list].begin() + at, whole);
        if (mayCut(list, more[list]))
          self(self, axis + 1, more);
      }
  };
  assign(assign, 0, FactorAxes(lists));
}

int64_t shardsOf(ArrayRef<AxisParts> axes) {
  int64_t shards = 1;
  for (const AxisParts &parts : axes)
    shards *= countOf(parts);
  return shards;
}

/// Keeps the first and those that cut most, in their order.
template <typename Way>
void keepMost(std::vector<Way> &ways,
              llvm::function_ref<int64_t(const Way &)> shards) {
  if (ways.size() <= mostWays)
    return;
  std::vector<std::pair<int64_t, size_t>> mostFirst;
  for (size_t at = 1; at < ways.size(); ++at)
    mostFirst.push_back({shards(ways[at]), ways.size() - at});
  llvm::sort(mostFirst, std::greater<>());
  std::vector<size_t> kept{0};
  for (auto [count, fromEnd] : ArrayRef(mostFirst).take_front(mostWays - 1))
    kept.push_back(ways.size() - fromEnd);
  llvm::sort(kept);
  std::vector<Way> most;
  for (size_t at : kept)
    most.push_back(std::move(ways[at]));
  ways = std::move(most);
}

std::vector<FactorAxes> waysToCut(const Factors &rule, const Mesh &mesh) {
  std::vector<FactorAxes> ways;
  auto mayCut = [&](size_t number, ArrayRef<AxisPart> parts) {
    const Factor &factor = rule.factors[number];
    const int64_t count = countOf(parts);
    return count <= factor.size && mayBeCut(factor, count) &&
           cutsApart(mesh, parts, factor.size);
  };
  forEachAssignment(mesh, rule.factors.size(), mayCut,
                    [&](const FactorAxes &axes) {
                      FactorAxes possible = axes;
                      restrict(rule, possible);
                      if (possible == axes)
                        ways.push_back(axes);
                    });
  keepMost<FactorAxes>(ways, [](auto &axes) { return shardsOf(axes); });
  return ways;
}

std::vector<Layout> layoutsOf(ArrayRef<int64_t> shape, const Mesh &mesh) {
  std::vector<Layout> layouts;
  forEachAssignment(
      mesh, shape.size(),
      [&](size_t dim, ArrayRef<AxisPart> parts) {
        return countOf(parts) <= shape[dim] &&
               cutsApart(mesh, parts, shape[dim]);
      },
      [&](const FactorAxes &axes) {
        Layout &layout = layouts.emplace_back();
        layout.dims.assign(axes.begin(), axes.end());
      });
  keepMost<Layout>(layouts,
                   [](const Layout &layout) { return shardsOf(layout.dims); });
  return layouts;
}

/// Numbers for layouts, and what moving between them costs.
class Moves {
public:
  Moves(const Mesh &mesh, const Prices &prices) : mesh(mesh), prices(prices) {}

  int number(const Layout &layout) {
    auto [found, isNew] =
        numbers.try_emplace(layout.text(mesh), int(layouts.size()));
    if (isNew)
      layouts.push_back(layout);
    return found->second;
  }
  const Layout &layout(int number) const { return layouts[number]; }

  double seconds(Value tensor, int from, int to) {
    if (from == to)
      return 0;
    auto [found, isNew] =
        costs[tensor.getType()].try_emplace(std::pair(from, to), 0);
    if (isNew)
      found->second = prices.secondsOf(planFor(shapeOf(tensor), from, to),
                                       shapeOf(tensor), elementBytesOf(tensor));
    return found->second;
  }

  int64_t localBytes(Value tensor, int layout) const {
    return elementCount(layouts[layout].localShape(shapeOf(tensor))) *
           elementBytesOf(tensor);
  }

private:
  /// Extents that all cuts divide are alike for a plan.
  const ReshardPlan &planFor(ArrayRef<int64_t> shape, int from, int to) {
    SmallVector<int64_t> alike(shape);
    for (int64_t &extent : alike)
      if (extent > 0 && extent % mesh.devices() == 0)
        extent = mesh.devices();
    std::vector<int64_t> key(alike.begin(), alike.end());
    key.insert(key.end(), {from, to});
    auto [found, isNew] = plans.try_emplace(std::move(key));
    if (isNew)
      found->second = planReshard(mesh, alike, 1, layouts[from], layouts[to]);
    return found->second;
  }

  const Mesh &mesh;
  const Prices &prices;
  llvm::StringMap<int> numbers;
  std::vector<Layout> layouts;
  std::map<std::vector<int64_t>, ReshardPlan> plans;
  DenseMap<Type, DenseMap<std::pair<int, int>, double>> costs;
};

/// Numbers lists of numbers.
class DistinctLists {
public:
  explicit DistinctLists(std::vector<std::vector<int64_t>> &lists)
      : lists(lists) {}

  int number(std::vector<int64_t> list) {
    const uint64_t hash = hashOfNumbers(list);
    return lists.number(std::move(list), hash);
  }

private:
  DistinctItems<std::vector<int64_t>> lists;
};

/// A layout of a value, and perhaps a second one.
struct ValueWay {
  static constexpr int none = -1;
  int layout = 0;
  int copy = none;
};

/// Numbers of layouts that a reader wants, per strategy of the reader.
using WantedLayouts = std::vector<SmallVector<int, 1>>;

/// What makes or reads a value: its node, and the list of the layouts in which
/// it makes or wants it.
struct Use {
  static constexpr int fixed = -1;
  int node = fixed; // or something that is no decision
  int list = 0;
  double runs = 1;
};

struct Node {
  // A value has ways, an operation has axes for its factors.
  Value value;
  int kind = 0; // of the value
  Operation *op = nullptr;
  std::vector<FactorAxes> axes;
  std::vector<double> seconds; // per strategy of an operation

  // Of a value.
  int layouts = 0; // number of the list
  bool mayHaveCopies = false;
  double runs = 1;
  std::optional<Use> maker;
  std::vector<Use> readers;
  int64_t begin = 0, end = 0; // when the value is there
  int64_t firstRead = 0;      // when its copy is
};

/// Ways that values have which are alike, made by equal readers.
struct ValueKind {
  std::vector<ValueWay> ways;
  int waysNumber = 0; // of the list of ways
  /// Per way.
  std::vector<int64_t> costs, bytes, copyBytes;
};

class Choosing {
public:
  Choosing(func::FuncOp main, const Mesh &mesh, const AskedLayouts &asked,
           const Prices &prices)
      : main(main), mesh(mesh), asked(asked), prices(prices),
        moves(mesh, prices), lifetimes(main), tables(choice.problem.tables),
        lists(listsOfNumbers) {}

  std::optional<LayoutChoice> choose(std::optional<ByteLimit> limit) {
    for (BlockArgument argument : main.getArguments())
      addArgument(argument);
    visitBlock(main.getBody().front(), 1);
    visitReturn();
    chooseWays(limit.has_value());
    addEdges();
    finishProblem();
    shrinkCosts();
    if (limit)
      choice.problem.limit = limit->bytes;
    choice.plan.keepsOnlyCopies = limit.has_value();
    if (auto wrong = solver::validateShardingProblem(choice.problem)) {
      main.emitError() << "no layouts are chosen: " << *wrong;
      return std::nullopt;
    }
    solve(limit && limit->searchesLonger);
    if (auto wrong = solver::checkSharding(choice.problem, choice.solution)) {
      main.emitError() << "the choice of layouts is not what it claims to be: "
                       << *wrong;
      return std::nullopt;
    }
    readBack();
    return std::move(choice);
  }

private:
  void setTimes(Node &node) {
    const Lifetimes::Span span = lifetimes.of(node.value);
    node.begin = span.begin;
    node.end = span.end;
    node.firstRead = span.firstRead;
  }

  //===--------------------------------------------------------------------===//
  // Nodes
  //===--------------------------------------------------------------------===//

  int addValue(Value value, ArrayRef<int> layouts, double runs,
               bool mayHaveCopies) {
    Node node;
    node.value = value;
    node.layouts = lists.number({layouts.begin(), layouts.end()});
    node.mayHaveCopies = mayHaveCopies;
    node.runs = runs;
    nodes.push_back(std::move(node));
    nodeOf[value] = int(nodes.size()) - 1;
    return int(nodes.size()) - 1;
  }

  std::vector<int> allLayouts(Value value) {
    std::vector<int> numbers;
    for (const Layout &layout : layoutsOf(shapeOf(value), mesh))
      numbers.push_back(moves.number(layout));
    return numbers;
  }

  /// What is asked for, and all layouts that it allows.
  std::vector<Layout> layoutsWithin(const AskedLayout &asked, Value value) {
    std::vector<Layout> layouts{asked.layout};
    for (Layout &layout : layoutsOf(shapeOf(value), mesh))
      if (!(layout == asked.layout) && asked.allows(layout))
        layouts.push_back(std::move(layout));
    return layouts;
  }

  void addArgument(BlockArgument argument) {
    unsigned at = argument.getArgNumber();
    std::vector<int> layouts;
    if (const auto &given = asked.arguments[at]) {
      for (const Layout &layout : layoutsWithin(*given, argument))
        layouts.push_back(moves.number(layout));
    } else {
      layouts = allLayouts(argument);
    }
    Node &node = nodes[addValue(argument, layouts, 1, mayShareCopy(argument))];
    setTimes(node);
  }

  void visitBlock(Block &block, double runs) {
    for (Operation &op : block.without_terminator()) {
      if (op.getNumResults() > 0 &&
          llvm::all_of(op.getResults(), isMadeAnywhere))
        continue;
      if (isControl(&op))
        visitControl(&op, runs);
      else
        visitOperation(&op, runs);
    }
  }

  void visitOperation(Operation *op, double runs) {
    Factors rule = factorsOf(op);
    Node node;
    node.op = op;
    node.axes = waysOf(op, rule);
    for (const FactorAxes &axes : node.axes)
      node.seconds.push_back(runs * (prices.secondsOf(op, rule, axes) +
                                     prices.secondsOfHalos(op, rule, axes)));
    nodes.push_back(std::move(node));
    int self = int(nodes.size()) - 1;
    readOperands(op, rule, self, runs);
    for (auto [value, factors] :
         llvm::zip_equal(op->getResults(), rule.results))
      addResult(value, rule, factors, self, runs);
  }

  /// A constraint leaves its operand as it is, in one of the layouts that it
  /// allows.
  std::vector<FactorAxes> waysOf(Operation *op, const Factors &rule) {
    auto given = isa<step::ShardingConstraintOp>(op)
                     ? asked.constraints.find(op->getResult(0))
                     : asked.constraints.end();
    if (given == asked.constraints.end())
      return waysToCut(rule, mesh);
    std::vector<FactorAxes> ways;
    for (const Layout &layout : layoutsWithin(given->second, op->getResult(0)))
      ways.emplace_back(layout.dims.begin(), layout.dims.end());
    return ways;
  }

  void readOperands(Operation *op, const Factors &rule, int self, double runs) {
    llvm::MapVector<Value, WantedLayouts> reads;
    for (auto [value, factors] :
         llvm::zip_equal(op->getOperands(), rule.operands)) {
      if (isMadeAnywhere(value))
        continue;
      WantedLayouts &wanted = reads[value];
      wanted.resize(nodes[self].axes.size());
      for (auto [axes, list] : llvm::zip_equal(nodes[self].axes, wanted)) {
        int number = moves.number(layoutOf(rule, factors, axes, false));
        if (!llvm::is_contained(list, number))
          list.push_back(number);
      }
    }
    for (auto &[value, wanted] : reads)
      addReader(value, self, wanted, runs);
    // Scalars that regions on elements read from outside.
    llvm::SetVector<Value> captured;
    for (Region &region : op->getRegions())
      region.walk([&](Operation *inner) {
        for (Value value : inner->getOperands())
          if (!op->isAncestor(value.getParentBlock()->getParentOp()))
            captured.insert(value);
      });
    for (Value value : captured)
      readWhole(value, runs);
  }

  void addResult(Value value, const Factors &rule, const TensorFactors &factors,
                 int self, double runs) {
    std::vector<Layout> made;
    llvm::SetVector<int> numbers;
    for (const FactorAxes &axes : nodes[self].axes) {
      made.push_back(layoutOf(rule, factors, axes, true));
      forEachFinished(made.back(), shapeOf(value), [&](const Layout &layout) {
        numbers.insert(moves.number(layout));
      });
    }
    int node =
        addValue(value, numbers.getArrayRef(), runs, mayShareCopy(value));
    setTimes(nodes[node]);
    std::vector<int64_t> numbersMade;
    for (const Layout &layout : made)
      numbersMade.push_back(moves.number(layout));
    nodes[node].maker = {self, lists.number(std::move(numbersMade)), runs};
  }

  /// Calls `visit` with what becomes of a layout once nothing is pending: each
  /// part of an axis is summed as a whole or cuts a dimension.
  void forEachFinished(const Layout &layout, ArrayRef<int64_t> shape,
                       llvm::function_ref<void(const Layout &)> visit) const {
    auto finish = [&](auto &self, size_t at, Layout finished) -> void {
      if (at == layout.pending.size()) {
        for (AxisParts &parts : finished.dims)
          parts = joined(parts);
        return visit(finished);
      }
      self(self, at + 1, finished);
      for (size_t dim = 0; dim < shape.size(); ++dim) {
        Layout cut = finished;
        cut.dims[dim].push_back(layout.pending[at]);
        int64_t count = countOf(cut.dims[dim]);
        if (count <= shape[dim] &&
            nests(shape[dim], countOf(layout.dims[dim]), count) &&
            cutsApart(mesh, cut.dims[dim], shape[dim]))
          self(self, at + 1, cut);
      }
    };
    Layout start = layout;
    start.pending.clear();
    finish(finish, 0, start);
  }

  //===--------------------------------------------------------------------===//
  // Loops and branches
  //===--------------------------------------------------------------------===//

  void visitControl(Operation *op, double runs) {
    auto loop = dyn_cast<stablehlo::WhileOp>(op);
    SmallVector<int> carried;
    for (auto [at, result] : llvm::enumerate(op->getResults())) {
      int node = addValue(result, allLayouts(result), runs, false);
      setTimes(nodes[node]);
      carried.push_back(node);
      for (Region &region : op->getRegions())
        if (loop)
          nodeOf[region.getArgument(at)] = node;
    }
    for (auto [at, operand] : llvm::enumerate(op->getOperands()))
      if (loop)
        readAsCarried(operand, carried[at], runs);
      else
        readWhole(operand, runs);
    double rounds = runs;
    if (loop)
      rounds *= double(tripCount(op).value_or(1));
    for (Region &region : op->getRegions()) {
      visitBlock(region.front(), rounds);
      bool isTest = loop && &region == &loop.getCond();
      for (auto [at, value] :
           llvm::enumerate(region.front().getTerminator()->getOperands()))
        if (isTest)
          readWhole(value, rounds);
        else
          readAsCarried(value, carried[at], rounds);
    }
  }

  void readAsCarried(Value value, int reader, double runs) {
    if (isMadeAnywhere(value) || nodeOf.lookup(value) == reader)
      return;
    WantedLayouts wanted;
    for (int64_t layout : listsOfNumbers[nodes[reader].layouts])
      wanted.push_back({int(layout)});
    addReader(value, reader, wanted, runs);
  }

  void visitReturn() {
    Operation *end = main.getBody().front().getTerminator();
    SmallVector<int> replaces(end->getNumOperands(), -1);
    for (unsigned at = 0; at < main.getNumArguments(); ++at)
      if (auto successor =
              main.getArgAttrOfType<IntegerAttr>(at, step::successorAttrName))
        replaces[successor.getInt()] = nodeOf[main.getArgument(at)];
    for (auto [at, value] : llvm::enumerate(end->getOperands())) {
      if (isMadeAnywhere(value))
        continue;
      if (replaces[at] >= 0)
        readAsCarried(value, replaces[at], 1);
      else if (const auto &given = asked.results[at])
        readIn(value, moves.number(given->layout), 1);
    }
  }

  void readIn(Value value, int wanted, double runs) {
    if (!isMadeAnywhere(value))
      addReader(value, Use::fixed, {{wanted}}, runs);
  }
  void readWhole(Value value, double runs) {
    readIn(value, moves.number(Layout::replicated(shapeOf(value).size())),
           runs);
  }

  void addReader(Value value, int reader, const WantedLayouts &wanted,
                 double runs) {
    nodes[nodeOf.at(value)].readers.push_back({reader, listOf(wanted), runs});
  }

  int listOf(const WantedLayouts &wanted) {
    std::vector<int64_t> list;
    for (ArrayRef<int> layouts : wanted) {
      list.push_back(int64_t(layouts.size()));
      list.insert(list.end(), layouts.begin(), layouts.end());
    }
    return lists.number(std::move(list));
  }

  /// Calls `visit` with the layouts of each strategy, in turn.
  void forEachWanted(int list,
                     llvm::function_ref<void(ArrayRef<int64_t>)> visit) const {
    for (ArrayRef<int64_t> left = listsOfNumbers[list]; !left.empty();) {
      visit(left.slice(1, left.front()));
      left = left.drop_front(1 + left.front());
    }
  }

  //===--------------------------------------------------------------------===//
  // Ways of values
  //===--------------------------------------------------------------------===//

  static int64_t inPicoseconds(double seconds) {
    return int64_t(std::llround(seconds * picosecondsPerSecond));
  }

  double readSeconds(Value value, const ValueWay &way, int wanted) {
    double seconds = moves.seconds(value, way.layout, wanted);
    if (way.copy != ValueWay::none)
      seconds = std::min(seconds, moves.seconds(value, way.copy, wanted));
    return seconds;
  }

  int64_t costOfReading(Value value, const ValueWay &way,
                        ArrayRef<int64_t> wanted, double runs) {
    double seconds = 0;
    for (int64_t layout : wanted)
      seconds += readSeconds(value, way, int(layout));
    return inPicoseconds(runs * seconds);
  }

  void chooseWays(bool isLimited) {
    std::vector<std::vector<int64_t>> keys;
    DistinctLists numbers(keys);
    for (Node &node : nodes) {
      if (!node.value)
        continue;
      std::vector<int64_t> key{int64_t(reinterpret_cast<intptr_t>(
                                   node.value.getType().getAsOpaquePointer())),
                               node.layouts, node.mayHaveCopies,
                               llvm::bit_cast<int64_t>(node.runs)};
      for (const Use &reader : node.readers)
        llvm::append_values(key, int64_t(reader.node == Use::fixed),
                            int64_t(reader.list),
                            llvm::bit_cast<int64_t>(reader.runs));
      node.kind = numbers.number(std::move(key));
      if (node.kind == int(kinds.size()))
        kinds.push_back(kindFor(node, isLimited));
    }
  }

  ValueKind kindFor(const Node &node, bool isLimited) {
    ValueKind kind;
    for (int64_t layout : listsOfNumbers[node.layouts])
      addWays(kind, node, int(layout), isLimited);
    std::vector<int64_t> list;
    for (const ValueWay &way : kind.ways)
      list.insert(list.end(), {way.layout, way.copy});
    kind.waysNumber = lists.number(std::move(list));
    return kind;
  }

  /// The layout alone, and with every copy that can be worth it.
  void addWays(ValueKind &kind, const Node &node, int layout, bool isLimited) {
    std::vector<ValueWay> ways{{layout}};
    if (node.mayHaveCopies)
      for (int copy : gatheredFrom(layout))
        ways.push_back({layout, copy});
    WaysToHold hold;
    for (const ValueWay &way : ways) {
      double seconds =
          way.copy == ValueWay::none
              ? 0
              : node.runs * moves.seconds(node.value, layout, way.copy);
      for (const Use &reader : node.readers)
        if (reader.node == Use::fixed)
          forEachWanted(reader.list, [&](ArrayRef<int64_t> wanted) {
            seconds +=
                reader.runs * readSeconds(node.value, way, int(wanted.front()));
          });
      hold.own.push_back(inPicoseconds(seconds));
      hold.bytes.push_back(way.copy == ValueWay::none
                               ? 0
                               : moves.localBytes(node.value, way.copy));
    }
    for (const Use &reader : node.readers)
      if (reader.node != Use::fixed && ways.size() > 1) {
        auto &decisions = hold.reading.emplace_back();
        forEachWanted(reader.list, [&](ArrayRef<int64_t> wanted) {
          std::vector<int64_t> &costs = decisions.emplace_back();
          for (const ValueWay &way : ways)
            costs.push_back(
                costOfReading(node.value, way, wanted, reader.runs));
        });
      }
    std::vector<int64_t> copyBytes = hold.bytes;
    if (!isLimited)
      hold.bytes.assign(ways.size(), 0);
    for (size_t way : neededWays(hold)) {
      kind.ways.push_back(ways[way]);
      kind.costs.push_back(hold.own[way]);
      kind.bytes.push_back(moves.localBytes(node.value, layout));
      kind.copyBytes.push_back(copyBytes[way]);
    }
  }

  /// What a layout becomes if some of its parts are gathered.
  std::vector<int> gatheredFrom(int number) {
    const Layout layout = moves.layout(number);
    SmallVector<std::pair<size_t, size_t>> parts;
    for (auto [dim, list] : llvm::enumerate(layout.dims))
      for (size_t at = 0; at < list.size(); ++at)
        parts.push_back({dim, at});
    std::vector<int> copies;
    for (unsigned removed = 1; removed < (1u << parts.size()); ++removed) {
      Layout copy = Layout::replicated(layout.dims.size());
      for (auto [bit, part] : llvm::enumerate(parts))
        if (!(removed >> bit & 1))
          copy.dims[part.first].push_back(layout.dims[part.first][part.second]);
      for (AxisParts &list : copy.dims)
        list = joined(list);
      copies.push_back(moves.number(copy));
    }
    return copies;
  }

  const ValueKind &kindOf(int node) const { return kinds[nodes[node].kind]; }

  //===--------------------------------------------------------------------===//
  // Edges
  //===--------------------------------------------------------------------===//

  void addEdges() {
    for (auto [first, later] : step::laterParts(main))
      lieAlike(nodeOf[main.getArgument(first)],
               nodeOf[main.getArgument(later)]);
    for (ArrayRef<Value> group : asked.groups)
      for (Value member : group.drop_front())
        lieAlike(nodeOf[group.front()], nodeOf[member]);
    for (int node = 0; node < int(nodes.size()); ++node) {
      if (!nodes[node].value)
        continue;
      if (nodes[node].maker)
        addMaker(node);
      for (const Use &reader : nodes[node].readers)
        if (reader.node != Use::fixed)
          addReading(node, reader);
    }
  }

  /// Two values, such as parts of one tensor, have one layout.
  void lieAlike(int first, int later) {
    std::vector<int64_t> table;
    for (const ValueWay &way : kindOf(first).ways)
      for (const ValueWay &other : kindOf(later).ways)
        table.push_back(
            way.layout == other.layout ? 0 : ShardingProblem::forbidden);
    choice.problem.edges.push_back(
        {first, later, tables.number(std::move(table))});
  }

  /// What it takes to bring what an operation makes into the ways of its value.
  void addMaker(int node) {
    Value value = nodes[node].value;
    const Use &maker = *nodes[node].maker;
    const ValueKind &kind = kindOf(node);
    auto costs = [&] {
      std::vector<int64_t> table;
      for (int64_t number : listsOfNumbers[maker.list]) {
        const Layout made = moves.layout(int(number));
        llvm::SmallDenseSet<int> reached;
        forEachFinished(made, shapeOf(value), [&](const Layout &finished) {
          reached.insert(moves.number(finished));
        });
        for (const ValueWay &way : kind.ways)
          table.push_back(
              reached.contains(way.layout)
                  ? inPicoseconds(maker.runs *
                                  moves.seconds(value, int(number), way.layout))
                  : ShardingProblem::forbidden);
      }
      return table;
    };
    addEdge(maker.node, node,
            {value.getType(), kind.waysNumber, maker.list, /*isMade=*/true,
             maker.runs},
            costs);
  }

  void addReading(int node, const Use &reader) {
    Value value = nodes[node].value;
    const ValueKind &kind = kindOf(node);
    int list = reader.list;
    if (nodes[reader.node].value) {
      WantedLayouts wanted;
      for (const ValueWay &way : kindOf(reader.node).ways)
        wanted.push_back({way.layout});
      list = listOf(wanted);
    }
    auto costs = [&] {
      std::vector<int64_t> table;
      for (const ValueWay &way : kind.ways)
        forEachWanted(list, [&](ArrayRef<int64_t> wanted) {
          table.push_back(costOfReading(value, way, wanted, reader.runs));
        });
      return table;
    };
    addEdge(
        node, reader.node,
        {value.getType(), kind.waysNumber, list, /*isMade=*/false, reader.runs},
        costs);
  }

  /// What decides the costs of an edge. The layers of a model have few.
  struct EdgeKind {
    Type type;         // of the value
    int ways, layouts; // numbers of lists
    bool isMade;       // not read
    double runs;

    auto operator<=>(const EdgeKind &other) const {
      return std::tuple(type.getAsOpaquePointer(), ways, layouts, isMade,
                        runs) <=> std::tuple(other.type.getAsOpaquePointer(),
                                             other.ways, other.layouts,
                                             other.isMade, other.runs);
    }
  };

  /// `costs` computes the table of an edge of a new kind.
  void addEdge(int first, int second, const EdgeKind &kind,
               llvm::function_ref<std::vector<int64_t>()> costs) {
    constexpr int free = -1;
    auto [found, isNew] = tableOf.try_emplace(kind, free);
    if (isNew) {
      std::vector<int64_t> table = costs();
      if (kind.isMade ||
          llvm::any_of(table, [](int64_t cost) { return cost != 0; }))
        found->second = tables.number(std::move(table));
    }
    if (found->second != free)
      choice.problem.edges.push_back({first, second, found->second});
  }

  //===--------------------------------------------------------------------===//
  // Problem and solution
  //===--------------------------------------------------------------------===//

  /// The table of two nodes that have to take the same of so many ways.
  static std::vector<int64_t> equalWays(size_t count) {
    std::vector<int64_t> table(count * count, ShardingProblem::forbidden);
    for (size_t way = 0; way < count; ++way)
      table[way * count + way] = 0;
    return table;
  }

  void finishProblem() {
    for (const Node &node : nodes) {
      ShardingProblem::Node &to = choice.problem.nodes.emplace_back();
      to.begin = node.begin;
      to.end = node.end;
      if (node.value) {
        to.costs = kinds[node.kind].costs;
        to.bytes = kinds[node.kind].bytes;
        continue;
      }
      for (double seconds : node.seconds)
        to.costs.push_back(inPicoseconds(seconds));
      to.bytes.resize(to.costs.size());
    }
    // Copies are there for another time than the values.
    std::map<size_t, int> sameWays; // tables, by how many ways there are
    realEdges = choice.problem.edges.size();
    for (size_t at = 0; at < nodes.size(); ++at) {
      const Node &node = nodes[at];
      if (!node.value)
        continue;
      const ValueKind &kind = kinds[node.kind];
      if (llvm::none_of(kind.ways, [](const ValueWay &way) {
            return way.copy != ValueWay::none;
          }))
        continue;
      ShardingProblem::Node &to = choice.problem.nodes.emplace_back();
      to.begin = node.firstRead;
      to.end = std::max(lifetimes.lastRead(node.value), node.firstRead);
      size_t count = kind.ways.size();
      to.costs.resize(count);
      to.bytes = kind.copyBytes;
      auto [same, isNew] = sameWays.try_emplace(count, 0);
      if (isNew)
        same->second = tables.number(equalWays(count));
      choice.problem.edges.push_back(
          {int(at), int(choice.problem.nodes.size()) - 1, same->second});
    }
    choice.problem.name = "layouts";
  }

  /// Sums of costs have a limit: those of large steps and slow links are in
  /// larger units.
  void shrinkCosts() {
    ShardingProblem &problem = choice.problem;
    auto shrink = [](std::vector<int64_t> &costs) {
      for (int64_t &cost : costs)
        if (cost < ShardingProblem::forbidden)
          cost = (cost + 500) / 1000;
    };
    while (solver::sumOfLargestCosts(problem) >=
           ShardingProblem::forbidden / 2) {
      for (ShardingProblem::Node &node : problem.nodes)
        shrink(node.costs);
      for (std::vector<int64_t> &table : problem.tables)
        shrink(table);
      choice.costsPerSecond /= 1000;
    }
  }

  /// The least bytes that any choice has at the fullest time, as far as nodes
  /// are free of each other.
  int64_t leastPeak() const {
    std::map<int64_t, int64_t> changes;
    for (const ShardingProblem::Node &node : choice.problem.nodes)
      if (node.begin < node.end) {
        int64_t least = *llvm::min_element(node.bytes);
        changes[node.begin] += least;
        changes[node.end] -= least;
      }
    int64_t taken = 0, peak = 0;
    for (auto [time, change] : changes)
      peak = std::max(peak, taken += change);
    return peak;
  }

  /// Whether a choice was found that costs at most so much more than any can.
  bool isWithin(double gap) const {
    const solver::ShardingSolution &found = choice.solution;
    return found.valid && double(found.cost) <= double(found.bound) * (1 + gap);
  }

  /// Keeps what a search finds that is no worse than what is known.
  void searchOnceMore(int64_t effort) {
    solver::ShardingOptions options;
    options.effort = effort;
    solver::ShardingSolution found =
        solver::solveSharding(choice.problem, options);
    if (found.valid &&
        (!choice.solution.valid || found.cost <= choice.solution.cost))
      choice.solution = std::move(found);
  }

  /// Where nothing is within the limit, the least that is found somewhat above
  /// it: what a rank needs is an estimate here.
  void solve(bool searchesLonger) {
    solver::ShardingOptions options;
    int64_t numbers = 0;
    for (const ShardingProblem::Edge &edge : choice.problem.edges)
      numbers += int64_t(choice.problem.tables[edge.table].size());
    const int64_t wanted = numbers * sweeps / 1'000'000;
    options.effort = std::max(std::clamp(wanted, leastEffort, mostEffort),
                              numbers / 2'000'000);
    choice.solution = solver::solveSharding(choice.problem, options);
    const int64_t least = leastPeak();
    // The least is long for a small problem.
    if (searchesLonger && *choice.problem.limit >= least &&
        !isWithin(nearBound) && wanted * longerSearch > options.effort) {
      searchOnceMore(std::min(wanted, mostEffort) * longerSearch);
      if (choice.solution.valid && !isWithin(farFromBound))
        searchOnceMore(std::min(wanted, mostEffort) * longestSearch);
    }
    if (choice.solution.valid)
      return;
    choice.isWithinLimit = false;
    for (int64_t percent : {101, 110, 125, 150, 200, 400}) {
      choice.problem.limit = least / 100 * percent + percent;
      if (*choice.problem.limit <= 0)
        continue;
      choice.solution = solver::solveSharding(choice.problem, options);
      if (choice.solution.valid)
        return;
    }
    choice.problem.limit.reset();
    choice.solution = solver::solveSharding(choice.problem, options);
  }

  void readBack() {
    auto &values = choice.plan.layouts.values;
    for (auto &[value, node] : nodeOf) {
      const ValueWay &way = chosenWay(node);
      values[value] = moves.layout(way.layout);
      if (way.copy != ValueWay::none)
        choice.plan.copies[value] = moves.layout(way.copy);
    }
    for (auto [at, node] : llvm::enumerate(nodes))
      if (node.op)
        choice.plan.axes[node.op] = node.axes[choice.solution.strategies[at]];
    main.walk([&](Operation *op) {
      for (Value result : op->getResults())
        if (isa<RankedTensorType>(result.getType()))
          values.try_emplace(result,
                             Layout::replicated(shapeOf(result).size()));
    });
    Operation *end = main.getBody().front().getTerminator();
    for (auto [at, value] : llvm::enumerate(end->getOperands()))
      choice.plan.layouts.results.push_back(
          asked.results[at] ? asked.results[at]->layout : values[value]);
    for (unsigned at = 0; at < main.getNumArguments(); ++at) {
      if (auto successor =
              main.getArgAttrOfType<IntegerAttr>(at, step::successorAttrName))
        choice.plan.layouts.results[successor.getInt()] =
            values[main.getArgument(at)];
      explain(main.getArgument(at));
    }
  }

  const ValueWay &chosenWay(int node) const {
    return kindOf(node).ways[choice.solution.strategies[node]];
  }

  /// What a node and its edges cost with another strategy.
  int64_t costWith(int node, size_t strategy) const {
    const ShardingProblem &problem = choice.problem;
    int64_t cost = problem.nodes[node].costs[strategy];
    for (size_t at : edgesOf[node]) {
      const ShardingProblem::Edge &edge = problem.edges[at];
      size_t row = edge.first == node
                       ? strategy
                       : size_t(choice.solution.strategies[edge.first]);
      size_t column = edge.second == node
                          ? strategy
                          : size_t(choice.solution.strategies[edge.second]);
      cost +=
          problem
              .tables[edge.table]
                     [row * problem.nodes[edge.second].costs.size() + column];
    }
    return cost;
  }

  void explain(BlockArgument argument) {
    if (edgesOf.empty()) {
      edgesOf.resize(choice.problem.nodes.size());
      for (size_t at = 0; at < realEdges; ++at) {
        edgesOf[choice.problem.edges[at].first].push_back(at);
        edgesOf[choice.problem.edges[at].second].push_back(at);
      }
    }
    ArgumentReason &reason = choice.reasons.emplace_back();
    int node = nodeOf[argument];
    int own = chosenWay(node).layout;
    int64_t cost = costWith(node, choice.solution.strategies[node]);
    reason.moving = double(cost) / choice.costsPerSecond;
    reason.isAsked = asked.arguments[argument.getArgNumber()].has_value();
    for (size_t way = 0; way < kindOf(node).ways.size(); ++way) {
      int layout = kindOf(node).ways[way].layout;
      double more = double(costWith(node, way) - cost) / choice.costsPerSecond;
      if (layout != own && (!reason.nextBest || more < reason.nextBest->second))
        reason.nextBest = {moves.layout(layout), more};
    }
  }

  func::FuncOp main;
  const Mesh &mesh;
  const AskedLayouts &asked;
  const Prices &prices;
  Moves moves;
  Lifetimes lifetimes;
  LayoutChoice choice;
  std::vector<Node> nodes;
  std::vector<ValueKind> kinds;
  llvm::DenseMap<Value, int> nodeOf;
  DistinctLists tables;
  std::vector<std::vector<int64_t>> listsOfNumbers;
  DistinctLists lists;
  std::map<EdgeKind, int> tableOf;
  size_t realEdges = 0;
  std::vector<std::vector<size_t>> edgesOf;
};

} // namespace

std::optional<LayoutChoice>
tenon::sharding::chooseLayouts(func::FuncOp main, const Mesh &mesh,
                               const AskedLayouts &asked, const Prices &prices,
                               std::optional<ByteLimit> limit) {
  return Choosing(main, mesh, asked, prices).choose(limit);
}
