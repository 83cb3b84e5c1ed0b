// Compiles a precompiled header; holds no code of its own.
