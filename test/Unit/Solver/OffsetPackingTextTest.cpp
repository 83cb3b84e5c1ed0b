//===- OffsetPackingTextTest.cpp - packing problems and plans as text -----===//
//
// Reading and writing the CSV and claims forms, and the line and reason of what
// is refused.
//
//===----------------------------------------------------------------------===//

#include "tenon/Solver/OffsetPackingText.h"

#include <gtest/gtest.h>

using namespace tenon::solver;

static OffsetPackingFile read(std::string_view text) {
  OffsetPackingFile file;
  auto error = readOffsetPacking(text, file, false, nullptr);
  EXPECT_FALSE(error) << error->text();
  return file;
}

static std::string errorOf(std::string_view text) {
  OffsetPackingFile file;
  auto error = readOffsetPacking(text, file, false, nullptr);
  return error ? error->text() : "no error";
}

TEST(OffsetPackingText, ReadsAllColumns) {
  OffsetPackingFile file =
      read("id,lower,upper,size,alignment,gaps,offset,group,group-offset\n"
           "a,0,20,64,16,3-5 7-9@0:32,,1,-64\r\n"
           "\n"
           "b,-4,-1,8,1,,24,,\n"
           "c,5,5,8,1,,-1,-1,0\n");
  ASSERT_EQ(file.problem.buffers.size(), 3u);
  const auto &a = file.problem.buffers[0];
  EXPECT_EQ(a.size, 64);
  EXPECT_EQ(a.alignment, 16);
  std::vector<Window> windows = {{0, 3}, {5, 7}, {7, 9, 0, 32}, {9, 20}};
  EXPECT_EQ(a.windows, windows);
  EXPECT_EQ(a.group, 1);
  EXPECT_EQ(a.groupOffset, -64);
  EXPECT_FALSE(a.fixedOffset);
  EXPECT_EQ(file.problem.buffers[1].fixedOffset, 24);
  EXPECT_EQ(file.problem.buffers[1].windows[0].begin, -4);
  EXPECT_TRUE(file.problem.buffers[2].windows.empty());
  EXPECT_EQ(file.problem.buffers[2].group, -1);
  EXPECT_EQ(file.id(1), "b");
}

TEST(OffsetPackingText, AnEndColumnNamesTheLastMoment) {
  OffsetPackingFile file = read("buffer,start,end,size\nx,2,4,1\n");
  EXPECT_EQ(file.problem.buffers[0].windows[0], (Window{2, 5}));
}

TEST(OffsetPackingText, AcceptsNoLastLineEnd) {
  EXPECT_EQ(read("id,lower,upper,size\nx,2,4,1").problem.buffers.size(), 1u);
  EXPECT_EQ(read("id,lower,upper,size").problem.buffers.size(), 0u);
}

TEST(OffsetPackingText, NamesTheLineOfAnError) {
  std::string header = "id,lower,upper,size\n";
  EXPECT_EQ(errorOf(header + "a,0,1,4\nb,0,x,4\n"),
            "line 3: upper 'x' is not a 64-bit integer");
  EXPECT_EQ(errorOf(header + "a,0,1,4\nb,0,1\n"),
            "line 3: found 3 fields, expected 4");
  EXPECT_EQ(errorOf(header + "a,0,1,4\n\na,0,1,4\n"),
            "line 4: id 'a' is already that of buffer 1");
  EXPECT_EQ(errorOf(header + "a,0,1,-4\n"), "line 2: size -4 is negative");
  EXPECT_EQ(errorOf(header + "a,3,1,4\n"),
            "line 2: the buffer ends at 1, before it begins at 3");
  EXPECT_EQ(errorOf(header + "a,0,1,9223372036854775808\n"),
            "line 2: size '9223372036854775808' is not a 64-bit integer");
  EXPECT_EQ(errorOf("id,lower,upper\n"), "line 1: column 'size' is missing");
  EXPECT_EQ(errorOf("id,id,upper,size\n"), "line 1: column 'id' appears twice");
  EXPECT_NE(errorOf("id,lower,upper,size,colour\n").find("'colour'"),
            std::string::npos);
  EXPECT_NE(errorOf(""), "no error");
  for (const char *gaps : {"5", "3-2", "8-12", "1-3 2-4", "1-3@0:9", "1-3@2"})
    EXPECT_NE(errorOf(std::string("id,lower,upper,size,gaps\na,0,10,8,") +
                      gaps + "\n"),
              "no error")
        << gaps;
  EXPECT_NE(errorOf("id,lower,upper,size,alignment\na,0,1,1,0\n"), "no error");
  EXPECT_NE(errorOf("id,lower,upper,size,group-offset\na,0,1,1,4\n"),
            "no error");
}

TEST(OffsetPackingText, PlanRepeatsTheProblem) {
  OffsetPackingFile file = read("id,lower,upper,size\na,0,1,4\nb,0,1,2\n");
  std::string plan = writeOffsetPlan(file, {2, 0});
  EXPECT_EQ(plan, "id,lower,upper,size,offset\na,0,1,4,2\nb,0,1,2,0\n");
  OffsetPackingFile again;
  std::vector<int64_t> offsets;
  EXPECT_FALSE(readOffsetPacking(plan, again, true, &offsets));
  EXPECT_EQ(offsets, (std::vector<int64_t>{2, 0}));
}

TEST(OffsetPackingText, PlanReplacesAnOffsetColumn) {
  OffsetPackingFile file =
      read("id,offset,lower,upper,size\na,,0,1,4\nb,0,0,1,2\n");
  EXPECT_EQ(writeOffsetPlan(file, {2, 0}),
            "id,offset,lower,upper,size\na,2,0,1,4\nb,0,0,1,2\n");
}

TEST(OffsetPackingText, ClaimsRoundTrip) {
  OffsetPackingClaims claims;
  claims.arena = 12;
  claims.certificate.bound = 10;
  claims.certificate.time = -3;
  std::string text = writeOffsetClaims(claims);
  EXPECT_EQ(text, "offset-packing-claims 1\ncapacity none\narena 12\nbound 10\n"
                  "proof max-live -3\n");
  claims.capacity = 16;
  claims.certificate.proof = OffsetPackingCertificate::Proof::Search;
  claims.certificate.nodes = 77;
  OffsetPackingClaims again;
  ASSERT_FALSE(readOffsetClaims(writeOffsetClaims(claims), again));
  EXPECT_EQ(again.capacity, 16);
  EXPECT_EQ(again.certificate.nodes, 77);
  EXPECT_EQ(again.certificate.proof, OffsetPackingCertificate::Proof::Search);
  for (std::string_view bad :
       {"", "offset-packing-claims 2\n",
        "offset-packing-claims 1\ncapacity none\narena x\nbound 1\n",
        "offset-packing-claims 1\ncapacity none\narena 1\nbound 1\nproof luck "
        "1\n",
        "offset-packing-claims 1\ncapacity none\narena 1\nbound 1\nproof "
        "max-live 1\nmore\n"})
    EXPECT_TRUE(readOffsetClaims(bad, again)) << bad;
}
