//===- Forms.cpp - From patterns to whole opcodes ---------------------===//

#include "Forms.h"
#include <cstring>

using namespace tenon::emulated;

FormTable::FormTable() {
  addIntegerForms(*this);
  addMoveForms(*this);
  addFloatForms(*this);
  addPackedFloatForms(*this);
  addConvertForms(*this);
  addCompareForms(*this);
  addWarpForms(*this);
  addMemoryForms(*this);
  addTensorCoreForms(*this);
}

const FormTable &FormTable::instance() {
  static const FormTable table;
  return table;
}

const Form *FormTable::find(const std::string &opcode) const {
  auto found = forms.find(opcode);
  return found == forms.end() ? nullptr : found->second;
}

void FormTable::expand(const Form &form, std::string before, const char *rest) {
  const char *open = strchr(rest, '{');
  if (!open) {
    forms.emplace(before + rest, &form);
    return;
  }
  const char *close = strchr(open, '}');
  before.append(rest, open);
  const char *choice = open + 1;
  while (true) {
    const char *end = choice;
    while (*end != ',' && *end != '}')
      ++end;
    expand(form, before + std::string(choice, end), close + 1);
    if (end == close)
      return;
    choice = end + 1;
  }
}
