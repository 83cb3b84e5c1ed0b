//===- FoldDevices.cpp - Several devices on one rank ----------------------===//
//
// See FoldDevices.h. First it finds which values differ between the devices of
// an axis, then it writes the program of a rank.
//
// A block is written in phases. In each come first the operations that all
// devices share, and then, device by device, those that differ; an operation
// for which the devices of a rank meet (a collective along the axis, a loop or
// branch in which something differs) ends a phase for all that reads it.
//
//===----------------------------------------------------------------------===//

#include "tenon/Sharding/FoldDevices.h"

#include "Lifetimes.h"

#include "tenon/Analysis/Collectives.h"
#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Parts.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Sharding/Layout.h"
#include "tenon/Sharding/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/bit.h"

#include <set>

namespace tenon::sharding {
#define GEN_PASS_DEF_FOLDDEVICESPASS
#include "tenon/Sharding/Passes.h.inc"
} // namespace tenon::sharding

using namespace mlir;
using namespace tenon;
using namespace tenon::sharding;
using Groups = SmallVector<SmallVector<int64_t>>;

static bool isPermute(Operation *op) {
  return isa<stablehlo::CollectivePermuteOp>(op);
}

static StringRef groupsName(Operation *op) {
  return isPermute(op) ? "source_target_pairs" : "replica_groups";
}

static Groups groupsOf(Operation *op) {
  auto table = cast<DenseIntElementsAttr>(op->getAttr(groupsName(op)));
  const int64_t size = cast<RankedTensorType>(table.getType()).getDimSize(1);
  Groups groups;
  for (auto [at, device] : llvm::enumerate(table.getValues<APInt>())) {
    if (int64_t(at) % size == 0)
      groups.emplace_back();
    groups.back().push_back(device.getSExtValue());
  }
  return groups;
}

namespace {

/// The devices of a mesh along one axis, and the ranks that run them.
struct Fold {
  Mesh devices, ranks;
  AxisPart axis; // of `devices`
  int64_t each;  // devices of a rank

  AxisPart rankAxis() const {
    return {axis.axis, 1, ranks.axes[axis.axis].size};
  }
  int64_t coordinate(int64_t device) const {
    return devices.coordinate(device, axis);
  }
  StringRef name() const { return devices.axes[axis.axis].name; }

  /// The rank at `place` along the axis, and elsewhere where the device is.
  int64_t rankAt(int64_t device, int64_t place) const {
    const int64_t stride = devices.stride(axis);
    const int64_t before = device / (stride * axis.size);
    return (before * rankAxis().size + place) * stride + device % stride;
  }
};

/// Among which devices a collective exchanges.
enum class Along { others, axis, both };

} // namespace

static Along alongOf(Operation *op, const Fold &fold) {
  Groups groups = groupsOf(op);
  std::set<SmallVector<int64_t>> found(groups.begin(), groups.end());
  auto sharesPlace = [&](ArrayRef<int64_t> group) {
    return llvm::all_of(group, [&](int64_t device) {
      return fold.coordinate(device) == fold.coordinate(group.front());
    });
  };
  if (llvm::all_of(groups, sharesPlace)) {
    // The devices at every place along the axis do the same.
    const int64_t stride = fold.devices.stride(fold.axis);
    for (SmallVector<int64_t> group : groups) {
      const int64_t next =
          (fold.coordinate(group.front()) + 1) % fold.axis.size;
      for (int64_t &device : group)
        device += (next - fold.coordinate(device)) * stride;
      if (!found.contains(group))
        return Along::both;
    }
    return Along::others;
  }
  Groups axis = fold.devices.groupsAlong({fold.axis});
  return !isPermute(op) && found == std::set<SmallVector<int64_t>>(axis.begin(),
                                                                   axis.end())
             ? Along::axis
             : Along::both;
}

//===----------------------------------------------------------------------===//
// What differs
//===----------------------------------------------------------------------===//

