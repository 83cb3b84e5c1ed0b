//===- OffsetPackingText.cpp - packing problems and plans as text ---------===//
//
// One pass over the text. A plan repeats the problem's lines, so these are kept
// as views, not as copies: a million buffers must stay small.
//
//===----------------------------------------------------------------------===//

#include "tenon/Solver/OffsetPackingText.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <functional>

namespace tenon::solver {

namespace {

enum class Column {
  Id,
  Lower,
  Upper,
  Size,
  Alignment,
  Gaps,
  Offset,
  Group,
  GroupOffset,
  Hint,
};

/// `lastIsLive`: the column names the last moment of life, not the first after
/// it.
struct ColumnName {
  std::string_view name;
  Column column;
  bool lastIsLive = false;
};

constexpr ColumnName columnNames[] = {
    {"id", Column::Id},        {"buffer", Column::Id},
    {"buffer_id", Column::Id}, {"lower", Column::Lower},
    {"start", Column::Lower},  {"begin", Column::Lower},
    {"upper", Column::Upper},  {"end", Column::Upper, true},
    {"size", Column::Size},    {"alignment", Column::Alignment},
    {"gaps", Column::Gaps},    {"offset", Column::Offset},
    {"group", Column::Group},  {"group-offset", Column::GroupOffset},
    {"hint", Column::Hint},
};

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

/// The text as an integer, or nothing.
std::optional<int64_t> integer(std::string_view text) {
  int64_t value = 0;
  const char *last = text.data() + text.size();
  auto [end, error] = std::from_chars(text.data(), last, value);
  if (text.empty() || error != std::errc() || end != last)
    return std::nullopt;
  return value;
}

/// Cuts the first part up to `separator` off `text`.
std::string_view cut(std::string_view &text, char separator) {
  size_t end = text.find(separator);
  std::string_view part = text.substr(0, end);
  text =
      end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return part;
}

/// The next line, without its end; counts it.
std::string_view cutLine(std::string_view &text, int64_t &number) {
  ++number;
  std::string_view line = cut(text, '\n');
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  return line;
}

/// Ids seen so far: an open hash table of indices into the lines.
class IdTable {
public:
  /// The earlier line with this id, or nothing; enters it otherwise.
  std::optional<uint32_t>
  enter(std::string_view id, uint32_t index,
        const std::function<std::string_view(size_t)> &idOf) {
    if (2 * (used + 1) > slots.size())
      grow(idOf);
    size_t at = find(id, idOf);
    if (slots[at] != empty)
      return slots[at];
    slots[at] = index;
    ++used;
    return std::nullopt;
  }

private:
  static constexpr uint32_t empty = ~uint32_t(0);
  size_t find(std::string_view id,
              const std::function<std::string_view(size_t)> &idOf) const {
    size_t at = std::hash<std::string_view>()(id) & (slots.size() - 1);
    while (slots[at] != empty && idOf(slots[at]) != id)
      at = (at + 1) & (slots.size() - 1);
    return at;
  }
  void grow(const std::function<std::string_view(size_t)> &idOf) {
    std::vector<uint32_t> old = std::move(slots);
    slots.assign(std::max<size_t>(64, 4 * old.size()), empty);
    for (uint32_t index : old)
      if (index != empty)
        slots[find(idOf(index), idOf)] = index;
  }
  std::vector<uint32_t> slots;
  size_t used = 0;
};

class Reader {
public:
  Reader(std::string_view text, OffsetPackingFile &file, bool asPlan,
         std::vector<int64_t> *offsets)
      : rest(text), file(file), asPlan(asPlan), offsets(offsets) {}

