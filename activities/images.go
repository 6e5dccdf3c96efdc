package activities

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"image"
	_ "image/gif" // the formats that models see
	_ "image/jpeg"
	_ "image/png"
	"slices"
	"strings"
	"sync"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
)

// Bounds of the images in one prompt, which shows the newest ones. They are the smaller bounds of
// the two providers' protocols.
const (
	maxImage      = 3 << 20
	maxImages     = 20
	maxImageBytes = 12 << 20
	maxImageSide  = 2000
)

// images returns the images in the results of calls, by call ID, if the model accepts images. It
// omits content that is too large, is not an image, or is stored on another worker; the result's
// text says where that file is.
func (a *Activities) images(setup *api.Setup, messages []api.Message) map[string][]models.Image {
	if !a.known(setup, "").Images {
		return nil
	}
	found := map[string][]models.Image{}
	n, size := 0, 0
	for _, m := range slices.Backward(messages) {
		if m.Role != api.RoleTool || m.Failed {
			continue
		}
		for _, part := range imageParts(m.Text) {
			data := a.pictures.data(part, a.config.Stored)
			if len(data) == 0 || n == maxImages || size+len(data) > maxImageBytes {
				continue
			}
			n, size = n+1, size+len(data)
			found[m.CallID] = append(found[m.CallID], models.Image{MIMEType: part.MIMEType,
				Data: data})
		}
	}
	return found
}

// imagePart is what an mcpPart records of an image: its bytes, or the digest by which they are
// stored.
type imagePart struct {
	Type     string `json:"type"`
	MIMEType string `json:"mimeType"`
	Data     []byte `json:"data"`
	Bytes    int    `json:"bytes"`
	SHA256   string `json:"sha256"`
}

// imageParts returns the image parts of a result. If a result has parts, its text begins with them;
// notes follow.
func imageParts(text string) []imagePart {
	if !strings.HasPrefix(text, `[{"`) || !strings.Contains(text, `"image"`) {
		return nil
	}
	var parts []imagePart
	if json.NewDecoder(strings.NewReader(text)).Decode(&parts) != nil {
		return nil
	}
	return slices.DeleteFunc(parts, func(p imagePart) bool {
		return p.Type != "image" || !slices.Contains([]string{"image/png", "image/jpeg",
			"image/gif"}, p.MIMEType)
	})
}

// pictures caches which bytes are images that providers can read. One invalid image would make the
// provider reject every later request of the run.
type pictures struct {
	mu    sync.Mutex
	sound map[string]bool
}

// maxPictures bounds the number of cached entries.
const maxPictures = 1024

func newPictures() *pictures { return &pictures{sound: map[string]bool{}} }

// data returns the bytes of an image, or nil if they are not on this worker or models cannot read
// them. stored reads stored files.
func (p *pictures) data(part imagePart, stored func(digest, mimeType string) ([]byte,
	error)) []byte {
	data := part.Data
	if part.SHA256 != "" && stored != nil && part.Bytes <= maxImage {
		var err error
		if data, err = stored(part.SHA256, part.MIMEType); err != nil {
			return nil
		}
	}
	if len(data) == 0 || len(data) > maxImage {
		return nil
	}
	if !p.sees(data, part.MIMEType) {
		return nil
	}
	return data
}

// sees reports whether the bytes are an image of that type that models accept.
func (p *pictures) sees(data []byte, mimeType string) bool {
	sum := sha256.Sum256(data)
	key := mimeType + string(sum[:])
	p.mu.Lock()
	defer p.mu.Unlock()
	sound, known := p.sound[key]
	if !known {
		if len(p.sound) >= maxPictures {
			clear(p.sound)
		}
		sound = isPicture(data, mimeType)
		p.sound[key] = sound
	}
	return sound
}

// isPicture reports whether the bytes are a complete image of that type.
func isPicture(data []byte, mimeType string) bool {
	size, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil || "image/"+format != mimeType || max(size.Width, size.Height) > maxImageSide ||
		min(size.Width, size.Height) < 1 {
		return false
	}
	_, _, err = image.Decode(bytes.NewReader(data))
	return err == nil
}
