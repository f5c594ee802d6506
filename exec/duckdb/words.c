// Strings compared with words inside the scan, without following most of them: a view has the length and the first four bytes.
#define _GNU_SOURCE // memmem
#include "scan.h"
#include <string.h>

#define HEAD 4 // bytes of a string that stand in its view, whatever its length

CSM_WIDE static void split(const struct csm_view *views, int64_t count, uint32_t *lengths, uint32_t *heads) {
	for (int64_t i = 0; i < count; i++) {
		lengths[i] = (uint32_t)views[i].length;
		memcpy(&heads[i], views[i].prefix, HEAD);
	}
}

// mark sets hit for strings with a length from shortest to shortest+more whose head is the wanted one where mask has bits.
CSM_WIDE static void mark(const uint32_t *lengths, const uint32_t *heads, int64_t count, uint32_t shortest, uint32_t more, uint32_t mask,
                          uint32_t wanted, uint8_t *hit) {
	for (int64_t i = 0; i < count; i++) hit[i] |= (lengths[i] - shortest <= more) & ((heads[i] & mask) == wanted);
}

CSM_WIDE static void combine(const uint8_t *hit, int64_t count, uint8_t *pass) {
	for (int64_t i = 0; i < count; i++) pass[i] &= hit[i];
}

// bytes_of finds a string's bytes, NULL when they are not where the view says.
static const char *bytes_of(const struct csm_column *column, const struct csm_view *view) {
	const struct ArrowArray *array = column->array;
	if (view->length <= 12) return view->prefix;
	if (view->buffer < 0 || view->buffer >= array->n_buffers - 3 || view->offset < 0 ||
	    (int64_t)view->offset + view->length > column->view_sizes[view->buffer])
		return NULL;
	return (const char *)array->buffers[2 + view->buffer] + view->offset;
}

// mark_long sets hit for the marked strings that go on as the word does behind its head.
static void mark_long(const struct csm_word *word, const struct csm_column *column, const struct csm_view *views, int64_t count,
                      const uint8_t *marked, uint8_t *hit) {
	for (int64_t i = 0; i < count; i++) {
		if (!marked[i] || hit[i]) continue;
		const char *bytes = bytes_of(column, &views[i]);
		hit[i] = !bytes || memcmp(bytes + HEAD, word->text + HEAD, word->length - HEAD) == 0;
	}
}

// like reports whether the pieces of a pattern follow one another in a string; what stands behind the last % is its
// end. The first place where a piece is found is as good as any other.
static bool like(const char *bytes, size_t length, const char *pattern, size_t size) {
	while (size > 0) {
		if (*pattern == '%') {
			pattern++, size--;
			continue;
		}
		const char *next = memchr(pattern, '%', size);
		size_t piece = next ? (size_t)(next - pattern) : size;
		if (piece > length) return false;
		if (!next) return memcmp(bytes + length - piece, pattern, piece) == 0;
		const char *found = memmem(bytes, length, pattern, piece);
		if (!found) return false;
		length -= (size_t)(found - bytes) + piece;
		bytes = found + piece;
		pattern += piece, size -= piece;
	}
	return true;
}

static void mark_like(const struct csm_word *word, const struct csm_column *column, const struct csm_view *views, int64_t count, uint8_t *hit) {
	for (int64_t i = 0; i < count; i++) {
		if (hit[i]) continue;
		const char *bytes = views[i].length < 0 ? NULL : bytes_of(column, &views[i]);
		hit[i] = !bytes || like(bytes, (size_t)views[i].length, word->text, word->length);
	}
}

void csm_test_words(const struct csm_filter *f, const struct csm_column *column, int64_t first, int64_t count, uint8_t *pass) {
	const struct csm_view *views = (const struct csm_view *)column->array->buffers[1] + column->array->offset + first;
	uint32_t lengths[CSM_SLICE_ROWS], heads[CSM_SLICE_ROWS];
	uint8_t hit[CSM_SLICE_ROWS], marked[CSM_SLICE_ROWS];
	split(views, count, lengths, heads);
	memset(hit, 0, (size_t)count);
	for (int64_t k = 0; k < f->word_count; k++) {
		const struct csm_word *word = &f->words[k];
		if (word->form == CSM_LIKE) {
			mark_like(word, column, views, count, hit);
			continue;
		}
		uint32_t wanted, mask;
		memcpy(&wanted, word->text, HEAD);
		char bits[HEAD] = {0};
		memset(bits, 0xff, word->length < HEAD ? word->length : HEAD);
		memcpy(&mask, bits, HEAD);
		uint32_t more = word->form == CSM_PREFIX ? (uint32_t)INT32_MAX - word->length : 0;
		if (word->length <= HEAD) {
			mark(lengths, heads, count, word->length, more, mask, wanted, hit);
			continue;
		}
		memset(marked, 0, (size_t)count);
		mark(lengths, heads, count, word->length, more, mask, wanted, marked);
		mark_long(word, column, views, count, marked, hit);
	}
	combine(hit, count, pass);
}
