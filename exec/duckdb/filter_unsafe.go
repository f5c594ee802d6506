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

// tests translates the scan's filters for columns at their positions among the open ones, cheap tests first. What cannot be
// translated is left out (D6). The pointers to key sets stay valid as long as the scan is held.
func (s *Scan) tests(open []int) []C.struct_csm_filter {
	at := positions(open)
	var out []C.struct_csm_filter
	add := func(f *Filter, test int, set func(*C.struct_csm_filter)) {
		if len(out) == C.CSM_MAX_FILTERS {
			return
		}
		t := C.struct_csm_filter{test: C.int32_t(test), column: C.int32_t(at[f.Column])}
		if i, ok := integerOf(s.Schema.Field(f.Column).Type); ok {
			t.width = C.int32_t(i.width)
			if i.signed {
				t.is_signed = 1
			}
		}
		if set != nil {
			set(&t)
		}
		out = append(out, t)
	}
	for i := range s.Filters {
		s.cheapTests(&s.Filters[i], add)
	}
	for i := range s.Filters {
		f := &s.Filters[i]
		if _, ok := integerOf(s.Schema.Field(f.Column).Type); ok && f.Keys != nil {
			add(f, C.CSM_TEST_KEYS, func(t *C.struct_csm_filter) { t.keys = f.Keys.c })
		}
	}
	return out
}

func (s *Scan) cheapTests(f *Filter, add func(*Filter, int, func(*C.struct_csm_filter))) {
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
		add(f, C.CSM_TEST_RANGE, func(t *C.struct_csm_filter) { t.low, t.span = C.int64_t(from), C.uint64_t(span) })
	}
	if width := floatWidth(field.Type); width > 0 && (f.LowFloat != nil || f.HighFloat != nil) {
		add(f, C.CSM_TEST_FLOAT, func(t *C.struct_csm_filter) {
			t.width = C.int32_t(width)
			t.low_float, t.high_float = C.double(orElse(f.LowFloat, math.Inf(-1))), C.double(orElse(f.HighFloat, math.Inf(1)))
		})
	}
	if f.Keep != nil && isString(field) {
		add(f, C.CSM_TEST_CODES, nil)
	}
}

func orElse(p *float64, otherwise float64) float64 {
	if p == nil {
		return otherwise
	}
	return *p
}

// copyTests puts tests into C memory.
func copyTests(tests []C.struct_csm_filter) *C.struct_csm_filter {
	if len(tests) == 0 {
		return nil
	}
	// SAFETY: C memory of len(tests) entries; they hold numbers and C pointers only.
	out := (*C.struct_csm_filter)(C.calloc(C.size_t(len(tests)), C.sizeof_struct_csm_filter))
	copy(unsafe.Slice(out, len(tests)), tests)
	return out
}

func (s *Scan) checkFilters() error {
	for _, f := range s.Filters {
		if f.Column < 0 || f.Column >= s.Schema.NumFields() {
			return fmt.Errorf("XX000: a filter names column %d of %d", f.Column, s.Schema.NumFields())
		}
	}
	return nil
}
