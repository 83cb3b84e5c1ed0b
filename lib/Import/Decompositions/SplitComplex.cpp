//===- SplitComplex.cpp - Complex tensors as pairs of real ones -----------===//
//
// Walks the function once, in order. Every complex value has two real ones in
// its place; operations that carry values (loops, branches, reductions) carry
// both, movements are made twice, and functions of elements are looked up in
// the table of ComplexMath.cpp.
//
//===----------------------------------------------------------------------===//

#include "ComplexMath.h"

#include "tenon/Import/Passes.h"
#include "tenon/Import/Pipeline.h"

#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/Shardy/Shardy.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/ShardingConstraint.h"
#include "tenon/Dialect/Step/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

namespace tenon::importer {
#define GEN_PASS_DEF_SPLITCOMPLEXPASS
#include "tenon/Import/Passes.h.inc"
} // namespace tenon::importer

using namespace mlir;
using namespace tenon::importer;
using namespace tenon::stablehlo;

namespace {

/// The type of the parts of a complex tensor; null for other types.
RankedTensorType partType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto complex =
      tensor ? dyn_cast<ComplexType>(tensor.getElementType()) : ComplexType();
  return complex ? tensor.clone(complex.getElementType()) : nullptr;
}

/// A complex tensor as memory holds it: both parts in a last dimension.
RankedTensorType interleavedType(RankedTensorType part) {
  SmallVector<int64_t> shape(part.getShape());
  shape.push_back(2);
  return part.clone(shape);
}

/// Operations that mean the same for each part: they move elements.
bool isMovement(Operation *op) {
  return isa<BroadcastInDimOp, BroadcastOp, ConcatenateOp, DynamicSliceOp,
             DynamicUpdateSliceOp, GatherOp, PadOp, ReshapeOp, ReverseOp,
             SelectOp, SliceOp, TransposeOp, tenon::step::ShardingConstraintOp>(
      op);
}

/// Operations that carry any number of values.
bool isCarrier(Operation *op) {
  return isa<CaseOp, IfOp, OptimizationBarrierOp, ReduceOp, ReduceWindowOp,
             ScatterOp, WhileOp>(op) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

class Splitter {
public:
  explicit Splitter(func::FuncOp function)
      : function(function), builder(function.getLoc(), function.getContext()) {}

  /// Succeeds if everything could be split; otherwise each operation that could
  /// not has an error.
  LogicalResult run();
  int64_t count() const { return split; }

private:
  Parts partsOf(Value value) { return parts.lookup(value); }
  bool isSplit(Value value) const { return bool(partType(value.getType())); }

  Parts separate(Value interleaved, RankedTensorType part);
  Value interleave(Parts values);
  /// The values with both parts in the place of complex ones.
  SmallVector<Value> expanded(ValueRange values);
  SmallVector<Type> expanded(TypeRange types);

  void splitArguments(Block &block);
  void splitBlock(Block &block);
  void splitOperation(Operation *op);
  bool splitTouched(Operation *op);
  void splitFunctionArguments(Block &block);

  void moveTwice(Operation *op);
  void carryBoth(Operation *op);
  Operation *rebuild(Operation *op, ValueRange operands, TypeRange results);
  void replace(Operation *op, Operation *by);
  void sortBoth(SortOp op);
  bool multiplyTwice(Operation *op);
  void callInterleaved(CustomCallOp op);
  void returnInterleaved(func::ReturnOp op);
  bool splitSource(Operation *op);

  func::FuncOp function;
  ImplicitLocOpBuilder builder;
  DenseMap<Value, Parts> parts;
  /// Operations and blocks that still hold complex values, which go at the end.
  SmallVector<Operation *> replaced;
  SmallVector<Block *> blocks;
  bool ok = true;
  int64_t split = 0;
};

Parts Splitter::separate(Value interleaved, RankedTensorType part) {
  auto whole = cast<RankedTensorType>(interleaved.getType());
  SmallVector<int64_t> starts(whole.getRank(), 0), limits(whole.getShape()),
      strides(whole.getRank(), 1);
  auto half = [&](int64_t index) -> Value {
    starts.back() = index;
    limits.back() = index + 1;
    SmallVector<int64_t> shape(whole.getShape());
    shape.back() = 1;
    Value slice = SliceOp::create(builder, whole.clone(shape), interleaved,
                                  starts, limits, strides);
    return ReshapeOp::create(builder, part, slice);
  };
  return {half(0), half(1)};
}

Value Splitter::interleave(Parts values) {
  auto part = cast<RankedTensorType>(values.real.getType());
  SmallVector<int64_t> shape(part.getShape());
  shape.push_back(1);
  Value real = ReshapeOp::create(builder, part.clone(shape), values.real);
  Value imaginary =
      ReshapeOp::create(builder, part.clone(shape), values.imaginary);
  return ConcatenateOp::create(builder, interleavedType(part),
                               ValueRange{real, imaginary}, part.getRank());
}

SmallVector<Value> Splitter::expanded(ValueRange values) {
  SmallVector<Value> result;
  for (Value value : values) {
    if (!isSplit(value)) {
      result.push_back(value);
      continue;
    }
    Parts both = partsOf(value);
    result.append({both.real, both.imaginary});
  }
  return result;
}

SmallVector<Type> Splitter::expanded(TypeRange types) {
  SmallVector<Type> result;
  for (Type type : types) {
    RankedTensorType part = partType(type);
    if (part)
      result.append({part, part});
    else
      result.push_back(type);
  }
  return result;
}

/// Two arguments in the place of each complex one.
void Splitter::splitArguments(Block &block) {
  for (unsigned i = 0; i < block.getNumArguments(); ++i) {
    BlockArgument argument = block.getArgument(i);
    RankedTensorType part = partType(argument.getType());
    if (!part)
      continue;
    parts[argument] = {block.insertArgument(i + 1, part, argument.getLoc()),
                       block.insertArgument(i + 2, part, argument.getLoc())};
    i += 2;
  }
  blocks.push_back(&block);
}

/// A copy of an operation with other operands and results; regions move to it.
Operation *Splitter::rebuild(Operation *op, ValueRange operands,
                             TypeRange results) {
  OperationState state(op->getLoc(), op->getName(), operands, results,
                       op->getAttrDictionary().getValue());
  for (Region &region : op->getRegions())
    state.addRegion()->takeBody(region);
  return builder.create(state);
}

/// The results of `by`, which has two for each complex one of `op`.
void Splitter::replace(Operation *op, Operation *by) {
  unsigned next = 0;
  for (OpResult result : op->getResults()) {
    if (isSplit(result)) {
      parts[result] = {by->getResult(next), by->getResult(next + 1)};
      next += 2;
    } else {
      result.replaceAllUsesWith(by->getResult(next++));
    }
  }
}

void Splitter::moveTwice(Operation *op) {
  Value halves[2];
  for (bool imaginary : {false, true}) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(!isSplit(operand) ? operand
                         : imaginary       ? partsOf(operand).imaginary
                                           : partsOf(operand).real);
    halves[imaginary] =
        rebuild(op, operands, partType(op->getResult(0).getType()))
            ->getResult(0);
  }
  parts[op->getResult(0)] = {halves[0], halves[1]};
}

