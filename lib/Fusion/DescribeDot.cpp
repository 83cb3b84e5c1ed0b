//===- DescribeDot.cpp - A dot_general as a matrix multiplication --------===//
//
// Sorts the dimensions of a dot_general into batch, rows, columns and the
// contracted ones, merges neighbours that lie in memory as one, and puts what
// does not merge into batch dimensions with stride 0 on the other side:
//
//   [B, T, H, D] x [B, S, H, D], batch B and H, contracting D
//     batch  B (strides T·H·D, S·H·D), H (strides D, D)
//     m = T (stride H·D), n = S (stride H·D), k = D (strides 1)
//
// Where rows or columns consist of several loops the largest becomes m or n, so
// that few large products are formed rather than many small ones. An operand is
// read through the transposes in front of it unless its contracted dimensions
// lie in memory as one only behind them. A right operand that was packed
// (PackedWeights.h) is read as it is.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/LibraryCandidates.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Fusion/NarrowConversions.h"
#include "tenon/Fusion/PackedWeights.h"
#include "tenon/Fusion/StridedView.h"

#include <tuple>

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;
using libraries::MatmulDescription;

namespace {

/// One loop of the product: its extent and how far each tensor moves along it.
struct Loop {
  int64_t size, lhs, rhs, result;
};

/// Drops loops of extent 1 and merges neighbours (outer first) that move every
/// tensor as one longer loop would.
SmallVector<Loop> mergeLoops(ArrayRef<Loop> loops) {
  SmallVector<Loop> merged;
  for (const Loop &loop : loops) {
    if (loop.size == 1)
      continue;
    if (!merged.empty()) {
      Loop &outer = merged.back();
      if (outer.lhs == loop.lhs * loop.size &&
          outer.rhs == loop.rhs * loop.size &&
          outer.result == loop.result * loop.size) {
        outer = {outer.size * loop.size, loop.lhs, loop.rhs, loop.result};
        continue;
      }
    }
    merged.push_back(loop);
  }
  return merged;
}

/// The loops of a product by what they do.
struct Loops {
  SmallVector<Loop> batch, rows, columns, contracted;
};

/// The loops of a dot whose operands are read as `lhs` and `rhs`, neighbours
/// merged; contracted ones in the order in which they lie in the left operand.
Loops loopsOf(stablehlo::DotGeneralOp dot, const StridedView &lhs,
              const StridedView &rhs, ArrayRef<int64_t> resultStrides) {
  auto dims = dot.getDotDimensionNumbers();
  SmallVector<bool> lhsUsed(lhs.shape.size()), rhsUsed(rhs.shape.size());
  Loops loops;
  int64_t next = 0; // dimension of the result
  for (auto [l, r] : llvm::zip_equal(dims.getLhsBatchingDimensions(),
                                     dims.getRhsBatchingDimensions())) {
    lhsUsed[l] = rhsUsed[r] = true;
    loops.batch.push_back(
        {lhs.shape[l], lhs.strides[l], rhs.strides[r], resultStrides[next++]});
  }
  for (auto [l, r] : llvm::zip_equal(dims.getLhsContractingDimensions(),
                                     dims.getRhsContractingDimensions())) {
    lhsUsed[l] = rhsUsed[r] = true;
    loops.contracted.push_back(
        {lhs.shape[l], lhs.strides[l], rhs.strides[r], 0});
  }
  for (size_t l = 0; l < lhs.shape.size(); ++l)
    if (!lhsUsed[l])
      loops.rows.push_back(
          {lhs.shape[l], lhs.strides[l], 0, resultStrides[next++]});
  for (size_t r = 0; r < rhs.shape.size(); ++r)
    if (!rhsUsed[r])
      loops.columns.push_back(
          {rhs.shape[r], 0, rhs.strides[r], resultStrides[next++]});
  llvm::sort(loops.contracted, [](const Loop &a, const Loop &b) {
    return std::tie(b.lhs, b.rhs, b.size) < std::tie(a.lhs, a.rhs, a.size);
  });
  loops.contracted = mergeLoops(loops.contracted);
  loops.rows = mergeLoops(loops.rows);
  loops.columns = mergeLoops(loops.columns);
  return loops;
}

/// Moves all loops but one to `batch` and returns that one (extent 1 if there
/// is none).
Loop takeLoop(ArrayRef<Loop> loops, size_t chosen, SmallVector<Loop> &batch) {
  Loop taken = {1, 0, 0, 0};
  for (auto [index, loop] : llvm::enumerate(loops))
    if (index == chosen)
      taken = loop;
    else
      batch.push_back(loop);
  return taken;
}

/// Which of the rows and which of the columns make the products: the largest
/// of those the library can run, innermost ones first.
std::pair<size_t, size_t> chooseProduct(const Loops &loops) {
  bool denseSums = loops.contracted.empty();
  bool lhsDense = denseSums || loops.contracted.front().lhs == 1;
  bool rhsDense = denseSums || loops.contracted.front().rhs == 1;
  std::pair<size_t, size_t> best = {0, 0};
  int64_t bestSize = -1;
  // At least once each: there may be no loop.
  size_t rowChoices = std::max<size_t>(loops.rows.size(), 1);
  size_t columnChoices = std::max<size_t>(loops.columns.size(), 1);
  for (size_t m = rowChoices; m-- > 0;)
    for (size_t n = columnChoices; n-- > 0;) {
      Loop row = loops.rows.empty() ? Loop{1, 1, 0, 1} : loops.rows[m];
      Loop column = loops.columns.empty() ? Loop{1, 0, 1, 1} : loops.columns[n];
      bool runs = (lhsDense || row.lhs == 1) && (rhsDense || column.rhs == 1) &&
                  (row.result == 1 || column.result == 1);
      int64_t size = runs ? row.size * column.size : 0;
      if (size > bestSize) {
        best = {m, n};
        bestSize = size;
      }
    }
  return best;
}

/// The conversion from f32 to 16 bits that alone reads the result; null if
/// there is none.
Operation *roundingOf(Operation *op) {
  auto convert = op->hasOneUse()
                     ? dyn_cast<stablehlo::ConvertOp>(*op->user_begin())
                     : nullptr;
  return convert && convert->getBlock() == op->getBlock() && rounds(convert)
             ? convert.getOperation()
             : nullptr;
}

} // namespace

