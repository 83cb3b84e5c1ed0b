//===- CallOverhead.h - What a product does once per call -----------------===//
//
// All rows of a product meet the right operand. A call copies it, or brings it
// into the first level of a cache, before rows meet it, and this takes as long
// for few rows as for many. So a product that is cut into calls of fewer rows
// does it more often.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIBRARIES_CALLOVERHEAD_H
#define TENON_LIBRARIES_CALLOVERHEAD_H

#include "tenon/Libraries/Matmul.h"
#include "tenon/Target/InstructionSets.h"

namespace tenon::libraries {

/// Bytes of the right operand that a piece of the call reads for its first
/// rows, and those that it writes to copy them. Of the largest piece, in the
/// type that is multiplied: what is widened takes beyond that stands in
/// WidenedProducts.h.
int64_t bytesMetByRows(const MatmulDescription &description, target::Isa isa);

} // namespace tenon::libraries

#endif // TENON_LIBRARIES_CALLOVERHEAD_H
