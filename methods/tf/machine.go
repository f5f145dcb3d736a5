package tf

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"fediversity.eu/slipway/methods/deploy"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/methods/tofu"
	"fediversity.eu/slipway/targets/report"
)

// machine is the resource: a NixOS machine and the system that it runs.
type machine struct{ work *work }

var (
	_ resource.ResourceWithModifyPlan  = (*machine)(nil)
	_ resource.ResourceWithImportState = (*machine)(nil)
)

// model is the machine as its state has it. Toplevel is what ought to run where it
// is planned, and what does where it is read, so that drift is a change to plan.
type model struct {
	ID         types.String `tfsdk:"id"`
	Name       types.String `tfsdk:"name"`
	Address    types.String `tfsdk:"address"`
	HostKeys   types.List   `tfsdk:"host_keys"`
	Toplevel   types.String `tfsdk:"toplevel"`
	Generation types.Int64  `tfsdk:"generation"`
	Verdict    types.String `tfsdk:"verdict"`
	Made       types.String `tfsdk:"made"`
}

// Verdicts that no run gives, and a look does.
const (
	unproved = "unproved"  // something runs that no run judged healthy
	notThere = "not there" // nothing runs
)

func (*machine) Metadata(_ context.Context, _ resource.MetadataRequest, r *resource.MetadataResponse) {
	r.TypeName = machineType
}

func (*machine) Schema(_ context.Context, _ resource.SchemaRequest, r *resource.SchemaResponse) {
	r.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"id":         schema.StringAttribute{Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}},
		"name":       schema.StringAttribute{Required: true},
		"address":    schema.StringAttribute{Optional: true, Computed: true},
		"host_keys":  schema.ListAttribute{ElementType: types.StringType, Optional: true, Computed: true},
		"toplevel":   schema.StringAttribute{Required: true},
		"generation": schema.Int64Attribute{Computed: true},
		"verdict":    schema.StringAttribute{Computed: true},
		"made":       schema.StringAttribute{Optional: true}, // what the machine was made with; a change is a reason to look after it
	}}
}

// ModifyPlan has a machine changed that runs the right system and is not proved
// to be well in it.
func (m *machine) ModifyPlan(ctx context.Context, q resource.ModifyPlanRequest, r *resource.ModifyPlanResponse) {
	if q.Plan.Raw.IsNull() || q.State.Raw.IsNull() {
		return
	}
	var state, plan, config model
	r.Diagnostics.Append(q.State.Get(ctx, &state)...)
	r.Diagnostics.Append(q.Plan.Get(ctx, &plan)...)
	r.Diagnostics.Append(q.Config.Get(ctx, &config)...)
	if r.Diagnostics.HasError() || !m.work.mends(state.Verdict.ValueString()) {
		return
	}
	plan.Generation, plan.Verdict = types.Int64Unknown(), types.StringUnknown()
	if config.Address.IsNull() {
		plan.Address, plan.HostKeys = types.StringUnknown(), types.ListUnknown(types.StringType)
	}
	r.Diagnostics.Append(r.Plan.Set(ctx, plan)...)
}

// Create deploys to the machine for the first time, be it that it was deployed to
// before by a run that nobody remembers.
func (m *machine) Create(ctx context.Context, q resource.CreateRequest, r *resource.CreateResponse) {
	var plan model
	r.Diagnostics.Append(q.Plan.Get(ctx, &plan)...)
	if !r.Diagnostics.HasError() && m.deploy(ctx, &plan, &r.Diagnostics) {
		r.Diagnostics.Append(r.State.Set(ctx, plan)...)
	}
}

// Update deploys another system, or the same one better.
func (m *machine) Update(ctx context.Context, q resource.UpdateRequest, r *resource.UpdateResponse) {
	var plan, state model
	r.Diagnostics.Append(q.Plan.Get(ctx, &plan)...)
	r.Diagnostics.Append(q.State.Get(ctx, &state)...)
	if plan.Generation.IsUnknown() {
		plan.Generation = state.Generation // unless the deployment comes to another
	}
	if !r.Diagnostics.HasError() && m.deploy(ctx, &plan, &r.Diagnostics) {
		r.Diagnostics.Append(r.State.Set(ctx, plan)...)
	}
}