namespace {

/// Finds the values that may differ between the devices along the axis, and
/// refuses what no rank can run for several of them.
class Differences {
public:
  explicit Differences(const Fold &fold) : fold(fold) {}

  LogicalResult visit(Block &block) {
    for (Operation &op : block.without_terminator())
      if (failed(visit(&op)))
        return failure();
    return success();
  }

  void add(Value value) { differing.insert(value); }
  bool contains(Value value) const { return differing.contains(value); }

  /// Whether the operation reads something that differs, or one in it does.
  bool reads(Operation *op) const {
    return op
        ->walk([&](Operation *inner) {
          return llvm::any_of(inner->getOperands(),
                              [&](Value v) { return contains(v); })
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  }

private:
  LogicalResult visit(Operation *op) {
    if (isControl(op))
      return visitControl(op);
    if (exchanges(op))
      return visitCollective(op);
    if (isa<stablehlo::PartitionIdOp>(op) || reads(op))
      for (Value result : op->getResults())
        add(result);
    return success();
  }

  LogicalResult visitCollective(Operation *op) {
    const Along along = alongOf(op, fold);
    auto refuse = [&](const Twine &why) {
      return op->emitError() << "'" << op->getName() << "' " << why
                             << ", which logical shards of the axis '"
                             << fold.name() << "' have no form for; give "
                             << "layouts that cut no tensor so";
    };
    if (along == Along::both)
      return refuse(isPermute(op) ? "sends along the axis"
                                  : "exchanges along a part of the axis, or "
                                    "along another axis as well");
    if (along == Along::others) {
      if (reads(op))
        add(op->getResult(0));
      return success();
    }
    std::string whyNot;
    auto described = describeCollective(op, whyNot);
    if (!described)
      return op->emitError()
             << "'" << op->getName() << "' is not carried out: " << whyNot;
    auto exchange = dyn_cast<stablehlo::AllToAllOp>(op);
    if (exchange && exchange.getSplitDimension() != 0)
      return refuse("exchanges parts of a dimension behind the first");
    if (isa<stablehlo::ReduceScatterOp, stablehlo::AllToAllOp>(op))
      add(op->getResult(0));
    return success();
  }

  LogicalResult visitControl(Operation *op) {
    auto decides = [&](Value value) -> LogicalResult {
      if (!contains(value))
        return success();
      return op->emitError() << "'" << op->getName()
                             << "' decides by a value that differs between "
                                "the logical shards of the axis '"
                             << fold.name() << "'";
    };
    auto loop = dyn_cast<stablehlo::WhileOp>(op);
    if (!loop && failed(decides(op->getOperand(0))))
      return failure();
    for (size_t before = ~size_t(0); before != differing.size();) {
      before = differing.size();
      for (Region &region : op->getRegions()) {
        if (failed(visit(region.front())))
          return failure();
        ValueRange left = region.front().getTerminator()->getOperands();
        if (loop && &region == &loop.getCond()) {
          if (failed(decides(left.front())))
            return failure();
          continue;
        }
        for (auto [at, value] : llvm::enumerate(left))
          if (contains(value) || (loop && contains(op->getOperand(at)))) {
            add(op->getResult(at));
            if (!loop)
              continue;
            add(loop.getCond().getArgument(at));
            add(loop.getBody().getArgument(at));
          }
      }
    }
    return success();
  }

  const Fold &fold;
  llvm::DenseSet<Value> differing;
};

//===----------------------------------------------------------------------===//
// The program of a rank
//===----------------------------------------------------------------------===//

class RankProgram {
public:
  RankProgram(const Fold &fold, const Differences &differences,
              MLIRContext *context)
      : fold(fold), differences(differences),
        builder(UnknownLoc::get(context), context), copies(fold.each) {}

  void setInsertionPointToEnd(Block &block) {
    builder.setInsertionPointToEnd(&block);
  }

  /// What stands for a value on all devices of the rank, or on each.
  void map(Value from, ArrayRef<Value> to) {
    for (auto [at, mapping] : llvm::enumerate(copies))
      mapping.map(from, to.size() == 1 ? to.front() : to[at]);
  }
  Value on(Value value, int64_t device) const {
    return copies[device].lookup(value);
  }

  void write(Block &block);

  /// The parts of a tensor along `dim`, one per device.
  SmallVector<Value> cut(Location at, Value all, int64_t dim) {
    builder.setLoc(at);
    SmallVector<Value> parts;
    const int64_t extent = shapeOf(all)[dim] / fold.each;
    for (int64_t i = 0; i < fold.each; ++i)
      parts.push_back(part(all, dim, i * extent, extent));
    return parts;
  }
  /// What devices have of a value, one behind the other along `dim`.
  Value joined(Location at, Value value, int64_t dim) {
    builder.setLoc(at);
    SmallVector<Value> parts;
    for (int64_t i = 0; i < fold.each; ++i)
      parts.push_back(on(value, i));
    return joined(parts, dim);
  }

private:
  /// Whether the devices of a rank meet in the operation.
  bool isMeeting(Operation *op) const {
    if (exchanges(op))
      return alongOf(op, fold) == Along::axis;
    return isControl(op) &&
           op->walk([&](Operation *inner) {
               const bool meets =
                   llvm::any_of(inner->getOperands(),
                                [&](Value value) {
                                  return differences.contains(value);
                                }) ||
                   isa<stablehlo::PartitionIdOp>(inner) ||
                   (exchanges(inner) && alongOf(inner, fold) == Along::axis);
               return meets ? WalkResult::interrupt() : WalkResult::advance();
             }).wasInterrupted();
  }
  bool differs(Operation *op) const {
    return llvm::any_of(op->getResults(), [&](Value result) {
      return differences.contains(result);
    });
  }

  void writeCopy(Operation *op, int64_t device);
  void writeOnce(Operation *op);
  void writeMeeting(Operation *op, int64_t device);
  void writeControl(Operation *op);
  SmallVector<Value> expanded(ValueRange values, ValueRange like) const;

  Value numberOf(int64_t device);
  void addToTree(Operation *op, int64_t device);
  Value combined(Operation *op, Value first, Value second);
  Value exchanged(Operation *op, Value operand, ArrayRef<int64_t> shape);
  void exchangeAll(Operation *op);

  Value part(Value all, int64_t dim, int64_t begin, int64_t extent) {
    ArrayRef<int64_t> shape = shapeOf(all);
    if (extent == shape[dim])
      return all;
    SmallVector<int64_t> first(shape.size(), 0), last(shape),
        strides(shape.size(), 1);
    first[dim] = begin;
    last[dim] = begin + extent;
    return stablehlo::SliceOp::create(builder, all, first, last, strides);
  }
  Value joined(ArrayRef<Value> parts, int64_t dim) {
    if (parts.size() == 1)
      return parts.front();
    return stablehlo::ConcatenateOp::create(builder, ValueRange(parts), dim);
  }
  Value reshaped(Value value, ArrayRef<int64_t> shape) {
    auto type = cast<RankedTensorType>(value.getType()).clone(shape);
    return type == value.getType()
               ? value
               : stablehlo::ReshapeOp::create(builder, type, value);
  }
  Value converted(Value value, Type element) {
    auto type = cast<RankedTensorType>(value.getType()).clone(element);
    return type == value.getType()
               ? value
               : stablehlo::ConvertOp::create(builder, type, value);
  }

  const Fold &fold;
  const Differences &differences;
  ImplicitLocOpBuilder builder;
  std::vector<IRMapping> copies; // per device of the rank
  /// Sums of subtrees that wait for their other half.
  llvm::DenseMap<Operation *, SmallVector<Value>> waiting;
};

} // namespace

void RankProgram::write(Block &block) {
  llvm::DenseMap<Operation *, unsigned> phases;
  llvm::DenseSet<Operation *> meetings;
  unsigned last = 0;
  for (Operation &op : block.without_terminator()) {
    if (isMeeting(&op))
      meetings.insert(&op);
    unsigned phase = 0;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *writer = operand.getDefiningOp();
        writer = writer ? block.findAncestorOpInBlock(*writer) : nullptr;
        if (writer && writer != &op)
          phase = std::max(phase, phases[writer] + meetings.contains(writer));
      }
    });
    phases[&op] = phase;
    last = std::max(last, phase);
  }
  std::vector<SmallVector<Operation *>> shared(last + 1), others(last + 1);
  for (Operation &op : block.without_terminator())
    (meetings.contains(&op) || differs(&op) ? others : shared)[phases[&op]]
        .push_back(&op);
  for (unsigned phase = 0; phase <= last; ++phase) {
    for (Operation *op : shared[phase])
      writeOnce(op);
    for (int64_t device = 0; device < fold.each; ++device)
      for (Operation *op : others[phase])
        if (meetings.contains(op))
          writeMeeting(op, device);
        else
          writeCopy(op, device);
  }
}

