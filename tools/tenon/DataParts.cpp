//===- DataParts.cpp - The files that batches are read from ---------------===//
//
// See DataParts.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/DataParts.h"

#include "tools/tenon/NaturalOrder.h"

#include "tenon/Format/Hash.h"
#include "tenon/Runtime/State.h"
#include "tenon/Support/Refuse.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

using namespace tenon;
using namespace tenon::tool;

struct DataParts::OpenPart {
  std::vector<std::unique_ptr<format::TensorFile>> files;
  std::vector<Found> fields; // as `given`
};

namespace {

constexpr size_t mostOpenParts = 64;
constexpr int64_t mostRows = int64_t(1) << 62;

std::string inQuotes(const std::string &text) { return "'" + text + "'"; }

std::string listed(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + inQuotes(name);
  return text;
}

/// A tensor that only one of two lists of increasing numbers has, and whether
/// that is the first.
std::optional<std::pair<size_t, bool>>
firstDifference(const std::vector<size_t> &a, const std::vector<size_t> &b) {
  for (size_t tensor : a)
    if (!std::ranges::binary_search(b, tensor))
      return std::pair(tensor, true);
  for (size_t tensor : b)
    if (!std::ranges::binary_search(a, tensor))
      return std::pair(tensor, false);
  return std::nullopt;
}

/// Splits `x-003` or `x_3` into what it is and its number; a name without one
/// has no number.
std::pair<std::string, std::string> splitNumber(const std::string &name) {
  size_t digits = name.find_last_not_of("0123456789");
  if (digits == std::string::npos || digits + 1 == name.size() || digits == 0 ||
      std::string_view("-_.").find(name[digits]) == std::string_view::npos)
    return {name, ""};
  return {name.substr(0, digits), name.substr(digits + 1)};
}

bool isInteger(ElementType type) {
  return type >= ElementType::i8 && type <= ElementType::ui64;
}

/// Whether an integer type holds all values of another one. Tokens are not
/// negative, so the types of files that have a sign hold half of theirs.
bool holdsTokens(ElementType type, ElementType from) {
  auto bits = [](ElementType of) {
    bool isSigned = of <= ElementType::i64;
    return byteWidth(of) * 8 - (isSigned ? 1 : 0);
  };
  return bits(type) >= bits(from);
}

template <typename To, typename From>
void widen(std::span<const std::byte> from, std::span<std::byte> into) {
  for (size_t i = 0; i < into.size() / sizeof(To); ++i) {
    From token;
    std::memcpy(&token, from.data() + i * sizeof(From), sizeof(From));
    To wide = To(token);
    std::memcpy(into.data() + i * sizeof(To), &wide, sizeof(To));
  }
}

template <typename From>
void widenTo(ElementType type, std::span<const std::byte> from,
             std::span<std::byte> into) {
  switch (byteWidth(type)) {
  case 1:
    return widen<uint8_t, From>(from, into);
  case 2:
    return widen<uint16_t, From>(from, into);
  case 4:
    return widen<uint32_t, From>(from, into);
  default:
    return widen<uint64_t, From>(from, into);
  }
}

/// Converts tokens to a type that holds them.
void convertTokens(ElementType fileType, ElementType type,
                   std::span<const std::byte> from, std::span<std::byte> into) {
  switch (byteWidth(fileType)) {
  case 1:
    return widenTo<uint8_t>(type, from, into);
  case 2:
    return widenTo<uint16_t>(type, from, into);
  case 4:
    return widenTo<uint32_t>(type, from, into);
  default:
    return widenTo<uint64_t>(type, from, into);
  }
}

} // namespace

const char *DataParts::rowWord() const {
  return options.tokenType   ? "windows"
         : options.isSamples ? "samples"
                             : "steps";
}

std::optional<size_t> DataParts::findTensor(std::string_view name) const {
  if (options.entryPoint != "step")
    if (auto own =
            executor.findTensor(options.entryPoint + "." + std::string(name)))
      return own;
  return executor.findTensor(name);
}

std::string DataParts::wantedNames() const {
  std::vector<std::string> names;
  const std::vector<format::Tensor> &tensors = executor.index().tensors;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (executor.isBatch(i, options.entryPoint))
      names.push_back(tensors[i].name);
  return names.empty() ? "none" : listed(names);
}

