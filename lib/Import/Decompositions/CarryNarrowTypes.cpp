//===- CarryNarrowTypes.cpp - Narrow element types in bytes ---------------===//
//
// Walks the function once, in order, and gives every tensor of a narrow type
// (NarrowFormat.h) its carrier. Operations that only move elements move bytes;
// all others are computed on f32, or on 8-bit integers, and brought back, with
// one rounding per operation. Reductions of floats keep their running values in
// f32, as those of 16-bit types do.
//
//===----------------------------------------------------------------------===//

#include "NarrowFormat.h"

#include "tenon/Import/Passes.h"
#include "tenon/Import/Pipeline.h"

#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/Step/ShardingConstraint.h"
#include "tenon/Dialect/Step/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

namespace tenon::importer {
#define GEN_PASS_DEF_CARRYNARROWTYPESPASS
#include "tenon/Import/Passes.h.inc"
} // namespace tenon::importer

using namespace mlir;
using namespace tenon::importer;
using namespace tenon::stablehlo;
namespace chlo = tenon::chlo;

namespace {

/// The narrow element type of a tensor; null for all other types.
Type narrowElement(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isNarrow(tensor.getElementType()) ? tensor.getElementType()
                                                     : Type();
}

/// Operations that mean the same for the carriers: they hand elements on.
bool handsElementsOn(Operation *op) {
  return isa<AllGatherOp, AllToAllOp, BroadcastInDimOp, BroadcastOp, CaseOp,
             CollectiveBroadcastOp, CollectivePermuteOp, ConcatenateOp,
             CustomCallOp, DynamicSliceOp, DynamicUpdateSliceOp, GatherOp, IfOp,
             MapOp, OptimizationBarrierOp, PadOp, ReshapeOp, ReverseOp,
             SelectOp, SliceOp, SortOp, TransposeOp, WhileOp, chlo::ScanOp,
             tenon::step::ShardingConstraintOp>(op) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

/// Operations whose regions combine elements.
bool isReduction(Operation *op) {
  return isa<AllReduceOp, ReduceOp, ReduceScatterOp, ReduceWindowOp, ScatterOp,
             SelectAndScatterOp>(op);
}

/// Operations on integers that look at bits of a certain place.
bool countsBits(Operation *op) {
  return isa<CountLeadingZerosOp, PopcntOp, ShiftRightLogicalOp>(op);
}

class Carrier {
public:
  explicit Carrier(func::FuncOp function)
      : function(function), builder(function.getLoc(), function.getContext()) {}

  /// Succeeds if every operation could be carried; otherwise each that could
  /// not has an error.
  LogicalResult run();
  int64_t count() const { return carried; }

private:
  /// Gives a value its carrier, or f32 where `wide` says that floats are kept
  /// in it.
  void retype(Value value, bool wide);
  void carryBlock(Block &block, bool wide);
  void carryOperation(Operation *op, bool wide);
  void carryConstant(ConstantOp op, bool wide);
  void compute(Operation *op, bool wide);
  void computeOnCodes(Operation *op);
  void convertBits(BitcastConvertOp op);
  Value split(Value codes, int64_t width, ArrayRef<int64_t> shape);
  Value join(Value codes, int64_t width, ArrayRef<int64_t> shape);

  void unpackOperands(Operation *op);
  /// Redirects the uses of a result to what `convert` makes of it.
  void handOn(OpResult result, Type element,
              llvm::function_ref<Value()> convert);
  /// Brings a result that was computed on f32, f64 or 8 bits to its carrier.
  void pack(OpResult result, FloatType narrow);
  void wrap(OpResult result, IntegerType narrow, bool fromFloat);
  void refuse(Operation *op, Type narrow);

  func::FuncOp function;
  ImplicitLocOpBuilder builder;
  /// The narrow type of every value that is carried.
  DenseMap<Value, Type> narrow;
  bool ok = true;
  int64_t carried = 0;
};

void Carrier::retype(Value value, bool wide) {
  Type element = narrowElement(value.getType());
  if (!element)
    return;
  auto type = cast<RankedTensorType>(value.getType());
  if (wide && isa<FloatType>(element)) {
    value.setType(type.clone(builder.getF32Type()));
    return;
  }
  value.setType(type.clone(carrierOf(element)));
  narrow[value] = element;
}

void Carrier::carryConstant(ConstantOp op, bool wide) {
  Type element = narrowElement(op.getType());
  retype(op.getResult(), wide);
  auto type = cast<RankedTensorType>(op.getResult().getType());
  auto values = cast<DenseElementsAttr>(op.getValue());
  if (isa<FloatType>(element) && wide) {
    values = values.mapValues(builder.getF32Type(), [](const APFloat &value) {
      return APInt(32, llvm::bit_cast<uint32_t>(value.convertToFloat()));
    });
  } else if (isa<FloatType>(element)) {
    values = values.mapValues(type.getElementType(), [](const APFloat &value) {
      return value.bitcastToAPInt().zextOrTrunc(8);
    });
  } else {
    bool hasSign = element.isSignlessInteger();
    values = values.mapValues(type.getElementType(), [&](const APInt &value) {
      return hasSign ? value.sext(8) : value.zext(8);
    });
  }
  op.setValueAttr(cast<ElementsAttr>(values));
}

void Carrier::unpackOperands(Operation *op) {
  for (OpOperand &operand : op->getOpOperands())
    if (auto type =
            dyn_cast_if_present<FloatType>(narrow.lookup(operand.get())))
      operand.set(unpackFloats(builder, type, operand.get()));
}

void Carrier::handOn(OpResult result, Type element,
                     llvm::function_ref<Value()> convert) {
  builder.setInsertionPointAfter(result.getOwner());
  Value carrier = convert();
  llvm::SmallPtrSet<Operation *, 32> conversion;
  for (Operation &op :
       llvm::make_range(std::next(result.getOwner()->getIterator()),
                        std::next(carrier.getDefiningOp()->getIterator())))
    conversion.insert(&op);
  result.replaceAllUsesExcept(carrier, conversion);
  narrow[carrier] = element;
}

void Carrier::pack(OpResult result, FloatType type) {
  handOn(result, type, [&] { return packFloats(builder, type, result); });
}

void Carrier::wrap(OpResult result, IntegerType type, bool fromFloat) {
  handOn(result, type, [&]() -> Value {
    if (!fromFloat)
      return wrapIntegers(builder, type, result);
    // Too large a number becomes the largest one.
    ElementMath math(builder, cast<RankedTensorType>(result.getType()));
    int64_t width = type.getWidth();
    bool isUnsigned = type.isUnsigned();
    Value low = math.integer(isUnsigned ? 0 : -(int64_t(1) << (width - 1)));
    Value high = math.integer((int64_t(1) << (width - !isUnsigned)) - 1);
    return ClampOp::create(builder, low, result, high);
  });
}

void Carrier::refuse(Operation *op, Type element) {
  op->emitError() << "'" << op->getName() << "' has no code for elements of "
                  << "type " << element;
  ok = false;
}

/// What is counted or shifted are the bits of the narrow type alone.
void Carrier::computeOnCodes(Operation *op) {
  Type element = narrowElement(op->getResult(0).getType());
  auto type = cast<RankedTensorType>(op->getResult(0).getType())
                  .clone(builder.getIntegerType(8, /*isSigned=*/false));
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(codesOf(builder, element, operand));
  OperationState state(op->getLoc(), op->getName(), operands, {type});
  Value codes = builder.create(state)->getResult(0);
  if (isa<CountLeadingZerosOp>(op)) {
    ElementMath math(builder, type);
    codes = math.sub(codes, math.integer(8 - element.getIntOrFloatBitWidth()));
  }
  Value result = fromCodes(builder, element, codes);
  narrow[result] = element;
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

/// Bytes as pieces of `width` bits, lowest first, in a tensor of this shape.
Value Carrier::split(Value codes, int64_t width, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(codes.getType());
  SmallVector<int64_t> pieces(type.getShape());
  pieces.push_back(8 / width);
  ElementMath math(builder, type.clone(pieces));
  Value wide = BroadcastInDimOp::create(
      builder, math.type, codes,
      llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())));
  Value piece = IotaOp::create(builder, math.type, type.getRank());
  Value amount = math.mul(piece, math.integer(width));
  Value shifted = ShiftRightLogicalOp::create(builder, wide, amount);
  Value masked = math.both(shifted, math.integer((1 << width) - 1));
  return ReshapeOp::create(builder, type.clone(shape), masked);
}

/// Inverse of split().
Value Carrier::join(Value codes, int64_t width, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(codes.getType());
  SmallVector<int64_t> pieces(shape);
  pieces.push_back(8 / width);
  Value apart = ReshapeOp::create(builder, type.clone(pieces), codes);
  ElementMath math(builder, type.clone(shape));
  SmallVector<int64_t> starts(pieces.size(), 0), limits(pieces),
      strides(pieces.size(), 1), one(pieces);
  one.back() = 1;
  Value bytes;
  for (int64_t piece = 0; piece < 8 / width; ++piece) {
    starts.back() = piece;
    limits.back() = piece + 1;
    Value slice = SliceOp::create(builder, type.clone(one), apart, starts,
                                  limits, strides);
    Value part = ReshapeOp::create(builder, math.type, slice);
    part = ShiftLeftOp::create(builder, part, math.integer(piece * width));
    bytes = bytes ? math.either(bytes, part) : part;
  }
  return bytes;
}

/// By way of bytes: the wider side is cut into them, the narrower one joined.
void Carrier::convertBits(BitcastConvertOp op) {
  Type from = narrow.lookup(op.getOperand());
  Type to = narrowElement(op.getType());
  auto resultType = cast<RankedTensorType>(op.getType());
  Type bytesElement = builder.getIntegerType(8, /*isSigned=*/false);
  int64_t fromWidth =
      (from ? from : getElementTypeOrSelf(op.getOperand().getType()))
          .getIntOrFloatBitWidth();
  int64_t toWidth = resultType.getElementTypeBitWidth();
  Value codes =
      from ? codesOf(builder, from, op.getOperand()) : Value(op.getOperand());
  ArrayRef<int64_t> shape = resultType.getShape();
  if (fromWidth < toWidth && fromWidth < 8) {
    SmallVector<int64_t> bytesShape(shape);
    if (toWidth > 8)
      bytesShape.push_back(toWidth / 8);
    if (toWidth < 8) { // one byte holds one element of either side
      auto type = cast<RankedTensorType>(codes.getType());
      SmallVector<int64_t> padded(type.getShape());
      int64_t missing = 8 / fromWidth - padded.back();
      padded.back() += missing;
      SmallVector<int64_t> zeros(padded.size(), 0), high(zeros);
      high.back() = missing;
      Value zero = ElementMath(builder, RankedTensorType::get({}, bytesElement))
                       .integer(0);
      codes = PadOp::create(builder, type.clone(padded), codes, zero, zeros,
                            high, zeros);
    }
    codes = join(codes, fromWidth, bytesShape);
  } else if (fromWidth > toWidth && toWidth < 8) {
    if (fromWidth > 8) {
      SmallVector<int64_t> bytesShape(shape.drop_back());
      bytesShape.push_back(fromWidth / 8);
      codes = BitcastConvertOp::create(
          builder, RankedTensorType::get(bytesShape, bytesElement), codes);
    } else if (getElementTypeOrSelf(codes.getType()) != bytesElement) {
      codes = BitcastConvertOp::create(
          builder, cast<RankedTensorType>(codes.getType()).clone(bytesElement),
          codes);
    }
    auto type = cast<RankedTensorType>(codes.getType());
    if (fromWidth < 8) {
      SmallVector<int64_t> pieces(shape);
      pieces.back() = 8 / toWidth;
      codes = split(codes, toWidth, pieces);
      SmallVector<int64_t> zeros(shape.size(), 0), ones(shape.size(), 1);
      codes = SliceOp::create(builder, type.clone(shape), codes, zeros, shape,
                              ones);
    } else {
      codes = split(codes, toWidth, shape);
    }
  }
  Value result = codes;
  if (to) {
    auto bytes = resultType.clone(bytesElement);
    if (codes.getType() != bytes)
      codes = BitcastConvertOp::create(builder, bytes, codes);
    result = fromCodes(builder, to, codes);
    narrow[result] = to;
  } else if (codes.getType() != resultType) {
    result = BitcastConvertOp::create(builder, resultType, codes);
  }
  op.getResult().replaceAllUsesWith(result);
  op->erase();
}

/// Everything else: on f32 and on 8-bit integers.
void Carrier::compute(Operation *op, bool wide) {
  unpackOperands(op);
  bool isConversion = isa<ConvertOp>(op);
  Type source = op->getNumOperands()
                    ? getElementTypeOrSelf(op->getOperand(0).getType())
                    : Type();
  for (OpResult result : op->getResults()) {
    Type element = narrowElement(result.getType());
    if (!element)
      continue;
    auto type = cast<RankedTensorType>(result.getType());
    if (auto floats = dyn_cast<FloatType>(element)) {
      // What f32 does not hold exactly must not be rounded twice.
      bool fromDouble = isConversion && source.getIntOrFloatBitWidth() >= 32 &&
                        !source.isF32() && !wide;
      result.setType(type.clone(fromDouble ? Type(builder.getF64Type())
                                           : Type(builder.getF32Type())));
      if (!wide)
        pack(result, floats);
      continue;
    }
    result.setType(type.clone(carrierOf(element)));
    narrow[result] = element;
    wrap(result, cast<IntegerType>(element),
         isConversion && isa<FloatType>(source));
  }
}

void Carrier::carryOperation(Operation *op, bool wide) {
  SmallVector<Type> found;
  for (Value operand : op->getOperands())
    if (Type type = narrow.lookup(operand))
      found.push_back(type);
  for (Type type : op->getResultTypes())
    if (Type element = narrowElement(type))
      found.push_back(element);
  auto isNarrowFloat = [](Type type) { return isa<FloatType>(type); };
  bool reduces = isReduction(op) && !wide;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      carryBlock(block,
                 wide || (reduces && llvm::any_of(found, isNarrowFloat)));
  if (found.empty() && !(wide && op->hasTrait<OpTrait::IsTerminator>()))
    return;
  builder.setLoc(op->getLoc());
  builder.setInsertionPoint(op);
  carried += !found.empty();
  if (auto constant = dyn_cast<ConstantOp>(op))
    return carryConstant(constant, wide);
  if (isa<chlo::NextAfterOp, chlo::MulhiOp>(op))
    return refuse(op, found.front());
  if (auto cast = dyn_cast<BitcastConvertOp>(op)) {
    if (wide && llvm::any_of(found, isNarrowFloat))
      return refuse(op, found.front());
    return convertBits(cast);
  }
  if (countsBits(op) && isa<IntegerType>(found.front()))
    return computeOnCodes(op);
  if (isa<ShiftRightArithmeticOp>(op) && found.front().isUnsignedInteger()) {
    // The top bit counts as the sign all the same.
    auto element = cast<IntegerType>(found.front());
    auto hasSign = IntegerType::get(op->getContext(), element.getWidth());
    op->setOperand(0, fromCodes(builder, hasSign, op->getOperand(0)));
    op->setOperand(1, ElementMath(builder, cast<RankedTensorType>(
                                               op->getOperand(0).getType()))
                          .convert(op->getOperand(1)));
    Value result = op->getResult(0);
    auto type = cast<RankedTensorType>(result.getType());
    result.setType(type.clone(carrierOf(hasSign)));
    return wrap(op->getResult(0), element, false);
  }
  if (handsElementsOn(op)) {
    if (wide)
      unpackOperands(op); // values of the surroundings
    for (Value result : op->getResults())
      retype(result, wide);
    return;
  }
  if (isReduction(op)) {
    unpackOperands(op);
    for (OpResult result : op->getResults()) {
      auto floats =
          dyn_cast_if_present<FloatType>(narrowElement(result.getType()));
      retype(result, /*wide=*/true);
      if (floats && !wide)
        pack(result, floats);
    }
    return;
  }
  compute(op, wide);
}

void Carrier::carryBlock(Block &block, bool wide) {
  for (BlockArgument argument : block.getArguments())
    retype(argument, wide);
  // What is made for an operation stands beside it and needs no visit.
  SmallVector<Operation *> operations;
  for (Operation &op : block)
    operations.push_back(&op);
  for (Operation *op : operations)
    carryOperation(op, wide);
}

LogicalResult Carrier::run() {
  Block &body = function.getBody().front();
  auto mark = [&](TypeRange types, auto set) {
    for (auto [index, type] : llvm::enumerate(types))
      if (Type element = narrowElement(type))
        set(index, TypeAttr::get(element));
  };
  mark(function.getArgumentTypes(), [&](unsigned index, Attribute type) {
    function.setArgAttr(index, tenon::step::elementTypeAttrName, type);
  });
  mark(function.getResultTypes(), [&](unsigned index, Attribute type) {
    function.setResultAttr(index, tenon::step::elementTypeAttrName, type);
  });
  carryBlock(body, /*wide=*/false);
  function.setType(builder.getFunctionType(
      body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
  return success(ok);
}

struct CarryNarrowTypes
    : public tenon::importer::impl::CarryNarrowTypesPassBase<CarryNarrowTypes> {
  void runOnOperation() override {
    Carrier carrier(getOperation());
    if (failed(carrier.run())) {
      getOperation()->setAttr(unsupportedAttrName,
                              UnitAttr::get(&getContext()));
      return signalPassFailure();
    }
    if (carrier.count())
      remark::passed(getOperation().getLoc(),
                     remark::RemarkOpts::name("carried")
                         .category("import-carry-narrow-types")
                         .function(getOperation().getSymName()))
          << remark::add("{0} operations on narrow elements carried in bytes",
                         carrier.count());
  }
};

} // namespace
