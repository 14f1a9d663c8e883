/* Limits and figures where a controller is on a v1 hierarchy. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "helper.h"

#define PERIOD_US "100000"
#define UNLIMITED_FROM (UINT64_C(1) << 62) /* "unlimited" reads as a number near 2^63, rounded to pages */

static const char *const files[LIMIT_COUNT] = {
	[LIMIT_CPU_QUOTA] = "cpu.cfs_quota_us",
	[LIMIT_CPU_WEIGHT] = "cpu.shares",
	[LIMIT_CPUSET] = "cpuset.cpus",
	[LIMIT_MEMORY] = "memory.limit_in_bytes",
	[LIMIT_SWAP] = "memory.memsw.limit_in_bytes",
	[LIMIT_SWAPPINESS] = "memory.swappiness",
	[LIMIT_PIDS] = "pids.max",
	[LIMIT_IO_RBPS] = "blkio.throttle.read_bps_device",
	[LIMIT_IO_WBPS] = "blkio.throttle.write_bps_device",
	[LIMIT_IO_RIOPS] = "blkio.throttle.read_iops_device",
	[LIMIT_IO_WIOPS] = "blkio.throttle.write_iops_device",
};

static const char *missing(int base, enum limit limit)
{
	if (exists_beneath(base, files[limit]))
		return NULL;
	return limit == LIMIT_SWAP ? "the kernel does not account swap (memory.memsw.limit_in_bytes is missing)"
				   : "the kernel was built without it (the control file is missing)";
}

static int set_number(int dir, enum limit limit, const char *text, bool lifted, struct error *err)
{
	char now[64];
	uint64_t got;

	if (set_control(dir, files[limit], text, limit, err) < 0)
		return -1;
	if (read_beneath(dir, files[limit], now, sizeof now) < 0)
		return fail_errno(err, "internal", "%s", files[limit]);
	if (lifted) {
		if (!text_number(now, &got) || got >= UNLIMITED_FROM)
			return 0;
		return control_mismatch(limit, files[limit], text, now, err);
	}
	if (!text_number(now, &got) || got != strtoull(text, NULL, 10))
		return control_mismatch(limit, files[limit], text, now, err);
	return 0;
}

static int set_quota(int dir, uint64_t value, struct error *err)
{
	char text[24] = "-1";

	if (value != LIMIT_LIFTED)
		snprintf(text, sizeof text, "%" PRIu64, value);
	if (set_control(dir, "cpu.cfs_period_us", PERIOD_US, LIMIT_CPU_QUOTA, err) < 0)
		return -1;
	return set_number(dir, LIMIT_CPU_QUOTA, text, value == LIMIT_LIFTED, err);
}

static int set_weight(int dir, uint64_t value, struct error *err)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRIu64, value == LIMIT_LIFTED ? 1024 : value * 1024 / 100);
	return set_number(dir, LIMIT_CPU_WEIGHT, text, false, err);
}

static int write_bytes(int dir, enum limit limit, uint64_t value, struct error *err)
{
	char text[24] = "-1";

	/* The kernel counts in pages; what is written is what will be read. */
	if (value != LIMIT_LIFTED)
		snprintf(text, sizeof text, "%" PRIu64, value & ~(uint64_t)(sysconf(_SC_PAGESIZE) - 1));
	return set_number(dir, limit, text, value == LIMIT_LIFTED, err);
}

/* memsw bounds memory and swap together, and never below memory alone: the order of the two writes depends on the direction. */
static int set_memory(int dir, const struct limits *all, struct error *err)
{
	uint64_t memory = limit_value(all, LIMIT_MEMORY), swap = limit_value(all, LIMIT_SWAP), both, now = 0;
	bool swap_given = all->given & LIMIT_BIT(LIMIT_SWAP);
	char text[64];

	if (memory == LIMIT_LIFTED && swap != LIMIT_LIFTED)
		return fail(err, "limit_unsupported", "swap_max: cgroup v1 bounds swap only together with memory; give memory_max too");
	/* Without a word about swap there is none: else the limit would leak into it. */
	if (memory == LIMIT_LIFTED || (swap_given && swap == LIMIT_LIFTED))
		both = LIMIT_LIFTED;
	else
		both = memory + (swap_given ? swap : 0);
	if (missing(dir, LIMIT_SWAP))
		return write_bytes(dir, LIMIT_MEMORY, memory, err);
	if (read_beneath(dir, files[LIMIT_SWAP], text, sizeof text) < 0 || !text_number(text, &now))
		return fail(err, "internal", "%s cannot be read", files[LIMIT_SWAP]);
	if (both >= now)
		return write_bytes(dir, LIMIT_SWAP, both, err) < 0 ? -1 : write_bytes(dir, LIMIT_MEMORY, memory, err);
	return write_bytes(dir, LIMIT_MEMORY, memory, err) < 0 ? -1 : write_bytes(dir, LIMIT_SWAP, both, err);
}

