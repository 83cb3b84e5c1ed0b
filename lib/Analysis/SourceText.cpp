//===- SourceText.cpp - What users know an operation by -------------------===//
//
// See SourceText.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/SourceText.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace tenon;

/// Names from the outside in, and the innermost position.
static void collectSource(Location location, SmallVector<StringRef> &names,
                          FileLineColLoc &position) {
  if (auto named = dyn_cast<NameLoc>(location)) {
    names.push_back(named.getName());
    collectSource(named.getChildLoc(), names, position);
  } else if (auto call = dyn_cast<CallSiteLoc>(location)) {
    collectSource(call.getCallee(), names, position);
  } else if (auto fused = dyn_cast<FusedLoc>(location)) {
    if (!fused.getLocations().empty())
      collectSource(fused.getLocations().back(), names, position);
  } else if (auto file = dyn_cast<FileLineColLoc>(location)) {
    position = file;
  }
}

std::string tenon::sourceOf(Location location) {
  SmallVector<StringRef> names;
  FileLineColLoc position;
  collectSource(location, names, position);
  std::string text;
  for (StringRef name : llvm::reverse(names)) {
    // What is compiled is no news; its name comes first or alone.
    if (name.consume_front("jit("))
      name = name.split('/').second;
    name = name.trim('/');
    if (!name.empty())
      text += (text.empty() ? "" : "/") + name.str();
  }
  if (position) {
    // A position in the exported text says nothing by the name of that file.
    StringRef file = llvm::sys::path::filename(position.getFilename());
    bool named = file.contains('.') && !file.ends_with(".mlir");
    text += (text.empty() ? "" : " ") +
            (named ? file.str() + ":" : std::string("line ")) +
            std::to_string(position.getLine());
  }
  return text;
}
