//===- OffsetPackingTest.cpp - packings of problems with known answers ----===//
//
// What a problem may hold, one by one, with the arena worked out by hand; what
// is refused; and larger problems whose smallest arena is known by
// construction.
//
//===----------------------------------------------------------------------===//

#include "OffsetPackingRandom.h"

#include <gtest/gtest.h>

using namespace tenon::solver;
using namespace tenon::solver::test;

using Buffer = OffsetPackingProblem::Buffer;
using Status = OffsetPackingStatus;

static Buffer box(int64_t begin, int64_t end, int64_t size,
                  int64_t alignment = 1) {
  Buffer buffer;
  buffer.size = size;
  buffer.alignment = alignment;
  buffer.windows.push_back({begin, end});
  return buffer;
}

static OffsetPackingSolution solveAndCheck(const OffsetPackingProblem &problem,
                                           OffsetPackingOptions options = {}) {
  OffsetPackingSolution solution = solveOffsetPacking(problem, options);
  EXPECT_EQ(checkOffsetPacking(problem, solution), std::nullopt);
  return solution;
}

TEST(OffsetPacking, WorkedExampleOfTheHeader) {
  OffsetPackingProblem problem;
  problem.buffers = {box(0, 2, 4), box(0, 3, 2), box(1, 2, 2), box(2, 3, 5)};
  OffsetPackingSolution solution = solveAndCheck(problem);
  EXPECT_EQ(solution.arena, 8);
  EXPECT_EQ(solution.certificate.bound, 8);
  EXPECT_EQ(solution.certificate.proof,
            OffsetPackingCertificate::Proof::MaxLive);
  EXPECT_EQ(solution.certificate.time, 1);
}

TEST(OffsetPacking, NothingToPlace) {
  OffsetPackingProblem problem;
  EXPECT_EQ(solveAndCheck(problem).arena, 0);
  problem.buffers = {box(0, 5, 0), box(3, 3, 7)};
  problem.buffers.push_back(Buffer());
  OffsetPackingSolution solution = solveAndCheck(problem);
  EXPECT_EQ(solution.status, Status::Solved);
  EXPECT_EQ(solution.arena, 7); // never live, but still 7 bytes long
}

TEST(OffsetPacking, AlignmentCountsInTheBound) {
  OffsetPackingProblem problem;
  problem.buffers = {box(0, 1, 100, 256), box(0, 1, 300, 256),
                     box(0, 1, 10, 256)};
  // 512 + 256 below the one whose last bytes are cut off most: 10 bytes.
  OffsetPackingSolution solution = solveAndCheck(problem);
  EXPECT_EQ(solution.arena, 778);
  EXPECT_TRUE(solution.provedSmallest());
}

TEST(OffsetPacking, AlignmentNeedNotBeAPowerOfTwo) {
  OffsetPackingProblem problem;
  problem.buffers = {box(0, 1, 1, 3), box(0, 1, 1, 5), box(0, 1, 2, 7)};
  OffsetPackingSolution solution = solveAndCheck(problem);
  EXPECT_EQ(solution.arena, 6); // 2 bytes at 0, 1 at 3, 1 at 5
  EXPECT_TRUE(solution.provedSmallest());
}

TEST(OffsetPacking, GapsAreUsed) {
  OffsetPackingProblem problem;
  Buffer gap = box(0, 2, 6);
  gap.windows.push_back({5, 7});
  problem.buffers = {gap, box(2, 5, 6)};
  EXPECT_EQ(solveAndCheck(problem).arena, 6);
  // In its gap the buffer keeps its bytes 0 to 2.
  problem.buffers[0].windows.push_back({2, 5, 0, 2});
  EXPECT_EQ(solveAndCheck(problem).arena, 8);
}

TEST(OffsetPacking, GroupsKeepTheirDistances) {
  OffsetPackingProblem problem;
  Buffer whole = box(2, 4, 8), left = box(0, 3, 4), right = box(1, 3, 4);
  whole.group = left.group = right.group = 0;
  right.groupOffset = 4;
  problem.buffers = {whole, left, right, box(0, 1, 4)};
  OffsetPackingSolution solution = solveAndCheck(problem);
  EXPECT_EQ(solution.arena, 8); // the last lies where `right` will be
  EXPECT_EQ(solution.offsets[1], solution.offsets[0]);
  EXPECT_EQ(solution.offsets[2], solution.offsets[0] + 4);
}

TEST(OffsetPacking, GroupOffsetsMayBeNegative) {
  OffsetPackingProblem problem;
  Buffer a = box(0, 2, 4), b = box(0, 2, 4);
  a.group = b.group = 3;
  a.groupOffset = -4;
  problem.buffers = {b, a};
  OffsetPackingSolution solution = solveAndCheck(problem);
  EXPECT_EQ(solution.arena, 8);
  EXPECT_EQ(solution.offsets[0], 4);
}

TEST(OffsetPacking, GroupsJoinAlignments) {
  OffsetPackingProblem problem;
  Buffer a = box(0, 1, 1, 4), b = box(0, 1, 1, 6);
  a.group = b.group = 0;
  b.groupOffset = 2; // a = 0 (mod 4), a + 2 = 0 (mod 6): a = 4
  problem.buffers = {a, b};
  OffsetPackingSolution solution = solveAndCheck(problem);
  EXPECT_EQ(solution.offsets[0], 4);
  EXPECT_EQ(solution.arena, 7);
  problem.buffers[1].groupOffset = 1; // a + 1 is odd
  EXPECT_EQ(solveAndCheck(problem).status, Status::Infeasible);
}

