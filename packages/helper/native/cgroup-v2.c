/* Limits and figures where a controller is on the unified hierarchy. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "helper.h"

#define PERIOD_US 100000

static const char *const files[LIMIT_COUNT] = {
	[LIMIT_CPU_QUOTA] = "cpu.max",
	[LIMIT_CPU_WEIGHT] = "cpu.weight",
	[LIMIT_CPUSET] = "cpuset.cpus",
	[LIMIT_MEMORY] = "memory.max",
	[LIMIT_SWAP] = "memory.swap.max",
	[LIMIT_SWAPPINESS] = NULL,
	[LIMIT_PIDS] = "pids.max",
	[LIMIT_IO_RBPS] = "io.max",
	[LIMIT_IO_WBPS] = "io.max",
	[LIMIT_IO_RIOPS] = "io.max",
	[LIMIT_IO_WIOPS] = "io.max",
};

static const char *missing(int base, enum limit limit)
{
	if (!files[limit])
		return "cgroup v2 has no swappiness of a group";
	if (exists_beneath(base, files[limit]))
		return NULL;
	return limit == LIMIT_SWAP ? "the kernel does not account swap (memory.swap.max is missing)"
				   : "the control file is missing: the controller is not passed on to this group, or the kernel was built without it";
}

static int set_text(int dir, enum limit limit, const char *text, struct error *err)
{
	char now[128];

	if (set_control(dir, files[limit], text, limit, err) < 0)
		return -1;
	if (read_beneath(dir, files[limit], now, sizeof now) < 0)
		return fail_errno(err, "internal", "%s", files[limit]);
	now[strcspn(now, "\n")] = '\0';
	return strcmp(now, text) == 0 ? 0 : control_mismatch(limit, files[limit], text, now, err);
}

static int set_number(int dir, enum limit limit, uint64_t value, struct error *err)
{
	char text[24] = "max";

	if (value != LIMIT_LIFTED)
		snprintf(text, sizeof text, "%" PRIu64, value);
	return set_text(dir, limit, text, err);
}

static uint64_t whole_pages(uint64_t value)
{
	return value == LIMIT_LIFTED ? value : value & ~(uint64_t)(sysconf(_SC_PAGESIZE) - 1);
}

static int set_quota(int dir, uint64_t value, struct error *err)
{
	char text[48];

	if (value == LIMIT_LIFTED)
		snprintf(text, sizeof text, "max %d", PERIOD_US);
	else
		snprintf(text, sizeof text, "%" PRIu64 " %d", value, PERIOD_US);
	return set_text(dir, LIMIT_CPU_QUOTA, text, err);
}

/* Without a word about swap, a memory limit leaves none: else it would leak into it. */
static int set_memory(int dir, const struct limits *all, struct error *err)
{
	uint64_t memory = limit_value(all, LIMIT_MEMORY), swap = limit_value(all, LIMIT_SWAP);

	if (!(all->given & LIMIT_BIT(LIMIT_SWAP)) && memory != LIMIT_LIFTED)
		swap = 0;
	if (!missing(dir, LIMIT_SWAP) && set_number(dir, LIMIT_SWAP, whole_pages(swap), err) < 0)
		return -1;
	return set_number(dir, LIMIT_MEMORY, whole_pages(memory), err);
}

/* The four I/O limits are one line of io.max. */
static int set_io(int dir, enum limit limit, const struct limits *all, dev_t device, struct error *err)
{
	static const char *const keys[] = { "rbps", "wbps", "riops", "wiops" };
	char text[64], device_key[32], now[4096], wanted[32];
	uint64_t value = limit_value(all, limit);
	const char *line;

	snprintf(device_key, sizeof device_key, "%u:%u ", major(device), minor(device));
	if (value == LIMIT_LIFTED)
		snprintf(wanted, sizeof wanted, "%s=max", keys[limit - LIMIT_IO_RBPS]);
	else
		snprintf(wanted, sizeof wanted, "%s=%" PRIu64, keys[limit - LIMIT_IO_RBPS], value);
	snprintf(text, sizeof text, "%s%s", device_key, wanted);
	if (set_control(dir, files[limit], text, limit, err) < 0)
		return -1;
	if (read_beneath(dir, files[limit], now, sizeof now) < 0)
		return fail_errno(err, "internal", "%s", files[limit]);
	line = strncmp(now, device_key, strlen(device_key)) == 0 ? now : strstr(now, device_key);
	if (!line && value == LIMIT_LIFTED)
		return 0;
	line = line ? strstr(line, wanted) : NULL;
	/* "rbps=1" is not "rbps=10". */
	return line && strchr(" \n", line[strlen(wanted)]) ? 0 : control_mismatch(limit, files[limit], text, now, err);
}

static int set(int dir, enum limit limit, const struct limits *all, dev_t device, struct error *err)
{
	uint64_t value = limit_value(all, limit);

	switch (limit) {
	case LIMIT_CPU_QUOTA:
		return set_quota(dir, value, err);
	case LIMIT_CPU_WEIGHT:
		return set_number(dir, limit, value == LIMIT_LIFTED ? 100 : value, err);
	case LIMIT_CPUSET:
		return set_cpuset(dir, all, "\n", err);
	case LIMIT_MEMORY:
	case LIMIT_SWAP:
		return set_memory(dir, all, err);
	case LIMIT_SWAPPINESS:
		return fail(err, "limit_unsupported", "swappiness: %s", missing(dir, limit));
	case LIMIT_PIDS:
		return set_number(dir, limit, value, err);
	default:
		return set_io(dir, limit, all, device, err);
	}
}

/* Lines "254:0 rbytes=1 wbytes=2 ..." summed over the devices. */
static void io_figures(int dir, struct figures *out)
{
	static const struct { const char *word; enum figure figure; } kinds[] = { { "rbytes=", FIG_RBYTES }, { "wbytes=", FIG_WBYTES } };
	char text[8192];

	if (read_beneath(dir, "io.stat", text, sizeof text) < 0)
		return;
	for (size_t i = 0; i < 2; i++) {
		uint64_t sum = 0;

		for (const char *p = text; (p = strstr(p, kinds[i].word)); p++)
			sum += strtoull(p + strlen(kinds[i].word), NULL, 10);
		put_figure(out, kinds[i].figure, sum);
	}
}

static void figures(int dir, enum controller controller, struct figures *out)
{
	switch (controller) {
	case CTL_CPU:
		read_figure(dir, "cpu.stat", "throttled_usec", FIG_THROTTLED_US, 1, out);
		break;
	case CTL_MEMORY:
		read_figure(dir, "memory.current", NULL, FIG_MEM, 1, out);
		read_figure(dir, "memory.stat", "anon", FIG_MEM_ANON, 1, out);
		read_figure(dir, "memory.peak", NULL, FIG_MEM_PEAK, 1, out);
		read_figure(dir, "memory.events", "oom_kill", FIG_OOM_KILLS, 1, out);
		break;
	case CTL_PIDS:
		read_figure(dir, "pids.current", NULL, FIG_PIDS, 1, out);
		read_figure(dir, "pids.peak", NULL, FIG_PIDS_PEAK, 1, out);
		read_figure(dir, "pids.events", "max", FIG_PIDS_MAX_HITS, 1, out);
		break;
	case CTL_IO:
		io_figures(dir, out);
		break;
	default:
		break;
	}
}

const struct cgroup_driver cgroup_v2 = { .missing = missing, .set = set, .figures = figures };
