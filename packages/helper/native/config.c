#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <fcntl.h>

#include "helper.h"

#define CONFIG_FILE "/etc/drover/helper.conf"

static int set_text(char *out, size_t cap, const char *key, const char *value, struct error *err)
{
	if (strlen(value) >= cap || value[0] == '\0')
		return fail(err, "bad_request", "%s: '%s' is empty or too long", key, value);
	memcpy(out, value, strlen(value) + 1);
	return 0;
}

static int set_path(char *out, size_t cap, const char *key, const char *value, struct error *err)
{
	if (!plain_path(value))
		return fail(err, "bad_request", "%s: '%s' is not an absolute path without '.' and '..'", key, value);
	return set_text(out, cap, key, value, err);
}

static int set_number(uint64_t *out, uint64_t max, const char *key, const char *value, struct error *err)
{
	if (parse_u64(value, 0, max, out) < 0)
		return fail(err, "bad_request", "%s: '%s' is not a number from 0 to %llu", key, value, (unsigned long long)max);
	return 0;
}

/* A relative path of plain components: it is joined to the roots of hierarchies. */
static bool group_name(const char *name)
{
	for (const char *p = name; *p; p++) {
		bool first = p == name || p[-1] == '/';
		bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || strchr("_-@:", *p);

		if (!plain && (first || (*p != '.' && *p != '/')))
			return false;
	}
	return name[0] != '\0' && name[strlen(name) - 1] != '/';
}

static int set_range(struct config *c, const char *value, struct error *err)
{
	char first[16];
	const char *dash = strchr(value, '-');
	uint64_t from, to;

	if (!dash || (size_t)(dash - value) >= sizeof first)
		return fail(err, "bad_request", "agent-uids: '%s' is not FIRST-LAST", value);
	memcpy(first, value, (size_t)(dash - value));
	first[dash - value] = '\0';
	/* Never 0: an agent is never the host's root. 65534 and the last two numbers mean "nobody" to the kernel. */
	if (parse_u64(first, 1, UINT32_MAX - 2, &from) < 0 || parse_u64(dash + 1, from, UINT32_MAX - 2, &to) < 0 ||
	    (from <= 65535 && to >= 65534))
		return fail(err, "bad_request", "agent-uids: '%s' is not a range without 0, 65534 and 65535", value);
	c->agent_first = (uid_t)from;
	c->agent_last = (uid_t)to;
	return 0;
}

static int add_uid(struct config *c, const char *value, struct error *err)
{
	uint64_t uid;

	if (parse_u64(value, 0, UINT32_MAX - 1, &uid) < 0)
		return fail(err, "bad_request", "allow-uid: '%s' is not a uid", value);
	if (c->allowed_count == MAX_ALLOWED_UIDS)
		return fail(err, "bad_request", "allow-uid: %d is the most; use a group", MAX_ALLOWED_UIDS);
	c->allowed[c->allowed_count++] = (uid_t)uid;
	return 0;
}

static int set_option(struct config *c, const char *key, const char *value, struct error *err)
{
	if (strcmp(key, "socket") == 0)
		return set_path(c->socket, sizeof c->socket, key, value, err);
	if (strcmp(key, "state-dir") == 0)
		return set_path(c->state_dir, sizeof c->state_dir, key, value, err);
	if (strcmp(key, "libexec") == 0)
		return set_path(c->libexec, sizeof c->libexec, key, value, err);
	if (strcmp(key, "cgroup") == 0)
		return group_name(value) ? set_text(c->cgroup, sizeof c->cgroup, key, value, err)
					 : fail(err, "bad_request", "cgroup: '%s' is not a plain relative path", value);
	if (strcmp(key, "group") == 0)
		return set_text(c->group, sizeof c->group, key, value, err);
	if (strcmp(key, "allow-uid") == 0)
		return add_uid(c, value, err);
	if (strcmp(key, "agent-uids") == 0)
		return set_range(c, value, err);
	if (strcmp(key, "idle-exit") == 0)
		return set_number(&c->idle_exit_s, 1u << 30, key, value, err);
	if (strcmp(key, "max_sandboxes") == 0)
		return set_number(&c->max_sandboxes, MAX_SANDBOXES_PER_UID, key, value, err);
	if (strcmp(key, "max_memory") == 0)
		return set_number(&c->max_memory, INT64_MAX, key, value, err);
	if (strcmp(key, "max_pids") == 0)
		return set_number(&c->max_pids, 4194304, key, value, err);
	return fail(err, "bad_request", "there is no option '%s'", key);
}

