//===- Holding.h - How stored tensors hold a tensor ----------------------===//
//
// Users read and write logical tensors, programs work on stored ones. A rule
// says how one becomes the other; Holding.cpp has one entry per rule. A rule
// rebuilds the tensor exactly, except that a conversion to a narrower type
// rounds what is written.
//
//   rule           stored tensors
//   as_it_is       one, the same bytes
//   converted      one of another float type, rounded to nearest, ties to even
//   laid_out       one whose dimension i is the tensor's dimension order[i]
//   padded         one with larger extents, zero behind the tensor's elements
//   high_and_low   two of an f32 tensor: its bf16, rounded to nearest and from
//                  zero where two are as near, and the i16 by which the bits of
//                  the f32 differ from those of that bf16 with 16 zeros behind
//
// The two parts give all bits back, those of infinities and NaN as well. The
// high part of the largest finite numbers is infinite, as the nearest bf16 is,
// and that of the NaN that arithmetic makes is a NaN.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FORMAT_HOLDING_H
#define TENON_FORMAT_HOLDING_H

#include "tenon/Format/Index.h"

#include <cstddef>
#include <span>

namespace tenon::format {

/// Empty if the storages, all of them the index's, can hold the tensor so,
/// otherwise why not.
std::string whyNotHeld(const Index &index, const Tensor &tensor,
                       const Holding &holding);

/// What users are told of a valid holding: `converted to bf16`.
std::string describe(const Index &index, const Holding &holding);

/// The bytes of each storage of a holding, in order.
using StoredBytes = std::span<const std::span<std::byte>>;

/// Between the tensor's bytes and those of what holds it; all are as long as
/// their type and shape say.
void readHeld(const Index &index, const Tensor &tensor, const Holding &holding,
              StoredBytes stored, std::span<std::byte> into);
void writeHeld(const Index &index, const Tensor &tensor, const Holding &holding,
               std::span<const std::byte> from, StoredBytes stored);

} // namespace tenon::format

#endif // TENON_FORMAT_HOLDING_H
