//===- AttentionBound.h - How exact attention has to be -------------------===//
//
// Part of ErrorBound.h for step.attention and its gradient.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_REFERENCE_ATTENTIONBOUND_H
#define TENON_LIB_REFERENCE_ATTENTIONBOUND_H

#include "tenon/Reference/ErrorBound.h"

namespace tenon::reference {

/// Of a step.attention or step.attention_gradient.
std::vector<Enclosure> encloseAttention(mlir::Operation *op,
                                        llvm::ArrayRef<Tensor> operands);

} // namespace tenon::reference

#endif // TENON_LIB_REFERENCE_ATTENTIONBOUND_H
