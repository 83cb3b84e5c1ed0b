//===- FormatPolicy.cpp - What the user says of formats -------------------===//
//
// See FormatPolicy.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Precision/FormatPolicy.h"

#include "tenon/Dialect/Step/Step.h"

#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::precision;

std::optional<FormatPolicy> FormatPolicy::parse(StringRef text, StringRef file,
                                                NarrowFormat narrow,
                                                std::string &error) {
  FormatPolicy policy;
  if (text.empty())
    return policy;
  auto refuse = [&](const Twine &message) {
    error = (file + ": " + message).str();
    return std::nullopt;
  };
  auto json = llvm::json::parse(text);
  if (!json)
    return refuse(llvm::toString(json.takeError()));
  const llvm::json::Object *object = json->getAsObject();
  if (!object)
    return refuse("expected an object of arguments, results, operations and "
                  "locations");
  for (const auto &[key, value] : *object) {
    auto subject = llvm::find(subjectNames, StringRef(key));
    if (subject == subjectNames.end())
      return refuse("unknown key '" + StringRef(key) +
                    "', expected arguments, results, operations or locations");
    const llvm::json::Object *named = value.getAsObject();
    if (!named)
      return refuse("'" + StringRef(key) +
                    "' is no object that leads from names to f32 or " +
                    nameOf(narrow));
    for (const auto &[name, format] : *named) {
      auto word = format.getAsString();
      if (!word || (*word != "f32" && *word != nameOf(narrow)))
        return refuse("'" + StringRef(name) + "' in '" + StringRef(key) +
                      "' leads to neither \"f32\" nor \"" + nameOf(narrow) +
                      "\"");
      auto text = std::make_shared<const std::string>(StringRef(name).str());
      auto pattern = llvm::GlobPattern::create(*text);
      if (!pattern)
        return refuse("'" + StringRef(name) + "' is no pattern: " +
                      llvm::toString(pattern.takeError()));
      policy.entries.push_back({Subject(subject - subjectNames.begin()), text,
                                std::move(*pattern),
                                *word == "f32" ? Wish::f32 : Wish::narrow});
    }
  }
  // A JSON object has no order.
  llvm::sort(policy.entries, [](const Entry &a, const Entry &b) {
    return std::tie(a.subject, *a.text) < std::tie(b.subject, *b.text);
  });
  return policy;
}

static Wish stronger(Wish a, Wish b) {
  if (a == Wish::f32 || b == Wish::f32)
    return Wish::f32;
  return a == Wish::narrow ? a : b;
}

Wish FormatPolicy::find(Subject subject, StringRef name) {
  Wish wish = Wish::none;
  for (Entry &entry : entries)
    if (entry.subject == subject && entry.pattern.match(name)) {
      entry.hasMatched = true;
      wish = stronger(wish, entry.wish);
    }
  return wish;
}

Wish FormatPolicy::of(Operation *op) {
  if (entries.empty())
    return Wish::none;
  Wish wish = find(operation, op->getName().getStringRef());
  if (llvm::any_of(entries, [](auto &e) { return e.subject == location; })) {
    std::string text;
    llvm::raw_string_ostream(text) << op->getLoc();
    wish = stronger(wish, find(location, text));
  }
  for (OpOperand &use : op->getUses())
    if (auto end = dyn_cast<func::ReturnOp>(use.getOwner()))
      if (auto name = end->getParentOfType<func::FuncOp>()
                          .getResultAttrOfType<StringAttr>(
                              use.getOperandNumber(), step::nameAttrName))
        wish = stronger(wish, find(result, name.getValue()));
  return wish;
}

std::string FormatPolicy::unmatched() const {
  for (const Entry &entry : entries)
    if (!entry.hasMatched)
      return ("'" + *entry.text + "' in '" + subjectNames[entry.subject] + "'")
          .str();
  return "";
}