/// Has a collective exchange between the ranks at each place along the axis as
/// the devices there do, or along the axis.
static void setGroups(Operation *made, Operation *op, const Fold &fold) {
  Groups groups;
  if (alongOf(op, fold) == Along::axis)
    groups = fold.ranks.groupsAlong({fold.rankAxis()});
  else
    for (int64_t place = 0; place < fold.rankAxis().size; ++place)
      for (ArrayRef<int64_t> group : groupsOf(op))
        if (fold.coordinate(group.front()) == 0)
          groups.push_back(llvm::map_to_vector(group, [&](int64_t device) {
            return fold.rankAt(device, place);
          }));
  SmallVector<int64_t> numbers;
  for (ArrayRef<int64_t> group : groups)
    llvm::append_range(numbers, group);
  auto type = RankedTensorType::get(
      {int64_t(groups.size()), int64_t(groups.front().size())},
      IntegerType::get(op->getContext(), 64));
  made->setAttr(groupsName(op), DenseIntElementsAttr::get(type, numbers));
}

void RankProgram::writeOnce(Operation *op) {
  if (isControl(op))
    return writeControl(op);
  Operation *made = builder.clone(*op, copies.front());
  if (exchanges(op))
    setGroups(made, op, fold);
  for (auto [from, to] : llvm::zip_equal(op->getResults(), made->getResults()))
    map(from, {to});
}

