package tf

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"fediversity.eu/slipway/internal/plaintext"
	"fediversity.eu/slipway/methods/tofu"
	"fediversity.eu/slipway/targets/task"
)

// read runs a verb that only tells, with nothing but its result on standard
// output.
func (v *verbTask) read(ctx context.Context, run *task.Run, engine *tofu.Engine, d tofu.Deployment) error {
	switch v.verb {
	case tofu.Output:
		outputs, err := engine.Output(ctx, d)
		if err != nil {
			return err
		}
		return printJSON(run.Out, outputs)
	case tofu.Show:
		shown, err := engine.Show(ctx, d)
		if err != nil {
			return err
		}
		return printJSON(run.Out, shown)
	case tofu.StateList:
		list, err := engine.StateList(ctx, d)
		for _, address := range list {
			if _, err := fmt.Fprintln(run.Out, address); err != nil {
				return err
			}
		}
		return err
	case tofu.StateShow:
		text, err := engine.StateShow(ctx, d, v.address.Address)
		if err != nil {
			return err
		}
		_, err = io.WriteString(run.Out, text)
		return err
	case tofu.ForceUnlock:
		return engine.ForceUnlock(ctx, d, v.lock.ID)
	default:
		return engine.Validate(ctx, d)
	}
}

func printJSON(to io.Writer, value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return err
	}
	_, err := to.Write(plaintext.JSON(text.Bytes()))
	return err
}
