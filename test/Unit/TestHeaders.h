//===- TestHeaders.h - What every test without LLVM includes -------------===//
//
// Parsed once for all unit tests without LLVM, like lib/StandardHeaders.h.
//
//===----------------------------------------------------------------------===//

#include "../../lib/StandardHeaders.h"

#include <gtest/gtest.h>
