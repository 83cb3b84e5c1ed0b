//===- OffsetPackingCheckTest.cpp - the checker against mutated claims ----===//
//
// Every field of solutions of random problems is changed, and a second opinion,
// written as plainly as possible over single bytes and moments, says whether
// the changed solution is still true. The checker must agree each time.
//
//===----------------------------------------------------------------------===//

#include "OffsetPackingRandom.h"

#include <gtest/gtest.h>

#include <map>

using namespace tenon::solver;
using namespace tenon::solver::test;

/// Byte by byte, moment by moment.
static bool planIsTrue(const OffsetPackingProblem &problem,
                       const OffsetPackingSolution &solution) {
  int64_t arena = 0;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const auto &buffer = problem.buffers[i];
    int64_t at = solution.offsets[i];
    if (at < 0 || at % buffer.alignment != 0 ||
        (buffer.fixedOffset && at != *buffer.fixedOffset))
      return false;
    arena = std::max(arena, at + buffer.size);
    for (size_t j = 0; j < i; ++j)
      if (buffer.group >= 0 && problem.buffers[j].group == buffer.group &&
          at - buffer.groupOffset !=
              solution.offsets[j] - problem.buffers[j].groupOffset)
        return false;
  }
  if (arena != solution.arena || solution.certificate.bound > arena)
    return false;
  std::map<std::pair<int64_t, int64_t>, size_t> owner; // (time, byte)
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const auto &buffer = problem.buffers[i];
    for (const Window &window : buffer.windows) {
      int64_t end = window.sliceEnd < 0 ? buffer.size : window.sliceEnd;
      for (int64_t t = window.begin; t < window.end; ++t)
        for (int64_t b = window.sliceBegin; b < end; ++b) {
          auto [entry, isNew] = owner.insert({{t, solution.offsets[i] + b}, i});
          bool shared = buffer.group >= 0 &&
                        problem.buffers[entry->second].group == buffer.group;
          if (!isNew && entry->second != i && !shared)
            return false;
        }
    }
  }
  return true;
}

/// The least a plan can need at the moment: a problem of that moment alone.
static int64_t neededAt(const OffsetPackingProblem &problem, int64_t time) {
  OffsetPackingProblem moment;
  for (const auto &buffer : problem.buffers) {
    auto part = buffer;
    part.windows.clear();
    part.fixedOffset.reset();
    for (const Window &window : buffer.windows) {
      int64_t end = window.sliceEnd < 0 ? buffer.size : window.sliceEnd;
      if (window.begin <= time && time < window.end && window.sliceBegin < end)
        part.windows.push_back({0, 1, window.sliceBegin, end});
    }
    // What is not live then takes no part; the dead bytes above a slice do not
    // either, so cut them off.
    if (part.windows.empty())
      continue;
    part.size = part.windows[0].sliceEnd;
    moment.buffers.push_back(part);
  }
  return BruteForce(moment).smallest(100).value_or(1000);
}

/// Few and small buffers; the seed says what else they have.
static RandomShape smallShape(uint64_t seed) {
  RandomShape shape;
  shape.maxBuffers = 4;
  shape.maxSize = 5;
  shape.alignments = seed & 1;
  shape.gaps = seed & 2;
  shape.slices = seed & 2;
  shape.groups = seed & 4;
  shape.fixed = seed & 8;
  return shape;
}

