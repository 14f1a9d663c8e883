#include "records.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool key_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* Length of the key that starts at `p`, 0 when there is no valid key followed by '='. */
static size_t key_length(const char *p, const char *end)
{
	size_t n = 0;

	while (p + n < end && n <= RECORD_KEY_MAX && key_char(p[n]))
		n++;
	if (n == 0 || n > RECORD_KEY_MAX || p + n >= end || p[n] != '=')
		return 0;
	return n;
}

int records_parse(const char *buf, size_t len, struct records *out)
{
	const char *p = buf, *end = buf + len;

	out->count = 0;
	/* The last byte must be NUL: each value is then terminated inside the buffer, whatever else the bytes say. */
	if (len == 0 || buf[len - 1] != '\0')
		return -1;
	while (p < end) {
		size_t n = key_length(p, end);

		if (n == 0 || out->count == RECORDS_MAX) {
			out->count = 0;
			return -1;
		}
		out->at[out->count++] = (struct record){ .key = p, .key_len = (uint8_t)n, .value = p + n + 1 };
		p += strlen(p) + 1;
	}
	return 0;
}

bool record_is(const struct record *r, const char *key)
{
	return strlen(key) == r->key_len && memcmp(r->key, key, r->key_len) == 0;
}

const char *records_get(const struct records *list, const char *key)
{
	for (size_t i = 0; i < list->count; i++)
		if (record_is(&list->at[i], key))
			return list->at[i].value;
	return NULL;
}

size_t records_count(const struct records *list, const char *key)
{
	size_t n = 0;

	for (size_t i = 0; i < list->count; i++)
		n += record_is(&list->at[i], key);
	return n;
}

int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	uint64_t n = 0;

	if (text[0] == '\0' || (text[0] == '0' && text[1] != '\0'))
		return -1;
	for (const char *p = text; *p; p++) {
		uint64_t digit = (uint64_t)(*p - '0');

		if (*p < '0' || *p > '9' || n > (UINT64_MAX - digit) / 10)
			return -1;
		n = n * 10 + digit;
	}
	if (n < min || n > max)
		return -1;
	*out = n;
	return 0;
}

static void put(struct record_writer *w, const char *key, const char *value, size_t value_len)
{
	size_t key_len = strlen(key), need = key_len + 1 + value_len + 1;

	if (w->full || need > w->cap - w->len) {
		w->full = true;
		return;
	}
	memcpy(w->buf + w->len, key, key_len);
	w->len += key_len;
	w->buf[w->len++] = '=';
	memcpy(w->buf + w->len, value, value_len);
	w->len += value_len;
	w->buf[w->len++] = '\0';
}

void put_str(struct record_writer *w, const char *key, const char *value)
{
	put(w, key, value, strlen(value));
}

void put_u64(struct record_writer *w, const char *key, uint64_t value)
{
	char text[24];
	int n = snprintf(text, sizeof text, "%" PRIu64, value);

	put(w, key, text, (size_t)n);
}
