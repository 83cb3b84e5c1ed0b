//===- Softmax.cpp - The weights of attention as a softmax ----------------===//
//
// exp(S - max S) / sum exp(S - max S) along the keys.
//
//===----------------------------------------------------------------------===//

#include "Search.h"

#include "tenon/Analysis/ReductionTree.h"
#include "tenon/Analysis/Shapes.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::attention;

namespace hlo = tenon::stablehlo;

bool Search::reducesKeys(hlo::ReduceOp reduce) const {
  return reduce.getInputs().size() == 1 &&
         reduce.getDimensions() == ArrayRef<int64_t>{keyDim};
}

bool Search::sumsKeys(hlo::ReduceOp reduce) const {
  return reducesKeys(reduce) &&
         isa_and_nonnull<hlo::AddOp>(commutativeOperation(reduce.getBody())) &&
         repeats(reduce.getInitValues().front(), 0);
}

bool Search::repeatsRow(Value value, Value row) const {
  auto broadcast = value.getDefiningOp<hlo::BroadcastInDimOp>();
  if (!broadcast)
    return false;
  if (beforeReshapes(broadcast.getOperand()) != row)
    return false;
  // The row's dimensions are the scores' other than the keys.
  ArrayRef<int64_t> to = shapeOf(value);
  Labels expected, given;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != keyDim && to[dim] != 1)
      expected.push_back(dim);
  for (auto [target, extent] : llvm::zip_equal(
           broadcast.getBroadcastDimensions(), shapeOf(broadcast.getOperand())))
    if (extent != 1)
      given.push_back(target);
  return given == expected;
}

hlo::ReduceOp Search::sumAlongKeys(Value value) const {
  for (Operation *user : value.getUsers())
    if (auto reduce = dyn_cast<hlo::ReduceOp>(user))
      if (sumsKeys(reduce))
        return reduce;
  return nullptr;
}

bool Search::findSoftmax() {
  auto type = cast<RankedTensorType>(exponential.getType());
  rank = type.getRank();
  auto difference = exponential.getOperand().getDefiningOp<hlo::SubtractOp>();
  auto repeated =
      difference ? difference.getRhs().getDefiningOp<hlo::BroadcastInDimOp>()
                 : nullptr;
  if (!repeated)
    return false;
  scores = difference.getLhs();
  Value row = repeated.getOperand();
  while (auto reshape = row.getDefiningOp<hlo::ReshapeOp>()) {
    include(row);
    row = reshape.getOperand();
  }
  auto maximum = row.getDefiningOp<hlo::ReduceOp>();
  if (!maximum || maximum.getInputs().size() != 1 ||
      maximum.getInputs().front() != scores ||
      maximum.getDimensions().size() != 1 ||
      !isa_and_nonnull<hlo::MaximumOp>(commutativeOperation(maximum.getBody())))
    return false;
  keyDim = maximum.getDimensions().front();
  // Of no other number than the scores.
  std::optional<double> least = repeatedNumber(maximum.getInitValues().front());
  if (!least || *least > std::numeric_limits<float>::lowest() ||
      !repeatsRow(difference.getRhs(), maximum.getResult(0)))
    return false;
  include(maximum.getResult(0));
  include(repeated.getResult());
  include(difference.getResult());
  include(exponential.getResult());

  hlo::ReduceOp sumOp = sumAlongKeys(exponential.getResult());
  if (!sumOp)
    return false;
  sum = sumOp.getResult(0);
  include(sum);
  for (Operation *user : exponential->getUsers()) {
    auto divide = dyn_cast<hlo::DivideOp>(user);
    if (divide && divide.getLhs() == exponential.getResult() &&
        repeatsRow(divide.getRhs(), sum)) {
      weights = divide.getResult();
      sumRepeated = divide.getRhs();
    }
  }
  if (!weights)
    return false;
  include(weights);
  for (Value value = sumRepeated; value != sum;
       value = value.getDefiningOp()->getOperand(0))
    include(value);
  return true;
}
