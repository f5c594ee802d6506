// Package mark writes marks: values by their keys, in the metadata of Arrow fields and schemas. The given metadata is
// not changed; the result has its other marks, in their order.
package mark

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

// With is metadata with a mark, behind the others and in the place of one of the same key.
func With(m arrow.Metadata, key, value string) arrow.Metadata {
	m = Without(m, key)
	return arrow.NewMetadata(append(slices.Clone(m.Keys()), key), append(slices.Clone(m.Values()), value))
}

// Without is metadata without a mark.
func Without(m arrow.Metadata, key string) arrow.Metadata {
	at := m.FindKey(key)
	if at < 0 {
		return m
	}
	return arrow.NewMetadata(slices.Delete(slices.Clone(m.Keys()), at, at+1),
		slices.Delete(slices.Clone(m.Values()), at, at+1))
}

// WithAny is With; but an empty value is no mark.
func WithAny(m arrow.Metadata, key, value string) arrow.Metadata {
	if value == "" {
		return Without(m, key)
	}
	return With(m, key, value)
}
