package program

import (
	"errors"
	"path/filepath"
	"slices"

	"fediversity.eu/slipway/internal/durable"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/page"
	"fediversity.eu/slipway/targets/report"
)

// checkFiles tells, as a *env.Problems, of the files that a run would leave which
// could not be written, and takes them out of the keys: there will be none.
func (k *Keys) checkFiles() (problems, err error) {
	declared, err := env.Declared(*k)
	if err != nil {
		return nil, err
	}
	found := &env.Problems{}
	refuse := func(name string, path *env.Path, what string) {
		i := slices.IndexFunc(declared, func(key env.Key) bool { return key.Name == name })
		found.List = append(found.List, env.Problem{
			Name: name, Variable: name, What: what,
			Valid: "path of a file in a folder that is there and can be written to", Description: declared[i].Description,
		})
		*path = ""
	}
	if k.Report != "" && filepath.Clean(string(k.Report)) == filepath.Clean(string(k.ReportHTML)) {
		refuse("REPORT_HTML", &k.ReportHTML, "the file that REPORT names")
	}
	for _, f := range []struct {
		key  string
		path *env.Path
	}{{"REPORT", &k.Report}, {"REPORT_HTML", &k.ReportHTML}} {
		if *f.path == "" {
			continue
		}
		if err := durable.Writable(string(*f.path)); err != nil {
			refuse(f.key, f.path, err.Error())
		}
	}
	if len(found.List) == 0 {
		return nil, nil //nolint:nilnil // nothing is wrong
	}
	return found, nil
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
