//===- Description.h - A call some library can run -----------------------===//
//
// Every kind of description: a plain struct with a list of its fields, and one
// entry here. Text and files have its fields under their names.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIBRARIES_DESCRIPTION_H
#define TENON_LIBRARIES_DESCRIPTION_H

#include "tenon/Libraries/Convolution.h"
#include "tenon/Libraries/GpuMatmul.h"
#include "tenon/Libraries/Lapack.h"
#include "tenon/Libraries/Matmul.h"
#include "tenon/Libraries/PackedMatmul.h"

#include <string>
#include <variant>

namespace tenon::libraries {

using Description =
    std::variant<MatmulDescription, ConvolutionDescription, LapackDescription,
                 GpuMatmulDescription, PackedMatmulDescription>;

/// A description of the kind that is called so, all fields at their defaults;
/// nothing with a message in `error` for an unknown word.
std::optional<Description> newDescription(std::string_view call,
                                          std::string &error);

/// Empty if `description` makes sense on its own (sizes positive, strides and
/// extents in range, pieces positive), otherwise what is wrong.
std::string whyInvalid(const MatmulDescription &description);
std::string whyInvalid(const ConvolutionDescription &description);
std::string whyInvalid(const LapackDescription &description);
std::string whyInvalid(const GpuMatmulDescription &description);
std::string whyInvalid(const PackedMatmulDescription &description);
inline std::string whyInvalid(const Description &description) {
  return std::visit([](const auto &call) { return whyInvalid(call); },
                    description);
}

/// What a call computes, in a few words (`matrix multiplication 8x16x4 f32`).
std::string describe(const Description &description);

} // namespace tenon::libraries

#endif // TENON_LIBRARIES_DESCRIPTION_H
