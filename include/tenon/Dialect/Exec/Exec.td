//===- Exec.td - The device program of a compiled step --------------------===//
//
// The `exec` dialect: what the runtime walks through. Every byte has a place,
// no tensor value is left. See docs/Forms.md.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_EXEC_EXEC_TD
#define TENON_DIALECT_EXEC_EXEC_TD

include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::tenon::exec";
  let summary = "the device program of a compiled step";
  let description = [{
    A module in exec form declares segments of memory, the tensors users see in
    them, kernels (private functions on tensors that are compiled by Codegen),
    library calls, and programs: lists of instructions on slices of segments.
    A memref type gives a slice's shape and element type; its layout is always
    row-major and an `i1` takes a byte.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}

def Exec_SegmentKind : I32EnumAttr<"SegmentKind", "what a segment holds", [
    I32EnumAttrCase<"state", 0>,
    I32EnumAttrCase<"batch", 1>,
    I32EnumAttrCase<"results", 2>,
    I32EnumAttrCase<"temporaries", 3>,
    I32EnumAttrCase<"constants", 4>,
  ]> {
  let cppNamespace = "::tenon::exec";
  let genSpecializedAttr = 0;
}
def Exec_SegmentKindAttr : EnumAttr<Exec_Dialect, Exec_SegmentKind, "segment_kind"> {
  let assemblyFormat = "$value";
}

class Exec_Op<string mnemonic, list<Trait> traits = []>
    : Op<Exec_Dialect, mnemonic, traits>;

def Exec_DeviceClassOp : Exec_Op<"device_class", [Symbol]> {
  let summary = "a kind of processor that runs a part of the program";
  let description = [{
    `@cpu` is the processor that the step is compiled for.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let assemblyFormat = "$sym_name attr-dict";
}

def Exec_MemorySpaceOp : Exec_Op<"memory_space", [Symbol]> {
  let summary = "a kind of memory that segments lie in";
  let description = [{
    `@host` is the memory of the process; for GPUs `@device` is their own, and
    `@pinned` memory of the host that they copy to and from.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let assemblyFormat = "$sym_name attr-dict";
}

def Exec_SegmentOp : Exec_Op<"segment", [Symbol]> {
  let summary = "a range of memory that the runtime allocates once";
  let description = [{
    `bytes` long and aligned to `alignment`, in a memory space, for a device
    class. Constants are filled from the file, state and batch may be bound to
    the caller's memory.

    ```mlir
    exec.segment @temporaries temporaries in @host of @cpu bytes 4096 alignment 64
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Exec_SegmentKindAttr:$kind,
                       FlatSymbolRefAttr:$space, FlatSymbolRefAttr:$device_class,
                       I64Attr:$bytes, DefaultValuedAttr<I64Attr, "64">:$alignment);
  let assemblyFormat = [{
    $sym_name $kind `in` $space `of` $device_class `bytes` $bytes `alignment` $alignment
    attr-dict
  }];
}

def Exec_TensorOp : Exec_Op<"tensor"> {
  let summary = "a tensor users see, and where it is stored";
  let description = [{
    `argument` and `result` are its indices in the signature of @main, -1 where
    it is none; state has both.

    ```mlir
    exec.tensor "params.w" : tensor<8x8xf32> at @state[256] {argument = 1, result = 1, role = #step.role<parameter>}
    ```
  }];
  let arguments = (ins StrAttr:$name, TypeAttrOf<AnyRankedTensor>:$type,
                       FlatSymbolRefAttr:$segment, I64Attr:$offset,
                       DefaultValuedAttr<I64Attr, "-1">:$argument,
                       DefaultValuedAttr<I64Attr, "-1">:$result,
                       OptionalAttr<AnyAttr>:$role,
                       OptionalAttr<StrArrayAttr>:$aliases);
  let assemblyFormat = [{
    $name `:` $type `at` $segment `[` $offset `]` attr-dict
  }];
}

def Exec_ConstantOp : Exec_Op<"constant"> {
  let summary = "initial bytes of the constants segment";
  let arguments = (ins FlatSymbolRefAttr:$segment, I64Attr:$offset,
                       ElementsAttr:$value);
  let assemblyFormat = "$segment `[` $offset `]` `=` $value attr-dict";
}

def Exec_LibraryOp : Exec_Op<"library", [Symbol]> {
  let summary = "a described library call";
  let description = [{
    `description` is the dictionary form of a MatmulDescription, a
    ConvolutionDescription, a LapackDescription or, for GPUs, a
    GpuMatmulDescription (include/tenon/Libraries),
    `workspace_bytes` what the planned library version needs.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DictionaryAttr:$description,
                       I64Attr:$workspace_bytes);
  let assemblyFormat = [{
    $sym_name $description `workspace` $workspace_bytes attr-dict
  }];
  let hasVerifier = 1;
}

def Exec_CollectiveOp : Exec_Op<"collective", [Symbol]> {
  let summary = "what the ranks of a step exchange in one call";
  let description = [{
    `description` is the dictionary form of a CollectiveDescription
    (include/tenon/Libraries/Collective.h). Its arguments are the operand, if it
    has one, the result, and the workspace if it needs one.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DictionaryAttr:$description);
  let assemblyFormat = "$sym_name $description attr-dict";
  let hasVerifier = 1;
}

def Exec_CopyOp : Exec_Op<"copy", [Symbol]> {
  let summary = "a callee that copies its first argument to its second";
  let arguments = (ins SymbolNameAttr:$sym_name);
  let assemblyFormat = "$sym_name attr-dict";
}

def Exec_ProgramOp : Exec_Op<"program", [
    Symbol, IsolatedFromAbove, NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "an entry point: instructions in execution order";
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
}

def Exec_SliceOp : Exec_Op<"slice", [Pure]> {
  let summary = "a place in a segment, seen as a row-major array";
  let arguments = (ins FlatSymbolRefAttr:$segment, I64Attr:$offset);
  let results = (outs AnyMemRef:$slice);
  let assemblyFormat = "$segment `[` $offset `]` attr-dict `:` type($slice)";
}

def Exec_InvokeOp : Exec_Op<"invoke"> {
  let summary = "runs a kernel, a library call, a collective or a copy";
  let description = [{
    The arguments of a kernel are its function's operands, then those of its
    results that no operand is overwritten with (`exec.in_place` on the
    function), then its scratch memory if it has any; those of a library call
    are the operands, the bias if the epilogue has one, the input of an
    activation whose gradient it computes, the results, and the
    workspace if any; a copy has the place it reads and the one it writes,
    which do not overlap. `parts` is the largest number of threads worth using;
    the result does not depend on how many there are. What is in one `queue`
    runs in order. There are queue 0, and queue 1 for collectives; for GPUs also
    queue 2 for copies to memory of the host, and queue 3 for copies from there.
    What is invoked in another queue than 0 runs beside all others until it is
    awaited. Until then nothing else touches what it writes or writes what it
    reads, and its block awaits it.

    ```mlir
    exec.invoke @kernel_0(%0, %1) parts 8 : memref<8xf32>, memref<8xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyMemRef>:$slices,
                       DefaultValuedAttr<I64Attr, "1">:$parts,
                       DefaultValuedAttr<I64Attr, "0">:$queue);
  let assemblyFormat = [{
    $callee `(` $slices `)` (`parts` $parts^)? (`queue` $queue^)? attr-dict `:` type($slices)
  }];
}

def Exec_WaitOp : Exec_Op<"wait"> {
  let summary = "waits until what was invoked in a queue is done";
  let description = [{
    With `pending` all but as many of those that were invoked last in the queue,
    in this block.

    ```mlir
    exec.wait queue 1 pending 2
    ```
  }];
  let arguments = (ins I64Attr:$queue, DefaultValuedAttr<I64Attr, "0">:$pending);
  let assemblyFormat = "`queue` $queue (`pending` $pending^)? attr-dict";
}

def Exec_WhileOp : Exec_Op<"while", [NoRegionArguments, NoTerminator, SingleBlock]> {
  let summary = "runs `condition`, then `body` while the i1 at `predicate` holds";
  let description = [{
    `trips` says how often the body runs, where that is known: then a device
    need not run the condition.
  }];
  let arguments = (ins AnyMemRef:$predicate, OptionalAttr<I64Attr>:$trips);
  let regions = (region SizedRegion<1>:$condition, SizedRegion<1>:$body);
  let assemblyFormat = [{
    $predicate `:` type($predicate) attr-dict-with-keyword `condition` $condition `body` $body
  }];
}

def Exec_CaseOp : Exec_Op<"case", [NoRegionArguments, NoTerminator, SingleBlock]> {
  let summary = "runs the branch whose index is at `selector`, the last if out of range";
  let arguments = (ins AnyMemRef:$selector);
  let regions = (region VariadicRegion<SizedRegion<1>>:$branches);
  let assemblyFormat = [{
    $selector `:` type($selector) attr-dict-with-keyword $branches
  }];
}

#endif // TENON_DIALECT_EXEC_EXEC_TD
