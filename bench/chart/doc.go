// Package chart draws lines over two axes, as SVG and as characters.
//
//	Chart ──► SVG       a file that a browser shows without anything else
//	      └─► Text      for a terminal: one letter for each series
//
// Words: a *series* is a named line through points. A *reference* series is published figures of others: dashed, and
// small letters in Text.
//
// Invariants:
//
//   - CH1: the same chart gives the same bytes, so that a drawing in version control changes only if its figures do.
//   - CH2: every point is within the axes; on a logarithmic axis, points that are not positive are left out.
//
// It measures nothing and opens no files.
package chart
