//===- Enums.td - Enumerations of the stablehlo dialect -------------------===//
//
// Named choices on operations. As attributes they read
// `#stablehlo<precision DEFAULT>`; the accuracy mode has angle brackets of its
// own, and a custom call's version is a plain 32-bit integer.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STABLEHLO_ENUMS_TD
#define TENON_DIALECT_STABLEHLO_ENUMS_TD

include "mlir/IR/EnumAttr.td"
include "tenon/Dialect/StableHLO/Base.td"

class StableHLO_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::tenon::stablehlo";
  let genSpecializedAttr = 0;
}

def StableHLO_Precision : StableHLO_Enum<"Precision", "how exact a product has to be", [
    I32EnumAttrCase<"DEFAULT", 0>, I32EnumAttrCase<"HIGH", 1>, I32EnumAttrCase<"HIGHEST", 2>]>;
def StableHLO_PrecisionAttr
    : EnumAttr<StableHLO_Dialect, StableHLO_Precision, "precision">;

def StableHLO_ComparisonDirection : StableHLO_Enum<"ComparisonDirection", "relation to test", [
    I32EnumAttrCase<"EQ", 0>, I32EnumAttrCase<"NE", 1>, I32EnumAttrCase<"GE", 2>,
    I32EnumAttrCase<"GT", 3>, I32EnumAttrCase<"LE", 4>, I32EnumAttrCase<"LT", 5>]>;
def StableHLO_ComparisonDirectionAttr
    : EnumAttr<StableHLO_Dialect, StableHLO_ComparisonDirection, "comparison_direction">;

def StableHLO_ComparisonType : StableHLO_Enum<"ComparisonType", "order to compare in", [
    I32EnumAttrCase<"NOTYPE", 0>, I32EnumAttrCase<"FLOAT", 1>, I32EnumAttrCase<"TOTALORDER", 2>,
    I32EnumAttrCase<"SIGNED", 3>, I32EnumAttrCase<"UNSIGNED", 4>]>;
def StableHLO_ComparisonTypeAttr
    : EnumAttr<StableHLO_Dialect, StableHLO_ComparisonType, "comparison_type">;

def StableHLO_FftType : StableHLO_Enum<"FftType", "kind of Fourier transform", [
    I32EnumAttrCase<"FFT", 0>, I32EnumAttrCase<"IFFT", 1>, I32EnumAttrCase<"RFFT", 2>,
    I32EnumAttrCase<"IRFFT", 3>]>;
def StableHLO_FftTypeAttr : EnumAttr<StableHLO_Dialect, StableHLO_FftType, "fft_type">;

def StableHLO_Transpose : StableHLO_Enum<"Transpose", "form in which a matrix is used", [
    I32EnumAttrCase<"TRANSPOSE_INVALID", 0>, I32EnumAttrCase<"NO_TRANSPOSE", 1>,
    I32EnumAttrCase<"TRANSPOSE", 2>, I32EnumAttrCase<"ADJOINT", 3>]>;
def StableHLO_TransposeAttr : EnumAttr<StableHLO_Dialect, StableHLO_Transpose, "transpose">;

def StableHLO_RngDistribution : StableHLO_Enum<"RngDistribution", "distribution to draw from", [
    I32EnumAttrCase<"UNIFORM", 1>, I32EnumAttrCase<"NORMAL", 2>]>;
def StableHLO_RngDistributionAttr
    : EnumAttr<StableHLO_Dialect, StableHLO_RngDistribution, "rng_distribution">;

def StableHLO_RngAlgorithm : StableHLO_Enum<"RngAlgorithm", "random bit generator", [
    I32EnumAttrCase<"DEFAULT", 0>, I32EnumAttrCase<"THREE_FRY", 1>,
    I32EnumAttrCase<"PHILOX", 2>]>;
def StableHLO_RngAlgorithmAttr
    : EnumAttr<StableHLO_Dialect, StableHLO_RngAlgorithm, "rng_algorithm">;

def StableHLO_ResultAccuracyMode : StableHLO_Enum<"ResultAccuracyMode", "how accuracy is asked for", [
    I32EnumAttrCase<"DEFAULT", 0>, I32EnumAttrCase<"HIGHEST", 1>,
    I32EnumAttrCase<"TOLERANCE", 2>]>;
def StableHLO_ResultAccuracyModeAttr
    : EnumAttr<StableHLO_Dialect, StableHLO_ResultAccuracyMode, "result_accuracy_mode"> {
  let assemblyFormat = "`<` $value `>`";
}

def StableHLO_CustomCallApiVersionAttr
    : I32EnumAttr<"CustomCallApiVersion", "calling convention of a custom call", [
        I32EnumAttrCase<"API_VERSION_UNSPECIFIED", 0>,
        I32EnumAttrCase<"API_VERSION_ORIGINAL", 1>,
        I32EnumAttrCase<"API_VERSION_STATUS_RETURNING", 2>,
        I32EnumAttrCase<"API_VERSION_STATUS_RETURNING_UNIFIED", 3>,
        I32EnumAttrCase<"API_VERSION_TYPED_FFI", 4>]> {
  let cppNamespace = "::tenon::stablehlo";
}

#endif // TENON_DIALECT_STABLEHLO_ENUMS_TD
