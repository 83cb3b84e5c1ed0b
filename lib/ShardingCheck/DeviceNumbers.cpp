//===- DeviceNumbers.cpp - Integers that depend on the device -------------===//
//
// Integers that the number of the device and places alone decide are known
// exactly. They are the starts of shards, and comparisons with them are masks.
//
//===----------------------------------------------------------------------===//

#include "Identities.h"
#include "PartitionChecker.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::shardingcheck;

void PartitionChecker::visitNumbers(Operation *op) {
  if (op->getNumResults() != 1 ||
      !isa<RankedTensorType>(op->getResult(0).getType()))
    return;
  Value result = op->getResult(0);
  ArrayRef<int64_t> shape = shapeOf(result);
  Holding number = anything({}, {0}, shape, devices);
  PerDevice base(devices, 0);
  if (isa<stablehlo::PartitionIdOp>(op)) {
    for (int64_t device = 0; device < devices; ++device)
      base[device] = device;
  } else if (auto iota = dyn_cast<stablehlo::IotaOp>(op)) {
    Digits &digits = number.dims[iota.getIotaDimension()];
    for (Digit &digit : digits)
      digit = {digit.size, 0, 1};
  } else if (isa<stablehlo::ConstantOp>(op)) {
    auto element = dyn_cast_if_present<IntegerAttr>(splatOf(result));
    if (!element || element.getType().isInteger(1) ||
        element.getValue().getBitWidth() > 64)
      return;
    base.assign(devices, elementOf(result).isUnsignedInteger()
                             ? int64_t(element.getValue().getZExtValue())
                             : element.getValue().getSExtValue());
  } else {
    SmallVector<const Holding *> inputs;
    for (Value operand : op->getOperands()) {
      auto found = numbers.find(operand);
      if (found == numbers.end())
        return;
      inputs.push_back(&found->second);
    }
    if (inputs.empty())
      return;
    if (isView(op) || isa<stablehlo::DynamicSliceOp>(op) || movesOnly(op)) {
      // There is no outside among all numbers.
      Holding held = *inputs[0];
      auto moves = movesOnly(op) ? movedBetween(op, held) : moved(op, held);
      if (moves)
        setNumber(result, std::move(*moves));
      return;
    }
    if (isa<stablehlo::ConvertOp>(op)) {
      setNumber(result, Holding(*inputs[0]));
      return;
    }
    if (inputs.size() != 2)
      return;
    const Holding &a = *inputs[0], &b = *inputs[1];
    for (int64_t device = 0; device < devices; ++device) {
      int64_t x = (*a.base[0])[device], y = (*b.base[0])[device];
      if (isa<stablehlo::AddOp>(op))
        base[device] = x + y;
      else if (isa<stablehlo::SubtractOp>(op))
        base[device] = x - y;
      else if (isa<stablehlo::MultiplyOp>(op) && std::abs(x) < (1ll << 31) &&
               std::abs(y) < (1ll << 31))
        base[device] = x * y;
      else if (isa<stablehlo::MaximumOp>(op))
        base[device] = std::max(x, y);
      else if (isa<stablehlo::MinimumOp>(op))
        base[device] = std::min(x, y);
      else if (isa<stablehlo::DivideOp>(op) && x >= 0 && y > 0)
        base[device] = x / y;
      else if (isa<stablehlo::RemainderOp>(op) && x >= 0 && y > 0)
        base[device] = x % y;
      else
        return;
    }
    if (!isa<IntegerType>(elementOf(result)) &&
        !isa<stablehlo::AddOp, stablehlo::SubtractOp>(op))
      return;
    if (!isUniform(b))
      return;
    if (!isUniform(a) && !isa<stablehlo::AddOp, stablehlo::SubtractOp>(op))
      return;
    number.dims = a.dims;
  }
  number.base[0] = std::move(base);
  setNumber(result, std::move(number));
}

void PartitionChecker::setNumber(Value value, Holding number) {
  PerDevice ends = *number.base[0];
  for (const Digits &digits : number.dims)
    for (const Digit &digit : digits)
      for (int64_t &end : ends)
        end += (digit.size - 1) * digit.step;
  if (fits(*number.base[0], elementOf(value)) && fits(ends, elementOf(value)))
    numbers[value] = std::move(number);
}

std::optional<PerDevice> PartitionChecker::scalarOf(Value value) {
  auto found = numbers.find(value);
  if (found == numbers.end() || !isUniform(found->second))
    return std::nullopt;
  return *found->second.base[0];
}

