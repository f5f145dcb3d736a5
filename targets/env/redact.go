package env

import (
	"fmt"
	"io"
	"sync"
)

// Redactor replaces the secrets that it knows by [redacted]. It knows what was
// loaded from its environment, and what was added. Besides a secret as it is, it
// finds the forms that output usually has of it: the single lines of a long one,
// JSON, addresses and base64. It may be used by several goroutines, and learn
// while its writers write.
type Redactor struct {
	mutex sync.RWMutex
	// A function, because fmt follows a pointer where the verb does not fit it.
	known func() *patterns
}

// NewRedactor returns a redactor that knows secrets.
func NewRedactor(secrets ...Secret) *Redactor {
	p := &patterns{starts: make(map[string]bool), buckets: make(map[string][]string)}
	r := &Redactor{known: func() *patterns { return p }}
	r.Add(secrets...)
	return r
}

// Add makes secrets known, from the next byte on that is written.
func (r *Redactor) Add(secrets ...Secret) {
	for _, secret := range secrets {
		r.addText(secret.Reveal())
	}
}

// addText makes every form of text known. Texts that are too short for a secret
// are none.
func (r *Redactor) addText(text string) {
	if len(text) < shortest {
		return
	}
	all := forms(text)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, form := range all {
		r.known().add(form)
	}
}

// String returns text with every secret replaced.
func (r *Redactor) String(text string) string {
	out, _, _ := r.scan(nil, []byte(text), 0, true)
	return string(out)
}

// Format prints that r is a redactor, whatever the verb.
func (r *Redactor) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, "redactor") }

func (r *Redactor) scan(out, text []byte, covered int, final bool) ([]byte, int, int) {
	r.mutex.RLock()
	defer r.mutex.RUnlock()
	return r.known().scan(out, text, covered, final)
}

// Writer returns a writer that passes on to w what it is given, with every secret
// replaced, also one that is split across writes. Who wrote the last byte calls
// Flush.
func (r *Redactor) Writer(w io.Writer) *Writer {
	return &Writer{redactor: r, w: w}
}

// Writer replaces secrets on their way. It keeps back the end of what was written
// only where a secret may have begun there, and so never more than a secret's
// length less one byte. It may be used by several goroutines.
type Writer struct {
	redactor *Redactor
	w        io.Writer
	mutex    sync.Mutex
	kept     []byte // written, not yet passed on
	covered  int    // how many bytes of kept belong to a secret already shown
}

// Write passes on what can be; the error is that of the writer behind.
func (w *Writer) Write(p []byte) (int, error) {
	if err := w.pass(p, false); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush passes on what was kept back. What is written later is looked at anew.
func (w *Writer) Flush() error {
	return w.pass(nil, true)
}

func (w *Writer) pass(p []byte, final bool) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.kept = append(w.kept, p...)
	out, done, covered := w.redactor.scan(nil, w.kept, w.covered, final)
	w.kept = append(w.kept[:0], w.kept[done:]...)
	w.covered = covered
	if len(out) == 0 {
		return nil
	}
	_, err := w.w.Write(out)
	return err
}
