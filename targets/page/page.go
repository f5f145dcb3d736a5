// Package page makes a page about a run from its record: one HTML document that
// needs nothing beside it, no script, no other file and no network.
package page

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"

	"fediversity.eu/slipway/internal/durable"
	"fediversity.eu/slipway/targets/report"
)

//go:embed page.html.tmpl run.html.tmpl page.css
var files embed.FS

var pages = template.Must(template.New("page").ParseFS(files, "*.tmpl"))

var style = func() template.CSS {
	text, err := files.ReadFile("page.css")
	if err != nil {
		panic(err) // it is baked in
	}
	return template.CSS(text) //nolint:gosec // ours
}()

// Write puts a page about a run at path, whole or not at all. What redact takes
// out of the record is not on the page.
func Write(path string, record *report.Record, redact func(string) string) error {
	clean, err := record.Redacted(redact)
	if err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	text, err := Render(clean)
	if err == nil {
		err = durable.Write(path, text)
	}
	if err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// Render makes the page of a record, with no secret taken out.
func Render(record *report.Record) ([]byte, error) {
	record, err := record.Redacted(nil)
	if err != nil {
		return nil, err
	}
	v, err := newView(record)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, "page.html.tmpl", v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
