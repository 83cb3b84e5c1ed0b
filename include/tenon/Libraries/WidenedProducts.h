//===- WidenedProducts.h - What products of f32 do for 16 bits ------------===//
//
// A product that multiplies f32 may have operands of 16 bits, which it widens,
// and a result of 16 bits, which it rounds. What that takes beyond the product
// of f32 depends on the code that runs.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIBRARIES_WIDENEDPRODUCTS_H
#define TENON_LIBRARIES_WIDENEDPRODUCTS_H

#include "tenon/Libraries/Matmul.h"
#include "tenon/Target/InstructionSets.h"

namespace tenon::libraries {

/// Whether a call that multiplies f32 has tensors of 16 bits, and converts them
/// in the copies that its code makes of f32 as well.
bool widensInCopies(const MatmulDescription &description, target::Isa isa);

/// Elements that the call converts, or copies, beyond what it does for operands
/// and a result of f32. 0 where it widens what it copies in any case.
int64_t elementsConverted(const MatmulDescription &description,
                          target::Isa isa);

} // namespace tenon::libraries

#endif // TENON_LIBRARIES_WIDENEDPRODUCTS_H
