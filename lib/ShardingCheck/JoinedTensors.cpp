//===- JoinedTensors.cpp - Tensors that were joined for a collective ------===//
//
// Tensors that are joined to one for a collective and cut again: which elements
// hold what.
//
//===----------------------------------------------------------------------===//

#include "PartitionChecker.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::shardingcheck;

void PartitionChecker::visitJoined(Operation *op) {
  if (op->getNumResults() != 1 ||
      !isa<RankedTensorType>(op->getResult(0).getType()))
    return;
  Value result = op->getResult(0);
  Pieces pieces;
  if (isa<stablehlo::ReshapeOp>(op)) {
    if (auto own = ownSums.find(op->getOperand(0)); own != ownSums.end()) {
      Exchange copy = own->second;
      ownSums[result] = std::move(copy);
    }
    // What has no place in the new shape may have one again later.
    if (joined.contains(op->getOperand(0)) ||
        known.lookup(op->getOperand(0)).size() != known.lookup(result).size())
      setPieces(result, piecesOf(op->getOperand(0)));
    return;
  }
  if (shapeOf(result).size() != 1)
    return;
  if (isa<stablehlo::ConcatenateOp>(op)) {
    int64_t begin = 0;
    for (Value operand : op->getOperands()) {
      for (Piece &piece : piecesOf(operand)) {
        piece.begin += begin;
        pieces.push_back(std::move(piece));
      }
      begin += elementCount(shapeOf(operand));
    }
  } else if (auto pad = dyn_cast<stablehlo::PadOp>(op)) {
    if (pad.getEdgePaddingLow()[0] == 0 && pad.getEdgePaddingHigh()[0] >= 0 &&
        pad.getInteriorPadding()[0] == 0)
      pieces = piecesOf(op->getOperand(0));
  } else if (auto slice = dyn_cast<stablehlo::SliceOp>(op)) {
    if (slice.getStrides()[0] == 1 && joined.contains(op->getOperand(0)))
      pieces =
          slicedPieces(piecesOf(op->getOperand(0)), slice.getStartIndices()[0],
                       slice.getStartIndices()[0] + shapeOf(result)[0]);
  }
  setPieces(result, std::move(pieces));
}

Pieces PartitionChecker::piecesOf(Value value) {
  if (auto found = joined.find(value); found != joined.end())
    return found->second;
  Piece all{0, elementCount(shapeOf(value)), {}};
  if (auto stored = known.find(value); stored != known.end())
    for (const Holding &held : stored->second)
      if (auto row = reshaped(held, {all.count}))
        all.held.push_back(std::move(*row));
  return all.held.empty() ? Pieces() : Pieces{std::move(all)};
}

void PartitionChecker::setPieces(Value value, Pieces pieces) {
  if (pieces.empty())
    return;
  if (pieces.size() == 1 && pieces[0].begin == 0 &&
      pieces[0].count == elementCount(shapeOf(value)))
    for (const Holding &held : pieces[0].held)
      if (auto placed = reshaped(held, shapeOf(value)))
        addIfNew(value, std::move(*placed));
  joined[value] = std::move(pieces);
}

Pieces PartitionChecker::slicedPieces(const Pieces &pieces, int64_t begin,
                                      int64_t end) {
  Pieces cut;
  for (const Piece &piece : pieces) {
    const int64_t from = std::max(begin, piece.begin);
    const int64_t to = std::min(end, piece.begin + piece.count);
    if (from >= to)
      continue;
    Piece part{from - begin, to - from, {}};
    for (const Holding &held : piece.held)
      if (auto result = sliced(held, PerDevice(devices, from - piece.begin),
                               {part.count}, {1}))
        part.held.push_back(std::move(*result));
    cut.push_back(std::move(part));
  }
  return cut;
}

Pieces PartitionChecker::reducedPieces(Pieces pieces, const Groups &groups,
                                       Combine combine) {
  for (Piece &piece : pieces) {
    Holdings results;
    for (const Holding &held : piece.held)
      if (auto result = reduced(held, groups, combine))
        results.push_back(std::move(*result));
    piece.held = std::move(results);
  }
  return pieces;
}
