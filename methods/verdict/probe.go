package verdict

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/internal/wait"
	"fediversity.eu/slipway/targets/report"
)

// Outcome is what came of a probe.
type Outcome string

// The outcomes.
const (
	Right    Outcome = "right"
	Wrong    Outcome = "wrong"   // the machine gave another answer until the deadline, or none
	NotKnown Outcome = "unknown" // it could not be asked
)

// Answer is what came of a probe.
type Answer struct {
	Probe   groups.Probe
	Outcome Outcome
	Why     string // of an outcome that is not Right
	Took    time.Duration
}

// String is one line.
func (a Answer) String() string {
	text := fmt.Sprintf("probe %s (%s): ", a.Probe.Name, a.Probe.Ask)
	if a.Outcome == Right {
		return text + "answered after " + rough(a.Took)
	}
	if a.Outcome == NotKnown {
		text += "not carried out: "
	}
	return text + a.Why
}

// Record is how an answer stands in the record of a run.
func (a Answer) Record() report.Probe {
	return report.Probe{Name: a.Probe.Name, Asked: fmt.Sprint(a.Probe.Ask), Outcome: string(a.Outcome), Why: a.Why, Seconds: a.Took.Seconds()}
}

const (
	probeTry    = 10 * time.Second // how long one attempt may take
	bodyMost    = 1 << 20          // how much of an answer is looked at
	outputShown = 200              // how much of a command's last words are repeated
)

// probing are the probes of a machine under way.
type probing struct {
	stop    context.CancelCauseFunc
	ended   chan struct{}
	answers []Answer
}

// Why probes are given up before their deadline.
var (
	errEnough = errors.New("given up, since the machine is unhealthy anyhow")
	errTimeUp = errors.New("given up, since the time for the verdict was up")
)

// probe asks all probes side by side, each again and again until its deadline.
func probe(ctx context.Context, host Host, probes []groups.Probe) *probing {
	ctx, stop := context.WithCancelCause(ctx)
	p := &probing{stop: stop, ended: make(chan struct{}), answers: make([]Answer, len(probes))}
	var all sync.WaitGroup
	for i, one := range probes {
		all.Go(func() { p.answers[i] = ask(ctx, host, one) })
	}
	if len(probes) == 0 {
		close(p.ended)
		return p
	}
	go func() {
		all.Wait()
		close(p.ended)
	}()
	return p
}

func (p *probing) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// result waits for the probes.
func (p *probing) result() []Answer {
	<-p.ended
	p.stop(nil)
	return p.answers
}

func ask(ctx context.Context, host Host, probe groups.Probe) Answer {
	began := time.Now()
	var last error // of an attempt that was not cut short by us
	waiting := wait.For{What: "probe " + probe.Name, Limit: probe.Limit(), Try: probeTry, Interval: 500 * time.Millisecond}
	err := waiting.Until(ctx, func(try context.Context) error {
		err := attempt(try, host, probe.Ask)
		if err != nil && ctx.Err() == nil {
			last = err
		}
		return err
	})
	a := Answer{Probe: probe, Outcome: Right, Took: time.Since(began)}
	if err == nil {
		return a
	}
	if last == nil {
		last = err
	}
	a.Outcome, a.Why = Wrong, last.Error()
	if errors.Is(last, ErrContact) {
		a.Outcome = NotKnown
	}
	switch why := context.Cause(ctx); {
	case errors.Is(why, errEnough), errors.Is(why, errTimeUp):
		if !errors.Is(last, why) {
			a.Why += " (" + why.Error() + ")"
		}
	case why != nil:
		a.Outcome = NotKnown
	}
	return a
}

// attempt asks once. Its error is the machine's answer unless it wraps
// ErrContact.
func attempt(ctx context.Context, host Host, question groups.Question) error {
	switch q := question.(type) {
	case groups.TCP:
		conn, err := host.DialContext(ctx, "tcp", q.Address)
		if err != nil {
			return err
		}
		return conn.Close()
	case groups.HTTP:
		return get(ctx, host, q)
	case groups.Command:
		out, err := host.Output(ctx, "exec 2>&1\n"+q.Script)
		if err != nil && len(bytes.TrimSpace(out)) > 0 {
			said := strings.TrimSpace(string(out))
			return fmt.Errorf("%w: %s", err, said[max(0, len(said)-outputShown):])
		}
		return err
	}
	return fmt.Errorf("%T is no question", question)
}

// get asks over HTTP, from the machine. It follows no redirection: where a site
// sends its visitors is part of its answer.
func get(ctx context.Context, host Host, q groups.HTTP) error {
	name, _, _ := strings.Cut(q.Host, ":")
	transport := &http.Transport{
		DialContext: host.DialContext, DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{ServerName: name},
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, q.URL, http.NoBody)
	if err != nil {
		return err
	}
	request.Host = q.Host
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(request)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // it repeats the URL, which the answer names already
	}
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != q.Expected() {
		return fmt.Errorf("HTTP status %d instead of %d", answer.StatusCode, q.Expected())
	}
	if q.Contains == "" {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, bodyMost))
	if err == nil && !bytes.Contains(body, []byte(q.Contains)) {
		err = fmt.Errorf("its answer does not contain %q", q.Contains)
	}
	return err
}