TEST(OffsetPackingCheck, AgreesOnEveryMutation) {
  int64_t stillTrue = 0, nowFalse = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    OffsetPackingProblem problem = randomProblem(random, smallShape(seed));
    OffsetPackingSolution solution = solveOffsetPacking(problem);
    if (solution.status != OffsetPackingStatus::Solved)
      continue;
    auto judge = [&](const OffsetPackingSolution &mutated) {
      bool accepted = !checkOffsetPacking(problem, mutated);
      bool isTrue = planIsTrue(problem, mutated);
      const OffsetPackingCertificate &certificate = mutated.certificate;
      if (certificate.proof == OffsetPackingCertificate::Proof::MaxLive) {
        // The checker may know less than the exact need, never more.
        if (certificate.bound > neededAt(problem, certificate.time)) {
          EXPECT_FALSE(accepted);
          ++nowFalse;
          return;
        }
      }
      if (!isTrue)
        EXPECT_FALSE(accepted);
      if (isTrue && certificate.bound <= solution.certificate.bound &&
          certificate.time == solution.certificate.time)
        EXPECT_TRUE(accepted);
      ++(isTrue ? stillTrue : nowFalse);
    };
    for (size_t i = 0; i < solution.offsets.size(); ++i)
      for (int64_t change : {-5, -2, -1, 0, 1, 2, 3, 7}) {
        OffsetPackingSolution mutated = solution;
        mutated.offsets[i] += change;
        judge(mutated);
        // The same with the arena that would follow.
        mutated.arena = 0;
        for (size_t j = 0; j < mutated.offsets.size(); ++j)
          mutated.arena = std::max(mutated.arena, mutated.offsets[j] +
                                                      problem.buffers[j].size);
        judge(mutated);
      }
    for (int64_t change : {-3, -1, 1, 4}) {
      OffsetPackingSolution mutated = solution;
      mutated.arena += change;
      judge(mutated);
      mutated = solution;
      mutated.certificate.bound += change;
      judge(mutated);
      mutated = solution;
      mutated.certificate.time += change;
      judge(mutated);
    }
    OffsetPackingSolution mutated = solution;
    mutated.offsets.push_back(0);
    EXPECT_NE(checkOffsetPacking(problem, mutated), std::nullopt);
    mutated = solution;
    mutated.status = OffsetPackingStatus::Infeasible;
    if (!mutated.offsets.empty())
      EXPECT_NE(checkOffsetPacking(problem, mutated), std::nullopt);
    mutated = solution;
    mutated.status = OffsetPackingStatus::Undecided;
    if (!mutated.offsets.empty())
      EXPECT_NE(checkOffsetPacking(problem, mutated), std::nullopt);
  }
  EXPECT_GT(stillTrue, 1000);
  EXPECT_GT(nowFalse, 1000);
}

/// Two buffers at a time, in 128 bits, so that any numbers may be judged.
static bool anyPlanIsTrue(const OffsetPackingProblem &problem,
                          const OffsetPackingSolution &solution) {
  using Wide = __int128;
  Wide arena = 0;
  if (solution.offsets.size() != problem.buffers.size())
    return false;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const auto &buffer = problem.buffers[i];
    const int64_t at = solution.offsets[i];
    if (at < 0 || at % buffer.alignment != 0 ||
        (buffer.fixedOffset && at != *buffer.fixedOffset))
      return false;
    arena = std::max(arena, Wide(at) + buffer.size);
    for (size_t j = 0; j < i; ++j) {
      const auto &other = problem.buffers[j];
      const int64_t there = solution.offsets[j];
      const bool isGroup = buffer.group >= 0 && other.group == buffer.group;
      if (isGroup &&
          Wide(at) - buffer.groupOffset != Wide(there) - other.groupOffset)
        return false;
      for (const Window &a : buffer.windows)
        for (const Window &b : other.windows) {
          const Wide endA =
              a.sliceEnd == Window::wholeBuffer ? buffer.size : a.sliceEnd;
          const Wide endB =
              b.sliceEnd == Window::wholeBuffer ? other.size : b.sliceEnd;
          if (!isGroup && std::max(a.begin, b.begin) < std::min(a.end, b.end) &&
              a.sliceBegin < endA && b.sliceBegin < endB &&
              std::max(at + Wide(a.sliceBegin), there + Wide(b.sliceBegin)) <
                  std::min(at + endA, there + endB))
            return false;
        }
    }
  }
  const bool fits = !problem.capacity || arena <= *problem.capacity;
  return arena == solution.arena && solution.certificate.bound <= arena &&
         fits == (solution.status == OffsetPackingStatus::Solved);
}

