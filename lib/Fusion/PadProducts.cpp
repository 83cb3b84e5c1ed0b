//===- PadProducts.cpp - Rows of products that a GPU reads in 16 bytes ----===//
//
// Tensor cores are fed in accesses of 16 bytes. For a product of 16-bit
// matrices whose rows have another length the library takes code that is
// several times slower, and a generated kernel of rows reads element by
// element. The usual case is a vocabulary of odd size: the logits have a row
// for each token.
//
// This pass makes such a dimension longer where it arises, as the last one of a
// product, and follows it: what is computed from the result element by element,
// or along other dimensions, is as long, up to products that have it as well or
// sum over it. The elements behind the end are never seen:
//
//   an operand of the first product   zeros behind the end
//   sums, maxima along the dimension  elements behind the end are replaced by
//                                     the initial value
//   products                          they are replaced by zero
//   every other reader                a slice without them
//
// Example, x an operand with 503 columns: softmax(a . x) . b becomes
//
//   s = a . pad(x)                                512 columns
//   e = exp(s - max(k < 503 ? s : -inf))
//   p = e / sum(k < 503 ? e : 0)
//   (k < 503 ? p : 0) . pad(b)
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Analysis/OperationClass.h"
#include "tenon/Analysis/OperationCount.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/BuildLoop.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace tenon::fusion {
#define GEN_PASS_DEF_PADPRODUCTSPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;
using stablehlo::DotGeneralOp;

namespace {

/// Elements that rows are made a multiple of: eight are 16 bytes, and a block
/// of threads has tiles of 64.
constexpr int64_t elementsOfAccess = 8, elementsOfRow = 64;

/// Shorter rows would grow by too much.
constexpr int64_t leastExtent = 256;

/// Where the dimensions of a dot's result come from.
struct ResultDimension {
  bool isOfLhs = false;
  int64_t dimension = 0; // of that operand
};

/// Those that are free, by the dimension of the result.
SmallVector<std::optional<ResultDimension>> freeDimensions(DotGeneralOp dot) {
  auto dims = dot.getDotDimensionNumbers();
  SmallVector<std::optional<ResultDimension>> found(
      dims.getLhsBatchingDimensions().size());
  auto add = [&](Value operand, bool isOfLhs, ArrayRef<int64_t> batching,
                 ArrayRef<int64_t> contracting) {
    for (int64_t dim = 0; dim < int64_t(shapeOf(operand).size()); ++dim)
      if (!llvm::is_contained(batching, dim) &&
          !llvm::is_contained(contracting, dim))
        found.push_back(ResultDimension{isOfLhs, dim});
  };
  add(dot.getLhs(), true, dims.getLhsBatchingDimensions(),
      dims.getLhsContractingDimensions());
  add(dot.getRhs(), false, dims.getRhsBatchingDimensions(),
      dims.getRhsContractingDimensions());
  return found;
}

bool isSplatOf(Value value, double number) {
  SplatElementsAttr splat;
  if (!matchPattern(value, m_Constant(&splat)))
    return false;
  if (auto real = dyn_cast<FloatType>(splat.getElementType()))
    return splat.getSplatValue<APFloat>().convertToDouble() == number;
  return false;
}

/// Whether more copies of the initial value change nothing.
bool mayRepeatInitialValue(stablehlo::ReduceOp reduce) {
  Block &body = reduce.getBody().front();
  if (reduce.getInputs().size() != 1 || !llvm::hasNItems(body, 2))
    return false;
  Operation &combine = body.front();
  if (isa<stablehlo::MaximumOp, stablehlo::MinimumOp>(combine))
    return true;
  return isa<stablehlo::AddOp>(combine) &&
         isSplatOf(reduce.getInitValues()[0], 0);
}

/// Makes one extent of a block's values longer, from one product on.
class Padding {
public:
  Padding(Block &block, int64_t extent)
      : block(block), extent(extent),
        padded(llvm::alignTo(extent, elementsOfRow)) {}

