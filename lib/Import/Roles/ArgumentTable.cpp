//===- ArgumentTable.cpp - The signature of a step, for people ------------===//
//
// Columns are as wide as their longest cell, except names, which break the line
// of nothing but themselves.
//
//===----------------------------------------------------------------------===//

#include "tenon/Import/ArgumentTable.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Support/Bytes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <array>
#include <map>

using namespace llvm;

namespace tenon::importer {

std::vector<ArgumentRow> argumentTable(mlir::func::FuncOp main) {
  std::vector<ArgumentRow> rows;
  for (unsigned index = 0; index < main.getNumArguments(); ++index) {
    ArgumentRow &row = rows.emplace_back();
    row.index = index;
    mlir::Type type = main.getArgumentTypes()[index];
    row.bytes = storedBytes(type);
    raw_string_ostream typeText(row.type);
    type.print(typeText);
    if (StringRef inner = row.type;
        inner.consume_front("tensor<") && inner.consume_back(">"))
      row.type = inner.str();
    if (auto name =
            main.getArgAttrOfType<mlir::StringAttr>(index, step::nameAttrName))
      row.name = name.str();
    if (auto aliases = main.getArgAttrOfType<mlir::ArrayAttr>(
            index, step::aliasesAttrName))
      for (auto alias : aliases.getAsRange<mlir::StringAttr>())
        row.otherNames.push_back(alias.str());
    if (auto role =
            main.getArgAttrOfType<step::RoleAttr>(index, step::roleAttrName))
      row.role = role.getValue();
    if (auto reason = main.getArgAttrOfType<mlir::StringAttr>(
            index, step::roleReasonAttrName))
      row.reason = reason.str();
    if (auto successor = main.getArgAttrOfType<mlir::IntegerAttr>(
            index, step::successorAttrName))
      row.successor = successor.getInt();
    if (auto target = main.getArgAttrOfType<mlir::IntegerAttr>(
            index, "tf.aliasing_output"))
      row.donatedTo = target.getInt();
    else if (main.getArgAttr(index, step::donatedAttrName))
      row.donatedTo = -1;
  }
  return rows;
}

void printArgumentTable(ArrayRef<ArgumentRow> rows, raw_ostream &out) {
  using Cells = std::array<std::string, 7>;
  std::vector<Cells> lines;
  lines.push_back({"#", "name", "role", "type", "bytes", "next", "why"});
  std::map<step::Role, std::pair<int64_t, int64_t>> totals;
  for (const ArgumentRow &row : rows) {
    std::string next = row.successor
                           ? formatv("result {0}", *row.successor).str()
                           : std::string("fed");
    if (row.donatedTo && row.donatedTo != row.successor)
      next += *row.donatedTo < 0
                  ? ", donated"
                  : formatv(", donated to {0}", *row.donatedTo).str();
    else if (row.donatedTo)
      next += ", donated";
    std::string why = row.reason;
    if (!row.otherNames.empty())
      why += " (" + join(row.otherNames, ", ") + ")";
    lines.push_back({itostr(row.index), row.name,
                     step::stringifyRole(row.role).str(), row.type,
                     printBytes(row.bytes), next, why});
    auto &[count, bytes] = totals[row.role];
    ++count;
    bytes += row.bytes;
  }
  std::array<size_t, 7> widths{};
  for (const Cells &line : lines)
    for (auto [width, cell] : zip_equal(widths, line))
      width = std::max(width, cell.size());
  for (const Cells &line : lines) {
    std::string text;
    for (auto [column, cell] : enumerate(line)) {
      bool right = column == 0 || column == 4;
      std::string padding(widths[column] - cell.size(), ' ');
      text += right ? padding + cell : cell + padding;
      text += "  ";
    }
    out << StringRef(text).rtrim() << "\n";
  }
  for (const auto &[role, total] : totals)
    out << formatv("{0}: {1} tensors, {2}\n", step::stringifyRole(role),
                   total.first, printBytes(total.second));
}

json::Value argumentTableJSON(ArrayRef<ArgumentRow> rows) {
  json::Array array;
  for (const ArgumentRow &row : rows) {
    json::Object object{{"index", row.index},
                        {"name", row.name},
                        {"otherNames", json::Array(row.otherNames)},
                        {"role", step::stringifyRole(row.role)},
                        {"reason", row.reason},
                        {"type", row.type},
                        {"bytes", row.bytes}};
    if (row.successor)
      object["successor"] = *row.successor;
    if (row.donatedTo)
      object["donatedTo"] = *row.donatedTo;
    array.push_back(std::move(object));
  }
  return array;
}

} // namespace tenon::importer
