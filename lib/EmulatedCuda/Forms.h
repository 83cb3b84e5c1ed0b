//===- Forms.h - The table of instructions --------------------------------===//
//
// One line per form: a pattern of the whole opcode, what its operands are, and
// the function that executes it. `{a,b}` in a pattern stands for one of its
// alternatives, an empty one among them; `add.rn{,.ftz}.f32` is two opcodes.
// What is not in the table is an error.
//
// Operands, one letter each: `d` is written and `s` read, the number behind it
// gives the bits of the register (1 is a predicate) and of the constant that
// may stand there; `D` and `S` take wider registers too; `[` is an address. A
// list of registers in braces may stand for any. `|` begins a second result
// (`d|p`), `?` what may be left out. So "d32 s32 s32" is an addition.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_EMULATEDCUDA_FORMS_H
#define TENON_LIB_EMULATEDCUDA_FORMS_H

#include "Program.h"
#include <unordered_map>

namespace tenon::emulated {

struct Form {
  const char *pattern;
  const char *operands;
  Execute execute;
  Instruction::Flow flow = Instruction::Straight;
  bool carriesUndefined = false;
  /// The lowest sm_N that has it.
  unsigned target = 0;
};

class FormTable {
public:
  static const FormTable &instance();
  const Form *find(const std::string &opcode) const;
  size_t size() const { return forms.size(); }

  template <size_t N>
  void add(const Form (&lines)[N]) {
    for (const Form &line : lines)
      expand(line, "", line.pattern);
  }

private:
  FormTable();
  void expand(const Form &form, std::string before, const char *rest);
  std::unordered_map<std::string, const Form *> forms;
};

// The lines, by subject.
void addIntegerForms(FormTable &);
void addMoveForms(FormTable &);
void addFloatForms(FormTable &);
void addPackedFloatForms(FormTable &);
void addConvertForms(FormTable &);
void addCompareForms(FormTable &);
void addWarpForms(FormTable &);
void addMemoryForms(FormTable &);
void addTensorCoreForms(FormTable &);

} // namespace tenon::emulated

#endif // TENON_LIB_EMULATEDCUDA_FORMS_H
