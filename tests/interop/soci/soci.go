// soci.go - makes and reads ztocs with SOCI's library
// SPDX-License-Identifier: BSD-2-Clause
//
// soci make LAYER ZTOC SPAN TOOL: makes a layer's ztoc; the layer is gzip if its
// name ends in .gz, and uncompressed otherwise.  TOOL is the build tool that the
// ztoc names.
//
// soci read LAYER ZTOC: verifies every span's digest, extracts every
// regular file through the ztoc, and prints its SHA-256 and name.
//
// soci index LAYOUT: finds the SOCI index of each image of an OCI layout as the
// snapshotter does, opens its ztocs, and verifies every span of their layers.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/awslabs/soci-snapshotter/soci"
	"github.com/awslabs/soci-snapshotter/ztoc"
	"github.com/awslabs/soci-snapshotter/ztoc/compression"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

func build(layer, name, span, tool string) error {
	size, err := strconv.ParseInt(span, 10, 64)
	if err != nil {
		return err
	}
	algorithm := compression.Uncompressed
	if strings.HasSuffix(layer, ".gz") {
		algorithm = compression.Gzip
	}
	z, err := ztoc.NewBuilder(tool).BuildZtoc(layer, size,
		ztoc.WithCompression(algorithm))
	if err != nil {
		return err
	}
	data, _, err := ztoc.Marshal(z)
	if err != nil {
		return err
	}
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, data)
	return errors.Join(err, out.Close())
}

// verify checks every span's digest.
func verify(z *ztoc.Ztoc, r io.ReaderAt, size int64) error {
	info, err := z.Zinfo()
	if err != nil {
		return err
	}
	defer info.Close()
	for i := compression.SpanID(0); i <= info.MaxSpanID(); i++ {
		from := int64(info.StartCompressedOffset(i))
		to := int64(info.EndCompressedOffset(i,
			compression.Offset(size)))
		found, err := digest.FromReader(io.NewSectionReader(r, from,
			to-from))
		if err != nil {
			return err
		}
		if found != z.SpanDigests[i] {
			return fmt.Errorf("span %d: the digest differs", i)
		}
	}
	return nil
}

func read(layer, name string) error {
	index, err := os.Open(name)
	if err != nil {
		return err
	}
	z, err := ztoc.Unmarshal(index)
	if err != nil {
		return err
	}
	file, err := os.Open(layer)
	if err != nil {
		return err
	}
	size := int64(z.CompressedArchiveSize)
	r := io.NewSectionReader(file, 0, size)
	if err := verify(z, file, size); err != nil {
		return err
	}
	for _, f := range z.FileMetadata {
		if f.Type != "reg" {
			continue
		}
		data, err := z.ExtractFile(r, f.Name)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		fmt.Printf("%x  %s\n", sha256.Sum256(data), f.Name)
	}
	return nil
}

// blob opens a blob of a layout after comparing its digest.
func blob(layout string, d digest.Digest) (*os.File, error) {
	f, err := os.Open(filepath.Join(layout, "blobs", d.Algorithm().String(),
		d.Encoded()))
	if err != nil {
		return nil, err
	}
	found, err := d.Algorithm().FromReader(f)
	if err == nil && found != d {
		err = fmt.Errorf("%s: its digest is %s", d, found)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	return f, err
}

func document(layout string, d digest.Digest, into any) error {
	f, err := blob(layout, d)
	if err != nil {
		return err
	}
	defer f.Close()
	return json.NewDecoder(f).Decode(into)
}

// checkZtoc verifies a layer against its ztoc in a SOCI index.
func checkZtoc(layout string, desc ocispec.Descriptor) error {
	of := desc.Annotations[soci.IndexAnnotationImageLayerDigest]
	layer, err := blob(layout, digest.Digest(of))
	if err != nil {
		return err
	}
	defer layer.Close()
	f, err := blob(layout, desc.Digest)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := ztoc.Unmarshal(f)
	if err != nil {
		return err
	}
	if err := verify(z, layer, int64(z.CompressedArchiveSize)); err != nil {
		return err
	}
	fmt.Println("layer", of, len(z.FileMetadata))
	return nil
}

func checkManifest(layout string, desc ocispec.Descriptor) error {
	var manifest ocispec.Manifest
	if err := document(layout, desc.Digest, &manifest); err != nil {
		return err
	}
	of := manifest.Annotations[soci.ImageAnnotationSociIndexDigest]
	if of == "" {
		return nil
	}
	f, err := blob(layout, digest.Digest(of))
	if err != nil {
		return err
	}
	defer f.Close()
	var index soci.Index
	if err := soci.DecodeIndex(f, &index); err != nil {
		return err
	}
	if index.ArtifactType != soci.SociIndexArtifactTypeV2 {
		return fmt.Errorf("%s: its type is %s", of, index.ArtifactType)
	}
	fmt.Println("image", desc.Digest, len(index.Blobs))
	for _, b := range index.Blobs {
		if err := checkZtoc(layout, b); err != nil {
			return fmt.Errorf("%s: %w", b.Digest, err)
		}
	}
	return nil
}

func index(layout string) error {
	var top ocispec.Index
	data, err := os.ReadFile(filepath.Join(layout, "index.json"))
	if err == nil {
		err = json.Unmarshal(data, &top)
	}
	if err != nil {
		return err
	}
	for _, t := range top.Manifests {
		var images ocispec.Index
		if err := document(layout, t.Digest, &images); err != nil {
			return err
		}
		for _, d := range images.Manifests {
			if d.ArtifactType == soci.SociIndexArtifactTypeV2 {
				continue
			}
			if err := checkManifest(layout, d); err != nil {
				return err
			}
		}
	}
	return nil
}

func run(args []string) error {
	switch {
	case len(args) == 6 && args[1] == "make":
		return build(args[2], args[3], args[4], args[5])
	case len(args) == 4 && args[1] == "read":
		return read(args[2], args[3])
	case len(args) == 3 && args[1] == "index":
		return index(args[2])
	}
	return errors.New("usage: soci make layer ztoc span tool, " +
		"soci read layer ztoc, soci index layout")
}

func main() {
	if err := run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "soci:", err)
		os.Exit(1)
	}
}
