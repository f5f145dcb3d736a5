package incus

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// idleLimit is how long a server may take nothing of what is sent to it, and how long
// it may be silent when it has all.
const idleLimit = 5 * time.Minute

// paced is the body of a request that ends when nobody takes anything of it any more.
type paced struct {
	io.ReadCloser
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer
	whole bool
}

// pace watches over a body. The context is that of its request, and ends with the
// reason when the request stands.
func pace(ctx context.Context, body io.ReadCloser) (context.Context, *paced) {
	ctx, cancel := context.WithCancelCause(ctx)
	p := &paced{ReadCloser: body, cancel: cancel}
	p.timer = time.AfterFunc(idleLimit, p.stands)
	return ctx, p
}

// Read is what is sent next: what was read before has been taken.
func (p *paced) Read(into []byte) (int, error) {
	n, err := p.ReadCloser.Read(into)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.whole = err != nil
	if p.timer.Stop() {
		p.timer.Reset(idleLimit)
	}
	return n, err
}

// stands ends the request.
func (p *paced) stands() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.whole {
		p.cancel(fmt.Errorf("the server has all of the image and did not answer for %s", idleLimit))
		return
	}
	p.cancel(fmt.Errorf("the server took nothing more of the image for %s", idleLimit))
}

// stop ends the watch, and the context with it.
func (p *paced) stop() {
	p.timer.Stop()
	p.cancel(nil)
}