std::unique_ptr<DataParts> DataParts::open(const BatchOptions &options,
                                           const runtime::Executor &executor,
                                           std::string &error) {
  std::unique_ptr<DataParts> parts(new DataParts(options, executor));
  if (!parts->resolveNames(error) || !parts->listParts(error) ||
      !(options.tokenType
            ? parts->findTokenFields(error) && parts->checkTokens(error)
            : parts->checkParts(error)))
    return nullptr;
  for (Part &part : parts->parts) {
    part.first = parts->rowCount;
    if (part.rows > mostRows - parts->rowCount)
      return refuse(error, inQuotes(options.path) + " holds more than 2^62 " +
                               parts->rowWord());
    parts->rowCount += part.rows;
  }
  if (parts->rowCount < parts->batchRows)
    return refuse(error, inQuotes(options.path) + " holds " +
                             std::to_string(parts->rowCount) + " " +
                             parts->rowWord() + ", a batch takes " +
                             std::to_string(parts->batchRows));
  return parts;
}

bool DataParts::resolveNames(std::string &error) {
  for (const auto &[name, argument] : options.names) {
    auto tensor = findTensor(argument);
    if (!tensor || !executor.isBatch(*tensor, options.entryPoint))
      return refuse(error, "--map gives " + inQuotes(name) + " to " +
                               inQuotes(argument) +
                               ", which is no batch argument of the step; it "
                               "takes " +
                               wantedNames());
    if (!nameOf.emplace(*tensor, name).second)
      return refuse(error, "--map gives both " + inQuotes(nameOf[*tensor]) +
                               " and " + inQuotes(name) + " to " +
                               inQuotes(argument));
  }
  return true;
}

bool DataParts::listParts(std::string &error) {
  std::error_code code;
  isFolder = std::filesystem::is_directory(options.path, code);
  if (!isFolder) {
    parts.push_back({{options.path}, {""}, 0, 0});
    return true;
  }
  std::vector<std::filesystem::path> found;
  std::set<std::string> kinds;
  for (std::filesystem::directory_iterator entry(options.path, code), end;
       !code && entry != end; entry.increment(code)) {
    std::string kind = entry->path().extension().string();
    bool isToken = options.tokenType &&
                   !entry->path().filename().string().starts_with('.') &&
                   entry->is_regular_file(code);
    if (!isToken && (options.tokenType || (kind != ".safetensors" &&
                                           kind != ".npy" && kind != ".npz")))
      continue;
    found.push_back(entry->path());
    kinds.insert(kind);
  }
  if (code)
    return refuse(error, "cannot read the folder " + inQuotes(options.path) +
                             ": " + code.message());
  if (found.empty())
    return refuse(error, options.tokenType
                             ? "no file in " + inQuotes(options.path)
                             : "no .safetensors, .npy or .npz file in " +
                                   inQuotes(options.path));
  if (kinds.size() > 1 && !options.tokenType)
    return refuse(error, inQuotes(options.path) + " holds " + *kinds.begin() +
                             " and " + *kinds.rbegin() +
                             " files; give a folder with files of one kind");
  std::ranges::sort(found, [](const auto &a, const auto &b) {
    return comesBefore(a.filename().native(), b.filename().native());
  });
  if (*kinds.begin() != ".npy" || options.tokenType) {
    for (const std::filesystem::path &file : found)
      parts.push_back({{file.string()}, {""}, 0, 0});
    return true;
  }
  // Each array is a file: those with one number behind their names belong
  // together.
  auto comesFirst = [](const std::string &a, const std::string &b) {
    return comesBefore(a, b);
  };
  std::map<std::string, Part, decltype(comesFirst)> byNumber(comesFirst);
  for (const std::filesystem::path &file : found) {
    std::string stem = file.stem().string();
    auto tensor = findTensor(stem);
    bool isName = options.names.contains(stem) ||
                  (tensor && executor.isBatch(*tensor, options.entryPoint));
    auto [name, number] =
        isName ? std::pair(stem, std::string()) : splitNumber(stem);
    Part &part = byNumber[number];
    part.files.push_back(file.string());
    part.arrayNames.push_back(name);
  }
  for (auto &[number, part] : byNumber)
    parts.push_back(std::move(part));
  return true;
}

