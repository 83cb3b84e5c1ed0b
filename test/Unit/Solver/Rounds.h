//===- Rounds.h - How many rounds of a random test run -------------------===//
//
// Sanitized code takes several times as long, and what a sanitizer finds is in
// the code rather than in one round's numbers. Sanitized builds therefore run
// one in seven rounds of the longest tests; the plain build runs all of them.
// Tests take other kinds of problems every two, three, four or eight rounds,
// and seven leaves none of these out.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_UNIT_SOLVER_ROUNDS_H
#define TENON_TEST_UNIT_SOLVER_ROUNDS_H

namespace tenon::solver::test {

/// One round in so many runs.
#if defined(__has_feature) &&                                                  \
    (__has_feature(thread_sanitizer) || __has_feature(address_sanitizer))
inline constexpr int roundStride = 7;
#else
inline constexpr int roundStride = 1;
#endif

} // namespace tenon::solver::test

#endif // TENON_TEST_UNIT_SOLVER_ROUNDS_H
