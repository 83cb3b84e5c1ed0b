//===- Collective.cpp - Operations on many devices ------------------------===//
//
// Every collective finds the group its process belongs to, meets the other
// processes of it, and computes its result from what all of them gave. The four
// ways to read groups are those of the StableHLO specification, "Process
// grouping". Outside of simulated devices there is one device, which stands for
// no program that says it is for several.
//
//===----------------------------------------------------------------------===//

#include "Devices.h"
#include "Evaluators.h"

#include "tenon/Analysis/DeviceCount.h"
#include "tenon/Dialect/Check/Check.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;

namespace {

/// How the ids in groups are to be read.
enum class Grouping { replicas, partitions, replicasAndPartitions, flattened };

using Group = SmallVector<int64_t>;

Grouping groupingOf(std::optional<stablehlo::ChannelHandleAttr> channel,
                    bool usesGlobalIds, bool hasGlobalIds) {
  if (!channel || channel->getHandle() <= 0)
    return Grouping::replicas;
  if (!hasGlobalIds)
    return Grouping::partitions;
  return usesGlobalIds ? Grouping::flattened : Grouping::replicasAndPartitions;
}

/// What the one device outside of simulated ones computes would be taken for
/// what several do.
LogicalResult checkSimulated(Operation *op, Interpreter &interpreter) {
  if (!interpreter.isAlone())
    return success();
  DeviceCount count = countDevices(op->getParentOfType<ModuleOp>());
  if (count.devices == 1)
    return success();
  return op->emitOpError("runs on one device of a program for ")
         << count.devices << ": " << count.reason
         << "; run it on simulated devices, by 'sdy.manual_computation' or "
            "'interpreter.run_parallel'";
}

/// The processes of one row of ids, for the replica or partition of `process`
/// where a row says nothing about it.
Group processesOf(ArrayRef<int64_t> ids, Grouping grouping,
                  const Devices &devices, int64_t process) {
  int64_t replica = process / devices.partitions;
  int64_t partition = process % devices.partitions;
  Group group;
  switch (grouping) {
  case Grouping::replicas:
    for (int64_t id : ids)
      group.push_back(id * devices.partitions + partition);
    break;
  case Grouping::partitions:
    for (int64_t id : ids)
      group.push_back(replica * devices.partitions + id);
    break;
  case Grouping::replicasAndPartitions:
    for (int64_t p = 0; p < devices.partitions; ++p)
      for (int64_t id : ids)
        group.push_back(id * devices.partitions + p);
    break;
  case Grouping::flattened:
    group.append(ids.begin(), ids.end());
    break;
  }
  return group;
}

/// The group of the interpreter's process; empty if it is in none. No rows at
/// all mean one of everything.
FailureOr<Group> groupOf(Operation *op, Attribute groups, Grouping grouping,
                         Interpreter &interpreter) {
  if (failed(checkSimulated(op, interpreter)))
    return failure();
  const Devices &devices = interpreter.devices();
  int64_t process = interpreter.process();
  auto table = dyn_cast<DenseIntElementsAttr>(groups);
  if (!table)
    return op->emitOpError("has groups that are no table of ids, which the "
                           "reference interpreter does not read");
  int64_t everyone = grouping == Grouping::partitions ? devices.partitions
                     : grouping == Grouping::flattened
                         ? devices.replicas * devices.partitions
                         : devices.replicas;
  SmallVector<SmallVector<int64_t>> rows;
  if (table.getNumElements() == 0) {
    rows.push_back(llvm::to_vector(llvm::seq<int64_t>(0, everyone)));
  } else {
    int64_t width = table.getType().getDimSize(1);
    rows.resize(table.getType().getDimSize(0));
    for (auto [at, id] : llvm::enumerate(table.getValues<int64_t>())) {
      if (id == -1)
        continue;
      if (id < 0 || id >= everyone)
        return op->emitOpError("names device ") << id << " of " << everyone;
      rows[at / width].push_back(id);
    }
  }
  for (ArrayRef<int64_t> row : rows) {
    Group group = processesOf(row, grouping, devices, process);
    if (llvm::is_contained(group, process))
      return group;
  }
  return Group();
}

/// A group of processes and what each of them gave, in its order.
struct Meeting {
  Group group;
  std::vector<Tensors> given;
};

/// Exchanges operands in the group of this process; an error if it is in none.
FailureOr<Meeting> meet(Operation *op, Interpreter &interpreter,
                        FailureOr<Group> group, ArrayRef<Tensor> operands) {
  if (failed(group))
    return failure();
  if (group->empty()) {
    int64_t partitions = interpreter.devices().partitions;
    return op->emitOpError("runs on replica ")
           << interpreter.process() / partitions << ", partition "
           << interpreter.process() % partitions
           << ", which is in none of its groups; name every device in "
              "'replica_groups'";
  }
  auto given = interpreter.devices().exchange(op, interpreter.process(), *group,
                                              Tensors(operands));
  if (failed(given))
    return failure();
  return Meeting{std::move(*group), std::move(*given)};
}

template <typename Op>
FailureOr<Group> groupWithGlobalIds(Op op, Interpreter &interpreter) {
  return groupOf(op, op.getReplicaGroups(),
                 groupingOf(op.getChannelHandle(), op.getUseGlobalDeviceIds(),
                            /*hasGlobalIds=*/true),
                 interpreter);
}

template <typename Op>
FailureOr<Group> groupWithoutGlobalIds(Op op, Interpreter &interpreter) {
  return groupOf(op, op.getReplicaGroups(),
                 groupingOf(op.getChannelHandle(), false,
                            /*hasGlobalIds=*/false),
                 interpreter);
}

/// What a group makes has to have the type that the operation gives it: a
/// table pads groups of unequal sizes, and types only one.
LogicalResult checkMade(Operation *op, const Meeting &met,
                        ArrayRef<int64_t> shape, unsigned result = 0) {
  ArrayRef<int64_t> expected = resultType(op, result).getShape();
  if (shape == expected)
    return success();
  InFlightDiagnostic error = op->emitOpError("makes a tensor of shape [");
  llvm::interleaveComma(shape, error);
  error << "] in a group of " << met.group.size() << ", expected [";
  llvm::interleaveComma(expected, error);
  return error << "]";
}

/// One operand of all processes, combined element by element.
FailureOr<Tensor> combineAll(Interpreter &interpreter, Region &region,
                             const std::vector<Tensors> &given, size_t operand,
                             RankedTensorType type) {
  Tensor result(type);
  for (int64_t i = 0; i < result.size(); ++i) {
    Element running = given.front()[operand].elements[i];
    for (size_t member = 1; member < given.size(); ++member) {
      auto combined = interpreter.reduce(
          region, {running, given[member][operand].elements[i]});
      if (failed(combined))
        return failure();
      running = combined->front();
    }
    result.elements[i] = round(running, type.getElementType());
  }
  return result;
}

/// The part `index` of `parts` equal ones along a dimension.
Tensor sliceOf(const Tensor &whole, int64_t dim, int64_t index, int64_t parts) {
  SmallVector<int64_t> shape(whole.shape());
  shape[dim] /= parts;
  Tensor part(whole.type.clone(shape));
  if (part.size() == 0)
    return part;
  Index at(part.rank(), 0);
  do {
    Index from(at);
    from[dim] += index * shape[dim];
    part.at(at) = whole.at(from);
  } while (next(at, shape));
  return part;
}

/// Tensors one after the other along a dimension.
Tensor joined(ArrayRef<Tensor> parts, int64_t dim, RankedTensorType type) {
  Tensor whole(type);
  int64_t start = 0;
  for (const Tensor &part : parts) {
    if (part.size() != 0) {
      Index at(part.rank(), 0);
      do {
        Index to(at);
        to[dim] += start;
        whole.at(to) = part.at(at);
      } while (next(at, part.shape()));
    }
    start += part.shape()[dim];
  }
  return whole;
}

LogicalResult evaluateAllReduce(Operation *op, Interpreter &interpreter,
                                ArrayRef<Tensor> operands, Tensors &results) {
  auto reduce = cast<stablehlo::AllReduceOp>(op);
  auto met =
      meet(op, interpreter, groupWithGlobalIds(reduce, interpreter), operands);
  if (failed(met))
    return failure();
  for (size_t i = 0; i < operands.size(); ++i) {
    auto combined = combineAll(interpreter, reduce.getComputation(), met->given,
                               i, resultType(op, i));
    if (failed(combined))
      return failure();
    results.push_back(std::move(*combined));
  }
  return success();
}

LogicalResult evaluateReduceScatter(Operation *op, Interpreter &interpreter,
                                    ArrayRef<Tensor> operands,
                                    Tensors &results) {
  auto reduce = cast<stablehlo::ReduceScatterOp>(op);
  auto met =
      meet(op, interpreter, groupWithGlobalIds(reduce, interpreter), operands);
  if (failed(met))
    return failure();
  int64_t dim = reduce.getScatterDimension();
  SmallVector<int64_t> shape(operands[0].shape());
  shape[dim] /= int64_t(met->group.size());
  if (failed(checkMade(op, *met, shape)))
    return failure();
  auto combined = combineAll(interpreter, reduce.getComputation(), met->given,
                             0, operands[0].type);
  if (failed(combined))
    return failure();
  int64_t index =
      llvm::find(met->group, interpreter.process()) - met->group.begin();
  results.push_back(sliceOf(*combined, dim, index, int64_t(met->group.size())));
  return success();
}

LogicalResult evaluateAllGather(Operation *op, Interpreter &interpreter,
                                ArrayRef<Tensor> operands, Tensors &results) {
  auto gather = cast<stablehlo::AllGatherOp>(op);
  auto met =
      meet(op, interpreter, groupWithGlobalIds(gather, interpreter), operands);
  if (failed(met))
    return failure();
  for (size_t i = 0; i < operands.size(); ++i) {
    Tensors parts;
    for (const Tensors &member : met->given)
      parts.push_back(member[i]);
    SmallVector<int64_t> shape(operands[i].shape());
    shape[gather.getAllGatherDim()] *= int64_t(parts.size());
    if (failed(checkMade(op, *met, shape, i)))
      return failure();
    results.push_back(
        joined(parts, gather.getAllGatherDim(), resultType(op, i)));
  }
  return success();
}

LogicalResult evaluateAllToAll(Operation *op, Interpreter &interpreter,
                               ArrayRef<Tensor> operands, Tensors &results) {
  auto exchange = cast<stablehlo::AllToAllOp>(op);
  auto met = meet(op, interpreter, groupWithoutGlobalIds(exchange, interpreter),
                  operands);
  if (failed(met))
    return failure();
  int64_t index =
      llvm::find(met->group, interpreter.process()) - met->group.begin();
  for (size_t i = 0; i < operands.size(); ++i) {
    Tensors parts;
    for (const Tensors &member : met->given)
      parts.push_back(sliceOf(member[i], exchange.getSplitDimension(), index,
                              exchange.getSplitCount()));
    SmallVector<int64_t> shape(parts.front().shape());
    shape[exchange.getConcatDimension()] *= int64_t(parts.size());
    if (failed(checkMade(op, *met, shape, i)))
      return failure();
    results.push_back(
        joined(parts, exchange.getConcatDimension(), resultType(op, i)));
  }
  return success();
}

/// The member of a group of `members` that tensor `index` comes from or goes
/// to: the first, or what the last operand says of this tensor.
FailureOr<int64_t> rootOf(Operation *op, bool isDynamic,
                          ArrayRef<Tensor> operands, size_t index,
                          int64_t members) {
  if (!isDynamic)
    return 0;
  const Tensor &roots = operands.back();
  if (operands.size() != op->getNumResults() + 1 ||
      roots.size() != int64_t(op->getNumResults()))
    return op->emitOpError("has ")
           << op->getNumResults()
           << " results, expected a last operand of as many roots";
  int64_t root = roots.elements[index].integer;
  if (root < 0 || root >= members)
    return op->emitOpError("has root ") << root << " of a group of " << members;
  return root;
}

LogicalResult evaluateCollectiveBroadcast(Operation *op,
                                          Interpreter &interpreter,
                                          ArrayRef<Tensor> operands,
                                          Tensors &results) {
  auto broadcast = cast<stablehlo::CollectiveBroadcastOp>(op);
  auto group = groupWithoutGlobalIds(broadcast, interpreter);
  if (failed(group))
    return failure();
  if (group->empty()) {
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      results.push_back(Tensor(resultType(op, i)));
    return success();
  }
  auto met = meet(op, interpreter, *group, operands);
  if (failed(met))
    return failure();
  for (unsigned i = 0; i < op->getNumResults(); ++i) {
    auto root = rootOf(op, broadcast.getHasDynamicRoot(), operands, i,
                       int64_t(group->size()));
    if (failed(root))
      return failure();
    results.push_back(met->given[*root][i]);
  }
  return success();
}

LogicalResult evaluateCollectiveReduce(Operation *op, Interpreter &interpreter,
                                       ArrayRef<Tensor> operands,
                                       Tensors &results) {
  auto reduce = cast<stablehlo::CollectiveReduceOp>(op);
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    results.push_back(Tensor(resultType(op, i)));
  auto group = groupWithoutGlobalIds(reduce, interpreter);
  if (failed(group))
    return failure();
  if (group->empty())
    return success();
  auto met = meet(op, interpreter, *group, operands);
  if (failed(met))
    return failure();
  for (unsigned i = 0; i < op->getNumResults(); ++i) {
    auto root = rootOf(op, reduce.getHasDynamicRoot(), operands, i,
                       int64_t(group->size()));
    if (failed(root))
      return failure();
    if ((*group)[*root] != interpreter.process())
      continue;
    auto combined = combineAll(interpreter, reduce.getComputation(), met->given,
                               i, resultType(op, i));
    if (failed(combined))
      return failure();
    results[i] = std::move(*combined);
  }
  return success();
}

LogicalResult evaluatePermute(Operation *op, Interpreter &interpreter,
                              ArrayRef<Tensor> operands, Tensors &results) {
  auto permute = cast<stablehlo::CollectivePermuteOp>(op);
  if (failed(checkSimulated(op, interpreter)))
    return failure();
  const Devices &devices = interpreter.devices();
  Grouping grouping = groupingOf(permute.getChannelHandle(), false,
                                 /*hasGlobalIds=*/false);
  auto ids =
      llvm::to_vector(permute.getSourceTargetPairs().getValues<int64_t>());
  int64_t everyone =
      grouping == Grouping::partitions ? devices.partitions : devices.replicas;
  for (int64_t id : ids)
    if (id < 0 || id >= everyone)
      return op->emitOpError("names device ") << id << " of " << everyone;
  Group ends = processesOf(ids, grouping, devices, interpreter.process());
  results.push_back(Tensor(resultType(op)));
  Group group(ends);
  llvm::sort(group);
  group.erase(llvm::unique(group), group.end());
  if (!llvm::is_contained(group, interpreter.process()))
    return success();
  auto met = meet(op, interpreter, group, operands);
  if (failed(met))
    return failure();
  for (size_t i = 0; i < ends.size(); i += 2)
    if (ends[i + 1] == interpreter.process())
      results.front() =
          met->given[llvm::find(group, ends[i]) - group.begin()].front();
  return success();
}

LogicalResult evaluateReplicaId(Operation *op, Interpreter &interpreter,
                                ArrayRef<Tensor>, Tensors &results) {
  if (failed(checkSimulated(op, interpreter)))
    return failure();
  Tensor id(resultType(op));
  id.elements.front().integer =
      interpreter.process() / interpreter.devices().partitions;
  results.push_back(std::move(id));
  return success();
}

LogicalResult evaluatePartitionId(Operation *op, Interpreter &interpreter,
                                  ArrayRef<Tensor>, Tensors &results) {
  if (failed(checkSimulated(op, interpreter)))
    return failure();
  Tensor id(resultType(op));
  id.elements.front().integer =
      interpreter.process() % interpreter.devices().partitions;
  results.push_back(std::move(id));
  return success();
}

/// Every program has an interpreter of its own on one set of devices.
LogicalResult evaluateRunParallel(Operation *op, Interpreter &interpreter,
                                  ArrayRef<Tensor> operands, Tensors &results) {
  auto programs = check::programsOf(cast<check::RunParallelOp>(op));
  if (failed(programs))
    return failure();
  int64_t partitions = int64_t(programs->front().size());
  SmallVector<func::FuncOp> functions;
  for (ArrayRef<StringAttr> row : *programs)
    for (StringAttr name : row)
      functions.push_back(
          SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, name));
  SmallVector<ArrayRef<Tensor>> arguments;
  for (func::FuncOp function : functions) {
    arguments.push_back(operands.take_front(function.getNumArguments()));
    operands = operands.drop_front(function.getNumArguments());
  }
  Devices devices(int64_t(programs->size()), partitions);
  std::vector<func::FuncOp> feed;
  auto names = cast<check::RunParallelOp>(op).getInfeed();
  for (Attribute name : names ? names->getValue() : ArrayRef<Attribute>())
    feed.push_back(SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        op, cast<FlatSymbolRefAttr>(name).getAttr()));
  devices.setFeed(std::move(feed));
  std::vector<Tensors> returned(functions.size());
  auto body = [&](int64_t process) -> LogicalResult {
    Interpreter own(interpreter.subnormals(), interpreter.limits(), &devices,
                    process);
    auto values = own.run(functions[process], arguments[process]);
    if (failed(values))
      return failure();
    returned[process] = std::move(*values);
    return success();
  };
  if (failed(devices.run(body)))
    return failure();
  for (Tensors &values : returned)
    llvm::append_range(results, values);
  return success();
}

} // namespace

ArrayRef<Evaluator> reference::collectiveEvaluators() {
  static const Evaluator table[] = {
      {"interpreter.run_parallel", evaluateRunParallel},
      {"stablehlo.all_gather", evaluateAllGather},
      {"stablehlo.all_reduce", evaluateAllReduce},
      {"stablehlo.all_to_all", evaluateAllToAll},
      {"stablehlo.collective_broadcast", evaluateCollectiveBroadcast},
      {"stablehlo.collective_permute", evaluatePermute},
      {"stablehlo.collective_reduce", evaluateCollectiveReduce},
      {"stablehlo.partition_id", evaluatePartitionId},
      {"stablehlo.reduce_scatter", evaluateReduceScatter},
      {"stablehlo.replica_id", evaluateReplicaId},
  };
  return table;
}
