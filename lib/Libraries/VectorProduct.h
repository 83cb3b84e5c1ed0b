//===- VectorProduct.h - Products of f32 by vectors of 16 -----------------===//
//
// Private to this folder: our own code for large products of f32 on processors
// with AVX-512. Up to 14 rows and 32 columns of sums are held in registers
// while the terms of a run are added to them. The operands of a run are copied
// next to each other first: the left one in groups of rows, which stay in the
// second level of the cache, the right one 32 columns at a time, which stay in
// the first. Meanwhile the lines that will be copied next are fetched.
//
// An operand that is stored in 16 bits is widened while it is copied, which
// takes no longer than the copy. The finished sums of a result of 16 bits are
// rounded out of the cache: until then they are f32.
//
// A sum is made of runs of terms: each run begins with zero and adds its terms
// in order, each by one fused multiply-add; the runs are added in order. The
// length of a run follows from the number of terms alone, so bits depend
// neither on how a product is cut into pieces nor on where operands lie.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_LIBRARIES_VECTORPRODUCT_H
#define TENON_LIB_LIBRARIES_VECTORPRODUCT_H

#include "tenon/Support/ElementType.h"

#include <cstdint>

namespace tenon::libraries {

/// result[i, j] = bias[j] + sum over k of lhs[i, k] * rhs[k, j]
///
/// Strides are in elements. One of each operand's strides is 1, and so is that
/// from column to column of the result.
struct VectorProduct {
  /// That are computed at a time.
  static constexpr int64_t columns = 32;

  /// How tensors are stored: f32, bf16 or f16.
  ElementType lhsType = ElementType::f32;
  ElementType rhsType = ElementType::f32;
  ElementType resultType = ElementType::f32;
  int64_t m = 1, n = 1, k = 1;
  int64_t lhsStrideM = 0, lhsStrideK = 0;
  int64_t rhsStrideK = 0, rhsStrideN = 0;
  int64_t resultStrideM = 0;

  /// Whether the right operand is read where it lies, and not copied first.
  bool readsRightInPlace() const;

  /// What `run` needs for copies and unfinished sums, aligned to a cache line.
  int64_t workspaceBytes() const;

  /// `bias` is null if nothing is added. Only for processors with AVX-512.
  void run(const void *lhs, const void *rhs, const float *bias, void *result,
           void *workspace) const;
};

} // namespace tenon::libraries

#endif // TENON_LIB_LIBRARIES_VECTORPRODUCT_H