  std::optional<TextError> run() {
    file = OffsetPackingFile();
    file.header = cutLine(rest, number);
    if (auto error = readHeader())
      return error;
    IdTable ids;
    auto idOf = [&](size_t i) { return idField(file.lines[i]); };
    size_t expected = std::count(rest.begin(), rest.end(), '\n') + 1;
    file.lines.reserve(expected);
    file.problem.buffers.reserve(expected);
    while (!rest.empty()) {
      std::string_view line = cutLine(rest, number);
      if (line.empty())
        continue;
      if (auto error = readBuffer(line))
        return error;
      file.lines.push_back(line);
      if (auto earlier =
              ids.enter(idField(line),
                        static_cast<uint32_t>(file.lines.size() - 1), idOf))
        return fail("id " + quoted(idField(line)) +
                    " is already that of buffer " +
                    std::to_string(*earlier + 1));
    }
    return std::nullopt;
  }

private:
  TextError fail(std::string message) const {
    return {number, std::move(message)};
  }
  std::string_view idField(std::string_view line) const {
    std::string_view field;
    for (size_t i = 0; i <= idColumn; ++i)
      field = cut(line, ',');
    return field;
  }
  std::optional<TextError> readHeader();
  std::optional<TextError> readBuffer(std::string_view line);
  std::optional<TextError> readGaps(std::string_view text, int64_t lower,
                                    int64_t upper,
                                    OffsetPackingProblem::Buffer &buffer);

