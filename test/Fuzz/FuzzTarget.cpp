//===- FuzzTarget.cpp - Any bytes as a machine description ---------------===//
//
// What is read is written and read again, and must be the same.
//
//===----------------------------------------------------------------------===//

#include "tenon/Target/Target.h"

#include <cstdlib>

using namespace tenon::target;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string error;
  std::string_view text(reinterpret_cast<const char *>(data), size);
  std::optional<Target> target = fromJson(text, "input", error);
  if (!target) {
    if (error.empty())
      abort(); // refused without a word
    return 0;
  }
  std::string once = toJson(*target);
  std::optional<Target> again = fromJson(once, "written", error);
  if (!again || toJson(*again) != once)
    abort();
  return 0;
}