void RankProgram::writeCopy(Operation *op, int64_t device) {
  builder.setLoc(op->getLoc());
  if (isa<stablehlo::PartitionIdOp>(op)) {
    copies[device].map(op->getResult(0), numberOf(device));
    return;
  }
  Operation *made = builder.clone(*op, copies[device]);
  if (exchanges(op))
    setGroups(made, op, fold);
}

Value RankProgram::numberOf(int64_t device) {
  auto type =
      RankedTensorType::get({}, builder.getIntegerType(32, /*isSigned=*/false));
  auto constant = [&](int64_t value) -> Value {
    return stablehlo::ConstantOp::create(
        builder, DenseElementsAttr::get(type, APInt(32, uint64_t(value))));
  };
  if (fold.ranks.devices() == 1)
    return constant(device);
  const int64_t stride = fold.devices.stride(fold.axis);
  const int64_t ranks = fold.rankAxis().size;
  Value rank = stablehlo::PartitionIdOp::create(builder, type);
  Value number = rank;
  auto addTimes = [&](Value value, int64_t factor) {
    if (factor == 0)
      return;
    if (factor != 1)
      value = stablehlo::MultiplyOp::create(builder, value, constant(factor));
    number = stablehlo::AddOp::create(builder, number, value);
  };
  auto divided = [&](Value value, int64_t by) -> Value {
    return by == 1 ? value
                   : stablehlo::DivideOp::create(builder, type, value,
                                                 constant(by));
  };
  Value place = divided(rank, stride);
  if (stride * ranks < fold.ranks.devices()) {
    place =
        stablehlo::RemainderOp::create(builder, type, place, constant(ranks));
    addTimes(divided(rank, stride * ranks), stride * (fold.axis.size - ranks));
  }
  if (ranks > 1)
    addTimes(place, stride * (fold.each - 1));
  if (device > 0)
    number =
        stablehlo::AddOp::create(builder, number, constant(device * stride));
  return number;
}

