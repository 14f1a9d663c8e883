#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "keeper.h"

struct records spec_records;
static char bytes[FRAME_MAX + 1];

static uint64_t number(const char *key, uint64_t min, uint64_t max, uint64_t otherwise)
{
	const char *text = records_get(&spec_records, key);
	uint64_t n;

	if (!text)
		return otherwise;
	if (parse_u64(text, min, max, &n) < 0)
		fail_start("bad_request", "%s: '%.40s' is not a number from %llu to %llu", key, text, (unsigned long long)min,
			   (unsigned long long)max);
	return n;
}

static const char *path(const char *key)
{
	const char *text = records_get(&spec_records, key);

	if (text && text[0] != '/')
		fail_start("bad_request", "%s: '%.80s' is not an absolute path", key, text);
	return text;
}

/* A second value where one is wanted is an error; keys of spawn that are the helper's business are not looked at. */
static void check_single(void)
{
	static const char *const keys[] = { "dir", "cwd", "tty", "rows", "cols", "stderr", "stdin",
					    "deadline_ms", "grace_ms", "settle_ms", "log_max" };

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (records_count(&spec_records, keys[i]) > 1)
			fail_start("bad_request", "%s is given twice", keys[i]);
}

static size_t read_all(int fd)
{
	size_t len = 0;

	while (len < sizeof bytes) {
		ssize_t n = read(fd, bytes + len, sizeof bytes - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			fail_start("bad_request", "the spec cannot be read: %s", strerror(errno));
		if (n == 0)
			return len;
		len += (size_t)n;
	}
	fail_start("bad_request", "the spec has more than %u bytes", FRAME_MAX);
}

void read_spec(int fd)
{
	struct spec *s = &keeper.spec;
	const char *how;
	size_t len = read_all(fd);

	close(fd);
	if (records_parse(bytes, len, &spec_records) < 0)
		fail_start("bad_request", "the spec is not a record list");
	check_single();
	s->dir = path("dir");
	s->cwd = path("cwd");
	s->stdin_path = path("stdin");
	if (!s->dir || !s->cwd || records_count(&spec_records, "arg") == 0)
		fail_start("bad_request", "the spec needs dir, cwd and arg");
	s->tty = number("tty", 0, 1, 0) == 1;
	how = records_get(&spec_records, "stderr");
	if (how && strcmp(how, "split") != 0 && strcmp(how, "merge") != 0)
		fail_start("bad_request", "stderr: '%.40s' is neither split nor merge", how);
	s->merge = s->tty || !how || strcmp(how, "merge") == 0;
	s->rows = (unsigned)number("rows", 1, 9999, 24);
	s->cols = (unsigned)number("cols", 1, 9999, 80);
	s->deadline_ms = number("deadline_ms", 1, NEVER / 4, NEVER);
	s->grace_ms = number("grace_ms", 0, 3600000, 10000);
	s->settle_ms = number("settle_ms", 1000, NEVER / 4, 900000);
	s->log_max = number("log_max", 4096, NEVER / 4, 4ull << 30);
}
