//===- CheckFolding.cpp - Do ranks compute what their devices do? ---------===//
//
// See CheckFolding.h. Both programs are gone through once, for all devices and
// all ranks side by side, since they meet in collectives.
//
// Loops: which values of the devices' loop the values that a rank's loop
// carries are is not known. All carried values, of every device and rank, begin
// in classes by what they start from; the bodies are followed with one unknown
// per class, and values that become different things part, until none do. Those
// in one class are equal in every round.
//
//===----------------------------------------------------------------------===//

#include "tenon/ShardingCheck/CheckFolding.h"

#include "Meetings.h"
#include "Terms.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Parts.h"
#include "tenon/Sharding/Layout.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/bit.h"

#include <map>

namespace tenon::shardingcheck {
#define GEN_PASS_DEF_CHECKFOLDINGPASS
#include "tenon/ShardingCheck/Passes.h.inc"
} // namespace tenon::shardingcheck

using namespace mlir;
using namespace tenon;
using namespace tenon::shardingcheck;
using sharding::Layout;
using sharding::Mesh;

namespace {

using PerMember = SmallVector<Term>; // per device, or per rank

/// First words of keys.
enum : uint64_t {
  operationKey,
  numberKey,
  argumentKey,
  regionArgumentKey,
  inOrderKey,
  nobodyKey,
  branchKey,
  unknownKey,
  loopKey,
};

/// One of the two programs.
struct Program {
  func::FuncOp main;
  Mesh mesh;
  bool isOfRanks = false;
  llvm::DenseMap<Value, PerMember> terms;

  size_t members() const { return size_t(mesh.devices()); }
};

/// A loop of the devices, followed.
struct FollowedLoop {
  stablehlo::WhileOp loop;
  /// Of each result.
  std::vector<PerMember> results;
};

class FoldingChecker {
public:
  FoldingChecker(Program devices, Program ranks, unsigned axis)
      : devices(std::move(devices)), ranks(std::move(ranks)), axis(axis) {}

  std::optional<PartitionFault> run();

private:
  bool fail(Location location, const Twine &message) {
    if (!fault)
      fault = {location, message.str()};
    return false;
  }

  bool readArguments(Program &program);
  bool checkResults();
  std::optional<Layout> layoutOf(DictionaryAttr attributes);

  bool visitBlock(Program &program, Block &block, Block *twin);
  bool visit(Program &program, Operation *op, Block *twin);
  bool visitCollective(Program &program, Operation *op);
  bool visitBranches(Program &program, Operation *op, Block *twin);
  bool visitLoopOfDevices(stablehlo::WhileOp loop);
  bool visitLoopOfRanks(stablehlo::WhileOp loop, Block *twin);
  bool isLoop(stablehlo::WhileOp loop, FollowedLoop &candidate);

  /// The terms of an operation that needs nobody else, on one member.
  SmallVector<Term> compute(Program &program, Operation *op, size_t member);
  std::optional<Term> lookedThrough(Operation *op, ArrayRef<Term> operands);
  std::optional<Term> number(Operation *op, ArrayRef<Term> operands);
  void appendRegions(Program &program, Operation *op, size_t member,
                     Terms::Key &key);

  std::optional<Term> combined(Program &program, Operation *op,
                               ArrayRef<int64_t> group,
                               ArrayRef<Term> operands);
  Term tree(Operation &how, ArrayRef<Term> terms);
  Term converted(Term term, Type element);

  PerMember of(Program &program, Value value) {
    return program.terms.lookup(value);
  }
  bool areEqual(ArrayRef<Term> terms) { return llvm::all_equal(terms); }

  Program devices, ranks;
  unsigned axis;
  Terms terms;
  std::map<Term, APInt> numbers; // scalars that are known
  /// Loops of the devices, by the block in which they stand.
  llvm::DenseMap<Block *, std::vector<FollowedLoop>> loops;
  uint64_t unknowns = 0;
  std::optional<PartitionFault> fault;
};

} // namespace

