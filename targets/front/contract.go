package front

import (
	"errors"
	"io"
	"os"

	"fediversity.eu/slipway/targets/contract"
	"fediversity.eu/slipway/targets/report"
)

// contract prints what is published: all of it, or one part.
func (f Front) contract(words []string) report.Code {
	which := "all"
	if len(words) > 0 {
		which = words[0]
	}
	documents := map[string]func(*contract.Contract) ([]byte, error){
		"all": (*contract.Contract).Document, "programs": (*contract.Contract).ProgramsDocument, "keys": (*contract.Contract).KeysDocument,
	}
	if which == "schema" && len(words) == 1 {
		return answer(os.Stdout, contract.Schema)
	}
	write, ok := documents[which]
	if !ok || len(words) > 1 {
		return usage(errors.New("contract: which part? there are programs, keys and schema; none of them means all of it"))
	}
	c, err := f.published()
	if err != nil {
		explain(plainly(), err)
		return report.Failed
	}
	text, err := write(c)
	if err != nil {
		explain(plainly(), err)
		return report.Failed
	}
	return answer(os.Stdout, text)
}

// published is the contract of the registry.
func (f Front) published() (*contract.Contract, error) {
	registry, err := f.Registry()
	if err != nil {
		return nil, err
	}
	return contract.New(registry)
}

// schema prints the JSON Schema of what a run leaves behind or says, or of what
// is published.
func schema(to io.Writer, words []string) report.Code {
	schemas := map[string][]byte{"record": report.RecordSchema, "event": report.EventSchema, "contract": contract.Schema}
	if len(words) != 1 || schemas[words[0]] == nil {
		return usage(errors.New("schema: which? there are record, of REPORT, event, of a line of PROGRESS=json, and contract"))
	}
	return answer(to, schemas[words[0]])
}
