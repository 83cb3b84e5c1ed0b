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

/// Empty for an exported text, of which the name says nothing.
static StringRef fileOf(FileLineColLoc position) {
  StringRef file = llvm::sys::path::filename(position.getFilename());
  return file.contains('.') && !file.ends_with(".mlir") ? file : "";
}

std::optional<SourcePlace> tenon::placeOf(Location location) {
  SmallVector<StringRef> names;
  FileLineColLoc position;
  collectSource(location, names, position);
  if (!position)
    return std::nullopt;
  return SourcePlace{fileOf(position).str(), position.getLine()};
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
    StringRef file = fileOf(position);
    text += (text.empty() ? "" : " ") +
            (file.empty() ? std::string("line ") : file.str() + ":") +
            std::to_string(position.getLine());
  }
  return text;
}
