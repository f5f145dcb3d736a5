package env

import (
	"errors"
	"path/filepath"
	"strings"
	"unicode"
)

// lineEnds gives value with the line ends of Unix. A file of Windows that a shell
// read ends in a carriage return: $(cat file) takes off the line feed alone.
func lineEnds(value string) string {
	return strings.TrimRight(strings.ReplaceAll(value, "\r\n", "\n"), "\r")
}

// oneLine refuses control characters: line ends, NUL, escape sequences.
func oneLine(value string) error {
	if strings.Contains(value, "\r") {
		return errors.New("holds a carriage return within its text")
	}
	if strings.ContainsFunc(value, unicode.IsControl) {
		return errors.New("holds a line end or another control character")
	}
	return nil
}

// severalLines refuses control characters other than line ends and tabs.
func severalLines(value string) error {
	return oneLine(strings.NewReplacer("\n", "", "\t", "").Replace(value))
}

// Text is a text that may have several lines, such as inline JSON.
type Text string

// EnvDecode takes value as it is.
func (t *Text) EnvDecode(value string) error {
	*t = Text(value)
	return severalLines(value)
}

// Valid says what EnvDecode accepts.
func (t *Text) Valid() string { return "text, of several lines where needed" }

// Names is a list of words.
type Names []string

// EnvDecode takes words between commas; blanks around a word are not part of it.
func (n *Names) EnvDecode(value string) error {
	words := strings.Split(value, ",")
	for i, word := range words {
		words[i] = strings.TrimSpace(word)
		if words[i] == "" {
			return errors.New("has an empty name before, after or between its commas")
		}
	}
	*n = words
	return oneLine(value)
}

// Valid says what EnvDecode accepts.
func (n *Names) Valid() string { return "names separated by commas" }

// Lines is a list of lines, such as host keys.
type Lines []string

// EnvDecode takes one element a line, without the blanks around it; blank lines
// are none.
func (l *Lines) EnvDecode(value string) error {
	var lines []string
	for line := range strings.Lines(value) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if lines == nil {
		return errors.New("has only blank lines")
	}
	*l = lines
	return severalLines(value)
}

// Valid says what EnvDecode accepts.
func (l *Lines) Valid() string { return "one or more lines of text" }

// Path is the absolute path of a file or folder, which need not exist.
type Path string

// EnvDecode takes a path; a relative one is meant from the working directory.
func (p *Path) EnvDecode(value string) error {
	if strings.HasPrefix(value, "~") {
		return errors.New("starts with ~, which only a shell expands")
	}
	if err := oneLine(value); err != nil {
		return err
	}
	path, err := filepath.Abs(value)
	*p = Path(path)
	return err
}

// Valid says what EnvDecode accepts.
func (p *Path) Valid() string { return "path, absolute or from the working directory" }

// Paths is a list of absolute paths of files or folders, which need not exist.
type Paths []Path

// EnvDecode takes paths between commas; blanks around one are not part of it.
func (p *Paths) EnvDecode(value string) error {
	var names Names
	if err := names.EnvDecode(value); err != nil {
		return err
	}
	paths := make(Paths, len(names))
	for i, name := range names {
		if err := paths[i].EnvDecode(name); err != nil {
			return err
		}
	}
	*p = paths
	return nil
}

// Valid says what EnvDecode accepts.
func (p *Paths) Valid() string {
	return "paths separated by commas, absolute or from the working directory"
}

// Bool is a yes or no.
type Bool bool

// EnvDecode takes one word out of three pairs, in lower case.
func (b *Bool) EnvDecode(value string) error {
	switch value {
	case "true", "yes", "1":
		*b = true
	case "false", "no", "0":
		*b = false
	default:
		return errors.New("is neither")
	}
	return nil
}

// Valid says what EnvDecode accepts.
func (b *Bool) Valid() string { return "true, yes or 1, or else false, no or 0" }