void RankProgram::writeMeeting(Operation *op, int64_t device) {
  builder.setLoc(op->getLoc());
  const bool isLast = device == fold.each - 1;
  if (isa<stablehlo::AllReduceOp, stablehlo::ReduceScatterOp>(op))
    addToTree(op, device);
  else if (isLast && isControl(op))
    writeControl(op);
  else if (isLast)
    exchangeAll(op);
}

Value RankProgram::combined(Operation *op, Value first, Value second) {
  Operation &how = op->getRegion(0).front().front();
  OperationState state(op->getLoc(), how.getName());
  state.addOperands({first, second});
  state.addTypes(first.getType());
  state.addAttributes(how.getAttrs());
  return builder.OpBuilder::create(state)->getResult(0);
}

/// The collective among ranks, on what a rank has of all of its devices.
Value RankProgram::exchanged(Operation *op, Value operand,
                             ArrayRef<int64_t> shape) {
  if (fold.rankAxis().size == 1)
    return operand;
  IRMapping mapping;
  mapping.map(op->getOperand(0), operand);
  Operation *made = builder.clone(*op, mapping);
  Type element = elementOf(operand);
  made->getResult(0).setType(RankedTensorType::get(shape, element));
  setGroups(made, op, fold);
  for (Region &region : made->getRegions()) {
    auto scalar = RankedTensorType::get({}, element);
    for (BlockArgument argument : region.front().getArguments())
      argument.setType(scalar);
    region.front().front().getResult(0).setType(scalar);
    if (isa<FloatType>(element) &&
        combinationOf(region) == libraries::Combination::sum)
      made->setAttr(step::sumsByTreeAttrName, builder.getUnitAttr());
  }
  return made->getResult(0);
}

void RankProgram::addToTree(Operation *op, int64_t device) {
  Value sum = on(op->getOperand(0), device);
  const Type element = elementOf(sum);
  auto floating = dyn_cast<FloatType>(element);
  if (floating && floating.getWidth() < 32 &&
      combinationOf(op->getRegion(0)) == libraries::Combination::sum)
    sum = converted(sum, builder.getF32Type());
  SmallVector<Value> &first = waiting[op];
  for (int64_t number = device; number & 1; number >>= 1)
    sum = combined(op, first.pop_back_val(), sum);
  first.push_back(sum);
  if (device < fold.each - 1)
    return;
  SmallVector<int64_t> shape(shapeOf(sum));
  auto scatter = dyn_cast<stablehlo::ReduceScatterOp>(op);
  if (!scatter) {
    map(op->getResult(0), {converted(exchanged(op, sum, shape), element)});
    return;
  }
  const int64_t dim = int64_t(scatter.getScatterDimension());
  shape[dim] /= fold.rankAxis().size;
  SmallVector<Value> parts = cut(op->getLoc(), exchanged(op, sum, shape), dim);
  for (Value &each : parts)
    each = converted(each, element);
  map(op->getResult(0), parts);
}