void Splitter::carryBoth(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>()) {
    op->setOperands(expanded(op->getOperands()));
    return;
  }
  replace(op, rebuild(op, expanded(op->getOperands()),
                      expanded(op->getResultTypes())));
  replaced.push_back(op);
}

/// The comparator's arguments come in pairs per operand, so that both parts of
/// the left one do not lie beside each other.
void Splitter::sortBoth(SortOp op) {
  Block &block = op.getComparator().front();
  unsigned at = 0;
  for (Value operand : op.getInputs()) {
    RankedTensorType part = partType(operand.getType());
    if (part) {
      BlockArgument left = block.getArgument(at),
                    right = block.getArgument(at + 1);
      auto scalar = RankedTensorType::get({}, part.getElementType());
      Value made[4];
      for (unsigned i = 0; i < 4; ++i)
        made[i] = block.insertArgument(at + 2 + i, scalar, left.getLoc());
      parts[left] = {made[0], made[2]};
      parts[right] = {made[1], made[3]};
      at += 4;
    }
    at += 2;
  }
  blocks.push_back(&block);
  splitBlock(block);
  builder.setLoc(op.getLoc());
  builder.setInsertionPoint(op);
  carryBoth(op);
}

/// Products of sums: (a + bi)(c + di) needs four real contractions.
bool Splitter::multiplyTwice(Operation *op) {
  if (!isa<DotGeneralOp, ConvolutionOp>(op) || !isSplit(op->getOperand(0)) ||
      !isSplit(op->getOperand(1)))
    return false;
  RankedTensorType type = partType(op->getResult(0).getType());
  Parts x = partsOf(op->getOperand(0)), y = partsOf(op->getOperand(1));
  auto product = [&](Value left, Value right) {
    return rebuild(op, {left, right}, type)->getResult(0);
  };
  ElementMath math(builder, type);
  parts[op->getResult(0)] = {
      math.sub(product(x.real, y.real), product(x.imaginary, y.imaginary)),
      math.add(product(x.real, y.imaginary), product(x.imaginary, y.real))};
  return true;
}

