//===- FeatureSet.cpp - The instruction set kernels are compiled for ------===//
//
// The table of feature sets. `-prefer-256-bit` undoes a preference of the
// generic x86-64-v4 processor that does not apply to explicit 16-lane vectors
// and costs code left to LLVM 45 %.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CPU/FeatureSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include <array>

using namespace tenon::codegen;
using tenon::libraries::Isa;

namespace {

struct Row {
  Isa isa;
  llvm::StringLiteral spelling;
  llvm::StringLiteral processor;
  llvm::StringLiteral features;
};

} // namespace

static constexpr Row rows[] = {
    {Isa::avx2, "x86-64-v3", "x86-64-v3", ""},
    {Isa::avx512, "x86-64-v4", "x86-64-v4", "-prefer-256-bit"},
    {Isa::avx512Bf16, "x86-64-v4+avx512bf16", "x86-64-v4",
     "-prefer-256-bit,+avx512bf16"},
};

static const Row &rowOf(Isa isa) { return rows[static_cast<size_t>(isa)]; }

llvm::StringRef FeatureSet::spelling() const { return rowOf(isa).spelling; }
llvm::StringRef FeatureSet::processor() const { return rowOf(isa).processor; }
llvm::StringRef FeatureSet::features() const { return rowOf(isa).features; }

std::optional<FeatureSet> FeatureSet::parse(llvm::StringRef spelling) {
  if (spelling == "host")
    return host();
  for (const Row &row : rows)
    if (row.spelling == spelling)
      return FeatureSet{row.isa};
  return std::nullopt;
}

std::optional<FeatureSet> FeatureSet::host() {
  llvm::StringMap<bool> has = llvm::sys::getHostCPUFeatures();
  auto all = [&](std::initializer_list<llvm::StringRef> names) {
    return llvm::all_of(names,
                        [&](llvm::StringRef name) { return has.lookup(name); });
  };
  if (!all({"avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe"}))
    return std::nullopt;
  if (!all({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}))
    return FeatureSet{Isa::avx2};
  return FeatureSet{has.lookup("avx512bf16") ? Isa::avx512Bf16 : Isa::avx512};
}