  /// Follows the last dimension of the dot's result.
  void run(DotGeneralOp dot);

private:
  /// A value with the longer dimension.
  struct Twin {
    Value value;
    int64_t dimension;
  };

  RankedTensorType paddedType(Value value, int64_t dimension) const {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[dimension] = padded;
    return type.clone(shape);
  }
  bool isLong(Value value, int64_t dimension) const {
    return shapeOf(value)[dimension] == extent;
  }
  static ImplicitLocOpBuilder after(Value value) {
    ImplicitLocOpBuilder builder(value.getLoc(), value.getContext());
    builder.setInsertionPointAfterValue(value);
    return builder;
  }
  const Twin *twinOf(Value value) const {
    auto found = twins.find(value);
    return found == twins.end() ? nullptr : &found->second;
  }

  /// The operation with other operands: with a longer result to follow, or with
  /// one that takes the place of the old one.
  void copyLonger(Operation *op, IRMapping &operands, int64_t dimension) {
    Value result = op->getResult(0);
    Operation *copy = after(result).clone(*op, operands);
    copy->getResult(0).setType(paddedType(result, dimension));
    twins.insert({result, Twin{copy->getResult(0), dimension}});
    worklist.push_back(result);
  }
  static void copyInPlaceOf(Operation *op, IRMapping &operands) {
    Value result = op->getResult(0);
    result.replaceAllUsesWith(after(result).clone(*op, operands)->getResult(0));
  }
  /// Fills in longer operands in place of all that are no scalars; false if one
  /// may not be made longer.
  bool mapOperands(Operation *op, int64_t dimension, IRMapping &operands);

  void follow(Operation *user, Value value);
  bool followPointwise(Operation *op);
  bool followReduce(stablehlo::ReduceOp op, const Twin &twin);
  bool followView(Operation *op, const Twin &twin);
  bool followDot(DotGeneralOp op, Value value, const Twin &twin);
  /// Of a value that may be made as long without reading more; null if it may
  /// not.
  Value operandTwin(Value value, int64_t dimension);
  /// Zeros behind the end of a value.
  Value padOf(Value value, int64_t dimension);
  /// The twin with another value, a scalar, behind the end.
  Value masked(const Twin &twin, Value filler);
  /// With zeros there; the same for all who ask.
  Value withZeros(Value value);
  Value sliceOf(const Twin &twin, Value value);

