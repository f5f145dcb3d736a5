package front

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestPipeline(t *testing.T) {
	t.Parallel()
	const first = "# hosting-provider-combined-apply, written by: slipway pipeline gitlab hosting-provider-combined-apply\n"
	ours := run(t, asMain, nil, "slipway", "pipeline", "gitlab", "hosting-provider")
	assert.Equal(t, ours.code, 0, ours.err)
	assert.Assert(t, strings.HasPrefix(ours.out, first), ours.out)
	mage := run(t, asMage, nil, "mage", "pipeline:gitlab", "hosting-provider")
	assert.Equal(t, mage.code, 0)
	assert.Equal(t, mage.out, ours.out)
	tagged := run(t, asMain, []string{"PIPELINE_RUNNER=nix, kvm"}, "slipway", "pipeline", "gitlab", "hosting-provider")
	assert.Equal(t, strings.Count(tagged.out, "    - kvm\n"), 2)

	check(t, run(t, asMain, nil, "slipway", "pipeline", "jenkins", "hosting-provider"), 2, "=", []string{"there are forgejo, github, gitlab"})
	check(t, run(t, asMain, nil, "slipway", "pipeline", "gitlab"), 2, "=", []string{"for which system, and of what?"})
	check(t, run(t, asMain, nil, "slipway", "pipeline", "gitlab", "hosting"), 2, "=", []string{`"hosting" is neither a group nor a program`})
	check(t, run(t, asMain, []string{"PIPELINE_RUNNER=,"}, "slipway", "pipeline", "gitlab", "hosting-provider"), 2, "=", []string{"PIPELINE_RUNNER"})
}