/// A call is given complex tensors as memory holds them.
void Splitter::callInterleaved(CustomCallOp op) {
  SmallVector<Value> operands;
  for (Value operand : op.getInputs())
    operands.push_back(isSplit(operand) ? interleave(partsOf(operand))
                                        : operand);
  SmallVector<Type> results;
  for (Type type : op->getResultTypes()) {
    RankedTensorType part = partType(type);
    results.push_back(part ? interleavedType(part) : type);
  }
  Operation *call = rebuild(op, operands, results);
  // These are stated for the ranks without the parts.
  for (StringRef stated :
       {StringRef("operand_layouts"), StringRef("result_layouts"),
        StringRef(tenon::sdy::shardingRuleAttrName)})
    call->removeAttr(stated);
  for (auto [result, made] :
       llvm::zip_equal(op.getResults(), call->getResults())) {
    if (RankedTensorType part = partType(result.getType()))
      parts[result] = separate(made, part);
    else
      result.replaceAllUsesWith(made);
  }
}

void Splitter::returnInterleaved(func::ReturnOp op) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isSplit(operand.get()))
      continue;
    operand.set(interleave(partsOf(operand.get())));
    function.setResultAttr(operand.getOperandNumber(),
                           tenon::step::complexAttrName, builder.getUnitAttr());
  }
}

/// Constants, conversions and the operations between complex and real.
bool Splitter::splitSource(Operation *op) {
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto values = dyn_cast<DenseElementsAttr>(constant.getValue());
    RankedTensorType type = partType(constant.getType());
    if (!values || !isa<FloatType>(type.getElementType()))
      return false;
    SmallVector<APFloat> real, imaginary;
    if (values.isSplat()) {
      auto value = values.getSplatValue<std::complex<APFloat>>();
      real.push_back(value.real());
      imaginary.push_back(value.imag());
    } else {
      for (const std::complex<APFloat> &value :
           values.getValues<std::complex<APFloat>>()) {
        real.push_back(value.real());
        imaginary.push_back(value.imag());
      }
    }
    auto make = [&](ArrayRef<APFloat> list) -> Value {
      return ConstantOp::create(
          builder, cast<ElementsAttr>(DenseElementsAttr::get(type, list)));
    };
    parts[constant.getResult()] = {make(real), make(imaginary)};
    return true;
  }
  if (auto complex = dyn_cast<ComplexOp>(op)) {
    parts[complex.getResult()] = {op->getOperand(0), op->getOperand(1)};
    return true;
  }
  if (isa<RealOp, ImagOp>(op) && isSplit(op->getOperand(0))) {
    Parts both = partsOf(op->getOperand(0));
    op->getResult(0).replaceAllUsesWith(isa<RealOp>(op) ? both.real
                                                        : both.imaginary);
    return true;
  }
  if (isa<AbsOp>(op)) {
    ElementMath math(builder,
                     cast<RankedTensorType>(op->getResult(0).getType()));
    op->getResult(0).replaceAllUsesWith(
        magnitude(math, partsOf(op->getOperand(0))));
    return true;
  }
  if (auto compare = dyn_cast<CompareOp>(op)) {
    ElementMath math(builder, partType(compare.getLhs().getType()));
    Parts x = partsOf(compare.getLhs()), y = partsOf(compare.getRhs());
    bool equal = compare.getComparisonDirection() == ComparisonDirection::EQ;
    if (!equal && compare.getComparisonDirection() != ComparisonDirection::NE)
      return false;
    Value result = equal ? math.both(math.eq(x.real, y.real),
                                     math.eq(x.imaginary, y.imaginary))
                         : math.either(math.ne(x.real, y.real),
                                       math.ne(x.imaginary, y.imaginary));
    compare.getResult().replaceAllUsesWith(result);
    return true;
  }
  if (isa<BitcastConvertOp>(op)) {
    // As memory holds them: both elements' parts lie side by side.
    RankedTensorType part = partType(op->getResult(0).getType());
    Value bits = interleave(partsOf(op->getOperand(0)));
    if (part.getElementType() != getElementTypeOrSelf(bits.getType()))
      bits = BitcastConvertOp::create(builder, interleavedType(part), bits);
    parts[op->getResult(0)] = separate(bits, part);
    return true;
  }
  if (isa<ConvertOp, IotaOp>(op)) {
    // The real part is converted or counted; the imaginary part is zero unless
    // it is converted too.
    Value result = op->getResult(0);
    RankedTensorType type = partType(result.getType());
    Value operand = op->getNumOperands() ? op->getOperand(0) : Value();
    bool fromComplex = operand && isSplit(operand);
    SmallVector<Value, 1> real;
    if (operand)
      real.push_back(fromComplex ? partsOf(operand).real : operand);
    if (!type) {
      result.replaceAllUsesWith(
          rebuild(op, real, result.getType())->getResult(0));
      return true;
    }
    ElementMath math(builder, type);
    Value imaginary =
        fromComplex
            ? rebuild(op, partsOf(operand).imaginary, type)->getResult(0)
            : math.constant(0);
    parts[result] = {rebuild(op, real, type)->getResult(0), imaginary};
    return true;
  }
  return false;
}