  Block &block;
  const int64_t extent, padded;
  llvm::MapVector<Value, Twin> twins;
  llvm::DenseMap<Value, Value> zeroed;
  llvm::DenseMap<std::pair<Value, int64_t>, Value> paddings;
  llvm::DenseMap<Value, Twin> made; // operands that are made longer
  SmallVector<Value> worklist;
  llvm::SetVector<Operation *> replaced;
};

Value Padding::padOf(Value value, int64_t dimension) {
  const std::pair key(value, dimension);
  if (Value known = paddings.lookup(key))
    return known;
  // A product reads through transposes, so they stay next to it.
  if (auto transpose = value.getDefiningOp<stablehlo::TransposeOp>()) {
    Value inside =
        padOf(transpose.getOperand(), transpose.getPermutation()[dimension]);
    ImplicitLocOpBuilder builder = after(value);
    return paddings[key] = stablehlo::TransposeOp::create(
               builder, paddedType(value, dimension), inside,
               transpose.getPermutationAttr());
  }
  ImplicitLocOpBuilder builder = after(value);
  SmallVector<int64_t> none(shapeOf(value).size(), 0), high = none;
  high[dimension] = padded - extent;
  Value zero =
      stablehlo::zeros(builder, RankedTensorType::get({}, elementOf(value)));
  return paddings[key] =
             stablehlo::PadOp::create(builder, value, zero, none, high, none);
}

Value Padding::masked(const Twin &twin, Value filler) {
  ImplicitLocOpBuilder builder = after(twin.value);
  // The scalar may be computed behind the twin.
  if (Operation *from = filler.getDefiningOp();
      from && from->getBlock() == &block &&
      twin.value.getDefiningOp()->isBeforeInBlock(from))
    builder.setInsertionPointAfter(from);
  auto type = cast<RankedTensorType>(twin.value.getType());
  auto counted = type.clone(builder.getI32Type());
  Value position =
      stablehlo::IotaOp::create(builder, counted, uint64_t(twin.dimension));
  Value end = stablehlo::ConstantOp::create(
      builder, DenseElementsAttr::get(
                   counted, builder.getI32IntegerAttr(int32_t(extent))));
  Value isThere = stablehlo::CompareOp::create(
      builder, position, end, stablehlo::ComparisonDirection::LT,
      stablehlo::ComparisonType::SIGNED);
  Value fill = stablehlo::BroadcastInDimOp::create(
      builder, type, filler, builder.getDenseI64ArrayAttr({}));
  return stablehlo::SelectOp::create(builder, type, isThere, twin.value, fill);
}

Value Padding::withZeros(Value value) {
  Value &known = zeroed[value];
  if (!known) {
    const Twin &twin = *twinOf(value);
    ImplicitLocOpBuilder builder = after(twin.value);
    known = masked(twin, stablehlo::zeros(builder, RankedTensorType::get(
                                                       {}, elementOf(value))));
  }
  return known;
}

Value Padding::sliceOf(const Twin &twin, Value value) {
  ImplicitLocOpBuilder builder = after(twin.value);
  ArrayRef<int64_t> limits = shapeOf(value);
  SmallVector<int64_t> starts(limits.size(), 0), strides(limits.size(), 1);
  return stablehlo::SliceOp::create(builder, twin.value, starts, limits,
                                    strides);
}

Value Padding::operandTwin(Value value, int64_t dimension) {
  if (const Twin *twin = twinOf(value))
    return twin->dimension == dimension ? twin->value : Value();
  if (auto known = made.find(value); known != made.end())
    return known->second.dimension == dimension ? known->second.value : Value();
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumResults() != 1 || !isLong(value, dimension))
    return nullptr;
  IRMapping operands;
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!splat)
      return nullptr;
    ImplicitLocOpBuilder builder = after(value);
    Value longer = stablehlo::ConstantOp::create(
        builder,
        cast<ElementsAttr>(splat.resizeSplat(paddedType(value, dimension))));
    made.insert({value, Twin{longer, dimension}});
    return longer;
  }
  if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op)) {
    for (auto [from, to] : llvm::enumerate(broadcast.getBroadcastDimensions()))
      if (to == dimension && isLong(broadcast.getOperand(), int64_t(from)))
        operands.map(broadcast.getOperand(),
                     padOf(broadcast.getOperand(), int64_t(from)));
  } else if (!isa<stablehlo::IotaOp>(op)) {
    if (classify(op) != OperationClass::pointwise ||
        !isa<stablehlo::StableHLODialect>(op->getDialect()))
      return nullptr;
    if (!mapOperands(op, dimension, operands))
      return nullptr;
  }
  ImplicitLocOpBuilder builder = after(value);
  Operation *copy = builder.clone(*op, operands);
  copy->getResult(0).setType(paddedType(value, dimension));
  made.insert({value, Twin{copy->getResult(0), dimension}});
  return copy->getResult(0);
}

bool Padding::mapOperands(Operation *op, int64_t dimension,
                          IRMapping &operands) {
  for (Value operand : op->getOperands()) {
    if (shapeOf(operand).empty())
      continue;
    Value twin = operandTwin(operand, dimension);
    if (!twin)
      return false;
    operands.map(operand, twin);
  }
  return true;
}