std::unique_ptr<DataParts::OpenPart>
DataParts::openFiles(const Part &part, std::string &error) const {
  auto open = std::make_unique<OpenPart>();
  for (size_t i = 0; i < part.files.size(); ++i) {
    auto file = options.tokenType
                    ? format::TensorFile::openRaw(part.files[i], "tokens",
                                                  *options.tokenType, error)
                    : format::TensorFile::open(part.files[i], error,
                                               part.arrayNames[i]);
    if (!file)
      return nullptr;
    open->files.push_back(std::move(file));
  }
  return open;
}

DataParts::Found DataParts::find(const OpenPart &part, size_t tensor) const {
  auto mapped = nameOf.find(tensor);
  for (const auto &file : part.files) {
    const format::StoredTensor *stored =
        mapped != nameOf.end()
            ? file->find(mapped->second)
            : runtime::findStored(*file, executor.index().tensors[tensor]);
    if (stored &&
        (mapped != nameOf.end() || !options.names.contains(stored->name)))
      return {file.get(), stored};
  }
  return {};
}

/// The batch tensors that a part holds; nothing with a message in `error` if it
/// holds none, or state.
std::optional<std::vector<size_t>>
DataParts::batchTensorsOf(const OpenPart &part, const std::string &name,
                          std::string &error) const {
  std::vector<size_t> found;
  const std::vector<format::Tensor> &tensors = executor.index().tensors;
  for (size_t i = 0; i < tensors.size(); ++i) {
    bool isThere = find(part, i).stored != nullptr;
    if (executor.isState(i) && isThere) {
      error = inQuotes(name) + " holds the state tensor " +
              inQuotes(tensors[i].name) +
              ", which every batch would set back; give state with --state or "
              "--inputs";
      return std::nullopt;
    }
    if (executor.isBatch(i, options.entryPoint) && isThere)
      found.push_back(i);
    if (!isThere && nameOf.contains(i)) {
      error = inQuotes(name) + " holds no tensor " + inQuotes(nameOf.at(i)) +
              ", which --map gives to " + inQuotes(tensors[i].name);
      return std::nullopt;
    }
  }
  if (!found.empty())
    return found;
  std::vector<std::string> there;
  for (const auto &file : part.files)
    for (const format::StoredTensor &stored : file->tensors())
      there.push_back(stored.name);
  error = inQuotes(name) + " holds no batch tensor; the step takes " +
          wantedNames() + ", the file has " +
          (there.empty() ? "none" : listed(there)) +
          "; say which is which with --map FILE_NAME=ARGUMENT";
  return std::nullopt;
}

/// Empty if `stored` has rows of what the program takes, and `rows` is how
/// many.
std::string DataParts::whyNotRows(size_t tensor,
                                  const format::StoredTensor &stored,
                                  int64_t &rows) const {
  const format::Tensor &described = executor.index().tensors[tensor];
  rows = 1;
  if (!options.isSamples && isFolder)
    return runtime::whyNotMatching(described, stored);
  std::string word = options.isSamples ? "sample" : "step";
  if (stored.shape.empty() || stored.shape.front() <= 0)
    return "batch tensor " + inQuotes(stored.name) +
           " needs a leading dimension that counts " + word + "s";
  format::Tensor row = described;
  if (options.isSamples && row.shape.empty())
    return inQuotes(described.name) +
           " is a scalar, which samples do not give; leave it out of the files";
  if (options.isSamples)
    row.shape.erase(row.shape.begin());
  // The stored tensor is the row's with the rows in front.
  format::StoredTensor one = stored;
  one.shape.erase(one.shape.begin());
  rows = stored.shape.front();
  std::string wrong = runtime::whyNotMatching(row, one);
  return wrong.empty()
             ? ""
             : "batch tensor " + inQuotes(stored.name) +
                   " without its leading " + word + " dimension: " + wrong;
}