static int set_swappiness(int dir, uint64_t value, struct error *err)
{
	char text[24] = "60";

	if (value != LIMIT_LIFTED)
		snprintf(text, sizeof text, "%" PRIu64, value);
	return set_number(dir, LIMIT_SWAPPINESS, text, false, err);
}

static int set_pids(int dir, uint64_t value, struct error *err)
{
	char text[24] = "max";

	if (value != LIMIT_LIFTED)
		snprintf(text, sizeof text, "%" PRIu64, value);
	return set_number(dir, LIMIT_PIDS, text, value == LIMIT_LIFTED, err);
}

static int set_io(int dir, enum limit limit, uint64_t value, dev_t device, struct error *err)
{
	char text[64], key[32], now[4096];
	uint64_t got = 0;

	snprintf(key, sizeof key, "%u:%u", major(device), minor(device));
	snprintf(text, sizeof text, "%s %" PRIu64, key, value == LIMIT_LIFTED ? 0 : value);
	if (set_control(dir, files[limit], text, limit, err) < 0)
		return -1;
	if (read_beneath(dir, files[limit], now, sizeof now) < 0)
		return fail_errno(err, "internal", "%s", files[limit]);
	text_field(now, key, &got);
	return got == (value == LIMIT_LIFTED ? 0 : value) ? 0 : control_mismatch(limit, files[limit], text, now, err);
}

static int set(int dir, enum limit limit, const struct limits *all, dev_t device, struct error *err)
{
	uint64_t value = limit_value(all, limit);
	char parent[1024];

	switch (limit) {
	case LIMIT_CPU_QUOTA:
		return set_quota(dir, value, err);
	case LIMIT_CPU_WEIGHT:
		return set_weight(dir, value, err);
	case LIMIT_CPUSET:
		/* v1 knows no empty list: lifted means all that are online in the group above, which this group was made with. */
		if (value == LIMIT_LIFTED && read_beneath(dir, "cpuset.effective_cpus", parent, sizeof parent) < 0)
			return fail_errno(err, "internal", "cpuset.effective_cpus");
		return set_cpuset(dir, all, parent, err);
	case LIMIT_MEMORY:
	case LIMIT_SWAP:
		return set_memory(dir, all, err);
	case LIMIT_SWAPPINESS:
		return set_swappiness(dir, value, err);
	case LIMIT_PIDS:
		return set_pids(dir, value, err);
	default:
		return set_io(dir, limit, value, device, err);
	}
}

/* Lines "254:0 Read 4096", "254:0 Write 8192", ... summed over the devices. */
static void io_figures(int dir, struct figures *out)
{
	static const struct { const char *word; enum figure figure; } kinds[] = { { " Read ", FIG_RBYTES }, { " Write ", FIG_WBYTES } };
	char text[8192];

	if (read_beneath(dir, "blkio.throttle.io_service_bytes_recursive", text, sizeof text) < 0 &&
	    read_beneath(dir, "blkio.throttle.io_service_bytes", text, sizeof text) < 0)
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
		read_figure(dir, "cpu.stat", "throttled_time", FIG_THROTTLED_US, 1000, out);
		break;
	case CTL_MEMORY:
		read_figure(dir, "memory.usage_in_bytes", NULL, FIG_MEM, 1, out);
		read_figure(dir, "memory.stat", "total_rss", FIG_MEM_ANON, 1, out);
		read_figure(dir, "memory.max_usage_in_bytes", NULL, FIG_MEM_PEAK, 1, out);
		read_figure(dir, "memory.oom_control", "oom_kill", FIG_OOM_KILLS, 1, out);
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

const struct cgroup_driver cgroup_v1 = { .missing = missing, .set = set, .figures = figures };
