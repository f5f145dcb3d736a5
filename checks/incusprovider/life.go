package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// ofInstances are the settings of an instance that the server sets by itself.
var ofInstances = computed{"environment.", "image.", "oci.", "volatile."}

// put is the instance as the server wants it.
func (m *instanceModel) put(ctx context.Context, config map[string]string) map[string]any {
	profiles := []string{}
	m.Profiles.ElementsAs(ctx, &profiles, false)
	return map[string]any{
		"description": m.Description.ValueString(), "config": config, "profiles": profiles, "devices": written(m.Devices), "ephemeral": m.Ephemeral.ValueBool(),
	}
}

// Create makes the instance, starts it, and then sends it its files: as the real
// provider does, which knows of it from the moment it is made.
func (i *instance) Create(ctx context.Context, q resource.CreateRequest, r *resource.CreateResponse) {
	var m instanceModel
	r.Diagnostics.Append(q.Plan.Get(ctx, &m)...)
	if r.Diagnostics.HasError() {
		return
	}
	body := m.put(ctx, given(ctx, m.Config))
	body["name"], body["type"] = m.Name.ValueString(), m.Type.ValueString()
	image := m.Image.ValueString()
	var alias struct {
		Target string `json:"target"`
	}
	if i.server.call(ctx, http.MethodGet, "/1.0/images/aliases/"+url.PathEscape(image), m.query(), nil, nil, &alias) == nil {
		image = alias.Target
	}
	body["source"] = map[string]string{"type": "image", "fingerprint": image}
	query := m.query()
	if target := m.Target.ValueString(); target != "" {
		query.Set("target", target)
	}
	if err := i.server.call(ctx, http.MethodPost, "/1.0/instances", query, nil, body, nil); err != nil {
		r.Diagnostics.AddError("create instance", err.Error())
		return
	}
	var err error
	if m.Running.ValueBool() || len(m.Files) > 0 {
		err = i.turn(ctx, &m, "start", false)
	}
	if err == nil {
		err = i.refresh(ctx, &m, nil, m.Files)
	}
	if err != nil {
		r.Diagnostics.AddError("start instance", err.Error())
	}
	i.sync(ctx, m, &r.State, &r.Diagnostics)
}

// turn starts or stops it, where it is not so already.
func (i *instance) turn(ctx context.Context, m *instanceModel, action string, force bool) error {
	now, err := i.state(ctx, m)
	switch {
	case err != nil:
		return err
	case action == "start" && now.Status == "Running", action == "stop" && now.Status == "Stopped":
		return nil
	}
	return i.server.call(ctx, http.MethodPut, m.path("/state"), m.query(), nil, map[string]any{"action": action, "timeout": 180, "force": force}, nil)
}

func (i *instance) Read(ctx context.Context, q resource.ReadRequest, r *resource.ReadResponse) {
	var m instanceModel
	r.Diagnostics.Append(q.State.Get(ctx, &m)...)
	if !r.Diagnostics.HasError() {
		i.sync(ctx, m, &r.State, &r.Diagnostics)
	}
}

// Update stops what is to be stopped, writes, starts what is to run, sends files, and
// gives it another name at last, for which it is stopped and started.
func (i *instance) Update(ctx context.Context, q resource.UpdateRequest, r *resource.UpdateResponse) {
	var m, before instanceModel
	r.Diagnostics.Append(q.Plan.Get(ctx, &m)...)
	r.Diagnostics.Append(q.State.Get(ctx, &before)...)
	if r.Diagnostics.HasError() {
		return
	}
	name := m.Name
	m.Name = before.Name
	var err error
	if !m.Running.ValueBool() {
		err = i.turn(ctx, &m, "stop", false)
	}
	var there struct {
		Config map[string]string `json:"config"`
	}
	if err == nil {
		err = i.server.call(ctx, http.MethodGet, m.path(), m.query(), nil, nil, &there)
	}
	if err == nil {
		config := ofInstances.merged(there.Config, given(ctx, m.Config))
		err = i.server.call(ctx, http.MethodPut, m.path(), m.query(), nil, m.put(ctx, config), nil)
	}
	if err == nil && m.Running.ValueBool() {
		err = i.turn(ctx, &m, "start", false)
	}
	if err == nil {
		err = i.refresh(ctx, &m, before.Files, m.Files)
	}
	if err == nil && !name.Equal(m.Name) {
		err = i.rename(ctx, &m, name)
	}
	if err != nil {
		r.Diagnostics.AddError("update instance", err.Error())
		return
	}
	i.sync(ctx, m, &r.State, &r.Diagnostics)
}

func (i *instance) rename(ctx context.Context, m *instanceModel, name types.String) error {
	now, err := i.state(ctx, m)
	if err == nil {
		err = i.turn(ctx, m, "stop", false)
	}
	if err == nil {
		err = i.server.call(ctx, http.MethodPost, m.path(), m.query(), nil, map[string]string{"name": name.ValueString()}, nil)
	}
	if err != nil {
		return err
	}
	m.Name = name
	if now.Status != "Running" {
		return nil
	}
	return i.turn(ctx, m, "start", false)
}

// Delete stops it by force, as the real provider does, and removes it.
func (i *instance) Delete(ctx context.Context, q resource.DeleteRequest, r *resource.DeleteResponse) {
	var m instanceModel
	r.Diagnostics.Append(q.State.Get(ctx, &m)...)
	if r.Diagnostics.HasError() {
		return
	}
	err := i.turn(ctx, &m, "stop", true)
	if err == nil {
		err = i.server.call(ctx, http.MethodDelete, m.path(), m.query(), nil, nil, nil)
	}
	if err != nil && !errors.Is(err, errAbsent) {
		r.Diagnostics.AddError("delete instance", err.Error())
	}
}

func (i *instance) ImportState(ctx context.Context, q resource.ImportStateRequest, r *resource.ImportStateResponse) {
	identified(ctx, q.ID, []string{"project", "name"}, r)
}
