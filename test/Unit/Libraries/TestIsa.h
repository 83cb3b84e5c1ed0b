//===- TestIsa.h - The instruction set this test process uses ------------===//
//
// oneDNN can be limited to one instruction set per process, so the tests run
// once per instruction set, which is the program's argument.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_UNIT_LIBRARIES_TESTISA_H
#define TENON_TEST_UNIT_LIBRARIES_TESTISA_H

#include "tenon/Libraries/Library.h"

#include <vector>

namespace tenon::test {

libraries::Isa testIsa();

/// All ways to multiply operands of `type` there.
std::vector<ElementType> computeTypesOf(ElementType type);

} // namespace tenon::test

#endif // TENON_TEST_UNIT_LIBRARIES_TESTISA_H
