#include <stdio.h>
#include <string.h>

#include "helper.h"

#define MAX_RATE (UINT64_C(1) << 50)

static const struct {
	const char *name;
	enum controller controller;
	uint64_t min, max;
} table[LIMIT_COUNT] = {
	[LIMIT_CPU_QUOTA] = { "cpu_quota_us", CTL_CPU, 1000, 0 /* 100000 for each CPU */ },
	[LIMIT_CPU_WEIGHT] = { "cpu_weight", CTL_CPU, 1, 10000 },
	[LIMIT_CPUSET] = { "cpuset", CTL_CPUSET, 0, 0 },
	/* Under 4 MiB not even a shell starts; the agent would be killed by its own exec. */
	[LIMIT_MEMORY] = { "memory_max", CTL_MEMORY, 4 << 20, UINT64_C(1) << 50 },
	[LIMIT_SWAP] = { "swap_max", CTL_MEMORY, 0, UINT64_C(1) << 50 },
	[LIMIT_SWAPPINESS] = { "swappiness", CTL_MEMORY, 0, 100 },
	[LIMIT_PIDS] = { "pids_max", CTL_PIDS, 1, 4194304 },
	[LIMIT_IO_RBPS] = { "io_rbps", CTL_IO, 1024, MAX_RATE },
	[LIMIT_IO_WBPS] = { "io_wbps", CTL_IO, 1024, MAX_RATE },
	[LIMIT_IO_RIOPS] = { "io_riops", CTL_IO, 1, UINT32_MAX - 1 },
	[LIMIT_IO_WIOPS] = { "io_wiops", CTL_IO, 1, UINT32_MAX - 1 },
};

const char *limit_name(enum limit limit)
{
	return table[limit].name;
}

enum controller limit_controller(enum limit limit)
{
	return table[limit].controller;
}

uint64_t limit_value(const struct limits *limits, enum limit limit)
{
	return limits->given & LIMIT_BIT(limit) ? limits->value[limit] : LIMIT_LIFTED;
}

static const char *cpu_number(const char *p, unsigned *out)
{
	unsigned n = 0, digits = 0;

	for (; *p >= '0' && *p <= '9' && digits < 5; p++, digits++)
		n = n * 10 + (unsigned)(*p - '0');
	*out = n;
	return digits == 0 || n >= CPU_WORDS * 64 ? NULL : p;
}

int cpu_list_parse(const char *text, uint64_t bits[CPU_WORDS])
{
	const char *p = text;

	memset(bits, 0, CPU_WORDS * sizeof *bits);
	for (;;) {
		unsigned from, to;

		if (!(p = cpu_number(p, &from)))
			return -1;
		to = from;
		if (*p == '-' && !(p = cpu_number(p + 1, &to)))
			return -1;
		for (unsigned cpu = from; cpu <= to; cpu++)
			bits[cpu / 64] |= UINT64_C(1) << (cpu % 64);
		if (to < from || (*p != ',' && *p != '\0' && *p != '\n'))
			return -1;
		if (*p++ != ',')
			return 0;
	}
}

static int parse_cpuset(const char *text, struct limits *out, struct error *err)
{
	uint64_t bits[CPU_WORDS];

	if (strlen(text) >= CPUSET_MAX || strchr(text, '\n') || cpu_list_parse(text, bits) < 0)
		return fail(err, "limit_range", "cpuset: '%.64s' is not a list of CPUs such as 0-1,3", text);
	memcpy(out->cpuset, text, strlen(text) + 1);
	out->value[LIMIT_CPUSET] = 0;
	return 0;
}

static uint64_t limit_max(enum limit limit)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return limit == LIMIT_CPU_QUOTA ? 100000 * (uint64_t)(cpus > 0 ? cpus : 1) : table[limit].max;
}

static int parse_one(enum limit limit, const char *text, struct limits *out, struct error *err)
{
	uint64_t max = limit_max(limit);

	if (strcmp(text, "max") == 0)
		out->value[limit] = LIMIT_LIFTED;
	else if (limit == LIMIT_CPUSET)
		return parse_cpuset(text, out, err);
	else if (parse_u64(text, table[limit].min, max, &out->value[limit]) < 0)
		return fail(err, "limit_range", "%s: '%.32s' is not `max` or a number from %llu to %llu", table[limit].name, text,
			    (unsigned long long)table[limit].min, (unsigned long long)max);
	return 0;
}

static int check_ceiling(const struct limits *limits, enum limit limit, uint64_t ceiling, struct error *err)
{
	if (ceiling == 0 || limit_value(limits, limit) == LIMIT_LIFTED || limits->value[limit] <= ceiling)
		return 0;
	return fail(err, "limit_ceiling", "%s: %llu is over this user's ceiling of %llu", table[limit].name,
		    (unsigned long long)limits->value[limit], (unsigned long long)ceiling);
}

int limits_parse(const struct records *list, const struct config *config, struct limits *out, struct error *err)
{
	*out = (struct limits){ 0 };
	for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
		const char *text = records_get(list, table[limit].name);

		if (!text)
			continue;
		if (parse_one(limit, text, out, err) < 0)
			return -1;
		out->given |= LIMIT_BIT(limit);
	}
	if (check_ceiling(out, LIMIT_MEMORY, config->max_memory, err) < 0)
		return -1;
	return check_ceiling(out, LIMIT_PIDS, config->max_pids, err);
}

void limits_put(struct record_writer *w, const struct limits *limits)
{
	for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
		if (!(limits->given & LIMIT_BIT(limit)))
			continue;
		if (limits->value[limit] == LIMIT_LIFTED)
			put_str(w, table[limit].name, "max");
		else if (limit == LIMIT_CPUSET)
			put_str(w, table[limit].name, limits->cpuset);
		else
			put_u64(w, table[limit].name, limits->value[limit]);
	}
}

void limits_merge(struct limits *limits, const struct limits *change)
{
	for (enum limit limit = 0; limit < LIMIT_COUNT; limit++)
		if (change->given & LIMIT_BIT(limit))
			limits->value[limit] = change->value[limit];
	if (change->given & LIMIT_BIT(LIMIT_CPUSET))
		memcpy(limits->cpuset, change->cpuset, sizeof limits->cpuset);
	limits->given |= change->given;
}
