package engine

import "github.com/csmsql/csmsql/catalog"

func (e *Engine) visible(contents *catalog.Contents, l *lease) *visible {
	return &visible{contents: contents, lease: l}
}
