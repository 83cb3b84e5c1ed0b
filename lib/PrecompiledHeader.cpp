// Compiles the precompiled header; holds no code of its own.
