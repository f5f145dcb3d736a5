package nixos

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// readFact is where a module reads a fact: coordinates.hosting.sites, or
// coordinates.hosting ? sites.
var readFact = regexp.MustCompile(`\bcoordinates\s*\.\s*hosting\s*[.?]\s*"?([A-Za-z_][A-Za-z0-9_'-]*)`)

// factsOf gives the names of the facts that the modules of a source read, sorted.
func factsOf(source string) ([]string, error) {
	found := map[string]bool{}
	err := fs.WalkDir(os.DirFS(source), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || filepath.Ext(path) != ".nix" {
			return err
		}
		text, err := os.ReadFile(filepath.Join(source, path))
		if err != nil {
			return err
		}
		for _, match := range readFact.FindAllSubmatch(text, -1) {
			found[string(match[1])] = true
		}
		return nil
	})
	return slices.Sorted(maps.Keys(found)), err
}

// misspelt gives the facts of an object that are nearly called like one that is read.
// One that is near to none may be for the modules of another machine.
func misspelt(hosting json.RawMessage, read []string) []env.Typo {
	var facts map[string]json.RawMessage
	if err := json.Unmarshal(hosting, &facts); err != nil {
		return nil // it was composed here, of an object
	}
	var typos []env.Typo
	for _, name := range slices.Sorted(maps.Keys(facts)) {
		if meant := env.Near(name, read); meant != "" {
			typos = append(typos, env.Typo{Name: name, Meant: meant})
		}
	}
	return typos
}

// warnOfFacts tells of facts that look like slips. They are no errors: whoever wrote
// the modules may read facts in ways that are not seen here.
func (s System) warnOfFacts(log *report.Log) {
	read, err := factsOf(s.Source.Dir)
	if err != nil {
		return // the evaluation reads the same files, and says what is wrong
	}
	for _, typo := range misspelt(s.Coordinates.Hosting, read) {
		log.Warnf("HOSTING_CONFIG: no module reads the fact %s; did you mean %s?", typo.Name, typo.Meant)
	}
}