// deploy brings the machine to the plan and completes it. It tells whether the
// state is to have it.
func (m *machine) deploy(ctx context.Context, plan *model, d *diag.Diagnostics) bool {
	if plan.Toplevel.ValueString() != m.work.built.Toplevel {
		d.AddError("the plan is of another run", plan.Toplevel.ValueString())
		return false
	}
	reached, there, err := m.work.bring(ctx)
	if !there {
		d.AddError("deploy", err.Error())
		return false
	}
	plan.ID = types.StringValue(m.work.id())
	plan.Verdict = types.StringValue(report.Words(err))
	if n := m.work.run.Record.Generation; n > 0 || plan.Generation.IsUnknown() {
		plan.Generation = types.Int64Value(int64(n))
	}
	if plan.Address.IsUnknown() || plan.HostKeys.IsUnknown() {
		plan.at(reached.Target)
	}
	return true
}

// at notes where the machine is.
func (o *model) at(t remote.Target) {
	keys := make([]attr.Value, 0, len(t.HostKeys))
	for _, key := range t.HostKeys {
		keys = append(keys, types.StringValue(key))
	}
	o.Address, o.HostKeys = types.StringValue(addressOf(t)), types.ListValueMust(types.StringType, keys)
}

// Read looks what runs on the machine now. Where that can't be known the state
// keeps the machine, and the run ends.
func (m *machine) Read(ctx context.Context, q resource.ReadRequest, r *resource.ReadResponse) {
	var state model
	r.Diagnostics.Append(q.State.Get(ctx, &state)...)
	if r.Diagnostics.HasError() {
		return
	}
	if err := m.work.ours(state.ID.ValueString()); err != nil {
		r.Diagnostics.AddError("read", err.Error())
		return
	}
	if m.work.verb == tofu.Destroy {
		return // a machine that is gone can be given up too
	}
	seen, err := m.work.look(ctx)
	switch {
	case errors.Is(err, deploy.ErrNotThere):
		state.Toplevel, state.Verdict, state.Generation = types.StringValue(""), types.StringValue(notThere), types.Int64Value(0)
	case err != nil:
		r.Diagnostics.AddError("read", err.Error())
		return
	default:
		state.see(seen, m.work.finds())
	}
	state.Name = types.StringValue(m.work.id())
	r.Diagnostics.Append(r.State.Set(ctx, state)...)
}

// see takes over what a look found, and where the machine was found, if the
// coordinates don't say that.
func (o *model) see(seen deploy.Seen, found bool) {
	if found || o.Address.IsNull() {
		o.at(seen.Reached.Target)
	}
	o.Toplevel, o.Generation = types.StringValue(seen.Toplevel), types.Int64Value(int64(seen.Generation))
	well := []string{report.Healthy.String(), report.RebootNeeded.String()}
	switch before := o.Verdict.ValueString(); {
	case seen.Proved && seen.Reboot:
		o.Verdict = types.StringValue(well[1])
	case seen.Proved:
		o.Verdict = types.StringValue(well[0])
	case before == "", before == well[0], before == well[1], before == notThere:
		o.Verdict = types.StringValue(unproved)
	}
}

// Delete forgets the machine, or ends it where Slipway booted it.
func (m *machine) Delete(ctx context.Context, _ resource.DeleteRequest, r *resource.DeleteResponse) {
	if err := m.work.down(ctx); err != nil {
		r.Diagnostics.AddError("destroy", err.Error())
	}
}

// ImportState takes the machine in, by its name or by where it is.
func (m *machine) ImportState(ctx context.Context, q resource.ImportStateRequest, r *resource.ImportStateResponse) {
	names := []string{m.work.id(), m.work.reach.Deployment.Machine.Name}
	if reached, err := m.work.reach.Way.Find(ctx, m.work.run); err == nil {
		names = append(names, reached.Target.Host, addressOf(reached.Target))
	}
	if slices.Contains(names, q.ID) {
		r.Diagnostics.Append(r.State.SetAttribute(ctx, path.Root("id"), m.work.id())...)
		return
	}
	err := m.work.fail(report.Refuse("import", fmt.Errorf("ID %q is not this machine", q.ID), fmt.Sprintf("it is called %s", names[1])))
	r.Diagnostics.AddError("import", err.Error())
}
