//===- CheckPartition.cpp - Does a partitioned step compute the step? -----===//
//
// Goes through the partitioned step once. An operation that moves elements, or
// is a collective, changes what is held of a whole tensor; one that computes
// needs an operation of the whole step that computes the same of what its
// operands hold. A whole tensor that is another one with its elements moved is
// looked through, so that transposes, reshapes, slices and repetitions need no
// counterpart.
//
// Integers that depend on the number of the device and on places alone are
// known exactly: they are the starts of shards and the masks of tails.
//
// What becomes of the step behind the partitioner is followed as well: terms
// that a device adds up before all do, in loops, too; tensors that are joined
// to one for a collective; sums in the order of the ranks, for which rows are
// exchanged, added up and gathered.
//
//===----------------------------------------------------------------------===//

#include "Identities.h"
#include "PartitionChecker.h"

#include "tenon/Dialect/Step/Parts.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/DenseSet.h"

namespace tenon::shardingcheck {
#define GEN_PASS_DEF_CHECKPARTITIONPASS
#include "tenon/ShardingCheck/Passes.h.inc"
} // namespace tenon::shardingcheck

using namespace mlir;
using namespace tenon;
using namespace tenon::shardingcheck;

std::optional<PartitionFault> PartitionChecker::run(bool withConstraints) {
  if (!readBoundary() || !checkMeetings())
    return fault;
  whole.walk([&](Operation *op) {
    byName[op->getName()].push_back(op);
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(op))
      constants[constant.getValue()].push_back(constant.getResult());
  });
  if (!visitBlock(local.getBody().front()))
    return fault;
  Operation *end = local.getBody().front().getTerminator();
  Operation *wholeEnd = whole.getBody().front().getTerminator();
  for (auto [at, layout] : llvm::enumerate(resultLayouts)) {
    Value value = wholeEnd->getOperand(at);
    Value part = end->getOperand(at);
    if (holds(part, value, rangesOf(value, layout)))
      continue;
    Operation *lost = firstLost(part);
    fault = {lost ? lost->getLoc() : end->getLoc(),
             ("result " + Twine(at) + " of the partitioned step is not what " +
              "the layout " + layout.text(mesh) + " of result " + Twine(at) +
              " of the whole step says" +
              (lost ? "; '" + lost->getName().getStringRef() +
                          "' computes nothing that the whole step does"
                    : ""))
                 .str()};
    return fault;
  }
  if (withConstraints && !checkConstraints())
    return fault;
  return std::nullopt;
}

bool PartitionChecker::fail(Location location, const Twine &message) {
  if (!fault)
    fault = {location, message.str()};
  return false;
}

bool PartitionChecker::readBoundary() {
  if (local.getNumArguments() != whole.getNumArguments() ||
      local.getNumResults() != whole.getNumResults())
    return fail(local.getLoc(), "the partitioned step has other arguments or "
                                "results than the whole one");
  for (auto [at, argument] : llvm::enumerate(whole.getArguments())) {
    auto layout =
        readLayout(local.getArgAttrDict(at), argument.getType(),
                   local.getArgument(at).getType(), "argument " + Twine(at));
    if (!layout)
      return false;
    Holding held = holdingOf(argument, shapeOf(local.getArgument(at)),
                             rangesOf(argument, *layout));
    known[local.getArgument(at)] = {std::move(held)};
  }
  for (unsigned at = 0; at < whole.getNumResults(); ++at) {
    auto layout =
        readLayout(local.getResultAttrDict(at), whole.getResultTypes()[at],
                   local.getResultTypes()[at], "result " + Twine(at));
    if (!layout)
      return false;
    resultLayouts.push_back(std::move(*layout));
  }
  return true;
}

std::optional<sharding::Layout>
PartitionChecker::readLayout(DictionaryAttr attributes, Type wholeType,
                             Type localType, const Twine &where) {
  auto text = attributes ? attributes.getAs<StringAttr>(step::layoutAttrName)
                         : StringAttr();
  auto tensor = dyn_cast<RankedTensorType>(wholeType);
  std::string error = "there is none";
  auto layout = text ? sharding::Layout::parse(text.getValue(), mesh, error)
                     : std::nullopt;
  if (!layout || !tensor) {
    fail(local.getLoc(), where + " has no layout of a tensor: " + error);
    return std::nullopt;
  }
  if (int64_t(layout->dims.size()) != tensor.getRank() ||
      !layout->pending.empty() ||
      localType != tensor.clone(layout->localShape(tensor.getShape()))) {
    std::string types;
    llvm::raw_string_ostream(types) << localType << " is no part of " << tensor;
    fail(local.getLoc(),
         where + ": " + types + " with the layout " + text.getValue());
    return std::nullopt;
  }
  return layout;
}