std::optional<LibraryCandidate>
fusion::describeDot(Operation *op, DotSurroundings surroundings,
                    std::string &whyNot) {
  auto dot = cast<stablehlo::DotGeneralOp>(op);
  if (dot.getAlgorithm()) {
    whyNot = "an algorithm, which import writes as plain dots";
    return std::nullopt;
  }
  StridedView lhs, rhs;

  // Where each dimension of the dot's result goes in memory.
  Value result = dot.getResult();
  auto resultType = cast<RankedTensorType>(result.getType());
  SmallVector<int64_t> resultStrides = rowMajorStrides(resultType.getShape());
  LibraryCandidate candidate;
  // What reads the result alone, in its order.
  SmallVector<Operation *> behind;
  auto last = [&] { return behind.empty() ? op : behind.back(); };
  auto takeRounding = [&] {
    Operation *rounding =
        surroundings.conversions ? roundingOf(last()) : nullptr;
    if (rounding)
      behind.push_back(rounding);
  };
  takeRounding();
  if (surroundings.transpose) {
    Value read = last()->getResult(0);
    auto transpose =
        read.hasOneUse()
            ? dyn_cast<stablehlo::TransposeOp>(*read.getUsers().begin())
            : nullptr;
    if (!transpose) {
      whyNot = "the result is not read by one transpose alone";
      return std::nullopt;
    }
    behind.push_back(transpose);
    SmallVector<int64_t> stored =
        rowMajorStrides(cast<RankedTensorType>(transpose.getType()).getShape());
    for (auto [to, from] : llvm::enumerate(transpose.getPermutation()))
      resultStrides[from] = stored[to];
    takeRounding();
  }

  Loops loops;
  auto contractsAsOne = [&](StridedView left, StridedView right) {
    loops = loopsOf(dot, left, right, resultStrides);
    lhs = std::move(left);
    rhs = std::move(right);
    return loops.contracted.size() <= 1;
  };
  StridedView lhsThrough =
                  stridedView(dot, dot.getLhs(), surroundings.conversions),
              rhsThrough =
                  stridedView(dot, dot.getRhs(), surroundings.conversions);
  if (!contractsAsOne(lhsThrough, rhsThrough) &&
      !contractsAsOne(lhsThrough, plainView(dot.getRhs())) &&
      !contractsAsOne(plainView(dot.getLhs()), rhsThrough) &&
      !contractsAsOne(plainView(dot.getLhs()), plainView(dot.getRhs()))) {
    whyNot = "the contracted dimensions do not lie in memory as one";
    return std::nullopt;
  }
  const auto unpacked = Unpacked::of(dot.getRhs(), dot);
  if (unpacked) {
    rhs.source = unpacked->packed;
    rhs.operations = {unpacked->transpose, unpacked->reshape};
  }
  auto [chosenRow, chosenColumn] = chooseProduct(loops);
  SmallVector<Loop> batch = loops.batch;
  Loop m = takeLoop(loops.rows, chosenRow, batch);
  Loop n = takeLoop(loops.columns, chosenColumn, batch);
  Loop k =
      loops.contracted.empty() ? Loop{1, 0, 0, 0} : loops.contracted.front();
  batch = mergeLoops(batch);
  if (batch.size() > 4) {
    whyNot = "more than four batch dimensions";
    return std::nullopt;
  }

  auto lhsType = elementTypeOf(getElementTypeOrSelf(lhs.source)),
       rhsType = elementTypeOf(getElementTypeOrSelf(rhs.source)),
       type = elementTypeOf(getElementTypeOrSelf(last()->getResult(0)));
  if (!lhsType || !rhsType || !type) {
    whyNot = "an element type the library does not know";
    return std::nullopt;
  }

  // The library writes rows; a result that lies in memory by columns is the
  // product of the transposed operands.
  bool swapped = n.size != 1 && n.result != 1 && (m.result == 1 || m.size == 1);
  if (unpacked && (swapped || n.rhs != 1)) {
    whyNot = "only the right operand of rows can be packed";
    return std::nullopt;
  }
  if (swapped) {
    std::swap(m, n);
    std::swap(m.lhs, m.rhs);
    std::swap(n.lhs, n.rhs);
    std::swap(k.lhs, k.rhs);
    for (Loop &loop : batch)
      std::swap(loop.lhs, loop.rhs);
    std::swap(lhsType, rhsType);
  }

  // A loop of extent 1 moves nothing; strides that look like a dense matrix
  // spare the library a special case.
  MatmulDescription description;
  description.lhsType = *lhsType;
  description.rhsType = *rhsType;
  description.resultType = *type;
  description.m = m.size;
  description.n = n.size;
  description.k = k.size;
  description.lhsStrideM = m.size == 1 ? (k.lhs == 1 ? k.size : 1) : m.lhs;
  description.lhsStrideK = k.size == 1 ? (m.lhs == 1 ? m.size : 1) : k.lhs;
  description.rhsStrideK = k.size == 1 ? (n.rhs == 1 ? n.size : 1) : k.rhs;
  description.rhsStrideN = n.size == 1 ? (k.rhs == 1 ? k.size : 1) : n.rhs;
  description.resultStrideN = n.size == 1 ? 1 : n.result;
  description.resultStrideM = m.size == 1 ? n.size : m.result;
  for (const Loop &loop : batch)
    description.batch.push_back({loop.size, loop.lhs, loop.rhs, loop.result});

  candidate.operations.append(lhs.operations);
  for (Operation *through : rhs.operations)
    if (!llvm::is_contained(candidate.operations, through))
      candidate.operations.push_back(through);
  candidate.operations.push_back(op);
  candidate.operations.append(behind);
  candidate.operands = {lhs.source, rhs.source};
  if (swapped)
    std::swap(candidate.operands[0], candidate.operands[1]);
  if (unpacked)
    candidate.description = libraries::PackedMatmulDescription(description);
  else
    candidate.description = std::move(description);
  return candidate;
}
