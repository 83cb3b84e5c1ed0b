"""The compiler of the package tenon, whose command finds the executable in the folder `native` of this one."""
