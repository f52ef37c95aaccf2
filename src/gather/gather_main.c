/* gather/gather_main.c - memory-profiler-gather: the small stand-alone program for a host that has
 * the disk which the profiled one lacks. */
#include "gather/gather_command.h"

int main(int argc, char **argv)
{
	return gather_command("memory-profiler-gather", argc, argv);
}
