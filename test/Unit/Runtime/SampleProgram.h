//===- SampleProgram.h - A hand-made .tenon file --------------------------===//
//
// Linear regression by gradient descent, 48 examples of 32 features, with one
// instruction of every kind:
//
//   prediction = x w                    library call
//   residual = prediction - y           invoke, cut in parts
//   loss = mean(residual^2)             invoke, one part
//   gradient = x^T residual             library call
//   w -= rate * 2/48 * gradient        invoke, in place on state
//   steps += 1                         invoke, in place on state
//   inner = 0; while (inner < 5) ++inner           copy, while
//   choice = steps < 3 ? 11 : 7                    case
//
// Tensors: params.w f32[32], steps i32 (state); x f32[48, 32], y f32[48]
// (batch); loss f32, inner i32, choice i32 (results).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_UNIT_RUNTIME_SAMPLEPROGRAM_H
#define TENON_TEST_UNIT_RUNTIME_SAMPLEPROGRAM_H

#include "tenon/Format/Index.h"

#include <cstddef>
#include <vector>

namespace tenon::test {

inline constexpr int64_t sampleRows = 48, sampleFeatures = 32;

/// The index without sections.
format::Index sampleIndex();

/// A field of the forward multiplication, callee 7.
format::Attribute &attribute(format::Index &index, std::string_view name);

/// The constants segment: rate, limit of the loop, 3, 0.
std::vector<std::byte> sampleConstants();

/// The shared object built from SampleKernels.c.
std::vector<std::byte> sampleKernels();

/// The same with kernels in the place of library calls.
format::Index withoutCalls(format::Index index);

/// The one without calls, with tensors held in other forms: params.w in two
/// parts, y padded, loss converted, x with a copy by columns, and hidden state
/// that `init` sets to 5 and every step counts up.
format::Index heldIndex();
inline constexpr const char *hiddenTensor = "__tenon__.ran";

/// The whole file.
std::vector<std::byte> sampleFile(const format::Index &index = sampleIndex());

/// Writes the whole file.
bool writeSampleFile(const std::string &path, const format::Index &index,
                     std::string &error);

} // namespace tenon::test

#endif // TENON_TEST_UNIT_RUNTIME_SAMPLEPROGRAM_H