void RankProgram::exchangeAll(Operation *op) {
  const int64_t ranks = fold.rankAxis().size;
  if (auto gather = dyn_cast<stablehlo::AllGatherOp>(op)) {
    const int64_t dim = int64_t(gather.getAllGatherDim());
    Value all = joined(op->getLoc(), op->getOperand(0), dim);
    SmallVector<int64_t> shape(shapeOf(all));
    shape[dim] *= ranks;
    map(op->getResult(0), {exchanged(op, all, shape)});
    return;
  }
  // From each device a row for each device: [ranks, devices of the rank that
  // receives, devices of the one that sends, row].
  SmallVector<int64_t> result(shapeOf(op->getResult(0)));
  const int64_t devices = ranks * fold.each;
  const int64_t row = elementCount(result) / devices;
  SmallVector<Value> sent;
  for (int64_t i = 0; i < fold.each; ++i)
    sent.push_back(reshaped(on(op->getOperand(0), i), {devices, 1, row}));
  const SmallVector<int64_t> shape = {ranks, fold.each * fold.each * row};
  Value all = reshaped(joined(sent, 1), shape);
  IRMapping mapping;
  if (ranks > 1) {
    mapping.map(op->getOperand(0), all);
    auto made = cast<stablehlo::AllToAllOp>(builder.clone(*op, mapping));
    made->getResult(0).setType(all.getType());
    made.setSplitCount(uint64_t(ranks));
    setGroups(made, op, fold);
    all = made->getResult(0);
  }
  all = reshaped(all, {ranks, fold.each, fold.each * row});
  SmallVector<Value> received;
  for (Value each : cut(op->getLoc(), all, 1))
    received.push_back(reshaped(each, result));
  map(op->getResult(0), received);
}

SmallVector<Value> RankProgram::expanded(ValueRange values,
                                         ValueRange like) const {
  SmallVector<Value> all;
  for (auto [value, each] : llvm::zip_equal(values, like))
    for (int64_t i = 0; i < (differences.contains(each) ? fold.each : 1); ++i)
      all.push_back(on(value, i));
  return all;
}

