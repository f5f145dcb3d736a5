package targets

import (
	"github.com/magefile/mage/mg"

	"fediversity.eu/slipway/targets/front"
)

// Pipeline is the namespace of what hands a group's graph to a CI system.
type Pipeline mg.Namespace

// Gitlab prints the graph of a group as a pipeline of GitLab: a job a program.
func (Pipeline) Gitlab(group string) error {
	return front.Command(Front(), "pipeline", "gitlab", group)
}

// Github prints the graph of a group as a workflow of GitHub Actions: a job a program.
func (Pipeline) Github(group string) error {
	return front.Command(Front(), "pipeline", "github", group)
}

// Forgejo prints the graph of a group as a workflow of Forgejo Actions: a job a program.
func (Pipeline) Forgejo(group string) error {
	return front.Command(Front(), "pipeline", "forgejo", group)
}