std::vector<Range> PartitionChecker::rangesOf(Value value,
                                              const sharding::Layout &layout) {
  ArrayRef<int64_t> shape = shapeOf(value);
  SmallVector<int64_t> extents = layout.localShape(shape);
  std::vector<Range> ranges;
  for (auto [dim, parts] : llvm::enumerate(layout.dims)) {
    PerDevice start(devices);
    for (int64_t device = 0; device < devices; ++device)
      start[device] = mesh.indexAlong(device, parts) * extents[dim];
    ranges.push_back({std::move(start), 0});
    if (shape[dim] == 1 && parts.empty())
      ranges.back().start.reset();
  }
  return ranges;
}

bool PartitionChecker::holds(Value part, Value value,
                             ArrayRef<Range> expected) {
  for (const Holding &held : holdingsOn(part, value)) {
    auto ranges = blockOf(held);
    if (held.isPending() || !ranges)
      continue;
    bool isAsExpected = true;
    for (auto [own, range] : llvm::zip_equal(*ranges, expected))
      isAsExpected &= !own.start ||
                      *own.start == range.start.value_or(PerDevice(devices, 0));
    if (isAsExpected)
      return true;
  }
  return false;
}

Operation *PartitionChecker::firstLost(Value value) {
  llvm::DenseSet<Operation *> seen;
  SmallVector<Value> open{value};
  Operation *first = nullptr;
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    bool isLost = llvm::none_of(op->getResults(), isKnown());
    if (isLost && llvm::all_of(op->getOperands(), isKnown()) &&
        (!first || first->getBlock() != op->getBlock() ||
         op->isBeforeInBlock(first)))
      first = op;
    if (isLost)
      llvm::append_range(open, op->getOperands());
  }
  return first;
}

std::function<bool(Value)> PartitionChecker::isKnown() {
  return [this](Value value) {
    // A mask says nothing of what it masks, nor do rows of what is sent.
    for (;;) {
      if (auto mask = masks.find(value); mask != masks.end())
        value = mask->second.from;
      else if (auto rows = sentRows.find(value); rows != sentRows.end())
        value = rows->second.from;
      else
        break;
    }
    auto found = known.find(value);
    return (found != known.end() && !found->second.empty()) ||
           numbers.contains(value) || joined.contains(value) || splatOf(value);
  };
}

bool PartitionChecker::visitBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (!visit(&op))
      return false;
  return true;
}

bool PartitionChecker::visit(Operation *op) {
  for (Value result : op->getResults()) {
    known.erase(result);
    numbers.erase(result);
    masks.erase(result);
    fragments.erase(result);
    joined.erase(result);
    sentRows.erase(result);
    ownSums.erase(result);
  }
  if (isControl(op))
    return visitControl(op);
  visitNumbers(op);
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
    if (!splatOf(constant.getResult()))
      for (Value value : constants.lookup(constant.getValue()))
        add(constant.getResult(), everything(value, shapeOf(value), devices));
    return true;
  }
  if (isa<stablehlo::AllGatherOp, stablehlo::AllReduceOp, stablehlo::AllToAllOp,
          stablehlo::ReduceScatterOp, stablehlo::CollectivePermuteOp>(op)) {
    visitCollective(op);
    visitExchangeOfRows(op);
    return true;
  }
  visitMovement(op);
  visitFragments(op);
  visitJoined(op);
  if (auto concatenate = dyn_cast<stablehlo::ConcatenateOp>(op))
    visitConcatenation(concatenate);
  if (auto select = dyn_cast<stablehlo::SelectOp>(op))
    visitSelect(select);
  if (auto add = dyn_cast<stablehlo::AddOp>(op))
    visitSumOfTerms(add);
  if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op))
    visitSumOfRows(reduce);
  visitComputation(op);
  return true;
}

namespace {

class CheckPartition
    : public tenon::shardingcheck::impl::CheckPartitionPassBase<
          CheckPartition> {
public:
  using CheckPartitionPassBase::CheckPartitionPassBase;

  void runOnOperation() override {
    if (whole.empty()) {
      getOperation().emitError("give the step that was partitioned, as in "
                               "--check-partition=whole=step.mlir");
      return signalPassFailure();
    }
    auto step = parseSourceFile<ModuleOp>(whole, &getContext());
    if (!step)
      return signalPassFailure();
    if (auto fault = checkPartition(*step, getOperation())) {
      emitError(fault->location) << fault->message;
      return signalPassFailure();
    }
  }
};

} // namespace

std::optional<PartitionFault>
tenon::shardingcheck::checkPartition(ModuleOp whole, ModuleOp local,
                                     bool withConstraints) {
  auto fail = [](Operation *op, const Twine &message) {
    return PartitionFault{op->getLoc(), message.str()};
  };
  auto step = whole.lookupSymbol<func::FuncOp>("main");
  auto part = local.lookupSymbol<func::FuncOp>("main");
  if (!step || step.isExternal())
    return fail(whole, "the whole step has no function @main with a body");
  if (!part || part.isExternal())
    return fail(local,
                "the partitioned step has no function @main with a body");
  std::string error;
  auto mesh = sharding::Mesh::of(local, step::meshAttrName, error);
  if (!mesh)
    return fail(local, "the step is not partitioned: " + error);
  return PartitionChecker(step, part, std::move(*mesh)).run(withConstraints);
}
