package front

import (
	"embed"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"fediversity.eu/slipway/targets/report"
)

//go:embed completion
var scripts embed.FS

// notOfAWord is what may not be in the name of a function of a shell.
var notOfAWord = regexp.MustCompile(`[^A-Za-z0-9_]`)

// completion prints the script that makes a shell complete what this binary, by
// the name that it was called by, takes. The script asks the binary itself.
func completion(to io.Writer, words []string) report.Code {
	const help = "completion: of which shell? there are bash, fish and zsh"
	if len(words) != 1 || filepath.Base(words[0]) != words[0] {
		return usage(errors.New(help))
	}
	text, err := scripts.ReadFile("completion/" + words[0])
	if err != nil {
		return usage(errors.New(help))
	}
	name := filepath.Base(os.Args[0])
	filled := strings.NewReplacer("@NAME@", name, "@WORD@", notOfAWord.ReplaceAllString(name, "_")).Replace(string(text))
	return answer(to, []byte(filled))
}
