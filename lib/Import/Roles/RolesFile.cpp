//===- RolesFile.cpp - A user's statement of roles and successors --------===//
//
// Reads the JSON form of --roles. Unknown keys are errors: a misspelt "result"
// would otherwise silently change what is trained.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/RolesFile.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>

using namespace llvm;

namespace tenon::importer {

static Error fault(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

static std::string roleWords() {
  std::string words;
  for (uint32_t value = 0; value <= step::getMaxEnumValForRole(); ++value)
    if (std::optional<step::Role> role = step::symbolizeRole(value)) {
      if (!words.empty())
        words += ", ";
      words += step::stringifyRole(*role);
    }
  return words;
}

static Error parseEntry(StringRef name, const json::Value &value,
                        RolesEntry &entry) {
  entry.argument = name.str();
  const json::Object *object = value.getAsObject();
  if (!object)
    return fault(formatv("entry '{0}' must be an object with \"role\" and "
                         "\"result\"",
                         name));
  for (const auto &[key, field] : *object) {
    if (key == "role") {
      std::optional<StringRef> word = field.getAsString();
      entry.role = word ? step::symbolizeRole(*word) : std::nullopt;
      if (!entry.role)
        return fault(
            formatv("entry '{0}': \"role\" is {1}, expected one of {2}", name,
                    field, roleWords()));
    } else if (key == "result") {
      entry.result = field.getAsInteger();
      if (!entry.result || *entry.result < 0)
        return fault(
            formatv("entry '{0}': \"result\" is {1}, expected the index "
                    "of a result of @main",
                    name, field));
    } else {
      return fault(formatv("entry '{0}' has the key \"{1}\", expected \"role\" "
                           "or \"result\"",
                           name, StringRef(key)));
    }
  }
  if (!entry.role && !entry.result)
    return fault(
        formatv("entry '{0}' has neither \"role\" nor \"result\"", name));
  return Error::success();
}

/// The JSON reader recurses with nesting; a roles file nests twice.
static bool nestsTooDeeply(StringRef text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted && c == '\\')
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == '{' || c == '[') && ++depth > 16)
      return true;
    else if (!quoted && (c == '}' || c == ']'))
      --depth;
  }
  return false;
}

Expected<std::vector<RolesEntry>> parseRolesFile(StringRef text) {
  if (nestsTooDeeply(text))
    return fault("nested deeper than 16 brackets, expected two");
  Expected<json::Value> document = json::parse(text);
  if (!document)
    return document.takeError();
  const json::Object *object = document->getAsObject();
  if (!object)
    return fault("expected an object from argument names to roles");
  std::vector<RolesEntry> entries;
  for (const auto &[key, value] : *object)
    if (Error error = parseEntry(key, value, entries.emplace_back()))
      return error;
  llvm::sort(entries, [](const RolesEntry &a, const RolesEntry &b) {
    return a.argument < b.argument;
  });
  return entries;
}

Expected<std::vector<RolesEntry>> readRolesFile(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return fault(formatv("cannot read roles file '{0}': {1}", path,
                         buffer.getError().message()));
  Expected<std::vector<RolesEntry>> entries =
      parseRolesFile((*buffer)->getBuffer());
  if (!entries)
    return fault(
        formatv("roles file '{0}': {1}", path, toString(entries.takeError())));
  return entries;
}

} // namespace tenon::importer
