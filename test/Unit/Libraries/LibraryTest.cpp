//===- LibraryTest.cpp - What the compiler asks of a library --------------===//
//
// Tests of the answers of oneDNN and LAPACK, and of a library that is none of
// them.
//
//===----------------------------------------------------------------------===//

#include "TestIsa.h"

#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::libraries;
using test::testIsa;

namespace {

LapackDescription decomposition() {
  LapackDescription d;
  d.rows = d.columns = 4;
  d.triangle = 'L';
  return d;
}

/// Runs products of an even number of rows on the larger instruction sets.
class EvenRows : public Library {
public:
  std::string_view name() const override { return "even rows"; }
  std::string version() const override { return "1"; }
  bool takes(const Description &description) const override {
    return std::holds_alternative<MatmulDescription>(description);
  }
  std::unique_ptr<Call> create(const Description &description, Isa isa,
                               std::string &error) const override {
    if (isa < Isa::avx512Bf16)
      error = "the instruction set is too small";
    else if (std::get<MatmulDescription>(description).m % 2)
      error = "the number of rows is odd";
    return nullptr;
  }
};

MatmulDescription product(int64_t rows) {
  MatmulDescription d;
  d.m = rows;
  d.n = d.k = 8;
  d.lhsStrideM = d.rhsStrideK = d.resultStrideM = 8;
  d.lhsStrideK = d.rhsStrideN = d.resultStrideN = 1;
  return d;
}

} // namespace

TEST(Library, EachKindOfCallHasOne) {
  EXPECT_EQ(libraryOf(MatmulDescription()).name(), "oneDNN");
  EXPECT_EQ(libraryOf(ConvolutionDescription()).name(), "oneDNN");
  EXPECT_EQ(libraryOf(decomposition()).name(), "LAPACK");
  EXPECT_EQ(libraryOf(GpuMatmulDescription()).name(), "cuBLASLt");
  for (const Library *library : all())
    EXPECT_FALSE(library->version().empty());
}

TEST(Library, CanBeAskedOnlyAboutWhatTheProcessIsLimitedTo) {
  ASSERT_EQ(oneDNNLibrary().whyNotAskable(testIsa()), "");
  for (const target::IsaInfo &info : target::instructionSets()) {
    EXPECT_EQ(oneDNNLibrary().whyNotAskable(info.isa).empty(),
              info.isa == testIsa());
    EXPECT_EQ(lapackLibrary().whyNotAskable(info.isa), "");
    EXPECT_EQ(whyNotSupported(decomposition(), info.isa), "");
    EXPECT_GT(workspaceBytes(decomposition(), info.isa), 0);
  }
}

TEST(Library, AnotherOneNeedsNoMoreThanItsCalls) {
  EvenRows library;
  EXPECT_EQ(library.whyNotAskable(Isa::avx512), "");
  EXPECT_EQ(library.preferredPieces(product(2)), 1);
  EXPECT_EQ(library.whyNotSupported(product(2), Isa::avx512Bf16), "");
  EXPECT_EQ(library.whyNotSupported(product(3), Isa::avx512Bf16),
            "the number of rows is odd");
  EXPECT_EQ(library.whyNotSupported(product(2), Isa::avx2),
            "the instruction set is too small");
  EXPECT_NE(library.whyNotSupported(product(0), Isa::avx512Bf16).find("m 0"),
            std::string::npos);
}

TEST(Library, FromOutsideTheTreeIsAskedFirst) {
  EvenRows library;
  {
    AddedLibrary added(library);
    EXPECT_EQ(all().size(), 4u);
    EXPECT_EQ(libraryOf(product(2)).name(), "even rows");
    EXPECT_EQ(libraryOf(ConvolutionDescription()).name(), "oneDNN");
    EXPECT_EQ(whyNotSupported(product(3), Isa::avx512Bf16),
              "the number of rows is odd");
    std::string error;
    EXPECT_EQ(Call::create(product(3), Isa::avx512Bf16, error), nullptr);
    EXPECT_EQ(error, "the number of rows is odd");
  }
  EXPECT_EQ(libraryOf(product(2)).name(), "oneDNN");
}