void RankProgram::writeControl(Operation *op) {
  const bool isLoop = isa<stablehlo::WhileOp>(op);
  ResultRange results = op->getResults();
  OperationState state(op->getLoc(), op->getName());
  if (isLoop)
    state.addOperands(expanded(op->getOperands(), results));
  else
    state.addOperands(on(op->getOperand(0), 0));
  auto copiesOf = [&](Value value) {
    return differences.contains(value) ? fold.each : 1;
  };
  for (Value result : results)
    state.types.append(size_t(copiesOf(result)), result.getType());
  state.addAttributes(op->getAttrs());
  for (unsigned i = 0; i < op->getNumRegions(); ++i)
    state.addRegion();
  Operation *made = builder.OpBuilder::create(state);
  for (auto [from, to] :
       llvm::zip_equal(op->getRegions(), made->getRegions())) {
    OpBuilder::InsertionGuard guard(builder);
    Block &block = to.emplaceBlock();
    for (BlockArgument argument : from.getArguments()) {
      SmallVector<Value> arguments;
      for (int64_t i = 0; i < copiesOf(argument); ++i)
        arguments.push_back(
            block.addArgument(argument.getType(), argument.getLoc()));
      map(argument, arguments);
    }
    builder.setInsertionPointToEnd(&block);
    write(from.front());
    Operation *end = from.front().getTerminator();
    if (isLoop && &from == &op->getRegion(0)) {
      builder.clone(*end, copies.front());
      continue;
    }
    OperationState left(end->getLoc(), end->getName());
    left.addOperands(expanded(end->getOperands(), results));
    builder.OpBuilder::create(left);
  }
  size_t at = 0;
  for (Value result : results) {
    const auto count = size_t(copiesOf(result));
    map(result, llvm::to_vector_of<Value>(made->getResults().slice(at, count)));
    at += count;
  }
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

/// The dimension along which a tensor is cut along the axis, -1 if none is;
/// fails if devices that are neighbours along the axis do not hold neighbours.
static FailureOr<int64_t> cutDimension(func::FuncOp main,
                                       DictionaryAttr attributes, Type type,
                                       const Fold &fold, const Twine &where) {
  auto text = attributes ? attributes.getAs<StringAttr>(step::layoutAttrName)
                         : StringAttr();
  auto whole =
      attributes ? attributes.getAs<TypeAttr>(step::wholeAttrName) : TypeAttr();
  std::string error = "there is none";
  auto layout =
      text ? Layout::parse(text.getValue(), fold.devices, error) : std::nullopt;
  if (!layout || !whole)
    return main.emitError() << where << " has no layout: " << error;
  for (auto [dim, parts] : llvm::enumerate(layout->dims)) {
    auto isOfAxis = [&](const AxisPart &part) {
      return part.axis == fold.axis.axis;
    };
    if (llvm::none_of(parts, isOfAxis))
      continue;
    const auto refuse = [&](const Twine &why) {
      return main.emitError()
             << where << " has the layout " << text.getValue() << ": " << why;
    };
    if (parts.back() != fold.axis || llvm::count_if(parts, isOfAxis) != 1)
      return refuse("logical shards need the whole axis '" + fold.name() +
                    "', behind all others, to cut dimension " + Twine(dim));
    const int64_t extent =
        cast<RankedTensorType>(whole.getValue()).getDimSize(dim);
    if (extent != countOf(parts) * cast<RankedTensorType>(type).getDimSize(dim))
      return refuse("its dimension " + Twine(dim) + " of " + Twine(extent) +
                    " elements is not divisible by " + Twine(countOf(parts)) +
                    " logical shards");
    return int64_t(dim);
  }
  return -1;
}

static DictionaryAttr withoutLayout(DictionaryAttr attributes) {
  NamedAttrList list(attributes);
  for (StringRef name :
       {StringRef(step::layoutAttrName), StringRef(step::wholeAttrName),
        StringRef(step::cutsAttrName)})
    list.erase(name);
  return list.getDictionary(attributes.getContext());
}

static LogicalResult readFold(ModuleOp module, StringRef axis, int64_t ranks,
                              Fold &fold) {
  auto text = module->getAttrOfType<StringAttr>(step::meshAttrName);
  std::string error = "it has no mesh";
  auto mesh = text ? Mesh::parse(text.getValue(), error) : std::nullopt;
  if (!mesh)
    return module.emitError() << "the step is not partitioned: " << error;
  auto found = mesh->find(axis);
  if (!found)
    return module.emitError()
           << "the mesh " << mesh->text() << " has no axis '" << axis << "'";
  const int64_t devices = mesh->axes[*found].size;
  if (!llvm::has_single_bit(uint64_t(devices)))
    return module.emitError()
           << devices << " logical shards are no power of two, so no binary "
           << "tree has those of a rank in one subtree for every number of "
              "ranks";
  if (ranks < 1 || devices % ranks != 0)
    return module.emitError() << ranks << " ranks do not divide " << devices
                              << " logical shards along '" << axis << "'";
  fold = {*mesh, *mesh, {*found, 1, devices}, devices / ranks};
  fold.ranks.axes[*found].size = ranks;
  return success();
}

LogicalResult tenon::sharding::foldDevices(ModuleOp module, StringRef axis,
                                           int64_t ranks) {
  Fold fold;
  if (failed(readFold(module, axis, ranks, fold)))
    return failure();
  auto main = module.lookupSymbol<func::FuncOp>("main");
  Block &body = main.getBody().front();
  Differences differences(fold);
  SmallVector<int64_t> cuts, resultCuts;
  for (BlockArgument argument : main.getArguments()) {
    const unsigned at = argument.getArgNumber();
    auto cut = cutDimension(main, main.getArgAttrDict(at), argument.getType(),
                            fold, "argument " + Twine(at));
    if (failed(cut))
      return failure();
    cuts.push_back(*cut);
    if (*cut >= 0)
      differences.add(argument);
  }
  if (failed(differences.visit(body)))
    return failure();
  for (auto [at, value] :
       llvm::enumerate(body.getTerminator()->getOperands())) {
    auto cut = cutDimension(main, main.getResultAttrDict(at), value.getType(),
                            fold, "result " + Twine(at));
    if (failed(cut))
      return failure();
    if (*cut < 0 && differences.contains(value))
      return main.emitError()
             << "result " << at << " is not known to be equal on all logical "
             << "shards of the axis '" << axis << "', and its layout does not "
             << "cut it there";
    resultCuts.push_back(*cut);
  }

  auto typeOfRank = [&](Type type, int64_t cut) -> Type {
    auto tensor = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(tensor.getShape());
    if (cut >= 0)
      shape[cut] *= fold.each;
    return tensor.clone(shape);
  };
  SmallVector<Type> inputs, outputs;
  for (auto [type, cut] : llvm::zip_equal(main.getArgumentTypes(), cuts))
    inputs.push_back(typeOfRank(type, cut));
  for (auto [type, cut] : llvm::zip_equal(main.getResultTypes(), resultCuts))
    outputs.push_back(typeOfRank(type, cut));
  const bool isOne = fold.ranks.devices() == 1;
  SmallVector<DictionaryAttr> ofInputs, ofOutputs;
  for (unsigned at = 0; at < main.getNumArguments(); ++at)
    ofInputs.push_back(isOne ? withoutLayout(main.getArgAttrDict(at))
                             : main.getArgAttrDict(at));
  for (unsigned at = 0; at < main.getNumResults(); ++at)
    ofOutputs.push_back(isOne ? withoutLayout(main.getResultAttrDict(at))
                              : main.getResultAttrDict(at));
  OpBuilder builder(main);
  auto made = func::FuncOp::create(
      builder, main.getLoc(), main.getSymName(),
      FunctionType::get(module.getContext(), inputs, outputs));
  made->setDiscardableAttrs(main->getDiscardableAttrDictionary());
  made.setVisibility(main.getVisibility());
  made.setAllArgAttrs(ofInputs);
  made.setAllResultAttrs(ofOutputs);

  Block &entry = *made.addEntryBlock();
  RankProgram program(fold, differences, module.getContext());
  program.setInsertionPointToEnd(entry);
  for (auto [from, to, cut] :
       llvm::zip_equal(main.getArguments(), entry.getArguments(), cuts)) {
    to.setLoc(from.getLoc());
    program.map(from, cut < 0 ? SmallVector<Value>{to}
                              : program.cut(from.getLoc(), to, cut));
  }
  program.write(body);
  Operation *end = body.getTerminator();
  SmallVector<Value> results;
  for (auto [value, cut] : llvm::zip_equal(end->getOperands(), resultCuts))
    results.push_back(cut < 0 ? program.on(value, 0)
                              : program.joined(end->getLoc(), value, cut));
  builder.setInsertionPointToEnd(&entry);
  func::ReturnOp::create(builder, end->getLoc(), results);
  main.erase();

  module->setAttr(step::logicalShardsAttrName,
                  builder.getStringAttr(fold.devices.text()));
  module->setAttr("mhlo.num_partitions",
                  builder.getI32IntegerAttr(int32_t(fold.ranks.devices())));
  if (isOne)
    module->removeAttr(step::meshAttrName);
  else
    module->setAttr(step::meshAttrName,
                    builder.getStringAttr(fold.ranks.text()));
  return success();
}

namespace {

struct FoldDevices : public sharding::impl::FoldDevicesPassBase<FoldDevices> {
  using FoldDevicesPassBase::FoldDevicesPassBase;

  void runOnOperation() override {
    if (failed(foldDevices(getOperation(), axis, ranks)))
      signalPassFailure();
  }
};

} // namespace