/// False if there is no code for the operation.
bool Splitter::splitTouched(Operation *op) {
  if (auto call = dyn_cast<CustomCallOp>(op)) {
    callInterleaved(call);
    return true;
  }
  if (splitSource(op) || multiplyTwice(op))
    return true;
  RankedTensorType type =
      op->getNumResults() == 1 ? partType(op->getResult(0).getType()) : nullptr;
  if (type && isMovement(op)) {
    moveTwice(op);
    return true;
  }
  ComplexFunction function = complexFunction(op->getName().getStringRef());
  if (!function || !type)
    return false;
  SmallVector<Parts> operands;
  for (Value operand : op->getOperands())
    operands.push_back(partsOf(operand));
  parts[op->getResult(0)] = function(ElementMath(builder, type), operands);
  return true;
}

void Splitter::splitOperation(Operation *op) {
  auto isComplex = [](Type type) { return bool(partType(type)); };
  bool touched = llvm::any_of(op->getOperandTypes(), isComplex) ||
                 llvm::any_of(op->getResultTypes(), isComplex);
  builder.setLoc(op->getLoc());
  builder.setInsertionPoint(op);
  split += touched;
  if (auto sort = dyn_cast<SortOp>(op); sort && touched)
    return sortBoth(sort);
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      splitArguments(block);
      splitBlock(block);
    }
  if (!touched)
    return;
  builder.setLoc(op->getLoc());
  builder.setInsertionPoint(op);
  if (auto end = dyn_cast<func::ReturnOp>(op))
    return returnInterleaved(end);
  if (isCarrier(op))
    return carryBoth(op);
  replaced.push_back(op);
  if (splitTouched(op))
    return;
  op->emitError() << "'" << op->getName() << "' on " << op->getOperandTypes()
                  << " has no code for complex elements";
  ok = false;
  // Something to go on with, so that every such operation is reported.
  for (OpResult result : op->getResults())
    if (RankedTensorType type = partType(result.getType())) {
      Value zero = ElementMath(builder, type).constant(0);
      parts[result] = {zero, zero};
    }
}

void Splitter::splitBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    splitOperation(&op);
}

/// Complex arguments of the function, as memory holds them.
void Splitter::splitFunctionArguments(Block &block) {
  builder.setInsertionPointToStart(&block);
  for (unsigned i = 0; i < block.getNumArguments(); ++i) {
    BlockArgument argument = block.getArgument(i);
    RankedTensorType part = partType(argument.getType());
    if (!part)
      continue;
    // The stored argument first: the complex one goes at the end, and then
    // this one has its number.
    BlockArgument stored =
        block.insertArgument(i, interleavedType(part), argument.getLoc());
    parts[argument] = separate(stored, part);
    ++i;
  }
  blocks.push_back(&block);
}

LogicalResult Splitter::run() {
  Block &body = function.getBody().front();
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    if (partType(type))
      function.setArgAttr(index, tenon::step::complexAttrName,
                          builder.getUnitAttr());
  splitFunctionArguments(body);
  splitBlock(body);
  if (!ok)
    return failure();
  for (Operation *op : llvm::reverse(replaced)) {
    op->dropAllUses();
    op->erase();
  }
  for (Block *block : blocks)
    block->eraseArguments([](BlockArgument argument) {
      return bool(partType(argument.getType()));
    });
  function.setType(builder.getFunctionType(
      body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
  return success();
}

struct SplitComplex
    : public tenon::importer::impl::SplitComplexPassBase<SplitComplex> {
  void runOnOperation() override {
    Splitter splitter(getOperation());
    if (failed(splitter.run())) {
      getOperation()->setAttr(unsupportedAttrName,
                              UnitAttr::get(&getContext()));
      return signalPassFailure();
    }
    if (splitter.count())
      remark::passed(getOperation().getLoc(),
                     remark::RemarkOpts::name("split")
                         .category("import-split-complex")
                         .function(getOperation().getSymName()))
          << remark::add("{0} operations on complex elements split",
                         splitter.count());
  }
};

} // namespace
