/* cli/cmd_gather.c - `memory-profiler-cli gather`: receives recordings over the network. */
#include "cli/args.h"
#include "cli/cli.h"
#include "gather/gather_command.h"

int cmd_gather(int argc, char **argv)
{
	return gather_command(PROGRAM " gather", argc, argv);
}
