/* gather/gather_command.h - the command line of gather: the same for `memory-profiler-cli gather`
 * and for `memory-profiler-gather`. */
#ifndef GATHER_GATHER_COMMAND_H
#define GATHER_GATHER_COMMAND_H

/* Runs the command. program: how messages begin, and how the usage calls it. Returns the exit
 * status: 0 all is here, 1 something is missing or went wrong, 2 wrong usage. */
int gather_command(const char *program, int argc, char **argv);

#endif
