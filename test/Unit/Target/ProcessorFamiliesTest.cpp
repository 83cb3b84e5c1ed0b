//===- ProcessorFamiliesTest.cpp - What processors do per cycle -----------===//
//
// Tests of the table of families and of how a processor is found in it.
//
//===----------------------------------------------------------------------===//

#include "tenon/Target/Target.h"

#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::target;

TEST(ProcessorFamilies, BeginWithOnePerInstructionSet) {
  for (const IsaInfo &info : instructionSets()) {
    EXPECT_EQ(familyOf(info.isa).name, info.featureSet);
    EXPECT_EQ(familyOf(info.isa).isa, info.isa);
    EXPECT_EQ(builtInTarget(familyOf(info.isa), info.isa),
              builtInTarget(info.isa));
  }
}

TEST(ProcessorFamilies, HaveRatesForWhatTheyHave) {
  for (const ProcessorFamily &family : processorFamilies()) {
    EXPECT_EQ(familyNamed(family.name), &family);
    EXPECT_GT(family.f32, 0) << family.name;
    EXPECT_EQ(family.dotBf16 > 0, describe(family.isa).hasBf16) << family.name;
    EXPECT_EQ(family.tileBf16 > 0, family.isa >= Isa::amxBf16) << family.name;
    EXPECT_NE(familyNames().find(family.name), std::string::npos);
  }
  EXPECT_EQ(familyNamed("z80"), nullptr);
}

TEST(ProcessorFamilies, DecideWhetherProductsAreWidened) {
  auto isNative = [](const char *name, Isa isa) {
    return builtInTarget(*familyNamed(name), isa)
        .multipliesNatively(ElementType::bf16, isa);
  };
  EXPECT_TRUE(isNative("sapphire-rapids", Isa::amxBf16));
  EXPECT_FALSE(isNative("sapphire-rapids", Isa::avx512Bf16));
  EXPECT_TRUE(isNative("cooper-lake", Isa::avx512Bf16));
  EXPECT_TRUE(isNative("zen4", Isa::avx512Bf16));
  EXPECT_TRUE(isNative("zen5", Isa::avx512Bf16));
  EXPECT_FALSE(isNative("skylake-server", Isa::avx512));
  EXPECT_FALSE(isNative("x86-64-v3", Isa::avx2));
}

TEST(ProcessorFamilies, AreFoundByModelAndInstructions) {
  auto nameOf = [](const char *vendor, unsigned family, unsigned model,
                   Isa isa) {
    return familyOf({vendor, family, model}, isa).name;
  };
  EXPECT_EQ(nameOf("GenuineIntel", 6, 0x8f, Isa::amxBf16), "sapphire-rapids");
  // A hypervisor that hides the tiles, or the model.
  EXPECT_EQ(nameOf("GenuineIntel", 6, 0x8f, Isa::avx512Bf16),
            "sapphire-rapids");
  EXPECT_EQ(nameOf("GenuineIntel", 6, 0xa7, Isa::avx512Bf16),
            "sapphire-rapids");
  EXPECT_EQ(nameOf("GenuineIntel", 6, 0x55, Isa::avx512), "skylake-server");
  EXPECT_EQ(nameOf("GenuineIntel", 6, 0x55, Isa::avx512Bf16), "cooper-lake");
  EXPECT_EQ(nameOf("AuthenticAMD", 0x19, 0x11, Isa::avx512Bf16), "zen4");
  EXPECT_EQ(nameOf("AuthenticAMD", 0x19, 0x21, Isa::avx2), "x86-64-v3");
  EXPECT_EQ(nameOf("AuthenticAMD", 0x1a, 0x02, Isa::avx512Bf16), "zen5");
  EXPECT_EQ(nameOf("Unheard Of", 9, 9, Isa::avx512), "x86-64-v4");
}

TEST(ProcessorFamilies, TheHostSaysWhatItIs) {
  ProcessorModel model = hostModel();
  EXPECT_EQ(model.vendor.size(), 12u);
  EXPECT_GT(model.family, 0u);
  if (auto isa = hostIsa()) {
    EXPECT_GE(familyOf(model, *isa).isa, *isa);
  }
}
