/* format/default_output.h - the name of a recording when the user gives none.
 *
 * The recorder (record/options.def) writes the file, `memory-profiler-cli run` looks for it. The
 * placeholders: %e executable, %t seconds since 1970, %p process id.
 */
#ifndef FORMAT_DEFAULT_OUTPUT_H
#define FORMAT_DEFAULT_OUTPUT_H

#define DEFAULT_OUTPUT "memory-profiling_%e_%t_%p.dat"

#endif