bool DataParts::checkParts(std::string &error) {
  const std::vector<format::Tensor> &described = executor.index().tensors;
  std::vector<size_t> tensors;
  for (Part &part : parts) {
    const std::string &name = part.files.front();
    auto open = openFiles(part, error);
    auto found = open ? batchTensorsOf(*open, name, error) : std::nullopt;
    if (!found)
      return false;
    for (size_t tensor : *found) {
      const format::StoredTensor &stored = *find(*open, tensor).stored;
      int64_t rows = 0;
      if (std::string wrong = whyNotRows(tensor, stored, rows); !wrong.empty())
        return refuse(error, isFolder
                                 ? inQuotes(name) +
                                       " does not fit the program: " + wrong
                                 : wrong);
      if (tensor == found->front())
        part.rows = rows;
      if (part.rows != rows)
        return refuse(
            error, inQuotes(name) + " holds " + std::to_string(part.rows) +
                       " " + rowWord() + " of " +
                       inQuotes(find(*open, found->front()).stored->name) +
                       " and " + std::to_string(rows) + " of " +
                       inQuotes(stored.name) +
                       "; every tensor needs the same number of " + rowWord());
    }
    if (tensors.empty())
      tensors = *found;
    if (auto other = firstDifference(tensors, *found)) {
      const std::string &first = parts.front().files.front();
      return refuse(error, inQuotes(other->second ? name : first) + " lacks " +
                               inQuotes(described[other->first].name) +
                               ", which " +
                               inQuotes(other->second ? first : name) +
                               " has; every file must give the same tensors");
    }
  }
  for (size_t tensor : tensors)
    given.push_back({tensor, format::bytesOf(described[tensor]), 0, 0});
  return !options.isSamples || checkRowsPerBatch(error);
}

/// All arguments that batches give take the same number of samples.
bool DataParts::checkRowsPerBatch(std::string &error) {
  const std::vector<format::Tensor> &described = executor.index().tensors;
  batchRows = described[given.front().tensor].shape.front();
  for (Field &field : given) {
    const format::Tensor &tensor = described[field.tensor];
    if (tensor.shape.front() != batchRows || batchRows < 1)
      return refuse(error, inQuotes(described[given.front().tensor].name) +
                               " takes " + std::to_string(batchRows) + " " +
                               rowWord() + " per step and " +
                               inQuotes(tensor.name) + " takes " +
                               std::to_string(tensor.shape.front()) +
                               "; the first dimension of all that batches "
                               "give must be the same and not 0");
    field.rowBytes = format::bytesOf(tensor) / uint64_t(batchRows);
  }
  return true;
}

bool DataParts::findTokenFields(std::string &error) {
  // What a window has, where that begins, and how much longer than the others
  // it is.
  struct Piece {
    const char *name;
    int64_t shift, more;
  };
  static constexpr Piece pieces[] = {
      {"input", 0, 0}, {"target", 1, 0}, {"window", 0, 1}};
  for (const auto &[name, argument] : options.names)
    if (std::ranges::none_of(
            pieces, [&](const Piece &piece) { return piece.name == name; }))
      return refuse(error, "--map gives " + inQuotes(name) + " to " +
                               inQuotes(argument) +
                               ", but a list of tokens has only 'input', "
                               "'target' and 'window'");
  for (const Piece &piece : pieces) {
    auto mapped = std::ranges::find_if(
        nameOf, [&](const auto &entry) { return entry.second == piece.name; });
    auto tensor = mapped != nameOf.end() ? std::optional(mapped->first)
                                         : findTensor(piece.name);
    if (!tensor || !executor.isBatch(*tensor, options.entryPoint))
      continue;
    const format::Tensor &described = executor.index().tensors[*tensor];
    if (described.shape.size() != 2 || described.shape[1] <= piece.more ||
        !isInteger(described.type))
      return refuse(error, inQuotes(described.name) +
                               " takes no tokens: expected whole numbers in "
                               "the shape [samples, length]");
    if (!holdsTokens(described.type, *options.tokenType))
      return refuse(error, inQuotes(described.name) + " is " +
                               std::string(tenon::name(described.type)) +
                               ", which does not hold every " +
                               std::string(tenon::name(*options.tokenType)) +
                               "; if the files have smaller numbers only, "
                               "give --tokens a type with a sign");
    int64_t length = described.shape[1] - piece.more;
    if (windowLength != 0 && length != windowLength)
      return refuse(error, inQuotes(described.name) + " takes windows of " +
                               std::to_string(length) +
                               " tokens, another "
                               "argument takes " +
                               std::to_string(windowLength));
    windowLength = length;
    given.push_back({*tensor, 0, piece.shift, described.shape[1]});
  }
  if (given.empty())
    return refuse(error, "a list of tokens gives 'input', 'target', which is "
                         "the input one token later, and 'window', which is "
                         "both in one; the step takes " +
                             wantedNames() +
                             ". Say which is which with --map "
                             "input=ARGUMENT --map target=ARGUMENT");
  return checkRowsPerBatch(error);
}