static char *trim(char *text)
{
	size_t len = strlen(text);

	while (len > 0 && strchr(" \t\r\n", text[len - 1]))
		text[--len] = '\0';
	return text + strspn(text, " \t");
}

static int read_line(struct config *c, char *line, struct error *err)
{
	char *text = trim(line), *equals = strchr(text, '=');

	if (text[0] == '\0' || text[0] == '#')
		return 0;
	if (!equals)
		return fail(err, "bad_request", "'%s' is not key=value", text);
	*equals = '\0';
	return set_option(c, trim(text), trim(equals + 1), err);
}

/* Only root may say who is allowed and how much: a file that somebody else can write is refused, not ignored. */
static int read_file(struct config *c, bool required, struct error *err)
{
	fd_auto int fd = open(c->file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;
	char text[16384], *rest = text;
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT && !required ? 0 : fail_errno(err, "internal", "%s", c->file);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != 0 || (st.st_mode & 022))
		return fail(err, "internal", "%s must be a file that only root can write", c->file);
	n = read(fd, text, sizeof text - 1);
	if (n < 0 || (size_t)n == sizeof text - 1)
		return fail(err, "internal", "%s cannot be read or is longer than %zu bytes", c->file, sizeof text - 1);
	text[n] = '\0';
	for (int number = 1; rest; number++) {
		char *line = strsep(&rest, "\n");

		if (read_line(c, line, err) < 0)
			return fail_context(err, "%s:%d", c->file, number);
	}
	return 0;
}

/* Beside the executable. */
static int default_libexec(struct config *c, struct error *err)
{
	ssize_t n = readlink("/proc/self/exe", c->libexec, sizeof c->libexec);
	char *slash;

	if (n < 0 || (size_t)n >= sizeof c->libexec)
		return fail(err, "internal", "/proc/self/exe cannot be read; give --libexec");
	c->libexec[n] = '\0';
	slash = strrchr(c->libexec, '/');
	*(slash == c->libexec ? slash + 1 : slash) = '\0';
	return 0;
}

/* One flag; returns how many words it took, or -1. */
static int read_flag(struct config *c, char **argv, bool files_only, struct error *err)
{
	const char *flag = argv[0], *value = argv[1];

	if (strcmp(flag, "--print-protocol") == 0 || strcmp(flag, "--help") == 0) {
		c->print_protocol |= flag[2] == 'p';
		c->help |= flag[2] == 'h';
		return 1;
	}
	if (strncmp(flag, "--", 2) != 0 || !value)
		return fail(err, "bad_request", "'%s' is not a flag, or has no value", flag);
	if (strcmp(flag, "--config") == 0)
		return set_path(c->file, sizeof c->file, "config", value, err) < 0 ? -1 : 2;
	if (files_only)
		return 2;
	return set_option(c, flag + 2, value, err) < 0 ? -1 : 2;
}

static int read_flags(struct config *c, char **argv, bool files_only, struct error *err)
{
	for (int i = 1; argv[i];) {
		int taken = read_flag(c, argv + i, files_only, err);

		if (taken < 0)
			return -1;
		i += taken;
	}
	return 0;
}

int config_read(struct config *c, int argc, char **argv, struct error *err)
{
	*c = (struct config){ .socket = "/run/drover/helper.sock", .state_dir = "/run/drover", .cgroup = "drover",
			      .file = CONFIG_FILE, .agent_first = 2000000, .agent_last = 2065535, .max_sandboxes = 64 };
	(void)argc;
	if (read_flags(c, argv, true, err) < 0)
		return -1;
	if (c->print_protocol || c->help)
		return 0;
	if (default_libexec(c, err) < 0 || read_file(c, strcmp(c->file, CONFIG_FILE) != 0, err) < 0)
		return -1;
	return read_flags(c, argv, false, err);
}
