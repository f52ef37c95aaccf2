/* record/credentials.c - see credentials.h. */
#include "record/credentials.h"

#include <string.h>

#include "base/text.h"
#include "record/sys.h"

#pragma GCC diagnostic ignored "-Wframe-larger-than=" /* the writer's own stack, not the target's */

#define MAX_GROUPS 256

/* Reads up to max numbers after the label of a line of /proc/self/status. Returns how many there
 * were. */
static unsigned read_numbers(const char *status, const char *label, uint32_t *ret, unsigned max)
{
	const char *p = strstr(status, label);
	unsigned n = 0;

	if (!p)
		return 0;
	for (p += strlen(label); *p && *p != '\n' && n < max;) {
		uint32_t value = 0;

		if (*p < '0' || *p > '9') {
			p++;
			continue;
		}
		for (; *p >= '0' && *p <= '9'; p++)
			value = value * 10 + (uint32_t)(*p - '0');
		ret[n++] = value;
	}
	return n;
}

void credentials_follow(uint32_t pid)
{
	char status[4096], path[64];
	uint32_t uid[4], gid[4], own_uid[3] = {0}, own_gid[3] = {0}, groups[MAX_GROUPS];
	struct text path_text = text_make(path, sizeof(path));
	unsigned n_groups;
	long n;

	text_put(&path_text, "/proc/");
	text_put_u64(&path_text, pid);
	text_put(&path_text, "/status");
	n = sys_read_file(path, status, sizeof(status) - 1);
	if (n <= 0)
		return;
	status[n] = 0;
	if (read_numbers(status, "\nUid:", uid, 4) != 4 ||
	    read_numbers(status, "\nGid:", gid, 4) != 4)
		return;
	arch_syscall3(SYS_getresuid, &own_uid[0], &own_uid[1], &own_uid[2]);
	arch_syscall3(SYS_getresgid, &own_gid[0], &own_gid[1], &own_gid[2]);
	if (!memcmp(uid, own_uid, sizeof(own_uid)) && !memcmp(gid, own_gid, sizeof(own_gid)))
		return;
	n_groups = read_numbers(status, "\nGroups:", groups, MAX_GROUPS);
	arch_syscall2(SYS_setgroups, n_groups, groups);
	arch_syscall3(SYS_setresgid, gid[0], gid[1], gid[2]);
	arch_syscall3(SYS_setresuid, uid[0], uid[1], uid[2]);
}