TEST(OffsetPacking, FixedOffsetsStay) {
  OffsetPackingProblem problem;
  Buffer fixed = box(0, 4, 2);
  fixed.fixedOffset = 5;
  problem.buffers = {fixed, box(0, 2, 5), box(2, 4, 4)};
  OffsetPackingSolution solution = solveAndCheck(problem);
  EXPECT_EQ(solution.arena, 7);
  EXPECT_EQ(solution.offsets[0], 5);
  Buffer clash = box(3, 5, 2);
  clash.fixedOffset = 6;
  problem.buffers.push_back(clash);
  EXPECT_EQ(solveAndCheck(problem).status, Status::Infeasible);
}

TEST(OffsetPacking, CapacityDecides) {
  OffsetPackingProblem problem;
  problem.buffers = {box(0, 2, 4), box(0, 3, 2), box(1, 2, 2), box(2, 3, 5)};
  problem.capacity = 8;
  EXPECT_EQ(solveAndCheck(problem).status, Status::Solved);
  problem.capacity = 7;
  OffsetPackingSolution solution = solveAndCheck(problem);
  EXPECT_EQ(solution.status, Status::Infeasible);
  EXPECT_TRUE(solution.offsets.empty());
  EXPECT_EQ(solution.certificate.bound, 8);
}

TEST(OffsetPacking, RefusesImpossibleNumbers) {
  auto refused = [](Buffer buffer) {
    OffsetPackingProblem problem;
    problem.buffers = {buffer};
    OffsetPackingSolution solution = solveOffsetPacking(problem);
    return solution.status == Status::Invalid && !solution.message.empty() &&
           solution.offsets.empty();
  };
  int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_TRUE(refused(box(0, 1, -1)));
  EXPECT_TRUE(refused(box(0, 1, 4, 0)));
  EXPECT_TRUE(refused(box(2, 1, 4)));
  EXPECT_TRUE(refused(box(0, 1, most)));
  EXPECT_TRUE(refused(box(0, 1, 1, most)));
  EXPECT_TRUE(refused(box(-most, most, 1)));
  Buffer overlap = box(0, 3, 4);
  overlap.windows.push_back({2, 4});
  EXPECT_TRUE(refused(overlap));
  Buffer slice = box(0, 3, 4);
  slice.windows[0].sliceBegin = 3;
  slice.windows[0].sliceEnd = 5;
  EXPECT_TRUE(refused(slice));
  Buffer fixed = box(0, 3, 4);
  fixed.fixedOffset = -8;
  EXPECT_TRUE(refused(fixed));
  OffsetPackingProblem many;
  for (int i = 0; i < 10; ++i)
    many.buffers.push_back(box(0, 1, most / 8));
  EXPECT_EQ(solveOffsetPacking(many).status, Status::Invalid);
}

/// A rectangle cut into boxes: they fit it again without a hole.
static OffsetPackingProblem cutRectangle(uint64_t seed, int64_t height,
                                         int64_t width, int boxes) {
  Random random(seed);
  struct Piece {
    int64_t begin, end, low, high;
  };
  std::vector<Piece> pieces = {{0, width, 0, height}};
  while (static_cast<int>(pieces.size()) < boxes) {
    size_t at = random.next() % pieces.size();
    Piece &piece = pieces[at], other = piece;
    if (random.oneIn(2)) {
      if (piece.end - piece.begin < 2)
        continue;
      piece.end = other.begin = random.between(piece.begin + 1, piece.end - 1);
    } else {
      if (piece.high - piece.low < 2)
        continue;
      piece.high = other.low = random.between(piece.low + 1, piece.high - 1);
    }
    pieces.push_back(other);
  }
  OffsetPackingProblem problem;
  for (const Piece &piece : pieces)
    problem.buffers.push_back(
        box(piece.begin, piece.end, piece.high - piece.low));
  return problem;
}

TEST(OffsetPacking, CutRectanglesFitAgain) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    OffsetPackingSolution solution =
        solveAndCheck(cutRectangle(seed, 1000, 60, 20 + 2 * int(seed)));
    EXPECT_EQ(solution.arena, 1000);
    EXPECT_EQ(solution.certificate.bound, 1000);
  }
}

TEST(OffsetPacking, EveryBudgetGivesAValidPlan) {
  OffsetPackingProblem problem = cutRectangle(7, 5000, 80, 120);
  for (int64_t nodes : {0, 1, 50, 1000}) {
    OffsetPackingSolution solution = solveAndCheck(problem, {nodes});
    EXPECT_EQ(solution.status, Status::Solved);
    EXPECT_LE(solution.nodesUsed, nodes);
  }
  problem.capacity = 5000;
  OffsetPackingSolution solution = solveAndCheck(problem, {0});
  EXPECT_EQ(solution.status, Status::Undecided);
  EXPECT_EQ(solution.offsets.size(), problem.buffers.size());
}

TEST(OffsetPacking, TheSameResultEachTime) {
  OffsetPackingProblem problem = cutRectangle(9, 700, 90, 90);
  OffsetPackingSolution once = solveAndCheck(problem);
  OffsetPackingSolution again = solveAndCheck(problem);
  EXPECT_EQ(once.offsets, again.offsets);
  EXPECT_EQ(once.nodesUsed, again.nodesUsed);
}

TEST(OffsetPacking, ManyBuffers) {
  // Lifetimes of forward values nest; each backward step needs a little more.
  OffsetPackingProblem problem;
  int64_t layers = 20000;
  Random random(3);
  for (int64_t i = 0; i < layers; ++i) {
    problem.buffers.push_back(
        box(i, 2 * layers - i, 256 * random.between(1, 9), 256));
    problem.buffers.push_back(box(2 * layers - i - 1, 2 * layers - i + 1,
                                  256 * random.between(1, 30), 256));
  }
  OffsetPackingSolution solution = solveAndCheck(problem);
  EXPECT_TRUE(solution.provedSmallest());
}
