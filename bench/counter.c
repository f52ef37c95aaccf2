/* bench_counter: ns that reading the CPU's counter takes, which a recorded event does at most once.
 *
 * It cannot be overlapped with other instructions, and differs more between machines (3 to 10 ns) than anything
 * else that is measured here.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "arch/arch.h"

#define N_READS 1000000
#define N_RUNS 20

static double run_ns(void)
{
	struct timespec start, end;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (unsigned i = 0; i < N_READS; i++) {
		uint64_t ticks = arch_ticks();

		__asm__ volatile("" : : "r"(ticks));
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	return (double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec);
}

int main(void)
{
	double best_ns = run_ns();

	for (unsigned i = 1; i < N_RUNS; i++) {
		double ns = run_ns();

		best_ns = ns < best_ns ? ns : best_ns;
	}
	printf("%.1f\n", best_ns / N_READS);
	return 0;
}
