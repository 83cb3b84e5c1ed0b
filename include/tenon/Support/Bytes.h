//===- Bytes.h - Sizes as people write them -------------------------------===//
//
// 1610612736 is "1.5GiB". Binary units only, since memory comes in them.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SUPPORT_BYTES_H
#define TENON_SUPPORT_BYTES_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenon {

/// "1.6GiB", "512 MiB", "4096": bytes, rounded down. Nothing for other text,
/// negative sizes and those of 8 EiB and more.
std::optional<int64_t> parseBytes(std::string_view text);

/// In the largest unit that leaves at least 1: "1.60 GiB", "652.94 MiB", "17
/// B".
std::string printBytes(int64_t bytes);

} // namespace tenon

#endif // TENON_SUPPORT_BYTES_H
