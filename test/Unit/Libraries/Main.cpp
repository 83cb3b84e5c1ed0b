//===- Main.cpp - Runs the tests for one instruction set ------------------===//
//
// Usage: TenonLibrariesTests [avx2|avx512|avx512_bf16|amx_bf16] [GoogleTest
// options].
//
//===----------------------------------------------------------------------===//

#include "TestIsa.h"

#include <cstdio>
#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::libraries;

/// The exit code that CTest is told to take for a skipped test.
static constexpr int nothingTested = 77;

static Isa isaOfProcess = Isa::avx2;

Isa tenon::test::testIsa() { return isaOfProcess; }

std::vector<ElementType> tenon::test::computeTypesOf(ElementType type) {
  if (type == ElementType::bf16 && target::describe(testIsa()).hasBf16)
    return {ElementType::f32, ElementType::bf16};
  return {ElementType::f32};
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  auto host = tenon::target::hostIsa();
  if (!host) {
    std::puts("this processor has no AVX2, nothing is tested");
    return nothingTested;
  }
  isaOfProcess = *host;
  if (argc > 1) {
    auto isa = tenon::target::isaOfLibraries(argv[1]);
    if (!isa) {
      std::printf("unknown instruction set '%s'\n", argv[1]);
      return 2;
    }
    if (*isa > *host) {
      std::printf("this processor has no %s, nothing is tested\n", argv[1]);
      return nothingTested;
    }
    isaOfProcess = *isa;
  }
  return RUN_ALL_TESTS();
}