/// Changes several numbers of a solution, or of its problem, at once, extremes
/// of 64 bits among them.
TEST(OffsetPackingCheck, SeveralNumbersMutated) {
  int64_t refused = 0, accepted = 0, otherProblems = 0, infeasible = 0;
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const OffsetPackingProblem problem =
        randomProblem(random, smallShape(seed));
    const OffsetPackingSolution solution = solveOffsetPacking(problem);
    if (solution.status != OffsetPackingStatus::Solved)
      continue;
    const int64_t best = BruteForce(problem).smallest(solution.arena).value();
    auto amount = [&](int64_t own) {
      const auto bits = static_cast<uint64_t>(own); // may wrap
      const int64_t any[] = {own,
                             static_cast<int64_t>(bits + 1),
                             static_cast<int64_t>(bits - 1),
                             static_cast<int64_t>(2 * bits),
                             own / 2,
                             0,
                             1,
                             -1,
                             INT64_MAX,
                             INT64_MAX - 1,
                             INT64_MIN + 1,
                             INT64_MIN};
      return any[random.next() % std::size(any)];
    };
    for (int attempt = 0; attempt < 100; ++attempt) {
      OffsetPackingProblem other = problem;
      OffsetPackingSolution changed = solution;
      std::vector<int64_t *> numbers = {&changed.arena,
                                        &changed.certificate.bound,
                                        &changed.certificate.time};
      if (random.oneIn(2))
        other.capacity = amount(solution.arena);
      for (int64_t &offset : changed.offsets)
        numbers.push_back(&offset);
      const bool isOther = random.oneIn(3);
      for (auto &buffer : other.buffers) {
        if (!isOther)
          break;
        numbers.insert(numbers.end(),
                       {&buffer.size, &buffer.alignment, &buffer.groupOffset});
        if (buffer.fixedOffset)
          numbers.push_back(&*buffer.fixedOffset);
        for (Window &window : buffer.windows)
          numbers.insert(numbers.end(), {&window.begin, &window.end,
                                         &window.sliceBegin, &window.sliceEnd});
      }
      for (int64_t count = random.between(0, 3); count > 0; --count) {
        int64_t &number = *numbers[random.next() % numbers.size()];
        number = amount(number);
      }
      if (random.oneIn(4))
        changed.certificate.bound = best + 1;
      if (random.oneIn(4))
        changed.certificate.proof = OffsetPackingCertificate::Proof::Search;
      if (random.oneIn(6)) {
        changed.status = OffsetPackingStatus::Infeasible;
        changed.offsets.clear();
      }
      if (checkOffsetPacking(other, changed)) {
        ++refused;
        continue;
      }
      ++accepted;
      const OffsetPackingCertificate &certificate = changed.certificate;
      const bool isProved =
          certificate.proof == OffsetPackingCertificate::Proof::MaxLive;
      if (changed.status == OffsetPackingStatus::Infeasible) {
        if (isProved && !isOther) {
          ++infeasible;
          EXPECT_LT(*other.capacity, best);
        }
        continue;
      }
      otherProblems += isOther;
      EXPECT_TRUE(anyPlanIsTrue(other, changed));
      if (isProved && !isOther)
        EXPECT_LE(certificate.bound, best);
    }
  }
  EXPECT_GT(refused, 10000);
  EXPECT_GT(accepted, 2000);
  EXPECT_GT(otherProblems, 300);
  EXPECT_GT(infeasible, 30);
}

TEST(OffsetPackingCheck, InfeasibleNeedsABoundAboveTheCapacity) {
  OffsetPackingProblem problem;
  OffsetPackingProblem::Buffer buffer;
  buffer.size = 10;
  buffer.windows.push_back({0, 2});
  problem.buffers = {buffer, buffer};
  problem.capacity = 20;
  OffsetPackingSolution claim;
  claim.status = OffsetPackingStatus::Infeasible;
  claim.certificate.bound = 20;
  EXPECT_NE(checkOffsetPacking(problem, claim), std::nullopt);
  claim.certificate.bound = 21; // more than is live
  EXPECT_NE(checkOffsetPacking(problem, claim), std::nullopt);
  problem.capacity = 19;
  claim.certificate.bound = 20;
  EXPECT_EQ(checkOffsetPacking(problem, claim), std::nullopt);
}

TEST(OffsetPackingCheck, AnEmptySliceOccupiesNothing) {
  // From far beyond the buffer's end, where adding the offset would wrap.
  OffsetPackingProblem problem;
  problem.buffers.resize(2);
  for (OffsetPackingProblem::Buffer &buffer : problem.buffers)
    buffer.size = 4;
  problem.buffers[0].windows = {{0, 2, 0, 4}};
  problem.buffers[1].windows = {{0, 1, INT64_MAX, 4}, {2, 3, 0, 4}};
  OffsetPackingSolution plan;
  plan.status = OffsetPackingStatus::Solved;
  plan.offsets = {0, 1};
  plan.arena = 5;
  EXPECT_EQ(checkOffsetPacking(problem, plan), std::nullopt);
}
