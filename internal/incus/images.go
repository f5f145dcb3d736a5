package incus

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Image is an image that a project has.
type Image struct {
	Fingerprint string
	Names       []string
	Properties  map[string]string
	Uploaded    time.Time
}

// Images lists those of the project.
func (c *Client) Images(ctx context.Context) ([]Image, error) {
	var list []struct {
		Fingerprint string `json:"fingerprint"`
		Aliases     []struct {
			Name string `json:"name"`
		} `json:"aliases"`
		Properties map[string]string `json:"properties"`
		Uploaded   time.Time         `json:"uploaded_at"`
	}
	if err := c.call(ctx, http.MethodGet, path(Query{"project": c.remote.Project, "recursion": "1"}, "images"), nil, &list); err != nil {
		return nil, err
	}
	images := make([]Image, len(list))
	for i, image := range list {
		images[i] = Image{Fingerprint: image.Fingerprint, Properties: image.Properties, Uploaded: image.Uploaded}
		for _, a := range image.Aliases {
			images[i].Names = append(images[i].Names, a.Name)
		}
	}
	return images, nil
}

// DeleteImage removes an image, and its names with it.
func (c *Client) DeleteImage(ctx context.Context, fingerprint string) error {
	err := c.call(ctx, http.MethodDelete, path(Query{"project": c.remote.Project}, "images", fingerprint), nil, nil)
	if errors.Is(err, errForgotten) {
		if has, failed := c.HasImage(ctx, fingerprint); !has {
			return failed
		}
	}
	if Absent(err) {
		return nil
	}
	return err
}

// Bases are the images that instances were made from: of all projects, since one may
// use the images of another, or of this one where the certificate is restricted to it.
func (c *Client) Bases(ctx context.Context) (map[string]bool, error) {
	var list []struct {
		Config map[string]string `json:"config"`
	}
	err := c.call(ctx, http.MethodGet, path(Query{"all-projects": "true", "recursion": "1"}, "instances"), nil, &list)
	if Forbidden(err) {
		err = c.call(ctx, http.MethodGet, path(Query{"project": c.remote.Project, "recursion": "1"}, "instances"), nil, &list)
	}
	bases := map[string]bool{}
	for _, i := range list {
		bases[i.Config["volatile.base_image"]] = true
	}
	return bases, err
}
