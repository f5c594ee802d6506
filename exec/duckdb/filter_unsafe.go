package duckdb

/*
#include <stdlib.h>
#include "scan.h"
*/
import "C"

import (
	"fmt"
	"math"
	"unsafe"
)

// greatest is the greatest of bytes; 0 if there is none. Codes of dictionaries are looked at whenever a chunk is
// opened: slices.Max takes a sixth of TPC-H 12.
func greatest(bytes []byte) byte {
	// SAFETY: the bytes are read during the call; of none, nothing is.
	return byte(C.csm_greatest((*C.uint8_t)(unsafe.SliceData(bytes)), C.int64_t(len(bytes))))
}

// test is a filter as C sees it, except its words, which are not in C memory yet.
type test struct {
	c     C.struct_csm_filter
	words []Word
}

// tests translates the scan's filters for columns at their positions among the open ones, cheap tests first. What
// cannot be translated is left out (D6). The pointers to key sets stay valid as long as the scan is held.
func (s *Scan) tests(open []int) []test {
	at := positions(open)
	var out []test
	add := func(f *Filter, kind int, set func(*test)) {
		if len(out) == C.CSM_MAX_FILTERS {
			return
		}
		t := test{c: C.struct_csm_filter{test: C.int32_t(kind), column: C.int32_t(at[f.Column])}}
		if i, ok := integerOf(s.Schema.Field(f.Column).Type); ok {
			t.c.width = C.int32_t(i.width)
			if i.signed {
				t.c.is_signed = 1
			}
		}
		if set != nil {
			set(&t)
		}
		out = append(out, t)
	}
	for i := range s.Filters {
		s.cheapTests(&s.Filters[i], at, add)
	}
	for i := range s.Filters {
		f := &s.Filters[i]
		if _, ok := integerOf(s.Schema.Field(f.Column).Type); ok && f.Keys != nil {
			add(f, C.CSM_TEST_KEYS, func(t *test) { t.c.keys = f.Keys.c })
		}
	}
	return out
}

func (s *Scan) cheapTests(f *Filter, at map[int]int, add func(*Filter, int, func(*test))) {
	field := s.Schema.Field(f.Column)
	if f.IsNull && hasValidity(field.Type) {
		add(f, C.CSM_TEST_NULL, nil)
	}
	if f.NotNull && hasValidity(field.Type) {
		add(f, C.CSM_TEST_NOT_NULL, nil)
	}
	if i, ok := integerOf(field.Type); ok && (f.Low != nil || f.High != nil) {
		from, span, none := i.rangeOf(f.Low, f.High)
		if none {
			add(f, C.CSM_TEST_NOTHING, nil)
			return
		}
		add(f, C.CSM_TEST_RANGE, func(t *test) { t.c.low, t.c.span = C.int64_t(from), C.uint64_t(span) })
	}
	if width := floatWidth(field.Type); width > 0 && (f.LowFloat != nil || f.HighFloat != nil) {
		add(f, C.CSM_TEST_FLOAT, func(t *test) {
			t.c.width = C.int32_t(width)
			t.c.low_float, t.c.high_float = C.double(orElse(f.LowFloat, math.Inf(-1))), C.double(orElse(f.HighFloat, math.Inf(1)))
		})
	}
	if s.comparable(f) {
		add(f, C.CSM_TEST_COMPARE, func(t *test) {
			t.c.other, t.c.comparison = C.int32_t(at[f.Other]), C.int32_t(f.Compare)
		})
	}
	switch {
	case !isString(field):
	case len(f.Words) > 0 && len(f.Words) <= maxWords:
		add(f, C.CSM_TEST_WORDS, func(t *test) { t.words = f.Words })
	case f.Keep != nil || len(f.Words) > 0:
		add(f, C.CSM_TEST_CODES, nil)
	}
}

func orElse(p *float64, otherwise float64) float64 {
	if p == nil {
		return otherwise
	}
	return *p
}

// maxWords: to compare every string with more words than these costs more than it saves.
const maxWords = 32

const wordHead = 4 // bytes that words.c reads of every word

// copyTests puts tests into C memory, one block that free gives back: the tests, their words, the words' bytes.
func copyTests(tests []test) *C.struct_csm_filter {
	if len(tests) == 0 {
		return nil
	}
	words, bytes := 0, 0
	for _, t := range tests {
		words += len(t.words)
		for _, w := range t.words {
			bytes += max(len(w.Text), wordHead)
		}
	}
	size := len(tests)*C.sizeof_struct_csm_filter + words*C.sizeof_struct_csm_word
	block := C.calloc(1, C.size_t(size+bytes))
	// SAFETY: the block has room for all three parts, one after the other; both structs are multiples of 8 bytes long.
	out := unsafe.Slice((*C.struct_csm_filter)(block), len(tests))
	word := unsafe.Slice((*C.struct_csm_word)(unsafe.Add(block, len(tests)*C.sizeof_struct_csm_filter)), words)
	text := unsafe.Slice((*byte)(unsafe.Add(block, size)), bytes)
	for i, t := range tests {
		out[i] = t.c
		if len(t.words) == 0 {
			continue
		}
		out[i].words, out[i].word_count = &word[0], C.int64_t(len(t.words))
		for k, w := range t.words {
			copy(text, w.Text)
			word[k] = C.struct_csm_word{text: (*C.char)(unsafe.Pointer(&text[0])), length: C.uint32_t(len(w.Text))}
			switch {
			case w.Like:
				word[k].form = C.CSM_LIKE
			case w.Prefix:
				word[k].form = C.CSM_PREFIX
			}
			text = text[max(len(w.Text), wordHead):]
		}
		word = word[len(t.words):]
	}
	return (*C.struct_csm_filter)(block)
}

func (s *Scan) checkFilters() error {
	for _, f := range s.Filters {
		if f.Column < 0 || f.Column >= s.Schema.NumFields() || s.numbers(f.Column) {
			return fmt.Errorf("XX000: a filter names column %d of %d", f.Column, s.Schema.NumFields())
		}
		if f.Compare != Uncompared && (f.Other < 0 || f.Other >= s.Schema.NumFields()) {
			return fmt.Errorf("XX000: a filter compares with column %d of %d", f.Other, s.Schema.NumFields())
		}
	}
	return nil
}