std::optional<PartitionFault> FoldingChecker::run() {
  Block &body = devices.main.getBody().front();
  if (!readArguments(devices) || !readArguments(ranks) ||
      !visitBlock(devices, body, nullptr) ||
      !visitBlock(ranks, ranks.main.getBody().front(), &body) ||
      !checkResults())
    return fault;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

std::optional<Layout> FoldingChecker::layoutOf(DictionaryAttr attributes) {
  auto text = attributes ? attributes.getAs<StringAttr>(step::layoutAttrName)
                         : StringAttr();
  std::string error;
  return text ? Layout::parse(text.getValue(), devices.mesh, error)
              : std::nullopt;
}

/// The layouts are those of the devices: the ranks have the axes that they
/// have.
bool FoldingChecker::readArguments(Program &program) {
  if (program.main.getNumArguments() != devices.main.getNumArguments() ||
      program.main.getNumResults() != devices.main.getNumResults())
    return fail(program.main.getLoc(),
                "ranks and devices have other arguments or results");
  for (BlockArgument argument : program.main.getArguments()) {
    const unsigned at = argument.getArgNumber();
    auto layout = layoutOf(devices.main.getArgAttrDict(at));
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    auto wrong = [&] {
      return fail(program.main.getLoc(),
                  "argument " + Twine(at) + " is no part of a tensor");
    };
    if (!layout || !type || int64_t(layout->dims.size()) != type.getRank())
      return wrong();
    if (program.isOfRanks && program.members() > 1 &&
        program.main.getArgAttr(at, step::layoutAttrName) !=
            devices.main.getArgAttr(at, step::layoutAttrName))
      return wrong();
    // A rank has as many parts of an axis as it has devices.
    SmallVector<int64_t> shape(type.getShape());
    std::vector<sharding::AxisParts> cuts = layout->dims;
    for (auto [parts, extent] : llvm::zip_equal(cuts, shape)) {
      for (sharding::AxisPart &part : parts)
        if (part.axis == axis) {
          if (part.size != devices.mesh.axes[axis].size)
            return wrong();
          part.size = program.mesh.axes[axis].size;
        }
      extent *= sharding::countOf(parts);
    }
    const Term whole = terms.computed({argumentKey, at}, type.clone(shape));
    PerMember held;
    for (size_t member = 0; member < program.members(); ++member) {
      SmallVector<int64_t> first;
      for (auto [parts, extent] : llvm::zip_equal(cuts, type.getShape()))
        first.push_back(program.mesh.indexAlong(int64_t(member), parts) *
                        extent);
      held.push_back(terms.sliced(whole, first, type.getShape()));
    }
    program.terms[argument] = std::move(held);
  }
  return true;
}

bool FoldingChecker::checkResults() {
  Operation *end = ranks.main.getBody().front().getTerminator();
  Operation *devicesEnd = devices.main.getBody().front().getTerminator();
  const sharding::AxisPart along{axis, 1, devices.mesh.axes[axis].size};
  const int64_t count = ranks.mesh.axes[axis].size;
  for (unsigned at = 0; at < end->getNumOperands(); ++at) {
    PerMember found = of(ranks, end->getOperand(at));
    PerMember held = of(devices, devicesEnd->getOperand(at));
    auto layout = layoutOf(devices.main.getResultAttrDict(at));
    auto wrong = [&] {
      return fail(end->getOperand(at).getLoc(),
                  "result " + Twine(at) +
                      " of a rank is not that of its devices");
    };
    if (!layout || (ranks.members() > 1 &&
                    ranks.main.getResultAttr(at, step::layoutAttrName) !=
                        devices.main.getResultAttr(at, step::layoutAttrName)))
      return wrong();
    std::optional<int64_t> cut;
    for (auto [dim, parts] : llvm::enumerate(layout->dims))
      if (!parts.empty() && parts.back() == along)
        cut = dim;
    if (!cut && layout->uses(along))
      return wrong();
    // By rank, in the order of the devices along the axis.
    std::vector<PerMember> expected(ranks.members());
    const int64_t stride = devices.mesh.stride(along);
    for (int64_t device = 0; device < devices.mesh.devices(); ++device) {
      const int64_t place = devices.mesh.coordinate(device, along);
      const int64_t before = device / (stride * along.size);
      const int64_t rank =
          (before * count + place / (along.size / count)) * stride +
          device % stride;
      expected[size_t(rank)].push_back(held[size_t(device)]);
    }
    for (auto [parts, term] : llvm::zip_equal(expected, found))
      if (cut ? terms.joined(parts, *cut) != term
              : !areEqual(parts) || parts.front() != term)
        return wrong();
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

bool FoldingChecker::visitBlock(Program &program, Block &block, Block *twin) {
  if (!program.isOfRanks)
    loops[&block].clear();
  for (Operation &op : block.without_terminator())
    if (!visit(program, &op, twin))
      return false;
  return true;
}

bool FoldingChecker::visit(Program &program, Operation *op, Block *twin) {
  if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
    return program.isOfRanks ? visitLoopOfRanks(loop, twin)
                             : visitLoopOfDevices(loop);
  if (isControl(op))
    return visitBranches(program, op, twin);
  if (waitsForOthers(op))
    return visitCollective(program, op);
  bool isInside = false;
  op->walk([&](Operation *inner) {
    isInside |= inner != op && (waitsForOthers(inner) || isControl(inner));
  });
  if (isInside)
    return fail(op->getLoc(), "'" + op->getName().getStringRef() +
                                  "' has a collective, a loop or a branch in "
                                  "it, which is not followed");
  std::vector<PerMember> results(op->getNumResults());
  for (size_t member = 0; member < program.members(); ++member)
    for (auto [result, term] :
         llvm::zip_equal(results, compute(program, op, member)))
      result.push_back(term);
  for (auto [value, result] : llvm::zip_equal(op->getResults(), results))
    program.terms[value] = std::move(result);
  return true;
}

SmallVector<Term> FoldingChecker::compute(Program &program, Operation *op,
                                          size_t member) {
  SmallVector<Term> operands;
  for (Value operand : op->getOperands())
    operands.push_back(program.terms[operand][member]);
  if (isa<stablehlo::PartitionIdOp>(op)) {
    const Type type = op->getResult(0).getType();
    Term term = terms.computed({numberKey, member, wordOf(type)}, type);
    numbers.try_emplace(term, APInt(32, member));
    return {term};
  }
  if (auto term = number(op, operands))
    return {*term};
  if (auto term = lookedThrough(op, operands))
    return {*term};
  Terms::Key key{operationKey, wordOf(op->getName()),
                 wordOf(op->getAttrDictionary()), operands.size()};
  llvm::append_range(key, operands);
  appendRegions(program, op, member, key);
  SmallVector<Term> results;
  key.push_back(0);
  for (OpResult result : op->getResults()) {
    key.back() = result.getResultNumber();
    results.push_back(terms.computed(key, result.getType()));
  }
  return results;
}

/// Regions without control: what they compute of unknown arguments.
void FoldingChecker::appendRegions(Program &program, Operation *op,
                                   size_t member, Terms::Key &key) {
  uint64_t depth = 0;
  for (Operation *around = op; around; around = around->getParentOp())
    ++depth;
  auto set = [&](Value value, Term term) {
    PerMember &held = program.terms[value];
    held.resize(program.members());
    held[member] = term;
  };
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      key.push_back(region.getRegionNumber());
      for (BlockArgument argument : block.getArguments())
        set(argument,
            terms.computed({regionArgumentKey, depth, region.getRegionNumber(),
                            argument.getArgNumber()},
                           argument.getType()));
      for (Operation &inner : block.without_terminator())
        for (auto [value, term] : llvm::zip_equal(
                 inner.getResults(), compute(program, &inner, member)))
          set(value, term);
      key.push_back(wordOf(block.getTerminator()->getName()));
      for (Value value : block.getTerminator()->getOperands())
        key.push_back(program.terms[value][member]);
    }
}

/// What only moves elements.
std::optional<Term> FoldingChecker::lookedThrough(Operation *op,
                                                  ArrayRef<Term> operands) {
  if (isa<stablehlo::ReshapeOp>(op))
    return terms.reshaped(operands[0], op->getResult(0).getType());
  if (auto concatenate = dyn_cast<stablehlo::ConcatenateOp>(op))
    return terms.joined(operands, int64_t(concatenate.getDimension()));
  auto slice = dyn_cast<stablehlo::SliceOp>(op);
  if (slice && llvm::all_of(slice.getStrides(),
                            [](int64_t stride) { return stride == 1; }))
    return terms.sliced(operands[0], slice.getStartIndices(),
                        shapeOf(slice.getResult()));
  return std::nullopt;
}

/// Scalars that follow from the number of the device or rank.
std::optional<Term> FoldingChecker::number(Operation *op,
                                           ArrayRef<Term> operands) {
  auto type = op->getNumResults() == 1
                  ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                  : RankedTensorType();
  if (!type || type.getRank() != 0 || !type.getElementType().isInteger(32))
    return std::nullopt;
  const bool isUnsigned = type.getElementType().isUnsignedInteger();
  auto known = [&](const APInt &value) {
    Term term =
        terms.computed({numberKey, value.getZExtValue(), wordOf(type)}, type);
    numbers.try_emplace(term, value);
    return term;
  };
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op))
    if (auto value = dyn_cast<DenseIntElementsAttr>(constant.getValue()))
      return known(value.getSplatValue<APInt>());
  SmallVector<APInt, 2> known32;
  for (Term operand : operands) {
    auto found = numbers.find(operand);
    if (found == numbers.end())
      return std::nullopt;
    known32.push_back(found->second);
  }
  // The same bits, with and without a sign.
  if (isa<stablehlo::ConvertOp>(op) && known32[0].isNonNegative())
    return known(known32[0]);
  if (known32.size() != 2)
    return std::nullopt;
  const APInt &a = known32[0], &b = known32[1];
  if (isa<stablehlo::AddOp>(op))
    return known(a + b);
  if (isa<stablehlo::SubtractOp>(op))
    return known(a - b);
  if (isa<stablehlo::MultiplyOp>(op))
    return known(a * b);
  if (b.isZero() || (!isUnsigned && (a.isNegative() || b.isNegative())))
    return std::nullopt;
  if (isa<stablehlo::DivideOp>(op))
    return known(a.udiv(b));
  if (isa<stablehlo::RemainderOp>(op))
    return known(a.urem(b));
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

bool FoldingChecker::visitCollective(Program &program, Operation *op) {
  const std::string name = ("'" + op->getName().getStringRef() + "'").str();
  if (op->getNumOperands() != 1 || op->getNumResults() != 1)
    return fail(op->getLoc(), name + " has several tensors");
  PerMember held = of(program, op->getOperand(0));
  const Type type = op->getResult(0).getType();
  PerMember results(program.members());
  if (auto permute = dyn_cast<stablehlo::CollectivePermuteOp>(op)) {
    llvm::fill(results, terms.computed({nobodyKey}, type));
    SmallVector<int64_t> numbers;
    for (const APInt &number :
         permute.getSourceTargetPairs().getValues<APInt>())
      numbers.push_back(number.getSExtValue());
    SmallVector<bool> sends(program.members()), gets(program.members());
    for (size_t at = 0; at + 1 < numbers.size(); at += 2) {
      const auto from = size_t(numbers[at]), to = size_t(numbers[at + 1]);
      if (from >= held.size() || to >= held.size() || sends[from] || gets[to])
        return fail(op->getLoc(), name + " names nobody, or somebody twice");
      sends[from] = gets[to] = true;
      results[to] = held[from];
    }
    program.terms[op->getResult(0)] = std::move(results);
    return true;
  }
  auto groups = groupsOf(op, program.mesh.devices());
  if (!groups)
    return fail(op->getLoc(),
                name + " does not have every rank in one of its groups");
  for (ArrayRef<int64_t> group : *groups) {
    SmallVector<Term> operands;
    for (int64_t member : group)
      operands.push_back(held[size_t(member)]);
    const auto size = int64_t(group.size());
    std::optional<Term> sum;
    if (isa<stablehlo::AllReduceOp, stablehlo::ReduceScatterOp>(op)) {
      sum = combined(program, op, group, operands);
      if (!sum)
        return false;
    }
    for (auto [at, member] : llvm::enumerate(group)) {
      Term &result = results[size_t(member)];
      if (auto gather = dyn_cast<stablehlo::AllGatherOp>(op)) {
        result = terms.joined(operands, int64_t(gather.getAllGatherDim()));
      } else if (auto exchange = dyn_cast<stablehlo::AllToAllOp>(op)) {
        SmallVector<Term> parts;
        for (Term operand : operands)
          parts.push_back(terms.part(operand,
                                     int64_t(exchange.getSplitDimension()),
                                     int64_t(at), size));
        result = terms.joined(parts, int64_t(exchange.getConcatDimension()));
      } else if (auto scatter = dyn_cast<stablehlo::ReduceScatterOp>(op)) {
        result = terms.part(*sum, int64_t(scatter.getScatterDimension()),
                            int64_t(at), size);
      } else if (isa<stablehlo::AllReduceOp>(op)) {
        result = *sum;
      } else {
        return fail(op->getLoc(), name + " is not followed");
      }
      if (sum)
        result = converted(result, getElementTypeOrSelf(type));
      if (terms.typeOf(result) != type)
        return fail(op->getLoc(), name + " has a result of another type");
    }
  }
  program.terms[op->getResult(0)] = std::move(results);
  return true;
}

/// What the members of a group combine, one bit pattern for all; with 16-bit
/// floats that are added by a tree, in f32.
std::optional<Term> FoldingChecker::combined(Program &program, Operation *op,
                                             ArrayRef<int64_t> group,
                                             ArrayRef<Term> operands) {
  auto refuse = [&](const Twine &why) {
    fail(op->getLoc(), "'" + op->getName().getStringRef() + "' " + why);
    return std::nullopt;
  };
  Region &region = op->getRegion(0);
  Operation &how = region.front().front();
  const Type element = getElementTypeOrSelf(op->getOperand(0).getType());
  if (!llvm::hasNItems(region.front(), 2) || how.getNumOperands() != 2 ||
      how.getOperand(0) == how.getOperand(1) ||
      !llvm::all_of(how.getOperands(), [&](Value operand) {
        return llvm::is_contained(region.front().getArguments(), operand);
      }))
    return refuse("combines by more than one operation");
  auto floating = dyn_cast<FloatType>(element);
  const bool isFree = isa<stablehlo::MaximumOp, stablehlo::MinimumOp,
                          stablehlo::AndOp, stablehlo::OrOp>(how) ||
                      (!floating && isa<stablehlo::AddOp>(how));
  if (!isFree && !isa<stablehlo::AddOp>(how))
    return refuse("combines by something else than a sum or a choice");
  auto placeOf = [&](int64_t member) {
    return program.mesh.coordinate(member,
                                   {axis, 1, program.mesh.axes[axis].size});
  };
  const bool isAlong = placeOf(group[0]) != placeOf(group.back());
  const bool isMarked = op->hasAttr(step::sumsByTreeAttrName);
  if (isMarked && floating && floating.getWidth() < 32)
    return refuse("adds 16-bit floats by a tree");
  if (isMarked || (isAlong && (isFree || !program.isOfRanks))) {
    if (!llvm::has_single_bit(group.size()))
      return refuse("has no binary tree of its " + Twine(group.size()) +
                    " members");
    if (program.isOfRanks || isFree || !floating || floating.getWidth() >= 32)
      return tree(how, operands);
    return tree(how, llvm::map_to_vector(operands, [&](Term operand) {
                  return converted(operand, Float32Type::get(op->getContext()));
                }));
  }
  Terms::Key key{inOrderKey, wordOf(how.getName()),
                 wordOf(how.getAttrDictionary())};
  llvm::append_range(key, operands);
  return terms.computed(std::move(key), terms.typeOf(operands[0]));
}

/// As an operation of the program would be that combines two.
Term FoldingChecker::tree(Operation &how, ArrayRef<Term> parts) {
  if (parts.size() == 1)
    return parts[0];
  const size_t half = parts.size() / 2;
  const Term first = tree(how, parts.take_front(half)),
             second = tree(how, parts.drop_front(half));
  return terms.computed({operationKey, wordOf(how.getName()),
                         wordOf(how.getAttrDictionary()), 2, first, second, 0},
                        terms.typeOf(first));
}

Term FoldingChecker::converted(Term term, Type element) {
  auto type = cast<RankedTensorType>(terms.typeOf(term));
  if (type.getElementType() == element)
    return term;
  MLIRContext *context = type.getContext();
  return terms.computed(
      {operationKey,
       wordOf(OperationName(stablehlo::ConvertOp::getOperationName(), context)),
       wordOf(DictionaryAttr::get(context)), 1, term, 0},
      type.clone(element));
}

//===----------------------------------------------------------------------===//
// Branches and loops
//===----------------------------------------------------------------------===//

bool FoldingChecker::visitBranches(Program &program, Operation *op,
                                   Block *twin) {
  PerMember decides = of(program, op->getOperand(0));
  if (!areEqual(decides))
    return fail(op->getLoc(), "'" + op->getName().getStringRef() +
                                  "' decides by a value that differs");
  std::vector<std::vector<Terms::Key>> keys(
      op->getNumResults(),
      std::vector<Terms::Key>(program.members(),
                              {branchKey, wordOf(op->getName()), decides[0]}));
  for (Region &region : op->getRegions()) {
    // Loops in branches have no twins.
    if (region.walk([](stablehlo::WhileOp) { return WalkResult::interrupt(); })
            .wasInterrupted())
      return fail(op->getLoc(), "'" + op->getName().getStringRef() +
                                    "' has a loop in it, which is not "
                                    "followed");
    if (!visitBlock(program, region.front(), twin))
      return false;
    for (auto [at, value] :
         llvm::enumerate(region.front().getTerminator()->getOperands()))
      for (auto [key, term] : llvm::zip_equal(keys[at], of(program, value)))
        key.push_back(term);
  }
  for (auto [value, ofMembers] : llvm::zip_equal(op->getResults(), keys)) {
    PerMember results;
    for (Terms::Key &key : ofMembers)
      results.push_back(terms.computed(std::move(key), value.getType()));
    program.terms[value] = std::move(results);
  }
  return true;
}

namespace {

/// The values that loops carry, in classes of those not known to differ.
class Carried {
public:
  explicit Carried(Terms &terms, uint64_t &unknowns)
      : terms(terms), unknowns(unknowns) {}

  void add(Program &program, stablehlo::WhileOp loop) {
    for (unsigned at = 0; at < loop->getNumOperands(); ++at)
      for (size_t member = 0; member < program.members(); ++member) {
        items.push_back({&program, loop, at, member});
        classes.push_back({program.terms.lookup(loop->getOperand(at))[member]});
      }
  }

  /// Gives the arguments of the loops one unknown per class.
  void setArguments() {
    if (numbers.empty())
      renumber();
    std::vector<std::optional<Term>> ofClass(count);
    for (auto [item, number] : llvm::zip_equal(items, numbers)) {
      auto [program, loop, at, member] = item;
      if (!ofClass[number])
        ofClass[number] = terms.computed({unknownKey, unknowns++},
                                         loop->getOperand(at).getType());
      for (Region *region : {&loop->getRegion(0), &loop->getRegion(1)}) {
        PerMember &held = program->terms[region->getArgument(at)];
        held.resize(program->members());
        held[member] = *ofClass[number];
      }
    }
  }

  /// Parts classes by what values become in a round; says whether any was.
  bool part() {
    for (auto [item, key] : llvm::zip_equal(items, classes)) {
      auto [program, loop, at, member] = item;
      Operation *end = loop.getBody().front().getTerminator();
      key.push_back(program->terms.lookup(end->getOperand(at))[member]);
    }
    const size_t before = count;
    renumber();
    return count != before;
  }

  size_t numberOf(size_t item) const { return numbers[item]; }
  size_t size() const { return items.size(); }
  size_t classCount() const { return count; }

private:
  struct Item {
    Program *program;
    stablehlo::WhileOp loop;
    unsigned at;
    size_t member;
  };

  void renumber() {
    std::map<std::vector<uint64_t>, size_t> found;
    numbers.clear();
    for (std::vector<uint64_t> &key : classes)
      numbers.push_back(found.try_emplace(key, found.size()).first->second);
    count = found.size();
    for (auto [key, number] : llvm::zip_equal(classes, numbers))
      key = {number};
  }

  Terms &terms;
  uint64_t &unknowns;
  std::vector<Item> items;
  std::vector<std::vector<uint64_t>> classes;
  std::vector<size_t> numbers;
  size_t count = 0;
};

} // namespace

bool FoldingChecker::visitLoopOfDevices(stablehlo::WhileOp loop) {
  Carried carried(terms, unknowns);
  carried.add(devices, loop);
  do {
    carried.setArguments();
    for (Region &region : loop->getRegions())
      if (!visitBlock(devices, region.front(), nullptr))
        return false;
    if (!areEqual(
            of(devices, loop.getCond().front().getTerminator()->getOperand(0))))
      return fail(loop.getLoc(),
                  "the loop does not end for all devices at once");
  } while (carried.part());
  FollowedLoop followed{loop, {}};
  const uint64_t number = unknowns++;
  for (unsigned at = 0; at < loop->getNumResults(); ++at) {
    PerMember results;
    for (size_t member = 0; member < devices.members(); ++member)
      results.push_back(terms.computed(
          {loopKey, number, carried.numberOf(at * devices.members() + member)},
          loop->getResult(at).getType()));
    devices.terms[loop->getResult(at)] = results;
    followed.results.push_back(std::move(results));
  }
  loops[loop->getBlock()].push_back(std::move(followed));
  return true;
}

bool FoldingChecker::visitLoopOfRanks(stablehlo::WhileOp loop, Block *twin) {
  for (size_t at = 0; twin && at < loops[twin].size(); ++at) {
    FollowedLoop candidate = loops[twin][at];
    if (isLoop(loop, candidate))
      return true;
    fault.reset();
  }
  return fail(loop.getLoc(), "the loop is none of the devices");
}

bool FoldingChecker::isLoop(stablehlo::WhileOp loop, FollowedLoop &candidate) {
  stablehlo::WhileOp twin = candidate.loop;
  Carried carried(terms, unknowns);
  carried.add(devices, twin);
  const size_t ofDevices = carried.size();
  carried.add(ranks, loop);
  do {
    carried.setArguments();
    for (auto [ofTwin, region] :
         llvm::zip_equal(twin->getRegions(), loop->getRegions()))
      if (!visitBlock(devices, ofTwin.front(), nullptr) ||
          !visitBlock(ranks, region.front(), &ofTwin.front()))
        return false;
    PerMember goOn =
        of(devices, twin.getCond().front().getTerminator()->getOperand(0));
    llvm::append_range(
        goOn, of(ranks, loop.getCond().front().getTerminator()->getOperand(0)));
    if (!areEqual(goOn))
      return false;
  } while (carried.part());
  std::vector<std::optional<Term>> ofClass(carried.classCount());
  for (size_t item = 0; item < ofDevices; ++item)
    ofClass[carried.numberOf(item)] =
        candidate.results[item / devices.members()][item % devices.members()];
  for (unsigned at = 0; at < loop->getNumResults(); ++at) {
    PerMember results;
    for (size_t member = 0; member < ranks.members(); ++member) {
      auto term =
          ofClass[carried.numberOf(ofDevices + at * ranks.members() + member)];
      if (!term)
        return false;
      results.push_back(*term);
    }
    ranks.terms[loop->getResult(at)] = std::move(results);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

class CheckFolding
    : public tenon::shardingcheck::impl::CheckFoldingPassBase<CheckFolding> {
public:
  using CheckFoldingPassBase::CheckFoldingPassBase;

  void runOnOperation() override {
    if (devices.empty()) {
      getOperation().emitError("give the step of the devices, as in "
                               "--check-folding=devices=parts.mlir");
      return signalPassFailure();
    }
    auto step = parseSourceFile<ModuleOp>(devices, &getContext());
    if (!step)
      return signalPassFailure();
    if (auto fault = checkFolding(*step, getOperation(), axis)) {
      emitError(fault->location) << fault->message;
      return signalPassFailure();
    }
  }
};

} // namespace

std::optional<PartitionFault>
tenon::shardingcheck::checkFolding(ModuleOp devices, ModuleOp ranks,
                                   StringRef axis) {
  auto fail = [](Operation *op, const Twine &message) {
    return PartitionFault{op->getLoc(), message.str()};
  };
  auto read = [](ModuleOp module, Program &program) {
    program.main = module.lookupSymbol<func::FuncOp>("main");
    auto text = module->getAttrOfType<StringAttr>(step::meshAttrName);
    std::string error;
    auto mesh = text ? Mesh::parse(text.getValue(), error) : std::nullopt;
    if (mesh)
      program.mesh = *mesh;
    return program.main && !program.main.isExternal();
  };
  Program many, few;
  if (!read(devices, many) || many.mesh.axes.empty())
    return fail(devices, "there is no partitioned step of the devices");
  if (!read(ranks, few))
    return fail(ranks, "there is no step of the ranks");
  auto along = many.mesh.find(axis);
  if (!along)
    return fail(devices, "the mesh has no axis '" + axis + "'");
  // One rank in all has no mesh.
  Mesh expected = many.mesh;
  auto sizeOf = [&](const Mesh &mesh) { return mesh.axes[*along].size; };
  if (few.mesh.axes.empty())
    for (sharding::Axis &each : few.mesh.axes = expected.axes)
      each.size = 1;
  if (few.mesh.axes.size() == expected.axes.size())
    expected.axes[*along].size = sizeOf(few.mesh);
  if (few.mesh.text() != expected.text() ||
      sizeOf(many.mesh) % sizeOf(few.mesh) != 0)
    return fail(ranks, "the mesh " + few.mesh.text() +
                           " does not run the devices of " + many.mesh.text() +
                           " along '" + axis + "'");
  few.isOfRanks = true;
  return FoldingChecker(std::move(many), std::move(few), *along).run();
}
