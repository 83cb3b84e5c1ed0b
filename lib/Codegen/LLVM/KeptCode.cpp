//===- KeptCode.cpp - Code of modules that were compiled before -----------===//
//
// See KeptCode.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/LLVM/KeptCode.h"

#include "tenon/Codegen/LLVM/CompilerIdentity.h"

using namespace mlir;

namespace tenon::codegen {

void forgetPlaces(ModuleOp module) {
  auto nowhere = UnknownLoc::get(module.getContext());
  module->walk([&](Operation *op) {
    op->setLoc(nowhere);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setLoc(nowhere);
  });
}

std::vector<MadeCode> makeUnlessKept(
    std::vector<std::string> bytecodes, const format::CacheFolder &kept,
    StringRef target, unsigned threads,
    llvm::function_ref<std::unique_ptr<CodeMaker>(MLIRContext &)> newMaker) {
  if (kept.isNone())
    return makeSideBySide(std::move(bytecodes), threads, newMaker);
  const std::string front = compilerIdentity() + target.str() + "\n";
  std::vector<MadeCode> all(bytecodes.size());
  std::vector<std::string> missing, keys;
  std::vector<size_t> places; // of what is missing
  for (auto [place, bytecode] : llvm::enumerate(bytecodes)) {
    std::string key = front + bytecode;
    if (auto known = kept.find(key)) {
      auto *bytes = reinterpret_cast<const char *>(known->data());
      all[place].code = GeneratedCode(bytes, bytes + known->size());
      continue;
    }
    missing.push_back(std::move(bytecode));
    keys.push_back(std::move(key));
    places.push_back(place);
  }
  std::vector<MadeCode> made =
      makeSideBySide(std::move(missing), threads, newMaker);
  std::vector<format::CacheFolder::Made> toKeep;
  for (auto [place, key, each] : llvm::zip_equal(places, keys, made)) {
    all[place] = std::move(each);
    const MadeCode &code = all[place];
    if (succeeded(code.code) && code.errors.empty())
      toKeep.push_back({key, std::as_bytes(std::span(*code.code))});
  }
  kept.keep(toKeep);
  return all;
}

} // namespace tenon::codegen