bool PartitionChecker::isUniform(const Holding &number) {
  return llvm::all_of(number.dims, [](const Digits &digits) {
    return llvm::all_of(digits, [](const Digit &d) { return d.of == repeats; });
  });
}

bool PartitionChecker::fits(ArrayRef<int64_t> values, Type type) {
  int64_t least = 0, most = 0;
  if (auto integer = dyn_cast<IntegerType>(type)) {
    unsigned width = std::min(integer.getWidth(), 62u);
    if (width < 2)
      return false;
    most = integer.isUnsigned() ? (int64_t(1) << width) - 1
                                : (int64_t(1) << (width - 1)) - 1;
    least = integer.isUnsigned() ? 0 : -most - 1;
  } else if (auto floating = dyn_cast<FloatType>(type)) {
    unsigned precision = std::min(floating.getFPMantissaWidth(), 53u);
    most = int64_t(1) << precision;
    if (floating.getWidth() < 16)
      return false;
    least = -most;
  }
  return most > 0 && llvm::all_of(values, [&](int64_t value) {
           return value >= least && value <= most;
         });
}

void PartitionChecker::visitSelect(stablehlo::SelectOp select) {
  visitMaskedGather(select);
  unsigned identities = identitiesOf(splatOf(select.getOnFalse()));
  if (!identities)
    return;
  visitFirst(select, identities);
  Mask mask{select.getOnTrue(), 0, std::nullopt, std::nullopt, identities};
  std::optional<int64_t> dim;
  Value predicate = select.getPred();
  if (auto both = predicate.getDefiningOp<stablehlo::AndOp>()) {
    if (!addBound(both.getLhs(), dim, mask))
      return;
    predicate = both.getRhs();
  }
  if (!addBound(predicate, dim, mask))
    return;
  mask.dim = *dim;
  masks[select.getResult()] = std::move(mask);
}

void PartitionChecker::visitFirst(stablehlo::SelectOp select,
                                  unsigned identities) {
  auto compare = select.getPred().getDefiningOp<stablehlo::CompareOp>();
  auto difference = compare ? differenceOf(compare) : std::nullopt;
  if (!difference || !(identities & bitOf(Combine::sum)) ||
      compare.getLhs().getDefiningOp<stablehlo::IotaOp>() ||
      !isUniform(numbers.find(compare.getLhs())->second) ||
      compare.getComparisonDirection() != stablehlo::ComparisonDirection::EQ)
    return;
  for (int64_t &at : *difference)
    at = at == 0;
  firsts[select.getResult()] = {select.getOnTrue(), std::move(*difference)};
}

std::optional<PerDevice>
PartitionChecker::differenceOf(stablehlo::CompareOp compare) {
  auto left = numbers.find(compare.getLhs());
  auto right = numbers.find(compare.getRhs());
  if (left == numbers.end() || right == numbers.end() ||
      !isUniform(right->second))
    return std::nullopt;
  const PerDevice &least = *left->second.base[0];
  PerDevice difference = *right->second.base[0];
  for (int64_t device = 0; device < devices; ++device)
    difference[device] -= least[device];
  return difference;
}

bool PartitionChecker::addBound(Value predicate, std::optional<int64_t> &dim,
                                Mask &mask) {
  auto compare = predicate.getDefiningOp<stablehlo::CompareOp>();
  auto bound = compare ? differenceOf(compare) : std::nullopt;
  if (!bound)
    return false;
  const Holding &indices = numbers.find(compare.getLhs())->second;
  std::optional<int64_t> along;
  if (auto places = compare.getLhs().getDefiningOp<stablehlo::IotaOp>();
      places && isUniform(indices))
    along = places.getIotaDimension(); // of one element
  for (auto [at, digits] : llvm::enumerate(indices.dims))
    for (const Digit &digit : digits)
      if (digit.of != repeats) {
        if (along || digits.size() != 1 || digit.step != 1)
          return false;
        along = at;
      }
  if (!along || dim.value_or(*along) != *along)
    return false;
  dim = along;
  using stablehlo::ComparisonDirection;
  std::optional<PerDevice> *side = nullptr;
  if (compare.getComparisonDirection() == ComparisonDirection::LT)
    side = &mask.end;
  else if (compare.getComparisonDirection() == ComparisonDirection::GE)
    side = &mask.begin;
  if (!side || *side)
    return false;
  *side = std::move(*bound);
  return true;
}
