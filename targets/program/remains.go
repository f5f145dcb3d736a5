package program

import (
	"errors"
	"fmt"
	"path/filepath"

	"fediversity.eu/slipway/internal/durable"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/page"
	"fediversity.eu/slipway/targets/report"
)

// checkFiles tells of the files that a run would leave which could not be written.
func (k Keys) checkFiles() error {
	var faults []error
	for _, f := range []struct {
		key  string
		path env.Path
	}{{"REPORT", k.Report}, {"REPORT_HTML", k.ReportHTML}} {
		if f.path == "" {
			continue
		}
		if err := durable.Writable(string(f.path)); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", f.key, err))
		}
	}
	if k.Report != "" && filepath.Clean(string(k.Report)) == filepath.Clean(string(k.ReportHTML)) {
		faults = append(faults, errors.New("REPORT_HTML: the file that REPORT names"))
	}
	return errors.Join(faults...)
}

// write puts the record where REPORT says and the page where REPORT_HTML says, and
// returns how the run ended.
func (s *Session) write(record *report.Record, err error) error {
	failed := s.leave(record)
	switch {
	case failed == nil:
		return err
	case err != nil && !report.Told(err):
		return errors.Join(err, failed)
	}
	s.log.Troublef("%s", failed)
	return &report.Exit{Code: report.CodeOf(errors.Join(err, failed)), Err: errors.Join(err, failed), Told: true}
}

// leave writes what is to remain of a run. One file that fails does not keep back
// the other.
func (s *Session) leave(record *report.Record) error {
	redact := s.environment.Redactor().String
	var faults []error
	if s.keys.Report != "" {
		faults = append(faults, record.Write(string(s.keys.Report), redact))
	}
	if s.keys.ReportHTML != "" {
		faults = append(faults, page.Write(string(s.keys.ReportHTML), record, redact))
	}
	return errors.Join(faults...)
}
