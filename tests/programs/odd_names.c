/* Allocates in functions whose names would do harm in a file that holds them unescaped. */
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))
#define STAY() __asm__ volatile("" ::: "memory") /* no tail call */

static void *volatile sink;

/* The compiler writes the names into the assembly as they stand, so they bring their own quotes. */
NOINLINE void in_script(void) __asm__("\"</script><script>window.harm=1</script>\"");
NOINLINE void in_cdata(void) __asm__("\"]]><script>window.harm=1</script>&amp;\"");
NOINLINE void in_text(void) __asm__("\"semi;colon, 'quote' <b>&lt; \xc3\xa9 \xff\xfe %s\"");

NOINLINE void in_script(void)
{
	sink = malloc(1000);
	STAY();
}

NOINLINE void in_cdata(void)
{
	sink = malloc(2000);
	in_script();
	STAY();
}

NOINLINE void in_text(void)
{
	sink = malloc(3000);
	in_cdata();
	STAY();
}

int main(void)
{
	in_text();
	return 0;
}
