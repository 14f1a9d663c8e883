/*
 * /etc/passwd and /etc/group, read directly. The C library's getpwuid would load plug-ins into a root process, which a static program
 * cannot do safely. Accounts that come from elsewhere (a directory service) are unknown here; callers then fall back on what the kernel
 * said about the peer.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helper.h"

#define LINE_MAX_BYTES 4096

static char *field(char **rest)
{
	return *rest ? strsep(rest, ":") : NULL;
}

static bool number(const char *text, uint64_t *out)
{
	return text && parse_u64(text, 0, UINT32_MAX - 1, out) == 0;
}

/* The next line that fits; a longer one is passed over whole. */
static char *next_line(FILE *file, char *line)
{
	while (fgets(line, LINE_MAX_BYTES, file)) {
		char *end = strchr(line, '\n');

		if (end) {
			*end = '\0';
			return line;
		}
		if (feof(file))
			return line;
		for (int c; (c = fgetc(file)) != EOF && c != '\n';)
			;
	}
	return NULL;
}

bool account_primary_gid(uid_t uid, gid_t *gid)
{
	FILE *file = fopen("/etc/passwd", "re");
	char buffer[LINE_MAX_BYTES];
	bool found = false;

	if (!file)
		return false;
	for (char *line; !found && (line = next_line(file, buffer));) {
		char *rest = line;
		uint64_t user, group;

		field(&rest);
		field(&rest);
		if (number(field(&rest), &user) && number(field(&rest), &group) && user == uid) {
			*gid = (gid_t)group;
			found = true;
		}
	}
	fclose(file);
	return found;
}

static bool account_name(uid_t uid, char *name, size_t cap)
{
	FILE *file = fopen("/etc/passwd", "re");
	char buffer[LINE_MAX_BYTES];
	bool found = false;

	if (!file)
		return false;
	for (char *line; !found && (line = next_line(file, buffer));) {
		char *rest = line, *user = field(&rest);
		uint64_t number_of;

		field(&rest);
		found = number(field(&rest), &number_of) && number_of == uid && user[0] && strlen(user) < cap;
		if (found)
			memcpy(name, user, strlen(user) + 1);
	}
	fclose(file);
	return found;
}

bool account_in_group(uid_t uid, gid_t gid)
{
	char buffer[LINE_MAX_BYTES], name[256];
	bool found = false;
	gid_t primary;
	FILE *file;

	if (account_primary_gid(uid, &primary) && primary == gid)
		return true;
	if (!account_name(uid, name, sizeof name) || !(file = fopen("/etc/group", "re")))
		return false;
	for (char *line; !found && (line = next_line(file, buffer));) {
		char *rest = line;
		uint64_t group;

		field(&rest);
		field(&rest);
		if (!number(field(&rest), &group) || group != gid)
			continue;
		for (char *members = field(&rest), *one; members && (one = strsep(&members, ","));)
			found |= strcmp(one, name) == 0;
	}
	fclose(file);
	return found;
}

bool account_group(const char *name, gid_t *gid)
{
	FILE *file = fopen("/etc/group", "re");
	char buffer[LINE_MAX_BYTES];
	bool found = false;

	if (!file)
		return false;
	for (char *line; !found && (line = next_line(file, buffer));) {
		char *rest = line, *group = field(&rest);
		uint64_t id;

		field(&rest);
		if (strcmp(group, name) == 0 && number(field(&rest), &id)) {
			*gid = (gid_t)id;
			found = true;
		}
	}
	fclose(file);
	return found;
}
