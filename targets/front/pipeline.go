package front

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/pipeline"
	"fediversity.eu/slipway/targets/report"
)

// systems write pipelines, by the names of the CI systems.
var systems = map[string]func(*pipeline.Pipeline) ([]byte, error){
	"gitlab": (*pipeline.Pipeline).GitLab, "github": (*pipeline.Pipeline).GitHub, "forgejo": (*pipeline.Pipeline).Forgejo,
}

func pipelineSystems() []string { return slices.Sorted(maps.Keys(systems)) }

// pipeline prints the graph of a group for a CI system.
func (f Front) pipeline(words []string) report.Code {
	const takes = 2
	if len(words) != takes || systems[words[0]] == nil {
		return usage(fmt.Errorf("pipeline: for which system, and of what? there are %s, and then the name of a group", strings.Join(pipelineSystems(), ", ")))
	}
	text, err := f.pipelineOf(words[1], words[0] == "gitlab", systems[words[0]])
	if err != nil {
		explain(plainly(), err)
		return report.CodeOf(err)
	}
	return answer(os.Stdout, text)
}

func (f Front) pipelineOf(name string, limited bool, write func(*pipeline.Pipeline) ([]byte, error)) ([]byte, error) {
	registry, err := f.Registry()
	if err != nil {
		return nil, err
	}
	published, err := f.published()
	if err != nil {
		return nil, err
	}
	var keys pipeline.Keys
	if err := env.Process().Load(context.Background(), env.For{}, &keys); err != nil {
		return nil, &report.Fault{Code: report.Usage, What: "read the coordinates", Why: err}
	}
	p, err := pipeline.New(registry, published, name, keys)
	if err != nil {
		return nil, err
	}
	for _, job := range p.Jobs {
		if limited && len(job.Needs) > pipeline.NeedsLimit {
			plainly().Warnf("%s needs %d jobs; GitLab allows %d, unless its administrator has set ci_needs_size_limit to more",
				job.Program.Name, len(job.Needs), pipeline.NeedsLimit)
		}
	}
	return write(p)
}