  std::string_view rest;
  OffsetPackingFile &file;
  bool asPlan;
  std::vector<int64_t> *offsets;
  int64_t number = 0;
  std::vector<ColumnName> columns;
  size_t idColumn = 0;
};

std::optional<TextError> Reader::readHeader() {
  std::string_view header = file.header;
  bool more = true;
  while (more) {
    more = header.find(',') != std::string_view::npos;
    std::string_view name = cut(header, ',');
    auto known =
        std::find_if(std::begin(columnNames), std::end(columnNames),
                     [&](const ColumnName &c) { return c.name == name; });
    if (known == std::end(columnNames))
      return fail("unknown column " + quoted(name) +
                  "; expected id, lower, upper, size and optionally alignment, "
                  "gaps, offset, group, group-offset");
    for (const ColumnName &other : columns)
      if (other.column == known->column)
        return fail("column " + quoted(name) + " appears twice");
    if (known->column == Column::Id)
      idColumn = columns.size();
    if (known->column == Column::Offset)
      file.offsetColumn = columns.size();
    columns.push_back(*known);
  }
  for (auto [column, name] :
       {std::pair(Column::Id, "id"), std::pair(Column::Lower, "lower"),
        std::pair(Column::Upper, "upper"), std::pair(Column::Size, "size")})
    if (std::none_of(columns.begin(), columns.end(),
                     [&](const ColumnName &c) { return c.column == column; }))
      return fail("column '" + std::string(name) + "' is missing");
  if (asPlan && !file.offsetColumn)
    return fail("column 'offset' is missing");
  return std::nullopt;
}

std::optional<TextError> Reader::readBuffer(std::string_view line) {
  OffsetPackingProblem::Buffer buffer;
  int64_t lower = 0, upper = 0;
  std::string_view gaps, fields = line;
  bool lastIsLive = false, hasGroupOffset = false;
  size_t found = std::count(line.begin(), line.end(), ',') + 1;
  if (found != columns.size())
    return fail("found " + std::to_string(found) + " fields, expected " +
                std::to_string(columns.size()));
  for (const ColumnName &column : columns) {
    std::string_view field = cut(fields, ',');
    if (column.column == Column::Id) {
      if (field.empty())
        return fail("the id is empty");
      continue;
    }
    if (column.column == Column::Gaps) {
      gaps = field;
      continue;
    }
    if (column.column == Column::Hint)
      continue;
    bool mayBeEmpty = column.column == Column::Group ||
                      column.column == Column::GroupOffset ||
                      (column.column == Column::Offset && !asPlan);
    if (field.empty() && mayBeEmpty)
      continue;
    auto value = integer(field);
    if (!value)
      return fail(std::string(column.name) + " " + quoted(field) +
                  " is not a 64-bit integer");
    switch (column.column) {
    case Column::Lower:
      lower = *value;
      break;
    case Column::Upper:
      upper = *value;
      lastIsLive = column.lastIsLive;
      break;
    case Column::Size:
      if (*value < 0)
        return fail("size " + std::to_string(*value) + " is negative");
      buffer.size = *value;
      break;
    case Column::Alignment:
      if (*value < 1)
        return fail("alignment " + std::to_string(*value) + " is not positive");
      buffer.alignment = *value;
      break;
    case Column::Offset:
      if (asPlan)
        offsets->push_back(*value);
      else if (*value < -1)
        return fail("offset " + std::to_string(*value) + " is negative");
      else if (*value >= 0)
        buffer.fixedOffset = *value;
      break;
    case Column::Group:
      if (*value < -1 || *value > std::numeric_limits<int32_t>::max())
        return fail("group " + std::to_string(*value) +
                    " is not between 0 and 2^31 - 1");
      buffer.group = static_cast<int32_t>(*value);
      break;
    default:
      buffer.groupOffset = *value;
      hasGroupOffset = *value != 0;
      break;
    }
  }
  if (hasGroupOffset && buffer.group < 0)
    return fail("a group-offset without a group");
  constexpr int64_t largestTime = int64_t(1) << 60;
  if (lower < -largestTime || lower > largestTime || upper < -largestTime ||
      upper > largestTime)
    return fail("a time is beyond 2^60");
  upper += lastIsLive;
  if (lower > upper)
    return fail("the buffer ends at " + std::to_string(upper) +
                ", before it begins at " + std::to_string(lower));
  if (gaps.empty()) {
    if (lower < upper)
      buffer.windows.push_back({lower, upper});
  } else if (auto error = readGaps(gaps, lower, upper, buffer)) {
    return error;
  }
  file.problem.buffers.push_back(std::move(buffer));
  return std::nullopt;
}

/// Gaps "7-9 12-15@0:64": dead in [7, 9), in [12, 15) only the bytes [0, 64).
std::optional<TextError>
Reader::readGaps(std::string_view text, int64_t lower, int64_t upper,
                 OffsetPackingProblem::Buffer &buffer) {
  bool lastIsLive = false;
  for (const ColumnName &column : columns)
    lastIsLive |= column.lastIsLive;
  std::vector<Window> gaps;
  while (!text.empty()) {
    std::string_view gap = cut(text, ' ');
    if (gap.empty())
      continue;
    std::string_view slice = gap;
    std::string_view times = cut(slice, '@');
    // A minus sign may stand before each number; the separator is the first
    // after a digit.
    size_t dash = times.find('-', 1);
    auto begin = integer(times.substr(0, dash));
    auto end = dash == std::string_view::npos ? std::nullopt
                                              : integer(times.substr(dash + 1));
    if (!begin || !end)
      return fail("gap " + quoted(gap) + " is not begin-end");
    Window window{*begin, *end, 0, 0};
    if (*end < upper)
      window.end += lastIsLive;
    if (window.begin >= window.end || window.begin < lower ||
        window.end > upper)
      return fail("gap " + quoted(gap) + " is not inside [" +
                  std::to_string(lower) + ", " + std::to_string(upper) + ")");
    if (gap.find('@') != std::string_view::npos) {
      auto sliceBegin = integer(cut(slice, ':'));
      auto sliceEnd = integer(slice);
      if (!sliceBegin || !sliceEnd || *sliceBegin < 0 ||
          *sliceEnd < *sliceBegin || *sliceEnd > buffer.size)
        return fail("gap " + quoted(gap) +
                    " names bytes that are not inside the " +
                    std::to_string(buffer.size) + " of the buffer");
      window.sliceBegin = *sliceBegin;
      window.sliceEnd = *sliceEnd;
    }
    gaps.push_back(window);
  }
  std::sort(gaps.begin(), gaps.end(),
            [](const Window &a, const Window &b) { return a.begin < b.begin; });
  int64_t at = lower;
  for (const Window &gap : gaps) {
    if (gap.begin < at)
      return fail("two gaps overlap at time " + std::to_string(gap.begin));
    if (at < gap.begin)
      buffer.windows.push_back({at, gap.begin});
    if (gap.sliceBegin < gap.sliceEnd)
      buffer.windows.push_back(gap);
    at = gap.end;
  }
  if (at < upper)
    buffer.windows.push_back({at, upper});
  return std::nullopt;
}

} // namespace

std::string_view OffsetPackingFile::id(size_t buffer) const {
  std::string_view names = header, fields = lines[buffer];
  while (true) {
    std::string_view name = cut(names, ','), field = cut(fields, ',');
    if (name == "id" || name == "buffer" || name == "buffer_id")
      return field;
    if (names.empty())
      return {};
  }
}

std::optional<TextError> readOffsetPacking(std::string_view text,
                                           OffsetPackingFile &file, bool asPlan,
                                           std::vector<int64_t> *offsets) {
  return Reader(text, file, asPlan, offsets).run();
}

std::string writeOffsetPlan(const OffsetPackingFile &file,
                            const std::vector<int64_t> &offsets) {
  std::string text;
  size_t length = 0;
  for (std::string_view line : file.lines)
    length += line.size() + 16;
  text.reserve(length + file.header.size() + 16);
  text += file.header;
  if (!file.offsetColumn)
    text += ",offset";
  text += '\n';
  char digits[24];
  for (size_t i = 0; i < file.lines.size(); ++i) {
    auto end = std::to_chars(digits, digits + sizeof digits, offsets[i]).ptr;
    std::string_view offset(digits, end - digits), line = file.lines[i];
    if (!file.offsetColumn) {
      ((text += line) += ',') += offset;
    } else {
      for (size_t column = 0; column < *file.offsetColumn; ++column)
        (text += cut(line, ',')) += ',';
      bool last = line.find(',') == std::string_view::npos;
      cut(line, ',');
      text += offset;
      if (!last)
        (text += ',') += line;
    }
    text += '\n';
  }
  return text;
}

std::string writeOffsetClaims(const OffsetPackingClaims &claims) {
  const OffsetPackingCertificate &certificate = claims.certificate;
  std::string text = "offset-packing-claims 1\ncapacity ";
  text += claims.capacity ? std::to_string(*claims.capacity) : "none";
  text += "\narena " + std::to_string(claims.arena);
  text += "\nbound " + std::to_string(certificate.bound);
  text += certificate.proof == OffsetPackingCertificate::Proof::MaxLive
              ? "\nproof max-live " + std::to_string(certificate.time)
              : "\nproof search " + std::to_string(certificate.nodes);
  return text + '\n';
}

std::optional<TextError> readOffsetClaims(std::string_view text,
                                          OffsetPackingClaims &claims) {
  claims = OffsetPackingClaims();
  int64_t number = 0;
  auto fail = [&](std::string message) {
    return TextError{number, std::move(message)};
  };
  if (std::string_view first = cutLine(text, number);
      first != "offset-packing-claims 1")
    return fail("found " + quoted(first) +
                ", expected 'offset-packing-claims 1'");
  for (std::string_view name : {"capacity", "arena", "bound", "proof"}) {
    std::string_view line = cutLine(text, number), value = line;
    if (cut(value, ' ') != name)
      return fail("found " + quoted(line) + ", expected " + std::string(name));
    if (name == "capacity" && value == "none")
      continue;
    bool maxLive = true;
    if (name == "proof") {
      std::string_view kind = cut(value, ' ');
      if (kind != "max-live" && kind != "search")
        return fail("found proof " + quoted(kind) +
                    ", expected max-live or search");
      maxLive = kind == "max-live";
    }
    auto parsed = integer(value);
    if (!parsed)
      return fail(quoted(value) + " is not a 64-bit integer");
    if (*parsed < 0 && !(name == "proof" && maxLive))
      return fail(std::string(name) + " " + std::to_string(*parsed) +
                  " is negative");
    if (name == "capacity") {
      claims.capacity = *parsed;
    } else if (name == "arena") {
      claims.arena = *parsed;
    } else if (name == "bound") {
      claims.certificate.bound = *parsed;
    } else if (maxLive) {
      claims.certificate.time = *parsed;
    } else {
      claims.certificate.proof = OffsetPackingCertificate::Proof::Search;
      claims.certificate.nodes = *parsed;
    }
  }
  while (!text.empty())
    if (std::string_view line = cutLine(text, number); !line.empty())
      return fail("found " + quoted(line) + " after the last field");
  return std::nullopt;
}

} // namespace tenon::solver
