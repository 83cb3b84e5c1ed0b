//===- Parts.h - What a rank has of a tensor ------------------------------===//
//
// Users and files have whole tensors, each rank of a step has its part of them
// (Index.h, Cut). Between the two lie cutting and joining; ranks that differ
// only in axes that do not cut the tensor have the same part.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FORMAT_PARTS_H
#define TENON_FORMAT_PARTS_H

#include "tenon/Format/Index.h"

#include <cstddef>
#include <functional>
#include <span>

namespace tenon::format {

/// A rank's part as a tensor of its own, which nothing cuts.
Tensor partOf(const Tensor &tensor);

/// Copies what `rank` has of `whole` to `part`, as long as partOf() says, with
/// zeros behind the last elements of the tensor.
void cutPart(const Tensor &tensor, int64_t rank,
             std::span<const std::byte> whole, std::span<std::byte> part);

/// As cutPart(), of a whole tensor that lies elsewhere: `read` fills memory
/// with its bytes from an offset on. Is asked for little more than the part
/// takes. False if `read` is.
bool readPart(
    const Tensor &tensor, int64_t rank,
    const std::function<bool(uint64_t from, std::span<std::byte> into)> &read,
    std::span<std::byte> part);

/// Puts zeros behind the last elements of the tensor.
void clearTail(const Tensor &tensor, int64_t rank, std::span<std::byte> part);

/// The inverse: puts the part of `rank` into its place of `whole`.
void joinPart(const Tensor &tensor, int64_t rank,
              std::span<const std::byte> part, std::span<std::byte> whole);

/// Whether `whole` has the bytes of the part of `rank` in its place.
bool hasPart(const Tensor &tensor, int64_t rank,
             std::span<const std::byte> part, std::span<const std::byte> whole);

/// The first rank that has the same part.
int64_t firstHolder(const Tensor &tensor, int64_t rank);

/// Empty if the tensor can be cut so for this many ranks, otherwise why not.
std::string whyNotCut(const Tensor &tensor, int64_t ranks);

} // namespace tenon::format

#endif // TENON_FORMAT_PARTS_H
