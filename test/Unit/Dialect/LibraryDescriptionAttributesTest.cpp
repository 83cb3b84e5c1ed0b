//===- LibraryDescriptionAttributesTest.cpp - Descriptions in IR ---------===//
//
// A description survives its dictionary and the dictionary's text; a dictionary
// that is none is refused with its fault.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Exec/Exec.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon;
using namespace tenon::exec;
using namespace tenon::libraries;

namespace {

MatmulDescription matmul() {
  MatmulDescription d;
  d.lhsType = ElementType::bf16;
  d.rhsType = ElementType::f32;
  d.resultType = ElementType::f16;
  d.batch = {{1, 2, 3, 4}, {5, 6, 7, 8}};
  d.m = 9;
  d.n = 10;
  d.k = 11;
  d.lhsStrideM = 12;
  d.lhsStrideK = 13;
  d.rhsStrideK = 14;
  d.rhsStrideN = 15;
  d.resultStrideM = 16;
  d.resultStrideN = 17;
  d.epilogue = Epilogue::bias;
  d.pieces = 18;
  return d;
}

ConvolutionDescription convolution() {
  ConvolutionDescription d;
  d.kind = ConvolutionKind::weightGradient;
  d.type = ElementType::bf16;
  d.batch = 1;
  d.groups = 2;
  d.inputChannels = 4;
  d.outputChannels = 6;
  d.spatial = {{1, 2, 3, 4, 5, -6, 7, 8, 9, 10},
               {11, 12, 13, 14, 15, 16, -17, 18, 19, 20}};
  d.inputStrideBatch = 21;
  d.inputStrideChannel = 22;
  d.outputStrideBatch = 23;
  d.outputStrideChannel = 24;
  d.kernelStrideGroup = 25;
  d.kernelStrideInput = 26;
  d.kernelStrideOutput = 27;
  d.mirroredKernel = true;
  d.mayTransform = true;
  d.pieces = 28;
  return d;
}

GpuMatmulDescription gpuMatmul() {
  GpuMatmulDescription d(matmul());
  d.addend = Addend::operand;
  return d;
}

LapackDescription lapack() {
  LapackDescription d;
  d.routine = LapackRoutine::trsm;
  d.type = ElementType::c128;
  d.batch = 1;
  d.rows = 2;
  d.columns = 3;
  d.reflectors = 4;
  d.triangle = 'U';
  d.side = 'R';
  d.transpose = 'C';
  d.diagonal = 'N';
  d.mode = 'V';
  return d;
}

} // namespace

TEST(LibraryDescriptionAttributes, ThereAndBackThroughText) {
  MLIRContext context;
  for (const libraries::Description &description :
       {libraries::Description(matmul()), libraries::Description(convolution()),
        libraries::Description(lapack()), libraries::Description(gpuMatmul()),
        libraries::Description(MatmulDescription()),
        libraries::Description(ConvolutionDescription())}) {
    DictionaryAttr attribute = toAttribute(&context, description);
    std::string text, error;
    llvm::raw_string_ostream(text) << attribute;
    auto parsed =
        dyn_cast_or_null<DictionaryAttr>(parseAttribute(text, &context));
    ASSERT_TRUE(parsed) << text;
    auto back = fromAttribute(parsed, error);
    ASSERT_TRUE(back) << error;
    EXPECT_EQ(*back, description) << text;
  }
}

TEST(LibraryDescriptionAttributes, FaultsAreNamed) {
  MLIRContext context;
  Builder builder(&context);
  auto changed = [&](StringRef key, Attribute value) {
    NamedAttrList list(toAttribute(&context, libraries::Description(matmul())));
    if (value)
      list.set(key, value);
    else
      list.erase(key);
    std::string error;
    EXPECT_FALSE(fromAttribute(list.getDictionary(&context), error));
    return error;
  };
  auto has = [](const std::string &text, const char *part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(changed("m", {}), "has no 'm'"));
  EXPECT_TRUE(has(changed("m", builder.getStringAttr("x")), "expected an i64"));
  EXPECT_TRUE(
      has(changed("m", builder.getI32IntegerAttr(3)), "expected an i64"));
  EXPECT_TRUE(has(changed("lhs", builder.getStringAttr("f33")),
                  "an element type's name"));
  EXPECT_TRUE(has(changed("epilogue", builder.getStringAttr("gelu")),
                  "expected one of 'none', 'bias'"));
  EXPECT_TRUE(has(changed("extra", builder.getUnitAttr()), "entries"));
  EXPECT_TRUE(has(changed("batch", builder.getI64IntegerAttr(1)),
                  "an array of dictionaries"));
  EXPECT_TRUE(has(changed("batch", builder.getI64ArrayAttr({1})),
                  "an array of dictionaries"));
  EXPECT_TRUE(
      has(changed("call", builder.getStringAttr("sort")), "no library call"));
  EXPECT_TRUE(has(changed("call", {}), "no 'call'"));
  std::string error;
  EXPECT_FALSE(fromAttribute({}, error));
  EXPECT_TRUE(has(error, "missing"));
}