bool DataParts::checkTokens(std::string &error) {
  for (Part &part : parts) {
    auto open = openFiles(part, error);
    if (!open)
      return false;
    // A window's last target is the first input of the next one.
    int64_t tokens = open->files[0]->tensors()[0].shape[0];
    part.rows = tokens > 0 ? (tokens - 1) / windowLength : 0;
  }
  return true;
}

std::string DataParts::layout() const {
  std::string text;
  for (const Part &part : parts) {
    for (const std::string &file : part.files)
      text += std::filesystem::path(file).filename().string() + "\n";
    text += std::to_string(part.rows) + "\n";
  }
  return format::hashText(
      format::hashOf(std::as_bytes(std::span(text.data(), text.size()))));
}

std::shared_ptr<const DataParts::OpenPart>
DataParts::opened(size_t number, std::string &error) const {
  {
    std::lock_guard lock(access);
    if (auto found = kept.find(number); found != kept.end())
      return found->second;
  }
  const Part &part = parts[number];
  std::shared_ptr<OpenPart> open = openFiles(part, error);
  if (!open)
    return nullptr;
  for (const Field &field : given) {
    int64_t rows = 0;
    Found found = options.tokenType ? Found{open->files[0].get(),
                                            open->files[0]->tensors().data()}
                                    : find(*open, field.tensor);
    bool fits = found.stored != nullptr;
    if (fits && options.tokenType)
      rows = found.stored->shape[0] > 0
                 ? (found.stored->shape[0] - 1) / windowLength
                 : 0;
    else if (fits)
      fits = whyNotRows(field.tensor, *found.stored, rows).empty();
    if (!fits || rows != part.rows) {
      error = inQuotes(part.files.front()) +
              " has changed since the run began: " +
              inQuotes(executor.index().tensors[field.tensor].name) +
              " no longer fits";
      return nullptr;
    }
    open->fields.push_back(found);
  }
  std::lock_guard lock(access);
  if (kept.emplace(number, open).second)
    age.push_back(number);
  // Who reads from one that is let go keeps it.
  if (age.size() > mostOpenParts) {
    kept.erase(age.front());
    age.pop_front();
  }
  return open;
}

bool DataParts::readFrom(const OpenPart &part, size_t field, int64_t row,
                         uint64_t from, std::span<std::byte> into,
                         std::string &error) const {
  auto [file, stored] = part.fields[field];
  return options.tokenType
             ? readTokens(part, field, row, from, into, error)
             : file->read(*stored, uint64_t(row) * given[field].rowBytes + from,
                          into, error);
}

/// Windows overlap in the file, so each is read by itself.
bool DataParts::readTokens(const OpenPart &part, size_t number, int64_t row,
                           uint64_t from, std::span<std::byte> into,
                           std::string &error) const {
  const Field &field = given[number];
  auto [file, stored] = part.fields[number];
  const ElementType type = executor.index().tensors[field.tensor].type;
  const auto width = uint64_t(byteWidth(*options.tokenType)),
             widthHere = uint64_t(byteWidth(type));
  for (; !into.empty(); ++row, from = 0) {
    uint64_t bytes = std::min<uint64_t>(into.size(), field.rowBytes - from);
    std::vector<std::byte> tokens(bytes / widthHere * width);
    uint64_t first =
        uint64_t(row * windowLength + field.shift) + from / widthHere;
    if (!file->read(*stored, first * width, tokens, error))
      return false;
    convertTokens(*options.tokenType, type, tokens, into.first(bytes));
    into = into.subspan(bytes);
  }
  return true;
}

bool DataParts::read(size_t field, int64_t row, uint64_t from,
                     std::span<std::byte> into, std::string &error) const {
  const uint64_t rowBytes = given[field].rowBytes;
  while (!into.empty()) {
    row += int64_t(from / rowBytes);
    from %= rowBytes;
    auto after = std::ranges::upper_bound(parts, row, {}, &Part::first);
    const Part &part = *std::prev(after);
    auto open = opened(size_t(&part - parts.data()), error);
    if (!open)
      return false;
    uint64_t bytes = std::min<uint64_t>(
        into.size(), uint64_t(part.first + part.rows - row) * rowBytes - from);
    if (!readFrom(*open, field, row - part.first, from, into.first(bytes),
                  error))
      return false;
    into = into.subspan(bytes);
    from += bytes;
  }
  return true;
}