bool Padding::followPointwise(Operation *op) {
  // What depends on the place of an element would change with the shape.
  if (!isa<stablehlo::StableHLODialect>(op->getDialect()) ||
      op->getNumResults() != 1)
    return false;
  std::optional<int64_t> dimension;
  for (Value operand : op->getOperands())
    if (const Twin *twin = twinOf(operand)) {
      if (dimension && *dimension != twin->dimension)
        return false;
      dimension = twin->dimension;
    }
  IRMapping operands;
  if (!mapOperands(op, *dimension, operands))
    return false;
  copyLonger(op, operands, *dimension);
  return true;
}

bool Padding::followReduce(stablehlo::ReduceOp op, const Twin &twin) {
  if (op.getInputs().size() != 1)
    return false;
  const bool isAlong = llvm::is_contained(op.getDimensions(), twin.dimension);
  if (isAlong && !mayRepeatInitialValue(op))
    return false;
  IRMapping operands;
  operands.map(op.getInputs()[0],
               isAlong ? masked(twin, op.getInitValues()[0]) : twin.value);
  if (isAlong) {
    copyInPlaceOf(op, operands);
    return true;
  }
  const int64_t dimension =
      twin.dimension - llvm::count_if(op.getDimensions(), [&](int64_t dim) {
        return dim < twin.dimension;
      });
  copyLonger(op, operands, dimension);
  return true;
}

/// Transposes, and reshapes that keep the last dimension.
bool Padding::followView(Operation *op, const Twin &twin) {
  Value result = op->getResult(0);
  std::optional<int64_t> dimension;
  if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op)) {
    auto found = llvm::find(transpose.getPermutation(), twin.dimension);
    dimension = found - transpose.getPermutation().begin();
  } else {
    const auto last = int64_t(shapeOf(op->getOperand(0)).size()) - 1;
    if (twin.dimension == last && !shapeOf(result).empty() &&
        shapeOf(result).back() == extent)
      dimension = int64_t(shapeOf(result).size()) - 1;
  }
  if (!dimension)
    return false;
  IRMapping operands;
  operands.map(op->getOperand(0), twin.value);
  copyLonger(op, operands, *dimension);
  return true;
}

bool Padding::followDot(DotGeneralOp op, Value value, const Twin &twin) {
  if (op.getLhs() == op.getRhs())
    return false;
  const bool isLhs = op.getLhs() == value;
  Value other = isLhs ? op.getRhs() : op.getLhs();
  auto dims = op.getDotDimensionNumbers();
  ArrayRef<int64_t> own = isLhs ? dims.getLhsContractingDimensions()
                                : dims.getRhsContractingDimensions(),
                    others = isLhs ? dims.getRhsContractingDimensions()
                                   : dims.getLhsContractingDimensions();
  IRMapping operands;
  if (auto along = llvm::find(own, twin.dimension); along != own.end()) {
    const int64_t there = others[along - own.begin()];
    const Twin *otherTwin = twinOf(other);
    if (otherTwin && otherTwin->dimension != there)
      return false;
    operands.map(value, withZeros(value));
    operands.map(other, otherTwin ? withZeros(other) : padOf(other, there));
    copyInPlaceOf(op, operands);
    return true;
  }
  for (auto [dimension, from] : llvm::enumerate(freeDimensions(op)))
    if (from && from->isOfLhs == isLhs && from->dimension == twin.dimension &&
        !twinOf(other)) {
      // The tensor that products along the dimension read, too.
      operands.map(value, withZeros(value));
      copyLonger(op, operands, int64_t(dimension));
      return true;
    }
  return false;
}

void Padding::follow(Operation *user, Value value) {
  if (user->getBlock() != &block || replaced.contains(user))
    return;
  const Twin twin = *twinOf(value);
  bool isFollowed = false;
  if (auto reduce = dyn_cast<stablehlo::ReduceOp>(user))
    isFollowed = reduce.getInputs()[0] == value && followReduce(reduce, twin);
  else if (auto dot = dyn_cast<DotGeneralOp>(user))
    isFollowed = followDot(dot, value, twin);
  else if (isa<stablehlo::TransposeOp, stablehlo::ReshapeOp>(user))
    isFollowed = followView(user, twin);
  else if (classify(user) == OperationClass::pointwise)
    isFollowed = followPointwise(user);
  if (isFollowed)
    replaced.insert(user);
}

void Padding::run(DotGeneralOp dot) {
  auto dimensions = freeDimensions(dot);
  const ResultDimension from = *dimensions.back();
  Value operand = from.isOfLhs ? dot.getLhs() : dot.getRhs();
  IRMapping operands;
  operands.map(operand, padOf(operand, from.dimension));
  copyLonger(dot, operands, int64_t(dimensions.size()) - 1);
  replaced.insert(dot);
  for (size_t next = 0; next < worklist.size(); ++next) {
    Value value = worklist[next];
    for (Operation *user : llvm::to_vector(value.getUsers()))
      follow(user, value);
  }
  // Whoever could not follow.
  for (auto &[value, twin] : twins) {
    auto stays = [&](OpOperand &use) {
      return !replaced.contains(use.getOwner());
    };
    if (llvm::any_of(value.getUses(), stays))
      value.replaceUsesWithIf(sliceOf(twin, value), stays);
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

struct PadProducts : public fusion::impl::PadProductsPassBase<PadProducts> {
  using PadProductsPassBase::PadProductsPassBase;
  PadProducts(fusion::PadProductsPassOptions options,
              const target::Target &machine)
      : PadProductsPassBase(std::move(options)), machine(machine) {}

  void runOnOperation() override {
    // A product that was padded has a row that needs none.
    while (DotGeneralOp dot = next()) {
      ArrayRef<int64_t> shape = shapeOf(dot.getResult());
      remark::passed(dot.getLoc(), remark::RemarkOpts::name("Padded").category(
                                       "fusion-pad-products"))
          << remark::add("rows of {0} elements get {1}", shape.back(),
                         llvm::alignTo(shape.back(), elementsOfRow));
      Padding(*dot->getBlock(), shape.back()).run(dot);
    }
  }

private:
  DotGeneralOp next() {
    DotGeneralOp found;
    getOperation().walk([&](DotGeneralOp dot) {
      if (!isWorthIt(dot))
        return WalkResult::advance();
      found = dot;
      return WalkResult::interrupt();
    });
    return found;
  }
  bool isWorthIt(DotGeneralOp dot) const;

  target::Target machine = target::builtInTarget();
};

bool PadProducts::isWorthIt(DotGeneralOp dot) const {
  Type element = elementOf(dot.getLhs());
  auto dimensions = freeDimensions(dot);
  if (!stablehlo::isFloatOf16Bits(element) || dimensions.empty() ||
      !dimensions.back())
    return false;
  const int64_t extent = shapeOf(dot.getResult()).back();
  if (extent < leastExtent || extent % elementsOfAccess == 0)
    return false;
  if (always)
    return true;
  // What is gained by this product alone, and what reading all of it through a
  // slice and padding the operand would take.
  Value operand = dimensions.back()->isOfLhs ? dot.getLhs() : dot.getRhs();
  const double rate =
      machine.computeRate(ElementType::bf16).allCores * machine.shares.library;
  const double gained =
      contractionFlops(dot) / rate * (1 / machine.shares.unaligned - 1);
  const double copied =
      2.0 *
      double(storedBytes(operand.getType()) + storedBytes(dot.getType())) /
      machine.memory.copy.allCores;
  return gained > copied;
}

} // namespace

std::unique_ptr<Pass>
fusion::createPadProductsPass(PadProductsPassOptions options,
                              const target::Target &machine) {
  return std::make_unique<PadProducts>(std::move(options), machine);
}
